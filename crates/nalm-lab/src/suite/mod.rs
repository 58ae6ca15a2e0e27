//! Experiments are data: a TOML file as written, and the same thing checked and complete.

mod claim;
mod study;
mod written;

pub(crate) use claim::{Claim, Expectation};
pub(crate) use study::{PRESETS, Study, load, load_all, names, presets};

use crate::figure::Kind;
use crate::runspec::{OPTION_NAMES, RunSpec, Settings, check_module, label, published_test_range};
use crate::schedule;
use crate::variation::Axis;
use anyhow::{Context, Result, anyhow, ensure};
use nalm::task;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use written::{Amount, Model, Written};

/// An experiment, checked and complete.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) analysis: String,
    pub(crate) preset: String,
    /// The command that makes it.
    pub(crate) command: String,
    pub(crate) figures: Vec<Kind>,
    pub(crate) sections: Vec<Section>,
    /// Labels of the models, in the order of the file.
    pub(crate) models: Vec<String>,
    pub(crate) runs: Vec<RunSpec>,
    /// Section after section, model after model, range after range.
    pub(crate) groups: Vec<Group>,
    pub(crate) expectations: Vec<Expectation>,
    /// Models that the others are compared with, seed by seed.
    pub(crate) baselines: Vec<usize>,
}

/// A part of an experiment with one problem.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Empty if the experiment has only one.
    pub(crate) name: String,
    pub(crate) ranges: Vec<String>,
    /// Starting weights along each side of the unit square, where runs differ by these and not by seed.
    pub(crate) grid: Option<usize>,
    /// What takes the place of the ranges, where something else is varied.
    pub(crate) axis: Option<&'static str>,
}

/// The runs of one model on one range: those that differ by seed only.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) section: usize,
    pub(crate) model: usize,
    pub(crate) range: String,
    /// Places in [`Experiment::runs`].
    pub(crate) runs: Range<usize>,
}

/// What the command line changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) preset: Option<String>,
    pub(crate) seeds: Option<u64>,
    pub(crate) steps: Option<u64>,
    pub(crate) stream: Option<String>,
    /// Options of every model, as TOML values.
    pub(crate) set: Vec<(String, toml::Value)>,
}

impl Overrides {
    /// As they are typed, the preset excepted.
    pub(crate) fn typed(&self) -> String {
        let quoted = |text: String| if text.contains(['"', '\'', ' ', '[']) { format!("'{text}'") } else { text };
        let flag = |name: &str, value: Option<String>| value.map(|value| format!(" --{name} {value}"));
        let flags = [
            flag("seeds", self.seeds.map(|n| n.to_string())),
            flag("steps", self.steps.map(|n| n.to_string())),
            flag("stream", self.stream.clone()),
        ];
        let set = self.set.iter().map(|(key, value)| format!(" --set {}", quoted(format!("{key}={value}"))));
        flags.into_iter().flatten().chain(set).collect()
    }

    /// A preset and nothing else.
    pub(crate) fn preset(name: &str) -> Self {
        Self { preset: Some(name.into()), ..Self::default() }
    }
}

/// A file being checked: where errors are, and what the command line wants.
struct Checker<'a> {
    file: String,
    text: &'a str,
    overrides: &'a Overrides,
    preset: String,
}

/// What to type for an experiment: its name, or its file if it did not come with the binary.
pub(crate) fn command(name: &str, path: &Path, preset: &str, overrides: &Overrides) -> String {
    let own = path.display().to_string();
    let given = if names().contains(&name) && own == format!("experiments/{name}.toml") { name } else { &own };
    format!("nalm reproduce {given} --preset {preset}{}", overrides.typed())
}

fn check(name: &str, path: &Path, text: &str, overrides: &Overrides) -> Result<Experiment> {
    let file = path.display().to_string();
    let mut written: Written = toml::from_str(text).map_err(|error| anyhow!("{file}: {error}"))?;
    let preset = overrides.preset.clone().unwrap_or_else(|| written.default_preset.clone());
    let checker = Checker { file, text, overrides, preset };
    checker.set(&mut written)?;
    let figures = checker.figures(&written)?;
    let models = written.model.iter().map(|m| m.label.clone().unwrap_or_else(|| label(m.module.get_ref()))).collect();
    let models: Vec<String> = models;
    for (k, label) in models.iter().enumerate() {
        ensure!(!models[..k].contains(label), "{}: two models are called {label}; give one a label", checker.file);
    }
    let mut experiment = Experiment {
        name: name.into(),
        title: written.title.clone(),
        analysis: written.analysis.trim().into(),
        preset: checker.preset.clone(),
        command: command(name, path, &checker.preset, overrides),
        figures,
        sections: Vec::new(),
        models,
        runs: Vec::new(),
        groups: Vec::new(),
        expectations: Vec::new(),
        baselines: written.baselines.iter().map(|name| checker.model(&written.model, name)).collect::<Result<_>>()?,
    };
    checker.base(&written)?;
    for (name, schedule) in &written.schedule {
        schedule.read().with_context(|| format!("{}, schedule {name}", checker.file))?;
    }
    if written.section.is_empty() {
        let only = written::Section {
            name: String::new(),
            task: None,
            operation: None,
            inputs: None,
            models: None,
            grid: None,
            curve: false,
            axis: None,
            problem: None,
            preset: Default::default(),
        };
        checker.section(&written, &only, &mut experiment)?;
    }
    for section in &written.section {
        checker.section(&written, section, &mut experiment)?;
    }
    experiment.expectations = claim::check(&checker, &written, &experiment)?;
    Ok(experiment)
}

impl Checker<'_> {
    /// The place of something, for messages.
    fn at<T>(&self, what: &Spanned<T>) -> String {
        let line = self.text[..what.span().start.min(self.text.len())].matches('\n').count() + 1;
        format!("{}, line {line}", self.file)
    }

    /// The place of a model's name among `models`.
    fn model(&self, models: &[Model], name: &Spanned<String>) -> Result<usize> {
        let names: Vec<&str> = models.iter().map(Model::name).collect();
        let unknown = || nalm::Error::unknown("model", name.get_ref(), &names);
        names.iter().position(|known| known == name.get_ref()).ok_or_else(unknown).with_context(|| self.at(name))
    }

    fn figures(&self, written: &Written) -> Result<Vec<Kind>> {
        let Some(names) = &written.figures else { return Ok(vec![Kind::Facets]) };
        names.iter().map(|name| name.get_ref().parse().with_context(|| self.at(name))).collect()
    }

    /// The experiment's own amount, under the command line's.
    fn base(&self, written: &Written) -> Result<Amount> {
        match written.preset.get(&self.preset) {
            Some(amount) => Ok(amount.clone()),
            None if written.model.is_empty() && PRESETS.contains(&self.preset.as_str()) => Ok(Amount::default()),
            None => {
                let known: Vec<&str> = match written.model.is_empty() {
                    true => PRESETS.to_vec(),
                    false => written.preset.keys().map(String::as_str).collect(),
                };
                Err(nalm::Error::unknown("preset", &self.preset, &known)).with_context(|| self.file.clone())
            }
        }
    }

    /// Puts options from the command line into every model.
    fn set(&self, written: &mut Written) -> Result<()> {
        for (key, value) in &self.overrides.set {
            if !OPTION_NAMES.contains(&key.as_str()) {
                return Err(nalm::Error::unknown("option", key, &OPTION_NAMES).into());
            }
            for model in &mut written.model {
                let mut table = toml::Table::try_from(&model.options)?;
                table.insert(key.clone(), value.clone());
                let what = || format!("--set {key}={value}: not a value for {key}");
                model.options = table.try_into::<Settings>().with_context(what)?;
            }
        }
        Ok(())
    }

    /// A section; one for each range where something else is varied.
    fn section(&self, written: &Written, section: &written::Section, into: &mut Experiment) -> Result<()> {
        let own = section.preset.get(&self.preset).cloned().unwrap_or_default();
        let amount = own.or(self.base(written)?);
        let Some(ranges) = amount.ranges.as_ref().filter(|ranges| section.axis.is_some() && ranges.len() > 1) else {
            return self.part(written, section, section.name.clone(), amount, into);
        };
        for range in ranges {
            let name = format!("{} on {}", section.name, range.get_ref());
            let only = Amount { ranges: Some(vec![range.clone()]), ..amount.clone() };
            self.part(written, section, name, only, into)?;
        }
        Ok(())
    }

    fn part(
        &self,
        written: &Written,
        section: &written::Section,
        name: String,
        amount: Amount,
        into: &mut Experiment,
    ) -> Result<()> {
        let file = &self.file;
        let Some(task_name) = section.task.as_ref().or(written.task.as_ref()) else {
            ensure!(written.model.is_empty(), "{file} has no task");
            return Ok(());
        };
        let task = task::find::<f32>(task_name.get_ref()).with_context(|| self.at(task_name))?;
        let operation = section.operation.as_ref().or(written.operation.as_ref());
        if let Some(operation) = operation {
            operation.get_ref().parse::<nalm::Operation>().with_context(|| self.at(operation))?;
        }
        let ranges = self.ranges(&amount)?;
        let (seeds, steps) = (self.overrides.seeds.or(amount.seeds), self.overrides.steps.or(amount.steps));
        let what = || format!("{file}: preset {} has no", self.preset);
        let seeds = if section.grid.is_some() { 1 } else { seeds.with_context(|| format!("{} seeds", what()))? };
        let steps = steps.with_context(|| format!("{} steps", what()))?;
        let ok = (1..=1_000_000).contains(&seeds);
        ensure!(ok, "{file}: preset {} has {seeds} seeds; give at least 1 and at most a million", self.preset);
        ensure!(
            !ranges.is_empty(),
            "{file}: preset {} has no ranges; leave the key out for the published ones",
            self.preset
        );
        if let Some(side) = section.grid {
            ensure!((2..=200).contains(&side), "{file}: grid is {side}; give 2 to 200 starting weights a side");
        }
        let stream = self.overrides.stream.clone().or(amount.stream).unwrap_or_else(|| "fast".into());
        stream.parse::<nalm::Stream>().with_context(|| file.clone())?;
        let taking_part: Vec<usize> = match &section.models {
            None => (0..written.model.len()).collect(),
            Some(names) => names.iter().map(|name| self.model(&written.model, name)).collect::<Result<_>>()?,
        };
        ensure!(!taking_part.is_empty(), "{file} has no [[model]]");
        let axis = section.axis.as_ref().map(|name| Axis::named(name.get_ref()).with_context(|| self.at(name)));
        let axis = axis.transpose()?;
        let values: Vec<Option<f64>> = match axis {
            None => vec![None],
            Some(_) => {
                let values = amount.values.as_ref().with_context(|| format!("{} values", what()))?;
                values.iter().copied().map(Some).collect()
            }
        };
        let places: Vec<(String, Option<f64>)> =
            ranges.iter().flat_map(|range| values.iter().map(move |value| (range.clone(), *value))).collect();
        let place = into.sections.len();
        for index in taking_part {
            let model = &written.model[index];
            check_module(model.module.get_ref()).with_context(|| self.at(&model.module))?;
            let scheduled = self.schedule(written, model)?;
            let asked = scheduled.is_some() && self.overrides.steps.is_some();
            let name = &into.models[index];
            ensure!(!asked, "{file}: --steps is not for {name}, whose schedule says how long it trains");
            for (range, value) in &places {
                let mut first = RunSpec {
                    task: task.name.into(),
                    operation: operation.map_or("mul", |operation| operation.get_ref()).into(),
                    inputs: section.inputs.or(written.inputs).unwrap_or(task.inputs),
                    range: range.clone(),
                    test_range: published_test_range(range)?.into(),
                    module: model.module.get_ref().clone(),
                    options: model.options.clone(),
                    seed: 0,
                    stream: stream.clone(),
                    steps: self.overrides.steps.or(model.steps.get(&self.preset).copied()).unwrap_or(steps),
                    curve: section.curve.then_some(true),
                    schedule: scheduled.clone(),
                    problem: section.problem.clone(),
                    numerics: nalm::NUMERICS,
                };
                if let (Some(axis), Some(value)) = (axis, value) {
                    axis.put(&mut first, *value).with_context(|| format!("{file}, section {}", section.name))?;
                }
                first.fit_steps()?;
                // What can be wrong with a value shows when one of its runs is made ready.
                if value.is_some() {
                    first.build().with_context(|| format!("{file}, section {}", section.name))?;
                }
                let label = label_of(range, *value);
                let start = into.runs.len();
                match section.grid {
                    None => into.runs.extend((0..seeds).map(|seed| RunSpec { seed, ..first.clone() })),
                    Some(side) => into.runs.extend(starts(side).map(|weights| {
                        let options = Settings { weights: Some(weights.to_vec()), ..first.options.clone() };
                        RunSpec { options, ..first.clone() }
                    })),
                }
                let runs = start..into.runs.len();
                into.groups.push(Group { section: place, model: index, range: label, runs });
            }
            // Everything that can be wrong with a model shows when one of its runs is made ready.
            if let Some(last) = into.runs.last() {
                last.build().with_context(|| self.at(&model.module))?;
            }
        }
        let labels = places.iter().map(|(range, value)| label_of(range, *value)).collect();
        let axis = axis.map(|axis| axis.label);
        into.sections.push(Section { name, ranges: labels, grid: section.grid, axis });
        Ok(())
    }

    /// A model's schedule, written out, and its steps.
    fn schedule(&self, written: &Written, model: &Model) -> Result<Option<schedule::Written>> {
        let Some(name) = &model.schedule else { return Ok(None) };
        let own = written.schedule.get(name.get_ref()).cloned();
        let built_in = nalm::second_order::schedule::list();
        let known = written.schedule.keys().map(String::as_str).chain(built_in.iter().map(|spec| spec.name));
        let known: Vec<&str> = known.collect();
        let named = || {
            schedule::Written::named(name.get_ref())
                .map_err(|_| nalm::Error::unknown("schedule", name.get_ref(), &known))
        };
        let found = own.map_or_else(named, Ok).with_context(|| self.at(name))?;
        let read = found.read().with_context(|| format!("{}, schedule {}", self.file, name.get_ref()))?;
        Ok(Some(schedule::Written::of(&read)))
    }

    fn ranges(&self, amount: &Amount) -> Result<Vec<String>> {
        let Some(ranges) = &amount.ranges else { return Ok(paper_ranges()) };
        for range in ranges {
            range.get_ref().parse::<nalm::Distribution>().with_context(|| self.at(range))?;
            published_test_range(range.get_ref()).with_context(|| self.at(range))?;
        }
        Ok(ranges.iter().map(|range| range.get_ref().clone()).collect())
    }
}

/// How a place on a section's axis is called: by its value, or by its range.
fn label_of(range: &str, value: Option<f64>) -> String {
    match value {
        None => range.into(),
        Some(value) if value != 0.0 && value.abs() < 1e-3 => format!("{value:e}"),
        Some(value) => value.to_string(),
    }
}

/// The paper's training ranges.
fn paper_ranges() -> Vec<String> {
    task::PAPER_RANGES.iter().map(|(train, _)| train.to_string()).collect()
}

/// Starting weights on a grid over the unit square, at the centres of its cells.
fn starts(side: usize) -> impl Iterator<Item = [f64; 2]> {
    let at = move |k: usize| (k as f64 + 0.5) / side as f64;
    (0..side * side).map(move |k| [at(k % side), at(k / side)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_experiment_and_preset_is_sound() {
        for name in names() {
            for preset in presets(name) {
                let study = load(name, &Overrides::preset(preset));
                let study = study.unwrap_or_else(|error| panic!("{name} {preset}: {error:#}"));
                let mut ids = study.ids();
                let runs = ids.len();
                ids.sort();
                ids.dedup();
                assert_eq!(ids.len(), runs, "{name} {preset} runs something twice");
                assert!(!study.title().is_empty() && study.preset() == *preset);
                let (figures, analysis, grouped) = match &study {
                    Study::Numbers(e) => {
                        (e.figures.len(), &e.analysis, e.groups.iter().map(|group| group.runs.len()).sum::<usize>())
                    }
                    Study::Images(e) => {
                        (e.figures.len(), &e.analysis, e.groups.iter().map(|group| group.runs.len()).sum())
                    }
                };
                assert!(figures > 0 && !analysis.is_empty(), "{name}");
                assert_eq!(grouped, runs, "{name} {preset}");
            }
        }
    }

    #[test]
    fn every_experiment_file_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let mut known = names();
        files.sort();
        known.sort_unstable();
        assert_eq!(files, known);
    }

    #[test]
    fn mistakes_are_named_with_file_line_and_nearest_name() {
        let good = include_str!("../../../../experiments/single-module-snmu.toml");
        for (from, to, hints) in [
            ("module = \"snmu\"", "module = \"smnu\"", ["line", "did you mean 'snmu'"]),
            ("task = \"single-module\"", "task = \"single-modul\"", ["line", "did you mean 'single-module'"]),
            ("title =", "titel =", ["bad.toml", "titel"]),
            ("title =", "figures = [\"facet\"]\ntitle =", ["line 2", "did you mean 'facets'"]),
            ("title =", "operation = \"mull\"\ntitle =", ["line 2", "did you mean 'mul'"]),
            ("\"U[-2,-1)\"", "\"U[-1,-2)\"", ["line", "above the lower bound"]),
            ("default_preset = \"paper\"", "default_preset = \"papr\"", ["bad.toml", "did you mean 'paper'"]),
            ("success = 1.0", "success = 1.0\nbelow = 1.0", ["line", "exactly one"]),
            ("model = \"snmu\"", "model = \"snm\"", ["line", "did you mean 'snmu'"]),
        ] {
            assert!(good.contains(from), "{from}");
            let overrides = match from {
                "\"U[-2,-1)\"" => Overrides::preset("smoke"),
                _ => Overrides::default(),
            };
            let error = check("bad", Path::new("bad.toml"), &good.replacen(from, to, 1), &overrides).unwrap_err();
            let message = format!("{error:#}");
            assert!(hints.iter().all(|hint| message.contains(hint)), "{message}");
        }
    }

    #[test]
    fn mistakes_in_schedules_and_axes_are_named() {
        let ranges = include_str!("../../../../experiments/arithmetic-all-ranges.toml");
        let limits = include_str!("../../../../experiments/second-order-limits.toml");
        for (good, from, to, hints) in [
            (ranges, "schedule = \"equal-time\"", "schedule = \"equal-tim\"", ["line", "did you mean 'equal-time'"]),
            (ranges, "steps = 24800, ramp", "steps = 0, ramp", ["schedule equal-samples", "steps of a phase is 0"]),
            (ranges, "optimiser = \"adam\"", "optimiser = \"adamm\"", ["phase 1", "did you mean 'adam'"]),
            (limits, "axis = \"overlap\"", "axis = \"overlapp\"", ["line", "did you mean 'overlap'"]),
            (limits, "values = [20]", "values = [2.5]", ["section inputs", "a whole number"]),
            (limits, "values = [0.25]", "values = [1.25]", ["section subset ratio", "subset ratio is 1.25"]),
            (limits, "values = [0.05]", "", ["smoke", "no values"]),
        ] {
            assert!(good.contains(from), "{from}");
            let error = check("bad", Path::new("bad.toml"), &good.replacen(from, to, 1), &Overrides::preset("smoke"));
            let message = format!("{:#}", error.unwrap_err());
            assert!(hints.iter().all(|hint| message.contains(hint)), "{message}");
        }
    }

    #[test]
    fn an_axis_takes_the_place_of_the_ranges() {
        let experiment = load("second-order-limits", &Overrides::preset("paper")).unwrap().numbers().unwrap();
        let name = "label noise on U[1.1,1.2)";
        let place = experiment.sections.iter().position(|section| section.name == name).unwrap();
        let section = &experiment.sections[place];
        assert_eq!(section.axis, Some("Relative deviation of the labels"));
        assert_eq!(section.ranges, ["1e-7", "1e-6", "1e-5", "1e-4", "0.001", "0.01"]);
        for group in experiment.groups.iter().filter(|group| group.section == place) {
            let run = &experiment.runs[group.runs.start];
            let noise = run.problem.as_ref().and_then(|problem| problem.label_noise).unwrap();
            assert_eq!((group.range.parse::<f64>().unwrap(), run.range.as_str()), (noise, "U[1.1,1.2)"));
        }
    }

    #[test]
    fn options_can_be_set_for_every_model() {
        let set = |key: &str, value: toml::Value| Overrides { set: vec![(key.into(), value)], ..Overrides::default() };
        let experiment = load("single-module", &set("learning_rate", 0.01.into())).unwrap().numbers().unwrap();
        assert!(experiment.runs.iter().all(|run| run.options.learning_rate == Some(0.01)));
        let error = load("single-module", &set("learning_rat", 0.01.into())).unwrap_err();
        assert!(error.to_string().contains("did you mean 'learning_rate'"), "{error}");
        let error = load("single-module", &set("learning_rate", "fast".into())).unwrap_err();
        assert!(error.to_string().contains("--set learning_rate"), "{error}");
        let Study::Images(experiment) = load("mnist-isolated", &set("batch", 64.into())).unwrap() else {
            panic!("images")
        };
        assert!(experiment.runs.iter().all(|run| run.settings.batch == Some(64)));
        let error = load("mnist-isolated", &set("learning_rate", 0.01.into())).unwrap_err();
        assert!(error.to_string().contains("unknown field `learning_rate`"), "{error}");
    }
}

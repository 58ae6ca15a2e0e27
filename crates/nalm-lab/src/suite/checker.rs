//! From an experiment as written to one that can be carried out, or to the line that is wrong.

use super::study::PRESETS;
use super::written::{self, Amount, Model, Written};
use super::{Experiment, Group, Overrides, Section, claim, command};
use crate::figure::Kind;
use crate::runspec::{OPTION_NAMES, RunSpec, Settings, check_module, label, published_test_range};
use crate::schedule;
use crate::variation::Axis;
use anyhow::{Context, Result, anyhow, ensure};
use nalm::task;
use std::path::Path;
use toml::Spanned;

/// A file being checked: where errors are, and what the command line wants.
pub(super) struct Checker<'a> {
    pub(super) file: String,
    text: &'a str,
    overrides: &'a Overrides,
    preset: String,
}

pub(super) fn check(name: &str, path: &Path, text: &str, overrides: &Overrides) -> Result<Experiment> {
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
    pub(super) fn at<T>(&self, what: &Spanned<T>) -> String {
        let line = self.text[..what.span().start.min(self.text.len())].matches('\n').count() + 1;
        format!("{}, line {line}", self.file)
    }

    /// The place of a model's name among `models`.
    pub(super) fn model(&self, models: &[Model], name: &Spanned<String>) -> Result<usize> {
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
pub(super) fn paper_ranges() -> Vec<String> {
    task::PAPER_RANGES.iter().map(|(train, _)| train.to_string()).collect()
}

/// Starting weights on a grid over the unit square, at the centres of its cells.
fn starts(side: usize) -> impl Iterator<Item = [f64; 2]> {
    let at = move |k: usize| (k as f64 + 0.5) / side as f64;
    (0..side * side).map(move |k| [at(k % side), at(k / side)])
}

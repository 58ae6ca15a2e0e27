//! From an experiment as written to one that can be carried out, or to the line that is wrong.

use super::places::{self, Place};
use super::written::{Model, Preset, Section as WrittenSection, Seeds, Settings, Written};
use super::{Experiment, Group, Names, Overrides, Section, built_in, expectation, set};
use crate::error::{Context, Error, Result, bail, ensure};
use crate::run::schedule;
use crate::task::choose::one_of;
use crate::task::{Catalogue, Choices, Task, network};
use serde_json::Value;
use std::path::Path;
use toml::Spanned;

/// A file being checked: where errors are, and what the command line wants.
pub(super) struct Checker<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) names: &'a Names,
    pub(super) file: String,
    /// Where paths in the file start from.
    folder: &'a Path,
    text: &'a str,
    pub(super) overrides: &'a Overrides,
    pub(super) preset: String,
    pub(super) written: Written,
}

/// Checks an experiment.
pub fn check(
    catalogue: &Catalogue,
    names: &Names,
    name: &str,
    path: &Path,
    text: &str,
    overrides: &Overrides,
) -> Result<Experiment> {
    let file = path.display().to_string();
    let written: Written = toml::from_str(text).map_err(|error| Error::Request(format!("{file}: {error}")))?;
    let only = (written.preset.len() == 1).then(|| written.preset.keys().next().cloned()).flatten();
    let preset = overrides.preset.clone().or_else(|| written.default_preset.clone()).or(only);
    let Some(preset) = preset else { bail!("{file} has no default_preset, and not exactly one preset") };
    let folder = path.parent().unwrap_or(Path::new(""));
    Checker { catalogue, names, file, folder, text, overrides, preset, written }.experiment(name, path)
}

impl Checker<'_> {
    /// The place of something, for messages.
    pub(super) fn at<T>(&self, what: &Spanned<T>) -> String {
        let line = self.text[..what.span().start.min(self.text.len())].matches('\n').count() + 1;
        format!("{}, line {line}", self.file)
    }

    /// The line of a key that stands in no particular table.
    pub(super) fn line_of_key(&self, key: &str) -> String {
        let is_key =
            |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        let line = self.text.lines().position(is_key);
        line.map_or(self.file.clone(), |line| format!("{}, line {}", self.file, line + 1))
    }

    /// Whether the command line changed what statements of papers are about.
    pub(super) fn is_changed(&self) -> bool {
        let Overrides { set, ranges, sweep, .. } = self.overrides;
        // Longer or shorter runs and other streams are still about the same thing.
        set.iter().any(|(key, _)| key != "steps" && key != "stream") || !ranges.is_empty() || !sweep.is_empty()
    }

    fn experiment(&self, name: &str, path: &Path) -> Result<Experiment> {
        let written = &self.written;
        self.known_preset(&self.preset)?;
        for (schedule, phases) in &written.schedule {
            phases.read().at(|| format!("{}, schedule {schedule}", self.file))?;
        }
        let mut figures = Vec::new();
        for name in &written.figures {
            one_of("figure", name.get_ref(), &self.names.figures).at(|| self.at(name))?;
            figures.push(name.get_ref().clone());
        }
        let mut experiment = Experiment {
            name: name.into(),
            title: written.title.clone().unwrap_or_default(),
            analysis: written.analysis.trim().into(),
            preset: self.preset.clone(),
            command: built_in::command(name, path, &self.preset, self.overrides),
            figures: if figures.is_empty() { vec!["facets".into()] } else { figures },
            models: self.labels()?,
            baselines: written.baselines.iter().map(|name| self.model(name)).collect::<Result<_>>()?,
            ..Experiment::default()
        };
        let whole = [WrittenSection::default()];
        let sections = if written.section.is_empty() { &whole[..] } else { &written.section };
        for section in sections {
            self.section(section, &mut experiment)?;
        }
        ensure!(written.title.is_some(), "{} has no title", self.file);
        experiment.notes = set::notes(self, &experiment)?;
        experiment.expectations = expectation::check(self, &experiment)?;
        Ok(experiment)
    }

    /// Labels of the models, all different.
    fn labels(&self) -> Result<Vec<String>> {
        let mut labels: Vec<String> = Vec::new();
        for model in &self.written.model {
            let name = match (&model.module, &model.layers) {
                (Some(module), None) => self.catalogue.label(module.get_ref()),
                (None, Some(layers)) => network::label(self.catalogue, layers.get_ref()),
                _ => bail!("{}: a [[model]] has a module or layers, one of the two", self.file),
            };
            let label = model.label.clone().unwrap_or(name);
            ensure!(!labels.contains(&label), "{}: two models are called {label}; give one a label", self.file);
            labels.push(label);
        }
        Ok(labels)
    }

    /// The place of a model by its label or module.
    pub(super) fn model(&self, name: &Spanned<String>) -> Result<usize> {
        fn of(model: &Model) -> &str {
            model.label.as_ref().or(model.module.as_ref().map(Spanned::get_ref)).map_or("", String::as_str)
        }
        let names: Vec<&str> = self.written.model.iter().map(of).collect();
        let by_label =
            |error| self.labels().unwrap_or_default().iter().position(|label| label == name.get_ref()).ok_or(error);
        one_of("model", name.get_ref(), &names).or_else(by_label).at(|| self.at(name))
    }

    /// Refuses a preset that the file does not have.
    pub(super) fn known_preset(&self, preset: &str) -> Result<()> {
        // Nothing is run where there are no models, so every preset is there.
        let known: Vec<&str> = match self.written.model.is_empty() {
            true => built_in::PRESETS.to_vec(),
            false => self.written.preset.keys().map(String::as_str).collect(),
        };
        one_of("preset", preset, &known).map(drop).at(|| self.file.clone())
    }

    /// What the preset says about a section: the section's own, or else the experiment's.
    fn preset<'p, T>(&'p self, section: &'p WrittenSection, of: impl Fn(&'p Preset) -> Option<T>) -> Option<T> {
        let presets = [&section.preset, &self.written.preset].into_iter();
        presets.filter_map(|all| all.get(&self.preset)).find_map(of)
    }

    /// A section; one for each range where something else is varied.
    fn section(&self, section: &WrittenSection, into: &mut Experiment) -> Result<()> {
        let written = &self.written;
        let Some(task_name) = section.task.as_ref().or(written.task.as_ref()) else {
            ensure!(written.model.is_empty(), "{} has no task", self.file);
            let known = ["title", "analysis", "figures", "task", "default_preset"];
            let Some(key) = written.settings.keys().next() else { return Ok(()) };
            return one_of("key", key, &known).map(drop).at(|| self.line_of_key(key));
        };
        let task = self.catalogue.task(task_name.get_ref()).at(|| self.at(task_name))?;
        if let Some(scale) = self.preset(section, |preset| preset.scale.as_ref()) {
            into.scale = scale.clone() + &self.overrides.in_words();
        }
        let sweep = self.preset(section, |preset| preset.sweep.as_ref()).or(section.sweep.as_ref());
        let sweep = places::sweep(self, sweep.unwrap_or(&written.sweep))?;
        let ranges = places::ranges(self, &**task, self.preset(section, |preset| preset.ranges.as_deref()))?;
        let apart = !sweep.is_empty() && ranges.len() > 1;
        for part in ranges.chunks(if apart { 1 } else { ranges.len() }) {
            let on = if section.name.is_empty() { "on" } else { " on" };
            let name = if apart { format!("{}{on} {}", section.name, part[0].label) } else { section.name.clone() };
            self.part(section, name, &**task, part, &sweep, into)?;
        }
        Ok(())
    }

    fn seeds(&self, section: &WrittenSection) -> Result<Vec<u64>> {
        let place = format!("{}: preset {}", self.file, self.preset);
        let Some(seeds) = self.preset(section, |preset| preset.seeds.as_ref()) else { bail!("{place} has no seeds") };
        let planned = match seeds {
            Seeds::Count(n) => *n,
            Seeds::List(list) => list.len() as u64,
        };
        let n = self.overrides.seeds.unwrap_or(planned);
        ensure!((1..=1_000_000).contains(&n), "{place} has {n} seeds; give at least 1 and at most a million");
        match seeds {
            Seeds::Count(_) => Ok((0..n).collect()),
            Seeds::List(list) if n > planned => bail!("{place} has {} seeds, fewer than {n}", list.len()),
            Seeds::List(list) => Ok(list[..n as usize].to_vec()),
        }
    }

    /// Which models take part: the section's, or the preset's, or all.
    fn taking_part(&self, section: &WrittenSection) -> Result<Vec<usize>> {
        let names = section.models.as_ref().or_else(|| self.preset(section, |preset| preset.models.as_ref()));
        let found: Vec<usize> = match names {
            None => (0..self.written.model.len()).collect(),
            Some(names) => names.iter().map(|name| self.model(name)).collect::<Result<_>>()?,
        };
        ensure!(!found.is_empty(), "{} has no [[model]]", self.file);
        Ok(found)
    }

    fn part(
        &self,
        section: &WrittenSection,
        name: String,
        task: &dyn Task,
        ranges: &[Place],
        sweep: &[Place],
        into: &mut Experiment,
    ) -> Result<()> {
        let file = &self.file;
        let seeds = if section.grid.is_some() { vec![0] } else { self.seeds(section)? };
        if let Some(side) = section.grid {
            ensure!((2..=200).contains(&side), "{file}: grid is {side}; give 2 to 200 starting weights a side");
        }
        let own = into.sections.len();
        let places = places::both(ranges, sweep);
        for index in self.taking_part(section)? {
            let model = &self.written.model[index];
            let mut base = self.choices(section, model)?;
            if base.schedule.is_some() {
                let asked = self.overrides.set.iter().any(|(key, _)| key == "steps");
                let label = &into.models[index];
                ensure!(!asked, "{file}: --steps is not for {label}, whose schedule says how long it trains");
                base.values.remove("steps");
            }
            for place in &places {
                let mut choices = base.clone();
                choices.values.extend(place.values.clone());
                set::apply(self, task, &mut choices);
                let at = || match (&model.module, &model.layers) {
                    _ if !sweep.is_empty() => format!("{file}, section {}, {}", section.name, place.label),
                    (Some(module), _) => self.at(module),
                    (_, layers) => layers.as_ref().map_or(file.clone(), |layers| self.at(layers)),
                };
                // What is wrong with a model or a value shows when one of its runs is made ready.
                let first = task.specify(self.catalogue, &choices).map_err(|error| self.blame(error)).at(at)?;
                let last_layer = task.check(self.catalogue, &first).at(at)?;
                let start = into.runs.len();
                match section.grid {
                    None => into.runs.extend(seeds.iter().map(|&seed| first.with("seed", seed))),
                    Some(side) => {
                        for weights in places::starts(side) {
                            choices.values.insert("weights".into(), weights.to_vec().into());
                            into.runs.push(task.specify(self.catalogue, &choices)?);
                        }
                    }
                }
                let runs = start..into.runs.len();
                into.groups.push(Group { section: own, model: index, place: place.label.clone(), runs, last_layer });
            }
        }
        let axis = sweep.first().map(|place| place.axis(self.catalogue, task));
        let (task, measures) = (task.name().to_string(), task.measures());
        let places = places.into_iter().map(|place| place.label).collect();
        into.sections.push(Section { name, task, measures, places, grid: section.grid, axis });
        Ok(())
    }

    /// A wrong setting at the top of the file is named with its line.
    fn blame(&self, error: Error) -> Error {
        let text = error.to_string();
        match self.written.settings.keys().find(|key| text.contains(key.as_str())) {
            Some(key) => Error::At { place: self.line_of_key(key), cause: Box::new(error) },
            None => error,
        }
    }

    /// What a model has chosen, from the most general to the most particular.
    fn choices(&self, section: &WrittenSection, model: &Model) -> Result<Choices> {
        let written = &self.written;
        let [base, own] = [&written.preset, &section.preset].map(|all| all.get(&self.preset).map(|p| &p.settings));
        let all = [Some(&written.settings), base, Some(&section.settings), own, Some(&model.options)];
        let mut values: Settings = all.into_iter().flatten().flat_map(Settings::clone).collect();
        values.extend(model.steps.get(&self.preset).map(|steps| ("steps".to_string(), (*steps).into())));
        // A file of data is looked for beside the experiment.
        if let Some(Value::String(file)) = values.get_mut("data") {
            *file = self.folder.join(&*file).display().to_string();
        }
        Ok(Choices {
            module: model.module.as_ref().map(|module| module.get_ref().clone()),
            layers: model.layers.as_ref().map(|layers| layers.get_ref().clone()),
            schedule: self.schedule(model)?,
            values,
            seed: 0,
        })
    }

    /// A model's schedule, from the file or from the list.
    fn schedule(&self, model: &Model) -> Result<Option<schedule::Written>> {
        let Some(name) = &model.schedule else { return Ok(None) };
        let (own, listed) = (&self.written.schedule, nalm::second_order::schedule::list());
        let known: Vec<&str> = own.keys().map(String::as_str).chain(listed.iter().map(|spec| spec.name)).collect();
        let place = one_of("schedule", name.get_ref(), &known).at(|| self.at(name))?;
        let from_list = || schedule::Written::of(&listed[place - own.len()].schedule);
        Ok(Some(own.get(name.get_ref()).cloned().unwrap_or_else(from_list)))
    }
}

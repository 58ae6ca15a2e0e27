//! From an experiment as written to one that can be carried out, or to the line that is wrong.

use super::written::{Model, Preset, Section as WrittenSection, Seeds, Written};
use super::{Experiment, Group, Names, Overrides, Section, built_in, expectation};
use crate::error::{Context, Error, Result, bail, ensure};
use crate::run::schedule;
use crate::task::{Catalogue, Choices, Task, choose, network};
use nalm::task::PAPER_RANGES;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// A file being checked: where errors are, and what the command line wants.
pub(super) struct Checker<'a> {
    catalogue: &'a Catalogue,
    pub(super) names: &'a Names,
    pub(super) file: String,
    /// Where paths in the file start from.
    folder: &'a Path,
    text: &'a str,
    overrides: &'a Overrides,
    preset: String,
}

/// One range or value along a section's axis: how it is called, and what it sets.
#[derive(Clone, Debug, Default)]
struct Place {
    label: String,
    values: BTreeMap<String, Value>,
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
    let checker = Checker { catalogue, names, file, folder, text, overrides, preset };
    checker.experiment(name, path, &written)
}

/// The paper's training ranges.
pub(super) fn paper_ranges() -> Vec<String> {
    PAPER_RANGES.iter().map(|(train, _)| train.to_string()).collect()
}

impl Checker<'_> {
    /// The place of something, for messages.
    pub(super) fn at<T>(&self, what: &Spanned<T>) -> String {
        self.line(what.span().start)
    }

    fn line(&self, offset: usize) -> String {
        let line = self.text[..offset.min(self.text.len())].matches('\n').count() + 1;
        format!("{}, line {line}", self.file)
    }

    /// The line of a key that stands in no particular table.
    fn line_of_key(&self, key: &str) -> String {
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

    fn experiment(&self, name: &str, path: &Path, written: &Written) -> Result<Experiment> {
        self.base(written)?;
        for (schedule, phases) in &written.schedule {
            phases.read().at(|| format!("{}, schedule {schedule}", self.file))?;
        }
        let figures = written.figures.as_deref().unwrap_or_default().iter();
        let figures = figures.map(|name| match self.names.figures.contains(&name.get_ref().as_str()) {
            true => Ok(name.get_ref().clone()),
            false => Err(nalm::Error::unknown("figure", name.get_ref(), &self.names.figures)).at(|| self.at(name)),
        });
        let figures: Vec<String> = figures.collect::<Result<_>>()?;
        let mut experiment = Experiment {
            name: name.into(),
            title: written.title.clone().unwrap_or_default(),
            analysis: written.analysis.trim().into(),
            preset: self.preset.clone(),
            scale: String::new(),
            command: built_in::command(name, path, &self.preset, self.overrides),
            figures: if figures.is_empty() { vec!["facets".into()] } else { figures },
            sections: Vec::new(),
            models: self.labels(written)?,
            runs: Vec::new(),
            groups: Vec::new(),
            expectations: Vec::new(),
            baselines: written.baselines.iter().map(|name| self.model(written, name)).collect::<Result<_>>()?,
            notes: Vec::new(),
        };
        let whole = [WrittenSection::default()];
        let sections = if written.section.is_empty() { &whole[..] } else { &written.section };
        for section in sections {
            self.section(written, section, &mut experiment)?;
        }
        if written.title.is_none() {
            bail!("{} has no title", self.file);
        }
        self.notes(written, &mut experiment)?;
        experiment.expectations = expectation::check(self, written, &experiment)?;
        Ok(experiment)
    }

    /// Labels of the models, all different.
    fn labels(&self, written: &Written) -> Result<Vec<String>> {
        let mut labels: Vec<String> = Vec::new();
        for model in &written.model {
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
    pub(super) fn model(&self, written: &Written, name: &Spanned<String>) -> Result<usize> {
        let of = |model: &Model| {
            let module = || model.module.as_ref().map(|module| module.get_ref().clone());
            model.label.clone().or_else(module).unwrap_or_default()
        };
        let names: Vec<String> = written.model.iter().map(of).collect();
        let found = names.iter().position(|known| known == name.get_ref());
        let labels = || self.labels(written).ok()?.iter().position(|label| label == name.get_ref());
        found.or_else(labels).map_or_else(
            || {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Err(nalm::Error::unknown("model", name.get_ref(), &names)).at(|| self.at(name))
            },
            Ok,
        )
    }

    /// Refuses a preset that the file does not have.
    pub(super) fn known_preset(&self, written: &Written, preset: &str) -> Result<()> {
        // Nothing is run where there are no models, so every preset is there.
        let known: Vec<&str> = match written.model.is_empty() {
            true => built_in::PRESETS.to_vec(),
            false => written.preset.keys().map(String::as_str).collect(),
        };
        if known.contains(&preset) {
            return Ok(());
        }
        Err(nalm::Error::unknown("preset", preset, &known)).at(|| self.file.clone())
    }

    /// The experiment's own preset.
    fn base(&self, written: &Written) -> Result<Preset> {
        self.known_preset(written, &self.preset)?;
        Ok(written.preset.get(&self.preset).cloned().unwrap_or_default())
    }

    /// A section; one for each range where something else is varied.
    fn section(&self, written: &Written, section: &WrittenSection, into: &mut Experiment) -> Result<()> {
        let own = section.preset.get(&self.preset).cloned().unwrap_or_default();
        let preset = own.or(self.base(written)?);
        let Some(task_name) = section.task.as_ref().or(written.task.as_ref()) else {
            ensure!(written.model.is_empty(), "{} has no task", self.file);
            let unknown = written.settings.keys().next();
            if let Some(key) = unknown {
                return Err(nalm::Error::unknown(
                    "key",
                    key,
                    &["title", "analysis", "figures", "task", "default_preset"],
                ))
                .at(|| self.line_of_key(key));
            }
            return Ok(());
        };
        let task = self.catalogue.task(task_name.get_ref()).at(|| self.at(task_name))?;
        if let Some(scale) = &preset.scale {
            into.scale = scale.clone() + &self.overrides.in_words();
        }
        let sweep = self.sweep(written, section, &preset)?;
        let ranges = self.ranges(&**task, &preset)?;
        if sweep.is_empty() || ranges.len() == 1 {
            return self.part(written, section, section.name.clone(), &**task, &preset, &ranges, &sweep, into);
        }
        for range in ranges {
            let on = if section.name.is_empty() { "on" } else { " on" };
            let name = format!("{}{on} {}", section.name, range.label);
            self.part(written, section, name, &**task, &preset, &[range], &sweep, into)?;
        }
        Ok(())
    }

    /// What is varied besides the range: every combination of the values, and the name of the axis.
    fn sweep(&self, written: &Written, section: &WrittenSection, preset: &Preset) -> Result<Vec<Place>> {
        let written_sweep = preset.sweep.as_ref().or(section.sweep.as_ref()).unwrap_or(&written.sweep);
        let mut sweep: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (key, values) in written_sweep {
            let values = values.iter().map(json_of).collect::<Result<Vec<_>>>().at(|| self.line_of_key(key))?;
            sweep.insert(key.clone(), values);
        }
        sweep.extend(self.overrides.sweep.iter().cloned());
        let several = sweep.len() > 1;
        let mut places = vec![Place::default()];
        for (key, values) in &sweep {
            ensure!(!values.is_empty(), "{}: the sweep over {key} has no values", self.file);
            let one = |place: &Place, value: &Value| {
                let (mut values, label) = (place.values.clone(), label_of(value));
                values.insert(key.clone(), value.clone());
                let own = if several { format!("{key} {label}") } else { label };
                Place { label: if place.label.is_empty() { own } else { format!("{}, {own}", place.label) }, values }
            };
            places = places.iter().flat_map(|place| values.iter().map(move |value| one(place, value))).collect();
        }
        Ok(if sweep.is_empty() { Vec::new() } else { places })
    }

    /// The ranges of a task that has such, or one place without a name.
    fn ranges(&self, task: &dyn Task, preset: &Preset) -> Result<Vec<Place>> {
        if !task.settings().iter().any(|setting| setting.name == "range") {
            ensure!(preset.ranges.is_none(), "{}: {} has no ranges", self.file, task.name());
            return Ok(vec![Place::default()]);
        }
        let mut pairs: Vec<(String, Option<String>)> = self.overrides.ranges.clone();
        if pairs.is_empty() {
            let written = preset
                .ranges
                .as_ref()
                .map(|ranges| ranges.iter().map(|range| self.range(range)).collect::<Result<_>>());
            pairs = written.unwrap_or_else(|| Ok(paper_ranges().into_iter().map(|range| (range, None)).collect()))?;
        }
        ensure!(
            !pairs.is_empty(),
            "{}: preset {} has no ranges; leave the key out for the published ones",
            self.file,
            self.preset
        );
        let label = |(train, test): &(String, Option<String>)| {
            let twice = pairs.iter().filter(|(other, _)| other == train).count() > 1;
            test.as_ref().filter(|_| twice).map_or(train.clone(), |test| format!("{train}, tested on {test}"))
        };
        let place = |pair: &(String, Option<String>)| {
            let test = pair.1.iter().map(|test| ("test_range".to_string(), test.clone().into()));
            let values = [("range".to_string(), pair.0.clone().into())].into_iter().chain(test).collect();
            Place { label: label(pair), values }
        };
        Ok(pairs.iter().map(place).collect())
    }

    /// A training range as written, perhaps with its test range.
    fn range(&self, written: &Spanned<toml::Value>) -> Result<(String, Option<String>)> {
        let normal = |text: &str| -> Result<String> { Ok(text.parse::<nalm::Distribution>()?.to_string()) };
        let read = || match written.get_ref() {
            toml::Value::String(train) => {
                let train = normal(train)?;
                // Named here, where the line is known.
                crate::task::published_test_range(&train).map(|_| (train.clone(), None)).ok_or_else(|| {
                    Error::Request(format!(
                        "{train} has no published test range; give one: {{ train = \"{train}\", test = \"U[2,6)\" }}"
                    ))
                })
            }
            toml::Value::Table(pair) => match (pair.get("train"), pair.get("test"), pair.len()) {
                (Some(toml::Value::String(train)), Some(toml::Value::String(test)), 2) => {
                    Ok((normal(train)?, Some(normal(test)?)))
                }
                _ => bail!("a range has the keys train and test, such as {{ train = \"U[3,4)\", test = \"U[4,10)\" }}"),
            },
            other => {
                bail!("{other} is no range; write it like \"U[1,2)\" or {{ train = \"U[3,4)\", test = \"U[4,10)\" }}")
            }
        };
        read().at(|| self.at(written))
    }

    fn seeds(&self, preset: &Preset) -> Result<Vec<u64>> {
        let (file, name) = (&self.file, &self.preset);
        let Some(seeds) = &preset.seeds else { bail!("{file}: preset {name} has no seeds") };
        let enough = |n: u64| {
            let ok = (1..=1_000_000).contains(&n);
            if ok {
                Ok(n)
            } else {
                Err(Error::Request(format!(
                    "{file}: preset {name} has {n} seeds; give at least 1 and at most a million"
                )))
            }
        };
        match (seeds, self.overrides.seeds) {
            (Seeds::List(list), asked) => {
                let n = enough(asked.unwrap_or(list.len() as u64))?;
                ensure!(n <= list.len() as u64, "{file}: preset {name} has {} seeds, fewer than {n}", list.len());
                Ok(list[..n as usize].to_vec())
            }
            (Seeds::Count(n), asked) => Ok((0..enough(asked.unwrap_or(*n))?).collect()),
        }
    }

    /// Which models take part: the section's, or the preset's, or all.
    fn taking_part(&self, written: &Written, section: &WrittenSection, preset: &Preset) -> Result<Vec<usize>> {
        let names = section.models.as_ref().or(preset.models.as_ref());
        let found: Vec<usize> = match names {
            None => (0..written.model.len()).collect(),
            Some(names) => names.iter().map(|name| self.model(written, name)).collect::<Result<_>>()?,
        };
        ensure!(!found.is_empty(), "{} has no [[model]]", self.file);
        Ok(found)
    }

    fn part(
        &self,
        written: &Written,
        section: &WrittenSection,
        name: String,
        task: &dyn Task,
        preset: &Preset,
        ranges: &[Place],
        sweep: &[Place],
        into: &mut Experiment,
    ) -> Result<()> {
        let file = &self.file;
        let seeds = if section.grid.is_some() { vec![0] } else { self.seeds(preset)? };
        if let Some(side) = section.grid {
            ensure!((2..=200).contains(&side), "{file}: grid is {side}; give 2 to 200 starting weights a side");
        }
        let own = into.sections.len();
        let places: Vec<Place> = match sweep {
            [] => ranges.to_vec(),
            sweep => ranges.iter().flat_map(|range| sweep.iter().map(|value| self.both(range, value))).collect(),
        };
        for index in self.taking_part(written, section, preset)? {
            let model = &written.model[index];
            let mut base = self.choices(written, section, preset, task, model)?;
            if base.schedule.is_some() {
                let asked = self.overrides.set.iter().any(|(key, _)| key == "steps");
                let label = &into.models[index];
                ensure!(!asked, "{file}: --steps is not for {label}, whose schedule says how long it trains");
                base.values.remove("steps");
            }
            for place in &places {
                let mut choices = base.clone();
                choices.values.extend(place.values.clone());
                self.set(task, &mut choices);
                let at = || match sweep.is_empty() {
                    true => self.line(model.span().start),
                    false => format!("{file}, section {}, {}", section.name, place.label),
                };
                // What is wrong with a model or a value shows when one of its runs is made ready.
                let first =
                    task.specify(self.catalogue, &choices).map_err(|error| self.blame(error, written)).at(at)?;
                let last_layer = task.check(self.catalogue, &first).at(at)?;
                let start = into.runs.len();
                match section.grid {
                    None => into.runs.extend(seeds.iter().map(|&seed| first.with("seed", seed))),
                    Some(side) => {
                        for weights in starts(side) {
                            choices.values.insert("weights".into(), weights.to_vec().into());
                            into.runs.push(task.specify(self.catalogue, &choices)?);
                        }
                    }
                }
                let runs = start..into.runs.len();
                into.groups.push(Group { section: own, model: index, place: place.label.clone(), runs, last_layer });
            }
        }
        let axis = sweep.first().map(|place| self.axis(task, place));
        let (task, measures) = (task.name().to_string(), task.measures());
        let places = places.into_iter().map(|place| place.label).collect();
        into.sections.push(Section { name, task, measures, places, grid: section.grid, axis });
        Ok(())
    }

    /// A range and a value along an axis; the value names the place.
    fn both(&self, range: &Place, value: &Place) -> Place {
        let mut values = range.values.clone();
        values.extend(value.values.clone());
        Place { label: value.label.clone(), values }
    }

    /// How figures call what is varied.
    fn axis(&self, task: &dyn Task, place: &Place) -> String {
        let declared = |key: &String| {
            let options = self.catalogue.modules().iter().flat_map(|entry| entry.single.options).copied();
            let found = task.settings().into_iter().chain(options).find(|setting| setting.name == key);
            found.map_or(key.clone(), |setting| format!("{key}: {}", setting.meaning))
        };
        place.values.keys().map(declared).collect::<Vec<_>>().join("; ")
    }

    /// A wrong setting at the top of the file is named with its line.
    fn blame(&self, error: Error, written: &Written) -> Error {
        let text = error.to_string();
        let key = written.settings.keys().find(|key| text.contains(key.as_str()));
        match key {
            Some(key) => Error::At { place: self.line_of_key(key), cause: Box::new(error) },
            None => error,
        }
    }

    /// What a model has chosen, from the most general to the most particular: the file, the preset, the section, the model.
    fn choices(
        &self,
        written: &Written,
        section: &WrittenSection,
        preset: &Preset,
        task: &dyn Task,
        model: &Model,
    ) -> Result<Choices> {
        let mut values = BTreeMap::new();
        for settings in [&written.settings, &preset.settings, &section.settings, &model.options] {
            for (key, value) in settings {
                values.insert(key.clone(), self.value(key, value)?);
            }
        }
        // A section's own preset is more particular than the section.
        if let Some(own) = section.preset.get(&self.preset) {
            own.settings.iter().try_for_each(|(key, value)| {
                self.value(key, value).map(|value| _ = values.insert(key.clone(), value))
            })?;
        }
        for (key, value) in &model.options {
            values.insert(key.clone(), self.value(key, value)?);
        }
        if let Some(steps) = model.steps.get(&self.preset) {
            values.insert("steps".into(), (*steps).into());
        }
        let _ = task;
        Ok(Choices {
            module: model.module.as_ref().map(|module| module.get_ref().clone()),
            layers: model.layers.as_ref().map(|layers| layers.get_ref().clone()),
            schedule: self.schedule(written, model)?,
            values,
            seed: 0,
        })
    }

    /// A setting as JSON; a file of data is looked for beside the experiment.
    fn value(&self, key: &str, value: &toml::Value) -> Result<Value> {
        let value = json_of(value).at(|| self.line_of_key(key))?;
        match (key, &value) {
            ("data", Value::String(file)) => Ok(self.folder.join(file).display().to_string().into()),
            _ => Ok(value),
        }
    }

    /// Puts settings from the command line into a model that has them.
    fn set(&self, task: &dyn Task, choices: &mut Choices) {
        for (key, value) in &self.overrides.set {
            if self.has(task, choices.module.as_deref(), key) {
                choices.values.insert(key.clone(), value.clone());
            }
        }
    }

    /// Whether a model on a task has a setting. Steps and streams are for all, so that tasks without them can say what they have instead.
    fn has(&self, task: &dyn Task, module: Option<&str>, key: &str) -> bool {
        let options =
            module.and_then(|module| self.catalogue.module(module).ok()).map_or(&[][..], |entry| entry.single.options);
        let own = task.settings().iter().chain(options).any(|setting| setting.name == key);
        own || key == "steps" || key == "stream"
    }

    /// Says which models the command line's settings are for; one that nobody has was mistyped.
    fn notes(&self, written: &Written, into: &mut Experiment) -> Result<()> {
        for (key, value) in &self.overrides.set {
            let mut have: Vec<usize> = Vec::new();
            for group in &into.groups {
                let task = self.catalogue.task(&into.sections[group.section].task)?;
                let module = written.model[group.model].module.as_ref().map(|module| module.get_ref().as_str());
                if !have.contains(&group.model) && self.has(&**task, module, key) {
                    have.push(group.model);
                }
            }
            let all: Vec<usize> = {
                let mut all: Vec<usize> = into.groups.iter().map(|group| group.model).collect();
                all.sort_unstable();
                all.dedup();
                all
            };
            if have.is_empty() && !all.is_empty() {
                let known = self.catalogue.option_names().contains(&key.as_str());
                ensure!(!known, "--set {key}: no model of {} has this option", into.name);
                let tasks = into.sections.iter().filter_map(|section| self.catalogue.task(&section.task).ok());
                let tasks: Vec<&dyn Task> = tasks.map(|task| &**task).collect();
                return Err(choose::undeclared(self.catalogue, &tasks, key)).at(|| "--set".into());
            }
            if have.len() < all.len() {
                let labels: Vec<&str> = have.iter().map(|&model| into.models[model].as_str()).collect();
                let plain = value.as_str().map_or_else(|| value.to_string(), String::from);
                into.notes
                    .push(format!("{key} = {plain} is set for {}; the other models do not have it", labels.join(", ")));
            }
        }
        Ok(())
    }

    /// A model's schedule, from the file or from the list.
    fn schedule(&self, written: &Written, model: &Model) -> Result<Option<schedule::Written>> {
        let Some(name) = &model.schedule else { return Ok(None) };
        if let Some(own) = written.schedule.get(name.get_ref()) {
            return Ok(Some(own.clone()));
        }
        let built_in = nalm::second_order::schedule::list();
        let known = written.schedule.keys().map(String::as_str).chain(built_in.iter().map(|spec| spec.name));
        let known: Vec<&str> = known.collect();
        let unknown = |_| nalm::Error::unknown("schedule", name.get_ref(), &known);
        schedule::Written::named(name.get_ref()).map_err(unknown).map(Some).at(|| self.at(name))
    }
}

/// A TOML value as JSON, where a setting can be that.
fn json_of(value: &toml::Value) -> Result<Value> {
    Ok(match value {
        toml::Value::String(text) => text.clone().into(),
        toml::Value::Integer(n) => (*n).into(),
        toml::Value::Float(x) if x.is_finite() => (*x).into(),
        toml::Value::Boolean(flag) => (*flag).into(),
        toml::Value::Array(all) => all.iter().map(json_of).collect::<Result<Vec<_>>>()?.into(),
        other => bail!("{other} is no value of a setting; give a number, a text, true, false or a list of numbers"),
    })
}

/// How a value along an axis is called.
fn label_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(x) if x != 0.0 && x.abs() < 1e-3 => format!("{x:e}"),
            Some(x) => x.to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Starting weights on a grid over the unit square, at the centres of its cells.
fn starts(side: usize) -> impl Iterator<Item = [f64; 2]> {
    let at = move |k: usize| (k as f64 + 0.5) / side as f64;
    (0..side * side).map(move |k| [at(k % side), at(k / side)])
}

//! From an experiment as written to one that can be carried out, or to the line that is wrong.

use super::places::{self, Place};
use super::seeds::MOST;
use super::written::{Model, Preset, Section as WrittenSection, Seeds, Settings, Sweep, Written};
use super::{Experiment, Group, Names, Overrides, Section, built_in, expectation, joined, overrides, reading, set};
use crate::error::{Context, Error, Result, bail, ensure};
use crate::run::{Spec, schedule};
use crate::task::choose::{choose, one_of};
use crate::task::{Catalogue, Choices, Task, network};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// What a run takes in memory before it is carried out.
const BYTES_OF_A_PLANNED_RUN: f64 = 2_500.0;

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
    /// The one section of a file that has none.
    whole: WrittenSection,
}

/// A part of a section: its name, and its ranges.
struct Part {
    name: String,
    ranges: Vec<Place>,
}

/// What a file has at a preset, by names.
pub(super) struct Planned {
    pub(super) preset: String,
    pub(super) section: String,
    pub(super) models: Vec<usize>,
    /// What a place is called, by model: as a whole, and without what the model does not have.
    pub(super) labels: Vec<(usize, String)>,
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
    let written: Written = reading::read(&file, text)?;
    strange(&file, &written)?;
    let only = (written.preset.len() == 1).then(|| written.preset.keys().next().cloned()).flatten();
    let preset = overrides.preset.clone().or_else(|| written.default_preset.clone()).or(only);
    let Some(preset) = preset else {
        let names: Vec<&str> = written.preset.keys().map(String::as_str).collect();
        match (names.first(), names.join(" or ")) {
            (Some(first), all) => {
                bail!("{file} has several presets; say --preset {all}, or write default_preset = \"{first}\"")
            }
            (None, _) => bail!("{file} has no preset; write [preset.NAME] with seeds and steps"),
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let whole = WrittenSection::default();
    Checker { catalogue, names, file, folder, text, overrides, preset, written, whole }.experiment(name, path)
}

/// A table of a file whose other keys are settings, or one that has none.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Table<'a> {
    Top,
    Preset(&'a str),
    /// By its place among the sections.
    Section(usize),
    PresetOf(usize, &'a str),
    Model,
}

impl Table<'_> {
    /// The letter for it in [`KEYS`], and where it is, in words.
    fn kind(self) -> (char, &'static str) {
        match self {
            Table::Top => ('t', "at the top of the file, above its tables"),
            Table::Preset(_) | Table::PresetOf(..) => ('p', "in a preset, [preset.NAME]"),
            Table::Section(_) => ('s', "in a section, [[section]]"),
            Table::Model => ('m', "in a model, [[model]]"),
        }
    }
}

/// The keys that are no settings, with the tables that have them: the top, presets, sections, models.
const KEYS: [(&str, &str); 23] = [
    ("title", "t"),
    ("analysis", "t"),
    ("figures", "t"),
    ("baselines", "t"),
    ("task", "ts"),
    ("default_preset", "t"),
    ("preset", "ts"),
    ("section", "t"),
    ("model", "t"),
    ("schedule", "tm"),
    ("published", "t"),
    ("expect", "t"),
    ("ranges", "tps"),
    ("sweep", "tps"),
    ("seeds", "p"),
    ("scale", "p"),
    ("models", "ps"),
    ("name", "s"),
    ("grid", "s"),
    ("module", "m"),
    ("layers", "m"),
    ("label", "m"),
    ("options", "m"),
];

/// Refuses tables at the top of a file that none of its keys take: they were mistyped.
fn strange(file: &str, written: &Written) -> Result<()> {
    let known = ["preset", "section", "model", "schedule", "published", "expect", "sweep"];
    let is_table = |value: &Value| value.is_object() || value.get(0).is_some_and(Value::is_object);
    let key = written.settings.iter().find(|(_, value)| is_table(value)).map(|(key, _)| key);
    key.map_or(Ok(()), |key| one_of("table", key, &known).map(drop).at(|| file.into()))
}

/// An error with its place, and its section where that has a name.
fn within(error: Error, place: String, section: &WrittenSection) -> Error {
    let of = if section.name.is_empty() { String::new() } else { format!(", section {}", section.name) };
    Error::At { place: place + &of, cause: Box::new(error) }
}

impl Checker<'_> {
    /// The place of something, for messages.
    pub(super) fn at<T>(&self, what: &Spanned<T>) -> String {
        let line = self.text[..what.span().start.min(self.text.len())].matches('\n').count() + 1;
        format!("{}, line {line}", self.file)
    }

    /// The line of a key that stands in no particular table.
    pub(super) fn line_of_key(&self, key: &str) -> String {
        self.line_within(key, 0..self.text.lines().count()).unwrap_or_else(|| self.file.clone())
    }

    /// The first line of a key from a place in the text on.
    fn line_of_key_from(&self, key: &str, start: usize) -> Option<String> {
        let before = self.text.get(..start).unwrap_or_default().matches('\n').count();
        self.line_within(key, before..self.text.lines().count())
    }

    /// The first of these lines that has a key.
    fn line_within(&self, key: &str, lines: Range<usize>) -> Option<String> {
        // At the beginning of a line, or within braces.
        let is_key = |line: &str| {
            line.match_indices(key).any(|(at, _)| {
                let (before, after) = (line[..at].trim_end(), line[at + key.len()..].trim_start());
                (before.is_empty() || before.ends_with(['{', ','])) && after.starts_with('=')
            })
        };
        let line = self.text.lines().skip(lines.start).take(lines.len()).position(is_key)?;
        Some(format!("{}, line {}", self.file, lines.start + line + 1))
    }

    /// The line of a key in a table; where it is written otherwise, the first there is.
    fn line_in(&self, table: Table<'_>, key: &str) -> String {
        // Without blanks and quotes, tables can be told by their first line.
        let lines: Vec<String> = self.text.lines().map(|line| line.replace([' ', '\t', '"', '\''], "")).collect();
        let find = |header: &str, from: usize| (from..lines.len()).find(|&k| lines[k].starts_with(header));
        let section = |k: usize| (0..=k).try_fold(0, |from, _| find("[[section]]", from).map(|line| line + 1));
        let start = match table {
            Table::Top => Some(0),
            Table::Preset(name) => find(&format!("[preset.{name}]"), 0).map(|line| line + 1),
            Table::Section(k) => section(k),
            Table::PresetOf(k, name) => {
                section(k).and_then(|from| find(&format!("[section.preset.{name}]"), from)).map(|line| line + 1)
            }
            Table::Model => None,
        };
        let within = |start: usize| {
            let end = find("[", start).unwrap_or(lines.len());
            self.line_within(key, start..end)
        };
        start.and_then(within).unwrap_or_else(|| self.line_of_key(key))
    }

    /// Refuses something of the whole file.
    fn ensure(&self, ok: bool, wrong: impl FnOnce() -> String) -> Result<()> {
        if ok { Ok(()) } else { Err(Error::Request(wrong())).at(|| self.file.clone()) }
    }

    /// The tables whose further keys are settings, from the most general to the most particular of each section.
    fn tables(&self) -> Vec<(Table<'_>, &Settings)> {
        let mut all = vec![(Table::Top, &self.written.settings)];
        all.extend(self.written.preset.iter().map(|(name, preset)| (Table::Preset(name), &preset.settings)));
        for (k, section) in self.written.section.iter().enumerate() {
            all.push((Table::Section(k), &section.settings));
            let own = section.preset.iter();
            all.extend(own.map(|(name, preset)| (Table::PresetOf(k, name.get_ref()), &preset.settings)));
        }
        all
    }

    /// The tasks that the file names.
    fn tasks(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.written.section.iter().filter_map(|section| section.task.as_ref()).chain(&self.written.task)
    }

    /// Refuses keys that nothing takes: they were mistyped, or stand in the wrong table.
    fn known_keys(&self) -> Result<()> {
        let options = self.catalogue.option_names();
        let is_setting =
            |key: &str| options.contains(key) || self.catalogue.tasks().iter().any(|task| task.declares(key));
        for (table, settings) in self.tables() {
            let Some(key) = settings.keys().find(|key| !is_setting(key)) else { continue };
            let (kind, _) = table.kind();
            let own = KEYS.iter().filter(|(_, tables)| tables.contains(kind)).map(|(known, _)| *known);
            let own: Vec<&str> = own.collect();
            let wrong = match KEYS.iter().find(|(known, _)| known == key) {
                Some((_, tables)) => {
                    let all = [Table::Top, Table::Preset(""), Table::Section(0), Table::Model].map(Table::kind);
                    let there = all.iter().filter(|(kind, _)| tables.contains(*kind)).map(|(_, there)| *there);
                    let there = there.collect::<Vec<_>>().join(" or ");
                    let meant = nalm::Error::nearest(key, &own)
                        .map_or(String::new(), |name| format!("; did you mean '{name}'?"));
                    Error::Request(format!("{key} stands {there}, and not here{meant}"))
                }
                None => {
                    // What the table itself has comes first.
                    let tasks = self
                        .catalogue
                        .tasks()
                        .iter()
                        .filter(|task| self.tasks().any(|name| name.get_ref() == task.name()));
                    let others: BTreeSet<&str> = tasks
                        .flat_map(|task| task.settings())
                        .map(|setting| setting.name)
                        .chain(options.iter().copied())
                        .collect();
                    nalm::Error::unknown("key", key, &own.into_iter().chain(others).collect::<Vec<_>>()).into()
                }
            };
            return Err(wrong).at(|| self.line_in(table, key));
        }
        let known: Vec<&str> = self.written.preset.keys().map(String::as_str).collect();
        let of_sections = self.written.section.iter().flat_map(|section| section.preset.keys());
        let of_models = self.written.model.iter().flat_map(|model| model.steps.keys());
        for name in of_sections.chain(of_models) {
            one_of("preset", name.get_ref(), &known).at(|| self.at(name))?;
        }
        Ok(())
    }

    /// Where a setting is swept: in the file or on the command line.
    pub(super) fn line_of_swept(&self, key: &str) -> String {
        let is_typed = self.overrides.sweep.iter().any(|(known, _)| known == key);
        if is_typed { format!("--sweep {key}") } else { self.line_of_sweep(key) }
    }

    /// The line of a key of a sweep: in its table, or after its name.
    fn line_of_sweep(&self, key: &str) -> String {
        let lines = || self.text.lines().enumerate();
        let table = lines().skip_while(|(_, line)| !line.trim_start().starts_with("[sweep"));
        let own = table.skip(1).take_while(|(_, line)| !line.trim_start().starts_with('['));
        let mut own = own.filter(|(_, line)| line.split('=').next().is_some_and(|name| name.trim() == key));
        let inline = || lines().find(|(_, line)| line.contains("sweep") && line.contains(key));
        let found = own.next().or_else(inline);
        found.map_or(self.file.clone(), |(line, _)| format!("{}, line {}", self.file, line + 1))
    }

    /// Whether the command line changed what statements of papers are about.
    pub(super) fn is_changed(&self) -> bool {
        let Overrides { set, ranges, sweep, .. } = self.overrides;
        // Longer or shorter runs and other streams are still about the same thing.
        set.iter().any(|(key, _)| key != "steps" && key != "stream") || !ranges.is_empty() || !sweep.is_empty()
    }

    fn experiment(&self, name: &str, path: &Path) -> Result<Experiment> {
        let written = &self.written;
        ensure!(!written.model.is_empty() || written.task.is_none(), "{} has a task and no [[model]]", self.file);
        self.known_preset(&self.preset)?;
        for task in self.tasks() {
            self.catalogue.task(task.get_ref()).at(|| self.at(task))?;
        }
        self.known_keys()?;
        let names = written.section.iter().map(|section| section.name.as_str()).chain(written.title.as_deref());
        for name in names.chain(written.model.iter().filter_map(|model| model.label.as_deref())) {
            let control = name.chars().any(char::is_control);
            self.ensure(!control, || format!("the name {name:?} has a control character in it; leave that out"))?;
        }
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
            command: built_in::command_of_file(path, &self.preset, self.overrides),
            figures: if figures.is_empty() { self.default_figures() } else { figures },
            models: self.labels()?,
            ..Experiment::default()
        };
        for section in self.sections() {
            self.section(section, &mut experiment)?;
        }
        // After the models, so that one that was mistyped is not taken for what was meant.
        experiment.baselines = written.baselines.iter().map(|name| self.model(name)).collect::<Result<_>>()?;
        let title = written.title.as_deref().unwrap_or_default();
        ensure!(!title.trim().is_empty(), "{} has no title; write title = \"…\" at its top", self.file);
        experiment.notes = set::notes(self, &experiment)?;
        experiment.expectations = expectation::check(self, &experiment)?;
        Ok(experiment)
    }

    /// The facets, and where training ends for starting weights on a grid.
    fn default_figures(&self) -> Vec<String> {
        let (grids, seeds) = (self.sections().any(|s| s.grid.is_some()), self.sections().any(|s| s.grid.is_none()));
        let listed = [("facets", seeds), ("basins", grids)].into_iter().filter(|(_, wanted)| *wanted);
        listed.map(|(name, _)| name.to_string()).collect()
    }

    /// Labels of the models, all different.
    fn labels(&self) -> Result<Vec<String>> {
        let mut labels: Vec<String> = Vec::new();
        for model in &self.written.model {
            let name = match (&model.module, &model.layers) {
                (Some(module), None) => self.catalogue.label(module.get_ref()),
                (None, Some(layers)) => network::label(self.catalogue, layers.get_ref()),
                _ => {
                    return Err(Error::Request("a [[model]] has a module or layers, one of the two".into()))
                        .at(|| self.of_model(model));
                }
            };
            let label = model.label.clone().unwrap_or(name);
            let empty = || Error::Request("the label is empty; leave it out for the module's own name".into());
            if label.trim().is_empty() {
                return Err(empty()).at(|| self.of_model(model));
            }
            self.ensure(!labels.contains(&label), || format!("two models are called {label}; give one a label"))?;
            labels.push(label);
        }
        Ok(labels)
    }

    /// Where a model is written.
    fn of_model(&self, model: &Model) -> String {
        match (&model.module, &model.layers) {
            (Some(module), _) => self.at(module),
            (_, layers) => layers.as_ref().map_or(self.file.clone(), |layers| self.at(layers)),
        }
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

    /// What is said about a section: by its own preset, by itself, or else by the experiment's preset.
    fn preset<'p, T>(
        &'p self,
        name: &str,
        section: &'p WrittenSection,
        own: Option<T>,
        of: impl Fn(&'p Preset) -> Option<T>,
    ) -> Option<T> {
        let (particular, general) = (section.preset.get(name), self.written.preset.get(name));
        particular.and_then(&of).or(own).or_else(|| general.and_then(&of))
    }

    /// What goes over several values in a section.
    fn sweep<'c>(&'c self, preset: &str, section: &'c WrittenSection) -> &'c Sweep {
        let own = self.preset(preset, section, section.sweep.as_ref(), |preset| preset.sweep.as_ref());
        own.unwrap_or(&self.written.sweep)
    }

    /// The parts of a section at a preset, and what each goes over besides ranges: one part for each range where something else is varied.
    fn parts(&self, preset: &str, section: &WrittenSection, task: &dyn Task) -> Result<(Vec<Part>, Vec<Place>)> {
        let sweep = places::sweep(self, task, self.sweep(preset, section))?;
        let ranges = self.preset(preset, section, section.ranges.as_deref(), |preset| preset.ranges.as_deref());
        let ranges = ranges.or(self.written.ranges.as_deref().filter(|_| task.declares("range")));
        let ranges = places::ranges(self, task, ranges)?;
        let apart = !sweep.is_empty() && ranges.len() > 1;
        let part = |ranges: &[Place]| {
            let on = if section.name.is_empty() { "on" } else { " on" };
            let name = if apart { format!("{}{on} {}", section.name, ranges[0].label) } else { section.name.clone() };
            Part { name, ranges: ranges.to_vec() }
        };
        Ok((ranges.chunks(if apart { 1 } else { ranges.len() }).map(part).collect(), sweep))
    }

    /// The sections as written; an experiment without any is one.
    fn sections(&self) -> impl Iterator<Item = &WrittenSection> {
        let whole = self.written.section.is_empty().then_some(&self.whole);
        whole.into_iter().chain(&self.written.section)
    }

    /// Everything that the file has at any preset: what a statement may be about.
    pub(super) fn planned(&self) -> Result<Vec<Planned>> {
        let mut planned = Vec::new();
        for (preset, section) in self.written.preset.keys().flat_map(|name| self.sections().map(move |s| (name, s))) {
            let Some(task) = section.task.as_ref().or(self.written.task.as_ref()) else { continue };
            let task = self.catalogue.task(task.get_ref())?;
            let models = self.taking_part(preset, section)?;
            let (parts, sweep) = self.parts(preset, section, &**task)?;
            for part in parts {
                let both = places::both(&part.ranges, &sweep);
                let mut labels = Vec::new();
                for (index, place) in models.iter().flat_map(|index| both.iter().map(move |place| (*index, place))) {
                    let own = joined(&set::taken(self, &**task, &self.written.model[index], place));
                    let own = own.filter(|own| !sweep.is_empty() && *own != place.label);
                    labels.extend([Some(place.label.clone()), own].into_iter().flatten().map(|label| (index, label)));
                }
                planned.push(Planned { preset: preset.clone(), section: part.name, models: models.clone(), labels });
            }
        }
        Ok(planned)
    }

    /// The settings of a section, from the most general to the most particular, with the tables that they stand in.
    fn settings(&self, section: &WrittenSection) -> impl DoubleEndedIterator<Item = (Table<'_>, &Settings)> {
        let place = self.written.section.iter().position(|other| std::ptr::eq(other, section));
        let is_for = move |table: Table<'_>| match table {
            Table::Top => true,
            Table::Preset(name) => name == self.preset,
            Table::Section(k) => Some(k) == place,
            Table::PresetOf(k, name) => Some(k) == place && name == self.preset,
            Table::Model => false,
        };
        self.tables().into_iter().filter(move |(table, _)| is_for(*table))
    }

    /// A section; one for each range where something else is varied.
    fn section(&self, section: &WrittenSection, into: &mut Experiment) -> Result<()> {
        let written = &self.written;
        let Some(task_name) = section.task.as_ref().or(written.task.as_ref()) else {
            let known = ["title", "analysis", "figures", "task", "default_preset"];
            let hint = "write task = \"single-module\" or another one at its top (nalm list tasks)";
            ensure!(written.model.is_empty(), "{} has no task; {hint}", self.file);
            let Some(key) = written.settings.keys().next() else { return Ok(()) };
            return one_of("key", key, &known).map(drop).at(|| self.line_of_key(key));
        };
        let task = self.catalogue.task(task_name.get_ref())?;
        if let Some(scale) = self.preset(&self.preset, section, None, |preset| preset.scale.as_ref()) {
            into.scale = scale.clone() + &self.overrides.in_words();
        }
        let (parts, sweep) = self.parts(&self.preset, section, &**task)?;
        set::swept(self, &**task, &sweep)?;
        parts.into_iter().try_for_each(|part| self.part(section, part, &**task, &sweep, into))
    }

    fn seeds(&self, section: &WrittenSection) -> Result<Vec<u64>> {
        let place = format!("preset {}", self.preset);
        let seeds = self.preset(&self.preset, section, None, |preset| preset.seeds.as_ref());
        self.ensure(seeds.is_some(), || format!("{place} has no seeds; write seeds = 10"))?;
        let Some(seeds) = seeds else { return Ok(Vec::new()) };
        let planned = match seeds {
            Seeds::Count(n) => *n,
            Seeds::List(list) => list.len() as u64,
        };
        let asked = self.overrides.seeds.as_ref();
        let n = asked.map_or(planned, super::Seeds::count);
        self.ensure((1..=MOST).contains(&n), || {
            format!("{place} has {n} seeds; give at least 1 and at most a million")
        })?;
        if let Some(super::Seeds::These(list)) = asked {
            return Ok(list.clone());
        }
        match seeds {
            Seeds::Count(_) => Ok((0..n).collect()),
            Seeds::List(list) => {
                let s = if list.len() == 1 { "" } else { "s" };
                self.ensure(n <= planned, || format!("{place} has {} seed{s}, fewer than {n}", list.len()))?;
                // The same run several times would be counted as several.
                let mut seen = BTreeSet::new();
                let twice = list.iter().find(|seed| !seen.insert(**seed));
                self.ensure(twice.is_none(), || format!("{place} has the seed {} twice", twice.unwrap_or(&0)))?;
                Ok(list[..n as usize].to_vec())
            }
        }
    }

    /// Which models take part: the section's, or the preset's, or all.
    fn taking_part(&self, preset: &str, section: &WrittenSection) -> Result<Vec<usize>> {
        let names = self.preset(preset, section, section.models.as_ref(), |preset| preset.models.as_ref());
        let found: Vec<usize> = match names {
            None => (0..self.written.model.len()).collect(),
            Some(names) => {
                let what = "models = [] lets no model take part; name some, or leave it out for all of them";
                self.ensure(!names.is_empty(), || what.into())?;
                names.iter().map(|name| self.model(name)).collect::<Result<_>>()?
            }
        };
        ensure!(!found.is_empty(), "{} has no [[model]]", self.file);
        Ok(found)
    }

    fn part(
        &self,
        section: &WrittenSection,
        Part { name, ranges }: Part,
        task: &dyn Task,
        sweep: &[Place],
        into: &mut Experiment,
    ) -> Result<()> {
        let seeds = if section.grid.is_some() { vec![0] } else { self.seeds(section)? };
        if let Some(side) = section.grid {
            let wrong = || format!("grid is {side}; give 2 to 200 starting weights a side");
            self.ensure((2..=200).contains(&side), wrong)?;
        }
        let own = into.sections.len();
        let new = into.sections.iter().all(|section| section.name != name);
        self.ensure(new, || format!("two sections are called '{name}'"))?;
        let places = places::both(&ranges, sweep);
        for (k, place) in places.iter().enumerate() {
            let twice = places[..k].iter().any(|other| other.label == place.label);
            self.ensure(!twice, || format!("{} is there twice; leave one out", place.label))?;
        }
        let models = self.taking_part(&self.preset, section)?;
        let each = section.grid.map_or(seeds.len(), |side| side * side);
        let planned = into.runs.len() as f64 + (models.len() * places.len()) as f64 * each as f64;
        let what = format!("a plan of {planned} run{}", if planned == 1.0 { "" } else { "s" });
        self.catalogue.memory.ensure(&what, BYTES_OF_A_PLANNED_RUN * planned)?;
        for index in models {
            let model = &self.written.model[index];
            let mut base = self.choices(section, task, model)?;
            if base.schedule.is_some() {
                let asked = self.overrides.set.iter().any(|(key, _)| key == "steps");
                let label = &into.models[index];
                let wrong = || format!("--steps is not for {label}, whose schedule says how long it trains");
                self.ensure(!asked, wrong)?;
                base.values.remove("steps");
            }
            for place in &places {
                // What is wrong with a model or a value shows when one of its runs is made ready.
                let made = |without| self.ready(task, model, &base, place, without);
                let typed = || (0..self.overrides.set.len()).find(|k| made(Some(*k)).1.is_ok());
                let (mut choices, first) = made(None);
                let blame = |error: Error| {
                    let typed = error.setting().is_none().then(typed).flatten();
                    let place = self.guilty(&error, task, model, section, &base, place, typed);
                    within(error, place, section)
                };
                let (last_layer, first) = first.map_err(blame)?;
                if let Some(table) = choices.values.get("data").and_then(Value::as_str).map(PathBuf::from)
                    && !into.inputs.contains(&table)
                {
                    into.inputs.push(table);
                }
                if section.grid.is_some() {
                    choices.values.insert("weights".into(), vec![0.5; 2].into());
                    let started =
                        task.specify(self.catalogue, &choices).and_then(|run| task.check(self.catalogue, &run));
                    started.map_err(|error| within(error, self.of_model(model), section))?;
                }
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
                let (parts, place) = (set::taken(self, task, model, place), place.label.clone());
                into.groups.push(Group { section: own, model: index, place, parts, runs, last_layer });
            }
        }
        let axis = sweep.first().map(|place| place.axis());
        let varied = sweep.first().map_or("range".into(), Place::names);
        let (task, measures) = (task.name().to_string(), task.measures());
        let places = places.into_iter().map(|place| place.label).collect();
        into.sections.push(Section { name, task, measures, places, grid: section.grid, axis, varied });
        Ok(())
    }

    /// What a model chooses at a place, and the first run of it made ready; `without` one of the settings of the command line.
    fn ready(
        &self,
        task: &dyn Task,
        model: &Model,
        base: &Choices,
        place: &Place,
        without: Option<usize>,
    ) -> (Choices, Result<(usize, Spec)>) {
        let mut choices = base.clone();
        set::place(self, task, model, &mut choices, place);
        set::apply(self, task, &mut choices, without);
        let made = task.specify(self.catalogue, &choices).and_then(|first| {
            self.catalogue.memory.ensure("a run", task.bytes(self.catalogue, &first)?)?;
            Ok((task.check(self.catalogue, &first)?, first))
        });
        (choices, made)
    }

    /// The place of what an error is about: the setting that it names, or the one without which there would be no error. `typed` is such a setting
    /// of the command line.
    fn guilty(
        &self,
        error: &Error,
        task: &dyn Task,
        model: &Model,
        section: &WrittenSection,
        base: &Choices,
        place: &Place,
        typed: Option<usize>,
    ) -> String {
        let overrides = self.overrides;
        let written = |key: &str| {
            if let Some(options) = model.options.as_ref().filter(|options| options.get_ref().contains_key(key)) {
                return self.line_of_key_from(key, options.span().start).unwrap_or_else(|| self.at(options));
            }
            if let Some((name, _)) = model.steps.get_key_value(&*self.preset).filter(|_| key == "steps") {
                return self.at(name);
            }
            let table = self.settings(section).rev().find(|(_, settings)| settings.contains_key(key));
            table.map_or(self.file.clone(), |(table, _)| self.line_in(table, key))
        };
        match error.setting() {
            Some("range" | "test_range") if !overrides.ranges.is_empty() => "--range".into(),
            Some("range" | "test_range") if place.line.is_some() => place.line.clone().unwrap_or_default(),
            Some(key) if overrides.set.iter().any(|(known, _)| known == key) => overrides::option(key),
            Some(key) if overrides.sweep.iter().any(|(known, _)| known == key) => format!("--sweep {key}"),
            Some(key) if self.sweep(&self.preset, section).contains_key(key) => self.line_of_sweep(key),
            Some(key) => written(key),
            None => {
                if let Some((key, value)) = typed.and_then(|k| overrides.set.get(k)) {
                    return overrides::typed(key, value);
                }
                let is_right = |choices: &Choices| self.ready(task, model, choices, place, None).1.is_ok();
                let without = |key: &&String| {
                    let mut choices = base.clone();
                    choices.values.remove(*key);
                    is_right(&choices)
                };
                if let Some(key) = base.values.keys().find(without) {
                    return written(key);
                }
                // Where another model would do, it is this one.
                let mut other = Choices { module: Some("nmu".into()), layers: None, schedule: None, ..base.clone() };
                other.values.retain(|key, _| task.declares(key));
                if is_right(&other) { self.of_model(model) } else { self.file.clone() }
            }
        }
    }

    /// What a model has chosen, from the most general to the most particular. What only other models have is theirs.
    fn choices(&self, section: &WrittenSection, task: &dyn Task, model: &Model) -> Result<Choices> {
        let mut general: Settings = self.settings(section).flat_map(|(_, settings)| settings.clone()).collect();
        // Ranges are an axis of an experiment, with keys of their own; as a setting they would be overruled by it.
        for key in ["range", "test_range"].into_iter().filter(|_| task.declares("range")) {
            let instead = "a range is none of a model or a preset; write ranges = [\"U[1,2)\"] or ranges = [{ train = \"U[1,2)\", test = \"U[2,6)\" }]";
            if general.contains_key(key) || model.has(key) {
                return Err(Error::Request(format!("{instead}, or say --range"))).at(|| self.line_of_key(key));
            }
            if self.overrides.set.iter().any(|(known, _)| known == key) {
                return Err(Error::Request(format!("say --range and --test-range instead of --set {key}=…")));
            }
        }
        general.extend(model.steps.get(&*self.preset).map(|steps| ("steps".to_string(), (*steps).into())));
        let mut choices = set::of_model(model);
        choices.schedule = self.schedule(model)?;
        for (key, value) in &general {
            if set::has(self, task, &choices, key) || !set::is_anybodys(self, task, key) {
                choose(self.catalogue, task, &mut choices, key, value, false);
            }
        }
        choices.values.extend(model.options.iter().flat_map(|options| options.get_ref().clone()));
        self.beside(&mut choices);
        Ok(choices)
    }

    /// A file of data is looked for beside the experiment.
    pub(super) fn beside(&self, choices: &mut Choices) {
        if let Some(Value::String(file)) = choices.values.get_mut("data") {
            *file = self.folder.join(&*file).display().to_string();
        }
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

//! Experiment files with images.

use super::spec::{ImageSettings, ImageSpec, TASKS};
use crate::suite::{Overrides, command};
use anyhow::{Context, Result, anyhow, bail, ensure};
use nalm::Error;
use nalm_vision::sequential;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// The presets that every experiment with images has.
pub(crate) const PRESETS: [&str; 4] = ["smoke", "quick", "laptop", "paper"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    #[serde(default)]
    analysis: String,
    task: Spanned<String>,
    figures: Vec<Spanned<String>>,
    default_preset: String,
    preset: BTreeMap<String, Amount>,
    model: Vec<Model>,
    #[serde(default)]
    expect: Vec<Expect>,
}

/// How much is run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Amount {
    /// What this is a reduction to, in words.
    scale: String,
    /// Seeds, which are folds in the static tasks.
    seeds: Vec<u64>,
    /// Models that take part, by label; all if absent.
    models: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    settings: ImageSettings,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    head: Spanned<String>,
    label: String,
    #[serde(default)]
    settings: ImageSettings,
}

/// A published statement: exactly one of the keys from `strict` to `beats`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    model: Spanned<String>,
    /// The one preset that is long enough for the statement; every preset if absent.
    preset: Option<String>,
    strict: Option<f64>,
    rounded: Option<f64>,
    at_one: Option<f64>,
    success_by_length: Option<Vec<f64>>,
    beats: Option<Spanned<String>>,
    source: String,
}

/// An experiment, checked and complete.
#[derive(Debug)]
pub(crate) struct ImageExperiment {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) analysis: String,
    pub(crate) task: String,
    pub(crate) preset: String,
    pub(crate) scale: String,
    /// The command that makes it.
    pub(crate) command: String,
    pub(crate) figures: Vec<Kind>,
    pub(crate) runs: Vec<ImageSpec>,
    /// Model after model.
    pub(crate) groups: Vec<Group>,
    pub(crate) expectations: Vec<Expectation>,
}

/// The runs of one model.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) label: String,
    /// Its place in the file, by which figures choose colours.
    pub(crate) model: usize,
    pub(crate) runs: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) model: String,
    pub(crate) claim: Claim,
    pub(crate) source: String,
}

/// What was published.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Claim {
    /// This strict test accuracy of the product, averaged over folds.
    Strict(f64),
    /// This rounded test accuracy of the product, averaged over folds.
    Rounded(f64),
    /// This share of runs that end with weights of exactly 1.
    AtOne(f64),
    /// This share of runs that solve sequences of this length.
    Success { length: usize, rate: f64 },
    /// A higher accuracy of the product than that model's, by the rule of the task; with sequences, more runs that solve several lengths.
    Beats(String),
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Accuracy of product and digits, by model.
    Accuracy,
    /// The way of the head's weights.
    Weights,
    /// Accuracy by digit, and what was taken for what.
    Classes,
    /// Accuracy of the digits over epochs.
    Epochs,
    /// Success, solved-at and sparsity over the length of sequences.
    Lengths,
    /// Samples, and what is looked at.
    Pictures,
}

const KINDS: [(&str, Kind); 6] = [
    ("accuracy", Kind::Accuracy),
    ("weights", Kind::Weights),
    ("classes", Kind::Classes),
    ("epochs", Kind::Epochs),
    ("lengths", Kind::Lengths),
    ("pictures", Kind::Pictures),
];

/// Reads an experiment with images from its text.
pub(crate) fn check(name: &str, file: &str, text: &str, overrides: &Overrides) -> Result<ImageExperiment> {
    let written: Written = toml::from_str(text).map_err(|error| anyhow!("{file}: {error}"))?;
    let at =
        |span: Range<usize>| format!("{file}, line {}", text[..span.start.min(text.len())].matches('\n').count() + 1);
    let unknown = |what, name: &Spanned<String>, known: &[&str]| {
        Err(Error::unknown(what, name.get_ref(), known)).with_context(|| at(name.span()))
    };
    if !TASKS.contains(&written.task.get_ref().as_str()) {
        return unknown("task", &written.task, &TASKS);
    }
    let preset = overrides.preset.clone().unwrap_or_else(|| written.default_preset.clone());
    let Some(amount) = written.preset.get(&preset) else {
        let known: Vec<&str> = written.preset.keys().map(String::as_str).collect();
        return Err(Error::unknown("preset", &preset, &known)).with_context(|| file.to_string());
    };
    ensure!(overrides.steps.is_none(), "{file}: image runs count epochs; use --set epochs=N instead of --steps");
    if overrides.stream.as_deref().is_some_and(|stream| stream != "fast") {
        bail!("{file}: image tasks have no reference streams; leave out --stream");
    }
    let set = settings(&overrides.set)?;
    let labels: Vec<&str> = written.model.iter().map(|model| model.label.as_str()).collect();
    let mut figures = Vec::new();
    for figure in &written.figures {
        match KINDS.iter().find(|(known, _)| known == figure.get_ref()) {
            Some((_, kind)) => figures.push(*kind),
            None => return unknown("figure", figure, &KINDS.map(|(name, _)| name)),
        }
    }
    for name in amount.models.iter().flatten() {
        if !labels.contains(&name.get_ref().as_str()) {
            return unknown("model", name, &labels);
        }
    }
    let seeds = overrides.seeds.map_or(amount.seeds.len(), |n| (n as usize).min(amount.seeds.len()));
    ensure!(seeds > 0, "{file}: preset {preset} has no seeds; give at least one");
    let mut experiment = ImageExperiment {
        name: name.into(),
        title: written.title.clone(),
        analysis: written.analysis.trim().into(),
        task: written.task.get_ref().clone(),
        preset: preset.clone(),
        scale: amount.scale.clone() + &changed(overrides),
        command: command(name, Path::new(file), &preset, overrides),
        figures,
        runs: Vec::new(),
        groups: Vec::new(),
        expectations: Vec::new(),
    };
    for (index, model) in written.model.iter().enumerate() {
        let takes_part = |names: &Vec<Spanned<String>>| names.iter().any(|name| *name.get_ref() == model.label);
        if !amount.models.as_ref().is_none_or(takes_part) {
            continue;
        }
        let start = experiment.runs.len();
        for &seed in &amount.seeds[..seeds] {
            let spec = ImageSpec {
                task: experiment.task.clone(),
                head: model.head.get_ref().clone(),
                settings: set.clone().or(&model.settings.clone().or(&amount.settings)),
                seed,
                numerics: nalm_vision::NUMERICS,
            };
            spec.validate().with_context(|| at(model.head.span()))?;
            experiment.runs.push(spec);
        }
        let runs = start..experiment.runs.len();
        experiment.groups.push(Group { label: model.label.clone(), model: index, runs });
    }
    for expect in &written.expect {
        for name in [Some(&expect.model), expect.beats.as_ref()].into_iter().flatten() {
            if !labels.contains(&name.get_ref().as_str()) {
                return unknown("model", name, &labels);
            }
        }
        let lengths = expect.success_by_length.iter().flatten().zip(1..);
        let claims: Vec<Claim> = [
            expect.strict.map(Claim::Strict),
            expect.rounded.map(Claim::Rounded),
            expect.at_one.map(Claim::AtOne),
            expect.beats.as_ref().map(|model| Claim::Beats(model.get_ref().clone())),
        ]
        .into_iter()
        .flatten()
        .chain(lengths.map(|(&rate, length)| Claim::Success { length, rate }))
        .collect();
        let given = [expect.strict, expect.rounded, expect.at_one].iter().flatten().count()
            + usize::from(expect.beats.is_some())
            + usize::from(expect.success_by_length.is_some());
        if given != 1 {
            let keys = "strict, rounded, at_one, success_by_length and beats";
            bail!("{}: an expectation has exactly one of {keys}", at(expect.model.span()));
        }
        if let Some(rates) = &expect.success_by_length {
            let (task, want) = (&experiment.task, sequential::LENGTHS);
            ensure!(task == "mnist-sequential", "{}: {task} has no lengths", at(expect.model.span()));
            ensure!(rates.len() == want, "{}: {} lengths instead of {want}", at(expect.model.span()), rates.len());
        }
        // A statement about a preset is none about runs with other settings.
        if overrides.set.is_empty() && expect.preset.as_ref().is_none_or(|only| *only == preset) {
            let of =
                |claim| Expectation { model: expect.model.get_ref().clone(), claim, source: expect.source.clone() };
            experiment.expectations.extend(claims.into_iter().map(of));
        }
    }
    Ok(experiment)
}

/// What the command line changed of a preset, in words.
fn changed(overrides: &Overrides) -> String {
    let set = overrides.set.iter().map(|(key, value)| format!("{key} = {value}"));
    let seeds = overrides.seeds.map(|n| format!("the first {n} of the seeds"));
    let all: Vec<String> = set.chain(seeds).collect();
    if all.is_empty() { String::new() } else { format!("; but with {}", all.join(", ")) }
}

/// Settings from the command line.
fn settings(set: &[(String, toml::Value)]) -> Result<ImageSettings> {
    let table: toml::Table = set.iter().cloned().collect();
    table.try_into().map_err(|error: toml::de::Error| anyhow!("--set: {}", error.message()))
}

//! Experiments of either kind, by name or from a file.

use super::{Experiment, Overrides, check};
use crate::images::{self, ImageExperiment, ImageSpec};
use crate::runspec::RunSpec;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../experiments/", $name, ".toml")))),*]
    };
}

/// The experiments that come with the binary, so that it works wherever it is; in the order of the paper.
const BUILT_IN: &[(&str, &str)] = &built_in![
    "motivation",
    "loss-landscape",
    "noise-basins",
    "single-module",
    "single-module-snmu",
    "stochastic-gates",
    "gradient-noise",
    "arithmetic",
    "small-ranges",
    "arithmetic-all-ranges",
    "second-order-limits",
    "second-order-ablation",
    "second-order-single-module",
    "noise-sweep",
    "stochastic-methods",
    "batch-noise-bound",
    "released-code",
    "operations",
    "controls",
    "mnist-isolated",
    "mnist-isolated-full",
    "mnist-colour",
    "mnist-sequential",
];

/// An experiment of either kind.
#[derive(Debug)]
pub(crate) enum Study {
    Numbers(Experiment),
    Images(ImageExperiment),
}

impl Study {
    pub(crate) fn name(&self) -> &str {
        match self {
            Study::Numbers(experiment) => &experiment.name,
            Study::Images(experiment) => &experiment.name,
        }
    }

    pub(crate) fn title(&self) -> &str {
        match self {
            Study::Numbers(experiment) => &experiment.title,
            Study::Images(experiment) => &experiment.title,
        }
    }

    pub(crate) fn preset(&self) -> &str {
        match self {
            Study::Numbers(experiment) => &experiment.preset,
            Study::Images(experiment) => &experiment.preset,
        }
    }

    /// The experiment, if it is one with numbers.
    pub(crate) fn numbers(self) -> Option<Experiment> {
        match self {
            Study::Numbers(experiment) => Some(experiment),
            Study::Images(_) => None,
        }
    }

    /// The identities of its runs.
    pub(crate) fn ids(&self) -> Vec<String> {
        match self {
            Study::Numbers(experiment) => experiment.runs.iter().map(RunSpec::id).collect(),
            Study::Images(experiment) => experiment.runs.iter().map(ImageSpec::id).collect(),
        }
    }
}

/// The presets that every experiment with numbers has.
pub(crate) const PRESETS: [&str; 3] = ["smoke", "quick", "paper"];

/// The names of the experiments that come with the binary.
pub(crate) fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// The presets of an experiment that comes with the binary.
pub(crate) fn presets(name: &str) -> &'static [&'static str] {
    if name.starts_with("mnist-") { &images::PRESETS } else { &PRESETS }
}

/// Loads the named experiments; `all` stands for every one that comes with the binary.
pub(crate) fn load_all(names: &[String], overrides: &Overrides) -> Result<Vec<Study>> {
    let all = names == ["all"];
    let names = if all { self::names() } else { names.iter().map(String::as_str).collect() };
    names.into_iter().map(|name| load(name, overrides)).collect()
}

/// Loads an experiment by its name, or from a file.
pub(crate) fn load(name: &str, overrides: &Overrides) -> Result<Study> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return check_either(name, &PathBuf::from(format!("experiments/{name}.toml")), text, overrides);
    }
    let path = Path::new(name);
    if path.extension().is_none() && !path.exists() {
        return Err(nalm::Error::unknown("experiment", name, &names()).into());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the experiment {name}"))?;
    let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
    check_either(&stem, path, &text, overrides)
}

/// Tells the two kinds of files apart by their task.
fn check_either(name: &str, path: &Path, text: &str, overrides: &Overrides) -> Result<Study> {
    let task = toml::from_str::<toml::Table>(text).ok().and_then(|table| table.get("task")?.as_str().map(String::from));
    match task {
        Some(task) if task.starts_with("mnist") => {
            Ok(Study::Images(images::check(name, &path.display().to_string(), text, overrides)?))
        }
        _ => Ok(Study::Numbers(check(name, path, text, overrides)?)),
    }
}

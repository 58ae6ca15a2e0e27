//! Experiments are data: a TOML file as written, and the same thing checked and complete.

use crate::runspec::{RunSpec, Settings, check_module, label, published_test_range};
use anyhow::{Context, Result, anyhow, bail, ensure};
use nalm::task;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// An experiment file, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    #[serde(default)]
    analysis: String,
    task: Spanned<String>,
    #[serde(default = "mul")]
    operation: Spanned<String>,
    inputs: Option<usize>,
    default_preset: String,
    preset: BTreeMap<String, Preset>,
    model: Vec<Model>,
    #[serde(default)]
    expect: Vec<WrittenExpectation>,
}

fn mul() -> Spanned<String> {
    Spanned::new(0..0, "mul".into())
}

/// How much of the experiment is run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    seeds: u64,
    steps: u64,
    /// Training ranges; the nine of the paper if absent.
    ranges: Option<Vec<Spanned<String>>>,
    #[serde(default = "fast")]
    stream: String,
}

fn fast() -> String {
    "fast".into()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    module: Spanned<String>,
    /// The name in tables and figures; the module's own if absent.
    label: Option<String>,
    #[serde(default)]
    options: Settings,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExpectation {
    /// A model's label, or its module where it has none.
    model: Spanned<String>,
    range: Option<Spanned<String>>,
    success: Option<f64>,
    below: Option<f64>,
    source: String,
}

/// A published statement about a success rate.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    /// The model's place in the experiment.
    pub(crate) model: usize,
    pub(crate) range: String,
    pub(crate) claim: Claim,
    pub(crate) source: String,
}

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Claim {
    /// This success rate.
    Rate(f64),
    /// A success rate below this.
    Below(f64),
}

/// An experiment, checked and complete.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) analysis: String,
    pub(crate) preset: String,
    /// Labels of the models, in the order of the file.
    pub(crate) models: Vec<String>,
    pub(crate) ranges: Vec<String>,
    /// Model after model, range after range, seed after seed.
    pub(crate) runs: Vec<RunSpec>,
    /// The model of each run.
    pub(crate) model_of: Vec<usize>,
    pub(crate) expectations: Vec<Expectation>,
}

/// What the command line changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) preset: Option<String>,
    pub(crate) seeds: Option<u64>,
    pub(crate) steps: Option<u64>,
    pub(crate) stream: Option<String>,
}

/// The experiments that come with the binary, so that it works wherever it is.
const BUILT_IN: [(&str, &str); 7] = [
    ("single-module", include_str!("../../../experiments/single-module.toml")),
    ("single-module-snmu", include_str!("../../../experiments/single-module-snmu.toml")),
    ("stochastic-gates", include_str!("../../../experiments/stochastic-gates.toml")),
    ("gradient-noise", include_str!("../../../experiments/gradient-noise.toml")),
    ("motivation", include_str!("../../../experiments/motivation.toml")),
    ("arithmetic", include_str!("../../../experiments/arithmetic.toml")),
    ("noise-sweep", include_str!("../../../experiments/noise-sweep.toml")),
];

/// The names of the experiments that come with the binary.
pub(crate) fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// Loads an experiment by its name, or from a file.
pub(crate) fn load(name: &str, overrides: &Overrides) -> Result<Experiment> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return check(name, &PathBuf::from(format!("experiments/{name}.toml")), text, overrides);
    }
    let path = Path::new(name);
    if path.extension().is_none() && !path.exists() {
        return Err(nalm::Error::unknown("experiment", name, &names()).into());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the experiment {name}"))?;
    let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
    check(&stem, path, &text, overrides)
}

fn check(name: &str, path: &Path, text: &str, overrides: &Overrides) -> Result<Experiment> {
    let file = path.display();
    let written: Written = toml::from_str(text).map_err(|error| anyhow!("{file}: {error}"))?;
    let at = |span: std::ops::Range<usize>| {
        format!("{file}, line {}", text[..span.start.min(text.len())].matches('\n').count() + 1)
    };
    let task = task::find::<f32>(written.task.get_ref()).with_context(|| at(written.task.span()))?;
    written.operation.get_ref().parse::<nalm::Operation>().with_context(|| at(written.operation.span()))?;
    let preset_name = overrides.preset.clone().unwrap_or_else(|| written.default_preset.clone());
    let Some(preset) = written.preset.get(&preset_name) else {
        let known: Vec<&str> = written.preset.keys().map(String::as_str).collect();
        return Err(nalm::Error::unknown("preset", &preset_name, &known)).with_context(|| file.to_string());
    };
    let ranges: Vec<String> = match &preset.ranges {
        None => task::PAPER_RANGES.iter().map(|(train, _)| train.to_string()).collect(),
        Some(ranges) => {
            for range in ranges {
                range.get_ref().parse::<nalm::Distribution>().with_context(|| at(range.span()))?;
                published_test_range(range.get_ref()).with_context(|| at(range.span()))?;
            }
            ranges.iter().map(|range| range.get_ref().clone()).collect()
        }
    };
    let seeds = overrides.seeds.unwrap_or(preset.seeds);
    ensure!(seeds > 0, "{file}: preset {preset_name} has 0 seeds; give at least 1");
    let stream = overrides.stream.clone().unwrap_or_else(|| preset.stream.clone());
    stream.parse::<nalm::Stream>().with_context(|| file.to_string())?;

    let (mut runs, mut model_of) = (Vec::new(), Vec::new());
    for (index, model) in written.model.iter().enumerate() {
        check_module(model.module.get_ref()).with_context(|| at(model.module.span()))?;
        for range in &ranges {
            for seed in 0..seeds {
                model_of.push(index);
                runs.push(RunSpec {
                    task: task.name.into(),
                    operation: written.operation.get_ref().clone(),
                    inputs: written.inputs.unwrap_or(task.inputs),
                    range: range.clone(),
                    test_range: published_test_range(range)?.into(),
                    module: model.module.get_ref().clone(),
                    options: model.options.clone(),
                    seed,
                    stream: stream.clone(),
                    steps: overrides.steps.unwrap_or(preset.steps),
                    numerics: nalm::NUMERICS,
                });
            }
        }
        // Everything that can be wrong with a model shows when one of its runs is made ready.
        if let Some(last) = runs.last() {
            last.build().with_context(|| at(model.module.span()))?;
        }
    }
    ensure!(!runs.is_empty(), "{file} has no [[model]]");

    let names: Vec<&str> =
        written.model.iter().map(|m| m.label.as_deref().unwrap_or(m.module.get_ref().as_str())).collect();
    let models = written.model.iter().map(|m| m.label.clone().unwrap_or_else(|| label(m.module.get_ref()))).collect();
    let mut expectations = Vec::new();
    for expected in &written.expect {
        let name = expected.model.get_ref();
        let Some(model) = names.iter().position(|known| known == name) else {
            return Err(nalm::Error::unknown("model", name, &names)).with_context(|| at(expected.model.span()));
        };
        let claim = match (expected.success, expected.below) {
            (Some(rate), None) => Claim::Rate(rate),
            (None, Some(bound)) => Claim::Below(bound),
            _ => bail!("{}: an expectation has either success or below", at(expected.model.span())),
        };
        let all: Vec<String> = match &expected.range {
            Some(range) => vec![range.get_ref().clone()],
            None => task::PAPER_RANGES.iter().map(|(train, _)| train.to_string()).collect(),
        };
        for range in all {
            expectations.push(Expectation { model, range, claim, source: expected.source.clone() });
        }
    }
    Ok(Experiment {
        name: name.into(),
        title: written.title,
        analysis: written.analysis,
        preset: preset_name,
        models,
        ranges,
        runs,
        model_of,
        expectations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_experiment_and_preset_is_sound() {
        for name in names() {
            for preset in ["smoke", "quick", "paper"] {
                let overrides = Overrides { preset: Some(preset.into()), ..Overrides::default() };
                let experiment = load(name, &overrides).unwrap_or_else(|error| panic!("{name} {preset}: {error:#}"));
                let mut ids: Vec<String> = experiment.runs.iter().map(RunSpec::id).collect();
                ids.sort();
                ids.dedup();
                assert_eq!(ids.len(), experiment.runs.len(), "{name} {preset} runs something twice");
                assert!(!experiment.title.is_empty() && !experiment.analysis.is_empty());
            }
        }
    }

    #[test]
    fn mistakes_are_named_with_file_line_and_nearest_name() {
        let good = include_str!("../../../experiments/single-module-snmu.toml");
        for (from, to, hints) in [
            ("module = \"snmu\"", "module = \"smnu\"", ["line", "did you mean 'snmu'"]),
            ("task = \"single-module\"", "task = \"single-modul\"", ["line", "did you mean 'single-module'"]),
            ("title =", "titel =", ["bad.toml", "titel"]),
            ("\"U[-2,-1)\"", "\"U[-1,-2)\"", ["line", "above the lower bound"]),
            ("default_preset = \"paper\"", "default_preset = \"papr\"", ["bad.toml", "did you mean 'paper'"]),
        ] {
            assert!(good.contains(from), "{from}");
            let overrides = match from {
                "\"U[-2,-1)\"" => Overrides { preset: Some("smoke".into()), ..Overrides::default() },
                _ => Overrides::default(),
            };
            let error = check("bad", Path::new("bad.toml"), &good.replacen(from, to, 1), &overrides).unwrap_err();
            let message = format!("{error:#}");
            assert!(hints.iter().all(|hint| message.contains(hint)), "{message}");
        }
    }
}

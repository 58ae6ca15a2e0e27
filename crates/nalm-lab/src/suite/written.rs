//! An experiment file as written: what TOML allows, nothing of it checked beyond its shape.

use crate::runspec::Settings;
use crate::schedule;
use crate::variation::Variation;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) title: String,
    #[serde(default)]
    pub(super) analysis: String,
    /// Kinds of figures; the three facets if absent.
    pub(super) figures: Option<Vec<Spanned<String>>>,
    /// Models that the others are compared with, seed by seed.
    #[serde(default)]
    pub(super) baselines: Vec<Spanned<String>>,
    pub(super) task: Option<Spanned<String>>,
    pub(super) operation: Option<Spanned<String>>,
    pub(super) inputs: Option<usize>,
    pub(super) default_preset: String,
    #[serde(default)]
    pub(super) preset: BTreeMap<String, Amount>,
    #[serde(default)]
    pub(super) section: Vec<Section>,
    #[serde(default)]
    pub(super) model: Vec<Model>,
    /// Training schedules of this experiment, by name.
    #[serde(default)]
    pub(super) schedule: BTreeMap<String, schedule::Written>,
    #[serde(default)]
    pub(super) expect: Vec<Expect>,
}

/// How much is run. What a section leaves out is the experiment's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Amount {
    pub(super) seeds: Option<u64>,
    pub(super) steps: Option<u64>,
    /// Training ranges; the nine of the paper if absent.
    pub(super) ranges: Option<Vec<Spanned<String>>>,
    pub(super) stream: Option<String>,
    /// Values along a section's axis.
    pub(super) values: Option<Vec<f64>>,
}

impl Amount {
    /// This one, with `other`'s values where it has none.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            seeds: self.seeds.or(other.seeds),
            steps: self.steps.or(other.steps),
            ranges: self.ranges.or(other.ranges),
            stream: self.stream.or(other.stream),
            values: self.values.or(other.values),
        }
    }
}

/// A part of an experiment with a problem of its own. An experiment without sections is one section.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) task: Option<Spanned<String>>,
    pub(super) operation: Option<Spanned<String>>,
    pub(super) inputs: Option<usize>,
    /// Models that take part, by label or module; all if absent.
    pub(super) models: Option<Vec<Spanned<String>>>,
    /// Instead of seeds: this many starting weights along each side of the unit square.
    pub(super) grid: Option<usize>,
    /// Whether rows keep their learning curve and the way of their weights.
    #[serde(default)]
    pub(super) curve: bool,
    /// What is varied instead of the range, by the values of the preset.
    pub(super) axis: Option<Spanned<String>>,
    /// What differs from the task's published problem.
    pub(super) problem: Option<Variation>,
    #[serde(default)]
    pub(super) preset: BTreeMap<String, Amount>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) module: Spanned<String>,
    /// The name in tables and figures; the module's own if absent.
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) options: Settings,
    /// A schedule of the experiment or of nalm list schedules; Adam and the module's published recipe if absent.
    pub(super) schedule: Option<Spanned<String>>,
    /// Last step by preset, where it differs from the others'.
    #[serde(default)]
    pub(super) steps: BTreeMap<String, u64>,
}

impl Model {
    /// The name under which sections and expectations refer to it.
    pub(super) fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(self.module.get_ref())
    }
}

/// A published statement: exactly one of the keys from `success` to `noise_bound`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) model: Option<Spanned<String>>,
    /// All of the paper's ranges if absent.
    pub(super) range: Option<Spanned<String>>,
    /// The first section with this model and range if absent.
    pub(super) section: Option<Spanned<String>>,
    /// The one preset that is long enough for the statement; every preset if absent.
    pub(super) preset: Option<String>,
    pub(super) success: Option<f64>,
    pub(super) below: Option<f64>,
    pub(super) beats: Option<Spanned<String>>,
    pub(super) ties: Option<Spanned<String>>,
    pub(super) validation_success: Option<f64>,
    /// Mean and half-width.
    pub(super) validation_error: Option<[f64; 2]>,
    pub(super) test_error: Option<[f64; 2]>,
    pub(super) best_step: Option<[f64; 2]>,
    pub(super) noise_bound: Option<f64>,
    pub(super) source: String,
}

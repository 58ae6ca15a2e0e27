//! An experiment file as written: what TOML allows, nothing of it checked beyond its shape. Keys that are not listed here are settings of
//! the task or of modules, which know them.

use crate::run::schedule;
use crate::task::network::Layer;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Settings by name.
pub(super) type Settings = BTreeMap<String, serde_json::Value>;

/// Settings that take several values, each a list; one value alone needs no brackets.
pub(super) type Sweep = Settings;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Written {
    pub(super) title: Option<String>,
    pub(super) analysis: String,
    /// Kinds of figures; the three facets if there are none.
    pub(super) figures: Vec<Spanned<String>>,
    /// Models that the others are compared with, seed by seed.
    pub(super) baselines: Vec<Spanned<String>>,
    pub(super) task: Option<Spanned<String>>,
    /// May be absent where there is only one.
    pub(super) default_preset: Option<String>,
    pub(super) preset: BTreeMap<String, Preset>,
    pub(super) section: Vec<Section>,
    pub(super) model: Vec<Model>,
    /// Training schedules of this experiment, by name.
    pub(super) schedule: BTreeMap<String, schedule::Written>,
    /// What is the same for all statements.
    pub(super) published: Published,
    pub(super) expect: Vec<Expect>,
    /// Training ranges, where neither a preset nor a section has its own.
    pub(super) ranges: Option<Vec<Spanned<Range>>>,
    /// Settings that take several values.
    pub(super) sweep: Sweep,
    #[serde(flatten)]
    pub(super) settings: Settings,
}

/// How much is run. What a section leaves out is the experiment's.
#[derive(Debug, Deserialize)]
#[serde(expecting = "[preset.NAME]")]
pub(super) struct Preset {
    pub(super) seeds: Option<Seeds>,
    /// What this is a reduction to, in words.
    pub(super) scale: Option<String>,
    /// Models that take part, by label or module; all if absent.
    pub(super) models: Option<Vec<Spanned<String>>>,
    /// Training ranges, by themselves or with their test ranges; the nine of the paper if absent.
    pub(super) ranges: Option<Vec<Spanned<Range>>>,
    pub(super) sweep: Option<Sweep>,
    #[serde(flatten)]
    pub(super) settings: Settings,
}

/// A training range, with its test range unless that is the published one.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a range is written \"U[1,2)\" or { train = \"U[3,4)\", test = \"U[4,10)\" }"
)]
pub(super) enum Range {
    Train(String),
    Pair { train: String, test: String },
}

/// Seeds: so many, or these.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "seeds are a number, such as 10, or a list of numbers from 0 on, such as [0, 3, 7]")]
pub(super) enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

/// A part of an experiment with a problem of its own. An experiment without sections is one section.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) task: Option<Spanned<String>>,
    /// Models that take part, by label or module; all if absent.
    pub(super) models: Option<Vec<Spanned<String>>>,
    /// Instead of seeds: this many starting weights along each side of the unit square.
    pub(super) grid: Option<usize>,
    /// Training ranges, where no preset has its own.
    pub(super) ranges: Option<Vec<Spanned<Range>>>,
    pub(super) sweep: Option<Sweep>,
    #[serde(default)]
    pub(super) preset: BTreeMap<Spanned<String>, Preset>,
    #[serde(flatten)]
    pub(super) settings: Settings,
}

/// A module, or a stack of layers, with its options.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Model {
    pub(super) module: Option<Spanned<String>>,
    pub(super) layers: Option<Spanned<Vec<Layer>>>,
    /// The name in tables and figures; the module's own if absent.
    pub(super) label: Option<String>,
    /// Options of the module, and settings of the task that differ from the others'.
    pub(super) options: Option<Spanned<Settings>>,
    /// A schedule of the experiment or of nalm list schedules; Adam and the module's published recipe if absent.
    pub(super) schedule: Option<Spanned<String>>,
    /// Last step by preset, where it differs from the others'.
    pub(super) steps: BTreeMap<Spanned<String>, u64>,
}

impl Model {
    /// Whether it has an option of its own.
    pub(super) fn has(&self, key: &str) -> bool {
        self.options.as_ref().is_some_and(|options| options.get_ref().contains_key(key))
    }
}

/// How many runs published values are of, and how long these were.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Published {
    pub(super) n: Option<usize>,
    pub(super) steps: Option<u64>,
    /// Why the file's runs, which are shorter, decide what was published all the same.
    pub(super) enough: Option<String>,
}

/// A published statement: a metric, and exactly one of `is`, `below`, `above`, `equals` and `values`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) model: Option<Spanned<String>>,
    /// The same of several models, each by itself.
    #[serde(default)]
    pub(super) models: Vec<Spanned<String>>,
    /// All of the paper's ranges if absent.
    pub(super) range: Option<Spanned<String>>,
    /// The same on several ranges, each by itself.
    #[serde(default)]
    pub(super) ranges: Vec<Spanned<String>>,
    /// All ranges together, instead of each by itself.
    #[serde(default)]
    pub(super) pooled: bool,
    /// The first section with this model and range if absent.
    pub(super) section: Option<Spanned<String>>,
    /// The one preset that is long enough for the statement; every preset if absent.
    pub(super) preset: Option<String>,
    /// Success if absent.
    pub(super) metric: Option<Spanned<String>>,
    /// This value; or a mean and its half-width.
    pub(super) is: Option<Value>,
    pub(super) below: Option<f64>,
    /// Above that model.
    pub(super) above: Option<Spanned<String>>,
    /// The same as that model.
    pub(super) equals: Option<Spanned<String>>,
    /// Values by length, from one on.
    pub(super) values: Option<Vec<f64>>,
    /// How many runs it is of, where that is not what the file says of all.
    pub(super) n: Option<usize>,
    /// How long they were, likewise.
    pub(super) steps: Option<u64>,
    /// The statement of the paper that this is a part of.
    pub(super) claim: Option<Spanned<String>>,
    /// Why ours differs, where it is known to.
    pub(super) known: Option<String>,
    pub(super) source: String,
}

/// A published value, with or without its half-width.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a published value is a number, or a mean with its half-width: is = 0.9 or is = [3.5, 0.2]"
)]
pub(super) enum Value {
    Plain(f64),
    Mean([f64; 2]),
}

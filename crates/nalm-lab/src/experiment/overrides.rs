//! What the command line changes of an experiment.

use super::seeds::{self, Seeds};
use serde_json::Value;

/// What the command line changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// How much of it is run.
    pub preset: Option<String>,
    /// Seeds instead of the preset's.
    pub seeds: Option<Seeds>,
    /// Settings by name, of the models that have them.
    pub set: Vec<(String, Value)>,
    /// Training ranges, each with its test range if that is not the published one.
    pub ranges: Vec<(String, Option<String>)>,
    /// Settings that take several values, by name.
    pub sweep: Vec<(String, Vec<Value>)>,
}

/// A value as it is typed.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// The option by which a setting is typed.
pub(super) fn option(key: &str) -> String {
    if ["steps", "stream"].contains(&key) { format!("--{key}") } else { format!("--set {key}") }
}

/// A setting as it is typed.
pub(super) fn typed(key: &str, value: &Value) -> String {
    let between = if ["steps", "stream"].contains(&key) { ' ' } else { '=' };
    format!("{}{between}{}", option(key), plain(value))
}

/// Values with something between them.
fn several(values: &[Value], between: &str) -> String {
    values.iter().map(plain).collect::<Vec<_>>().join(between)
}

impl Overrides {
    /// A preset and nothing else.
    pub fn preset(name: &str) -> Self {
        Self { preset: Some(name.into()), ..Self::default() }
    }

    /// As they are typed, the preset excepted.
    pub fn typed(&self) -> String {
        // Whatever a shell might take for its own.
        let safe = |c: char| c.is_ascii_alphanumeric() || "_=.,/:+-".contains(c);
        let quoted =
            |text: String| if text.chars().all(safe) { text } else { format!("'{}'", text.replace('\'', "'\\''")) };
        let seeds = self.seeds.as_ref().map(|seeds| format!(" --seeds {seeds}"));
        let set = self.set.iter().map(|(key, value)| match key.as_str() {
            "steps" | "stream" => format!(" --{key} {}", plain(value)),
            _ => format!(" --set {}", quoted(format!("{key}={}", plain(value)))),
        });
        let ranges = self.ranges.iter().map(|(train, test)| {
            let test = test.as_ref().map_or(String::new(), |test| format!(" --test-range {}", quoted(test.clone())));
            format!(" --range {}{test}", quoted(train.clone()))
        });
        let sweep = self.sweep.iter().map(|(key, values)| (key, several(values, ";")));
        let sweep = sweep.map(|(key, values)| format!(" --sweep {}", quoted(format!("{key}={values}"))));
        seeds.into_iter().chain(set).chain(ranges).chain(sweep).collect()
    }

    /// What they change, in words, beside what a preset is a reduction to.
    pub(super) fn in_words(&self) -> String {
        let set = self.set.iter().map(|(key, value)| format!("{key} = {value}"));
        let seeds = self.seeds.as_ref().map(|seeds| match seeds {
            Seeds::Count(n) => format!("the first {n} of the seeds"),
            Seeds::These(list) => format!("the seeds {}", seeds::shown(&list.iter().copied().collect())),
        });
        let ranges = self.ranges.iter().map(|(train, _)| format!("the range {train}"));
        let sweep = self.sweep.iter().map(|(key, values)| format!("{key} = {}", several(values, ", ")));
        let all: Vec<String> = set.chain(seeds).chain(ranges).chain(sweep).collect();
        if all.is_empty() { String::new() } else { format!("; but with {}", all.join(", ")) }
    }
}

//! Along what the runs of a section differ besides models and seeds: ranges, and settings that take several values.

use super::check::Checker;
use super::overrides::plain;
use super::written::{Range, Sweep};
use crate::error::{Context, Error, Result, ensure};
use crate::run::spec::{json, setting};
use crate::task::{Task, published_test_range, test_range_for};
use nalm::task::PAPER_RANGES;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::Spanned;

/// One range or value along a section's axis: how it is called, and what it sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) label: String,
    /// What is varied, name by name, and how its value is called.
    pub(super) parts: Vec<(String, String)>,
    pub(super) values: BTreeMap<String, Value>,
    /// Where the file has its range, if it has it.
    pub(super) line: Option<String>,
}

impl Place {
    /// The names of what is varied, for the head of a column.
    pub(super) fn names(&self) -> String {
        self.values.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// How figures call what is varied.
    pub(super) fn axis(&self) -> String {
        self.names().replace('_', " ")
    }
}

/// The paper's training ranges.
pub(super) fn paper_ranges() -> Vec<String> {
    PAPER_RANGES.iter().map(|(train, _)| train.to_string()).collect()
}

/// Every range with every value, which names the place.
pub(super) fn both(ranges: &[Place], sweep: &[Place]) -> Vec<Place> {
    let one = |range: &Place, value: &Place| {
        let values = range.values.clone().into_iter().chain(value.values.clone()).collect();
        Place { label: value.label.clone(), parts: value.parts.clone(), values, line: range.line.clone() }
    };
    match sweep {
        [] => ranges.to_vec(),
        sweep => ranges.iter().flat_map(|range| sweep.iter().map(move |value| one(range, value))).collect(),
    }
}

/// Every combination of the values of a sweep, those of the command line included.
pub(super) fn sweep(checker: &Checker<'_>, task: &dyn Task, written: &Sweep) -> Result<Vec<Place>> {
    let values = |all: &Value| all.as_array().cloned().unwrap_or_else(|| vec![all.clone()]);
    let mut sweep: BTreeMap<_, _> = written.iter().map(|(key, all)| (key.clone(), values(all))).collect();
    sweep.extend(checker.overrides.sweep.iter().cloned());
    let several = sweep.len() > 1;
    let mut places = if sweep.is_empty() { Vec::new() } else { vec![Place::default()] };
    for (key, values) in &sweep {
        ensure!(!values.is_empty(), "{}: the sweep over {key} has no values", checker.file);
        // However it is spelled, a value is one place.
        let normal: Vec<Value> = values.iter().map(|value| normal(checker, task, key, value)).collect();
        let earlier = |k: usize| (0..k).find(|&j| normal[j] == normal[k]).map(|j| (&values[j], &values[k]));
        if let Some((first, value)) = (0..values.len()).find_map(earlier) {
            let [first, value] = [first, value].map(plain);
            let text = match first == value {
                true => format!("{value} is there twice; leave one out"),
                false => format!("{first} and {value} are the same {key}; leave one of them out"),
            };
            return Err(Error::Request(text)).at(|| checker.line_of_swept(key));
        }
        let one = |place: &Place, value: &Value| {
            let own = if several { format!("{key} {}", label_of(value)) } else { label_of(value) };
            let parts: Vec<_> = place.parts.iter().cloned().chain([(key.clone(), own)]).collect();
            let label = parts.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ");
            let values = place.values.clone().into_iter().chain([(key.clone(), value.clone())]).collect();
            Place { label, parts, values, line: None }
        };
        places = places.iter().flat_map(|place| values.iter().map(move |value| one(place, value))).collect();
    }
    Ok(places)
}

/// A value as records keep it, if whoever has the setting takes it.
fn normal(checker: &Checker<'_>, task: &dyn Task, key: &str, value: &Value) -> Value {
    let options = checker.catalogue.modules().iter().flat_map(|entry| entry.single.options).copied();
    let declared = task.settings().into_iter().chain(options).find(|setting| setting.name == key);
    let checked = declared.and_then(|declared| declared.check(&setting(value)?).ok());
    checked.map_or_else(|| value.clone(), |checked| json(&checked))
}

/// The ranges of a task that has such, or one place without a name.
pub(super) fn ranges(checker: &Checker<'_>, task: &dyn Task, written: Option<&[Spanned<Range>]>) -> Result<Vec<Place>> {
    if !task.declares("range") {
        ensure!(written.is_none(), "{}: {} has no ranges", checker.file, task.name());
        ensure!(checker.overrides.ranges.is_empty(), "--range: {} has no ranges; leave it out", task.name());
        return Ok(vec![Place::default()]);
    }
    let mut pairs: Vec<(String, Option<String>)> = checker.overrides.ranges.clone();
    let mut lines = Vec::new();
    if let Some(written) = written.filter(|_| pairs.is_empty()) {
        let (file, preset) = (&checker.file, &checker.preset);
        ensure!(!written.is_empty(), "{file}: preset {preset} has no ranges; leave the key out for the published ones");
        pairs = written.iter().map(|range| pair(range.get_ref()).at(|| checker.at(range))).collect::<Result<_>>()?;
        lines = written.iter().map(|range| checker.at(range)).collect();
    } else if pairs.is_empty() {
        pairs = paper_ranges().into_iter().map(|range| (range, None)).collect();
    }
    let place = |(k, (train, test)): (usize, &(String, Option<String>))| {
        let twice = pairs.iter().filter(|(other, _)| other == train).count() > 1;
        let label = test.as_ref().filter(|_| twice).map(|test| format!("{train}, tested on {test}"));
        let test = test.iter().map(|test| ("test_range".to_string(), test.clone().into()));
        let values = [("range".to_string(), train.clone().into())].into_iter().chain(test).collect();
        let label = label.unwrap_or_else(|| train.clone());
        Place { label, parts: Vec::new(), values, line: lines.get(k).cloned() }
    };
    Ok(pairs.iter().enumerate().map(place).collect())
}

/// A training range, and its test range unless that is the published one.
fn pair(written: &Range) -> Result<(String, Option<String>)> {
    let normal = |text: &str| -> Result<String> { Ok(text.parse::<nalm::Distribution>()?.to_string()) };
    match written {
        Range::Pair { train, test } => Ok((normal(train)?, Some(normal(test)?))),
        Range::Train(train) => {
            let train = normal(train)?;
            let example = format!("{{ train = \"{train}\", test = \"{}\" }}", test_range_for(&train));
            let missing = || Error::Request(format!("{train} has no published test range; give one: {example}"));
            published_test_range(&train).ok_or_else(missing).map(|_| (train, None))
        }
    }
}

/// How a value along an axis is called.
fn label_of(value: &Value) -> String {
    match value.as_f64() {
        Some(x) if x != 0.0 && x.abs() < 1e-3 => format!("{x:e}"),
        Some(x) => x.to_string(),
        None => plain(value),
    }
}

/// Starting weights on a grid over the unit square, at the centres of its cells.
pub(super) fn starts(side: usize) -> impl Iterator<Item = [f64; 2]> {
    let at = move |k: usize| (k as f64 + 0.5) / side as f64;
    (0..side * side).map(move |k| [at(k % side), at(k / side)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starting_weights_are_the_centres_of_all_cells() {
        assert_eq!(starts(1).collect::<Vec<_>>(), [[0.5, 0.5]]);
        assert_eq!(starts(2).collect::<Vec<_>>(), [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]);
    }
}

//! Problems whose inputs are drawn from a range, and are tested on another one.

use super::numbers::{About, Problem, complete};
use crate::error::{Context, Error, Result};
use crate::run::Spec;
use nalm::setting::Kind;
use nalm::task::{DATA_SETTINGS, FrontLayer, PAPER_RANGES, TaskSpec, with_data_settings};
use nalm::{Distribution, Interval, Setting, Uniform};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A task of the core, with a training and a test range.
pub struct Ranges(pub TaskSpec<f32>);

const RANGES: [Setting; 2] = [
    Setting::new("range", Kind::text::<Distribution>("a range"), "U[1,2)", "the training range"),
    Setting::new(
        "test_range",
        Kind::text::<Distribution>("a range"),
        "",
        "the test range; the published one of the training range if not given",
    ),
];

const NAMED: [&str; 4] = ["operation", "inputs", "range", "test_range"];

/// The test range that was published with a training range.
pub fn published_test_range(range: &str) -> Option<&'static str> {
    PAPER_RANGES.iter().find(|(train, _)| *train == range).map(|(_, test)| *test)
}

/// A range apart from a training range, further away from 0 as published ones are, as an example for whoever has to give one.
pub(crate) fn test_range_for(train: &str) -> String {
    let range = train.parse::<Distribution>().ok();
    let further = |range: &Uniform| {
        let (first, last) = (range.intervals().first()?, range.intervals().last()?);
        // Sums of decimals have digits that nobody would type.
        let rounded = |x: f64| format!("{x:.9e}").parse::<f64>().unwrap_or(x);
        let below = (first.low() < 0.0).then(|| Interval::new(rounded(first.low() - 4.0 * first.width()), first.low()));
        let above = (last.high() > 0.0).then(|| Interval::new(last.high(), rounded(last.high() + 4.0 * last.width())));
        Uniform::union(below.into_iter().chain(above).collect::<Result<_, _>>().ok()?).ok()
    };
    range.as_ref().and_then(Distribution::as_range).and_then(further).map_or("U[2,6)".into(), |range| range.to_string())
}

/// Tasks made before. Thousands of runs share a task, and some thresholds take a while to simulate.
static TASKS: Mutex<BTreeMap<String, Arc<dyn nalm::Task<f32>>>> = Mutex::new(BTreeMap::new());

impl Problem for Ranges {
    fn about(&self) -> About {
        let TaskSpec { name, summary, steps, ramp, .. } = self.0;
        About { name, summary, named: &NAMED, steps, ramp }
    }

    fn settings(&self) -> Vec<Setting> {
        self.0.parameters.iter().copied().chain(RANGES).chain(DATA_SETTINGS).collect()
    }

    fn complete(&self, given: &mut Map<String, Value>) -> Result<()> {
        complete(given, self.0.parameters.iter().chain(&RANGES[..1]).filter(|s| NAMED.contains(&s.name)))?;
        let train = given["range"].as_str().unwrap_or_default().to_string();
        let Some(test) = given.get("test_range").and_then(Value::as_str) else {
            let Some(test) = published_test_range(&train) else {
                let example = test_range_for(&train);
                let text = format!(
                    "{train} has no published test range; give one with --test-range '{example}', or as {{ train = \"{train}\", test = \"{example}\" }} in a file"
                );
                return Err(Error::Request(text)).about("range");
            };
            given.insert("test_range".into(), test.into());
            return Ok(());
        };
        let overlap = overlap(&train.parse()?, &test.parse()?);
        if overlap {
            let text = format!(
                "the test range {test} overlaps the training range {train}; extrapolation is tested outside of it, so give ranges apart"
            );
            return Err(Error::Request(text)).about("test_range");
        }
        Ok(())
    }

    fn front(&self, spec: &Spec) -> Result<Vec<FrontLayer>> {
        Ok((self.0.front)(&spec.options(&["inputs"]))?)
    }

    fn task(&self, spec: &Spec) -> Result<Arc<dyn nalm::Task<f32>>> {
        let options = spec.options(&["operation", "inputs"]);
        let own = self.0.parameters.iter().chain(&RANGES);
        let own = own.filter_map(|setting| Some((setting.name.to_string(), spec.get(setting.name)?.clone())));
        let key = format!("{} {}", self.0.name, Value::from_iter(own));
        let train: Distribution = spec.text("range").parse()?;
        let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
        if !tasks.contains_key(&key) {
            let place = || format!("task {}", self.0.name);
            let task = (self.0.build)(&options, train.clone(), spec.text("test_range").parse()?);
            let task = match task {
                Err(error @ nalm::Error::NoThreshold { .. }) => Err(error).about("test_range"),
                other => other.at(place),
            }?;
            tasks.insert(key.clone(), task.into());
        }
        let task = Arc::clone(&tasks[&key]);
        drop(tasks);
        with_data_settings(task, &options, &train).map_err(Error::from)
    }
}

/// Whether two ranges have numbers in common; others than uniform ones are not compared.
fn overlap(a: &Distribution, b: &Distribution) -> bool {
    let (Some(a), Some(b)) = (a.as_range(), b.as_range()) else { return false };
    a.intervals().iter().any(|x| b.intervals().iter().any(|y| x.low() < y.high() && y.low() < x.high()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is proposed can be read, is short, and goes away from 0 as the published test ranges do.
    #[test]
    fn test_ranges_are_proposed_further_out() {
        for (train, want) in [
            ("U[1,2)", "U[2,6)"),
            ("U[0.1,0.3)", "U[0.3,1.1)"),
            ("U[-5,-4)", "U[-9,-5)"),
            ("U[-2,2)", "U[-18,-2)∪U[2,18)"),
            ("U[-3,-2)∪U[5,7)", "U[-7,-3)∪U[7,15)"),
            ("U[1e300,1e301)", "U[1e301,4.6e301)"),
            ("U[1e-300,1e-299)", "U[1e-299,4.6e-299)"),
            ("U[1e308,1.7e308)", "U[2,6)"),
            ("Exp(0.5)", "U[2,6)"),
        ] {
            assert_eq!(test_range_for(train), want, "{train}");
        }
    }

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        let range = |text: &str| text.parse::<Distribution>().unwrap();
        for (a, b, want) in [
            ("U[1,2)", "U[2,6)", false),
            ("U[1,2)", "U[1.5,6)", true),
            ("U[-2,2)", "U[-6,-2)∪U[2,6)", false),
            ("U[-2,2)", "U[-6,-1.9)∪U[2,6)", true),
        ] {
            assert_eq!(overlap(&range(a), &range(b)), want, "{a} {b}");
        }
        assert!(PAPER_RANGES.iter().all(|(train, test)| !overlap(&range(train), &range(test))));
    }
}

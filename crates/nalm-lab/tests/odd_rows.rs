//! Rows with images that no program of ours writes: histories that are missing, empty or of another shape, numbers that are none. Pages are
//! made of them all the same, and figures stay XML.

#![cfg(feature = "images")]

use nalm_lab::experiment::{Experiment, Overrides};
use nalm_lab::run::{Row, Status, history};
use nalm_lab::store::Contents;
use nalm_lab::{Registry, figure};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn score() -> Value {
    let accuracy = json!({"strict": 0.5, "tolerance": 0.6, "rounded": 0.7});
    json!({"errors": [1.0, 0.5, 0.25], "accuracy": [accuracy, accuracy, accuracy], "zeros": [accuracy, accuracy],
        "digits_up_to_a_swap": 0.5, "strict_snapped": 0.5})
}

/// A history of two measurements, and pictures.
fn parts(is_sequence: bool) -> Value {
    let part = json!({"error": 0.5, "rounded": 0.5, "rounded_last": 0.25});
    let product = |epoch: u64| {
        let confusion = json!({"truncated": vec![vec![1; 10]; 10], "rounded": vec![vec![2; 10]; 10]});
        json!({"epoch": epoch, "weights": [0.9, 1.0], "off_one": 0.5, "train": score(), "valid": score(), "test": score(),
            "confusion": confusion})
    };
    let sequence = |epoch: u64| {
        json!({"epoch": epoch, "step": 100 * epoch, "train": part, "valid": part, "test": vec![part.clone(); 20],
            "weights": [0.9, 1.0], "sparsity": 0.1})
    };
    let history = match is_sequence {
        true => json!({"sequence": [sequence(0), sequence(5)]}),
        false => json!({"product": [product(0), product(5)]}),
    };
    let picture = json!({"title": "as drawn", "width": 2, "channels": 1, "pixels": "0f3c"});
    json!({"history": history, "pictures": [[picture.clone(), picture]]})
}

fn contents(experiment: &Experiment, parts: &Value, metrics: Option<&Value>) -> Contents {
    let mut contents = Contents::default();
    for spec in &experiment.runs {
        let mut row = Row::new(spec, Status::Completed, None, "0".repeat(32));
        row.series =
            [("history", "history")].iter().filter_map(|(a, b)| Some((a.to_string(), parts.get(b)?.clone()))).collect();
        row.artefacts.extend(parts.get("pictures").map(|pictures| ("pictures".into(), pictures.clone())));
        row.metrics = parts.get("history").map(history::metrics).unwrap_or_default();
        if let Some(value) = metrics {
            row.metrics.values_mut().for_each(|metric| *metric = value.clone());
        }
        contents.insert(row);
    }
    contents
}

/// Every place in a value; of long lists the first and the last.
fn places(value: &Value, here: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| {
            into.push(format!("{here}/{key}"));
            places(inner, &format!("{here}/{key}"), into);
        }),
        Value::Array(all) => {
            for k in [0, all.len().saturating_sub(1)].into_iter().take(all.len()) {
                into.push(format!("{here}/{k}"));
                places(&all[k], &format!("{here}/{k}"), into);
            }
        }
        _ => {}
    }
}

/// Takes out what is at a place.
fn without(value: &Value, place: &str) -> Value {
    let mut value = value.clone();
    let (parent, key) = place.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => _ = map.remove(key),
        Some(Value::Array(all)) => _ = all.remove(key.parse().unwrap()),
        _ => unreachable!("every place is in an object or a list"),
    }
    value
}

#[test]
fn pages_of_isolated_digits_are_made_of_whatever_rows_there_are() {
    pages_are_made_of_whatever_rows_there_are("mnist-isolated-full");
}

#[test]
fn pages_of_colours_are_made_of_whatever_rows_there_are() {
    pages_are_made_of_whatever_rows_there_are("mnist-colour");
}

#[test]
fn pages_of_sequences_are_made_of_whatever_rows_there_are() {
    pages_are_made_of_whatever_rows_there_are("mnist-sequential");
}

fn pages_are_made_of_whatever_rows_there_are(name: &str) {
    let registry = Registry::default();
    let folder = tempfile::tempdir().unwrap();
    let experiment = registry.load(name, &Overrides::preset("quick")).unwrap();
    assert!((2..60).contains(&experiment.runs.len()), "{name}: {}", experiment.runs.len());
    let whole = parts(name == "mnist-sequential");
    let mut cases = vec![("nothing changed".to_string(), whole.clone())];
    let mut all = Vec::new();
    places(&whole, "", &mut all);
    for place in all {
        cases.push((format!("without {place}"), without(&whole, &place)));
        for other in [json!(null), json!([]), json!({}), json!("x"), json!(-1), json!(1e308), json!(0), json!(u64::MAX)]
        {
            let mut changed = whole.clone();
            *changed.pointer_mut(&place).unwrap() = other.clone();
            cases.push((format!("{place} is {other}"), changed));
        }
    }
    assert!(cases.len() > 300, "{name}: {}", cases.len());
    let mut wrong = Vec::new();
    for (what, parts) in cases {
        let drawn = catch_unwind(AssertUnwindSafe(|| {
            let contents = contents(&experiment, &parts, None);
            figure::all(&registry.results(&experiment, &contents), &registry.figures).0
        }));
        let Ok(figures) = drawn else {
            wrong.push(format!("{what}: a panic"));
            continue;
        };
        for figure in figures {
            let Ok(drawing) = roxmltree::Document::parse(&figure.svg) else {
                wrong.push(format!("{what}: {} is no XML", figure.suffix));
                continue;
            };
            // A text may say that something is infinite; nothing can be drawn there.
            let places = drawing.descendants().flat_map(|node| node.attributes());
            if places.into_iter().any(|place| ["NaN", "inf"].iter().any(|text| place.value().contains(text))) {
                wrong.push(format!("{what}: {} has places that are no numbers", figure.suffix));
            }
        }
    }
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    // The tables of a page, where the metrics are anything.
    for value in [json!(null), json!([]), json!("x"), json!(-1), json!(1e308), json!(u64::MAX)] {
        registry.report(&experiment, &contents(&experiment, &whole, Some(&value)), folder.path()).unwrap();
    }
    for change in ["/history", "/history/product", "/history/sequence", "/pictures"] {
        let parts = if whole.pointer(change).is_some() { without(&whole, change) } else { continue };
        registry.report(&experiment, &contents(&experiment, &parts, None), folder.path()).unwrap();
    }
}

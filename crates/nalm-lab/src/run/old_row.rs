//! Rows as they were written before there was one form for all: numbers with everything at the top, images with their specification
//! under `image`. They are read into today's form; nothing writes them any more.

use super::history;
use serde_json::{Map, Value, json};

/// What the top of an old row with numbers had of its specification.
const SPEC: [&str; 13] = [
    "task",
    "operation",
    "inputs",
    "range",
    "test_range",
    "module",
    "options",
    "seed",
    "stream",
    "steps",
    "schedule",
    "problem",
    "numerics",
];

/// Pairs of metrics by threshold, and what they are called now.
const BY_THRESHOLD: [&str; 4] = ["solved", "solved_at", "last_row_solved", "stays_solved"];

/// The same row in today's form.
pub(super) fn upgrade(value: Value) -> Value {
    match value {
        Value::Object(row) if row.contains_key("spec") => Value::Object(row),
        Value::Object(row) if row.contains_key("image") => image(row),
        Value::Object(row) if row.contains_key("task") => numbers(row),
        other => other,
    }
}

/// Moves keys that are there from one object to another.
fn take(from: &mut Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| from.remove_entry(*key)).collect()
}

fn numbers(mut row: Map<String, Value>) -> Value {
    let mut spec = take(&mut row, &SPEC);
    let series = take(&mut row, &["curve"]);
    if !series.is_empty() {
        spec.insert("curve".into(), true.into());
    }
    let artefacts = take(&mut row, &["weights", "weights_file"]);
    let mut metrics = take(&mut row, &["best_step", "validation_error", "test_error", "sparsity_error", "attempts"]);
    for name in BY_THRESHOLD {
        let Some(Value::Object(mut pair)) = row.remove(name) else { continue };
        let [flat, simulated] = ["flat", "simulated"].map(|rule| pair.remove(rule).unwrap_or(Value::Null));
        // Whether there is a flat rule shows in `solved`, which comes first; solved_at may be absent under either.
        let two = if name == "solved" { !flat.is_null() } else { metrics.contains_key("solved_simulated") };
        // The first rule has the plain name; the simulated one has a name of its own where it is the second.
        let (first, second) = if two { (flat, Some(simulated)) } else { (simulated, None) };
        metrics.insert(name.into(), first);
        metrics.extend(second.map(|value| (format!("{name}_simulated"), value)));
    }
    finish(row, [("spec", spec), ("metrics", metrics), ("series", series), ("artefacts", artefacts)])
}

fn image(mut row: Map<String, Value>) -> Value {
    let Some(Value::Object(spec)) = row.remove("image") else { return Value::Null };
    let series = take(&mut row, &["history"]);
    let metrics = series.get("history").map(history::metrics).unwrap_or_default();
    let mut artefacts = take(&mut row, &["pictures", "weights_file"]);
    artefacts.extend(row.remove("set").map(|set| ("instructions".into(), set)));
    finish(row, [("spec", spec), ("metrics", metrics), ("series", series), ("artefacts", artefacts)])
}

/// What is left of the row stays where it is.
fn finish(mut row: Map<String, Value>, parts: [(&str, Map<String, Value>); 4]) -> Value {
    let failed = row.get("status") == Some(&json!("failed"));
    for (key, part) in parts {
        // A run that failed measured nothing.
        let part = if failed && key != "spec" { Map::new() } else { part };
        row.insert(key.into(), part.into());
    }
    row.into()
}

#[cfg(test)]
mod tests {
    use crate::run::{Row, Status};
    use serde_json::json;

    #[test]
    fn an_old_row_of_numbers_has_the_identity_of_its_specification() {
        let spec = crate::run::spec::tests::spec("nmu").with("curve", true);
        let mut old = serde_json::to_value(&spec).unwrap();
        let more = json!({"id": spec.id(), "status": "completed", "solved": {"flat": true, "simulated": false},
            "solved_at": {"flat": 2000, "simulated": null}, "last_row_solved": {"flat": true, "simulated": false},
            "stays_solved": {"flat": 1.0, "simulated": null}, "best_step": 3000, "validation_error": 0.5, "test_error": null,
            "sparsity_error": 0.25, "weights": [1.0, null], "curve": {"errors": [], "weights": [[0, [0.5, null]]]},
            "version": "0.1.0", "result_hash": "ab"});
        old.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let row = Row::from_json(old).unwrap();
        assert_eq!((row.spec.id(), row.status), (row.id.clone(), Status::Completed));
        assert_eq!((row.is_solved(), row.solved_at(), row.flag("solved_simulated")), (true, Some(2000.0), Some(false)));
        assert_eq!((row.number("test_error"), row.number("best_step")), (None, Some(3000.0)));
        assert_eq!((row.weights(), row.curve().unwrap().weights.len()), (vec![Some(1.0), None], 1));
    }

    /// Rows of today, and what is no row at all, stay as they are.
    #[test]
    fn what_is_not_old_is_left_alone() {
        for value in
            [json!({"spec": {"task": "x"}, "task": "y", "solved": {"flat": true}}), json!({"sealed": true}), json!([1])]
        {
            assert_eq!(super::upgrade(value.clone()), value);
        }
    }

    #[test]
    fn without_a_flat_rule_the_simulated_one_is_the_first() {
        let old = json!({"task": "arithmetic", "seed": 3, "numerics": 1, "id": "x", "status": "diverged", "reason": "step 7",
            "solved": {"flat": null, "simulated": true}, "solved_at": {"flat": null, "simulated": 5},
            "best_step": 0, "version": "0.1.0", "result_hash": "ab"});
        let row = Row::from_json(old).unwrap();
        assert_eq!((row.is_solved(), row.solved_at(), row.metrics.get("solved_simulated")), (true, Some(5.0), None));
        assert_eq!((row.status, row.reason.as_deref()), (Status::Diverged, Some("step 7")));
    }
}

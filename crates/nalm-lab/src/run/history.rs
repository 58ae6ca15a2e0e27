//! What the history of a run with images amounts to, from its JSON, so that rows can be read without the image tasks.

use serde_json::{Map, Value, json};

const RULES: [&str; 3] = ["strict", "tolerance", "rounded"];

/// The metrics of a history: of its last measurement in the static tasks, of the one with the least validation error in the sequential.
pub fn metrics(history: &Value) -> Map<String, Value> {
    let measured = |kind: &str| history.get(kind).and_then(Value::as_array).filter(|all| !all.is_empty());
    match (measured("product"), measured("sequence")) {
        (Some(all), _) => product(&all[all.len() - 1]),
        (_, Some(all)) => sequence(all),
        _ => Map::new(),
    }
}

fn product(last: &Value) -> Map<String, Value> {
    let mut metrics = Map::new();
    let mut put = |name: String, value: &Value| _ = metrics.insert(name, value.clone());
    for (part, prefix) in [("test", ""), ("train", "train_")] {
        for (k, of) in ["product", "first_digit", "second_digit"].into_iter().enumerate() {
            RULES.iter().for_each(|rule| put(format!("{prefix}{of}_{rule}"), &last[part]["accuracy"][k][rule]));
        }
    }
    for (k, of) in ["with_zero", "without_zero"].into_iter().enumerate() {
        RULES.iter().for_each(|rule| put(format!("{of}_{rule}"), &last["test"]["zeros"][k][rule]));
    }
    put("digits_up_to_a_swap".into(), &last["test"]["digits_up_to_a_swap"]);
    put("strict_snapped".into(), &last["test"]["strict_snapped"]);
    put("test_error".into(), &last["test"]["errors"][0]);
    if let Some(weights) = last["weights"].as_array().filter(|weights| !weights.is_empty()) {
        put("at_one".into(), &json!(weights.iter().all(|w| w.as_f64() == Some(1.0))));
        put("off_one".into(), &last["off_one"]);
    }
    metrics
}

fn sequence(all: &[Value]) -> Map<String, Value> {
    let error = |row: &&Value| row["valid"]["error"].as_f64().unwrap_or(f64::INFINITY);
    let last = &all[all.len() - 1];
    let best = all.iter().min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or(last);
    let values = [
        ("best_step", &best["step"]),
        ("validation_error", &best["valid"]["error"]),
        ("sparsity_error", &best["sparsity"]),
        ("digit_rounded", &last["test"][0]["rounded"]),
        ("two_digits_rounded", &last["test"][1]["rounded_last"]),
        ("five_digits_rounded", &last["test"][4]["rounded_last"]),
    ];
    values.into_iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_judged_by_their_last_measurement() {
        let rule = |strict: f64| json!({"strict": strict, "tolerance": 0.5, "rounded": 0.75});
        let score = |strict: f64| {
            json!({"accuracy": [rule(strict), rule(0.1), rule(0.2)], "zeros": [null, rule(0.3)], "errors": [4.0, 1.0, 1.0],
                "digits_up_to_a_swap": 0.6, "strict_snapped": 0.7})
        };
        let measured = |strict, weights: Value| json!({"test": score(strict), "train": score(0.9), "weights": weights, "off_one": 0.25});
        let found = metrics(&json!({"product": [measured(0.0, json!([0.5, 1.0])), measured(0.4, json!([1.0, 1.0]))]}));
        let number = |name: &str| found[name].as_f64();
        assert_eq!((number("product_strict"), number("train_product_strict")), (Some(0.4), Some(0.9)));
        assert_eq!((number("first_digit_strict"), number("without_zero_strict")), (Some(0.1), Some(0.3)));
        assert_eq!(
            (number("with_zero_strict"), number("test_error"), number("off_one")),
            (None, Some(4.0), Some(0.25))
        );
        assert_eq!(found["at_one"], json!(true));
        let plain = metrics(&json!({"product": [measured(0.4, json!([]))]}));
        assert!(!plain.contains_key("at_one") && !plain.contains_key("off_one"));
    }

    #[test]
    fn sequences_are_judged_by_their_best_validation_error() {
        let measured = |step: u64, error: Value| {
            let part = |share: f64| json!({"rounded": share, "rounded_last": share / 2.0});
            json!({"step": step, "valid": {"error": error}, "sparsity": 0.1, "test": [part(0.2), part(0.4), part(0.0), part(0.0), part(0.6)]})
        };
        let found =
            metrics(&json!({"sequence": [measured(0, json!(3.0)), measured(5, json!(1.0)), measured(9, Value::Null)]}));
        assert_eq!((found["best_step"].as_u64(), found["validation_error"].as_f64()), (Some(5), Some(1.0)));
        assert_eq!((found["digit_rounded"].as_f64(), found["five_digits_rounded"].as_f64()), (Some(0.2), Some(0.3)));
        assert!(metrics(&json!({"sequence": []})).is_empty());
    }
}

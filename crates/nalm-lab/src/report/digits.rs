//! Tables of the image tasks: accuracies by rule, digits and weights; sequences by length.

use super::page::Block;
use super::texts;
use crate::stats::student;
use crate::summary::histories::{Model, models};
use crate::summary::sequences::{Thresholds, by_length, thresholds};
use crate::summary::{Results, show};

fn percent(v: f64) -> String {
    format!("{:.1}", 100.0 * v)
}

/// Last rows of the static tasks: accuracies by three rules, on pairs with and without a zero; digits; weights.
pub(super) fn products(results: &Results<'_>) -> Vec<Block> {
    let models = models(results);
    if models.is_empty() {
        return Vec::new();
    }
    let share = |model: &Model<'_>, metric: &str| show(model.share(metric), percent);
    let mut by_rule = Vec::new();
    for model in &models {
        for (name, of) in [("all", "product"), ("with a zero", "with_zero"), ("without a zero", "without_zero")] {
            let rules = ["strict", "tolerance", "rounded"].map(|rule| share(model, &format!("{of}_{rule}")));
            let head = [model.label.to_string(), model.products().len().to_string(), name.to_string()];
            by_rule.push(head.into_iter().chain(rules).collect());
        }
    }
    let head = ["head", "runs", "test pairs", "strict %", "within 1e-4 %", "rounded %"];
    let mut blocks = vec![
        Block::Heading("Test accuracy of the product, by rule and by whether a digit is zero".into()),
        Block::Table { head: texts(&head), rows: by_rule },
    ];
    let digits = models.iter().map(|model| {
        let runs = model.products().len();
        let weights = model.last_weights(3);
        let more = if runs > 3 && !weights.is_empty() { ", …" } else { "" };
        let without = weights.iter().all(String::is_empty);
        let at_one = model.rows.iter().filter(|row| row.flag("at_one") == Some(true)).count();
        vec![
            model.label.into(),
            share(model, "first_digit_rounded"),
            share(model, "second_digit_rounded"),
            share(model, "digits_up_to_a_swap"),
            share(model, "train_product_rounded"),
            share(model, "strict_snapped"),
            show(student::interval(&model.values("test_error")), |v| format!("{v:.3}")),
            if without { "–".into() } else { format!("{at_one} of {runs}") },
            if without { "–".into() } else { share(model, "off_one") },
            format!("{}{more}", weights.join(", ")),
        ]
    });
    let head = [
        "head",
        "first digit, rounded %",
        "second digit, rounded %",
        "both, up to a swap %",
        "train product, rounded %",
        "strict with rounded weights %",
        "test error",
        "weights (1, 1)",
        "updates of the last epoch away from (1, 1) %",
        "weights at the end",
    ];
    blocks.push(Block::Heading("Digits and weights at the end".into()));
    blocks.push(Block::Table { head: texts(&head), rows: digits.collect() });
    blocks
}

/// Success by length, under thresholds from the reference; and where all models ended.
pub(super) fn sequences(results: &Results<'_>) -> Vec<Block> {
    let models = models(results);
    let mut blocks = Vec::new();
    match models.iter().find(|model| model.is_reference()).and_then(thresholds) {
        Some(limits) => blocks.extend(success_table(&models, &limits)),
        None => blocks.push(Block::Text(
            "There are fewer than two solved reference runs, so there are no thresholds; errors are in the figures' data.".into(),
        )),
    }
    let ends = models.iter().map(|model| {
        let share = |metric: &str| show(model.share(metric), percent);
        vec![
            model.label.into(),
            model.sequences().len().to_string(),
            share("digit_rounded"),
            share("two_digits_rounded"),
            share("five_digits_rounded"),
            model.last_weights(3).join(", "),
        ]
    });
    let ends: Vec<Vec<String>> = ends.collect();
    if !ends.is_empty() {
        blocks.push(Block::Heading("At the end".into()));
        let head = ["model", "runs", "digit, rounded %", "product of two %", "product of five %", "weights"];
        blocks.push(Block::Table { head: texts(&head), rows: ends });
    }
    blocks
}

fn success_table(models: &[Model<'_>], thresholds: &Thresholds) -> Vec<Block> {
    let shown = [1, 2, 3, 5, 8, 10, 12, 15, 20];
    let mut head = vec!["model".to_string()];
    head.extend(shown.iter().map(|length| length.to_string()));
    let limits = shown.iter().map(|length| format!("{:.1e}", thresholds.values[length - 1]));
    let mut rows: Vec<Vec<String>> = vec![std::iter::once("threshold".to_string()).chain(limits).collect()];
    for model in models.iter().filter(|model| !model.is_reference()) {
        let judged = by_length(model, thresholds);
        let cells = shown.iter().map(|length| {
            let cell = &judged[length - 1];
            format!("{} of {}", cell.solved, cell.n)
        });
        rows.push(std::iter::once(model.label.to_string()).chain(cells).collect());
    }
    vec![
        Block::Heading("Success by length".into()),
        Block::Text(threshold_text(thresholds)),
        Block::Table { head, rows },
    ]
}

fn threshold_text(thresholds: &Thresholds) -> String {
    let list = |seeds: &[u64]| seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let n = thresholds.used.len();
    let mut text = format!(
        "Thresholds from {n} reference runs (seeds {}), {} degrees of freedom: mean + t s / sqrt(n), t the 99 % point of Student's distribution.",
        list(&thresholds.used),
        n - 1
    );
    if !thresholds.dropped.is_empty() {
        text += &format!(
            " Left out, because their best validation error is more than ten times the median or no number: {}.",
            list(&thresholds.dropped)
        );
    }
    text
}

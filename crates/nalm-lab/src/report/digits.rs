//! Tables of the image tasks: accuracies by rule, digits and weights; sequences by length.

use super::page::Block;
use super::table;
use crate::experiment::Group;
use crate::stats::shown::two;
use crate::stats::student;
use crate::summary::histories::{Model, models};
use crate::summary::sequences::{Limits, Thresholds, by_length, thresholds};
use crate::summary::{Results, of_section, show};

fn percent(v: f64) -> String {
    format!("{:.1}", 100.0 * v)
}

/// Models of a section without a row, each as a line of a table with so many columns.
fn not_run<'a>(results: &Results<'_>, section: usize, columns: &[&'a str]) -> Vec<Vec<(&'a str, String)>> {
    let groups = results.experiment.groups.iter().filter(|group| group.section == section);
    let empty = groups.filter(|group| results.of(group).is_empty());
    let line = |group: &Group| {
        let label = [results.experiment.models[group.model].as_str(), &group.place].map(str::trim);
        let label = label.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        let text = |k: usize| [label.clone(), "not run".into()].into_iter().nth(k).unwrap_or("–".into());
        columns.iter().enumerate().map(|(k, column)| (*column, text(k))).collect()
    };
    empty.map(line).collect()
}

/// The same after other lines.
fn with_not_run<'a>(
    mut rows: Vec<Vec<(&'a str, String)>>,
    results: &Results<'_>,
    section: usize,
) -> Vec<Vec<(&'a str, String)>> {
    if let Some(first) = rows.first() {
        let columns: Vec<&str> = first.iter().map(|(name, _)| *name).collect();
        rows.extend(not_run(results, section, &columns));
    }
    rows
}

/// Last rows of the static tasks: accuracies by three rules, on pairs with and without a zero; digits; weights.
pub(super) fn products(results: &Results<'_>, section: usize) -> Vec<Block> {
    let (models, of) = (models(results, section), of_section(&results.experiment.sections[section]));
    let share = |model: &Model<'_>, metric: &str| show(model.share(metric), percent);
    let pairs = [("all", "product"), ("with a zero", "with_zero"), ("without a zero", "without_zero")];
    let by_rule = models.iter().flat_map(|model| {
        pairs.map(|(name, of)| {
            vec![
                ("head", model.label.clone()),
                ("runs", model.products().len().to_string()),
                ("test pairs", name.into()),
                ("strict %", share(model, &format!("{of}_strict"))),
                ("within 1e-4 %", share(model, &format!("{of}_tolerance"))),
                ("rounded %", share(model, &format!("{of}_rounded"))),
            ]
        })
    });
    let digits = models.iter().map(|model| {
        let runs = model.products().len();
        let weights = model.last_weights(3);
        let more = if runs > 3 && !weights.is_empty() { ", …" } else { "" };
        let without = weights.iter().all(String::is_empty);
        let at_one = model.rows.iter().filter(|row| row.flag("at_one") == Some(true)).count();
        let error = student::interval(&model.values("test_error"), 0.0, f64::INFINITY);
        let of_weights = |text: String| if without { "–".into() } else { text };
        vec![
            ("head", model.label.clone()),
            ("first digit, rounded %", share(model, "first_digit_rounded")),
            ("second digit, rounded %", share(model, "second_digit_rounded")),
            ("both, up to a swap %", share(model, "digits_up_to_a_swap")),
            ("train product, rounded %", share(model, "train_product_rounded")),
            ("strict with rounded weights %", share(model, "strict_snapped")),
            ("test error", show(error, |v| format!("{v:.3}"))),
            ("weights (1, 1)", of_weights(format!("{at_one} of {runs}"))),
            ("updates of the last epoch away from (1, 1) %", of_weights(share(model, "off_one"))),
            ("weights at the end", of_weights(format!("{}{more}", weights.join(", ")))),
        ]
    });
    let mut blocks = table(
        &format!("Test accuracy of the product, by rule and by whether a digit is zero{of}"),
        with_not_run(by_rule.collect(), results, section),
    );
    blocks
        .extend(table(&format!("Digits and weights at the end{of}"), with_not_run(digits.collect(), results, section)));
    blocks
}

/// Success by length, under thresholds from the reference; and where all models ended.
pub(super) fn sequences(results: &Results<'_>, section: usize) -> Vec<Block> {
    let (models, of) = (models(results, section), of_section(&results.experiment.sections[section]));
    let limits = models.iter().find(|model| model.is_reference()).map(thresholds).unwrap_or_default();
    let mut blocks = match limits.is_empty() {
        false => success_table(&models, &limits),
        true => vec![Block::Text(
            "There are fewer than two solved reference runs of one version of the numerics, so there are no thresholds; errors are in the figures' data.".into(),
        )],
    };
    let ends = models.iter().map(|model| {
        let share = |metric: &str| show(model.share(metric), percent);
        vec![
            ("model", model.label.clone()),
            ("runs", model.sequences().len().to_string()),
            ("digit, rounded %", share("digit_rounded")),
            ("product of two %", share("two_digits_rounded")),
            ("product of five %", share("five_digits_rounded")),
            (
                "weights",
                Some(model.last_weights(3).join(", ")).filter(|w| w.contains(char::is_numeric)).unwrap_or("–".into()),
            ),
        ]
    });
    blocks.extend(table(&format!("At the end{of}"), with_not_run(ends.collect(), results, section)));
    blocks
}

fn success_table(models: &[Model<'_>], limits: &Limits) -> Vec<Block> {
    let heads: Vec<String> = (1..=nalm_vision::sequential::LENGTHS).map(|length| length.to_string()).collect();
    let line = |name: String, cells: Vec<String>| {
        [("model", name)].into_iter().chain(heads.iter().map(String::as_str).zip(cells)).collect()
    };
    let mut rows = Vec::new();
    for (numerics, thresholds) in limits {
        let of = if limits.len() > 1 { format!(", version {numerics}") } else { String::new() };
        rows.push(line(format!("threshold{of}"), thresholds.values.iter().map(|limit| two(*limit)).collect()));
    }
    let mut left_out = Vec::new();
    for model in models.iter().filter(|model| !model.is_reference()) {
        let judged = by_length(model, limits);
        let (runs, counted) = (model.sequences().len(), judged.first().map_or(0, |cell| cell.n));
        left_out.extend((counted < runs).then(|| format!("{} ({})", model.label, runs - counted)));
        if counted > 0 {
            let cells = judged.iter().map(|cell| format!("{} of {}", cell.solved, cell.n));
            rows.push(line(model.label.clone(), cells.collect()));
        }
    }
    let mut blocks = table("Success by length", rows);
    let several = limits.len() > 1;
    let texts = limits.iter().map(|(numerics, thresholds)| {
        let of = if several { format!("Version {numerics} of the numerics: ") } else { String::new() };
        of + &threshold_text(thresholds)
    });
    let mut text = texts.collect::<Vec<_>>().join(" ");
    if several || !left_out.is_empty() {
        text += " Each run is judged by reference runs of its own version of the numerics.";
    }
    if !left_out.is_empty() {
        text += &format!(" Not judged, because fewer than two reference runs have theirs: {}.", left_out.join(", "));
    }
    blocks.insert(1, Block::Text(text));
    blocks
}

fn threshold_text(thresholds: &Thresholds) -> String {
    let list = |seeds: &[u64]| seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let (n, used, dropped) = (thresholds.used.len(), list(&thresholds.used), list(&thresholds.dropped));
    let text = format!(
        "Thresholds from {n} reference runs (seeds {used}), {} degree{} of freedom: mean + t s / sqrt(n), t the 99 % point of Student's distribution.",
        n - 1,
        if n == 2 { "" } else { "s" }
    );
    if dropped.is_empty() {
        return text;
    }
    let why = "because their best validation error is more than ten times the median or no number";
    format!("{text} Left out, {why}: {dropped}.")
}

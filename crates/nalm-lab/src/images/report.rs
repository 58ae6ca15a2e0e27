//! Pages of experiments with images.

use super::compare::{Comparison, compare};
use super::suite::ImageExperiment;
use super::summary::{self, Model, Thresholds};
use crate::figure;
use crate::page::{self, Block};
use crate::report::{Found, csv, origin, save, texts};
use crate::store::Contents;
use crate::summary::show;
use anyhow::{Context, Result};
use nalm_vision::product;
use nalm_vision::score::{Accuracy, Score};
use std::path::Path;

/// Writes the page of an experiment, its figures and their data into a folder.
pub(crate) fn write(experiment: &ImageExperiment, contents: &Contents, folder: &Path) -> Result<Found> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let models = summary::models(experiment, &contents.images);
    let compared = compare(experiment, &models);
    let mut blocks = vec![Block::Title(experiment.title.clone())];
    let mut figures = Vec::new();
    for figure in figure::images::all(experiment, &models) {
        let file = format!("{}{}", experiment.name, figure.suffix);
        save(folder, &format!("{file}.svg"), &figure.svg)?;
        save(folder, &format!("{file}.csv"), &csv(&figure.data)?)?;
        figures.push(file.clone());
        blocks.push(Block::Figure { file, caption: figure.caption, svg: figure.svg });
    }
    blocks.push(Block::Text(experiment.analysis.clone()));
    blocks.push(Block::Code(experiment.command.clone()));
    let ids: Vec<String> = experiment.runs.iter().map(super::ImageSpec::id).collect();
    let found: Vec<&str> = ids.iter().map(String::as_str).filter(|id| contents.images.contains_key(*id)).collect();
    let rows = found.len();
    let scale = format!("Scale: {}.", experiment.scale);
    blocks.push(Block::Text(format!("{scale} {}", origin(experiment.runs.len(), &found, contents))));
    if !compared.is_empty() {
        blocks.push(Block::Heading("Published and ours".into()));
        blocks.push(comparison_table(&compared));
    }
    if experiment.task == "mnist-sequential" {
        blocks.extend(sequence_tables(&models));
    } else {
        blocks.extend(product_tables(&models));
    }
    let failed: Vec<String> = ids
        .iter()
        .filter_map(|id| contents.images.get(id))
        .filter_map(|row| Some(format!("{} with seed {}: {}", row.image.head, row.image.seed, row.reason.as_ref()?)))
        .collect();
    if !failed.is_empty() {
        blocks.push(Block::Heading("Runs that failed".into()));
        blocks.push(Block::List(failed));
    }
    save(folder, &format!("{}.html", experiment.name), &page::html(&experiment.title, &blocks))?;
    save(folder, &format!("{}.md", experiment.name), &page::markdown(&blocks))?;
    let agree = compared.iter().filter(|c| c.agrees).count();
    Ok(Found { agree, compared: compared.len(), rows, blocks, figures })
}

fn comparison_table(compared: &[Comparison<'_>]) -> Block {
    let rows = compared.iter().map(|c| {
        let verdict = if c.agrees { "yes" } else { "DIFF" };
        let e = c.expectation;
        vec![e.model.clone(), c.published.clone(), c.ours.clone(), verdict.into(), e.source.clone()]
    });
    Block::Table { head: texts(&["model", "published", "ours [95 %]", "agrees?", "source"]), rows: rows.collect() }
}

/// Some of the test pairs, by name.
type Part = (&'static str, fn(&Score) -> Option<Accuracy>);

fn percent(v: f64) -> String {
    format!("{:.1}", 100.0 * v)
}

/// Last rows of the static tasks: accuracies by three rules, on pairs with and without a zero; digits; weights.
fn product_tables(models: &[Model<'_>]) -> Vec<Block> {
    if models.is_empty() {
        return Vec::new();
    }
    let accuracies = |model: &Model<'_>, of: fn(&Score) -> Option<Accuracy>| {
        let rules: [fn(&Accuracy) -> f64; 3] = [|a| a.strict, |a| a.tolerance, |a| a.rounded];
        rules.map(|rule| show(model.last_share(|row| of(&row.test).map(|a| rule(&a))), percent))
    };
    let mut by_rule = Vec::new();
    for model in models {
        let parts: [Part; 3] =
            [("all", |s| Some(s.accuracy[0])), ("with a zero", |s| s.zeros[0]), ("without a zero", |s| s.zeros[1])];
        for (name, of) in parts {
            let [strict, tolerance, rounded] = accuracies(model, of);
            let runs = model.products().len().to_string();
            by_rule.push(vec![model.label.into(), runs, name.into(), strict, tolerance, rounded]);
        }
    }
    let head = ["head", "runs", "test pairs", "strict %", "within 1e-4 %", "rounded %"];
    let mut blocks = vec![
        Block::Heading("Test accuracy of the product, by rule and by whether a digit is zero".into()),
        Block::Table { head: texts(&head), rows: by_rule },
    ];
    let digits = models.iter().map(|model| {
        let share = |of: fn(&product::Measurement) -> f64| show(model.last_share(|row| Some(of(row))), percent);
        let (at_one, runs) = model.at_one();
        let weights: Vec<String> = model
            .products()
            .iter()
            .filter_map(|(_, rows)| rows.last())
            .map(|row| row.weights.iter().map(|w| format!("{w:.3}")).collect::<Vec<_>>().join(" "))
            .take(3)
            .collect();
        let more = if runs > 3 && !weights.is_empty() { ", …" } else { "" };
        vec![
            model.label.into(),
            share(|row| row.test.accuracy[1].rounded),
            share(|row| row.test.accuracy[2].rounded),
            share(|row| row.test.digits_up_to_a_swap),
            share(|row| row.train.accuracy[0].rounded),
            share(|row| row.test.strict_snapped),
            show(model.last(|row| row.test.errors[0]), |v| format!("{v:.3}")),
            if weights.iter().all(String::is_empty) { "–".into() } else { format!("{at_one} of {runs}") },
            if weights.iter().all(String::is_empty) { "–".into() } else { share(|row| row.off_one) },
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
fn sequence_tables(models: &[Model<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    match models.iter().find(|model| model.is_reference()).and_then(summary::thresholds) {
        Some(thresholds) => blocks.extend(success_table(models, &thresholds)),
        None => blocks.push(Block::Text(
            "There are fewer than two solved reference runs, so there are no thresholds; errors are in the figures' data.".into(),
        )),
    }
    let ends = models.iter().map(|model| {
        let last: Vec<_> = model.sequences().iter().filter_map(|(_, rows)| rows.last()).collect();
        let mean = |of: &dyn Fn(&nalm_vision::sequential::Measurement) -> f64| {
            let values: Vec<f64> = last.iter().map(|row| of(row)).collect();
            show(crate::stats::student::share(&values), percent)
        };
        let weights: Vec<String> = last
            .iter()
            .take(3)
            .map(|row| row.weights.iter().map(|w| format!("{w:.3}")).collect::<Vec<_>>().join(" "))
            .collect();
        vec![
            model.label.into(),
            last.len().to_string(),
            mean(&|row| row.test[0].rounded),
            mean(&|row| row.test[1].rounded_last),
            mean(&|row| row.test[4].rounded_last),
            weights.join(", "),
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
        let judged = summary::by_length(model, thresholds);
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

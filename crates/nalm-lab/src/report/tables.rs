//! Tables of results, and of published values beside ours.

use super::page::Block;
use super::texts;
use crate::experiment::Experiment;
use crate::summary::{Cell, Comparison, Results, show};

/// The table of published values beside ours; the column of ranges only where there are such.
pub(super) fn comparisons(experiment: &Experiment, compared: &[Comparison<'_>]) -> Block {
    let several = experiment.sections.len() > 1;
    let placed = compared.iter().any(|c| !c.expectation.place.is_empty());
    let row = |c: &Comparison<'_>| {
        let e = c.expectation;
        let mut name = e.model.map_or("–".into(), |model| experiment.models[model].clone());
        if several && e.model.is_some() {
            name += &format!(" ({})", experiment.sections[e.section].name);
        }
        let verdict = if c.agrees { "yes" } else { "DIFF" };
        let place = placed.then(|| e.place.clone());
        let rest = [c.published.clone(), c.ours.clone(), verdict.into(), e.source.clone()];
        [name].into_iter().chain(place).chain(rest).collect()
    };
    let head: &[&str] = match placed {
        true => &["model", "range", "published", "ours [95 %]", "agrees?", "source"],
        false => &["model", "published", "ours [95 %]", "agrees?", "source"],
    };
    Block::Table { head: texts(head), rows: compared.iter().map(row).collect() }
}

/// All cells of a section, one column a metric.
pub(super) fn results(results: &Results<'_>, section: usize) -> Vec<Block> {
    let cells: Vec<&Cell> = results.cells.iter().filter(|cell| cell.section == section).collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let own = &results.experiment.sections[section];
    let of = if own.name.is_empty() { String::new() } else { format!(": {}", own.name) };
    // A metric that no run has says nothing; those that are shown by default are there anyway.
    let shown = results.metrics.iter().filter(|metric| metric.table);
    let metrics: Vec<_> = shown
        .filter(|metric| {
            metric.name != "simulated_success" || cells.iter().any(|cell| cell.get(metric.name).mean.is_some())
        })
        .collect();
    let row = |c: &&Cell| {
        let numbers = metrics.iter().map(|metric| {
            let text = show(c.get(metric.name), metric.show);
            if metric.name == "success" { format!("{} of {}: {text}", c.solved, c.n) } else { text }
        });
        [c.label.clone(), c.place.clone()].into_iter().chain(numbers).collect()
    };
    let head =
        ["model", "range"].into_iter().chain(metrics.iter().map(|metric| metric.label)).map(String::from).collect();
    vec![Block::Heading(format!("All results{of}")), Block::Table { head, rows: cells.iter().map(row).collect() }]
}

//! Every model against every baseline over common ranges and seeds, section by section.

use super::page::Block;
use super::texts;
use crate::run::Row;
use crate::stats::paired::{self, Judged};
use crate::summary::Results;
use crate::task::Measures;

pub(super) fn tables(results: &Results<'_>) -> Vec<Block> {
    let experiment = results.experiment;
    let mut blocks = Vec::new();
    let sections =
        experiment.sections.iter().enumerate().filter(|(_, s)| s.grid.is_none() && s.measures == Measures::Runs);
    for (section, baseline) in sections.flat_map(|(k, _)| experiment.baselines.iter().map(move |&b| (k, b))) {
        let models = (0..experiment.models.len()).filter(|&model| model != baseline);
        let rows: Vec<Vec<String>> = models.filter_map(|model| row(results, section, model, baseline)).collect();
        if !rows.is_empty() {
            let (name, base) = (&experiment.sections[section].name, &experiment.models[baseline]);
            let of = if name.is_empty() { String::new() } else { format!(": {name}") };
            blocks.push(Block::Heading(format!("Seed by seed against {base}{of}")));
            let (only, first) = (format!("only {base} solves"), format!("{base} first"));
            let head = ["model", "pairs", "only it solves", &only, "McNemar p", "it is first", &first, "sign test p"];
            blocks.push(Block::Table { head: texts(&head), rows });
        }
    }
    blocks
}

fn row(results: &Results<'_>, section: usize, model: usize, baseline: usize) -> Option<Vec<String>> {
    let experiment = results.experiment;
    let groups = |of: usize| experiment.groups.iter().filter(move |g| g.section == section && g.model == of);
    let mut pairs = Vec::new();
    for group in groups(model) {
        let Some(other) = groups(baseline).find(|other| other.place == group.place) else { continue };
        let rows = results.rows[group.runs.clone()].iter().zip(&results.rows[other.runs.clone()]);
        pairs.extend(rows.filter_map(|(a, b)| Some((judged((*a)?), judged((*b)?)))));
    }
    if pairs.is_empty() {
        return None;
    }
    let p = paired::compare(&pairs);
    Some(vec![
        experiment.models[model].clone(),
        p.pairs.to_string(),
        p.only_a.to_string(),
        p.only_b.to_string(),
        format!("{:.2e}", p.mcnemar_p),
        format!("{} of {}", p.a_first, p.both_solved),
        format!("{} of {}", p.b_first, p.both_solved),
        format!("{:.2e}", p.sign_test_p),
    ])
}

fn judged(row: &Row) -> Judged {
    Judged { solved: row.is_solved(), solved_at: row.solved_at() }
}

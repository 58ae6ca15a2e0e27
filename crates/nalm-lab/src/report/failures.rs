//! Runs that failed, by where they ended.

use super::page::Block;
use crate::run::Row;
use crate::summary::Results;
use crate::task::Measures;
use std::collections::BTreeMap;

/// Runs that were carried out and are not solved, by where they ended.
pub(super) fn list(results: &Results<'_>) -> Vec<Block> {
    let numbers = results.experiment.sections.iter().all(|section| section.measures == Measures::Runs);
    block("Seeds that failed", if numbers { unsolved(results) } else { Vec::new() })
}

/// Runs that could not be carried out: they are missing from everything above.
pub(super) fn not_carried_out(results: &Results<'_>) -> Vec<Block> {
    let failed = results.experiment.runs.iter().filter_map(|run| results.contents.failed.get(&run.id()));
    let line = |row: &Row| {
        let reason = row.reason.as_deref().unwrap_or("without a reason");
        format!("{} with seed {}: {reason}", row.spec.module(), row.spec.seed())
    };
    block("Runs that could not be carried out, and are missing", failed.map(line).collect())
}

fn block(title: &str, lines: Vec<String>) -> Vec<Block> {
    if lines.is_empty() { Vec::new() } else { vec![Block::Heading(title.into()), Block::List(lines)] }
}

/// Seeds that are not solved, by section, model, place and end.
fn unsolved(results: &Results<'_>) -> Vec<String> {
    let experiment = results.experiment;
    let mut ends: BTreeMap<(usize, usize, String, String), Vec<u64>> = BTreeMap::new();
    for group in experiment.groups.iter().filter(|group| experiment.is_sampled(group)) {
        let Some(place) = experiment.standing(group) else { continue };
        for row in results.of(group).into_iter().filter(|row| !row.is_solved()) {
            let key = (group.section, group.model, place.clone(), end(row, group.last_layer));
            ends.entry(key).or_default().push(row.spec.seed());
        }
    }
    let several = experiment.sections.len() > 1;
    let line = |((section, model, place, end), seeds): (&(usize, usize, String, String), &Vec<u64>)| {
        let shown: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
        let more = if seeds.len() > 8 { ", …" } else { "" };
        let of = if several { format!(" ({})", experiment.sections[*section].name) } else { String::new() };
        let on = if place.is_empty() || place == "–" { String::new() } else { format!(" on {place}") };
        let s = if seeds.len() == 1 { ("seed", "ends") } else { ("seeds", "end") };
        let name = &experiment.models[*model];
        format!("{name}{on}{of}: {} {} {} {end} ({}{more})", seeds.len(), s.0, s.1, shown.join(", "))
    };
    ends.iter().map(line).collect()
}

/// Where a failed run ended: its last layer's weights to one digit, if they are few.
fn end(row: &Row, last_layer: usize) -> String {
    if let Some(reason) = &row.reason {
        return format!("{} ({reason})", row.status.name());
    }
    let weights = row.weights();
    if !(1..=3).contains(&last_layer) || weights.len() < last_layer {
        return "unsolved".into();
    }
    let own = &weights[weights.len() - last_layer..];
    let shown: Vec<String> = own.iter().map(|w| w.map_or("NaN".into(), |w| format!("{:.1}", w + 0.0))).collect();
    format!("with weights ({})", shown.join(", "))
}

//! Every model against every baseline over common ranges and seeds, section by section.

use super::page::Block;
use super::table;
use crate::run::Row;
use crate::stats::kaplan_meier::Run;
use crate::stats::log_rank;
use crate::stats::paired::{self, Judged, Paired};
use crate::stats::shown::p_value;
use crate::summary::{Results, of_section};
use crate::task::Measures;

pub(super) fn tables(results: &Results<'_>) -> Vec<Block> {
    let experiment = results.experiment;
    let mut blocks = Vec::new();
    let sections =
        experiment.sections.iter().enumerate().filter(|(_, s)| s.grid.is_none() && s.measures == Measures::Runs);
    for (section, baseline) in sections.flat_map(|(k, _)| experiment.baselines.iter().map(move |&b| (k, b))) {
        let base = &experiment.models[baseline];
        let (only, first) = (format!("only {base} solves"), format!("{base} first"));
        let models = (0..experiment.models.len()).filter(|&model| model != baseline);
        let rows = models.filter_map(|model| {
            let p = compare(results, section, model, baseline)?;
            Some(vec![
                ("model", experiment.models[model].clone()),
                ("pairs", p.pairs.to_string()),
                ("only it solves", p.only_a.to_string()),
                (&only, p.only_b.to_string()),
                ("McNemar p", p_value(p.mcnemar_p)),
                ("it is first", format!("{} of {}", p.a_first, p.both_solved)),
                (&first, format!("{} of {}", p.b_first, p.both_solved)),
                ("sign test p", p_value(p.sign_test_p)),
                ("log-rank p", log_rank(results, section, model, baseline).map_or("–".into(), p_value)),
            ])
        });
        let of = of_section(&experiment.sections[section]);
        blocks.extend(table(&format!("Seed by seed against {base}{of}"), rows.collect()));
    }
    blocks
}

fn compare(results: &Results<'_>, section: usize, model: usize, baseline: usize) -> Option<Paired> {
    let experiment = results.experiment;
    let mut pairs = Vec::new();
    for group in experiment.groups.iter().filter(|g| g.section == section && g.model == model) {
        let Some(other) = results.group(section, baseline, &group.place) else { continue };
        let rows = results.rows[group.runs.clone()].iter().zip(&results.rows[other.runs.clone()]);
        pairs.extend(rows.filter_map(|(a, b)| Some((judged((*a)?), judged((*b)?)))));
    }
    (!pairs.is_empty()).then(|| paired::compare(&pairs))
}

/// The log-rank test over all ranges, each by itself a stratum: who is solved sooner, with those that never are.
fn log_rank(results: &Results<'_>, section: usize, model: usize, baseline: usize) -> Option<f64> {
    let run = |row: &Row| {
        let watched = row.spec.whole("steps")? as f64;
        Some(Run { at: row.solved_at().unwrap_or(watched), solved: row.solved_at().is_some() })
    };
    let runs = |group| results.of(group).into_iter().filter_map(run).collect::<Vec<_>>();
    let groups = results.experiment.groups.iter().filter(|g| g.section == section && g.model == model);
    let strata: Vec<(Vec<Run>, Vec<Run>)> =
        groups.filter_map(|group| Some((runs(group), runs(results.group(section, baseline, &group.place)?)))).collect();
    Some(log_rank::test(strata.iter().map(|(a, b)| (a.as_slice(), b.as_slice())))?.p)
}

fn judged(row: &Row) -> Judged {
    Judged { solved: row.is_solved(), solved_at: row.solved_at() }
}

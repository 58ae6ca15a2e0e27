//! Every model against every baseline over common ranges and seeds, section by section.

use super::page::Block;
use super::table;
use crate::run::{Row, Spec};
use crate::stats::kaplan_meier::Run;
use crate::stats::log_rank;
use crate::stats::shown::p_value;
use crate::summary::{Results, of_section};
use crate::task::Measures;

pub(super) fn tables(results: &Results<'_>) -> Vec<Block> {
    let experiment = results.experiment;
    let mut blocks = Vec::new();
    let sections =
        experiment.sections.iter().enumerate().filter(|(_, s)| s.grid.is_none() && s.measures == Measures::Runs);
    for (k, section) in sections {
        // Over several values of a setting, a model without it has the same runs at each of them, which must count once.
        let places: Vec<Option<&str>> = match section.axis {
            Some(_) => section.places.iter().map(|place| Some(place.as_str())).collect(),
            None => vec![None],
        };
        for &baseline in &experiment.baselines {
            let base = &experiment.models[baseline];
            let (only, first) = (format!("only {base} solves"), format!("{base} first"));
            let mut seen: Vec<[&[Spec]; 2]> = Vec::new();
            let mut rows = Vec::new();
            let models = (0..experiment.models.len()).filter(|&model| model != baseline);
            for (model, &place) in models.flat_map(|model| places.iter().map(move |place| (model, place))) {
                let runs = |model| results.groups(k, model, place).next().map(|g| &experiment.runs[g.runs.clone()]);
                if let (Some(own), Some(theirs), Some(_)) = (runs(model), runs(baseline), place) {
                    if seen.contains(&[own, theirs]) {
                        continue;
                    }
                    seen.push([own, theirs]);
                }
                let Some(p) = results.paired(k, model, baseline, place) else { continue };
                let at = place.map(|place| (section.varied.as_str(), place.to_string()));
                let numbers = [
                    ("pairs", p.pairs.to_string()),
                    ("only it solves", p.only_a.to_string()),
                    (&only, p.only_b.to_string()),
                    ("McNemar p", p_value(p.mcnemar_p)),
                    ("it is first", format!("{} of {}", p.a_first, p.both_solved)),
                    (&first, format!("{} of {}", p.b_first, p.both_solved)),
                    ("sign test p", p_value(p.sign_test_p)),
                    ("log-rank p", log_rank(results, k, model, baseline, place).map_or("–".into(), p_value)),
                ];
                let name = ("model", experiment.models[model].clone());
                rows.push([name].into_iter().chain(at).chain(numbers).collect());
            }
            blocks.extend(table(&format!("Seed by seed against {base}{}", of_section(section)), rows));
        }
    }
    blocks
}

/// The log-rank test, each range by itself a stratum: who is solved sooner, with those that never are.
fn log_rank(results: &Results<'_>, section: usize, model: usize, baseline: usize, place: Option<&str>) -> Option<f64> {
    let run = |row: &Row| {
        let watched = row.spec.whole("steps")? as f64;
        Some(Run { at: row.solved_at().unwrap_or(watched), solved: row.solved_at().is_some() })
    };
    let runs = |group| results.of(group).into_iter().filter_map(run).collect::<Vec<_>>();
    let groups = results.groups(section, model, place);
    let strata: Vec<(Vec<Run>, Vec<Run>)> =
        groups.filter_map(|group| Some((runs(group), runs(results.group(section, baseline, &group.place)?)))).collect();
    Some(log_rank::test(strata.iter().map(|(a, b)| (a.as_slice(), b.as_slice())))?.p)
}

//! Every model against every baseline over common seeds, section by section, range by range and over all ranges together.

use super::page::Block;
use super::table;
use crate::stats::kaplan_meier::Run;
use crate::stats::shown::p_value;
use crate::stats::{holm, log_rank};
use crate::summary::{Against, Results, of_section, survival};
use crate::task::Measures;

/// What the last row of each model counts.
const TOGETHER: &str = "All ranges together: each seed that all ranges have counts once, for the unit that does better at more of them; the p-value is that of a sign test.";

pub(super) fn tables(results: &Results<'_>) -> Vec<Block> {
    let experiment = results.experiment;
    let mut blocks = Vec::new();
    let sections =
        experiment.sections.iter().enumerate().filter(|(_, s)| s.grid.is_none() && s.measures == Measures::Runs);
    for (k, section) in sections {
        for &baseline in &experiment.baselines {
            let base = &experiment.models[baseline];
            let (only, first) = (format!("only {base} solves"), format!("{base} first"));
            let mut rows = Vec::new();
            let models = (0..experiment.models.len()).filter(|&model| model != baseline);
            let found: Vec<(usize, Vec<Against<'_>>)> =
                models.map(|model| (model, results.against(k, model, baseline))).collect();
            // One place tells no rows apart, and there is nothing to adjust.
            let mut places = found.iter().flat_map(|(_, all)| all).map(|at| at.place);
            let first_place = places.next();
            let several = places.any(|place| Some(place) != first_place);
            let adjusted = if several { ", Holm" } else { "" };
            let (sign_p, ranked_p) = (format!("sign test p{adjusted}"), format!("log-rank p{adjusted}"));
            for (model, all) in &found {
                // Over all ranges together, runs of a seed need not be independent, as the log-rank test takes them to be.
                let ranked =
                    all.iter().map(|at| at.place.and_then(|place| log_rank(results, k, *model, baseline, place)));
                let ranked = by_place(all, ranked.collect());
                for (at, ranked) in all.iter().zip(ranked) {
                    let (p, place) = (&at.found, several.then(|| (section.varied.as_str(), at.at.clone())));
                    let holm = several.then(|| ("after Holm", at.holm_p.map_or("–".into(), p_value)));
                    let shown = |p: Option<f64>| p.map_or("–".into(), p_value);
                    // Over all ranges together there is one test, and nothing to adjust.
                    let sign = at.sign_holm_p.or((at.place.is_none() && p.both_solved > 0).then_some(p.sign_test_p));
                    let tested = [
                        ("seeds", p.pairs.to_string()),
                        ("only it solves", p.only_a.to_string()),
                        (&only, p.only_b.to_string()),
                        ("McNemar p", p_value(p.mcnemar_p)),
                    ];
                    let timed = [
                        ("it is first", format!("{} of {}", p.a_first, p.both_solved)),
                        (&first, format!("{} of {}", p.b_first, p.both_solved)),
                        (&sign_p, shown(sign)),
                        (&ranked_p, shown(ranked)),
                    ];
                    let name = ("model", experiment.models[*model].clone());
                    rows.push([name].into_iter().chain(place).chain(tested).chain(holm).chain(timed).collect());
                }
            }
            let together = found.iter().flat_map(|(_, all)| all).any(|at| at.place.is_none());
            let mut own = table(&format!("Seed by seed against {base}{}", of_section(section)), rows);
            if together {
                own.insert(1, Block::Text(TOGETHER.into()));
            }
            blocks.extend(own);
        }
    }
    blocks
}

/// P-values adjusted by Holm for how many places there are; that of all places together is another question's.
fn by_place(all: &[Against<'_>], p: Vec<Option<f64>>) -> Vec<Option<f64>> {
    let counts = |k: &usize| all[*k].place.is_some() && p[*k].is_some();
    let places: Vec<usize> = (0..p.len()).filter(counts).collect();
    let adjusted = holm::adjust(&places.iter().filter_map(|&k| p[k]).collect::<Vec<_>>());
    let mut shown = p;
    places.into_iter().zip(adjusted).for_each(|(k, adjusted)| shown[k] = Some(adjusted));
    shown
}

/// The log-rank test over common seeds: who is solved sooner, with those that never are.
fn log_rank(results: &Results<'_>, section: usize, model: usize, baseline: usize, place: &str) -> Option<f64> {
    let (group, other) = results.group(section, model, place).zip(results.group(section, baseline, place))?;
    let twins = results.twins(group, other);
    let (own, others): (Vec<Run>, Vec<Run>) =
        twins.filter_map(|(a, b)| survival::of_row(a).zip(survival::of_row(b))).unzip();
    Some(log_rank::test([(own.as_slice(), others.as_slice())])?.p)
}

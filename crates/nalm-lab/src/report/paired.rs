//! Every model against every baseline over common seeds, section by section, range by range and over all ranges together.

use super::page::Block;
use super::table;
use crate::stats::kaplan_meier::Run;
use crate::stats::log_rank;
use crate::stats::shown::p_value;
use crate::summary::{Against, Results, of_section, survival};
use crate::task::Measures;

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
            let found =
                models.flat_map(|model| results.against(k, model, baseline).into_iter().map(move |at| (model, at)));
            let found: Vec<(usize, Against<'_>)> = found.collect();
            // One place tells no rows apart, and there is nothing to adjust.
            let several = found.iter().any(|(_, at)| at.place != found[0].1.place);
            for (model, at) in &found {
                let (p, place) = (&at.found, several.then(|| (section.varied.as_str(), at.at.clone())));
                let holm = several.then(|| ("after Holm", at.holm_p.map_or("–".into(), p_value)));
                let tested = [
                    ("pairs", p.pairs.to_string()),
                    ("only it solves", p.only_a.to_string()),
                    (&only, p.only_b.to_string()),
                    ("McNemar p", p_value(p.mcnemar_p)),
                ];
                let timed = [
                    ("it is first", format!("{} of {}", p.a_first, p.both_solved)),
                    (&first, format!("{} of {}", p.b_first, p.both_solved)),
                    ("sign test p", p_value(p.sign_test_p)),
                    ("log-rank p", log_rank(results, k, *model, baseline, at.place).map_or("–".into(), p_value)),
                ];
                let name = ("model", experiment.models[*model].clone());
                rows.push([name].into_iter().chain(place).chain(tested).chain(holm).chain(timed).collect());
            }
            blocks.extend(table(&format!("Seed by seed against {base}{}", of_section(section)), rows));
        }
    }
    blocks
}

/// The log-rank test over common seeds, each range by itself a stratum: who is solved sooner, with those that never are.
fn log_rank(results: &Results<'_>, section: usize, model: usize, baseline: usize, place: Option<&str>) -> Option<f64> {
    let groups = results.groups(section, model, place);
    let strata: Vec<(Vec<Run>, Vec<Run>)> = groups
        .filter_map(|group| {
            let twins = results.twins(group, results.group(section, baseline, &group.place)?);
            Some(twins.filter_map(|(a, b)| survival::of_row(a).zip(survival::of_row(b))).unzip())
        })
        .collect();
    Some(log_rank::test(strata.iter().map(|(a, b)| (a.as_slice(), b.as_slice())))?.p)
}

//! Every model against every baseline over common ranges and seeds, section by section.

use super::page::Block;
use super::table;
use crate::stats::paired::p_value;
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
            let p = results.paired(section, model, baseline)?;
            Some(vec![
                ("model", experiment.models[model].clone()),
                ("pairs", p.pairs.to_string()),
                ("only it solves", p.only_a.to_string()),
                (&only, p.only_b.to_string()),
                ("McNemar p", p_value(p.mcnemar_p)),
                ("it is first", format!("{} of {}", p.a_first, p.both_solved)),
                (&first, format!("{} of {}", p.b_first, p.both_solved)),
                ("sign test p", p_value(p.sign_test_p)),
            ])
        });
        let of = of_section(&experiment.sections[section]);
        blocks.extend(table(&format!("Seed by seed against {base}{of}"), rows.collect()));
    }
    blocks
}

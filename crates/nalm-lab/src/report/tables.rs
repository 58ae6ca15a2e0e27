//! Tables of results, and of published values beside ours.

use super::origin::thousands;
use super::page::Block;
use super::table;
use crate::experiment::{Experiment, Group};
use crate::summary::{Cell, Comparison, Metric, Results, Verdict, of_section, show};
use crate::task::LOG_EVERY;

/// The table of published values beside ours; the column of ranges only where there are such.
pub(super) fn comparisons(experiment: &Experiment, compared: &[Comparison<'_>]) -> Vec<Block> {
    let several = experiment.sections.len() > 1;
    let placed = compared.iter().any(|c| !c.expectation.place.is_empty());
    let varied = |c: &Comparison<'_>| experiment.sections.get(c.expectation.section).map(|s| s.varied.as_str());
    let mut heads: Vec<&str> = compared.iter().filter_map(varied).collect();
    heads.dedup();
    let head = if let [head] = heads[..] { head } else { "range" };
    let row = |c: &Comparison<'_>| {
        let e = c.expectation;
        let mut name = e.model.map_or("–".into(), |model| experiment.models[model].clone());
        if several && e.model.is_some() {
            name += &format!(" ({})", experiment.sections[e.section].name);
        }
        let place = placed.then(|| (head, if e.pooled { "all together".into() } else { e.at.clone() }));
        let rest = [
            ("published", c.published.clone()),
            ("ours [95 %]", c.ours.clone()),
            ("difference", if c.difference.is_empty() { "–".into() } else { c.difference.clone() }),
            ("verdict", with_reason(c)),
            ("source", e.source.clone()),
        ];
        [("model", name)].into_iter().chain(place).chain(rest).collect()
    };
    table("Published and ours", compared.iter().map(row).collect())
}

/// A verdict, and why ours differs where that is known.
fn with_reason(c: &Comparison<'_>) -> String {
    match &c.expectation.known {
        Some(reason) if c.verdict == Verdict::Differs => format!("{}: {reason}", c.verdict.name()),
        _ => c.verdict.name().into(),
    }
}

/// All cells of a section, one column a metric.
pub(super) fn results(results: &Results<'_>, section: usize) -> Vec<Block> {
    let cells = || results.cells.iter().filter(|cell| cell.section == section);
    // A metric that no run has says nothing; those that are shown by default are there anyway.
    let known = |metric: &&Metric| {
        metric.name != "simulated_success" || cells().any(|cell| cell.get(metric.name).mean.is_some())
    };
    let metrics: Vec<&Metric> = results.metrics.iter().filter(|metric| metric.table).filter(known).collect();
    let experiment = results.experiment;
    let varied = &experiment.sections[section].varied;
    let row = |group: &Group| {
        let cell = results.cell(section, group.model, &group.place);
        // What was not run at all is one line.
        let never = !cells().any(|cell| cell.model == group.model);
        if never
            && experiment.groups.iter().find(|g| g.section == section && g.model == group.model)?.place != group.place
        {
            return None;
        }
        let place = if never { "all".into() } else { experiment.standing(group)? };
        let numbers = metrics.iter().enumerate().map(|(k, metric)| {
            let text = match cell {
                Some(c) if metric.name == "success" => {
                    format!("{} of {}: {}", c.solved, c.n, show(c.get(metric.name), metric.show))
                }
                Some(c) => show(c.get(metric.name), metric.show),
                None if k == 0 => "not run".into(),
                None => "–".into(),
            };
            (metric.label, text)
        });
        let head = [("model", experiment.models[group.model].clone()), (varied.as_str(), place)];
        Some(head.into_iter().chain(numbers).collect())
    };
    let of = of_section(&experiment.sections[section]);
    let groups = experiment.groups.iter().filter(|group| group.section == section && experiment.is_sampled(group));
    let rows = if cells().next().is_none() { Vec::new() } else { groups.clone().filter_map(row).collect() };
    let mut blocks = table(&format!("All results{of}"), rows);
    // Where all seeds are solved at the same logged step, nobody should take the interval for exact knowledge.
    let alike = |cell: &Cell| {
        let at = cell.get("solved_at");
        cell.solved > 1 && at.lower.is_some() && at.lower == at.upper
    };
    let logged = |group: &Group| experiment.runs[group.runs.clone()].iter().all(|run| run.get("schedule").is_none());
    if cells().any(alike) && groups.clone().all(logged) {
        let note = format!(
            "Errors are logged every {} steps, so that a run is solved up to so many steps before it is seen to be; where all seeds are seen at the same step, there is no interval.",
            thousands(LOG_EVERY)
        );
        blocks.insert(1, Block::Text(note));
    }
    blocks
}

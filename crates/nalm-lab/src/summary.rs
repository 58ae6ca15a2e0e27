//! Many rows into a few numbers with intervals.

use crate::row::Row;
use crate::stats::{Estimate, beta, gamma, wilson};
use crate::suite::{Claim, Expectation, Experiment};
use std::collections::BTreeMap;

/// One model on one range.
#[derive(Debug)]
pub(crate) struct Cell {
    /// The model's place in the experiment.
    pub(crate) model: usize,
    pub(crate) label: String,
    pub(crate) range: String,
    pub(crate) n: usize,
    pub(crate) solved: usize,
    pub(crate) success: Estimate,
    pub(crate) solved_at: Estimate,
    pub(crate) sparsity: Estimate,
}

/// A published statement beside what we found.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    pub(crate) expectation: &'a Expectation,
    pub(crate) ours: Estimate,
    pub(crate) n: usize,
    pub(crate) agrees: bool,
}

/// Every model on every range, in the order of the experiment; cells without a row are left out.
pub(crate) fn cells(experiment: &Experiment, rows: &BTreeMap<String, Row>) -> Vec<Cell> {
    let mut cells = Vec::new();
    // Identities are hashes; computed once each.
    let found: Vec<Option<&Row>> = experiment.runs.iter().map(|run| rows.get(&run.id())).collect();
    for (model, label) in experiment.models.iter().enumerate() {
        for range in &experiment.ranges {
            let own =
                (0..found.len()).filter(|&k| experiment.model_of[k] == model && experiment.runs[k].range == *range);
            let found: Vec<&Row> = own.filter_map(|k| found[k]).collect();
            if found.is_empty() {
                continue;
            }
            let solved: Vec<&&Row> = found.iter().filter(|row| row.is_solved()).collect();
            let steps: Vec<f64> = solved.iter().filter_map(|row| row.solved_step()).map(|step| step as f64).collect();
            let errors: Vec<f64> = solved.iter().filter_map(|row| row.sparsity_error).collect();
            cells.push(Cell {
                model,
                label: label.clone(),
                range: range.clone(),
                n: found.len(),
                solved: solved.len(),
                success: wilson::interval(solved.len(), found.len()),
                solved_at: gamma::interval(&steps),
                sparsity: beta::corrected(&errors),
            });
        }
    }
    cells
}

/// The published statements about cells that have rows. A rate agrees if it lies in our interval, "below" if our rate does.
pub(crate) fn comparisons<'a>(experiment: &'a Experiment, cells: &[Cell]) -> Vec<Comparison<'a>> {
    let find = |e: &Expectation| cells.iter().find(|cell| cell.model == e.model && cell.range == e.range);
    experiment
        .expectations
        .iter()
        .filter_map(|expectation| {
            let cell = find(expectation)?;
            let (Some(mean), Some(lower), Some(upper)) = (cell.success.mean, cell.success.lower, cell.success.upper)
            else {
                return None;
            };
            let agrees = match expectation.claim {
                Claim::Rate(rate) => lower <= rate && rate <= upper,
                Claim::Below(bound) => mean < bound,
            };
            Some(Comparison { expectation, ours: cell.success, n: cell.n, agrees })
        })
        .collect()
}

//! Many rows into a few numbers with intervals, and published statements beside them.

use crate::figure::noise_bound;
use crate::row::Row;
use crate::stats::{Estimate, beta, gamma, student, wilson};
use crate::suite::{Claim, Expectation, Experiment};
use std::collections::BTreeMap;

/// The flat threshold, below which Table 1 counts validation errors, too.
const FLAT: f64 = 1e-5;

/// The rows of an experiment, in the order of its runs. Identities are hashes, so they are looked up once.
pub(crate) struct Results<'a> {
    pub(crate) rows: Vec<Option<&'a Row>>,
    pub(crate) cells: Vec<Cell>,
}

/// One model on one range.
#[derive(Debug)]
pub(crate) struct Cell {
    /// Places in the experiment.
    pub(crate) section: usize,
    pub(crate) model: usize,
    pub(crate) label: String,
    pub(crate) range: String,
    pub(crate) n: usize,
    pub(crate) solved: usize,
    pub(crate) success: Estimate,
    pub(crate) solved_at: Estimate,
    pub(crate) sparsity: Estimate,
    /// The share of runs with a validation error below the flat threshold.
    pub(crate) validation_success: Estimate,
    /// Over all runs, with Student's intervals, as in Table 1.
    pub(crate) validation_error: Estimate,
    pub(crate) test_error: Estimate,
    /// Over solved runs.
    pub(crate) best_step: Estimate,
    /// Success under the simulated threshold, where it is not the first rule.
    pub(crate) simulated: Option<Estimate>,
}

/// A published statement beside what we found.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    pub(crate) expectation: &'a Expectation,
    pub(crate) published: String,
    pub(crate) ours: String,
    pub(crate) agrees: bool,
}

impl<'a> Results<'a> {
    /// Looks up the rows of an experiment. Groups without a row have no cell; nor have grids of starting weights, whose runs are no
    /// sample of anything.
    pub(crate) fn new(experiment: &Experiment, rows: &'a BTreeMap<String, Row>) -> Self {
        let rows: Vec<Option<&Row>> = experiment.runs.iter().map(|run| rows.get(&run.id())).collect();
        let sampled = |section: usize| experiment.sections[section].grid.is_none();
        let mut cells = Vec::new();
        for group in experiment.groups.iter().filter(|group| sampled(group.section)) {
            let found: Vec<&Row> = rows[group.runs.clone()].iter().copied().flatten().collect();
            if !found.is_empty() {
                let label = experiment.models[group.model].clone();
                cells.push(Cell::new(group.section, group.model, label, group.range.clone(), &found));
            }
        }
        Self { rows, cells }
    }

    fn cell(&self, section: usize, model: usize, range: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.section == section && c.model == model && c.range == range)
    }

    /// The published statements that can be held against these rows.
    pub(crate) fn comparisons<'e>(&self, experiment: &'e Experiment) -> Vec<Comparison<'e>> {
        experiment.expectations.iter().filter_map(|e| self.compare(experiment, e)).collect()
    }

    fn compare<'e>(&self, experiment: &'e Experiment, e: &'e Expectation) -> Option<Comparison<'e>> {
        let done = |published: String, ours: String, agrees| Comparison { expectation: e, published, ours, agrees };
        if let Claim::NoiseBound(published) = e.claim {
            let ours = noise_bound::bound(&e.range)?;
            return Some(done(format!("{published}"), format!("{ours:.4}"), rounds_to(ours, published)));
        }
        let cell = self.cell(e.section, e.model?, &e.range)?;
        let other = |model: usize| self.cell(e.section, model, &e.range);
        let rate = |c: &Cell| format!("{} (n = {})", show(c.success, |v| format!("{v:.2}")), c.n);
        Some(match e.claim {
            Claim::Success(p) => done(format!("{p}"), rate(cell), contains(cell.success, p)),
            Claim::Below(p) => done(format!("below {p}"), rate(cell), cell.success.mean? < p),
            Claim::Beats(model) => {
                let better = cell.success.mean? > other(model)?.success.mean?;
                let ours = format!("{} against {}", rate(cell), rate(other(model)?));
                done(format!("above {}", experiment.models[model]), ours, better)
            }
            Claim::Ties(model) => {
                let (a, b) = (cell.success, other(model)?.success);
                let overlap = a.lower? <= b.upper? && b.lower? <= a.upper?;
                let ours = format!("{} against {}", rate(cell), rate(other(model)?));
                done(format!("equal to {}", experiment.models[model]), ours, overlap)
            }
            Claim::ValidationSuccess(p) => {
                let ours = format!("{} inside", show(cell.validation_success, |v| format!("{v:.2}")));
                done(format!("{p} inside"), ours, contains(cell.validation_success, p))
            }
            Claim::ValidationError(p) => mean(done, "error inside", p, cell.validation_error)?,
            Claim::TestError(p) => mean(done, "error outside", p, cell.test_error)?,
            Claim::BestStep(p) => mean(done, "best step", p, cell.best_step)?,
            Claim::NoiseBound(_) => return None,
        })
    }
}

/// A published mean agrees if the two intervals overlap, up to the rounding of two printed digits.
fn mean<'e>(
    done: impl Fn(String, String, bool) -> Comparison<'e>,
    what: &str,
    [published, half]: [f64; 2],
    ours: Estimate,
) -> Option<Comparison<'e>> {
    let (mean, lower, upper) = (ours.mean?, ours.lower.or(ours.mean)?, ours.upper.or(ours.mean)?);
    let slack = half + half_unit(published) + half_unit(half);
    let agrees = lower - slack <= published && published <= upper + slack;
    let shown = format!("{what} {mean:.1e} ± {:.1e}", upper - mean);
    Some(done(format!("{what} {published:.1e} ± {half:.1e}"), shown, agrees))
}

/// Half a unit of the second significant digit.
fn half_unit(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { 0.5 * 10f64.powf(x.abs().log10().floor() - 1.0) }
}

/// Whether `x` is `published` to the four digits that were printed at most.
fn rounds_to(x: f64, published: f64) -> bool {
    (x - published).abs() <= 0.5 * 10f64.powf(published.abs().log10().floor() - 2.0)
}

fn contains(e: Estimate, p: f64) -> bool {
    e.lower.is_some_and(|lower| lower <= p) && e.upper.is_some_and(|upper| p <= upper)
}

/// An estimate as text.
pub(crate) fn show(e: Estimate, f: impl Fn(f64) -> String) -> String {
    match (e.mean, e.lower, e.upper) {
        (Some(mean), Some(lower), Some(upper)) => format!("{} [{}, {}]", f(mean), f(lower), f(upper)),
        (Some(mean), ..) => f(mean),
        _ => "–".into(),
    }
}

impl Cell {
    fn new(section: usize, model: usize, label: String, range: String, found: &[&Row]) -> Self {
        let n = found.len();
        let solved: Vec<&&Row> = found.iter().filter(|row| row.is_solved()).collect();
        let steps: Vec<f64> = solved.iter().filter_map(|row| row.solved_step()).map(|step| step as f64).collect();
        let errors: Vec<f64> = solved.iter().filter_map(|row| row.sparsity_error).collect();
        let best: Vec<f64> = solved.iter().map(|row| row.best_step as f64).collect();
        let all = |f: fn(&Row) -> Option<f64>| found.iter().filter_map(|row| f(row)).collect::<Vec<f64>>();
        let inside = found.iter().filter(|row| row.validation_error.is_some_and(|e| e < FLAT)).count();
        let simulated = found.iter().filter(|row| row.solved.simulated == Some(true)).count();
        Self {
            section,
            model,
            label,
            range,
            n,
            solved: solved.len(),
            success: wilson::interval(solved.len(), n),
            solved_at: gamma::interval(&steps),
            sparsity: beta::corrected(&errors),
            validation_success: wilson::interval(inside, n),
            validation_error: student::positive(&all(|row| row.validation_error)),
            test_error: student::positive(&all(|row| row.test_error)),
            best_step: student::interval(&best),
            simulated: found[0].solved.flat.map(|_| wilson::interval(simulated, n)),
        }
    }
}

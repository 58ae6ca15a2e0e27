//! Rows of runs with images into numbers with intervals.

use super::row::ImageRow;
use super::suite::{Claim, Expectation, ImageExperiment};
use crate::stats::{Estimate, beta, gamma, student, wilson};
use crate::summary::show;
use nalm_vision::score::Accuracy;
use nalm_vision::{History, product, sequential};
use std::collections::BTreeMap;

/// The rows of a model, by seed.
pub(crate) struct Model<'a> {
    pub(crate) label: &'a str,
    /// Its place in the file.
    pub(crate) index: usize,
    pub(crate) rows: Vec<&'a ImageRow>,
}

/// The models of an experiment that have rows.
pub(crate) fn models<'a>(experiment: &'a ImageExperiment, rows: &'a BTreeMap<String, ImageRow>) -> Vec<Model<'a>> {
    let of = |group: &'a super::suite::Group| {
        let found = experiment.runs[group.runs.clone()].iter().filter_map(|run| rows.get(&run.id()));
        Model { label: &group.label, index: group.model, rows: found.filter(|row| row.history.is_some()).collect() }
    };
    experiment.groups.iter().map(of).filter(|model| !model.rows.is_empty()).collect()
}

impl<'a> Model<'a> {
    /// The measurements of each run of a static task, with its seed.
    pub(crate) fn products(&self) -> Vec<(u64, &'a [product::Row])> {
        let of = |row: &&'a ImageRow| match &row.history {
            Some(History::Product(rows)) if !rows.is_empty() => Some((row.image.seed, rows.as_slice())),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// The measurements of each run of the sequential task, with its seed.
    pub(crate) fn sequences(&self) -> Vec<(u64, &'a [sequential::Row])> {
        let of = |row: &&'a ImageRow| match &row.history {
            Some(History::Sequence(rows)) if !rows.is_empty() => Some((row.image.seed, rows.as_slice())),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// The mean of a number over the last rows of all runs, with Student's interval.
    pub(crate) fn last(&self, value: impl Fn(&product::Row) -> Option<f64>) -> Estimate {
        let values: Vec<f64> = self.products().iter().filter_map(|(_, rows)| rows.last().and_then(&value)).collect();
        student::interval(&values)
    }

    /// How many runs ended with weights of exactly 1, of how many.
    pub(crate) fn at_one(&self) -> (usize, usize) {
        let ends = self.products();
        let at_one = |rows: &[product::Row]| rows.last().is_some_and(|row| row.weights.iter().all(|w| *w == 1.0));
        (ends.iter().filter(|(_, rows)| at_one(rows)).count(), ends.len())
    }
}

/// The rule of a task: strict for isolated digits, rounded otherwise.
pub(crate) fn rule(task: &str) -> (&'static str, fn(&Accuracy) -> f64) {
    match task {
        "mnist-isolated" => ("strict", |accuracy| accuracy.strict),
        _ => ("rounded", |accuracy| accuracy.rounded),
    }
}

/// A published statement beside what we found.
pub(crate) struct Comparison<'a> {
    pub(crate) expectation: &'a Expectation,
    pub(crate) published: String,
    pub(crate) ours: String,
    pub(crate) agrees: bool,
}

/// The published statements that can be held against these rows.
pub(crate) fn compare<'a>(experiment: &'a ImageExperiment, models: &[Model<'_>]) -> Vec<Comparison<'a>> {
    let find = |label: &str| models.iter().find(|model| model.label == label);
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let (name, rule) = rule(&experiment.task);
    let one = |e: &'a Expectation| {
        let model = find(&e.model)?;
        let n = model.rows.len();
        let done = |published, ours, agrees| Some(Comparison { expectation: e, published, ours, agrees });
        let mean = |p: f64, what: &str, estimate: Estimate| {
            let agrees = estimate.lower? <= p && p <= estimate.upper?;
            done(format!("{what} {}", percent(p)), format!("{} (n = {n})", show(estimate, percent)), agrees)
        };
        match &e.claim {
            Claim::Strict(p) => mean(*p, "strict", model.last(|row| Some(row.test.accuracy[0].strict))),
            Claim::Rounded(p) => mean(*p, "rounded", model.last(|row| Some(row.test.accuracy[0].rounded))),
            Claim::AtOne(p) => {
                let (found, all) = model.at_one();
                let share = wilson::interval(found, all);
                let agrees = share.lower? <= *p && *p <= share.upper?;
                done(format!("weights (1, 1) in {}", percent(*p)), format!("{found} of {all}"), agrees)
            }
            Claim::Beats(other) => {
                let of = |model: &Model<'_>| model.last(|row| Some(rule(&row.test.accuracy[0])));
                let (a, b) = (of(model), of(find(other)?));
                let ours = format!("{} against {} ({name}, n = {n})", show(a, percent), show(b, percent));
                done(format!("above {other}"), ours, a.mean? > b.mean?)
            }
        }
    };
    experiment.expectations.iter().filter_map(one).collect()
}

/// A model on sequences of one length.
pub(crate) struct ByLength {
    pub(crate) solved: usize,
    pub(crate) n: usize,
    pub(crate) success: Estimate,
    pub(crate) solved_at: Estimate,
    pub(crate) sparsity: Estimate,
}

/// Thresholds of the sequential task, by length from one on.
pub(crate) struct Thresholds {
    pub(crate) values: Vec<f64>,
    /// Reference seeds that count, and those that failed to solve.
    pub(crate) used: Vec<u64>,
    pub(crate) dropped: Vec<u64>,
}

/// The row with the least validation error.
fn best(rows: &[sequential::Row]) -> Option<&sequential::Row> {
    let error = |row: &&sequential::Row| row.valid.error.unwrap_or(f64::INFINITY);
    rows.iter().min_by(|a, b| error(a).total_cmp(&error(b)))
}

/// From the reference, which multiplies by construction: the upper end of a one-sided 99 % Student interval of its test error at the best
/// validation row. A reference seed counts unless its best validation error is more than ten times the median; the published analysis
/// takes a fixed list of seven seeds and eight degrees of freedom instead.
pub(crate) fn thresholds(reference: &Model<'_>) -> Option<Thresholds> {
    let runs = reference.sequences();
    let ends: Vec<(u64, &sequential::Row)> = runs.iter().filter_map(|(s, rows)| Some((*s, best(rows)?))).collect();
    let error = |row: &sequential::Row| row.valid.error.unwrap_or(f64::INFINITY);
    let mut errors: Vec<f64> = ends.iter().map(|(_, row)| error(row)).collect();
    errors.sort_by(f64::total_cmp);
    let median = *errors.get(errors.len() / 2)?;
    let (used, dropped): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(_, row)| error(row) <= 10.0 * median);
    let n = used.len();
    if n < 2 {
        return None;
    }
    let t = student::quantile(0.99, (n - 1) as f64);
    let value = |length: usize| {
        let errors: Vec<f64> = used.iter().filter_map(|(_, row)| row.test[length].error).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let square = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (errors.len() as f64 - 1.0);
        mean + t * (square / errors.len() as f64).sqrt()
    };
    let seeds = |list: Vec<(u64, &sequential::Row)>| list.into_iter().map(|(seed, _)| seed).collect();
    let values = (0..sequential::LENGTHS).map(value).collect();
    Some(Thresholds { values, used: seeds(used), dropped: seeds(dropped) })
}

/// A model judged by thresholds, length by length.
pub(crate) fn by_length(model: &Model<'_>, thresholds: &Thresholds) -> Vec<ByLength> {
    let runs = model.sequences();
    let judge = |(length, &threshold): (usize, &f64)| {
        let below = |row: &sequential::Row| row.test[length].error.is_some_and(|error| error < threshold);
        let solved: Vec<&[sequential::Row]> =
            runs.iter().map(|(_, rows)| *rows).filter(|rows| best(rows).is_some_and(below)).collect();
        let first = |rows: &&[sequential::Row]| rows.iter().find(|row| below(row)).map(|row| row.step as f64);
        let steps: Vec<f64> = solved.iter().filter_map(first).collect();
        let sparsity: Vec<f64> = solved.iter().filter_map(|rows| best(rows)).map(|row| row.sparsity).collect();
        ByLength {
            solved: solved.len(),
            n: runs.len(),
            success: wilson::interval(solved.len(), runs.len()),
            solved_at: gamma::interval(&steps),
            sparsity: beta::corrected(&sparsity),
        }
    };
    thresholds.values.iter().enumerate().map(judge).collect()
}

//! Rows of runs with images into numbers with intervals.

use super::row::ImageRow;
use super::suite::ImageExperiment;
use crate::stats::{Estimate, beta, gamma, student, wilson};
use nalm_vision::score::Accuracy;
use nalm_vision::{History, product, sequential};
use std::collections::BTreeMap;

/// The rows of a model, by seed.
pub(crate) struct Model<'a> {
    pub(crate) label: &'a str,
    /// Its place in the file.
    pub(crate) index: usize,
    pub(crate) rows: Vec<&'a ImageRow>,
    /// How many there should be.
    planned: usize,
}

/// The models of an experiment that have rows.
pub(crate) fn models<'a>(experiment: &'a ImageExperiment, rows: &'a BTreeMap<String, ImageRow>) -> Vec<Model<'a>> {
    let of = |group: &'a super::suite::Group| {
        let found = experiment.runs[group.runs.clone()].iter().filter_map(|run| rows.get(&run.id()));
        let rows = found.filter(|row| row.history.is_some()).collect();
        Model { label: &group.label, index: group.model, rows, planned: group.runs.len() }
    };
    experiment.groups.iter().map(of).filter(|model| !model.rows.is_empty()).collect()
}

impl<'a> Model<'a> {
    /// The measurements of each run of a static task, with its seed.
    pub(crate) fn products(&self) -> Vec<(u64, &'a [product::Measurement])> {
        let of = |row: &&'a ImageRow| match &row.history {
            Some(History::Product(rows)) if !rows.is_empty() => Some((row.image.seed, rows.as_slice())),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// The measurements of each run of the sequential task, with its seed.
    pub(crate) fn sequences(&self) -> Vec<(u64, &'a [sequential::Measurement])> {
        let of = |row: &&'a ImageRow| match &row.history {
            Some(History::Sequence(rows)) if !rows.is_empty() => Some((row.image.seed, rows.as_slice())),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// A number in the last rows of all runs.
    fn ends(&self, value: impl Fn(&product::Measurement) -> Option<f64>) -> Vec<f64> {
        self.products().iter().filter_map(|(_, rows)| rows.last().and_then(&value)).collect()
    }

    /// The mean of a number over the last rows of all runs, with Student's interval.
    pub(crate) fn last(&self, value: impl Fn(&product::Measurement) -> Option<f64>) -> Estimate {
        student::interval(&self.ends(value))
    }

    /// The same of a share.
    pub(crate) fn last_share(&self, value: impl Fn(&product::Measurement) -> Option<f64>) -> Estimate {
        student::share(&self.ends(value))
    }

    /// The standard error of the mean over the last rows, which the published figures draw; none for a single run.
    pub(crate) fn standard_error(&self, value: impl Fn(&product::Measurement) -> f64) -> Option<f64> {
        let x = self.ends(|row| Some(value(row)));
        let (n, mean) = (x.len() as f64, x.iter().sum::<f64>() / x.len() as f64);
        (x.len() > 1).then(|| (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt())
    }

    /// Whether its cell multiplies by construction.
    pub(crate) fn is_reference(&self) -> bool {
        self.rows.iter().all(|row| row.image.head == "mul")
    }

    /// How many runs there would be if all of them were there.
    pub(super) fn is_complete(&self) -> bool {
        self.rows.len() == self.planned
    }

    /// How many runs ended with weights of exactly 1, of how many.
    pub(crate) fn at_one(&self) -> (usize, usize) {
        let ends = self.products();
        let at_one =
            |rows: &[product::Measurement]| rows.last().is_some_and(|row| row.weights.iter().all(|w| *w == 1.0));
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
fn best(rows: &[sequential::Measurement]) -> Option<&sequential::Measurement> {
    let error = |row: &&sequential::Measurement| row.valid.error.unwrap_or(f64::INFINITY);
    rows.iter().min_by(|a, b| error(a).total_cmp(&error(b)))
}

/// From the reference, which multiplies by construction: the upper end of a one-sided 99 % Student interval of its test error at the best
/// validation row. A reference seed counts unless its best validation error is no number or more than ten times the (lower) median; the
/// published analysis takes a fixed list of seven seeds and eight degrees of freedom instead. A length without two such errors has no
/// threshold, and is solved by nobody.
pub(crate) fn thresholds(reference: &Model<'_>) -> Option<Thresholds> {
    let runs = reference.sequences();
    let ends: Vec<(u64, &sequential::Measurement)> =
        runs.iter().filter_map(|(s, rows)| Some((*s, best(rows)?))).collect();
    let error = |row: &sequential::Measurement| row.valid.error.unwrap_or(f64::INFINITY);
    let mut errors: Vec<f64> = ends.iter().map(|(_, row)| error(row)).filter(|error| error.is_finite()).collect();
    errors.sort_by(f64::total_cmp);
    let median = *errors.get(errors.len().checked_sub(1)? / 2)?;
    let (used, dropped): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(_, row)| error(row) <= 10.0 * median);
    if used.len() < 2 {
        return None;
    }
    let value = |length: usize| {
        let errors: Vec<f64> = used.iter().filter_map(|(_, row)| row.test[length].error).collect();
        let n = errors.len() as f64;
        if n < 2.0 {
            return f64::NEG_INFINITY;
        }
        let mean = errors.iter().sum::<f64>() / n;
        let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (n - 1.0);
        mean + student::exceeded_by(0.01, n - 1.0) * (variance / n).sqrt()
    };
    let seeds = |list: Vec<(u64, &sequential::Measurement)>| list.into_iter().map(|(seed, _)| seed).collect();
    let values = (0..sequential::LENGTHS).map(value).collect();
    Some(Thresholds { values, used: seeds(used), dropped: seeds(dropped) })
}

/// A model judged by thresholds, length by length.
pub(crate) fn by_length(model: &Model<'_>, thresholds: &Thresholds) -> Vec<ByLength> {
    let runs = model.sequences();
    let judge = |(length, &threshold): (usize, &f64)| {
        let below = |row: &sequential::Measurement| row.test[length].error.is_some_and(|error| error < threshold);
        let solved: Vec<&[sequential::Measurement]> =
            runs.iter().map(|(_, rows)| *rows).filter(|rows| best(rows).is_some_and(below)).collect();
        let first = |rows: &&[sequential::Measurement]| rows.iter().find(|row| below(row)).map(|row| row.step as f64);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::{ImageSpec, spec::ImageSettings};
    use nalm_vision::sequential::{LENGTHS, Measurement, Part};

    fn part(error: f64) -> Part {
        Part { error: Some(error).filter(|e| e.is_finite()), rounded: 0.0, rounded_last: 0.0 }
    }

    /// A run whose validation errors go through `valid`; the test error of length T in row k is T times `test[k]`.
    fn run(head: &str, seed: u64, valid: &[f64], test: &[f64]) -> ImageRow {
        let row = |k: usize| Measurement {
            epoch: 5 * k as u64,
            step: 1_000 * k as u64,
            train: part(1.0),
            valid: part(valid[k]),
            test: (1..=LENGTHS).map(|length| part(length as f64 * test[k])).collect(),
            weights: vec![1.0, 1.0],
            sparsity: 0.25,
        };
        let settings = ImageSettings::default();
        let spec = ImageSpec { task: "mnist-sequential".into(), head: head.into(), settings, seed, numerics: 1 };
        let history = History::Sequence((0..valid.len()).map(row).collect());
        ImageRow::new(&spec, &history, &[], &[])
    }

    fn model<'a>(label: &'a str, rows: &'a [ImageRow]) -> Model<'a> {
        Model { label, index: 0, rows: rows.iter().collect(), planned: rows.len() }
    }

    /// Best rows have test errors 1, 2, 3, and mean 2, deviation 1; t with two degrees of freedom is 6.9646 at 99 %.
    #[test]
    fn thresholds_come_from_solved_reference_runs() {
        let mut rows = vec![
            run("mul", 0, &[9.0, 1.0, 5.0], &[9.0, 1.0, 9.0]),
            run("mul", 1, &[9.0, 1.1], &[9.0, 2.0]),
            run("mul", 2, &[9.0, 0.9], &[9.0, 3.0]),
            run("mul", 3, &[9e9, 500.0], &[9.0, 700.0]),
            run("mul", 4, &[f64::NAN], &[1.0]),
        ];
        let reference = model("reference", &rows);
        assert!(reference.is_reference());
        let found = thresholds(&reference).unwrap();
        assert_eq!((found.used.as_slice(), found.dropped.as_slice()), (&[0, 1, 2][..], &[3, 4][..]));
        let want = 2.0 + 6.964_557 / 3f64.sqrt();
        assert!((found.values[0] - want).abs() < 1e-5, "{} {want}", found.values[0]);
        assert!((found.values[9] - 10.0 * want).abs() < 1e-4);
        // Of two seeds, one of which failed, one is left: no thresholds.
        rows.drain(1..3);
        assert!(thresholds(&model("reference", &rows)).is_none());
        assert!(thresholds(&model("reference", &[])).is_none());
    }

    #[test]
    fn a_run_is_judged_by_its_best_validation_row() {
        let limits = Thresholds { values: vec![1.0; LENGTHS], used: vec![0, 1], dropped: Vec::new() };
        let rows = [
            // Solved at its best row, for the first time two rows earlier.
            run("nmu", 0, &[5.0, 4.0, 3.0, 1.0], &[9.0, 0.6, 3.0, 0.7]),
            // Below once, but not where validation is best.
            run("nmu", 1, &[5.0, 4.0, 1.0], &[9.0, 0.5, 3.0]),
            run("nmu", 2, &[f64::NAN], &[f64::NAN]),
        ];
        let judged = by_length(&model("NMU", &rows), &limits);
        assert_eq!((judged[0].solved, judged[0].n), (1, 3));
        assert_eq!((judged[0].solved_at.mean, judged[0].sparsity.mean), (Some(1_000.0), Some(0.25)));
        assert_eq!(judged[1].solved, 0, "twice the error at twice the length");
    }
}

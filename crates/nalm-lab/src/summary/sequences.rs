//! Sequences of digits: thresholds from reference runs, and models judged by them, length by length.

use super::Results;
use super::compare::{Found, rate_in_words};
use super::histories::{Model, models};
use super::verdict::{self, Verdict};
use crate::experiment::{Expectation, Relation};
use crate::stats::{Estimate, beta, gamma, standard_error, student, wilson};
use nalm_vision::sequential;
use std::collections::BTreeMap;

/// A model on sequences of one length.
pub struct ByLength {
    /// Runs that solve it.
    pub solved: usize,
    /// Runs.
    pub n: usize,
    /// Their share.
    pub success: Estimate,
    /// When they do.
    pub solved_at: Estimate,
    /// How far their weights are from 0 or 1.
    pub sparsity: Estimate,
}

/// Thresholds of the sequential task, by length from one on.
pub struct Thresholds {
    /// One for each length.
    pub values: Vec<f64>,
    /// Reference seeds that count.
    pub used: Vec<u64>,
    /// Reference seeds that failed to solve.
    pub dropped: Vec<u64>,
}

/// Thresholds by version of the numerics: a run is judged by reference runs of its own version, and by no others.
pub type Limits = BTreeMap<u64, Thresholds>;

/// The row with the least validation error.
fn best(rows: &[sequential::Measurement]) -> Option<&sequential::Measurement> {
    rows.iter().min_by(|a, b| error(a).total_cmp(&error(b)))
}

/// The validation error, where a number that is not finite is the largest.
fn error(row: &sequential::Measurement) -> f64 {
    row.valid.error.unwrap_or(f64::INFINITY)
}

/// The test error at a length, from zero on; a row that somebody made may lack it.
fn at_length(row: &sequential::Measurement, length: usize) -> Option<f64> {
    row.test.get(length)?.error
}

/// From the reference, which multiplies by construction: the upper end of a one-sided 99 % Student interval of its test error at the best
/// validation row. A reference seed counts unless its best validation error is no number or more than ten times the (lower) median; the
/// published analysis takes a fixed list of seven seeds and eight degrees of freedom instead. A length without two such errors has no
/// threshold, and is solved by nobody; a version of the numerics without two such runs has none at all, and its runs are not judged.
pub fn thresholds(reference: &Model<'_>) -> Limits {
    let by_numerics = reference.sequences_by_numerics().into_iter();
    by_numerics.filter_map(|(numerics, runs)| Some((numerics, of_one_version(&runs)?))).collect()
}

fn of_one_version(runs: &[(u64, &[sequential::Measurement])]) -> Option<Thresholds> {
    let ends: Vec<(u64, &sequential::Measurement)> =
        runs.iter().filter_map(|(s, rows)| Some((*s, best(rows)?))).collect();
    let mut errors: Vec<f64> = ends.iter().map(|(_, row)| error(row)).filter(|error| error.is_finite()).collect();
    errors.sort_by(f64::total_cmp);
    let median = *errors.get(errors.len().checked_sub(1)? / 2)?;
    let (used, dropped): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(_, row)| error(row) <= 10.0 * median);
    if used.len() < 2 {
        return None;
    }
    let value = |length: usize| {
        let errors: Vec<f64> = used.iter().filter_map(|(_, row)| at_length(row, length)).collect();
        let Some(error) = standard_error(&errors) else { return f64::NEG_INFINITY };
        let n = errors.len() as f64;
        errors.iter().sum::<f64>() / n + student::exceeded_by(0.01, n - 1.0) * error
    };
    let seeds = |list: Vec<(u64, &sequential::Measurement)>| list.into_iter().map(|(seed, _)| seed).collect();
    let values = (0..sequential::LENGTHS).map(value).collect();
    Some(Thresholds { values, used: seeds(used), dropped: seeds(dropped) })
}

/// Lengths at which a model must be above another one to be so "at several lengths".
const SEVERAL: usize = 3;

/// A statement about lengths beside what we found, under thresholds from the reference.
pub(super) fn find(results: &Results<'_>, e: &Expectation) -> Option<Found> {
    let mut models = models(results, e.section);
    models.retain(|model| model.place == e.place);
    let find = |index: usize| models.iter().find(|model| model.index == index);
    let model = find(e.model?)?;
    let limits = models.iter().find(|model| model.is_reference()).map(thresholds).unwrap_or_default();
    match (e.relation, e.length) {
        (Relation::Is(rate), Some(length)) => {
            let judged = by_length(model, &limits);
            let Some(cell) = judged.get(length.checked_sub(1)?).filter(|cell| cell.n > 0) else { return not_judged() };
            let n = cell.n;
            let verdict = verdict::rate((cell.solved, n), rate, e.n).1;
            let verdict = Some(if results.is_reduced(e, n) { Verdict::NotComparable } else { verdict });
            Some(Found { ours: rate_in_words(cell.solved, cell.n), n, verdict, ..Found::default() })
        }
        (Relation::Above(than), _) => {
            // Both of one version: the one of which both have most runs, or else the latest.
            let other = find(than)?;
            let runs = |model: &Model<'_>, numerics| model.sequences_by_numerics().get(&numerics).map_or(0, Vec::len);
            let both = |numerics: u64| runs(model, numerics).min(runs(other, numerics));
            let judged = limits.keys().copied().filter(|k| both(*k) > 0).max_by_key(|k| (both(*k), *k));
            let Some(numerics) = judged else { return not_judged() };
            let limits: Limits = limits.into_iter().filter(|(k, _)| *k == numerics).collect();
            let [n, others] = [model, other].map(|model| runs(model, numerics));
            let [ours, theirs] = [model, other].map(|model| by_length(model, &limits));
            let pairs = || ours.iter().zip(&theirs).filter_map(|(a, b)| Some((a.success.mean?, b.success.mean?)));
            let (above, below) = (pairs().filter(|(a, b)| a > b).count(), pairs().filter(|(a, b)| a < b).count());
            let shown = format!("above at {above} lengths, below at {below} ({n} and {others} runs)");
            // Lengths of the same runs are no sample, so there is no test of it.
            let reduced = results.is_reduced(e, n.min(others));
            let verdict = match (reduced, above >= SEVERAL) {
                (true, _) => verdict::reduced(above, below, n.min(others)),
                (false, true) => Verdict::DirectionOnly,
                (false, false) => Verdict::Inconclusive,
            };
            Some(Found { ours: shown, n, verdict: Some(verdict), ..Found::default() })
        }
        _ => None,
    }
}

/// Runs that are there, without the reference runs that would judge them.
fn not_judged() -> Option<Found> {
    let ours = "fewer than two reference runs of the same version of the numerics".into();
    Some(Found { ours, verdict: Some(Verdict::NotComparable), ..Found::default() })
}

/// A model judged by thresholds, length by length: each run by those of its version. Runs of a version without thresholds do not count.
pub fn by_length(model: &Model<'_>, limits: &Limits) -> Vec<ByLength> {
    let runs = model.sequences_by_numerics();
    let runs: Vec<(&[sequential::Measurement], &Thresholds)> = runs
        .iter()
        .filter_map(|(numerics, runs)| Some((runs, limits.get(numerics)?)))
        .flat_map(|(runs, limits)| runs.iter().map(move |(_, rows)| (*rows, limits)))
        .collect();
    let judge = |length: usize| {
        let below = |row: &sequential::Measurement, limits: &Thresholds| {
            at_length(row, length).zip(limits.values.get(length)).is_some_and(|(error, limit)| error < *limit)
        };
        let is_solved = |(rows, limits): &&(&[sequential::Measurement], &Thresholds)| {
            best(rows).is_some_and(|row| below(row, limits))
        };
        let solved: Vec<_> = runs.iter().filter(is_solved).collect();
        let first = solved.iter().filter_map(|(rows, limits)| rows.iter().find(|row| below(row, limits)));
        let steps: Vec<f64> = first.map(|row| row.step as f64).collect();
        let sparsity: Vec<f64> = solved.iter().filter_map(|(rows, _)| best(rows)).map(|row| row.sparsity).collect();
        ByLength {
            solved: solved.len(),
            n: runs.len(),
            success: wilson::interval(solved.len(), runs.len()),
            solved_at: gamma::interval(&steps),
            sparsity: beta::corrected(&sparsity),
        }
    };
    (0..sequential::LENGTHS).map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Row, Status};
    use nalm_vision::History;
    use nalm_vision::sequential::{LENGTHS, Measurement, Part};
    use serde_json::json;

    fn part(error: f64) -> Part {
        Part { error: Some(error).filter(|e| e.is_finite()), rounded: 0.0, rounded_last: 0.0 }
    }

    /// A run whose validation errors go through `valid`; the test error of length T in row k is T times `test[k]`.
    fn run(head: &str, seed: u64, valid: &[f64], test: &[f64]) -> Row {
        of_version(1, head, seed, valid, test)
    }

    fn of_version(numerics: u64, head: &str, seed: u64, valid: &[f64], test: &[f64]) -> Row {
        let row = |k: usize| Measurement {
            epoch: 5 * k as u64,
            step: 1_000 * k as u64,
            train: part(1.0),
            valid: part(valid[k]),
            test: (1..=LENGTHS).map(|length| part(length as f64 * test[k])).collect(),
            weights: vec![1.0, 1.0],
            sparsity: 0.25,
        };
        let spec =
            json!({"task": "mnist-sequential", "head": head, "settings": {}, "seed": seed, "numerics": numerics});
        let history = History::Sequence((0..valid.len()).map(row).collect());
        let mut row = Row::new(&serde_json::from_value(spec).unwrap(), Status::Completed, None, String::new());
        row.series.insert("history".into(), serde_json::to_value(history).unwrap());
        row
    }

    fn model<'a>(label: &'a str, rows: &'a [Row]) -> Model<'a> {
        Model::new(label.into(), "", 0, rows.iter().collect())
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
        let found = thresholds(&reference).remove(&1).unwrap();
        assert_eq!((found.used.as_slice(), found.dropped.as_slice()), (&[0, 1, 2][..], &[3, 4][..]));
        let want = 2.0 + 6.964_557 / 3f64.sqrt();
        assert!((found.values[0] - want).abs() < 1e-5, "{} {want}", found.values[0]);
        assert!((found.values[9] - 10.0 * want).abs() < 1e-4);
        // Of two seeds, one of which failed, one is left: no thresholds.
        rows.drain(1..3);
        assert!(thresholds(&model("reference", &rows)).is_empty());
        assert!(thresholds(&model("reference", &[])).is_empty());
    }

    #[test]
    fn a_run_is_judged_by_its_best_validation_row() {
        let limits = Thresholds { values: vec![1.0; LENGTHS], used: vec![0, 1], dropped: Vec::new() };
        let limits = Limits::from([(1, limits)]);
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

    /// Two reference runs of version 1 with errors near 1, two of version 2 with errors near 100, and one of version 3.
    #[test]
    fn versions_of_the_numerics_are_not_mixed() {
        let reference = |numerics, seed, error: f64| of_version(numerics, "mul", seed, &[1.0], &[error]);
        let rows = [
            reference(1, 0, 1.0),
            reference(1, 1, 1.1),
            reference(2, 0, 100.0),
            reference(2, 1, 110.0),
            reference(3, 0, 1.0),
        ];
        let limits = thresholds(&model("reference", &rows));
        assert_eq!(limits.keys().copied().collect::<Vec<_>>(), [1, 2], "one run is no sample");
        assert!(limits[&1].values[0] < 10.0 && limits[&2].values[0] > 100.0, "{:?}", limits[&2].values[0]);
        assert_eq!((limits[&1].used.as_slice(), limits[&2].used.as_slice()), (&[0, 1][..], &[0, 1][..]));
        // An error of 50 is solved by the thresholds of version 2 alone.
        let own = [1, 2, 3].map(|numerics| of_version(numerics, "nmu", numerics, &[1.0], &[50.0]));
        let judged = by_length(&model("NMU", &own), &limits);
        assert_eq!((judged[0].solved, judged[0].n), (1, 2), "version 3 has no thresholds");
    }
}

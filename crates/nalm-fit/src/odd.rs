//! Rows that may be wrong: what holds exactly in a few rows is tried on all of them.
//!
//! Wrong rows pull every formula that is fitted to them, so the law of the other rows is looked for in small parts of the table, one of which
//! has no wrong row if there are few.

use crate::columns::{Draws, Split, values};
use crate::dense::{deviation, median, root_mean_square};
use crate::report::{Candidate, Coefficient, Flag, Precision, Report, Verdict};
use crate::{Error, Holdout, Line, Problem};
use nalm::Table;
use nalm::expression::Expression;
use std::collections::HashSet;

/// The largest share of rows that may be wrong: more are no mistakes, but another law.
pub(crate) const SHARE: f64 = 0.1;
/// Parts that are looked at, each with rows of its own, and the rows of one, with these more for each input.
const PARTS: usize = 6;
const ROWS: (usize, usize) = (16, 2);
/// What a row may miss an exact formula by: printed units of its last digit, and a share of the target's deviation.
const MET: (f64, f64) = (1.0, 1e-8);

/// Rows that must have one value before it is a law.
const FEWEST: usize = 8;
/// How many times the usual error a row is off that stands apart: with constants from a few rows, and with those from all others.
const FAR: (f64, f64) = (10.0, 7.0);

/// Explains a table none of whose rows is taken to be wrong; nothing if nobody wants to know any more.
type Fit<'a> = dyn FnMut(&Problem<'_>) -> Result<Option<Report>, Error> + 'a;

/// The formula that is exact in all rows but a few, if there is one, or else, if it is wanted, the one that leaves nothing but noise in all rows
/// but a few. The verdict stays `approximate`, and a flag names the rows.
pub(crate) fn without_odd_rows(
    problem: &Problem<'_>,
    with_noise: bool,
    fit: &mut Fit<'_>,
) -> Result<Option<Report>, Error> {
    let all = problem.table.rows();
    let size = (ROWS.0 + ROWS.1 * problem.inputs.len()).min(all / 2);
    let few = |odd: &[usize]| !odd.is_empty() && odd.len() as f64 <= (SHARE * all as f64).max(1.0);
    if let Some((report, odd)) = constant(problem)?.filter(|(_, odd)| few(odd)) {
        return Ok(Some(exact_but_for(problem, report, odd)));
    }
    let mut noisy = Vec::new();
    for part in shuffled(all).chunks_exact(size.max(1)).take(PARTS) {
        let mut part = part.to_vec();
        part.sort_unstable();
        // All other rows are what such a law is tried on, so a part needs no more of its own than it has.
        let Some(found) = on_rows(problem, &part, Holdout::default(), fit)? else { continue };
        if found.flags.contains(&Flag::Stopped) {
            return Ok(None);
        }
        let is_law = found.verdict == Verdict::Exact || found.flags.contains(&Flag::FewRowsOutside);
        let Some(law) = found.candidates.first().filter(|_| is_law) else {
            noisy.extend(
                found.candidates.first().filter(|_| with_noise && found.verdict == Verdict::Consistent).cloned(),
            );
            continue;
        };
        let missed = odd_rows(problem, law)?;
        if !few(&missed) {
            continue;
        }
        let Some(report) = without(problem, &missed, Verdict::Exact, fit)? else { continue };
        // Constants from more rows may meet a row that those from a few missed.
        let odd = report.candidates.first().map(|law| odd_rows(problem, law)).transpose()?.unwrap_or_default();
        if !few(&odd) {
            continue;
        }
        return Ok(Some(exact_but_for(problem, report, odd)));
    }
    for law in noisy {
        let missed = far_rows(problem, &law, FAR.0)?;
        if !few(&missed) {
            continue;
        }
        let Some(mut report) = without(problem, &missed, Verdict::Consistent, fit)? else { continue };
        let far = report.candidates.first().map(|law| far_rows(problem, law, FAR.1)).transpose()?.unwrap_or_default();
        if !few(&far) {
            continue;
        }
        let (met, missed) = (all - far.len(), far.len());
        report.sentence = format!(
            "Approximate: what the formula misses looks like noise in {met} of {all} rows, and is far more in {missed}."
        );
        report.verdict = Verdict::Approximate;
        report.flags.insert(0, Flag::Apart { lines: lines(problem, &far), rows: far });
        return Ok(Some(report));
    }
    Ok(None)
}

/// The report on a formula that is exact in all rows but these.
fn exact_but_for(problem: &Problem<'_>, mut report: Report, odd: Vec<usize>) -> Report {
    let (all, missed) = (problem.table.rows(), odd.len());
    let met = all - missed;
    report.sentence = format!("Approximate: the formula is exact in {met} of {all} rows, and wrong in {missed}.");
    report.verdict = Verdict::Approximate;
    report.flags.insert(0, Flag::Odd { lines: lines(problem, &odd), rows: odd });
    report
}

/// A report that says that the target is one number, and the rows in which it is another one. No part of such a table says anything.
fn constant(problem: &Problem<'_>) -> Result<Option<(Report, Vec<usize>)>, Error> {
    let y = problem.table.column(&problem.target)?;
    let value = median(y.to_vec());
    let missed: Vec<usize> = (0..y.len()).filter(|&k| y[k] != value).collect();
    // What is one printed digit away may have been rounded.
    let unit = |row: usize| problem.printed.as_ref().map_or(0.0, |units| MET.0 * units[row]);
    let is_rounding = |&row: &usize| (y[row] - value).abs() <= unit(row) * (1.0 + 1e-9);
    if y.len() - missed.len() <= FEWEST || missed.iter().any(is_rounding) {
        return Ok(None);
    }
    let split = Split::new(problem)?;
    let error =
        |rows: &[usize]| root_mean_square(&rows.iter().map(|&k| y[k] - value).collect::<Vec<f64>>()) / deviation(y);
    let expression = Expression::number(value);
    let candidate = Candidate {
        complexity: expression.size(),
        error_inside: error(&split.inside),
        error_outside: error(&split.outside),
        engine: "constant",
        coefficients: vec![Coefficient { value, low: value, high: value }],
        expression,
    };
    let report = Report {
        verdict: Verdict::Exact,
        precision: Some(Precision::F64),
        sentence: String::new(),
        candidates: vec![candidate],
        flags: Vec::new(),
        noise: None,
        rows_inside: split.inside.len(),
        rows_outside: split.outside.len(),
    };
    Ok(Some((report, missed)))
}

fn lines(problem: &Problem<'_>, rows: &[usize]) -> Vec<Line> {
    problem.lines.as_ref().map(|lines| rows.iter().map(|&k| lines[k].clone()).collect()).unwrap_or_default()
}

/// The report on all rows but these, if its verdict is the one that is wanted.
fn without(problem: &Problem<'_>, rows: &[usize], wanted: Verdict, fit: &mut Fit<'_>) -> Result<Option<Report>, Error> {
    let kept: Vec<usize> = (0..problem.table.rows()).filter(|row| rows.binary_search(row).is_err()).collect();
    let holdout = match &problem.holdout {
        Holdout::Rows(rows) => {
            let rows: HashSet<usize> = rows.iter().copied().collect();
            Holdout::Rows((0..kept.len()).filter(|&k| rows.contains(&kept[k])).collect())
        }
        other => other.clone(),
    };
    Ok(on_rows(problem, &kept, holdout, fit)?.filter(|report| report.verdict == wanted))
}

/// The report on some rows of a table, if they can be fitted.
fn on_rows(
    problem: &Problem<'_>,
    rows: &[usize],
    holdout: Holdout,
    fit: &mut Fit<'_>,
) -> Result<Option<Report>, Error> {
    let part = |column: &[f64]| rows.iter().map(|&k| column[k]).collect::<Vec<f64>>();
    let names = problem.table.names().iter();
    let columns = names.map(|name| Ok((name.clone(), part(problem.table.column(name)?))));
    let table = Table::new(columns.collect::<Result<Vec<_>, Error>>()?)?;
    let rest = Problem {
        table: &table,
        inputs: problem.inputs.clone(),
        target: problem.target.clone(),
        holdout,
        printed: problem.printed.as_deref().map(part),
        lines: None,
        units: problem.units.clone(),
        ..*problem
    };
    // A table of fewer rows may be one that cannot be fitted.
    Ok(fit(&rest).ok().flatten())
}

/// The rows that a formula misses by more than rounding, in order.
fn odd_rows(problem: &Problem<'_>, law: &Candidate) -> Result<Vec<usize>, Error> {
    let y = problem.table.column(&problem.target)?;
    let values = values(&law.expression, problem.table);
    let spread = MET.1 * deviation(y);
    let unit = |row: usize| problem.printed.as_ref().map_or(0.0, |units| MET.0 * units[row]);
    let meets = |row: &usize| (values[*row] - y[*row]).abs() <= spread.max(unit(*row));
    Ok((0..y.len()).filter(|row| !meets(row)).collect())
}

/// The rows that a formula misses by so many times more than the others, in order: of noise of one size, or of noise in proportion, whichever
/// names fewer rows.
fn far_rows(problem: &Problem<'_>, law: &Candidate, times: f64) -> Result<Vec<usize>, Error> {
    let y = problem.table.column(&problem.target)?;
    let values = values(&law.expression, problem.table);
    let far = |error: &dyn Fn(usize) -> f64| {
        let errors: Vec<f64> = (0..y.len()).map(error).collect();
        let size = 1.4826 * median(errors.iter().copied().filter(|e| e.is_finite()).collect());
        (0..y.len()).filter(|&k| errors[k].is_nan() || errors[k] > times * size).collect::<Vec<usize>>()
    };
    let plain = far(&|k| (y[k] - values[k]).abs());
    let shares = far(&|k| ((y[k] - values[k]) / values[k]).abs());
    Ok(if shares.len() < plain.len() { shares } else { plain })
}

/// The rows in an order that is the same every time.
fn shuffled(rows: usize) -> Vec<usize> {
    let mut draws = Draws::new("parts");
    let mut order: Vec<usize> = (0..rows).collect();
    for k in (1..rows).rev() {
        order.swap(k, draws.below(k + 1));
    }
    order
}

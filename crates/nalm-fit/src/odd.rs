//! Rows that may be wrong: what holds exactly in a few rows is tried on all of them.
//!
//! Wrong rows pull every formula that is fitted to them, so the law of the other rows is looked for in small parts of the table, one of which
//! has no wrong row if there are few.

use crate::columns::{Draws, values};
use crate::engine::deviation;
use crate::report::{Candidate, Flag, Report, Verdict};
use crate::{Error, Holdout, Problem};
use nalm::Table;
use std::collections::HashSet;

/// The largest share of rows that may be wrong: more are no mistakes, but another law.
const SHARE: f64 = 0.1;
/// Parts that are looked at, each with rows of its own, and the rows of one, with these more for each input.
const PARTS: usize = 6;
const ROWS: (usize, usize) = (16, 2);
/// What a row may miss an exact formula by: printed units of its last digit, and a share of the target's deviation.
const MET: (f64, f64) = (1.0, 1e-8);

/// Explains a table none of whose rows is taken to be wrong.
type Fit<'a> = dyn FnMut(&Problem<'_>) -> Result<Report, Error> + 'a;

/// The formula that is exact in all rows but a few, if there is one. The verdict stays `approximate`, and a flag names the rows.
pub(crate) fn without_odd_rows(problem: &Problem<'_>, fit: &mut Fit<'_>) -> Result<Option<Report>, Error> {
    let all = problem.table.rows();
    let size = (ROWS.0 + ROWS.1 * problem.inputs.len()).min(all / 2);
    let few = |odd: &[usize]| !odd.is_empty() && odd.len() as f64 <= (SHARE * all as f64).max(1.0);
    for part in shuffled(all).chunks_exact(size.max(1)).take(PARTS) {
        let mut part = part.to_vec();
        part.sort_unstable();
        // All other rows are what such a law is tried on, so a part needs no more of its own than it has.
        let Some(found) = on_rows(problem, &part, Holdout::default(), fit)? else { continue };
        if found.flags.contains(&Flag::Stopped) {
            return Ok(None);
        }
        let is_law = found.verdict == Verdict::Exact || found.flags.contains(&Flag::FewRowsOutside);
        let Some(law) = found.candidates.first().filter(|_| is_law) else { continue };
        let missed = odd_rows(problem, law)?;
        if !few(&missed) {
            continue;
        }
        let kept: Vec<usize> = (0..all).filter(|row| missed.binary_search(row).is_err()).collect();
        let holdout = match &problem.holdout {
            Holdout::Rows(rows) => {
                let rows: HashSet<usize> = rows.iter().copied().collect();
                Holdout::Rows((0..kept.len()).filter(|&k| rows.contains(&kept[k])).collect())
            }
            other => other.clone(),
        };
        let report = on_rows(problem, &kept, holdout, fit)?.filter(|report| report.verdict == Verdict::Exact);
        let Some(mut report) = report else { continue };
        // Constants from more rows may meet a row that those from a few missed.
        let odd = report.candidates.first().map(|law| odd_rows(problem, law)).transpose()?.unwrap_or_default();
        if !few(&odd) {
            continue;
        }
        let lines = problem.lines.as_ref().map(|lines| odd.iter().map(|&k| lines[k]).collect()).unwrap_or_default();
        let (met, missed) = (all - odd.len(), odd.len());
        report.sentence = format!("Approximate: the formula is exact in {met} of {all} rows, and wrong in {missed}.");
        report.verdict = Verdict::Approximate;
        report.flags.insert(0, Flag::Odd { rows: odd, lines });
        return Ok(Some(report));
    }
    Ok(None)
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
    Ok(fit(&rest).ok())
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

/// The rows in an order that is the same every time.
fn shuffled(rows: usize) -> Vec<usize> {
    let mut draws = Draws::new("parts");
    let mut order: Vec<usize> = (0..rows).collect();
    for k in (1..rows).rev() {
        order.swap(k, draws.below(k + 1));
    }
    order
}

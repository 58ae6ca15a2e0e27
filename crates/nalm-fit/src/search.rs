//! The search: engines in turn until one formula is exact, then what can be said without one.

use crate::columns::{Columns, Split};
use crate::engine::{self, Sink};
use crate::form::Form;
use crate::judge::Judge;
use crate::report::{Candidate, Coefficient, Flag, Precision, Report, Verdict};
use crate::write;
use crate::{Error, Observer, Problem};
use nalm::expression::Expression;
use std::ops::ControlFlow;

/// Candidates above this error are not looked at for exactness.
const PROMISING: f64 = 1e-3;
/// Operations between two calls of the observer: some milliseconds.
const OPERATIONS: f64 = 1e7;

/// A formula that an engine found, over the columns themselves.
#[derive(Clone, Debug)]
struct Found {
    form: Form,
    engine: &'static str,
    exact: bool,
}

/// Explains the target of a table by its inputs.
///
/// The same problem gives the same report on every machine. An observer can stop the search; what was found until then is reported.
pub fn fit(problem: &Problem<'_>, observer: &mut dyn Observer) -> Result<Report, Error> {
    problem.check()?;
    let split = Split::new(problem)?;
    let mut named = Vec::new();
    let mut flags = Vec::new();
    for name in &problem.inputs {
        let column = problem.table.column(name)?;
        if column.iter().all(|x| *x == column[0]) {
            flags.push(Flag::Constant(name.clone()));
        }
        named.push((Expression::variable(name.clone()), column.to_vec()));
    }
    let columns = Columns::new(named, problem.table.column(&problem.target)?.to_vec());
    let judge = Judge::new(&columns, &split);
    let mut desk = Desk { judge: &judge, observer, engine: "", found: Vec::new(), spent: 0.0, stopped: false };
    let engines = engine::all();
    for (done, engine) in engines.iter().enumerate() {
        if columns.x.is_empty() {
            break;
        }
        desk.engine = engine.name();
        let stop = desk.observer.engine(engine.name(), done, engines.len()).is_break();
        desk.stopped |= stop;
        if stop || engine.search(&judge.view, &mut desk).is_break() {
            break;
        }
    }
    if desk.stopped {
        flags.push(Flag::Stopped);
    }
    let found = desk.found;
    Ok(report(&columns, &split, found, flags))
}

/// Takes what engines find, and judges it.
struct Desk<'a> {
    judge: &'a Judge<'a>,
    observer: &'a mut dyn Observer,
    engine: &'static str,
    found: Vec<Found>,
    spent: f64,
    stopped: bool,
}

impl Sink for Desk<'_> {
    fn offer(&mut self, form: Form, rms: f64) -> ControlFlow<()> {
        // NaN is not promising.
        if rms >= PROMISING || rms.is_nan() {
            self.found.push(Found { form: self.judge.columns.unscaled(&form), engine: self.engine, exact: false });
            return ControlFlow::Continue(());
        }
        match self.judge.judge(&form, rms) {
            Some(judged) => {
                self.found.push(Found { form: judged.form, engine: self.engine, exact: judged.exact });
                if judged.exact { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            None => {
                self.found.push(Found { form: self.judge.columns.unscaled(&form), engine: self.engine, exact: false });
                ControlFlow::Continue(())
            }
        }
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        self.spent += operations;
        if self.spent > OPERATIONS {
            self.spent = 0.0;
            if self.observer.working().is_break() {
                self.stopped = true;
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

/// Root mean square error over the target's standard deviation.
fn error(values: &[f64], y: &[f64], rows: &[usize], deviation: f64) -> f64 {
    let squares: f64 = rows.iter().map(|&k| (values[k] - y[k]) * (values[k] - y[k])).sum();
    (squares / rows.len().max(1) as f64).sqrt() / deviation
}

fn report(columns: &Columns, split: &Split, found: Vec<Found>, flags: Vec<Flag>) -> Report {
    let y = &columns.y;
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let deviation = (y.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / y.len() as f64).sqrt();
    let mut verdict = Verdict::None;
    let mut candidates: Vec<(bool, Candidate)> = Vec::new();
    for found in found {
        let values = found.form.values(&columns.x, y.len());
        let expression = write::expression(&found.form, &columns.meaning);
        let exactly = |value| Coefficient { value, low: value, high: value };
        let candidate = Candidate {
            complexity: expression.size(),
            expression,
            error_inside: error(&values, y, &split.inside, deviation),
            error_outside: error(&values, y, &split.outside, deviation),
            engine: found.engine,
            coefficients: vec![exactly(found.form.factor)],
        };
        if candidate.error_inside.is_finite() {
            candidates.push((found.exact, candidate));
        }
    }
    candidates.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.error_outside.total_cmp(&b.1.error_outside)));
    if let Some((exact, best)) = candidates.first() {
        verdict = match exact {
            true => Verdict::Exact,
            false if best.error_inside < 0.1 => Verdict::Approximate,
            false => Verdict::None,
        };
    }
    let sentence = match verdict {
        Verdict::Exact => "Exact: the formula meets all rows to the rounding of double precision.",
        Verdict::Approximate => "Approximate: the formula follows the target, but misses it by more than noise.",
        _ => "None: no formula of these kinds explains the target.",
    };
    Report {
        verdict,
        precision: (verdict == Verdict::Exact).then_some(Precision::F64),
        sentence: sentence.into(),
        candidates: candidates.into_iter().map(|(_, candidate)| candidate).collect(),
        flags,
        noise: None,
        rows_inside: split.inside.len(),
        rows_outside: split.outside.len(),
    }
}

//! The search: engines in turn until one formula is exact, then what can be said without one.

use crate::columns::{Columns, Split, values};
use crate::dense::{Matrix, Qr, deviation, median, quantile, root_mean_square};
use crate::engine::{self, Sink};
use crate::form::Form;
use crate::functions::Functions;
use crate::judge::{
    Judge, all_constants_are_meant, bits_of_constants, has_pole_at_a_row, interpolates, relative_weights,
    with_simple_exponents,
};
use crate::noisy::{self, Noisy, bits_of_form};
use crate::odd;
use crate::polish::{Free, polish_roughly};
use crate::printed::Printed;
use crate::problem::Line;
use crate::report::{Candidate, Coefficient, Flag, Precision, Report, Verdict};
use crate::{Error, Forms, Observer, Problem, Unit};
use crate::{constants, units, write};
use nalm::Table;
use nalm::digits::significant;
use nalm::expression::Expression;
use std::ops::ControlFlow;

/// Candidates above this error are not looked at for exactness.
const PROMISING: f64 = 1e-3;
/// Operations between two calls of the observer: some milliseconds.
const OPERATIONS: f64 = 1e7;
/// Bits by which printed digits must outweigh a formula that meets them all.
const OUTWEIGHED: f64 = 20.0;
/// Forms, the shortest first, whose constants are looked for so that they meet printed digits.
const WITHIN: usize = 12;
/// Rows below which noise is not told from a pattern.
const FEW: usize = 60;
/// Where nothing explains the target, only candidates that say something about it are listed: the largest error outside, and the largest
/// complexity.
const TELLING: (f64, usize) = (0.5, 25);
/// The share of rows that a formula must meet to be one for most of them, how closely, and how many more than it has constants.
const MOST: (f64, f64) = (0.5, 1e-9);
const FEW_MET: usize = 8;
/// Units of the last printed digit by which rows of another law are off, at least: less may be rounding, or noise that was rounded.
const ANOTHER_LAW: f64 = 10.0;
/// What is said where a search ends before anything is found.
const STOPPED: &str = "None: the search was stopped before a formula was found.";
/// Standard errors on either side of a constant in its interval: 95 %.
const SURE: f64 = 1.96;
/// Candidates of a report.
const CANDIDATES: usize = 12;

/// A formula that an engine found, over the columns themselves.
#[derive(Clone, Debug)]
struct Found {
    form: Form,
    engine: &'static str,
    exact: bool,
    /// Standard errors of its constants.
    sigmas: Option<Vec<f64>>,
    /// The formula where it is more than the form.
    expression: Option<Expression>,
}

impl Found {
    /// Constants that the data had to determine.
    fn free_constants(&self) -> usize {
        self.expression.as_ref().map_or_else(|| self.form.free_constants(), |expression| 1 + numbers(expression))
    }
}

/// Numbers of an expression that are neither exponents nor 1.
fn numbers(expression: &Expression) -> usize {
    match expression {
        Expression::Number(x) => usize::from(x.abs() != 1.0),
        Expression::Sum(parts) | Expression::Product(parts) => parts.iter().map(numbers).sum(),
        Expression::Power(of, _) | Expression::Call(_, of) => numbers(of),
        _ => 0,
    }
}

/// Explains the target of a table by its inputs.
///
/// The same problem gives the same report on every machine. An observer can stop the search; what was found until then is reported.
pub fn fit(problem: &Problem<'_>, observer: &mut dyn Observer) -> Result<Report, Error> {
    let mut report = fit_all_rows(problem, observer)?;
    if report.verdict == Verdict::Exact || report.flags.contains(&Flag::Stopped) {
        return Ok(report);
    }
    let steps = steps();
    let mut parts = Parts { stopped: observer.engine("wrong rows", steps - 1, steps).is_break(), observer };
    // Noise alone needs no wrong rows to explain it, unless all other rows are exact.
    let noisy = report.verdict != Verdict::Consistent;
    let found = odd::without_odd_rows(problem, noisy, &mut |part| match parts.stopped {
        true => Ok(None),
        false => fit_all_rows(part, &mut parts).map(Some),
    })?;
    if let Some(found) = found {
        return Ok(found);
    }
    if parts.stopped {
        report.flags.push(Flag::Stopped);
        if report.verdict == Verdict::None {
            report.sentence = STOPPED.into();
        }
    }
    Ok(report)
}

/// What a search consists of, for its progress: all engines, functions, noise, and wrong rows.
fn steps() -> usize {
    engine::all().len() + 3
}

/// Watches searches over parts of a table, which are one step of the whole.
struct Parts<'a> {
    observer: &'a mut dyn Observer,
    stopped: bool,
}

impl Observer for Parts<'_> {
    fn engine(&mut self, _: &'static str, _: usize, _: usize) -> ControlFlow<()> {
        self.working()
    }

    fn working(&mut self) -> ControlFlow<()> {
        self.stopped |= self.observer.working().is_break();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The report on a table none of whose rows is taken to be wrong.
fn fit_all_rows(problem: &Problem<'_>, observer: &mut dyn Observer) -> Result<Report, Error> {
    problem.check()?;
    let split = Split::new(problem)?;
    let mut flags = Vec::new();
    let named = inputs(problem, &mut flags)?;
    let columns = Columns::new(named, problem.table.column(&problem.target)?.to_vec());
    let judge = Judge::new(&columns, &split);
    let mut desk = Desk {
        judge: &judge,
        observer,
        engine: "",
        found: Vec::new(),
        leftovers: Vec::new(),
        spent: 0.0,
        stopped: false,
    };
    desk.search();
    let exact = desk.found.iter().any(|found| found.exact);
    let printed = problem.printed.as_deref();
    let is_rounded = printed.is_some_and(|units| noisy::are_rounded(&columns.y, units));
    let with_functions = problem.forms == Forms::All && !exact && !desk.stopped;
    let is_noisy = with_functions && desk.is_noise();
    let exact = exact || (with_functions && !is_noisy && desk.functions(problem));
    let without_functions = with_functions && (is_noisy || is_rounded);
    let mut outcome = None;
    if !exact && !desk.stopped && !columns.x.is_empty() {
        desk.engine = "noise";
        let steps = steps();
        desk.stopped |= desk.observer.engine("noise", steps - 2, steps).is_break();
        let mut leftovers = std::mem::take(&mut desk.leftovers);
        leftovers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let leftovers: Vec<(Form, &'static str)> = leftovers.into_iter().take(4).map(|(_, f, e)| (f, e)).collect();
        let fits = |form: &Form| unit_fault(problem, &write::expression(form, &columns.meaning)).is_none();
        let fits: Option<&dyn Fn(&Form) -> bool> = if problem.units.is_some() { Some(&fits) } else { None };
        outcome = Noisy::new(&columns, &split, printed, fits).run(&leftovers, &mut desk);
    }
    if desk.stopped {
        flags.push(Flag::Stopped);
    }
    let (table, lines) = (problem.table, problem.lines.as_deref());
    let reporter = Reporter { table, columns: &columns, split: &split, printed, lines, flags };
    let mut report = reporter.report(desk.found, outcome);
    let is_explained = matches!(report.verdict, Verdict::Exact | Verdict::Consistent) || report.precision.is_some();
    if without_functions && !is_explained {
        report.flags.push(Flag::WithoutFunctions);
    }
    let best = report.candidates.first().filter(|_| report.verdict != Verdict::None);
    if let Some(best) = best {
        let notes: Vec<String> = match unit_fault(problem, &best.expression) {
            Some(fault) => vec![fault],
            None => unit_sizes(problem, &best.expression),
        };
        report.flags.extend(notes.into_iter().map(Flag::Units));
    }
    if problem.physical_constants
        && let Some(best) = report.candidates.first()
    {
        // An exact constant is known to its digits, and a measured one of nature to fewer.
        let bounds = |c: &Coefficient| (c.low - 1e-4 * c.value.abs(), c.high + 1e-4 * c.value.abs());
        let named = best.coefficients.iter().filter_map(|c| {
            let (low, high) = bounds(c);
            Some(Flag::Nature { value: c.value, name: constants::of_nature(low, high)? })
        });
        let named: Vec<Flag> = named.collect();
        report.flags.extend(named);
    }
    Ok(report)
}

/// What is wrong with the units of a formula, if they are known.
fn unit_fault(problem: &Problem<'_>, expression: &Expression) -> Option<String> {
    let (_, target) = problem.units.as_ref()?;
    units::fault(expression, &|name| unit(problem, name), &problem.target, target)
}

/// What the sizes of units say about a formula whose units are right.
fn unit_sizes(problem: &Problem<'_>, expression: &Expression) -> Vec<String> {
    let Some((_, target)) = &problem.units else { return Vec::new() };
    units::sizes(expression, &|name| unit(problem, name), target)
}

/// The unit of an input.
fn unit(problem: &Problem<'_>, name: &str) -> Unit {
    let place = problem.inputs.iter().position(|input| input == name);
    place.and_then(|k| problem.units.as_ref()?.0.get(k).cloned()).unwrap_or_default()
}

/// The inputs without those that have one value or are another one times a number; both are named in flags, and so are columns that follow
/// from others in another way.
fn inputs(problem: &Problem<'_>, flags: &mut Vec<Flag>) -> Result<Vec<(Expression, Vec<f64>)>, Error> {
    let mut kept: Vec<(String, &[f64])> = Vec::new();
    for name in &problem.inputs {
        let column = problem.table.column(name)?;
        if column.iter().all(|x| *x == column[0]) {
            flags.push(Flag::Constant(name.clone()));
            continue;
        }
        match kept.iter().find(|(_, other)| same_but_for_scale(other, column)) {
            Some((other, _)) => flags.push(Flag::Dependent { column: name.clone(), on: vec![other.clone()] }),
            None => kept.push((name.clone(), column)),
        }
    }
    flags.extend(dependent(&kept));
    Ok(kept.into_iter().map(|(name, column)| (Expression::variable(name), column.to_vec())).collect())
}

/// Whether a column is another one times a number.
fn same_but_for_scale(a: &[f64], b: &[f64]) -> bool {
    let Some(k) = a.iter().position(|a| *a != 0.0) else { return false };
    let ratio = b[k] / a[k];
    ratio != 0.0 && a.iter().zip(b).all(|(a, b)| (b - ratio * a).abs() <= 4e-15 * b.abs().max((ratio * a).abs()))
}

/// Columns that are sums or products of others.
fn dependent(columns: &[(String, &[f64])]) -> Vec<Flag> {
    let rows = columns.first().map_or(0, |c| c.1.len());
    let step = rows.div_ceil(500).max(1);
    let rows: Vec<usize> = (0..rows).step_by(step).collect();
    let mut flags: Vec<Flag> = Vec::new();
    if columns.len() + 2 >= rows.len() {
        return flags;
    }
    for logarithms in [false, true] {
        let usable: Vec<&(String, &[f64])> =
            columns.iter().filter(|c| !logarithms || c.1.iter().all(|x| *x != 0.0)).collect();
        let mut a = Matrix::new(rows.len());
        a.push(vec![1.0; rows.len()]);
        for (_, x) in &usable {
            a.push(rows.iter().map(|&k| if logarithms { libm::log(x[k].abs()) } else { x[k] }));
        }
        a.normalise();
        let qr = Qr::new(a.clone(), 1e-10);
        for (j, (name, _)) in usable.iter().enumerate() {
            let own = qr.beyond[j + 1].abs();
            if own >= 1e-10 || flags.iter().any(|f| matches!(f, Flag::Dependent { column, .. } if column == name)) {
                continue;
            }
            let before: Vec<usize> = (0..=j).collect();
            let c = Qr::new(a.pick(&before), 1e-10).solve(a.column(j + 1));
            let on = (0..j).filter(|&i| c[i + 1].abs() > 1e-6).map(|i| usable[i].0.clone()).collect();
            flags.push(Flag::Dependent { column: name.clone(), on });
        }
    }
    flags
}

/// Whether errors show no pattern at all.
fn is_white(columns: &Columns, form: &Form, errors: &[f64]) -> bool {
    noisy::white(columns, errors) > 0.05 && noisy::alike(columns, form, errors) < 1.5
}

/// Takes what engines find, and judges it.
struct Desk<'a> {
    judge: &'a Judge<'a>,
    observer: &'a mut dyn Observer,
    engine: &'static str,
    found: Vec<Found>,
    /// Forms over the scaled view with their errors, for the search with noise.
    leftovers: Vec<(f64, Form, &'static str)>,
    spent: f64,
    stopped: bool,
}

impl Desk<'_> {
    fn search(&mut self) {
        let engines = engine::all();
        for (done, engine) in engines.iter().enumerate() {
            if self.judge.columns.x.is_empty() {
                break;
            }
            self.engine = engine.name();
            self.stopped |= self.observer.engine(engine.name(), done, steps()).is_break();
            if self.stopped || engine.search(&self.judge.view, self).is_break() {
                break;
            }
            // After the cheapest engine, and after the last of the cheap ones.
            if ["powers", "logarithms"].contains(&engine.name()) && self.is_noise() {
                break;
            }
        }
    }
}

impl Desk<'_> {
    /// Whether a cheap candidate already leaves nothing but noise: then no formula can be exact, and looking for one is in vain.
    fn is_noise(&self) -> bool {
        let Judge { columns, view, split } = self.judge;
        // Few rows show no pattern, whatever is behind them, and searching them takes no time.
        if view.rows() < FEW {
            return false;
        }
        let mut best: Vec<&(f64, Form, &'static str)> = self.leftovers.iter().collect();
        best.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Only a candidate with simple exponents is a formula; others can follow any curve.
        let simple = best.iter().filter(|(rms, ..)| (1e-9..0.2).contains(rms));
        simple.filter_map(|(_, form, _)| with_simple_exponents(form, 0.1)).take(4).any(|form| {
            let weights = relative_weights(&view.y, 1e-3);
            let Some(found) = polish_roughly(&form, view, &weights, &columns.mixed, &Free::Factors, 20) else {
                return false;
            };
            let values = found.form.values(&view.x, view.rows());
            let errors: Vec<f64> = values.iter().zip(&view.y).map(|(v, y)| (v - y) / (v.abs() + y.abs())).collect();
            errors.iter().all(|e| e.is_finite()) && is_white(&columns.part(&split.searched), &form, &errors)
        })
    }

    /// Looks for functions within and around arithmetic.
    fn functions(&mut self, problem: &Problem<'_>) -> bool {
        let steps = steps();
        self.stopped |= self.observer.engine("functions", steps - 3, steps).is_break();
        let Judge { columns, split, .. } = self.judge;
        let meets = |expression: &Expression| {
            let values = values(expression, problem.table);
            let y = &columns.y;
            let middle = 1e-6 * median(y.iter().map(|y| y.abs()).collect());
            let error = |k: usize| (values[k] - y[k]).abs() / (y[k].abs() + middle);
            let errors: Vec<f64> = (0..y.len()).map(error).collect();
            let rms = root_mean_square(&values.iter().zip(y).map(|(v, y)| v - y).collect::<Vec<f64>>());
            // Near zeros of a wave the relative error has no bound, so a few rows may miss by more.
            let spread = deviation(y);
            errors.iter().all(|e| e.is_finite())
                && (0..y.len()).all(|k| (values[k] - y[k]).abs() <= 1e-12 * (y[k].abs() + spread))
                && median(errors.clone()) < 1e-13
                && quantile(errors, 0.98) < 1e-10
                && rms < 1e-10 * spread
        };
        let functions = Functions::new(columns, split, &meets);
        match functions.search(self) {
            Some(expression) => {
                let form = Form::monomial(1.0, vec![0.0; columns.x.len()]);
                let expression = Some(expression);
                self.found.push(Found { form, engine: "functions", exact: true, sigmas: None, expression });
                true
            }
            None => false,
        }
    }
}

impl Sink for Desk<'_> {
    fn offer(&mut self, form: Form, rms: f64) -> ControlFlow<()> {
        let promising = rms < PROMISING;
        let judged = if promising { self.judge.judge(&form, rms) } else { None };
        if let Some(judged) = judged {
            let exact = judged.exact;
            self.found.push(Found { form: judged.form, engine: self.engine, exact, sigmas: None, expression: None });
            if exact {
                return ControlFlow::Break(());
            }
        }
        if rms.is_finite() {
            self.leftovers.push((rms, form, self.engine));
        }
        ControlFlow::Continue(())
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        if self.stopped {
            return ControlFlow::Break(());
        }
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

/// Powers of columns in a plain product, how many columns have one at most, and how many products there are at most.
const POWERS: [f64; 6] = [1.0, -1.0, 2.0, -2.0, 0.5, -0.5];
const PLAIN: (usize, usize) = (3, 1000);

/// Products of powers of a few columns.
fn plain_products(columns: &Columns) -> Vec<Form> {
    let d = columns.x.len();
    let mut all = vec![vec![0.0; d]];
    let mut last = 0..1;
    for _ in 0..PLAIN.0 {
        let mut more = Vec::new();
        for powers in &all[last.clone()] {
            if all.len() + more.len() > PLAIN.1 {
                break;
            }
            let next = powers.iter().rposition(|e| *e != 0.0).map_or(0, |i| i + 1);
            for i in next..d {
                let usable = |e: &f64| !columns.mixed[i] || *e == e.round();
                more.extend(POWERS.into_iter().filter(usable).map(|e| {
                    let mut powers: Vec<f64> = powers.clone();
                    powers[i] = e;
                    powers
                }));
            }
        }
        last = all.len()..all.len() + more.len();
        // All products of so many columns, or none.
        if last.end > PLAIN.1 {
            break;
        }
        all.extend(more);
    }
    all.into_iter().skip(1).map(|powers| Form::monomial(1.0, powers)).collect()
}

/// Bits of a form with its constants.
fn bits(form: &Form) -> f64 {
    bits_of_form(form) + bits_of_constants(form)
}

/// Whether a form is one product of sums, and its constants are numbers that somebody would write down.
fn is_meant(form: &Form) -> bool {
    form.add.is_none() && all_constants_are_meant(form)
}

/// Makes reports.
struct Reporter<'a> {
    table: &'a Table,
    columns: &'a Columns,
    split: &'a Split,
    printed: Option<&'a [f64]>,
    lines: Option<&'a [Line]>,
    flags: Vec<Flag>,
}

impl Reporter<'_> {
    fn deviation(&self) -> f64 {
        deviation(&self.columns.y)
    }

    /// The root mean square of what a form misses in some rows.
    fn error(&self, form: &Form, rows: &[usize]) -> f64 {
        let values = form.values(&self.columns.x, self.columns.y.len());
        root_mean_square(&rows.iter().map(|&k| values[k] - self.columns.y[k]).collect::<Vec<f64>>())
    }

    fn candidate(&self, found: &Found) -> Option<Candidate> {
        let y = &self.columns.y;
        let written = || write::expression(&found.form, &self.columns.meaning);
        let expression = found.expression.clone().unwrap_or_else(written);
        let values = if found.expression.is_some() || found.form.has_root_of_square() {
            values(&expression, self.table)
        } else {
            found.form.values(&self.columns.x, y.len())
        };
        let error = |rows: &[usize]| {
            root_mean_square(&rows.iter().map(|&k| values[k] - y[k]).collect::<Vec<f64>>()) / self.deviation()
        };
        let (error_inside, error_outside) = (error(&self.split.inside), error(&self.split.outside));
        let terms = found.form.sums.iter().flat_map(|sum| &sum.terms);
        // A 1 is written down only where it stands alone.
        let alone = terms.clone().map(|t| t.powers.iter().all(|e| *e == 0.0));
        let constants = [found.form.factor].into_iter().chain(terms.map(|t| t.factor));
        let sigma = |k: usize| found.sigmas.as_ref().and_then(|s| s.get(k).copied()).unwrap_or(0.0);
        let interval = |(k, value): (usize, f64)| {
            let half = SURE * sigma(k);
            Coefficient { value, low: value - half, high: value + half }
        };
        let coefficients = constants.enumerate().map(interval).zip([false].into_iter().chain(alone));
        let coefficients =
            coefficients.filter(|(c, alone)| c.value.abs() != 1.0 || (*alone && c.low < c.high)).map(|(c, _)| c);
        let candidate = Candidate {
            complexity: expression.size(),
            error_inside,
            error_outside,
            engine: found.engine,
            coefficients: coefficients.collect(),
            expression,
        };
        candidate.error_inside.is_finite().then_some(candidate)
    }

    /// Whether the printed digits say much more than a form does that meets them all.
    fn digits_outweigh(&self, form: &Form) -> bool {
        let Some(units) = self.printed else { return false };
        // What a row's digits say beyond the size and the spread of the target.
        let spread = self.deviation();
        let met: f64 = units.iter().map(|unit| libm::log2((spread / unit).max(1.0))).sum();
        met >= bits(form) + OUTWEIGHED
    }

    /// Whether a form meets every row within half a unit of its last printed digit, and says less than the digits.
    fn meets_printed_digits(&self, form: &Form) -> bool {
        let Some(units) = self.printed else { return false };
        !interpolates(self.columns, form)
            && !has_pole_at_a_row(self.columns, form)
            && Printed::new(self.columns, units).meets(form)
            && self.digits_outweigh(form)
            && self.split.outside.len() > form.free_constants()
    }

    fn lines_of(&self, rows: &[usize]) -> Vec<Line> {
        self.lines.map(|lines| rows.iter().map(|&row| lines[row].clone()).collect()).unwrap_or_default()
    }

    /// What printed digits say, or, without them, that a row is exact.
    fn digits(&self) -> Printed<'_> {
        let nothing = vec![0.0; self.columns.y.len()];
        Printed::new(self.columns, self.printed.unwrap_or(&nothing)).or_share(MOST.1)
    }

    /// Plain products of columns that most rows agree on. Two laws in one table, or digits of which few are printed, can hide them from every fit.
    fn products(&self) -> Vec<Form> {
        let digits = self.digits().part(&self.split.searched);
        let agree = |form: &Form| digits.share_of_most(form) > MOST.0;
        plain_products(self.columns).into_iter().filter(agree).collect()
    }

    /// A form that is exact in most rows with a factor that most rows agree on, and the rows that it misses. Other rows pull every factor that
    /// is fitted to all. Rows in which both are 0 say nothing: any factor meets them.
    fn exact_in_most(&self, form: &Form) -> Option<(Form, Vec<usize>)> {
        let Columns { x, y, .. } = self.columns;
        let form = self.digits().with_factor_of_most(form).filter(is_meant)?;
        let values = form.values(x, y.len());
        let telling: Vec<usize> = (0..y.len()).filter(|&k| y[k] != 0.0 || values[k] != 0.0).collect();
        let off = |k: usize| (values[k] - y[k]).abs();
        let unit = |k: usize| self.printed.map_or(0.0, |units| units[k]);
        let is_missed = |k: usize| off(k).is_nan() || off(k) > (MOST.1 * y[k].abs()).max(unit(k));
        let missed: Vec<usize> = telling.iter().copied().filter(|&k| is_missed(k)).collect();
        let far = missed.iter().all(|&k| off(k).is_nan() || off(k) > ANOTHER_LAW * unit(k));
        let met = telling.len() - missed.len();
        let enough = met as f64 > MOST.0 * telling.len() as f64 && met > form.free_constants() + FEW_MET;
        (enough && far && !missed.is_empty()).then_some((form, missed))
    }

    /// The form that is exact but for how the target was printed: the one that was settled on, or one with the factor that all rows allow. Halves that are all rounded
    /// up pull a factor that is fitted, and a constant that is merely near the one that was meant would still meet the digits.
    fn exact_as_printed(&self, outcome: &noisy::Outcome, forms: &[Form]) -> Option<Form> {
        let printed = Printed::new(self.columns, self.printed?);
        let is_exact = |form: &Form| is_meant(form) && self.meets_printed_digits(form) && printed.are_known(form);
        if outcome.meant && is_exact(&outcome.form) {
            return Some(outcome.form.clone());
        }
        let exact = forms.iter().filter_map(|form| printed.with_meant_factor(form)).filter(is_exact);
        exact.min_by(|a, b| bits(a).total_cmp(&bits(b)))
    }

    /// The simplest form that meets every row within half a unit of its last printed digit, with constants that could be others, and how far off these may be.
    fn within_digits(&self, forms: &[Form]) -> Option<(Form, Vec<f64>)> {
        let printed = Printed::new(self.columns, self.printed?);
        let mut all: Vec<&Form> = forms.iter().collect();
        all.sort_by(|a, b| bits(a).total_cmp(&bits(b)));
        let met = all.into_iter().take(WITHIN).filter_map(|form| {
            // Constants that were settled may do as they are.
            let form = if printed.meets(form) { form.clone() } else { printed.fitted(form)? };
            let errors = printed.errors(&form)?;
            self.meets_printed_digits(&form).then_some((form, errors))
        });
        met.min_by(|(a, _), (b, _)| bits(a).total_cmp(&bits(b)))
    }

    fn report(mut self, found: Vec<Found>, mut outcome: Option<noisy::Outcome>) -> Report {
        let (mut verdict, mut precision, mut noise) = (Verdict::None, None, None);
        let products = if outcome.is_some() { self.products() } else { Vec::new() };
        let forms: Vec<Form> = outcome.iter().flat_map(noisy::Outcome::forms).cloned().chain(products).collect();
        let exact = outcome.as_ref().and_then(|outcome| self.exact_as_printed(outcome, &forms));
        let as_printed = exact.is_some();
        outcome.iter_mut().zip(exact).for_each(|(outcome, exact)| outcome.form = exact);
        let within = outcome.as_ref().filter(|_| !as_printed).and_then(|_| self.within_digits(&forms));
        let is_within = within.is_some();
        outcome.iter_mut().zip(within).for_each(|(outcome, (form, errors))| {
            (outcome.size, outcome.ambiguous) = (self.error(&form, &self.split.inside), None);
            (outcome.form, outcome.noise) = (form, crate::Noise::Additive);
            outcome.sigmas = errors.into_iter().map(|error| error / SURE).collect();
        });
        let mixture = outcome.as_mut().filter(|_| !as_printed && !is_within).and_then(|outcome| {
            let fewest = |(a, missed): &(Form, Vec<usize>), (b, others): &(Form, Vec<usize>)| {
                missed.len().cmp(&others.len()).then(bits(a).total_cmp(&bits(b)))
            };
            let (form, missed) = forms.iter().filter_map(|form| self.exact_in_most(form)).min_by(fewest)?;
            (outcome.form, outcome.ambiguous) = (form, None);
            outcome.sigmas = Vec::new();
            Some(missed)
        });
        let mut all = found;
        all.sort_by_key(|found| !found.exact);
        let mut sentence = String::new();
        if let Some(best) = all.first().filter(|best| best.exact) {
            (verdict, precision) = (Verdict::Exact, Some(Precision::F64));
            if self.split.outside.len() <= best.free_constants() {
                verdict = Verdict::Approximate;
                precision = None;
                self.flags.push(Flag::FewRowsOutside);
                sentence =
                    "Approximate: the formula meets all rows, but too few were held back to call it exact.".into();
            }
        } else if let Some(outcome) = outcome {
            let size = match outcome.noise {
                crate::Noise::Additive => significant(outcome.size, 3),
                crate::Noise::Relative => format!("{} of the target", significant(outcome.size, 3)),
            };
            noise = Some((outcome.noise, outcome.size));
            if let Some(missed) = mixture {
                (verdict, precision, noise) = (Verdict::Approximate, Some(Precision::F64), None);
                let (met, rows) = (self.columns.y.len() - missed.len(), self.columns.y.len());
                sentence =
                    format!("Approximate: the formula is exact in {met} of {rows} rows, and wrong in the others.");
                self.flags.push(Flag::Apart { lines: self.lines_of(&missed), rows: missed });
            } else if as_printed {
                (verdict, precision) = (Verdict::Exact, Some(Precision::Printed));
                noise = None;
            } else if is_within {
                verdict = Verdict::Consistent;
                sentence = format!(
                    "Consistent: the formula is within half a unit of the last printed digit in all {} rows, but so it is with other constants.",
                    self.columns.y.len()
                );
            } else if outcome.one_size
                && outcome.white > 1e-4
                && outcome.alike < 3.5
                && outcome.outside < 1.6 * outcome.inside + 1e-300
                && outcome.inside < 0.2
            {
                verdict = Verdict::Consistent;
                sentence = if outcome.inside < 1e-13 && outcome.outside < 1e-13 {
                    "Consistent: the formula meets all rows, but these do not suffice to call it exact.".into()
                } else {
                    format!("Consistent: what the formula misses looks like noise of size {size}.")
                };
            } else if outcome.inside < 0.1 {
                verdict = Verdict::Approximate;
            }
            // Where the others are not exact, many rows that stand apart say that the formula is wrong, not they.
            let few = outcome.apart.len() as f64 <= odd::SHARE * self.columns.y.len() as f64;
            if !outcome.apart.is_empty() && few && verdict == Verdict::Approximate && precision.is_none() {
                self.flags.push(Flag::Apart { lines: self.lines_of(&outcome.apart), rows: outcome.apart });
            }
            if let Some(other) =
                outcome.ambiguous.filter(|_| matches!(verdict, Verdict::Consistent | Verdict::Approximate))
            {
                self.flags.push(Flag::Ambiguous { candidate: other });
            }
            let best = Found {
                form: outcome.form,
                engine: outcome.engine,
                exact: false,
                sigmas: Some(outcome.sigmas),
                expression: None,
            };
            let others = outcome.others.into_iter();
            let others =
                others.map(|(form, engine)| Found { form, engine, exact: false, sigmas: None, expression: None });
            all = [best].into_iter().chain(others).chain(all).collect();
        }
        if verdict == Verdict::Exact
            && let Some(best) = all.first_mut()
        {
            best.sigmas = None;
        }
        let ambiguous = self.flags.iter().find_map(|f| match f {
            Flag::Ambiguous { candidate } => Some(*candidate),
            _ => None,
        });
        let mut candidates = self.front(&all, ambiguous);
        // A formula whose errors are no numbers cannot be shown, and so not be claimed.
        if candidates.is_empty() && verdict != Verdict::None {
            (verdict, precision, noise) = (Verdict::None, None, None);
            sentence = String::new();
            let of_formula =
                |flag: &Flag| matches!(flag, Flag::Apart { .. } | Flag::Ambiguous { .. } | Flag::FewRowsOutside);
            self.flags.retain(|flag| !of_formula(flag));
        }
        if verdict == Verdict::None {
            noise = None;
            candidates.retain(|c| c.error_outside < TELLING.0 && c.complexity <= TELLING.1);
            // None of them is the answer, so that the first is merely the one that misses least.
            candidates.sort_by(|a, b| a.error_inside.total_cmp(&b.error_inside));
        }
        if sentence.is_empty() {
            sentence = self.sentence(verdict, precision);
        }
        Report {
            verdict,
            precision,
            sentence,
            candidates,
            noise,
            rows_inside: self.split.inside.len(),
            rows_outside: self.split.outside.len(),
            flags: self.flags,
        }
    }

    /// The best candidate, the one that is as good, and those that are simpler than all better ones.
    fn front(&mut self, all: &[Found], ambiguous: Option<usize>) -> Vec<Candidate> {
        let mut list: Vec<Candidate> = all.first().and_then(|best| self.candidate(best)).into_iter().collect();
        if let Some(other) = ambiguous.and_then(|k| all.get(k)).and_then(|other| self.candidate(other)) {
            list.push(other);
            let place = list.len() - 1;
            self.flags.iter_mut().for_each(|f| {
                if let Flag::Ambiguous { candidate } = f {
                    *candidate = place;
                }
            });
        }
        let others = all.iter().enumerate().skip(1).take(40).filter(|(k, _)| Some(*k) != ambiguous);
        let mut rest: Vec<Candidate> = others.filter_map(|(_, found)| self.candidate(found)).collect();
        rest.sort_by(|a, b| a.error_inside.total_cmp(&b.error_inside));
        let mut simplest = list.first().map_or(usize::MAX, |best| best.complexity);
        for candidate in rest {
            if candidate.complexity < simplest && list.len() < CANDIDATES {
                simplest = candidate.complexity;
                list.push(candidate);
            }
        }
        list
    }

    fn sentence(&self, verdict: Verdict, precision: Option<Precision>) -> String {
        let (inside, outside) = (self.split.inside.len(), self.split.outside.len());
        match (verdict, precision) {
            (Verdict::Exact, Some(Precision::Printed)) => format!(
                "Exact: the formula is within half a unit of the last printed digit in all {} rows, {outside} of them held back.",
                inside + outside
            ),
            (Verdict::Exact, _) => format!(
                "Exact: the formula meets {inside} fitted and {outside} held-out rows to the rounding of double precision (1e-14)."
            ),
            (Verdict::Approximate, _) => {
                "Approximate: the formula follows the target, but what it misses is more than noise.".into()
            }
            _ if self.flags.iter().any(|flag| matches!(flag, Flag::Stopped)) => STOPPED.into(),
            _ => "None: no formula of these kinds explains the target.".into(),
        }
    }
}

//! From a candidate to an exact formula: simple exponents, simple constants, and a test on all rows.

use crate::columns::{Columns, Split, View};
use crate::constants;
use crate::dense::median;
use crate::form::{Form, Sum, is_odd, is_whole, multiply, outside};
use crate::polish::{Free, Part, polish};
use std::collections::BTreeSet;

/// Bits of constants beyond which a formula is a list of numbers.
const MOST_BITS: f64 = 150.0;
/// How closely constants without meaning must be known, as a share of them.
const KNOWN: f64 = 1e-11;
/// How closely constants are known before they are made simple.
const RELATIVE: f64 = 1e-11;

/// How a formula over the columns themselves fares.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) form: Form,
    pub(crate) exact: bool,
}

/// The nearest simple exponent within a tolerance: whole numbers first, then halves, thirds and quarters, then fifths.
pub(crate) fn simple_exponent(v: f64, tolerance: f64) -> Option<f64> {
    [(1.0, 1.0), (2.0, 0.5), (3.0, 0.2), (4.0, 0.2), (5.0, 0.1)].into_iter().find_map(|(d, share)| {
        let r = (v * d).round() / d;
        ((v - r).abs() <= tolerance * share).then_some(r)
    })
}

pub(crate) fn with_simple_exponents(form: &Form, tolerance: f64) -> Option<Form> {
    let mut form = form.clone();
    let mut all = true;
    let mut simple = |v: f64| {
        let found = simple_exponent(v, tolerance);
        all &= found.is_some();
        found.unwrap_or(v)
    };
    form.map_powers(&mut |_, e| simple(e));
    form.sums.iter_mut().for_each(|sum| sum.power = simple(sum.power));
    all.then_some(form)
}

/// For columns of both signs, x outside of a root is wrong where the sign of the target does not go with x: |x| is meant, so x goes
/// into the root. Where it does go with x, it comes out.
pub(crate) fn with_right_signs(mut form: Form, mixed: &[bool], parity: Option<&(f64, Vec<bool>)>) -> Form {
    let Some((_, odd)) = parity else { return form };
    for i in (0..mixed.len()).filter(|&i| mixed[i]) {
        let is_root = |sum: &&mut Sum| !is_whole(sum.power) && is_whole(2.0 * sum.power);
        let Some(root) = form.sums.iter_mut().find(is_root) else { continue };
        let outside_odd = is_odd(form.powers[i]);
        if outside_odd && !odd[i] {
            let shift = form.powers[i] / root.power;
            root.terms.iter_mut().for_each(|t| t.powers[i] += shift);
            form.powers[i] = 0.0;
        } else if odd[i] && !outside_odd {
            let least = root.terms.iter().map(|t| t.powers[i]).fold(f64::INFINITY, f64::min);
            let out = least * root.power;
            if is_whole(out) && is_odd(out) {
                root.terms.iter_mut().for_each(|t| t.powers[i] -= least);
                form.powers[i] += out;
            }
        }
    }
    form
}

/// Weights that make all rows count alike, but for those near 0.
pub(crate) fn relative_weights(y: &[f64], floor: f64) -> Vec<f64> {
    let middle = floor * median(y.iter().map(|y| y.abs()).collect());
    y.iter().map(|y| 1.0 / (y.abs() + middle).max(f64::MIN_POSITIVE)).collect()
}

/// Judges candidates over one set of columns.
pub(crate) struct Judge<'a> {
    pub(crate) columns: &'a Columns,
    pub(crate) split: &'a Split,
    pub(crate) view: View,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(columns: &'a Columns, split: &'a Split) -> Self {
        Self { view: columns.view(&split.searched), columns, split }
    }

    /// Errors in units of the size of the row and of what rounding can do there.
    fn errors(&self, form: &Form, x: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
        let (values, mut conditions) = form.values_and_conditions(x, y.len());
        for (i, own) in self.columns.conditions.iter().filter(|(_, own)| own.len() == y.len()) {
            let power = form.largest_power(*i);
            conditions.iter_mut().zip(own).for_each(|(c, own)| *c *= 1.0 + power * own);
        }
        let error = |k: usize| {
            let (v, y) = (values[k], y[k]);
            let e = (v - y).abs() / (v.abs().max(y.abs()) * conditions[k] + 1e-300);
            if v == y {
                0.0
            } else if e.is_finite() {
                e
            } else {
                f64::INFINITY
            }
        };
        (0..y.len()).map(error).collect()
    }

    /// Judges a form over the scaled view.
    pub(crate) fn judge(&self, form: &Form, rms: f64) -> Option<Judged> {
        match &form.add {
            None => self.finish(self.columns.unscaled(&self.with_simple_parts(form, rms)?)),
            Some(other) => self.judge_sum(form, other, rms),
        }
    }

    /// What is added gets simple constants and is subtracted from the target; the rest is judged by itself, then both together.
    fn judge_sum(&self, form: &Form, other: &Form, rms: f64) -> Option<Judged> {
        let Columns { x, y, mixed, target_scale, .. } = self.columns;
        let mut other = self.columns.unscaled(other).simplified(mixed);
        for sum in &mut other.sums {
            let scale = simplify_sum(sum, 1e-8)?;
            other.factor *= outside(scale, sum.power);
        }
        other.factor = constants::meant(other.factor, 1e-8).map_or(other.factor, |m| m.value);
        let known = other.values(x, y.len());
        let rest: Vec<f64> = y.iter().zip(known).map(|(y, v)| y - v).collect();
        if rest.iter().any(|z| !z.is_finite()) || rest.iter().all(|z| *z == 0.0) {
            return None;
        }
        let rest = self.columns.with_target(rest);
        let mut own = Form { add: None, ..form.clone() };
        own.factor *= target_scale / rest.target_scale;
        let judged = Judge::new(&rest, self.split).judge(&own, rms)?;
        // What is left of a difference has fewer digits than the target; the sum decides.
        Some(self.test(Form { add: Some(Box::new(other)), ..judged.form }))
    }

    /// Simple exponents and fitted constants, if the search rows then agree.
    fn with_simple_parts(&self, form: &Form, rms: f64) -> Option<Form> {
        let Self { columns, view, .. } = self;
        let weights = relative_weights(&view.y, 1e-3);
        let mut form = form.clone();
        for attempt in 0..3 {
            if let Some(simple) = with_simple_exponents(&form, if attempt == 0 { 2e-3 } else { 1e-3 }) {
                let simple = with_right_signs(simple, &columns.mixed, columns.parity.as_ref());
                let simple = simple.with_median_factor(&view.x, &view.y)?;
                if let Some(found) = polish(&simple, view, &weights, &columns.mixed, &Free::Factors, 25)
                    && median(self.errors(&found.form, &view.x, &view.y)) < 1e-11
                {
                    return Some(found.form);
                }
            }
            if attempt == 2 {
                break;
            }
            let most = if attempt == 0 { 30 } else { 60 };
            let found = polish(&form, view, &weights, &columns.mixed, &Free::AllBut(&BTreeSet::new()), most)?;
            if attempt == 0 && rms > 1e-5 && (found.squares / view.rows() as f64).sqrt() > 1e-5 {
                return None;
            }
            form = found.form;
        }
        None
    }

    /// Makes the constants of a form over the columns themselves simple, and tests it on all rows.
    pub(crate) fn finish(&self, form: Form) -> Option<Judged> {
        let Columns { x, y, mixed, .. } = self.columns;
        let form = form.simplified(mixed).without_roots_of_squares(x, y.len());
        let (form, multiplied_out) = self.with_simple_constants(form)?;
        if let Some(judged) = multiplied_out.map(|form| self.test(form)).filter(|judged| judged.exact) {
            return Some(judged);
        }
        Some(self.test(form))
    }

    /// The test for `exact`.
    pub(crate) fn test(&self, form: Form) -> Judged {
        let Columns { x, y, .. } = self.columns;
        let errors = self.errors(&form, x, y);
        let rms = |rows: &[usize]| {
            (rows.iter().map(|&k| errors[k] * errors[k]).sum::<f64>() / rows.len().max(1) as f64).sqrt()
        };
        let (inside, outside) = (rms(&self.split.inside), rms(&self.split.outside));
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let values = form.values(x, y.len());
        let plain = (0..y.len()).filter(|&k| y[k] != 0.0).map(|k| (values[k] - y[k]).abs() / y[k].abs()).collect();
        // Conditions are large where a sum nearly cancels everywhere, so the plain error must be small as well.
        let exact = inside < 1e-14 && outside < 1e-14 && worst < 3e-13 && median(plain) < 1e-12;
        let exact = exact
            && bits_of_constants(&form) <= MOST_BITS
            && !looks_alike(&form)
            && !interpolates(self.columns, &form)
            && !has_pole_at_a_row(self.columns, &form)
            && self.are_known(&form);
        Judged { exact, form }
    }

    /// Whether the rows determine constants without meaning to many digits. On a narrow range an expansion of whatever function has as small
    /// errors as the truth, but other constants would do nearly as well.
    fn are_known(&self, form: &Form) -> bool {
        if form.add.is_some() || all_constants_are_meant(form) {
            return true;
        }
        let part = |x: &Vec<f64>| self.split.searched.iter().map(|&k| x[k]).collect::<Vec<f64>>();
        let view = View { x: self.columns.x.iter().map(part).collect(), y: part(&self.columns.y) };
        let weights = relative_weights(&view.y, 1e-3);
        let fitted = polish(form, &view, &weights, &self.columns.mixed, &Free::Factors, 2);
        fitted.is_some_and(|fitted| {
            let mut errors = fitted.parts.iter().zip(&fitted.sigmas).filter_map(|(part, sigma)| match *part {
                Part::TermFactor(s, t) => Some(sigma / fitted.form.sums[s].terms[t].factor.abs()),
                _ => None,
            });
            errors.all(|error| error < KNOWN)
        })
    }

    /// The form with simple constants, and the same multiplied out if that reads better.
    fn with_simple_constants(&self, mut form: Form) -> Option<(Form, Option<Form>)> {
        let raw = form.clone();
        for sum in &mut form.sums {
            let scale = simplify_sum(sum, RELATIVE)?;
            form.factor *= outside(scale, sum.power);
        }
        form = form.with_sums_once();
        let Columns { x, y, .. } = self.columns;
        if form.add.is_none() {
            form = form.with_median_factor(x, y)?;
        }
        if let Some(meant) = constants::meant(form.factor, RELATIVE) {
            form.factor = meant.value;
        }
        // As many numbers, or fewer, and not much longer: then k x + c reads better.
        let better = |other: &Form| {
            let (now, then) = (bits_of_constants(&form), bits_of_constants(other));
            then < now || (then < now + OUT && numbers(other) <= numbers(&form))
        };
        let other = multiplied_out(raw).filter(better);
        Some((form, other))
    }
}

/// Whether sums have as many powers of a column as the column has values, three or more: they can be drawn through whatever stands
/// there, and say nothing about other values.
pub(crate) fn interpolates(columns: &Columns, form: &Form) -> bool {
    let powers = |sum: &Sum, i: usize| {
        let mut powers: Vec<f64> = sum.terms.iter().map(|t| t.powers[i]).collect();
        powers.sort_by(f64::total_cmp);
        powers.dedup();
        powers.len()
    };
    let threads = |i: usize| {
        // A factor that is 0 where the column is meets that value, too.
        let zero = form.powers[i] > 0.0 && columns.x[i].contains(&0.0);
        let all = 1 + form.sums.iter().map(|sum| powers(sum, i) - 1).sum::<usize>() + usize::from(zero);
        all >= 3 && !has_more_values(&columns.x[i], all)
    };
    (0..columns.x.len()).any(threads) || form.add.as_ref().is_some_and(|add| interpolates(columns, add))
}

/// What is left of a sum, as a share of its terms, next to a pole.
const POLE: f64 = 1e-10;

/// Whether a row lies so near a pole that its value is whatever rounding makes of it: so a formula can bend around a single row that it
/// would miss.
pub(crate) fn has_pole_at_a_row(columns: &Columns, form: &Form) -> bool {
    let rows = columns.y.len();
    let vanishes = |sum: &Sum| {
        let (mut total, mut size) = (vec![0.0; rows], vec![0.0; rows]);
        for term in &sum.terms {
            let mut values = vec![term.factor; rows];
            multiply(&mut values, &columns.x, &term.powers);
            for k in 0..rows {
                total[k] += values[k];
                size[k] += values[k].abs();
            }
        }
        total.iter().zip(&size).any(|(total, size)| total.abs() < POLE * size)
    };
    form.sums.iter().any(|sum| sum.power < 0.0 && vanishes(sum))
        || form.add.as_ref().is_some_and(|add| has_pole_at_a_row(columns, add))
}

/// Whether a column has more than so many different values.
fn has_more_values(column: &[f64], most: usize) -> bool {
    let mut seen: Vec<f64> = Vec::new();
    column.iter().any(|x| {
        if !seen.contains(x) {
            seen.push(*x);
        }
        seen.len() > most
    })
}

/// How near a constant of an expansion comes to the number that it stands for, and how simple that number is.
const NEAR: f64 = 1e-6;
const SIMPLE: f64 = 12.0;

/// Whether a constant is next to a simple number without being it. So look expansions that meet the rows to rounding without being the
/// formula: 0.4999999999946 x^2 is part of a cosine.
fn looks_alike(form: &Form) -> bool {
    let near = |c: f64| {
        constants::meant(c, NEAR).is_some_and(|meant| meant.bits < SIMPLE && (c / meant.value - 1.0).abs() > 1e-13)
    };
    let mut terms = form.sums.iter().flat_map(|sum| &sum.terms).map(|t| t.factor).chain([form.factor]);
    terms.any(|c| c != 0.0 && near(c)) || form.add.as_ref().is_some_and(|add| looks_alike(add))
}

/// Bits that multiplying out may cost.
const OUT: f64 = 8.0;

/// Constants that are not 1.
fn numbers(form: &Form) -> usize {
    let terms = form.sums.iter().flat_map(|sum| &sum.terms).map(|t| t.factor);
    terms.chain([form.factor]).filter(|c| c.abs() != 1.0).count()
}

/// k (x + c/k) as k x + c: the factor in front taken into the first plain sum, and its constants made simple.
fn multiplied_out(mut form: Form) -> Option<Form> {
    let plain = form.sums.iter().position(|sum| sum.power == 1.0)?;
    for (_, sum) in form.sums.iter_mut().enumerate().filter(|(k, _)| *k != plain) {
        let scale = simplify_sum(sum, RELATIVE)?;
        form.factor *= outside(scale, sum.power);
    }
    for term in &mut form.sums[plain].terms {
        let factor = term.factor * form.factor;
        term.factor = constants::meant(factor, RELATIVE).map_or(factor, |meant| meant.value);
    }
    form.factor = 1.0;
    Some(form)
}

/// Divides a sum by the factor that makes its others simplest, makes them simple, and clears denominators. Returns what was taken out.
pub(crate) fn simplify_sum(sum: &mut Sum, relative: f64) -> Option<f64> {
    let whole = is_whole(sum.power);
    let bits = |by: f64| sum.terms.iter().map(|t| constants::bits(t.factor / by, relative)).sum::<f64>();
    let mut best: Option<(f64, f64)> = None;
    for t in &sum.terms {
        let by = if whole { t.factor } else { t.factor.abs() };
        let bits = bits(by);
        if by != 0.0 && best.is_none_or(|(least, _)| bits < least - 1e-9) {
            best = Some((bits, by));
        }
    }
    let (_, mut scale) = best?;
    let mut fractions = Vec::new();
    for t in &mut sum.terms {
        t.factor /= scale;
        let meant = constants::meant(t.factor, relative);
        if let Some(meant) = meant {
            t.factor = meant.value;
        }
        fractions.push(meant.and_then(|m| match m.kind {
            constants::Kind::Fraction(n, d, constants::Family::One) => Some((n, d)),
            _ => None,
        }));
    }
    if let Some(fractions) = fractions.into_iter().collect::<Option<Vec<_>>>() {
        let common = fractions.iter().try_fold(1i64, |l, (_, d)| (l / gcd(l, *d)).checked_mul(*d));
        if let Some(common) = common.filter(|l| *l <= 1000) {
            let wholes: Vec<i64> = fractions.iter().map(|(n, d)| n * (common / d)).collect();
            let divisor = wholes.iter().fold(0, |g, n| gcd(g, *n)).max(1);
            for (t, n) in sum.terms.iter_mut().zip(wholes) {
                t.factor = (n / divisor) as f64 * t.factor.signum();
            }
            scale *= divisor as f64 / common as f64;
        }
    }
    Some(scale)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

pub(crate) fn bits_of_constants(form: &Form) -> f64 {
    let terms = form.sums.iter().flat_map(|sum| &sum.terms).map(|t| t.factor);
    let own: f64 = terms.chain([form.factor]).map(|c| constants::bits(c, RELATIVE)).sum();
    own + form.add.as_ref().map_or(0.0, |add| bits_of_constants(add))
}

/// Whether every constant and every exponent is a number that somebody would write down.
pub(crate) fn all_constants_are_meant(form: &Form) -> bool {
    let simple = |e: f64| is_whole(60.0 * e);
    let mut simple_exponents = form.sums.iter().all(|sum| simple(sum.power));
    form.clone().map_powers(&mut |_, e| {
        simple_exponents &= simple(e);
        e
    });
    let terms = form.sums.iter().flat_map(|sum| &sum.terms).map(|t| t.factor);
    simple_exponents
        && terms.chain([form.factor]).all(|c| constants::meant(c, RELATIVE).is_some())
        && form.add.as_ref().is_none_or(|add| all_constants_are_meant(add))
}

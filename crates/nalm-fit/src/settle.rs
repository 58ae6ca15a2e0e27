//! The constants of a form where rows are noisy: fitted, simple where that makes the whole description shorter, and written in the way
//! that makes most of them simple. `k (x + c/k)` and `k x + c` say the same, but only one of them may have numbers that somebody means.

use crate::columns::View;
use crate::constants;
use crate::dense::{Matrix, Qr, dot, solve_damped};
use crate::form::{Form, is_whole, outside, power};
use crate::polish::{guard, lift};

/// A form with settled constants.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) form: Form,
    /// Bits of the errors beyond their unit, and of the constants.
    pub(crate) bits: f64,
    /// Standard errors of the factor in front and of the factors of all terms; 0 for those that give a sum its scale.
    pub(crate) errors: Vec<f64>,
    pub(crate) squares: f64,
    /// Whether every constant is a number that somebody means.
    pub(crate) meant: bool,
}

/// A form over rows: only its constants can change. The factor in front comes first, then the factors of all terms.
struct Laid<'a> {
    base: Vec<f64>,
    /// Powers of sums and the products that they add up.
    sums: Vec<(f64, Vec<Vec<f64>>)>,
    y: &'a [f64],
    weights: &'a [f64],
    /// The least mean square that says anything: that of rounding, where digits are printed.
    least: f64,
}

/// Which constants are free, and their values.
#[derive(Clone)]
struct State {
    values: Vec<f64>,
    free: Vec<bool>,
    squares: f64,
    /// Standard errors of what is free.
    errors: Vec<f64>,
    /// The same given what comes after: constants that hang together are not known, but what they say together is.
    own: Vec<f64>,
}

impl<'a> Laid<'a> {
    fn new(form: &Form, view: &'a View, weights: &'a [f64], least: f64) -> Self {
        let product = |powers: &[f64]| crate::form::monomial(&view.x, powers, view.rows());
        let sums = form.sums.iter().map(|sum| (sum.power, sum.terms.iter().map(|t| product(&t.powers)).collect()));
        Self { base: product(&form.powers), sums: sums.collect(), y: &view.y, weights, least }
    }

    /// Values and totals of sums.
    fn evaluate(&self, constants: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut values: Vec<f64> = self.base.iter().map(|b| b * constants[0]).collect();
        let mut totals = Vec::new();
        let mut place = 1;
        for (q, products) in &self.sums {
            let mut total = vec![0.0; values.len()];
            for product in products {
                crate::dense::add(&mut total, constants[place], product);
                place += 1;
            }
            if !is_whole(*q) && *q > 0.0 && !lift(&mut total) {
                values.fill(f64::NAN);
            }
            values.iter_mut().zip(&total).for_each(|(v, t)| *v *= power(*t, *q));
            totals.push(total);
        }
        (values, totals)
    }

    fn residuals(&self, values: &[f64]) -> Vec<f64> {
        (0..values.len()).map(|k| (self.y[k] - values[k]) * self.weights[k]).collect()
    }

    fn squares(&self, constants: &[f64]) -> f64 {
        let r = self.residuals(&self.evaluate(constants).0);
        let squares = dot(&r, &r);
        if squares.is_nan() { f64::INFINITY } else { squares }
    }

    /// Derivatives of the weighted values by the free constants.
    fn jacobian(&self, state: &State, values: &[f64], totals: &[Vec<f64>]) -> Matrix {
        let rows = values.len();
        let mut j = Matrix::new(rows);
        if state.free[0] {
            j.push((0..rows).map(|k| values[k] / state.values[0] * self.weights[k]));
        }
        let mut place = 1;
        for ((q, products), total) in self.sums.iter().zip(totals) {
            for product in products {
                if state.free[place] {
                    let slope = |k: usize| values[k] * q / guard(total[k]) * product[k] * self.weights[k];
                    j.push((0..rows).map(slope));
                }
                place += 1;
            }
        }
        j
    }

    /// Fits what is free, by Gauss and Newton.
    fn fit(&self, state: &mut State, most: usize) -> Option<()> {
        let places: Vec<usize> = (0..state.free.len()).filter(|&k| state.free[k]).collect();
        let (mut values, mut totals) = self.evaluate(&state.values);
        let mut r = self.residuals(&values);
        state.squares = dot(&r, &r);
        if !state.squares.is_finite() {
            return None;
        }
        for _ in 0..if places.is_empty() { 0 } else { most } {
            let mut j = self.jacobian(state, &values, &totals);
            let lengths = j.normalise();
            let mut step = solve_damped(&j.gram(), 1e-13, &j.transposed_times(&r))?;
            let mut better = None;
            for _ in 0..6 {
                let mut next = state.values.clone();
                for ((&place, step), length) in places.iter().zip(&step).zip(&lengths) {
                    next[place] += step / length;
                }
                let squares = self.squares(&next);
                if squares < state.squares {
                    better = Some((next, squares));
                    break;
                }
                step.iter_mut().for_each(|s| *s /= 4.0);
            }
            let Some((next, squares)) = better else { break };
            let gain = 1.0 - squares / state.squares;
            (state.values, state.squares) = (next, squares);
            (values, totals) = self.evaluate(&state.values);
            r = self.residuals(&values);
            if gain < 1e-7 {
                break;
            }
        }
        let rows = values.len();
        let mut j = self.jacobian(state, &values, &totals);
        let lengths = j.normalise();
        let mean = state.squares / rows.saturating_sub(places.len()).max(1) as f64;
        let sigma = mean.max(self.least).sqrt();
        state.errors = vec![0.0; state.free.len()];
        state.own = vec![0.0; state.free.len()];
        let qr = Qr::new(j, 1e-12);
        for (((&place, error), own), length) in places.iter().zip(qr.standard_errors()).zip(&qr.beyond).zip(&lengths) {
            state.errors[place] = sigma * error / length;
            state.own[place] = sigma / (own.abs() * length);
        }
        Some(())
    }

    fn bits_of_errors(&self, squares: f64) -> f64 {
        let n = self.y.len() as f64;
        n / 2.0 * libm::log2((squares / n).max(self.least))
    }

    fn bits_of_unknown(&self, state: &State) -> f64 {
        let unknown = (0..state.free.len()).filter(|&k| state.free[k]);
        unknown.map(|k| bits_of_free(state.values[k], state.own[k], self.y.len())).sum()
    }

    /// Whether no root is of a negative number.
    fn is_defined(&self, constants: &[f64]) -> bool {
        let mut place = 1;
        self.sums.iter().all(|(q, products)| {
            let own = &constants[place..place + products.len()];
            place += products.len();
            let total = |k: usize| products.iter().zip(own).map(|(m, c)| m[k] * c).sum::<f64>();
            is_whole(*q) || (0..self.y.len()).all(|k| total(k) >= 0.0)
        })
    }

    /// All constants that are likely to mean something, taken for that together, and the bits of those. Where they hang together,
    /// as in the square of a difference, one by one would not do.
    fn all_at_once(&self, state: &State) -> Option<(State, f64)> {
        let mut next = state.clone();
        let mut known = 0.0;
        for k in (0..state.free.len()).filter(|&k| state.free[k]) {
            if let Some(meant) = constants::likely(state.values[k], state.errors[k] / state.values[k].abs()) {
                (next.values[k], next.free[k]) = (meant.value, false);
                known += if meant.value.abs() == 1.0 { 0.0 } else { meant.bits };
            }
        }
        self.fit(&mut next, 6)?;
        Some((next, known))
    }
}

/// Bits of a constant with an error. One that is hardly known still costs what any free number of a fit costs.
fn bits_of_free(value: f64, error: f64, rows: usize) -> f64 {
    constants::bits_of_fitted(error / value.abs()).max(0.5 * libm::log2(rows as f64))
}

/// The ways to give sums their scale: for every sum the term whose factor is 1, or none for one sum that takes in the factor in front.
fn ways(form: &Form) -> Vec<Vec<Option<usize>>> {
    const MOST: usize = 40;
    let mut all: Vec<Vec<Option<usize>>> = vec![Vec::new()];
    for sum in &form.sums {
        let whole = is_whole(sum.power);
        let usable = |t: usize| whole || sum.terms[t].factor > 0.0;
        let own: Vec<Option<usize>> = (0..sum.terms.len()).filter(|&t| usable(t)).map(Some).collect();
        let own = own.into_iter().chain([None]);
        all = own.flat_map(|way| all.iter().map(move |before| before.iter().copied().chain([way]).collect())).collect();
        all.retain(|way: &Vec<Option<usize>>| way.iter().filter(|w| w.is_none()).count() <= 1);
        all.truncate(MOST);
    }
    all
}

/// The constants of a form in one way of writing it, and which of them give sums their scale.
fn written(form: &Form, way: &[Option<usize>]) -> Option<(Vec<f64>, Vec<bool>)> {
    let mut factor = form.factor;
    for (sum, way) in form.sums.iter().zip(way) {
        if let Some(t) = way {
            factor *= outside(sum.terms[*t].factor, sum.power);
        }
    }
    let takes_in = way.contains(&None);
    let (mut values, mut free) = (vec![if takes_in { factor.signum() } else { factor }], vec![!takes_in]);
    for (sum, way) in form.sums.iter().zip(way) {
        let by = match way {
            Some(t) => sum.terms[*t].factor,
            // A sum of a whole power can take in the sign as well, an odd one.
            None => 1.0 / power(factor.abs(), 1.0 / sum.power),
        };
        values.extend(sum.terms.iter().map(|t| t.factor / by));
        free.extend((0..sum.terms.len()).map(|t| *way != Some(t)));
    }
    if takes_in && values[0] < 0.0 {
        let mut place = 1;
        for (sum, way) in form.sums.iter().zip(way) {
            let own = place..place + sum.terms.len();
            if way.is_none() && is_whole(sum.power) && crate::form::is_odd(sum.power) {
                values[own].iter_mut().for_each(|v| *v = -*v);
                values[0] = 1.0;
                break;
            }
            place += sum.terms.len();
        }
    }
    values.iter().all(|v| v.is_finite() && *v != 0.0).then_some((values, free))
}

/// The shortest description of a form's constants and of what they miss. `least` is the smallest mean square that means anything.
pub(crate) fn settle(form: &Form, view: &View, weights: &[f64], least: f64) -> Option<Settled> {
    let laid = Laid::new(form, view, weights, least);
    let rows = view.rows();
    let mut best: Option<(f64, State, Vec<bool>)> = None;
    for way in ways(form) {
        let Some((values, free)) = written(form, &way) else { continue };
        let scales = free.clone();
        let mut state = State { values, free, squares: f64::INFINITY, errors: Vec::new(), own: Vec::new() };
        let Some(()) = laid.fit(&mut state, 12) else { continue };
        let at_once = laid.all_at_once(&state);
        let mut open: Vec<usize> = (0..state.free.len()).filter(|&k| state.free[k]).collect();
        let mut known = 0.0;
        // The surest first: what is known of one constant tells more about the others.
        loop {
            let gain = |&k: &usize| {
                let error = state.errors[k] / state.values[k].abs();
                let meant = constants::likely(state.values[k], error)?;
                let z = (meant.value - state.values[k]) / state.errors[k].max(f64::MIN_POSITIVE);
                Some((bits_of_free(state.values[k], state.errors[k], rows) - meant.bits - 0.72 * z * z, k, meant))
            };
            let gains = open.iter().filter_map(gain).filter(|g| g.0 > 0.0);
            let Some((_, k, meant)) = gains.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            open.retain(|o| *o != k);
            let mut next = state.clone();
            next.values[k] = meant.value;
            next.free[k] = false;
            if laid.fit(&mut next, 6).is_none() {
                continue;
            }
            let more = laid.bits_of_errors(next.squares) - laid.bits_of_errors(state.squares);
            let bits = if meant.value.abs() == 1.0 { 0.0 } else { meant.bits };
            if more + bits < bits_of_free(state.values[k], state.errors[k], rows) {
                state = next;
                known += bits;
            }
        }
        let mut bits = laid.bits_of_errors(state.squares) + known + laid.bits_of_unknown(&state);
        if let Some((other, known)) = at_once {
            let other_bits = laid.bits_of_errors(other.squares) + known + laid.bits_of_unknown(&other);
            // Only one of both may have values everywhere.
            let defined = [&state, &other].map(|state| laid.is_defined(&state.values));
            if (!defined[0], bits) > (!defined[1], other_bits) {
                (state, bits) = (other, other_bits);
            }
        }
        if !laid.is_defined(&state.values) {
            continue;
        }
        // Of ways that are as good, the one without a factor in front of a sum.
        let better = if way.contains(&None) && form.sums.len() == 1 && form.sums[0].power == 1.0 { -0.5 } else { 0.5 };
        if bits.is_finite() && best.as_ref().is_none_or(|best| bits < best.0 - better) {
            best = Some((bits, state, scales));
        }
    }
    let (bits, mut state, scales) = best?;
    let mut all = State { free: scales, ..state.clone() };
    laid.fit(&mut all, 0)?;
    for k in (0..state.values.len()).filter(|&k| state.free[k]) {
        state.values[k] = rounded(state.values[k], state.errors[k]);
    }
    let meant = state.free.iter().all(|free| !free);
    let mut settled = form.clone();
    settled.factor = state.values[0];
    let places = settled.sums.iter_mut().flat_map(|sum| &mut sum.terms);
    places.zip(&state.values[1..]).for_each(|(term, value)| term.factor = *value);
    let defined = settled.values(&view.x, rows).iter().all(|v| v.is_finite());
    defined.then_some(Settled { form: settled, bits, errors: all.errors, squares: state.squares, meant })
}

/// Without the digits that an error leaves no meaning: those below a hundredth of it.
fn rounded(value: f64, error: f64) -> f64 {
    if !(error > 0.0 && error.is_finite()) {
        return value;
    }
    let digits = libm::ceil(libm::log10(value.abs() / error) + 2.0).clamp(3.0, 17.0) as usize;
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Draws;
    use crate::form::{Sum, Term};

    fn line(noise: f64, slope: f64, offset: f64) -> Settled {
        let mut draws = Draws::new("a line");
        let x: Vec<f64> = (0..200).map(|_| 1.0 + 9.0 * draws.uniform()).collect();
        let y = x.iter().map(|x| slope * x + offset + noise * draws.normal()).collect();
        let term = |factor: f64, e: f64| Term { factor, powers: vec![e] };
        let sums = vec![Sum { power: 1.0, terms: vec![term(1.0, 1.0), term(1.01 * offset / slope, 0.0)] }];
        let form = Form { factor: slope, powers: vec![0.0], sums, add: None };
        settle(&form, &View { x: vec![x], y }, &[1.0; 200], 0.0).unwrap()
    }

    #[test]
    fn a_line_is_written_with_its_slope_and_its_offset() {
        let form = line(0.003, 1.19, 4.9).form;
        assert_eq!(form.factor, 1.0);
        assert_eq!(form.sums[0].terms.iter().map(|t| t.factor).collect::<Vec<_>>(), [1.19, 4.9]);
        // What is common to both is in front.
        let form = line(0.003, 0.25, 0.25).form;
        assert_eq!((form.factor, form.sums[0].terms[1].factor), (0.25, 1.0));
    }

    #[test]
    fn numbers_without_meaning_keep_their_decimals_and_errors() {
        let settled = line(0.1, 1.373_911, 2.378_9);
        let terms = &settled.form.sums[0].terms;
        let slope = settled.form.factor * terms[0].factor;
        let offset = settled.form.factor * terms[1].factor;
        assert!((slope - 1.373_911).abs() < 0.02 && (offset - 2.378_9).abs() < 0.1, "{settled:?}");
        assert_eq!(settled.errors.iter().filter(|e| **e > 0.0).count(), 2);
        assert!(settled.errors.iter().all(|e| *e < 0.1));
        assert!(format!("{slope}").len() <= 20 && format!("{}", settled.form.factor).len() <= 8, "{settled:?}");
    }
}

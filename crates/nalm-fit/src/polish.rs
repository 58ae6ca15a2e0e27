//! Fits what is free in a form, by Levenberg's and Marquardt's method in the units of the target.

use crate::columns::View;
use crate::dense::{Matrix, Qr, dot, median, solve_damped};
use crate::form::{Form, Term, is_odd, is_whole, outside, power};
use std::collections::BTreeSet;

/// A number of a form that can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The factor in front, by its logarithm.
    Factor,
    /// The exponent of a column in front.
    Power(usize),
    /// The power of a sum.
    SumPower(usize),
    /// The factor of a term of a sum.
    TermFactor(usize, usize),
    /// The exponent of a column in a term of a sum.
    TermPower(usize, usize, usize),
}

/// A fitted form.
pub(crate) struct Polished {
    pub(crate) form: Form,
    /// The weighted sum of squares.
    pub(crate) squares: f64,
    pub(crate) parts: Vec<Part>,
    /// Standard errors of the parts.
    pub(crate) sigmas: Vec<f64>,
}

/// What may move.
pub(crate) enum Free<'a> {
    /// Factors alone.
    Factors,
    /// Factors and all exponents but these.
    AllBut(&'a BTreeSet<Part>),
}

/// Divides every sum by one of its terms, so that no scale of a sum is free.
fn normalised(form: &Form, view: &View, mixed: &[bool]) -> Option<Form> {
    let mut form = form.clone();
    let rows = view.rows();
    for j in 0..form.sums.len() {
        let sum = form.sums[j].clone();
        let whole = is_whole(sum.power);
        let weight = |t: &Term| {
            let mut m = vec![t.factor; rows];
            crate::form::multiply(&mut m, &view.x, &t.powers);
            let size = median(m.iter().map(|m| m.abs()).collect());
            // Under a root the reference must be positive.
            if t.factor > 0.0 || whole { size } else { -size }
        };
        let weights: Vec<f64> = sum.terms.iter().map(weight).collect();
        let first = (0..weights.len()).fold(0, |best, k| if weights[k] > weights[best] { k } else { best });
        let mut terms = sum.terms;
        terms.swap(0, first);
        let head = terms[0].clone();
        if head.factor == 0.0 || (head.factor < 0.0 && !whole) {
            return None;
        }
        form.factor *= outside(head.factor, sum.power);
        for i in 0..form.powers.len() {
            // Neither out of a root for columns of both signs, nor where a row would be divided by 0.
            if (mixed[i] && !whole) || view.x[i].contains(&0.0) {
                continue;
            }
            let shift = head.powers[i];
            form.powers[i] += sum.power * shift;
            terms.iter_mut().for_each(|t| t.powers[i] -= shift);
        }
        terms.iter_mut().for_each(|t| t.factor /= head.factor);
        form.sums[j].terms = terms;
    }
    Some(form)
}

struct Fit<'a> {
    view: &'a View,
    weights: &'a [f64],
    logs: Vec<Vec<f64>>,
    parts: Vec<Part>,
    /// Whether rows are noisy.
    rough: bool,
}

/// Share of the rows in which noise may push what is under a root below 0.
const BELOW: f64 = 0.05;

/// Lifts what noise has pushed below 0 under a root to next to nothing; false if that is more than noise does.
pub(crate) fn lift(total: &mut [f64]) -> bool {
    let below = total.iter().filter(|t| **t <= 0.0).count();
    if below > 0 {
        let least = 1e-4 * median(total.iter().map(|t| t.abs()).collect());
        total.iter_mut().for_each(|t| *t = t.max(least));
    }
    below as f64 <= BELOW * total.len() as f64
}

impl Fit<'_> {
    fn product(&self, powers: &[f64]) -> Vec<f64> {
        let mut m = vec![1.0; self.view.rows()];
        let mut exponent: Option<Vec<f64>> = None;
        for ((x, log), &e) in self.view.x.iter().zip(&self.logs).zip(powers) {
            if e == 0.0 {
                continue;
            }
            if is_whole(e) && e.abs() < 12.0 {
                m.iter_mut().zip(x).for_each(|(m, &x)| *m *= power(x, e));
                continue;
            }
            crate::dense::add(exponent.get_or_insert_with(|| vec![0.0; m.len()]), e, log);
            // For columns of both signs the sign goes with the nearest whole exponent while it is not yet whole.
            if is_odd(e) {
                m.iter_mut().zip(x).filter(|(_, x)| **x < 0.0).for_each(|(m, _)| *m = -*m);
            }
        }
        if let Some(exponent) = exponent {
            m.iter_mut().zip(exponent).for_each(|(m, e)| *m *= libm::exp(e.clamp(-300.0, 300.0)));
        }
        m
    }

    /// Weighted residuals, and what derivatives are made of.
    #[allow(clippy::type_complexity)]
    fn residuals(&self, form: &Form) -> Option<(Vec<f64>, Vec<f64>, Vec<Vec<f64>>, Vec<Vec<Vec<f64>>>)> {
        let rows = self.view.rows();
        let mut values = self.product(&form.powers);
        values.iter_mut().for_each(|v| *v *= form.factor);
        let (mut totals, mut monomials) = (Vec::new(), Vec::new());
        for sum in &form.sums {
            let own: Vec<Vec<f64>> = sum.terms.iter().map(|t| self.product(&t.powers)).collect();
            let mut total = vec![0.0; rows];
            for (m, t) in own.iter().zip(&sum.terms) {
                crate::dense::add(&mut total, t.factor, m);
            }
            let whole = is_whole(sum.power);
            if self.rough && !whole && sum.power > 0.0 && !lift(&mut total) {
                return None;
            }
            if !whole && total.iter().any(|t| *t <= 0.0) {
                return None;
            }
            values.iter_mut().zip(&total).for_each(|(v, t)| *v *= power(*t, sum.power));
            totals.push(total);
            monomials.push(own);
        }
        let r: Vec<f64> = (0..rows).map(|k| (self.view.y[k] - values[k]) * self.weights[k]).collect();
        r.iter().all(|r| r.is_finite()).then_some((r, values, totals, monomials))
    }

    fn jacobian(&self, form: &Form, values: &[f64], totals: &[Vec<f64>], monomials: &[Vec<Vec<f64>>]) -> Matrix {
        let rows = self.view.rows();
        // What a change of a sum by 1 does to the values.
        let by_sums: Vec<Vec<f64>> = form
            .sums
            .iter()
            .zip(totals)
            .map(|(sum, total)| (0..rows).map(|k| values[k] * sum.power / guard(total[k])).collect())
            .collect();
        let weights = self.weights;
        let mut j = Matrix::new(rows);
        for part in &self.parts {
            match *part {
                Part::Factor => j.push((0..rows).map(|k| values[k] * weights[k])),
                Part::Power(i) => j.push((0..rows).map(|k| values[k] * self.logs[i][k] * weights[k])),
                Part::SumPower(s) => {
                    j.push((0..rows).map(|k| values[k] * libm::log(totals[s][k].abs().max(1e-300)) * weights[k]));
                }
                Part::TermFactor(s, t) => {
                    let (by_sum, m) = (&by_sums[s], &monomials[s][t]);
                    j.push((0..rows).map(|k| by_sum[k] * m[k] * weights[k]));
                }
                Part::TermPower(s, t, i) => {
                    let (by_sum, m, log) = (&by_sums[s], &monomials[s][t], &self.logs[i]);
                    let factor = form.sums[s].terms[t].factor;
                    j.push((0..rows).map(|k| by_sum[k] * m[k] * factor * log[k] * weights[k]));
                }
            }
        }
        j
    }

    fn moved(&self, form: &Form, step: &[f64]) -> Form {
        let mut form = form.clone();
        for (part, &step) in self.parts.iter().zip(step) {
            match *part {
                Part::Factor => form.factor *= libm::exp(step.clamp(-5.0, 5.0)),
                Part::Power(i) => form.powers[i] += step,
                Part::SumPower(s) => form.sums[s].power += step,
                Part::TermFactor(s, t) => form.sums[s].terms[t].factor += step,
                Part::TermPower(s, t, i) => form.sums[s].terms[t].powers[i] += step,
            }
        }
        form
    }
}

/// A divisor that is not 0.
pub(crate) fn guard(x: f64) -> f64 {
    if x == 0.0 { 1e-300 } else { x }
}

/// Fits a form to a view with weights for its rows, to the last digit.
pub(crate) fn polish(
    form: &Form,
    view: &View,
    weights: &[f64],
    mixed: &[bool],
    free: &Free<'_>,
    most: usize,
) -> Option<Polished> {
    levenberg_marquardt(form, view, weights, mixed, free, most, false)
}

/// The same by normal equations, which are faster and good enough where rows are noisy.
pub(crate) fn polish_roughly(
    form: &Form,
    view: &View,
    weights: &[f64],
    mixed: &[bool],
    free: &Free<'_>,
    most: usize,
) -> Option<Polished> {
    levenberg_marquardt(form, view, weights, mixed, free, most, true)
}

fn levenberg_marquardt(
    form: &Form,
    view: &View,
    weights: &[f64],
    mixed: &[bool],
    free: &Free<'_>,
    most: usize,
    rough: bool,
) -> Option<Polished> {
    if form.add.is_some() || form.factor == 0.0 {
        return None;
    }
    let mut form = normalised(form, view, mixed)?;
    let columns = view.columns();
    let mut parts = vec![Part::Factor];
    let exponents = |part: Part| match free {
        Free::Factors => false,
        Free::AllBut(fixed) => !fixed.contains(&part),
    };
    parts.extend((0..columns).map(Part::Power).filter(|p| exponents(*p)));
    parts.extend((0..form.sums.len()).map(Part::SumPower).filter(|p| exponents(*p)));
    for (s, sum) in form.sums.iter().enumerate() {
        for t in 1..sum.terms.len() {
            parts.push(Part::TermFactor(s, t));
            parts.extend((0..columns).map(|i| Part::TermPower(s, t, i)).filter(|p| exponents(*p)));
        }
    }
    let fit = Fit {
        view,
        weights,
        logs: view.x.iter().map(|x| x.iter().map(|x| libm::log(x.abs().max(1e-300))).collect()).collect(),
        parts,
        rough,
    };
    let n = fit.parts.len();
    let (mut r, mut values, mut totals, mut monomials) = fit.residuals(&form)?;
    let mut cost = dot(&r, &r);
    let mut damping: f64 = 1e-4;
    for _ in 0..most {
        let mut j = fit.jacobian(&form, &values, &totals, &monomials);
        let scales = j.normalise();
        let normal = rough.then(|| (j.gram(), j.transposed_times(&r)));
        let mut taken = false;
        let mut gain = 0.0;
        for _ in 0..8 {
            let mut step = match &normal {
                Some((h, g)) => match solve_damped(h, damping.max(1e-12), g) {
                    Some(step) => step,
                    None => {
                        damping = damping * 8.0 + 1e-12;
                        continue;
                    }
                },
                None => {
                    // [J; √λ I] step = [r; 0]
                    let mut stacked = Matrix::new(j.rows + n);
                    for k in 0..n {
                        let below = (0..n).map(|i| if i == k { f64::sqrt(damping) } else { 0.0 });
                        stacked.push(j.column(k).iter().copied().chain(below));
                    }
                    let mut rhs = r.clone();
                    rhs.resize(j.rows + n, 0.0);
                    Qr::new(stacked, 0.0).solve(&rhs)
                }
            };
            step.iter_mut().zip(&scales).for_each(|(s, g)| *s /= g);
            let next = fit.moved(&form, &step);
            if let Some(found) = fit.residuals(&next) {
                let squares = dot(&found.0, &found.0);
                if squares < cost {
                    gain = (cost - squares) / cost;
                    (r, values, totals, monomials) = found;
                    (form, cost, taken) = (next, squares, true);
                    break;
                }
            }
            damping = damping * 8.0 + 1e-12;
        }
        if !taken {
            break;
        }
        damping = f64::max(damping / 6.0, 1e-14);
        if (gain < if rough { 1e-6 } else { 1e-9 } && damping < 1e-3) || cost == 0.0 {
            break;
        }
    }
    let mut j = fit.jacobian(&form, &values, &totals, &monomials);
    let scales = j.normalise();
    let sigma = (cost / view.rows().saturating_sub(n).max(1) as f64).sqrt();
    let sigmas = Qr::new(j, 1e-14).standard_errors().iter().zip(&scales).map(|(s, g)| s * sigma / g).collect();
    Some(Polished { form, squares: cost, parts: fit.parts, sigmas })
}

//! Columns that only multiply are divided out, and other engines look at what is left.
//!
//! A column that only multiplies has a constant gradient and no curvature in ln|y| over ln|x|. Which columns those are is guessed from a
//! quadratic fit; a wrong guess costs milliseconds, because the test for exactness decides.

use super::dictionary::{count, design, products};
use super::{Engine, Sink, implicit, logarithms, polynomial, sparse};
use crate::columns::View;
use crate::dense::{dot, least_squares, norm};
use crate::form::Form;
use std::ops::ControlFlow;

/// What looks at the rest.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Divide {
    Relations,
    Sparse,
}

impl Engine for Divide {
    fn name(&self) -> &'static str {
        "divide"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        for powers in pure_powers(view) {
            divided(view, &powers, sink, &mut |rest, sink| match self {
                Divide::Relations => {
                    polynomial::search(rest, &[1, -1, 2, -2], 140, 6, sink)?;
                    implicit::search(rest, 140, sink)
                }
                Divide::Sparse => sparse::search(rest, &[1, -1, 2, -2], &sparse::Settings::FULL, sink),
            })?;
        }
        ControlFlow::Continue(())
    }
}

/// Looks at a view without columns that only multiply.
pub(crate) fn divided(
    view: &View,
    powers: &[(usize, f64)],
    sink: &mut dyn Sink,
    look: &mut dyn FnMut(&View, &mut dyn Sink) -> ControlFlow<()>,
) -> ControlFlow<()> {
    with_rest(view, powers, &mut |rest, lift| look(rest, &mut Lifted { lift, sink: &mut *sink }))
}

/// The same without a sink: hands the rest to `look`, and how to lift what is found in it.
#[allow(clippy::type_complexity)]
pub(crate) fn with_rest(
    view: &View,
    powers: &[(usize, f64)],
    look: &mut dyn FnMut(&View, &dyn Fn(Form) -> Form) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let columns = view.columns();
    let keep: Vec<usize> = (0..columns).filter(|i| powers.iter().all(|p| p.0 != *i)).collect();
    if keep.is_empty() || keep.len() == columns {
        return ControlFlow::Continue(());
    }
    let mut times = vec![0.0; columns];
    powers.iter().for_each(|(i, p)| times[*i] = *p);
    let rest = view.divided(&keep, &times);
    // A row in which a divisor is 0 says nothing about the rest; too many of them are a wrong guess.
    let rest = if rest.y.iter().all(|y| y.is_finite()) { rest } else { rest.filtered(|k| rest.y[k].is_finite()) };
    if 4 * rest.rows() < 3 * view.rows() {
        return ControlFlow::Continue(());
    }
    look(&rest, &|form| form.lifted(&keep, columns, &times))
}

/// Lifts what is found over some columns to all of them.
struct Lifted<'a> {
    lift: &'a dyn Fn(Form) -> Form,
    sink: &'a mut dyn Sink,
}

impl Sink for Lifted<'_> {
    fn offer(&mut self, form: Form, rms: f64) -> ControlFlow<()> {
        self.sink.offer((self.lift)(form), rms)
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        self.sink.spend(operations)
    }
}

/// Guesses of columns that only multiply, with their exponents.
pub(crate) fn pure_powers(view: &View) -> Vec<Vec<(usize, f64)>> {
    let view = view.without_zeros();
    let d = view.columns();
    let mut guesses: Vec<Vec<(usize, f64)>> = Vec::new();
    if view.rows() < 8 {
        return guesses;
    }
    let logs = view.logs();
    let mixed = view.mixed();
    let one_sign = view.sign().is_some();
    let nearest_half = |v: f64| (2.0 * v).round() / 2.0;
    if one_sign || view.mixed().contains(&true) {
        let target: Vec<f64> = view.y.iter().map(|y| libm::log(y.abs())).collect();
        let smooth: Vec<Vec<f64>> =
            (0..d).map(|i| if mixed[i] && one_sign { &view.x[i] } else { &logs[i] }).cloned().collect();
        if let Some((gradient, hessian)) = logarithms::quadratic(&smooth, &target, None) {
            let sd: Vec<f64> = smooth.iter().map(|l| crate::dense::deviation(l)).collect();
            let curvature = |i: usize| norm(&(0..d).map(|j| hessian[i][j] * sd[i] * sd[j]).collect::<Vec<_>>());
            let mut pure: Vec<(f64, usize, f64)> = (0..d)
                .filter(|&i| !(mixed[i] && one_sign))
                .map(|i| (curvature(i), i, nearest_half(gradient[i])))
                .filter(|(_, i, p)| (gradient[*i] - p).abs() < 0.1 + 0.05 * p.abs())
                .collect();
            pure.sort_by(|a, b| a.0.total_cmp(&b.0));
            // Real curvature can be small, so where it jumps says more than how large it is.
            let mut cuts: Vec<usize> = (1..pure.len()).collect();
            cuts.sort_by(|&a, &b| {
                let jump = |k: usize| pure[k].0 / (pure[k - 1].0 + 1e-12);
                jump(b).total_cmp(&jump(a))
            });
            cuts.truncate(2);
            cuts.extend([0.02, 0.1].map(|limit| pure.iter().filter(|p| p.0 < limit).count()));
            guesses.extend(cuts.into_iter().map(|k| pure[..k].iter().map(|(_, i, p)| (*i, *p)).collect()));
        }
    }
    if !one_sign {
        // y over ln|x| by a cubic, or a quadratic where rows are few: a column that only multiplies has a gradient in proportion to y.
        let degree = [3, 2].into_iter().find(|&degree| count(d, degree) <= view.rows() * 7 / 10);
        if let Some(degree) = degree {
            let list = products(d, degree);
            // The logarithm of a column of both signs jumps at 0, which a polynomial cannot follow.
            let smooth: Vec<Vec<f64>> = (0..d).map(|i| if mixed[i] { &view.x[i] } else { &logs[i] }).cloned().collect();
            let mut a = design(&smooth, &list, &vec![1.0; view.rows()]);
            let lengths = a.normalise();
            let (c, _) = least_squares(&a, &view.y);
            let fitted = a.times(&c);
            let mut pure = Vec::new();
            for i in 0..d {
                let (mut lower, mut factors) = (Vec::new(), Vec::new());
                for ((exponents, c), length) in list.iter().zip(&c).zip(&lengths) {
                    if exponents[i] > 0 {
                        let mut e = exponents.clone();
                        e[i] -= 1;
                        lower.push(e);
                        factors.push(c / length * f64::from(exponents[i]));
                    }
                }
                let mut gradient = design(&smooth, &lower, &vec![1.0; view.rows()]).times(&factors);
                if mixed[i] {
                    gradient.iter_mut().zip(&view.x[i]).for_each(|(g, x)| *g *= x);
                }
                let p = dot(&gradient, &fitted) / dot(&fitted, &fitted);
                let miss: Vec<f64> = gradient.iter().zip(&fitted).map(|(g, y)| g - p * y).collect();
                let share = norm(&miss) / (norm(&gradient) + 0.05 * norm(&fitted));
                if share < 0.35 && (p - nearest_half(p)).abs() < 0.2 {
                    pure.push((i, nearest_half(p)));
                }
            }
            guesses.push(pure);
        }
    }
    let mut different: Vec<Vec<(usize, f64)>> = Vec::new();
    for mut guess in guesses {
        guess.sort_by_key(|(i, _)| *i);
        if !guess.is_empty() && !different.contains(&guess) {
            different.push(guess);
        }
    }
    different
}

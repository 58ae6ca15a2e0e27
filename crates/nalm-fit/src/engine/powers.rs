//! One product of powers: linear in logarithms, its sign by the parity of the columns' signs.

use super::{Engine, Sink};
use crate::columns::View;
use crate::dense::{Matrix, Qr};
use crate::form::Form;
use std::ops::ControlFlow;

pub(crate) struct Powers;

impl Engine for Powers {
    fn name(&self) -> &'static str {
        "powers"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        match product(view, None) {
            Some((form, rms)) => sink.offer(form, rms),
            None => ControlFlow::Continue(()),
        }
    }
}

/// The best product of powers in logarithms, with weights for the rows.
pub(crate) fn product(view: &View, weights: Option<&dyn Fn(f64) -> f64>) -> Option<(Form, f64)> {
    let view = view.without_zeros();
    let rows = view.rows();
    // One row more than unknowns, so that something is left to disagree.
    if rows < view.columns() + 2 {
        return None;
    }
    let logs = view.logs();
    let target: Vec<f64> = view.y.iter().map(|y| libm::log(y.abs())).collect();
    let weight: Vec<f64> = view.y.iter().map(|y| weights.map_or(1.0, |w| w(*y))).collect();
    let mut a = Matrix::new(rows);
    a.push(weight.iter().copied());
    for log in &logs {
        a.push(log.iter().zip(&weight).map(|(l, w)| l * w));
    }
    let weighted: Vec<f64> = target.iter().zip(&weight).map(|(t, w)| t * w).collect();
    let c = Qr::new(a, 1e-12).solve(&weighted);
    let miss = |k: usize| target[k] - c[0] - logs.iter().zip(&c[1..]).map(|(l, c)| l[k] * c).sum::<f64>();
    let rms = ((0..rows).map(|k| miss(k) * miss(k)).sum::<f64>() / rows as f64).sqrt();
    let sign = view.parity().map_or(view.usual_sign(), |(sign, _)| sign);
    Some((Form::monomial(sign * libm::exp(c[0]), c[1..].to_vec()), rms))
}

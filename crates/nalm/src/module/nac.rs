//! The weights of the neural accumulator (Trask et al., NeurIPS 2018), shared by NAC+, NAC•, NALU, G-NALU and iNALU.
//!
//! w = tanh(c what) sigmoid(c mhat), with c = 1 except in the G-NALU.

use super::Shape;
use crate::expression::{Expression, Function};
use crate::lane::{self, LANES, Lane};
use crate::rng::Rng;
use crate::style::Style;
use crate::{Operation, Real};

/// Lanes that hold the effective weights and their derivatives with respect to the two hidden matrices.
pub(super) fn tape_len(shape: Shape) -> usize {
    3 * shape.weights().div_ceil(LANES)
}

/// Effective weights and their derivatives, on a stretch of tape.
pub(super) struct Weights<'a, R> {
    pub(super) w: &'a mut [R],
    by_what: &'a mut [R],
    by_mhat: &'a mut [R],
}

impl<'a, R: Real> Weights<'a, R> {
    /// The weights that an earlier pass left here.
    #[inline(always)]
    pub(super) fn on(tape: &'a mut [Lane<R>], shape: Shape) -> Self {
        let n = shape.weights();
        let part = n.div_ceil(LANES) * LANES;
        let (w, rest) = lane::flat_mut(tape).split_at_mut(part);
        let (by_what, by_mhat) = rest.split_at_mut(part);
        Self { w: &mut w[..n], by_what: &mut by_what[..n], by_mhat: &mut by_mhat[..n] }
    }

    /// Computes the weights from the hidden matrices `what` and `mhat`, one after the other in `p`.
    #[inline(always)]
    pub(super) fn compute(&mut self, p: &[R], scale: R) {
        let (what, mhat) = p.split_at(self.w.len());
        for k in 0..self.w.len() {
            let t = (scale * what[k]).tanh();
            let s = (scale * mhat[k]).sigmoid();
            self.w[k] = t * s;
            self.by_what[k] = (R::ONE - t * t) * s * scale;
            self.by_mhat[k] = t * s * (R::ONE - s) * scale;
        }
    }

    /// Turns a gradient with respect to the effective weights into one with respect to the hidden ones.
    #[inline(always)]
    pub(super) fn backward(&self, dw: &[R], dp: &mut [R]) {
        let (dwhat, dmhat) = dp.split_at_mut(self.w.len());
        for k in 0..self.w.len() {
            dwhat[k] += dw[k] * self.by_what[k];
            dmhat[k] += dw[k] * self.by_mhat[k];
        }
    }
}

/// The effective weights outside the training loop.
pub(crate) fn effective<R: Real>(p: &[R], n: usize, scale: R) -> impl Iterator<Item = R> {
    (0..n).map(move |k| (scale * p[k]).tanh() * (scale * p[n + k]).sigmoid())
}

/// Weighted sums of the inputs, one for each output.
pub(super) fn sums(shape: Shape, p: &[f64], scale: f64, inputs: &[Expression], style: Style) -> Vec<Expression> {
    let w: Vec<f64> = effective(p, shape.weights(), scale).collect();
    w.chunks_exact(shape.inputs).map(|w| style.sum(w, inputs)).collect()
}

/// Products of the inputs' sizes to the power of the weights, one for each output: as they are computed, or as they read.
pub(super) fn powers(shape: Shape, p: &[f64], scale: f64, inputs: &[Expression], style: Style) -> Vec<Expression> {
    let w: Vec<f64> = effective(p, shape.weights(), scale).collect();
    let size = |x: &Expression| {
        Expression::sum([x.clone().call(Function::Abs), Expression::number(style.guard(super::nac_mul::EPSILON))])
    };
    let product = |w: &[f64]| match style {
        Style::Read => Expression::product(w.iter().zip(inputs).map(|(&w, x)| size(x).power(style.weight(w)))),
        _ => {
            let terms = w.iter().zip(inputs).map(|(&w, x)| size(x).call(Function::Ln).times(w));
            Expression::sum(terms).call(Function::Exp)
        }
    };
    w.chunks_exact(shape.inputs).map(product).collect()
}

/// Draws both hidden matrices uniform on [-r, r), one after the other.
pub(super) fn init<R: Real>(shape: Shape, p: &mut [R], rng: &mut Rng) {
    let r = R::of(radius(shape));
    p.fill_with(|| rng.uniform(-r, r));
}

/// The r at which the effective weights have Xavier's variance: the root of
/// max(inputs + outputs, 5) (1 - tanh(r)/r) (r - tanh(r/2)) / (2r) = 2 in [0, 10].
fn radius(shape: Shape) -> f64 {
    let fan = (shape.inputs + shape.outputs).max(5) as f64;
    let excess = |r: f64| fan * (1.0 - libm::tanh(r) / r) * (r - libm::tanh(r / 2.0)) / (2.0 * r) - 2.0;
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if excess(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Hidden matrices whose effective weights on the first two inputs are those of `operation`.
pub(super) fn gold<R: Real>(shape: Shape, operation: Operation, scale: f64) -> Option<Vec<R>> {
    let (a, b) = operation.exponents();
    if a.abs() > 1.0 || shape.inputs < 2 {
        return None;
    }
    let what = |w: f64| {
        if w.abs() == 1.0 { 20.0 * w } else { libm::atanh(w) }
    };
    let row = (0..shape.inputs).map(move |i| [what(a), what(b), 0.0][i.min(2)] / scale);
    let what: Vec<f64> = std::iter::repeat_n(row, shape.outputs).flatten().collect();
    Some(what.into_iter().chain(vec![40.0 / scale; shape.weights()]).map(R::of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_radii_are_the_published_ones() {
        assert!((radius(Shape { inputs: 2, outputs: 1 }) - 9.471_406_385_915).abs() < 1e-9);
        assert!((radius(Shape { inputs: 100, outputs: 2 }) - 0.503_908_9).abs() < 1e-7);
    }
}

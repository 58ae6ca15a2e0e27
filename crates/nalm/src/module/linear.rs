//! Linear, the affine layer of ordinary networks.
//!
//! y_o = sum_i w_oi x_i + b_o

use super::start::{leading, xavier};
use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{each, linear};
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// An affine layer.
///
/// ```text
/// y_o = sum_i w_oi x_i + b_o
/// ```
#[derive(Clone, Debug)]
pub struct Linear {
    shape: Shape,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "linear",
        label: "Linear",
        citation: "Glorot and Bengio, Understanding the difficulty of training deep feedforward networks, AISTATS 2010",
        formula: "y_o = sum_i w_oi x_i + b_o",
        parameters: "w [outputs, inputs], b [outputs]",
        allowed: "unbounded",
        claims: &[Operation::Add, Operation::Sub],
        options: &[],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, _: &Options| Ok(Box::new(Linear { shape })),
    }
}

impl Linear {
    /// An affine layer with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)? })
    }
}

/// A weighted sum and a constant. Such weights select nothing, so none is rounded.
pub(super) fn affine(weights: &[f64], inputs: &[Expression], bias: f64) -> Expression {
    Expression::sum([Style::Exact.sum(weights, inputs), Expression::number(bias)])
}

impl<R: Real> Module<R> for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.shape.weights() + self.shape.outputs
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let r = xavier::<R>(self.shape);
        let (w, b) = p.split_at_mut(self.shape.weights());
        w.fill_with(|| rng.uniform(-r, r));
        b.fill(R::ZERO);
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], _: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let (w, b) = p.split_at(self.shape.weights());
        linear::forward(at.instructions, w, x, y, at.lanes());
        for (y, &b) in y.chunks_exact_mut(at.lanes()).zip(b) {
            each::update(y, |y| y + b);
        }
    }

    #[inline(always)]
    fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        _: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let (w, _) = p.split_at(self.shape.weights());
        let (dw, db) = dp.split_at_mut(self.shape.weights());
        linear::weight_gradient(at.instructions, dy, x, dw, at.lanes());
        for (db, dy) in db.iter_mut().zip(dy.chunks_exact(at.lanes())) {
            *db += linear::row_sum(dy);
        }
        if let Some(dx) = dx {
            dx.fill(Lane::ZERO);
            linear::input_gradient(w, dy, dx, at.lanes());
        }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        (operation.is_sum() && self.shape.inputs >= 2).then(|| {
            let mut p = leading(self.shape, operation, R::ZERO);
            p.resize(self.shape.weights() + self.shape.outputs, R::ZERO);
            p
        })
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], _: Style) -> Option<Vec<Expression>> {
        let (w, b) = p.split_at(self.shape.weights());
        Some(w.chunks_exact(self.shape.inputs).zip(b).map(|(w, &b)| affine(w, inputs, b)).collect())
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

//! NAC+, the neural accumulator (Trask et al., NeurIPS 2018): a sum whose weights are drawn to -1, 0 and 1.
//!
//! y_o = sum_i w_oi x_i with w = tanh(what) sigmoid(mhat)

use super::{Dispatch, Module, Options, Pass, Shape, Spec, nac};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{self, LANES, linear};
use crate::penalty;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The additive neural accumulator.
///
/// ```text
/// y_o = sum_i w_oi x_i,  w = tanh(what) sigmoid(mhat)
/// ```
#[derive(Clone, Debug)]
pub struct NacAdd {
    shape: Shape,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "nac-add",
        label: "NAC+",
        citation: "Trask et al., Neural Arithmetic Logic Units, NeurIPS 2018",
        formula: "y_o = sum_i w_oi x_i,  w = tanh(what) sigmoid(mhat)",
        parameters: "what, mhat [outputs, inputs]",
        allowed: "unbounded; w in (-1, 1)",
        claims: &[Operation::Add, Operation::Sub],
        options: &[],
        smooth_at_zero: true,
        gold_error: 1e-6,
        gold_positive: false,
        build: |shape, _: &Options| Ok(Box::new(NacAdd { shape })),
    }
}

impl NacAdd {
    /// A NAC+ with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)? })
    }
}

impl<R: Real> Module<R> for NacAdd {
    fn name(&self) -> &'static str {
        "nac-add"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        2 * self.shape.weights()
    }

    fn tape_len(&self, _: BatchLayout) -> usize {
        nac::tape_len(self.shape) + self.shape.weights().div_ceil(LANES)
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        nac::init(self.shape, p, rng);
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let mut weights = nac::Weights::on(tape, self.shape);
        weights.compute(p, R::ONE);
        linear::forward(at.instructions, weights.w, x, y, at.lanes());
    }

    #[inline(always)]
    fn backward(
        &self,
        _: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let (tape, dw) = tape.split_at_mut(nac::tape_len(self.shape));
        let weights = nac::Weights::on(tape, self.shape);
        let dw = &mut lane::flat_mut(dw)[..self.shape.weights()];
        dw.fill(R::ZERO);
        linear::weight_gradient(at.instructions, dy, x, dw, at.lanes());
        weights.backward(dw, dp);
        if let Some(dx) = dx {
            dx.fill(Lane::ZERO);
            linear::input_gradient(weights.w, dy, dx, at.lanes());
        }
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        Some(penalty::sparsity_error(nac::effective(p, self.shape.weights(), R::ONE)))
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        operation.is_sum().then(|| nac::gold(self.shape, operation, 1.0)).flatten()
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        Some(nac::sums(self.shape, p, 1.0, inputs, style))
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

//! NAC•, the multiplicative neural accumulator (Trask et al., NeurIPS 2018): a sum in log space. The sign is lost.
//!
//! y_o = exp(sum_i w_oi ln(|x_i| + 1e-7)) with w = tanh(what) sigmoid(mhat)

use super::{Dispatch, Module, Options, Pass, Shape, Spec, nac};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{self, LANES, each, linear};
use crate::penalty;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// Keeps the logarithm finite.
pub(super) const EPSILON: f64 = 1e-7;

/// The multiplicative neural accumulator.
///
/// ```text
/// y_o = exp(sum_i w_oi ln(|x_i| + 1e-7)),  w = tanh(what) sigmoid(mhat)
/// ```
#[derive(Clone, Debug)]
pub struct NacMul {
    shape: Shape,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "nac-mul",
        label: "NAC•",
        citation: "Trask et al., Neural Arithmetic Logic Units, NeurIPS 2018",
        formula: "y_o = exp(sum_i w_oi ln(|x_i| + 1e-7)),  w = tanh(what) sigmoid(mhat)",
        parameters: "what, mhat [outputs, inputs]",
        allowed: "unbounded; w in (-1, 1)",
        claims: &[Operation::Mul, Operation::Div, Operation::Root, Operation::Reciprocal],
        options: &[],
        smooth_at_zero: false,
        gold_error: 5e-6,
        gold_positive: true,
        build: |shape, _: &Options| Ok(Box::new(NacMul { shape })),
    }
}

impl NacMul {
    /// A NAC• with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)? })
    }
}

/// What a forward pass leaves for its backward pass.
struct Tape<'a, R> {
    weights: nac::Weights<'a, R>,
    dw: &'a mut [R],
    logs: &'a mut [Lane<R>],
    outputs: &'a mut [Lane<R>],
    gradients: &'a mut [Lane<R>],
}

impl NacMul {
    #[inline(always)]
    fn tape<'a, R: Real>(&self, tape: &'a mut [Lane<R>], at: BatchLayout) -> Tape<'a, R> {
        let (weights, tape) = tape.split_at_mut(nac::tape_len(self.shape));
        let (dw, tape) = tape.split_at_mut(self.shape.weights().div_ceil(LANES));
        let (logs, tape) = tape.split_at_mut(self.shape.inputs * at.lanes());
        let (outputs, gradients) = tape.split_at_mut(self.shape.outputs * at.lanes());
        let weights = nac::Weights::on(weights, self.shape);
        Tape { weights, dw: &mut lane::flat_mut(dw)[..self.shape.weights()], logs, outputs, gradients }
    }
}

impl<R: Real> Module<R> for NacMul {
    fn name(&self) -> &'static str {
        "nac-mul"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        2 * self.shape.weights()
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        let Shape { inputs, outputs } = self.shape;
        nac::tape_len(self.shape) + self.shape.weights().div_ceil(LANES) + (inputs + 2 * outputs) * at.lanes()
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        nac::init(self.shape, p, rng);
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let mut tape = self.tape(tape, at);
        tape.weights.compute(p, R::ONE);
        each::map1(tape.logs, x, |x| x.abs() + R::of(EPSILON));
        each::ln(tape.logs);
        linear::forward(at.instructions, tape.weights.w, tape.logs, y, at.lanes());
        each::exp(y);
        tape.outputs.copy_from_slice(y);
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
        let lanes = at.lanes();
        let tape = self.tape(tape, at);
        each::map2(tape.gradients, dy, tape.outputs, |dy, y| dy * y);
        tape.dw.fill(R::ZERO);
        linear::weight_gradient(at.instructions, tape.gradients, tape.logs, tape.dw, lanes);
        tape.weights.backward(tape.dw, dp);
        if let Some(dx) = dx {
            dx.fill(Lane::ZERO);
            linear::input_gradient(tape.weights.w, tape.gradients, dx, lanes);
            each::update1(dx, x, |dx, x| dx * (x.sign() / (x.abs() + R::of(EPSILON))));
        }
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        Some(penalty::sparsity_error(nac::effective(p, self.shape.weights(), R::ONE)))
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        (!operation.is_sum()).then(|| nac::gold(self.shape, operation, 1.0)).flatten()
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        Some(nac::powers(self.shape, p, 1.0, inputs, style))
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

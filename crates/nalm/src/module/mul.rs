//! MUL, the solved baseline: multiplies all its inputs and has nothing to learn.
//!
//! y = prod_i x_i

use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The product of all inputs.
///
/// ```text
/// y_o = prod_i x_i
/// ```
#[derive(Clone, Debug)]
pub struct Product {
    shape: Shape,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "mul",
        label: "MUL",
        citation: "Mistry, Farrahi and Hare, Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity, 2022",
        formula: "y_o = prod_i x_i",
        parameters: "none",
        allowed: "none",
        claims: &[Operation::Mul],
        options: &[],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, _: &Options| Ok(Box::new(Product { shape })),
    }
}

impl Product {
    /// A product of this many inputs, copied to every output.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)? })
    }
}

impl<R: Real> Module<R> for Product {
    fn name(&self) -> &'static str {
        "mul"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        0
    }

    fn tape_len(&self, _: BatchLayout) -> usize {
        self.shape.inputs
    }

    fn init(&self, _: &mut [R], _: &mut Rng) {}

    #[inline(always)]
    fn forward(&self, _: &[R], x: &[Lane<R>], y: &mut [Lane<R>], _: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let lanes = at.lanes();
        for (k, y) in y.iter_mut().enumerate() {
            let c = k % lanes;
            *y = (1..self.shape.inputs).fold(x[c], |product, i| product * x[i * lanes + c]);
        }
    }

    #[inline(always)]
    fn backward(
        &self,
        _: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        _: &mut [R],
        before: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let Some(dx) = dx else { return };
        let (lanes, inputs) = (at.lanes(), self.shape.inputs);
        for c in 0..lanes {
            let mut product = Lane::splat(R::ONE);
            for i in 0..inputs {
                before[i] = product;
                product = product * x[i * lanes + c];
            }
            let mut after = dy.iter().skip(c).step_by(lanes).fold(Lane::ZERO, |sum, &dy| sum + dy);
            for i in (0..inputs).rev() {
                dx[i * lanes + c] = before[i] * after;
                after = after * x[i * lanes + c];
            }
        }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        (operation == Operation::Mul && self.shape.inputs == 2).then(Vec::new)
    }

    fn formula(&self, _: &[f64], inputs: &[Expression], _: Style) -> Option<Vec<Expression>> {
        Some(vec![Expression::product(inputs.iter().cloned()); self.shape.outputs])
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

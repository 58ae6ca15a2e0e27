//! NAU, the neural addition unit (Madsen and Johansen, ICLR 2020): a sum with weights in [-1, 1].
//!
//! y_o = sum_i w_oi x_i

use super::start::{leading, xavier};
use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::linear;
use crate::penalty;
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The neural addition unit.
///
/// ```text
/// y_o = sum_i w_oi x_i
/// ```
#[derive(Clone, Debug)]
pub struct Nau {
    shape: Shape,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "nau",
        label: "NAU",
        citation: "Madsen and Johansen, Neural Arithmetic Units, ICLR 2020",
        formula: "y_o = sum_i w_oi x_i",
        parameters: "w [outputs, inputs]",
        allowed: "w in [-1, 1]",
        claims: &[Operation::Add, Operation::Sub],
        options: &[],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, _: &Options| Ok(Box::new(Nau { shape })),
    }
}

impl Nau {
    /// A NAU with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)? })
    }
}

impl<R: Real> Module<R> for Nau {
    fn name(&self) -> &'static str {
        "nau"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.shape.weights()
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let r = xavier::<R>(self.shape).at_most(R::of(0.5));
        p.fill_with(|| rng.uniform(-r, r));
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], _: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        linear::forward(at.instructions, p, x, y, at.lanes());
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
        linear::weight_gradient(at.instructions, dy, x, dp, at.lanes());
        if let Some(dx) = dx {
            dx.fill(Lane::ZERO);
            linear::input_gradient(p, dy, dx, at.lanes());
        }
    }

    #[inline(always)]
    fn bounds(&self, _: usize) -> (R, R) {
        (-R::ONE, R::ONE)
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        penalty::sparsity(p, true, strength, dp)
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        Some(penalty::sparsity_error(p.iter().copied()))
    }

    fn recipe(&self) -> Recipe {
        Recipe::sparse()
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        (operation.is_sum() && self.shape.inputs >= 2).then(|| leading(self.shape, operation, R::ZERO))
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        Some(p.chunks_exact(self.shape.inputs).map(|w| style.sum(w, inputs)).collect())
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

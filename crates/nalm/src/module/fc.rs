//! FC, the weighted product accumulator: the baseline of the MNIST tasks that multiplies weighted inputs.
//!
//! y_o = prod_i (x_i w_oi)

use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::add_sums;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The weighted product.
///
/// ```text
/// y_o = prod_i (x_i w_oi)
/// ```
#[derive(Clone, Debug)]
pub struct Fc {
    shape: Shape,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "fc",
        label: "FC",
        citation: "Mistry, Farrahi and Hare, Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity, 2022",
        formula: "y_o = prod_i (x_i w_oi)",
        parameters: "w [outputs, inputs]",
        allowed: "unbounded",
        claims: &[Operation::Mul],
        options: &[],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, _: &Options| Ok(Box::new(Fc { shape })),
    }
}

impl Fc {
    /// A weighted product with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)? })
    }
}

impl<R: Real> Module<R> for Fc {
    fn name(&self) -> &'static str {
        "fc"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.shape.weights()
    }

    fn tape_len(&self, _: BatchLayout) -> usize {
        2 * self.shape.inputs
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        p.fill_with(|| rng.uniform(R::of(0.25), R::of(0.75)));
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], _: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let (lanes, inputs) = (at.lanes(), self.shape.inputs);
        for (k, y) in y.iter_mut().enumerate() {
            let (w, c) = (&p[k / lanes * inputs..][..inputs], k % lanes);
            *y = (1..inputs).fold(x[c] * w[0], |product, i| product * (x[i * lanes + c] * w[i]));
        }
    }

    #[inline(always)]
    fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        mut dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let (lanes, inputs) = (at.lanes(), self.shape.inputs);
        let (before, sums) = tape[..2 * inputs].split_at_mut(inputs);
        if let Some(dx) = dx.as_deref_mut() {
            dx.fill(Lane::ZERO);
        }
        for o in 0..self.shape.outputs {
            let w = &p[o * inputs..][..inputs];
            sums.fill(Lane::ZERO);
            for c in 0..lanes {
                let mut product = Lane::splat(R::ONE);
                for i in 0..inputs {
                    before[i] = product;
                    product = product * (x[i * lanes + c] * w[i]);
                }
                let mut after = dy[o * lanes + c];
                for i in (0..inputs).rev() {
                    let x = x[i * lanes + c];
                    let gradient = before[i] * after;
                    sums[i] += gradient * x;
                    if let Some(dx) = dx.as_deref_mut() {
                        dx[i * lanes + c] += gradient * w[i];
                    }
                    after = after * (x * w[i]);
                }
            }
            add_sums(sums, &mut dp[o * inputs..]);
        }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        (operation == Operation::Mul && self.shape.inputs == 2).then(|| vec![R::ONE; self.shape.weights()])
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        let weighted = |(&w, x): (&f64, &Expression)| x.clone().times(style.weight(w));
        let product = |w: &[f64]| Expression::product(w.iter().zip(inputs).map(weighted));
        Some(p.chunks_exact(self.shape.inputs).map(product).collect())
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

//! NMU, the neural multiplication unit (Madsen and Johansen, ICLR 2020): a product over the inputs that the weights
//! select.
//!
//! y_o = prod_i (x_i w_oi + 1 - w_oi), with every weight in [0, 1].

use super::start::{START, start_box};
use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::add_sums;
use crate::penalty;
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The neural multiplication unit.
///
/// ```text
/// y_o = prod_i (x_i w_oi + 1 - w_oi)
/// ```
#[derive(Clone, Debug)]
pub struct Nmu {
    shape: Shape,
    start: (f64, f64),
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "nmu",
        label: "NMU",
        citation: "Madsen and Johansen, Neural Arithmetic Units, ICLR 2020",
        formula: "y_o = prod_i (x_i w_oi + 1 - w_oi)",
        parameters: "w [outputs, inputs]",
        allowed: "w in [0, 1]",
        claims: &[Operation::Mul],
        options: &[START],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, options: &Options| {
            let (low, high) = options.pair(&START)?;
            Ok(Box::new(Nmu::starting_in(shape.inputs, shape.outputs, low, high)?))
        },
    }
}

impl Nmu {
    /// An NMU whose weights start uniform on [0.25, 0.75).
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Self::starting_in(inputs, outputs, 0.25, 0.75)
    }

    /// An NMU whose weights start uniform on [low, high).
    pub fn starting_in(inputs: usize, outputs: usize, low: f64, high: f64) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)?, start: start_box(low, high)? })
    }
}

impl<R: Real> Module<R> for Nmu {
    fn name(&self) -> &'static str {
        "nmu"
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
        let (low, high) = self.start;
        p.fill_with(|| rng.uniform(R::of(low), R::of(high)));
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], _: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        forward(self.shape, p, x, y, at);
    }

    #[inline(always)]
    fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        backward(self.shape, p, x, dy, dx, dp, tape, at);
    }

    #[inline(always)]
    fn bounds(&self, _: usize) -> (R, R) {
        (R::ZERO, R::ONE)
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        penalty::sparsity(p, false, strength, dp)
    }

    fn sparsity_error(&self, p: &[R]) -> R {
        penalty::sparsity_error(p.iter().copied())
    }

    fn recipe(&self) -> Recipe {
        Recipe::sparse()
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        gold(self.shape, operation)
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        Some(formula(self.shape, p, inputs, style))
    }

    fn options(&self) -> Options {
        Options::new().with(START.name, self.start)
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

/// The weights that select the first two inputs.
pub(super) fn gold<R: Real>(shape: Shape, operation: Operation) -> Option<Vec<R>> {
    (operation == Operation::Mul && shape.inputs >= 2)
        .then(|| (0..shape.weights()).map(|k| if k % shape.inputs < 2 { R::ONE } else { R::ZERO }).collect())
}

/// A product of the factors w x + 1 - w.
pub(super) fn formula(shape: Shape, p: &[f64], inputs: &[Expression], style: Style) -> Vec<Expression> {
    let factor = |(&w, x): (&f64, &Expression)| {
        let w = style.weight(w);
        Expression::sum([x.clone().times(w), Expression::number(1.0 - w)])
    };
    let product = |w: &[f64]| Expression::product(w.iter().zip(inputs).map(factor));
    p[..shape.weights()].chunks_exact(shape.inputs).map(product).collect()
}

/// One factor. The order of the three operations is the one that gives the published digits in `f32`.
#[inline(always)]
pub(super) fn factor<R: Real>(x: Lane<R>, w: R) -> Lane<R> {
    x * w + R::ONE - w
}

#[inline(always)]
pub(super) fn forward<R: Real>(shape: Shape, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], at: BatchLayout) {
    let lanes = at.lanes();
    for (w, y) in p.chunks_exact(shape.inputs).zip(y.chunks_exact_mut(lanes)) {
        for (c, y) in y.iter_mut().enumerate() {
            let mut product = factor(x[c], w[0]);
            for i in 1..shape.inputs {
                product = product * factor(x[i * lanes + c], w[i]);
            }
            *y = product;
        }
    }
}

/// Multiplies by the other factors instead of dividing by the own one, which may be zero.
#[inline(always)]
pub(super) fn backward<R: Real>(
    shape: Shape,
    p: &[R],
    x: &[Lane<R>],
    dy: &[Lane<R>],
    mut dx: Option<&mut [Lane<R>]>,
    dp: &mut [R],
    tape: &mut [Lane<R>],
    at: BatchLayout,
) {
    let (lanes, inputs) = (at.lanes(), shape.inputs);
    let (before, sums) = tape[..2 * inputs].split_at_mut(inputs);
    if let Some(dx) = dx.as_deref_mut() {
        dx.fill(Lane::ZERO);
    }
    for o in 0..shape.outputs {
        let (w, dy) = (&p[o * inputs..][..inputs], &dy[o * lanes..][..lanes]);
        match inputs {
            // The same code with everything in registers.
            2 => {
                let (mut before, mut local) = ([Lane::ZERO; 2], [Lane::ZERO; 2]);
                backward_output(2, w, x, dy, dx.as_deref_mut(), &mut before, &mut local);
                sums.copy_from_slice(&local);
            }
            _ => {
                sums.fill(Lane::ZERO);
                backward_output(inputs, w, x, dy, dx.as_deref_mut(), before, sums);
            }
        }
        add_sums(sums, &mut dp[o * inputs..]);
    }
}

/// The gradient of one output: partial sums for its weights, and its share of the inputs' gradient.
#[inline(always)]
fn backward_output<R: Real>(
    inputs: usize,
    w: &[R],
    x: &[Lane<R>],
    dy: &[Lane<R>],
    mut dx: Option<&mut [Lane<R>]>,
    before: &mut [Lane<R>],
    sums: &mut [Lane<R>],
) {
    let lanes = dy.len();
    for c in 0..lanes {
        let mut product = Lane::splat(R::ONE);
        for i in 0..inputs {
            before[i] = product;
            product = product * factor(x[i * lanes + c], w[i]);
        }
        let mut after = dy[c];
        for i in (0..inputs).rev() {
            let x = x[i * lanes + c];
            let gradient = before[i] * after;
            sums[i] += gradient * (x - R::ONE);
            if let Some(dx) = dx.as_deref_mut() {
                dx[i * lanes + c] += gradient * w[i];
            }
            after = after * factor(x, w[i]);
        }
    }
}

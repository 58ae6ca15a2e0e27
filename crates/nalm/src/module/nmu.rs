//! NMU, the neural multiplication unit (Madsen and Johansen, ICLR 2020): a product over the inputs that the weights
//! select.
//!
//! y_o = prod_i (x_i w_oi + 1 - w_oi), with every weight in [0, 1].

use super::start::{START, start_box};
use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{add_sums, each};
use crate::penalty;
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};
use std::ops::{Add, Mul, Sub};

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

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        Some(penalty::sparsity_error(p.iter().copied()))
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

/// One factor, of a lane or a number. The order of the three operations is the one that gives the published digits in `f32`.
#[inline(always)]
pub(super) fn factor<R: Real, X>(x: X, w: R) -> X
where
    X: Mul<R, Output = X> + Add<R, Output = X> + Sub<R, Output = X>,
{
    x * w + R::ONE - w
}

#[inline(always)]
pub(super) fn forward<R: Real>(shape: Shape, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], at: BatchLayout) {
    let lanes = at.lanes();
    for o in 0..shape.outputs {
        let (w, y) = (&p[o * shape.inputs..][..shape.inputs], &mut y[o * lanes..][..lanes]);
        if let [w0, w1] = *w {
            let [x0, x1] = two(x, lanes);
            each::map2(y, x0, x1, |x0, x1| factor(x0, w0) * factor(x1, w1));
            continue;
        }
        for (c, y) in y.iter_mut().enumerate() {
            let mut product = factor(x[c], w[0]);
            for i in 1..shape.inputs {
                product = product * factor(x[i * lanes + c], w[i]);
            }
            *y = product;
        }
    }
}

/// The lanes of both features, where there are two.
#[inline(always)]
pub(super) fn two<R>(x: &[Lane<R>], lanes: usize) -> [&[Lane<R>]; 2] {
    [&x[..lanes], &x[lanes..][..lanes]]
}

/// Multiplies by the other factors instead of dividing by the own one, which may be zero.
///
/// Two inputs have loops of their own, here and in [`forward`], with the same operations in the same order: everything stays in registers, nothing is checked on
/// the way, and a step takes a third fewer instructions.
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
        let dp = &mut dp[o * inputs..][..inputs];
        if let [w0, w1] = *w {
            let x = two(x, lanes);
            add_sums(&weight_gradient_of_two(w0, w1, x, dy), dp);
            if let Some(dx) = dx.as_deref_mut() {
                input_gradient_of_two(w0, w1, x, dy, dx);
            }
        } else {
            sums.fill(Lane::ZERO);
            backward_output(inputs, w, x, dy, dx.as_deref_mut(), before, sums);
            add_sums(sums, dp);
        }
    }
}

/// The partial sums of [`backward_output`] for two inputs.
#[inline(always)]
fn weight_gradient_of_two<R: Real>(w0: R, w1: R, [x0, x1]: [&[Lane<R>]; 2], dy: &[Lane<R>]) -> [Lane<R>; 2] {
    let (mut sum0, mut sum1) = (Lane::ZERO, Lane::ZERO);
    for ((&x0, &x1), &dy) in x0.iter().zip(x1).zip(dy) {
        sum1 += factor(x0, w0) * dy * (x1 - R::ONE);
        sum0 += dy * factor(x1, w1) * (x0 - R::ONE);
    }
    [sum0, sum1]
}

/// The inputs' gradient of [`backward_output`] for two inputs.
#[inline(always)]
fn input_gradient_of_two<R: Real>(w0: R, w1: R, [x0, x1]: [&[Lane<R>]; 2], dy: &[Lane<R>], dx: &mut [Lane<R>]) {
    let (dx0, dx1) = dx.split_at_mut(dy.len());
    each::update2(dx1, x0, dy, |dx, x, dy| dx + factor(x, w0) * dy * w1);
    each::update2(dx0, x1, dy, |dx, x, dy| dx + dy * factor(x, w1) * w0);
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::lane::flat;
    use crate::rng::Purpose;

    pub(in crate::module) fn numbers(key: &str, lanes: usize) -> Vec<Lane<f32>> {
        let (mut rng, mut out) = (Rng::fast(key, Purpose::Data), vec![Lane::ZERO; lanes]);
        rng.fill_uniform(-2.0, 2.0, &mut out, BatchLayout::new(16 * lanes).unwrap());
        out
    }

    pub(in crate::module) fn bits(lanes: &[Lane<f32>]) -> Vec<u32> {
        flat(lanes).iter().map(|x| x.to_bits()).collect()
    }

    /// The loops for two inputs against the general ones.
    #[test]
    fn two_inputs_have_the_bits_of_many() {
        let (at, w, lanes) = (BatchLayout::new(48).unwrap(), [0.3f32, 0.9], 3);
        let (x, dy) = (numbers("x", 2 * lanes), numbers("dy", lanes));
        let (mut y, mut dx, mut dp, mut tape) = (dy.clone(), x.clone(), [0.0; 2], vec![Lane::ZERO; 4]);
        forward(Shape { inputs: 2, outputs: 1 }, &w, &x, &mut y, at);
        backward(Shape { inputs: 2, outputs: 1 }, &w, &x, &dy, Some(&mut dx), &mut dp, &mut tape, at);
        // A third input with weight 0 has the factor 1.
        let three = [&x[..], &numbers("z", lanes)].concat();
        let mut want = dy.clone();
        forward(Shape { inputs: 3, outputs: 1 }, &[w[0], w[1], 0.0], &three, &mut want, at);
        assert_eq!(bits(&y), bits(&want));
        let (mut before, mut sums, mut general) =
            (vec![Lane::ZERO; 2], vec![Lane::ZERO; 2], vec![Lane::ZERO; 2 * lanes]);
        backward_output(2, &w, &x, &dy, Some(&mut general), &mut before, &mut sums);
        assert_eq!(bits(&dx), bits(&general));
        assert_eq!(dp.map(f32::to_bits), [sums[0].sum().to_bits(), sums[1].sum().to_bits()]);
    }
}

//! iNALU, the improved NALU (Schlör, Ring and Hotho, Frontiers in AI 2020): separate weights for the two paths, a gate
//! that does not depend on the input, a clipped exponent and the sign of the product.
//!
//! y = g a + (1 - g) m s,  a = W_a x,  m = exp(min(W_m ln max(|x|, 1e-7), 20)),  s = prod_i (sgn(x_i) |w_m| + 1 - |w_m|),
//! g = sigmoid(ghat)
//!
//! Its authors clip the gradient to [-0.1, 0.1], push parameters away from 0 once the error is small, and start over when
//! training is stuck: see [`Module::recipe`].

use super::nac_mul::EPSILON;
use super::{Dispatch, Module, Options, Pass, Shape, Spec, nac};
use crate::batch::BatchLayout;
use crate::expression::{Expression, Function};
use crate::lane::{self, LANES, each, linear};
use crate::penalty::{self, Penalty, Schedule};
use crate::recipe::{Recipe, Reinit};
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The largest exponent.
const OMEGA: f64 = 20.0;
/// The size of a parameter beyond which the regulariser leaves it alone.
const REACH: f64 = 20.0;

/// The improved NALU.
///
/// ```text
/// y = g W_a x + (1 - g) exp(min(W_m ln max(|x|, 1e-7), 20)) prod_i (sgn(x_i) |w_m| + 1 - |w_m|),  g = sigmoid(ghat)
/// ```
#[derive(Clone, Debug)]
pub struct Inalu {
    shape: Shape,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "inalu",
        label: "iNALU",
        citation: "Schlör, Ring and Hotho, iNALU: Improved Neural Arithmetic Logic Unit, Frontiers in AI 2020",
        formula: "y = g W_a x + (1 - g) exp(min(W_m ln max(|x|, 1e-7), 20)) prod_i (sgn(x_i) |w_m| + 1 - |w_m|),  g = sigmoid(ghat)",
        parameters: "what_a, mhat_a, what_m, mhat_m [outputs, inputs], ghat [outputs]",
        allowed: "unbounded; W in (-1, 1)",
        claims: &[
            Operation::Mul,
            Operation::Add,
            Operation::Sub,
            Operation::Div,
            Operation::Root,
            Operation::Reciprocal,
        ],
        options: &[],
        smooth_at_zero: false,
        gold_error: 5e-6,
        gold_positive: true,
        build: |shape, _: &Options| Ok(Box::new(Inalu { shape })),
    }
}

impl Inalu {
    /// An iNALU with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, outputs)? })
    }

    #[inline(always)]
    fn tape<'a, R: Real>(&self, tape: &'a mut [Lane<R>], at: BatchLayout) -> Tape<'a, R> {
        let Shape { inputs, outputs } = self.shape;
        let out = outputs * at.lanes();
        let (add, tape) = tape.split_at_mut(nac::tape_len(self.shape));
        let (mul, tape) = tape.split_at_mut(nac::tape_len(self.shape));
        let (dw, tape) = tape.split_at_mut(self.shape.weights().div_ceil(LANES));
        let (logs, tape) = tape.split_at_mut(inputs * at.lanes());
        let (by_log, tape) = tape.split_at_mut(inputs * at.lanes());
        let (before, tape) = tape.split_at_mut(inputs);
        let (sums, tape) = tape.split_at_mut(inputs);
        let (sum, tape) = tape.split_at_mut(out);
        let (exponent, tape) = tape.split_at_mut(out);
        let (product, tape) = tape.split_at_mut(out);
        let (sign, gradients) = tape.split_at_mut(out);
        let add = nac::Weights::on(add, self.shape);
        let mul = nac::Weights::on(mul, self.shape);
        let dw = &mut lane::flat_mut(dw)[..self.shape.weights()];
        Tape { add, mul, dw, logs, by_log, before, sums, sum, exponent, product, sign, gradients }
    }
}

/// What a forward pass leaves for its backward pass.
struct Tape<'a, R> {
    add: nac::Weights<'a, R>,
    mul: nac::Weights<'a, R>,
    dw: &'a mut [R],
    logs: &'a mut [Lane<R>],
    by_log: &'a mut [Lane<R>],
    before: &'a mut [Lane<R>],
    sums: &'a mut [Lane<R>],
    sum: &'a mut [Lane<R>],
    exponent: &'a mut [Lane<R>],
    product: &'a mut [Lane<R>],
    sign: &'a mut [Lane<R>],
    gradients: &'a mut [Lane<R>],
}

#[inline(always)]
fn sign_factor<R: Real>(x: Lane<R>, w: R) -> Lane<R> {
    x.map(R::sign) * w.abs() + (R::ONE - w.abs())
}

impl<R: Real> Module<R> for Inalu {
    fn name(&self) -> &'static str {
        "inalu"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        4 * self.shape.weights() + self.shape.outputs
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        let Shape { inputs, outputs } = self.shape;
        let weights = 2 * nac::tape_len(self.shape) + self.shape.weights().div_ceil(LANES);
        weights + 2 * inputs + (2 * inputs + 5 * outputs) * at.lanes()
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let means = [0.88, 0.5, 0.88, 0.5, 0.0];
        for (tensor, mean) in p.chunks_mut(self.shape.weights()).zip(means) {
            tensor.fill_with(|| R::of(rng.normal::<f64>() * 0.2 + mean));
        }
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let (lanes, inputs, n) = (at.lanes(), self.shape.inputs, self.shape.weights());
        let mut tape = self.tape(tape, at);
        tape.add.compute(&p[..2 * n], R::ONE);
        tape.mul.compute(&p[2 * n..4 * n], R::ONE);
        each::map1(tape.logs, x, |x| x.abs().at_least(R::of(EPSILON)));
        each::ln(tape.logs);
        linear::forward(at.instructions, tape.add.w, x, tape.sum, lanes);
        linear::forward(at.instructions, tape.mul.w, tape.logs, tape.exponent, lanes);
        each::map1(tape.product, tape.exponent, |s| s.at_most(R::of(OMEGA)));
        each::exp(tape.product);
        for o in 0..self.shape.outputs {
            let g = p[4 * n + o].sigmoid();
            let w = &tape.mul.w[o * inputs..][..inputs];
            for c in 0..lanes {
                let k = o * lanes + c;
                let mut s = sign_factor(x[c], w[0]);
                for i in 1..inputs {
                    s = s * sign_factor(x[i * lanes + c], w[i]);
                }
                tape.sign[k] = s;
                y[k] = tape.sum[k] * g + tape.product[k] * s * (R::ONE - g);
            }
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
        let (lanes, inputs, n) = (at.lanes(), self.shape.inputs, self.shape.weights());
        let tape = self.tape(tape, at);
        let gradients = tape.gradients;
        if let Some(dx) = dx.as_deref_mut() {
            dx.fill(Lane::ZERO);
        }

        for o in 0..self.shape.outputs {
            let g = p[4 * n + o].sigmoid();
            let mut by_gate = Lane::ZERO;
            for k in o * lanes..(o + 1) * lanes {
                by_gate += dy[k] * (tape.sum[k] - tape.product[k] * tape.sign[k]);
                gradients[k] = dy[k] * g;
            }
            dp[4 * n + o] += by_gate.sum() * g * (R::ONE - g);
        }
        tape.dw.fill(R::ZERO);
        linear::weight_gradient(at.instructions, gradients, x, tape.dw, lanes);
        tape.add.backward(tape.dw, &mut dp[..2 * n]);
        if let Some(dx) = dx.as_deref_mut() {
            linear::input_gradient(tape.add.w, gradients, dx, lanes);
        }

        tape.dw.fill(R::ZERO);
        for o in 0..self.shape.outputs {
            let share = R::ONE - p[4 * n + o].sigmoid();
            let w = &tape.mul.w[o * inputs..][..inputs];
            tape.sums.fill(Lane::ZERO);
            for c in 0..lanes {
                let k = o * lanes + c;
                let open = tape.exponent[k].map(|s| if s <= R::of(OMEGA) { R::ONE } else { R::ZERO });
                gradients[k] = dy[k] * share * tape.sign[k] * tape.product[k] * open;
                let mut product = Lane::splat(R::ONE);
                for i in 0..inputs {
                    tape.before[i] = product;
                    product = product * sign_factor(x[i * lanes + c], w[i]);
                }
                let mut after = dy[k] * share * tape.product[k];
                for i in (0..inputs).rev() {
                    let x = x[i * lanes + c];
                    tape.sums[i] += tape.before[i] * after * (x.map(R::sign) - R::ONE);
                    after = after * sign_factor(x, w[i]);
                }
            }
            for i in 0..inputs {
                tape.dw[o * inputs + i] += tape.sums[i].sum() * w[i].sign();
            }
        }
        linear::weight_gradient(at.instructions, gradients, tape.logs, tape.dw, lanes);
        tape.mul.backward(tape.dw, &mut dp[2 * n..4 * n]);
        if let Some(dx) = dx {
            tape.by_log.fill(Lane::ZERO);
            linear::input_gradient(tape.mul.w, gradients, tape.by_log, lanes);
            each::update2(dx, tape.by_log, x, |dx, by_log, x| {
                dx + if x.abs() > R::of(EPSILON) { by_log / x } else { R::ZERO }
            });
        }
    }

    /// Pushes every parameter away from 0: the sum over the five tensors of mean(max(20 - |p|, 0)).
    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        let n = self.shape.weights();
        let mut total = R::ZERO;
        for (p, dp) in p.chunks(n).zip(dp.chunks_mut(n)) {
            let share = strength / R::of(p.len() as f64);
            for (dp, &p) in dp.iter_mut().zip(p) {
                if p.abs() < R::of(REACH) {
                    total += share * (R::of(REACH) - p.abs());
                    *dp -= share * p.sign();
                }
            }
        }
        total
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        let n = self.shape.weights();
        let add = penalty::sparsity_error(nac::effective(&p[..2 * n], n, R::ONE));
        let mul = penalty::sparsity_error(nac::effective(&p[2 * n..4 * n], n, R::ONE));
        Some((add + mul) * R::of(0.5))
    }

    fn recipe(&self) -> Recipe {
        let schedule = Schedule::Delayed { after: 10_000, validation_below: 1.0 };
        Recipe {
            penalty: Penalty { strength: 0.05, schedule },
            clip: Some(0.1),
            reinit: Some(Reinit { every: 10, patience: 5_000, error_above: 1.0 }),
            ..Recipe::default()
        }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        let instructions = nac::gold::<R>(self.shape, operation, 1.0)?;
        let gate = R::of(if operation.is_sum() { 40.0 } else { -100.0 });
        let gates = vec![gate; self.shape.outputs];
        Some([instructions.clone(), instructions, gates].concat())
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        let n = self.shape.weights();
        let sums = nac::sums(self.shape, &p[..2 * n], 1.0, inputs, style);
        let w: Vec<f64> = nac::effective(&p[2 * n..4 * n], n, 1.0).map(|w| style.weight(w)).collect();
        let product = |w: &[f64]| {
            let sign = w.iter().zip(inputs).map(|(w, x)| {
                let sign = x.clone().call(Function::Sign).times(w.abs());
                Expression::sum([sign, Expression::number(1.0 - w.abs())])
            });
            let size = match style {
                Style::Read => {
                    // A whole number's sign and size together are the number.
                    let whole = |w: f64| w.abs() == 1.0;
                    let power = |(&w, x): (&f64, &Expression)| match whole(w) {
                        true => x.clone().power(w),
                        false => x.clone().call(Function::Abs).power(w),
                    };
                    let signs = w.iter().zip(sign).filter(|(w, _)| !whole(**w)).map(|(_, sign)| sign);
                    return Expression::product(w.iter().zip(inputs).map(power).chain(signs));
                }
                _ => {
                    let log = |x: &Expression| x.clone().call(Function::Abs).at_least(EPSILON).call(Function::Ln);
                    let exponent = Expression::sum(w.iter().zip(inputs).map(|(&w, x)| log(x).times(w)));
                    exponent.at_most(OMEGA).call(Function::Exp)
                }
            };
            Expression::product([size].into_iter().chain(sign))
        };
        let products = w.chunks_exact(self.shape.inputs).map(product);
        let mix = |((&g, a), m): ((&f64, Expression), Expression)| {
            let g = style.weight(Function::Sigmoid.evaluate(g));
            Expression::sum([a.times(g), m.times(1.0 - g)])
        };
        Some(p[4 * n..].iter().zip(sums).zip(products).map(mix).collect())
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

//! NPU, the neural power unit (Heim, Pevný and Šmídl, NeurIPS 2020): complex powers of gated inputs, real part.
//!
//! y_o = exp(sum_i (w_r ln r - w_i k)) cos(sum_i (w_r k + w_i ln r)),  r = g (|x| + 2^-23) + 1 - g,  k = pi g [x < 0],
//! with the gate g clamped to [0, 1]
//!
//! Without the imaginary weights it is the RealNPU.

use super::start::{leading, xavier};
use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::{Expression, Function};
use crate::lane::{self, LANES, each, linear};
use crate::penalty::{self, Penalty, Schedule};
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};
use std::f64::consts::PI;

/// Single precision's machine epsilon; keeps the logarithm finite.
const EPSILON: f64 = 1.0 / 8_388_608.0;

/// The neural power unit, or, without imaginary weights, the RealNPU.
///
/// ```text
/// y_o = exp(sum_i (w_r ln r - w_i k)) cos(sum_i (w_r k + w_i ln r)),  r = g (|x| + 2^-23) + 1 - g,  k = pi g [x < 0]
/// ```
#[derive(Clone, Debug)]
pub struct Npu {
    shape: Shape,
    complex: bool,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "npu",
        label: "NPU",
        citation: "Heim, Pevný and Šmídl, Neural Power Units, NeurIPS 2020",
        formula: "y_o = exp(sum_i (w_r ln r - w_i k)) cos(sum_i (w_r k + w_i ln r)),  r = g (|x| + 2^-23) + 1 - g,  k = pi g [x < 0]",
        parameters: "w_r, w_i [outputs, inputs], g [inputs]",
        allowed: "unbounded; g acts clamped to [0, 1]",
        claims: &[Operation::Mul, Operation::Div, Operation::Square, Operation::Root, Operation::Reciprocal],
        options: &[],
        smooth_at_zero: false,
        gold_error: 5e-6,
        gold_positive: true,
        build: |shape, _: &Options| Ok(Box::new(Npu::with(shape, true))),
    }
}

impl Npu {
    /// An NPU with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self::with(Shape::new(inputs, outputs)?, true))
    }

    pub(super) fn with(shape: Shape, complex: bool) -> Self {
        Self { shape, complex }
    }

    /// Where the gates start in the parameter vector.
    #[inline(always)]
    fn gates(&self) -> usize {
        self.shape.weights() * if self.complex { 2 } else { 1 }
    }

    #[inline(always)]
    fn tape<'a, R: Real>(&self, tape: &'a mut [Lane<R>], at: BatchLayout) -> Tape<'a, R> {
        let (inputs, outputs) = (self.shape.inputs * at.lanes(), self.shape.outputs * at.lanes());
        let (radius, tape) = tape.split_at_mut(inputs);
        let (log, tape) = tape.split_at_mut(inputs);
        let (angle, tape) = tape.split_at_mut(inputs);
        let (by_log, tape) = tape.split_at_mut(inputs);
        let (by_angle, tape) = tape.split_at_mut(inputs);
        let (real, tape) = tape.split_at_mut(outputs);
        let (imaginary, tape) = tape.split_at_mut(outputs);
        let (scratch, negative) = tape.split_at_mut(outputs);
        let negative = &mut lane::flat_mut(negative)[..self.shape.weights()];
        Tape { radius, log, angle, by_log, by_angle, real, imaginary, scratch, negative }
    }
}

/// What a forward pass leaves for its backward pass. `real` and `imaginary` hold the two parts of the exponential.
struct Tape<'a, R> {
    radius: &'a mut [Lane<R>],
    log: &'a mut [Lane<R>],
    angle: &'a mut [Lane<R>],
    by_log: &'a mut [Lane<R>],
    by_angle: &'a mut [Lane<R>],
    real: &'a mut [Lane<R>],
    imaginary: &'a mut [Lane<R>],
    scratch: &'a mut [Lane<R>],
    /// The imaginary weights with their sign turned.
    negative: &'a mut [R],
}

impl<R: Real> Module<R> for Npu {
    fn name(&self) -> &'static str {
        if self.complex { "npu" } else { "real-npu" }
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.gates() + self.shape.inputs
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        (5 * self.shape.inputs + 3 * self.shape.outputs) * at.lanes() + self.shape.weights().div_ceil(LANES)
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let r = xavier::<R>(self.shape);
        let (weights, gates) = p.split_at_mut(self.gates());
        weights.fill(R::ZERO);
        weights[..self.shape.weights()].fill_with(|| rng.uniform(-r, r));
        gates.fill(R::of(0.5));
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let (lanes, n) = (at.lanes(), self.shape.weights());
        let tape = self.tape(tape, at);
        let pi = R::of(std::f64::consts::PI);
        for (i, &g) in p[self.gates()..].iter().enumerate() {
            let g = g.at_least(R::ZERO).at_most(R::ONE);
            let own = i * lanes..(i + 1) * lanes;
            let radius = &mut tape.radius[own.clone()];
            each::map1(radius, &x[own.clone()], |x| g * (x.abs() + R::of(EPSILON)) + (R::ONE - g));
            tape.log[own.clone()].copy_from_slice(radius);
            each::ln(&mut tape.log[own.clone()]);
            each::map1(&mut tape.angle[own.clone()], &x[own], |x| if x < R::ZERO { g * pi } else { R::ZERO });
        }
        linear::forward(at.instructions, &p[..n], tape.log, tape.real, lanes);
        linear::forward(at.instructions, &p[..n], tape.angle, tape.imaginary, lanes);
        if self.complex {
            let w = &p[n..2 * n];
            linear::forward(at.instructions, w, tape.angle, tape.scratch, lanes);
            each::update1(tape.real, tape.scratch, |sum, part| sum - part);
            linear::forward(at.instructions, w, tape.log, tape.scratch, lanes);
            each::update1(tape.imaginary, tape.scratch, |sum, part| sum + part);
        }
        each::exp(tape.real);
        // Nothing turns where no input is negative. None of these zeros is a negative one, because sums start from 0.
        let turned = lane::flat(tape.imaginary).iter().fold(false, |turned, &angle| turned | (angle != R::ZERO));
        let parts = lane::flat_mut(tape.real).iter_mut().zip(lane::flat_mut(tape.imaginary));
        if turned {
            for (real, imaginary) in parts {
                let (size, (sine, cosine)) = (*real, imaginary.sin_cos());
                *real = size * cosine;
                *imaginary = size * sine;
            }
        } else {
            let (sine, cosine) = R::ZERO.sin_cos();
            for (real, imaginary) in parts {
                let size = *real;
                *real = size * cosine;
                *imaginary = size * sine;
            }
        }
        y.copy_from_slice(tape.real);
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
        let (lanes, n) = (at.lanes(), self.shape.weights());
        let tape = self.tape(tape, at);
        let pi = R::of(std::f64::consts::PI);
        // From here on `real` and `imaginary` hold the gradient of the two exponents.
        each::update1(tape.real, dy, |real, dy| dy * real);
        each::update1(tape.imaginary, dy, |imaginary, dy| -(dy * imaginary));
        let (dw, dgates) = dp.split_at_mut(self.gates());
        linear::weight_gradient(at.instructions, tape.real, tape.log, &mut dw[..n], lanes);
        linear::weight_gradient(at.instructions, tape.imaginary, tape.angle, &mut dw[..n], lanes);
        tape.by_log.fill(Lane::ZERO);
        tape.by_angle.fill(Lane::ZERO);
        linear::input_gradient(&p[..n], tape.real, tape.by_log, lanes);
        linear::input_gradient(&p[..n], tape.imaginary, tape.by_angle, lanes);
        if self.complex {
            for (negative, &w) in tape.negative.iter_mut().zip(&p[n..2 * n]) {
                *negative = -w;
            }
            linear::input_gradient(tape.negative, tape.real, tape.by_angle, lanes);
            linear::input_gradient(&p[n..2 * n], tape.imaginary, tape.by_log, lanes);
            linear::weight_gradient(at.instructions, tape.imaginary, tape.log, &mut dw[n..], lanes);
            each::update(tape.real, |real| -real);
            linear::weight_gradient(at.instructions, tape.real, tape.angle, &mut dw[n..], lanes);
        }
        let mut dx = dx;
        for (i, &g) in p[self.gates()..].iter().enumerate() {
            let open = R::ZERO <= g && g <= R::ONE;
            let g = g.at_least(R::ZERO).at_most(R::ONE);
            let own = i * lanes..(i + 1) * lanes;
            // From here on `by_log` holds the gradient of the radius, and `by_angle` what each row adds to that of the gate.
            let (x, by_radius, terms) =
                (&x[own.clone()], &mut tape.by_log[own.clone()], &mut tape.by_angle[own.clone()]);
            each::update1(by_radius, &tape.radius[own.clone()], |by_log, radius| by_log / radius);
            each::update2(terms, by_radius, x, |by_angle, by_radius, x| {
                let turned = if x < R::ZERO { pi } else { R::ZERO };
                by_radius * (x.abs() + R::of(EPSILON) - R::ONE) + by_angle * turned
            });
            if let Some(dx) = dx.as_deref_mut() {
                each::map2(&mut dx[own], by_radius, x, |by_radius, x| by_radius * g * x.sign());
            }
            if open {
                dgates[i] += linear::row_sum(terms);
            }
        }
    }

    /// The sum of the absolute values of all parameters.
    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        let mut sum = R::ZERO;
        for (dp, &p) in dp.iter_mut().zip(p) {
            sum += p.abs();
            *dp += strength * p.sign();
        }
        strength * sum
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        let n = self.shape.weights();
        let real = penalty::sparsity_error(p[..n].iter().copied());
        Some(if self.complex {
            (real + penalty::sparsity_error(p[n..2 * n].iter().copied())) * R::of(0.5)
        } else {
            real
        })
    }

    fn recipe(&self) -> Recipe {
        let schedule = Schedule::Growth { every: 10_000, factor: 10.0, most: 1e-5 };
        Recipe { learning_rate: 5e-3, penalty: Penalty { strength: 1e-7, schedule }, ..Recipe::default() }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        if operation.is_sum() || self.shape.inputs < 2 {
            return None;
        }
        let mut p = leading(self.shape, operation, R::ZERO);
        p.resize(self.gates(), R::ZERO);
        p.extend((0..self.shape.inputs).map(|i| if i < 2 { R::ONE } else { R::ZERO }));
        Some(p)
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        let (n, count) = (self.shape.weights(), self.shape.inputs);
        let gates: Vec<f64> = p[self.gates()..].iter().map(|g| style.weight(g.clamp(0.0, 1.0))).collect();
        let size = |i: usize| {
            let own =
                Expression::sum([inputs[i].clone().call(Function::Abs), Expression::number(style.guard(EPSILON))]);
            Expression::sum([own.times(gates[i]), Expression::number(1.0 - gates[i])])
        };
        let angle = |i: usize| inputs[i].clone().call(Function::IsNegative).times(PI * gates[i]);
        let output = |o: usize| {
            let real = |i: usize| style.weight(p[o * count + i]);
            let imaginary = |i: usize| if self.complex { style.weight(p[n + o * count + i]) } else { 0.0 };
            let log = |i: usize| size(i).call(Function::Ln);
            if style == Style::Read && (0..count).all(|i| imaginary(i) == 0.0) {
                // Where a whole input has a whole power, the cosine is its sign.
                let whole = |i: usize| gates[i] == 1.0 && real(i).fract() == 0.0;
                let power = |i: usize| if whole(i) { inputs[i].clone() } else { size(i) }.power(real(i));
                let turn = Expression::sum((0..count).filter(|&i| !whole(i)).map(|i| angle(i).times(real(i))));
                return Expression::product((0..count).map(power).chain([turn.call(Function::Cos)]));
            }
            let exponent = (0..count).flat_map(|i| [log(i).times(real(i)), angle(i).times(-imaginary(i))]);
            let turn = (0..count).flat_map(|i| [angle(i).times(real(i)), log(i).times(imaginary(i))]);
            let size = Expression::sum(exponent).call(Function::Exp);
            Expression::product([size, Expression::sum(turn).call(Function::Cos)])
        };
        Some((0..self.shape.outputs).map(output).collect())
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

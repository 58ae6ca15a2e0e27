//! NALU, the neural arithmetic logic unit (Trask et al., NeurIPS 2018): a gate between NAC+ and NAC• over one set of
//! weights.
//!
//! y = g a + (1 - g) m,  a = W x,  m = exp(W ln(|x| + 1e-7)),  g = sigmoid(G x),  W = tanh(what) sigmoid(mhat)
//!
//! The same code with all three pre-activations multiplied by ln of the golden ratio is the G-NALU.

use super::nac_mul::EPSILON;
use super::start::xavier;
use super::{Dispatch, Module, Options, Pass, Shape, Spec, nac};
use crate::batch::BatchLayout;
use crate::expression::{Expression, Function};
use crate::lane::{self, LANES, each, linear};
use crate::penalty;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The neural arithmetic logic unit.
///
/// ```text
/// y = g a + (1 - g) m,  a = W x,  m = exp(W ln(|x| + 1e-7)),  g = sigmoid(G x),  W = tanh(what) sigmoid(mhat)
/// ```
#[derive(Clone, Debug)]
pub struct Nalu {
    name: &'static str,
    shape: Shape,
    scale: f64,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "nalu",
        label: "NALU",
        citation: "Trask et al., Neural Arithmetic Logic Units, NeurIPS 2018",
        formula: "y = g a + (1 - g) m,  a = W x,  m = exp(W ln(|x| + 1e-7)),  g = sigmoid(G x),  W = tanh(what) sigmoid(mhat)",
        parameters: "what, mhat, G [outputs, inputs]",
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
        build: |shape, _: &Options| Ok(Box::new(Nalu { name: "nalu", shape, scale: 1.0 })),
    }
}

impl Nalu {
    /// A NALU with this many inputs and outputs.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self::scaled("nalu", Shape::new(inputs, outputs)?, 1.0))
    }

    pub(super) fn scaled(name: &'static str, shape: Shape, scale: f64) -> Self {
        Self { name, shape, scale }
    }

    #[inline(always)]
    fn tape<'a, R: Real>(&self, tape: &'a mut [Lane<R>], at: BatchLayout) -> Tape<'a, R> {
        let out = self.shape.outputs * at.lanes();
        let (weights, tape) = tape.split_at_mut(nac::tape_len(self.shape));
        let (dw, tape) = tape.split_at_mut(self.shape.weights().div_ceil(LANES));
        let (logs, tape) = tape.split_at_mut(self.shape.inputs * at.lanes());
        let (by_log, tape) = tape.split_at_mut(self.shape.inputs * at.lanes());
        let (sum, tape) = tape.split_at_mut(out);
        let (product, tape) = tape.split_at_mut(out);
        let (gate, gradients) = tape.split_at_mut(out);
        let weights = nac::Weights::on(weights, self.shape);
        Tape {
            weights,
            dw: &mut lane::flat_mut(dw)[..self.shape.weights()],
            logs,
            by_log,
            sum,
            product,
            gate,
            gradients,
        }
    }
}

/// g a + (1 - g) m for every output, with g = sigmoid(scale G x).
pub(super) fn gated(
    shape: Shape,
    gate: &[f64],
    scale: f64,
    sums: Vec<Expression>,
    products: Vec<Expression>,
    inputs: &[Expression],
) -> Vec<Expression> {
    let mix = |((w, a), m): ((&[f64], Expression), Expression)| {
        let z = Expression::sum(w.iter().zip(inputs).map(|(&w, x)| x.clone().times(scale * w)));
        let g = z.call(Function::Sigmoid);
        let rest = Expression::sum([Expression::number(1.0), g.clone().times(-1.0)]);
        Expression::sum([Expression::product([g, a]), Expression::product([rest, m])])
    };
    gate.chunks_exact(shape.inputs).zip(sums).zip(products).map(mix).collect()
}

/// What a forward pass leaves for its backward pass.
struct Tape<'a, R> {
    weights: nac::Weights<'a, R>,
    dw: &'a mut [R],
    logs: &'a mut [Lane<R>],
    by_log: &'a mut [Lane<R>],
    sum: &'a mut [Lane<R>],
    product: &'a mut [Lane<R>],
    gate: &'a mut [Lane<R>],
    gradients: &'a mut [Lane<R>],
}

impl<R: Real> Module<R> for Nalu {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        3 * self.shape.weights()
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        let Shape { inputs, outputs } = self.shape;
        nac::tape_len(self.shape) + self.shape.weights().div_ceil(LANES) + (2 * inputs + 4 * outputs) * at.lanes()
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let (hidden, gate) = p.split_at_mut(2 * self.shape.weights());
        nac::init(self.shape, hidden, rng);
        let r = xavier::<R>(self.shape);
        gate.fill_with(|| rng.uniform(-r, r));
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let scale = R::of(self.scale);
        let (hidden, gate) = p.split_at(2 * self.shape.weights());
        let mut tape = self.tape(tape, at);
        tape.weights.compute(hidden, scale);
        each::map1(tape.logs, x, |x| x.abs() + R::of(EPSILON));
        each::ln(tape.logs);
        linear::forward(at.instructions, tape.weights.w, x, tape.sum, at.lanes());
        linear::forward(at.instructions, tape.weights.w, tape.logs, tape.product, at.lanes());
        linear::forward(at.instructions, gate, x, tape.gate, at.lanes());
        each::exp(tape.product);
        each::update(tape.gate, |z| scale * z);
        each::sigmoid(tape.gate);
        each::map3(y, tape.gate, tape.sum, tape.product, |g, a, m| g * a + (R::ONE - g) * m);
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
        let lanes = at.lanes();
        let hidden = 2 * self.shape.weights();
        let tape = self.tape(tape, at);
        let gradients = tape.gradients;
        if let Some(dx) = dx.as_deref_mut() {
            dx.fill(Lane::ZERO);
        }
        tape.dw.fill(R::ZERO);

        each::map2(gradients, dy, tape.gate, |dy, g| dy * g);
        linear::weight_gradient(at.instructions, gradients, x, tape.dw, lanes);
        if let Some(dx) = dx.as_deref_mut() {
            linear::input_gradient(tape.weights.w, gradients, dx, lanes);
        }

        each::map3(gradients, dy, tape.gate, tape.product, |dy, g, m| dy * (R::ONE - g) * m);
        linear::weight_gradient(at.instructions, gradients, tape.logs, tape.dw, lanes);
        if let Some(dx) = dx.as_deref_mut() {
            tape.by_log.fill(Lane::ZERO);
            linear::input_gradient(tape.weights.w, gradients, tape.by_log, lanes);
            each::update2(dx, tape.by_log, x, |dx, by_log, x| dx + by_log * (x.sign() / (x.abs() + R::of(EPSILON))));
        }
        tape.weights.backward(tape.dw, &mut dp[..hidden]);

        each::map3(gradients, dy, tape.sum, tape.product, |dy, a, m| dy * (a - m));
        each::update1(gradients, tape.gate, |gradient, g| gradient * (g * (R::ONE - g) * R::of(self.scale)));
        linear::weight_gradient(at.instructions, gradients, x, &mut dp[hidden..], lanes);
        if let Some(dx) = dx {
            linear::input_gradient(&p[hidden..], gradients, dx, lanes);
        }
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        Some(penalty::sparsity_error(nac::effective(p, self.shape.weights(), R::of(self.scale))))
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        let mut p = nac::gold(self.shape, operation, self.scale)?;
        let gate = if operation.is_sum() { 100.0 } else { -100.0 } / self.scale;
        p.extend(vec![R::of(gate); self.shape.weights()]);
        Some(p)
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        let (hidden, gate) = p.split_at(2 * self.shape.weights());
        let sums = nac::sums(self.shape, hidden, self.scale, inputs, style);
        let products = nac::powers(self.shape, hidden, self.scale, inputs, style);
        Some(gated(self.shape, gate, self.scale, sums, products, inputs))
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

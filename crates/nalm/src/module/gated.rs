//! The gated pair (Madsen and Johansen, ICLR 2020): NALU's gate over a NAU and a multiplication unit.
//!
//! y = g NAU(x) + (1 - g) NMU(x),  g = sigmoid(G x)

use super::start::{START, xavier};
use super::{Backward, Dispatch, Forward, Module, Nau, Nmu, Options, Pass, Shape, Snmu, Spec, nalu, snmu};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{each, linear};
use crate::penalty;
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// A gate between a NAU and a multiplication unit `M`, which is an [`Nmu`] or an [`Snmu`].
///
/// ```text
/// y = g NAU(x) + (1 - g) sNMU(x),  g = sigmoid(G x)
/// ```
#[derive(Clone, Debug)]
pub struct Gated<M> {
    name: &'static str,
    shape: Shape,
    add: Nau,
    mul: M,
    /// Fixed where the unit is known, because a module over one number type need not be one over the other.
    as_double: fn(&Self) -> Box<dyn Dispatch<f64>>,
}

const FORMULA: &str = "y = g NAU(x) + (1 - g) NMU(x),  g = sigmoid(G x)";

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "gated-nmu",
        label: "gated NAU/NMU",
        citation: "Madsen and Johansen, Neural Arithmetic Units, ICLR 2020",
        formula: FORMULA,
        parameters: "w_nau, w_nmu, G [outputs, inputs]",
        allowed: "w_nau in [-1, 1], w_nmu in [0, 1], G unbounded",
        claims: &[Operation::Mul, Operation::Add, Operation::Sub],
        options: &[START],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: true,
        build: |shape, options: &Options| {
            let (low, high) = options.pair(&START)?;
            let mul = Nmu::starting_in(shape.inputs, shape.outputs, low, high)?;
            Ok(Box::new(Gated::new("gated-nmu", shape, mul)?))
        },
    }
}

pub(super) fn stochastic_spec<R: Real>() -> Spec<R> {
    Spec {
        name: "gated-snmu",
        label: "gated NAU/sNMU",
        formula: "y = g NAU(x) + (1 - g) sNMU(x),  g = sigmoid(G x)",
        parameters: "w_nau, w_nmu [outputs, inputs], rho [1] with learnable noise, G [outputs, inputs]",
        allowed: "w_nau in [-1, 1], w_nmu in [0, 1], rho and G unbounded",
        options: &[snmu::NOISE, snmu::DENOISER, START],
        build: |shape, options: &Options| {
            let mul = Snmu::from_options("snmu", shape, options.read(&snmu::DENOISER)?, options)?;
            Ok(Box::new(Gated::new("gated-snmu", shape, mul)?))
        },
        ..spec()
    }
}

impl<M> Gated<M> {
    fn new(name: &'static str, shape: Shape, mul: M) -> Result<Self, Error>
    where
        M: Module<f64> + Clone + 'static,
    {
        let as_double: fn(&Self) -> Box<dyn Dispatch<f64>> = |gated| Box::new(gated.clone());
        Ok(Self { name, shape, add: Nau::new(shape.inputs, shape.outputs)?, mul, as_double })
    }

    /// Where the multiplication unit's parameters and the gate's start.
    #[inline(always)]
    fn starts<R: Real>(&self) -> (usize, usize)
    where
        M: Module<R>,
    {
        let n = self.shape.weights();
        (n, n + self.mul.param_len())
    }
}

impl Gated<Nmu> {
    /// A gate over a NAU and an NMU.
    pub fn nmu(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Self::new("gated-nmu", Shape::new(inputs, outputs)?, Nmu::new(inputs, outputs)?)
    }
}

impl Gated<Snmu> {
    /// A gate over a NAU and this sNMU.
    pub fn snmu(unit: Snmu) -> Result<Self, Error> {
        Self::new("gated-snmu", Module::<f32>::shape(&unit), unit)
    }
}

impl<R: Real, M: Module<R>> Module<R> for Gated<M> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.starts().1 + self.shape.weights()
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        (4 * self.shape.outputs + self.shape.inputs) * at.lanes() + self.mul.tape_len(at)
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let (mul, gate) = self.starts();
        self.add.init(&mut p[..mul], rng);
        self.mul.init(&mut p[mul..gate], rng);
        let r = xavier::<R>(self.shape);
        p[gate..].fill_with(|| rng.uniform(-r, r));
    }

    #[inline(always)]
    fn forward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        y: &mut [Lane<R>],
        tape: &mut [Lane<R>],
        at: BatchLayout,
        pass: Pass<'_>,
    ) {
        let out = y.len();
        let (mul, gate) = self.starts();
        let (sum, tape) = tape.split_at_mut(out);
        let (product, tape) = tape.split_at_mut(out);
        let (gates, tape) = tape.split_at_mut(out);
        let (_, inner) = tape.split_at_mut(out + x.len());
        // The units are called as they are compiled for themselves: compiled into the gate once more, they would take a fifth of the crate's build.
        let (of_add, of_mul) = p[..gate].split_at(mul);
        self.add.run_forward(Forward { p: of_add, x, y: &mut *sum, tape: &mut [], at, pass: Pass::Eval });
        self.mul.run_forward(Forward { p: of_mul, x, y: &mut *product, tape: inner, at, pass });
        linear::forward(at.instructions, &p[gate..], x, gates, at.lanes());
        each::sigmoid(gates);
        each::map3(y, gates, sum, product, |g, a, m| g * a + (R::ONE - g) * m);
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
        let (out, lanes) = (dy.len(), at.lanes());
        let (mul, gate) = self.starts();
        let (sum, tape) = tape.split_at_mut(out);
        let (product, tape) = tape.split_at_mut(out);
        let (gates, tape) = tape.split_at_mut(out);
        let (gradients, tape) = tape.split_at_mut(out);
        let (part, inner) = tape.split_at_mut(x.len());

        each::map2(gradients, dy, gates, |dy, g| dy * (R::ONE - g));
        let wanted = dx.is_some().then_some(&mut *part);
        let (of_mul, dp_mul) = (&p[mul..gate], &mut dp[mul..gate]);
        self.mul.run_backward(Backward { p: of_mul, x, dy: gradients, dx: wanted, dp: dp_mul, tape: inner, at });
        each::map2(gradients, dy, gates, |dy, g| dy * g);
        let (of_add, dp_add, wanted) = (&p[..mul], &mut dp[..mul], dx.as_deref_mut());
        self.add.run_backward(Backward { p: of_add, x, dy: gradients, dx: wanted, dp: dp_add, tape: &mut [], at });
        each::map3(gradients, dy, sum, product, |dy, a, m| dy * (a - m));
        each::update1(gradients, gates, |gradient, g| gradient * g * (R::ONE - g));
        linear::weight_gradient(at.instructions, gradients, x, &mut dp[gate..], lanes);
        if let Some(dx) = dx {
            linear::input_gradient(&p[gate..], gradients, dx, lanes);
            each::update1(dx, part, |dx, part| dx + part);
        }
    }

    #[inline(always)]
    fn bounds(&self, index: usize) -> (R, R) {
        let (mul, gate) = self.starts();
        if index < mul {
            self.add.bounds(index)
        } else if index < gate {
            self.mul.bounds(index - mul)
        } else {
            (R::of(f64::NEG_INFINITY), R::of(f64::INFINITY))
        }
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        let (mul, gate) = self.starts();
        self.add.penalty(&p[..mul], strength, &mut dp[..mul])
            + self.mul.penalty(&p[mul..gate], strength, &mut dp[mul..gate])
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        let (mul, gate) = self.starts();
        penalty::largest([self.add.sparsity_error(&p[..mul]), self.mul.sparsity_error(&p[mul..gate])])
    }

    fn recipe(&self) -> Recipe {
        Recipe::sparse()
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        let idle = |p: Option<Vec<R>>, n: usize| p.unwrap_or_else(|| vec![R::ZERO; n]);
        let (add, mul) = (self.add.gold(operation), self.mul.gold(operation));
        let gate = R::of(if add.is_some() { 100.0 } else { -100.0 });
        (add.is_some() || mul.is_some()).then(|| {
            let weights = self.shape.weights();
            [idle(add, weights), idle(mul, self.mul.param_len()), vec![gate; weights]].concat()
        })
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        let (mul, gate) = self.starts();
        let sums = Module::<R>::formula(&self.add, &p[..mul], inputs, style)?;
        let products = self.mul.formula(&p[mul..gate], inputs, style)?;
        Some(nalu::gated(self.shape, &p[gate..], 1.0, sums, products, inputs))
    }

    fn options(&self) -> Options {
        self.mul.options()
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some((self.as_double)(self))
    }
}

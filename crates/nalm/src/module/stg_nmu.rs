//! stgNMU, the NMU with stochastic gates (Yamada et al., ICML 2020, applied to the NMU by Mistry, Farrahi and Hare
//! 2022): Gaussian noise on the weights instead of reversible noise on the inputs.
//!
//! w = clamp(mu + e, 0, 1), e ~ N(0, sigma^2) once per weight and training pass; w = clamp(mu, 0, 1) in evaluation; then
//! the NMU. The penalty is the expected number of open gates, sum Phi(mu / sigma).

use super::{Dispatch, Module, Options, Pass, Shape, Spec, nmu};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{self, LANES};
use crate::penalty::{self, Penalty, Schedule};
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::setting::{Kind, Setting};
use crate::style::Style;
use crate::{Error, Lane, Operation, Real};

/// The NMU with stochastic gates.
///
/// ```text
/// y_o = prod_i (x_i w_oi + 1 - w_oi),  w = clamp(mu + e, 0, 1),  e ~ N(0, sigma^2); e = 0 in evaluation
/// ```
#[derive(Clone, Debug)]
pub struct StgNmu {
    shape: Shape,
    sigma: f64,
    lambda: f64,
}

const SIGMA: Setting = Setting::new("sigma", Kind::Number, "0.5", "standard deviation of the gate noise");
const LAMBDA: Setting = Setting::new("lambda", Kind::Number, "0.01", "strength of the gate penalty");

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "stg-nmu",
        label: "stgNMU",
        citation: "Yamada et al., Feature Selection using Stochastic Gates, ICML 2020; Mistry, Farrahi and Hare, 2022",
        formula: "y_o = prod_i (x_i w_oi + 1 - w_oi),  w = clamp(mu + e, 0, 1),  e ~ N(0, sigma^2); e = 0 in evaluation",
        parameters: "mu [outputs, inputs]",
        allowed: "unbounded; w in [0, 1]",
        claims: &[Operation::Mul],
        options: &[SIGMA, LAMBDA],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, options: &Options| {
            Ok(Box::new(StgNmu::new(shape.inputs, shape.outputs, options.number(&SIGMA)?, options.number(&LAMBDA)?)?))
        },
    }
}

impl StgNmu {
    /// An stgNMU with gate noise `sigma` and gate penalty `lambda`.
    pub fn new(inputs: usize, outputs: usize, sigma: f64, lambda: f64) -> Result<Self, Error> {
        Error::check(sigma > 0.0 && sigma.is_finite(), "sigma of the stochastic gates", sigma, "positive and finite")?;
        Error::check(lambda >= 0.0 && lambda.is_finite(), "lambda of the stochastic gates", lambda, "at least 0")?;
        Ok(Self { shape: Shape::new(inputs, outputs)?, sigma, lambda })
    }

    #[inline(always)]
    fn tape<'a, R: Real>(&self, tape: &'a mut [Lane<R>]) -> (Gates<'a, R>, &'a mut [Lane<R>]) {
        let n = self.shape.weights();
        let part = n.div_ceil(LANES);
        let (gates, rest) = tape.split_at_mut(3 * part);
        let (noise, gates) = lane::flat_mut(gates).split_at_mut(part * LANES);
        let (w, dw) = gates.split_at_mut(part * LANES);
        (Gates { noise: &mut noise[..n], w: &mut w[..n], dw: &mut dw[..n] }, rest)
    }
}

/// Noise, weights and their gradient, on a stretch of tape.
struct Gates<'a, R> {
    noise: &'a mut [R],
    w: &'a mut [R],
    dw: &'a mut [R],
}

impl<R: Real> Module<R> for StgNmu {
    fn name(&self) -> &'static str {
        "stg-nmu"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.shape.weights()
    }

    fn tape_len(&self, _: BatchLayout) -> usize {
        3 * self.shape.weights().div_ceil(LANES) + 2 * self.shape.inputs
    }

    fn init(&self, p: &mut [R], _: &mut Rng) {
        p.fill(R::of(0.5));
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
        let (gates, _) = self.tape(tape);
        let loud = match pass {
            Pass::Train(rng) => {
                rng.fill_normal(gates.noise, at.instructions);
                R::of(self.sigma)
            }
            Pass::Noiseless => {
                gates.noise.fill(R::ZERO);
                R::ZERO
            }
            Pass::Replay => R::of(self.sigma),
            Pass::Eval => R::ZERO,
        };
        for k in 0..p.len() {
            gates.w[k] = (p[k] + loud * gates.noise[k]).at_least(R::ZERO).at_most(R::ONE);
        }
        nmu::forward(self.shape, gates.w, x, y, at);
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
        let (gates, rest) = self.tape(tape);
        gates.dw.fill(R::ZERO);
        nmu::backward(self.shape, gates.w, x, dy, dx, gates.dw, rest, at);
        for k in 0..p.len() {
            let gate = p[k] + R::of(self.sigma) * gates.noise[k];
            if R::ZERO <= gate && gate <= R::ONE {
                dp[k] += gates.dw[k];
            }
        }
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        let mut sum = R::ZERO;
        for (dp, &mu) in dp.iter_mut().zip(p) {
            let z = mu.to_f64() / self.sigma;
            let density = libm::exp(-0.5 * z * z) / std::f64::consts::TAU.sqrt();
            sum += R::of(0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2));
            *dp += strength * R::of(density / self.sigma);
        }
        strength * sum
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        Some(penalty::sparsity_error(p.iter().map(|mu| mu.at_least(R::ZERO).at_most(R::ONE))))
    }

    fn recipe(&self) -> Recipe {
        let penalty = Penalty { strength: self.lambda, schedule: Schedule::Constant };
        Recipe { penalty, ..Recipe::default() }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        nmu::gold(self.shape, operation)
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        let gates: Vec<f64> = p.iter().map(|mu| mu.clamp(0.0, 1.0)).collect();
        Some(nmu::formula(self.shape, &gates, inputs, style))
    }

    fn options(&self) -> Options {
        Options::new().with(SIGMA.name, self.sigma).with(LAMBDA.name, self.lambda)
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

//! sNMU, the stochastic neural multiplication unit (Mistry, Farrahi and Hare 2022): multiplies the inputs by noise
//! in training and divides the output by what the noise would do to a discrete solution.
//!
//! y_o = prod_i (n_i x_i w_oi + 1 - w_oi) / prod_i (n_i w_oi + 1 - w_oi) in training, the NMU in evaluation
//!
//! Per factor this is the NMU at the weight n w / (1 + (n - 1) w): the noise moves every weight at random but leaves 0
//! and 1 where they are. Noise and denominator are taken from the lists in [`crate::noise`] and [`crate::denoiser`].

use super::start::{START, start_box};
use super::{Dispatch, Module, Options, Pass, Shape, Spec, nmu};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{add_sums, each, flat, flat_mut, linear};
use crate::noise::softplus;
use crate::penalty;
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::setting::{Kind, Setting};
use crate::style::Style;
use crate::{Denoiser, Error, Lane, Noise, Operation, Real};

/// The stochastic neural multiplication unit.
///
/// ```text
/// y_o = prod_i (n_i x_i w_oi + 1 - w_oi) / prod_i (n_i w_oi + 1 - w_oi); the NMU in evaluation
/// ```
#[derive(Clone, Debug)]
pub struct Snmu {
    name: &'static str,
    shape: Shape,
    start: (f64, f64),
    noise: Noise,
    denoiser: Denoiser,
}

/// The noise on the inputs.
pub(super) const NOISE: Setting =
    Setting::new("noise", Kind::text::<Noise>("a noise"), "U[1,5]", "the noise on the inputs (nalm list noise)");

/// The denominator.
pub(super) const DENOISER: Setting =
    Setting::new("denoiser", Kind::text::<Denoiser>("a denoiser"), "paper", "the denominator (nalm list denoisers)");

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "snmu",
        label: "sNMU",
        citation: "Mistry, Farrahi and Hare, Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity, 2022",
        formula: "y_o = prod_i (n_i x_i w_oi + 1 - w_oi) / prod_i (n_i w_oi + 1 - w_oi); the NMU in evaluation",
        parameters: "w [outputs, inputs], rho [1] with learnable noise",
        allowed: "w in [0, 1]",
        claims: &[Operation::Mul],
        options: &[NOISE, DENOISER, START],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, options: &Options| {
            Ok(Box::new(Snmu::from_options("snmu", shape, options.read(&DENOISER)?, options)?))
        },
    }
}

impl Snmu {
    /// The paper's sNMU with noise `U[1,5]`.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Self::with(inputs, outputs, Noise::default(), Denoiser::default())
    }

    /// An sNMU with any noise and denoiser.
    pub fn with(inputs: usize, outputs: usize, noise: Noise, denoiser: Denoiser) -> Result<Self, Error> {
        noise.check()?;
        let (shape, start) = (Shape::new(inputs, outputs)?, Options::new().pair(&START)?);
        Ok(Self { name: "snmu", shape, start, noise, denoiser })
    }

    /// The same unit with weights that start uniform on [low, high).
    pub fn starting_in(self, low: f64, high: f64) -> Result<Self, Error> {
        Ok(Self { start: start_box(low, high)?, ..self })
    }

    pub(super) fn from_options(
        name: &'static str,
        shape: Shape,
        denoiser: Denoiser,
        options: &Options,
    ) -> Result<Self, Error> {
        let (low, high) = options.pair(&START)?;
        let noise: Noise = options.read(&NOISE)?;
        noise.check()?;
        Ok(Self { name, shape, start: start_box(low, high)?, noise, denoiser })
    }

    #[inline(always)]
    fn tape<'a, R: Real>(&self, tape: &'a mut [Lane<R>], at: BatchLayout) -> Tape<'a, R> {
        let (inputs, tensor) = (self.shape.inputs, self.shape.inputs * at.lanes());
        let (noise, tape) = tape.split_at_mut(tensor);
        let (base, tape) = tape.split_at_mut(if self.has_base() { tensor } else { 0 });
        let (terms, tape) = tape.split_at_mut(self.terms(at));
        let (before, tape) = tape.split_at_mut(inputs);
        let (under, tape) = tape.split_at_mut(inputs);
        let (sums, tape) = tape.split_at_mut(inputs);
        let (memory, noiseless) = tape.split_at_mut(1);
        Tape { noise, base, terms, before, under, sums, memory: &mut memory[0], noiseless: &mut noiseless[0] }
    }

    /// Lanes of [`Tape::terms`].
    #[inline(always)]
    fn terms(&self, at: BatchLayout) -> usize {
        if self.shape.inputs == 2 { 2 * at.lanes() } else { 0 }
    }

    /// Whether the noise needs a second tensor.
    #[inline(always)]
    fn has_base(&self) -> bool {
        matches!(self.noise, Noise::Learnable { .. } | Noise::ShiftedGamma { .. })
    }
}

/// What a forward pass leaves for its backward pass.
struct Tape<'a, R> {
    noise: &'a mut [Lane<R>],
    /// The numbers in [0, 1) behind learnable noise.
    base: &'a mut [Lane<R>],
    /// What every row adds to the weights' gradient, where there are two inputs.
    terms: &'a mut [Lane<R>],
    /// Products of the factors before each input: of the numerator, and of the denominator.
    before: &'a mut [Lane<R>],
    under: &'a mut [Lane<R>],
    sums: &'a mut [Lane<R>],
    memory: &'a mut Lane<R>,
    /// 1 after a forward pass without noise, else 0.
    noiseless: &'a mut Lane<R>,
}

impl<R: Real> Module<R> for Snmu {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.shape.weights() + usize::from(self.noise.is_learnable())
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        let tensors = if self.has_base() { 2 } else { 1 };
        self.shape.inputs * (tensors * at.lanes() + 3) + self.terms(at) + 2
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let (w, rho) = p.split_at_mut(self.shape.weights());
        let (low, high) = self.start;
        w.fill_with(|| rng.uniform(R::of(low), R::of(high)));
        rho.fill(R::of(self.noise.rho()));
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
        let (lanes, inputs) = (at.lanes(), self.shape.inputs);
        let (w, rho) = p.split_at(self.shape.weights());
        let tape = self.tape(tape, at);
        match pass {
            Pass::Eval => return nmu::forward(self.shape, w, x, y, at),
            Pass::Noiseless => {
                *tape.noiseless = Lane::splat(R::ONE);
                return nmu::forward(self.shape, w, x, y, at);
            }
            Pass::Replay => {}
            Pass::Train(rng) if self.noise.is_learnable() => {
                self.noise.draw(rng, x, tape.base, tape.noise, tape.memory, at);
            }
            Pass::Train(rng) => self.noise.draw(rng, x, tape.noise, tape.base, tape.memory, at),
        }
        *tape.noiseless = Lane::ZERO;
        if let [rho] = *rho {
            let width = softplus(rho);
            each::map1(tape.noise, tape.base, |u| u * width + R::ONE);
        }
        for o in 0..self.shape.outputs {
            let (w, y) = (&w[o * inputs..][..inputs], &mut y[o * lanes..][..lanes]);
            if let (Denoiser::Paper, [w0, w1]) = (self.denoiser, w) {
                forward_of_two(*w0, *w1, nmu::two(x, lanes), nmu::two(tape.noise, lanes), y);
                continue;
            }
            for (c, y) in y.iter_mut().enumerate() {
                let n = tape.noise[c];
                let mut over = nmu::factor(x[c] * n, w[0]);
                let mut under = self.denoiser.factor(n, w[0]);
                for i in 1..inputs {
                    let n = tape.noise[i * lanes + c];
                    over = over * nmu::factor(x[i * lanes + c] * n, w[i]);
                    under = under * self.denoiser.factor(n, w[i]);
                }
                // One quotient of two products: the form behind the published digits.
                *y = over / under;
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
        let (lanes, inputs) = (at.lanes(), self.shape.inputs);
        let (w, rho) = p.split_at(self.shape.weights());
        let (dw, drho) = dp.split_at_mut(self.shape.weights());
        let scratch = tape.len() - 3 * inputs - 2;
        let Tape { noiseless, .. } = self.tape(tape, at);
        if noiseless[0] > R::ZERO {
            return nmu::backward(self.shape, w, x, dy, dx, dw, &mut tape[scratch..], at);
        }
        let tape = self.tape(tape, at);
        let learnable = self.noise.is_learnable();
        if let Some(dx) = dx.as_deref_mut() {
            dx.fill(Lane::ZERO);
        }
        let mut by_width = Lane::ZERO;
        for o in 0..self.shape.outputs {
            let (w, dy) = (&w[o * inputs..][..inputs], &dy[o * lanes..][..lanes]);
            let (noise, base, dw) = (&*tape.noise, &*tape.base, &mut dw[o * inputs..][..inputs]);
            match (self.denoiser, w) {
                (Denoiser::Paper, [w0, w1]) if !learnable => {
                    let (x, noise) = (nmu::two(x, lanes), nmu::two(noise, lanes));
                    terms_of_two(*w0, *w1, x, noise, dy, tape.terms);
                    let [terms0, terms1] = nmu::two(tape.terms, lanes);
                    add_sums(&[linear::partial_sums(terms0), linear::partial_sums(terms1)], dw);
                    if let Some(dx) = dx.as_deref_mut() {
                        input_gradient_of_two(*w0, *w1, x, noise, dy, dx);
                    }
                }
                (denoiser, _) => {
                    tape.sums.fill(Lane::ZERO);
                    let base = learnable.then_some(base);
                    let scratch = [&mut *tape.before, &mut *tape.under, &mut *tape.sums];
                    by_width += backward_output(denoiser, inputs, w, x, noise, base, dy, dx.as_deref_mut(), scratch);
                    add_sums(tape.sums, dw);
                }
            }
        }
        if let ([rho], [drho]) = (rho, drho) {
            *drho += by_width.sum() * rho.sigmoid();
        }
    }

    #[inline(always)]
    fn bounds(&self, index: usize) -> (R, R) {
        if index < self.shape.weights() { (R::ZERO, R::ONE) } else { (R::of(f64::NEG_INFINITY), R::of(f64::INFINITY)) }
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        penalty::sparsity(&p[..self.shape.weights()], false, strength, dp)
    }

    fn noise_on<'a>(&self, tape: &'a [Lane<R>], at: BatchLayout) -> Option<&'a [Lane<R>]> {
        tape.get(..self.shape.inputs * at.lanes())
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        Some(penalty::sparsity_error(p[..self.shape.weights()].iter().copied()))
    }

    fn recipe(&self) -> Recipe {
        Recipe::sparse()
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        let mut p = nmu::gold(self.shape, operation)?;
        p.resize(Module::<R>::param_len(self), R::of(self.noise.rho()));
        Some(p)
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        Some(nmu::formula(self.shape, p, inputs, style))
    }

    fn options(&self) -> Options {
        let options = Options::new().with(NOISE.name, self.noise).with(START.name, self.start);
        if self.name == "snmu" { options.with(DENOISER.name, self.denoiser) } else { options }
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

// The paper's denominator and two inputs have loops of their own, as in the NMU, with the operations of the general ones in the same order.

#[inline(always)]
fn forward_of_two<R: Real>(w0: R, w1: R, x: [&[Lane<R>]; 2], n: [&[Lane<R>]; 2], y: &mut [Lane<R>]) {
    let (x0, x1, n0, n1) = (flat(x[0]), flat(x[1]), flat(n[0]), flat(n[1]));
    for ((((y, &x0), &x1), &n0), &n1) in flat_mut(y).iter_mut().zip(x0).zip(x1).zip(n0).zip(n1) {
        let over = nmu::factor(x0 * n0, w0) * nmu::factor(x1 * n1, w1);
        *y = over / (nmu::factor(n0, w0) * nmu::factor(n1, w1));
    }
}

/// What every row adds to the sums of [`backward_output`]. They are added up in a second loop, because LLVM tears the registers of the first one apart
/// if it sees both.
#[inline(always)]
fn terms_of_two<R: Real>(w0: R, w1: R, x: [&[Lane<R>]; 2], n: [&[Lane<R>]; 2], dy: &[Lane<R>], terms: &mut [Lane<R>]) {
    let (x0, x1, n0, n1) = (flat(x[0]), flat(x[1]), flat(n[0]), flat(n[1]));
    let (terms0, terms1) = terms.split_at_mut(dy.len());
    let inputs = x0.iter().zip(x1).zip(n0.iter().zip(n1));
    let terms = flat_mut(terms0).iter_mut().zip(flat_mut(terms1));
    for ((((&x0, &x1), (&n0, &n1)), &dy), (term0, term1)) in inputs.zip(flat(dy)).zip(terms) {
        let (under0, under1) = (nmu::factor(n0, w0), nmu::factor(n1, w1));
        let inverse = R::ONE / (under0 * under1);
        let after = dy * inverse;
        let gradient = nmu::factor(x0 * n0, w0) * after;
        *term1 = gradient * (under0 * inverse) * (x1 - R::ONE) * n1;
        let gradient = after * nmu::factor(x1 * n1, w1);
        *term0 = gradient * (inverse * under1) * (x0 - R::ONE) * n0;
    }
}

/// The inputs' gradient of [`backward_output`].
#[inline(always)]
fn input_gradient_of_two<R: Real>(
    w0: R,
    w1: R,
    [x0, x1]: [&[Lane<R>]; 2],
    [n0, n1]: [&[Lane<R>]; 2],
    dy: &[Lane<R>],
    dx: &mut [Lane<R>],
) {
    let (dx0, dx1) = dx.split_at_mut(dy.len());
    let inputs = flat(x0).iter().zip(flat(x1)).zip(flat(n0).iter().zip(flat(n1)));
    let outputs = flat_mut(dx0).iter_mut().zip(flat_mut(dx1));
    for ((((&x0, &x1), (&n0, &n1)), &dy), (dx0, dx1)) in inputs.zip(flat(dy)).zip(outputs) {
        let after = dy * (R::ONE / (nmu::factor(n0, w0) * nmu::factor(n1, w1)));
        *dx1 += nmu::factor(x0 * n0, w0) * after * n1 * w1;
        *dx0 += after * nmu::factor(x1 * n1, w1) * n0 * w0;
    }
}

/// The gradient of one output: partial sums for its weights, its share of the inputs' gradient, and, where the noise is
/// learned from the numbers in `base`, the gradient of its width.
#[inline(always)]
fn backward_output<R: Real>(
    denoiser: Denoiser,
    inputs: usize,
    w: &[R],
    x: &[Lane<R>],
    noise: &[Lane<R>],
    base: Option<&[Lane<R>]>,
    dy: &[Lane<R>],
    mut dx: Option<&mut [Lane<R>]>,
    [before, under_before, sums]: [&mut [Lane<R>]; 3],
) -> Lane<R> {
    let lanes = dy.len();
    let mut by_width = Lane::ZERO;
    for c in 0..lanes {
        let mut over = Lane::splat(R::ONE);
        let mut under = Lane::splat(R::ONE);
        for i in 0..inputs {
            let n = noise[i * lanes + c];
            before[i] = over;
            under_before[i] = under;
            over = over * nmu::factor(x[i * lanes + c] * n, w[i]);
            under = under * denoiser.factor(n, w[i]);
        }
        let inverse = Lane::splat(R::ONE) / under;
        let mut after = dy[c] * inverse;
        let total = over * after;
        let mut under_after = inverse;
        for i in (0..inputs).rev() {
            let k = i * lanes + c;
            let (x, n) = (x[k], noise[k]);
            let gradient = before[i] * after;
            let noisy = x * n;
            if denoiser == Denoiser::Paper {
                // 1 / (n w + 1 - w), by multiplying with the other factors of the denominator.
                let own = under_before[i] * under_after;
                let common = gradient * own * (x - R::ONE);
                sums[i] += common * n;
                if let Some(base) = base {
                    by_width += common * (w[i] * (R::ONE - w[i])) * base[k];
                }
                under_after = under_after * denoiser.factor(n, w[i]);
            } else {
                sums[i] += gradient * (noisy - R::ONE) - total * denoiser.log_gradient_by_weight(n, w[i]);
                if let Some(base) = base {
                    by_width += (gradient * x * w[i] - total * denoiser.log_gradient_by_noise(n, w[i])) * base[k];
                }
            }
            if let Some(dx) = dx.as_deref_mut() {
                dx[k] += gradient * n * w[i];
            }
            after = after * nmu::factor(noisy, w[i]);
        }
    }
    by_width
}

#[cfg(test)]
mod tests {
    use super::super::nmu::tests::{bits, numbers};
    use super::*;

    /// The loops for two inputs against the general ones.
    #[test]
    fn two_inputs_have_the_bits_of_many() {
        let (w, lanes) = ([0.3f32, 0.9], 3);
        let (x, dy) = (numbers("x", 2 * lanes), numbers("dy", lanes));
        let noise: Vec<_> = numbers("noise", 2 * lanes).iter().map(|&n| n + 3.0).collect();
        let (mut y, mut dx, mut terms) = (dy.clone(), vec![Lane::ZERO; 2 * lanes], x.clone());
        let (xs, ns) = (nmu::two(&x, lanes), nmu::two(&noise, lanes));
        forward_of_two(w[0], w[1], xs, ns, &mut y);
        for c in 0..lanes {
            let over = nmu::factor(xs[0][c] * ns[0][c], w[0]) * nmu::factor(xs[1][c] * ns[1][c], w[1]);
            let under = Denoiser::Paper.factor(ns[0][c], w[0]) * Denoiser::Paper.factor(ns[1][c], w[1]);
            assert_eq!(bits(&[y[c]]), bits(&[over / under]));
        }
        terms_of_two(w[0], w[1], xs, ns, &dy, &mut terms);
        input_gradient_of_two(w[0], w[1], xs, ns, &dy, &mut dx);
        let (mut before, mut under, mut sums) = (vec![Lane::ZERO; 2], vec![Lane::ZERO; 2], vec![Lane::ZERO; 2]);
        let mut general = vec![Lane::ZERO; 2 * lanes];
        let scratch = [&mut before[..], &mut under[..], &mut sums[..]];
        backward_output(Denoiser::Paper, 2, &w, &x, &noise, None, &dy, Some(&mut general), scratch);
        assert_eq!(bits(&dx), bits(&general));
        for (terms, sum) in terms.chunks(lanes).zip(sums) {
            assert_eq!(bits(&[linear::partial_sums(terms)]), bits(&[sum]));
        }
    }
}

//! The units, one file each, and the list of them.
//!
//! A [`Module`] is data plus pure functions over a flat parameter vector. It cannot be random in evaluation, because no
//! generator is in reach there; it cannot fail, because its constructor checked everything; it does not allocate.

mod fc;
mod g_nalu;
mod gated;
mod inalu;
mod linear;
mod mlp;
mod mul;
mod nac;
mod nac_add;
mod nac_mul;
mod nalu;
mod nau;
mod nmu;
mod npu;
mod real_npu;
mod snmu;
mod snmu_exp;
mod stg_nmu;

pub use fc::Fc;
pub use gated::Gated;
pub use inalu::Inalu;
pub use linear::Linear;
pub use mlp::Mlp;
pub use mul::Product;
pub use nac_add::NacAdd;
pub use nac_mul::NacMul;
pub use nalu::Nalu;
pub use nau::Nau;
pub use nmu::Nmu;
pub use npu::Npu;
pub use snmu::Snmu;
pub use stg_nmu::StgNmu;

use crate::batch::BatchLayout;
use crate::lane::{self, Kernel, Lane};
use crate::recipe::Recipe;
use crate::rng::Rng;
pub use crate::setting::Options;
use crate::setting::{Kind, Setting};
use crate::{Error, Operation, Real};
use std::fmt::Debug;

/// All modules.
pub fn list<R: Real>() -> Vec<Spec<R>> {
    R::modules()
}

/// The list. A new module is a file, its `mod` line above and its `spec` here; everything else reads this.
///
/// Called through [`Real`] for each of the two number types, so that their code is made once, in this crate, and not again in
/// every program that asks for the list.
pub(crate) fn every<R: Real>() -> Vec<Spec<R>> {
    vec![
        nau::spec(),
        nmu::spec(),
        snmu::spec(),
        snmu_exp::spec(),
        stg_nmu::spec(),
        nac_add::spec(),
        nac_mul::spec(),
        nalu::spec(),
        g_nalu::spec(),
        inalu::spec(),
        npu::spec(),
        real_npu::spec(),
        gated::spec(),
        gated::stochastic_spec(),
        linear::spec(),
        mlp::spec(),
        fc::spec(),
        mul::spec(),
    ]
}

/// The module with this name.
pub fn find<R: Real>(name: &str) -> Result<Spec<R>, Error> {
    let names: Vec<&str> = list::<R>().iter().map(|spec| spec.name).collect();
    list().into_iter().find(|spec| spec.name == name).ok_or_else(|| Error::unknown("module", name, &names))
}

/// What is known about a module before it has a shape.
pub struct Spec<R: Real> {
    /// The name on command lines and in records.
    pub name: &'static str,
    /// The name in figures.
    pub label: &'static str,
    /// Where it was published.
    pub citation: &'static str,
    /// Its equation.
    pub formula: &'static str,
    /// Its parameters and their shapes, in the order of the flat vector.
    pub parameters: &'static str,
    /// Where its parameters are kept.
    pub allowed: &'static str,
    /// The operations that it can represent: those for which [`Module::gold`] is defined.
    pub claims: &'static [Operation],
    /// What can be chosen of it.
    pub options: &'static [Setting],
    /// Whether it is differentiable where an input is 0.
    pub smooth_at_zero: bool,
    /// The largest relative error of the gold parameters in `f32`; 0 where they are exact.
    pub gold_error: f64,
    /// Whether the gold parameters are right for positive inputs only.
    pub gold_positive: bool,
    /// Makes a module.
    pub build: Build<R>,
}

/// Makes a module of a shape.
pub type Build<R> = fn(Shape, &Options) -> Result<Box<dyn Dispatch<R>>, Error>;

/// Number of inputs and outputs of a module: at least one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shape {
    /// Features per row that come in.
    pub inputs: usize,
    /// Features per row that go out.
    pub outputs: usize,
}

impl Shape {
    /// A shape with at least one input and one output.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Error::check(inputs > 0, "number of inputs", inputs as f64, "at least 1")?;
        Error::check(outputs > 0, "number of outputs", outputs as f64, "at least 1")?;
        let weights = inputs as f64 * outputs as f64;
        Error::check(weights <= MOST_WEIGHTS, "number of weights", weights, "at most 2^31")?;
        Ok(Self { inputs, outputs })
    }

    /// Weights of a full matrix.
    #[inline(always)]
    pub fn weights(self) -> usize {
        self.inputs * self.outputs
    }
}

/// Larger matrices would overflow sizes that are computed from them, and no memory would hold their batches.
const MOST_WEIGHTS: f64 = 2_147_483_648.0;

/// How a module is used in a forward pass.
#[derive(Debug)]
pub enum Pass<'a> {
    /// Training: a module may be noisy with numbers from this generator.
    Train(&'a mut Rng),
    /// Training without noise: the outputs of [`Pass::Eval`], and a tape from which their gradient follows.
    Noiseless,
    /// Training once more with the noise that the last [`Pass::Train`] left on the tape; for gradient checks.
    Replay,
    /// Evaluation: deterministic.
    Eval,
}

impl Pass<'_> {
    /// The same pass, to be lent to one layer after the other.
    pub fn reborrow(&mut self) -> Pass<'_> {
        match self {
            Pass::Train(rng) => Pass::Train(rng),
            Pass::Noiseless => Pass::Noiseless,
            Pass::Replay => Pass::Replay,
            Pass::Eval => Pass::Eval,
        }
    }
}

/// A unit of arithmetic.
///
/// Tensors are feature-major lanes (see [`BatchLayout`]). `forward` and `backward` should be `#[inline(always)]`, which lets
/// [`Dispatch`] compile them for every instruction set; they are not behind the pointer, which would compile them once
/// more for nobody.
pub trait Module<R: Real>: Debug + Send + Sync {
    /// The name under which the module is listed.
    fn name(&self) -> &'static str;

    /// Inputs and outputs.
    fn shape(&self) -> Shape;

    /// Length of the flat parameter vector.
    fn param_len(&self) -> usize;

    /// Lanes of scratch memory that a forward pass leaves for its backward pass. The tape starts as zeros and stays
    /// with the module, so it may also carry what the module remembers from one pass to the next.
    fn tape_len(&self, _at: BatchLayout) -> usize {
        0
    }

    /// Draws initial parameters.
    fn init(&self, p: &mut [R], rng: &mut Rng);

    /// Computes `y` from `x`.
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, pass: Pass<'_>)
    where
        Self: Sized;

    /// Given the gradient `dy` of a loss, adds the parameters' gradient to `dp` and writes the inputs' gradient to
    /// `dx` where it is wanted. `x` and `tape` are those of the forward pass in training.
    fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) where
        Self: Sized;

    /// The interval in which parameter `index` is kept.
    #[inline(always)]
    fn bounds(&self, _index: usize) -> (R, R) {
        (R::of(f64::NEG_INFINITY), R::of(f64::INFINITY))
    }

    /// Moves every parameter into its interval, after each step of the optimiser.
    #[inline(always)]
    fn project(&self, p: &mut [R]) {
        for (index, value) in p.iter_mut().enumerate() {
            let (low, high) = self.bounds(index);
            *value = value.at_least(low).at_most(high);
        }
    }

    /// The module's own penalty on its parameters: returns `strength` times its value and adds `strength` times its
    /// gradient to `dp`.
    fn penalty(&self, _p: &[R], _strength: R, _dp: &mut [R]) -> R {
        R::ZERO
    }

    /// The factors by which the last [`Pass::Train`] multiplied the inputs, where the module does that.
    fn noise_on<'a>(&self, _tape: &'a [Lane<R>], _at: BatchLayout) -> Option<&'a [Lane<R>]> {
        None
    }

    /// How far the weights are from reading as arithmetic.
    fn sparsity_error(&self, _p: &[R]) -> R {
        R::ZERO
    }

    /// How the module's authors train it.
    fn recipe(&self) -> Recipe {
        Recipe::default()
    }

    /// Parameters that compute `operation` of the first two inputs into every output, if the module can.
    fn gold(&self, _operation: Operation) -> Option<Vec<R>> {
        None
    }

    /// The same module over `f64`, for what needs more digits than training does.
    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        None
    }
}

/// A [`Module`] behind a pointer, compiled for every instruction set. Implemented for all modules.
pub trait Dispatch<R: Real>: Module<R> {
    /// [`Module::forward`] with the instructions of `at`.
    fn run_forward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        y: &mut [Lane<R>],
        tape: &mut [Lane<R>],
        at: BatchLayout,
        pass: Pass<'_>,
    );

    /// [`Module::backward`] with the instructions of `at`.
    fn run_backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    );
}

struct Forward<'a, 'b, M: ?Sized, R>(
    &'a M,
    &'a [R],
    &'a [Lane<R>],
    &'a mut [Lane<R>],
    &'a mut [Lane<R>],
    BatchLayout,
    Pass<'b>,
);

impl<R: Real, M: Module<R>> Kernel for Forward<'_, '_, M, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self(module, p, x, y, tape, at, pass) = self;
        module.forward(p, x, y, tape, at, pass);
    }
}

struct Backward<'a, M: ?Sized, R>(
    &'a M,
    &'a [R],
    &'a [Lane<R>],
    &'a [Lane<R>],
    Option<&'a mut [Lane<R>]>,
    &'a mut [R],
    &'a mut [Lane<R>],
    BatchLayout,
);

impl<R: Real, M: Module<R>> Kernel for Backward<'_, M, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self(module, p, x, dy, dx, dp, tape, at) = self;
        module.backward(p, x, dy, dx, dp, tape, at);
    }
}

impl<R: Real, M: Module<R>> Dispatch<R> for M {
    fn run_forward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        y: &mut [Lane<R>],
        tape: &mut [Lane<R>],
        at: BatchLayout,
        pass: Pass<'_>,
    ) {
        lane::run(at.instructions, Forward(self, p, x, y, tape, at, pass));
    }

    fn run_backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        lane::run(at.instructions, Backward(self, p, x, dy, dx, dp, tape, at));
    }
}

/// The half-width of Xavier's uniform distribution, sqrt(6 / (inputs + outputs)).
fn xavier<R: Real>(shape: Shape) -> R {
    R::of((6.0 / (shape.inputs + shape.outputs) as f64).sqrt())
}

/// A weight matrix with the weights or exponents of `operation` on the first two inputs and `rest` elsewhere.
fn leading<R: Real>(shape: Shape, operation: Operation, rest: R) -> Vec<R> {
    let (a, b) = operation.exponents();
    let row = (0..shape.inputs).map(|i| [R::of(a), R::of(b), rest][i.min(2)]);
    std::iter::repeat_n(row, shape.outputs).flatten().collect()
}

/// The box in which the weights of a multiplication unit start.
const START: Setting = Setting {
    name: "start",
    kind: Kind::Pair,
    default: "0.25, 0.75",
    meaning: "the box in which the weights start",
    numerics: true,
};

/// Checks the box in which the weights of a multiplication unit start.
fn start_box(low: f64, high: f64) -> Result<(f64, f64), Error> {
    Error::check((0.0..=1.0).contains(&low), "lower end of the initial box", low, "in [0, 1]")?;
    Error::check((low..=1.0).contains(&high), "upper end of the initial box", high, "between the lower end and 1")?;
    Ok((low, high))
}

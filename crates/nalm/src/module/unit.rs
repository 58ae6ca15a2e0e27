//! The trait that all units implement.

use super::{Dispatch, Options, Pass, Shape};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::layer::Layer;
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Lane, Operation, Real};
use std::fmt::Debug;

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
    /// `dx` where it is wanted. `x` and `tape` are those of the forward pass in training. Rows beyond the batch are 0 in `dy`, so
    /// sums over whole lanes are right.
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

    /// The interval in which parameter `index` is kept; without bounds unless the module says otherwise.
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
    /// gradient to `dp`. No penalty, if not defined; [`crate::penalty::sparsity`] is the usual one. It acts in training where [`Module::recipe`] has a strength.
    fn penalty(&self, _p: &[R], _strength: R, _dp: &mut [R]) -> R {
        R::ZERO
    }

    /// The factors by which the last [`Pass::Train`] multiplied the inputs, where the module does that.
    fn noise_on<'a>(&self, _tape: &'a [Lane<R>], _at: BatchLayout) -> Option<&'a [Lane<R>]> {
        None
    }

    /// How far the weights are from reading as arithmetic; nothing, if not defined. [`crate::penalty::sparsity_error`] is the usual one.
    fn sparsity_error(&self, _p: &[R]) -> Option<R> {
        None
    }

    /// How the module's authors train it; [`Recipe::default`], if not defined.
    fn recipe(&self) -> Recipe {
        Recipe::default()
    }

    /// Parameters that compute `operation` of the first two inputs into every output, if the module can.
    fn gold(&self, _operation: Operation) -> Option<Vec<R>> {
        None
    }

    /// What each output is in terms of the inputs, with these parameters, in evaluation. Nothing where the module has no formula.
    fn formula(&self, _p: &[f64], _inputs: &[Expression], _style: Style) -> Option<Vec<Expression>> {
        None
    }

    /// What was chosen of the module: with its name, shape and these options it can be built again.
    fn options(&self) -> Options {
        Options::new()
    }

    /// The module in words: name, shape and options.
    fn layer(&self) -> Layer {
        let (module, Shape { inputs, outputs }) = (self.name().into(), self.shape());
        Layer { module, inputs: Some(inputs), outputs: Some(outputs), options: self.options(), ..Layer::default() }
    }

    /// The same module over `f64`, for [`Network::as_f64`](crate::Network::as_f64) and second-order training, which need more digits than training does. Nothing, if not
    /// defined.
    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        None
    }
}

//! A module behind a pointer, with its passes compiled for every instruction set.

use super::{Module, Pass};
use crate::batch::BatchLayout;
use crate::lane::{self, Kernel};
use crate::{Lane, Real};

/// A [`Module`] behind a pointer, compiled for every instruction set. Implemented for all modules.
pub trait Dispatch<R: Real>: Module<R> {
    /// [`Module::forward`] with the instructions of the batch.
    fn run_forward(&self, pass: Forward<'_, '_, R>);

    /// [`Module::backward`] with the instructions of the batch.
    fn run_backward(&self, pass: Backward<'_, R>);
}

/// The arguments of [`Module::forward`].
///
/// They go from hand to hand as one struct behind a pointer. One by one they would be written to the stack and copied from there, in wider pieces than
/// they were written, which a processor waits for: a twentieth of a small step.
#[allow(missing_docs)]
pub struct Forward<'a, 'b, R> {
    pub p: &'a [R],
    pub x: &'a [Lane<R>],
    pub y: &'a mut [Lane<R>],
    pub tape: &'a mut [Lane<R>],
    pub at: BatchLayout,
    pub pass: Pass<'b>,
}

/// The arguments of [`Module::backward`], as one like [`Forward`].
#[allow(missing_docs)]
pub struct Backward<'a, R> {
    pub p: &'a [R],
    pub x: &'a [Lane<R>],
    pub dy: &'a [Lane<R>],
    pub dx: Option<&'a mut [Lane<R>]>,
    pub dp: &'a mut [R],
    pub tape: &'a mut [Lane<R>],
    pub at: BatchLayout,
}

struct ForwardOf<'a, 'b, 'c, M, R>(&'a M, &'a mut Forward<'b, 'c, R>);

impl<R: Real, M: Module<R>> Kernel for ForwardOf<'_, '_, '_, M, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) {
        let Self(module, Forward { p, x, y, tape, at, pass }) = self;
        module.forward(p, x, y, tape, *at, pass.reborrow());
    }
}

struct BackwardOf<'a, 'b, M, R>(&'a M, &'a mut Backward<'b, R>);

impl<R: Real, M: Module<R>> Kernel for BackwardOf<'_, '_, M, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) {
        let Self(module, Backward { p, x, dy, dx, dp, tape, at }) = self;
        module.backward(p, x, dy, dx.as_deref_mut(), dp, tape, *at);
    }
}

impl<R: Real, M: Module<R>> Dispatch<R> for M {
    fn run_forward(&self, mut pass: Forward<'_, '_, R>) {
        lane::run(pass.at.instructions, ForwardOf(self, &mut pass));
    }

    fn run_backward(&self, mut pass: Backward<'_, R>) {
        lane::run(pass.at.instructions, BackwardOf(self, &mut pass));
    }
}

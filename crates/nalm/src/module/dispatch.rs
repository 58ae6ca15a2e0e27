//! A module behind a pointer, with its passes compiled for every instruction set.

use super::{Module, Pass};
use crate::batch::BatchLayout;
use crate::lane::{self, Kernel};
use crate::{Lane, Real};

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
    const EVERYWHERE: bool = R::EVERYWHERE;
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
    const EVERYWHERE: bool = R::EVERYWHERE;
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

//! The same small function for every number of a tensor.
//!
//! The loops run over flat numbers. Written over lanes, LLVM would unroll the lane and then vectorise across lanes with
//! gathers and scatters, which is five times slower.

use super::{Lane, flat, flat_mut};
use crate::Real;

// Functions of some size are not handed over as closures, which may be left out of the loop and compiled once for the portable instructions: three
// times slower.

/// out = exp(out)
#[inline(always)]
pub fn exp<R: Real>(out: &mut [Lane<R>]) {
    R::exp_each(flat_mut(out));
}

/// out = ln(out)
#[inline(always)]
pub fn ln<R: Real>(out: &mut [Lane<R>]) {
    R::ln_each(flat_mut(out));
}

/// out = sigmoid(out)
#[inline(always)]
pub fn sigmoid<R: Real>(out: &mut [Lane<R>]) {
    update(out, |x| -x);
    exp(out);
    update(out, |power| R::ONE / (R::ONE + power));
}

/// out = f(out); for functions of some size there are [`exp`], [`ln`] and [`sigmoid`].
#[inline(always)]
pub fn update<R: Real>(out: &mut [Lane<R>], f: impl Fn(R) -> R) {
    for out in flat_mut(out) {
        *out = f(*out);
    }
}

/// out = f(out, a)
#[inline(always)]
pub fn update1<R: Real>(out: &mut [Lane<R>], a: &[Lane<R>], f: impl Fn(R, R) -> R) {
    for (out, &a) in flat_mut(out).iter_mut().zip(flat(a)) {
        *out = f(*out, a);
    }
}

/// out = f(out, a, b)
#[inline(always)]
pub fn update2<R: Real>(out: &mut [Lane<R>], a: &[Lane<R>], b: &[Lane<R>], f: impl Fn(R, R, R) -> R) {
    for ((out, &a), &b) in flat_mut(out).iter_mut().zip(flat(a)).zip(flat(b)) {
        *out = f(*out, a, b);
    }
}

/// out = f(a)
#[inline(always)]
pub fn map1<R: Real>(out: &mut [Lane<R>], a: &[Lane<R>], f: impl Fn(R) -> R) {
    update1(out, a, |_, a| f(a));
}

/// out = f(a, b)
#[inline(always)]
pub fn map2<R: Real>(out: &mut [Lane<R>], a: &[Lane<R>], b: &[Lane<R>], f: impl Fn(R, R) -> R) {
    update2(out, a, b, |_, a, b| f(a, b));
}

/// out = f(a, b, c)
#[inline(always)]
pub fn map3<R: Real>(out: &mut [Lane<R>], a: &[Lane<R>], b: &[Lane<R>], c: &[Lane<R>], f: impl Fn(R, R, R) -> R) {
    for (((out, &a), &b), &c) in flat_mut(out).iter_mut().zip(flat(a)).zip(flat(b)).zip(flat(c)) {
        *out = f(a, b, c);
    }
}

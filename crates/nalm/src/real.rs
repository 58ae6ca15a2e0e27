//! The two number types: train in `f32`, check gradients in `f64`, the same code.

use crate::{math, sums, turn};
use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`.
///
/// The elementary functions are in-tree or from `libm`, never the platform's, so that results are the same everywhere.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + PartialEq
    + PartialOrd
    + Debug
    + Display
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// The type's name, as records print it.
    const NAME: &'static str;

    /// The nearest value to `x`.
    fn of(x: f64) -> Self;
    /// The same value, widened.
    fn to_f64(self) -> f64;
    /// e to the `self`.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// The hyperbolic tangent: `libm`'s in `f64`, and rounded from there in `f32`. Where it rounds to 1 its gradient is 0, so the last digits matter.
    fn tanh(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// Whether this is not a number.
    fn is_nan(self) -> bool;
    /// Whether this is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The number with these [`Real::bits`].
    fn of_bits(bits: u64) -> Self;
    /// The bits, for comparisons that mean it.
    fn bits(self) -> u64;
    /// A whole number below 2^24 (`f32`, from one random word) or 2^53 (`f64`, from two).
    fn count(first: u32, second: u32) -> Self;
    /// Whether modules, tasks and losses are compiled for every instruction set. Those of `f64`, which checks gradients and serves second-order training, are compiled for
    /// the portable one alone, which takes that a tenth more time and the compiler a quarter less.
    #[doc(hidden)]
    const EVERYWHERE: bool;
    /// How many random words [`Real::count`] uses.
    const WORDS: usize;
    /// The step between two neighbours of [`Real::unit`]: one over the number of values of [`Real::count`].
    const STEP: Self;

    /// A number between -CENTRED and CENTRED: all 32 bits of the first word, rounded (`f32`), or 53 bits of both (`f64`).
    fn centred(first: u32, second: u32) -> Self;
    /// The largest absolute value of [`Real::centred`].
    const CENTRED: Self;

    /// A number in [0, 1).
    #[inline(always)]
    fn unit(first: u32, second: u32) -> Self {
        Self::count(first, second) * Self::STEP
    }

    /// Adds the sum of each sixteen numbers to the number at its place.
    #[doc(hidden)]
    #[inline(always)]
    fn add_sums(lanes: &[[Self; sums::WIDTH]], out: &mut [Self]) {
        for (out, lane) in out.iter_mut().zip(lanes) {
            *out += sums::sum(lane);
        }
    }

    /// [`Real::exp`] of every number.
    #[doc(hidden)]
    #[inline(always)]
    fn exp_each(values: &mut [Self]) {
        values.iter_mut().for_each(|value| *value = value.exp());
    }

    /// [`Real::ln`] of every number.
    #[doc(hidden)]
    #[inline(always)]
    fn ln_each(values: &mut [Self]) {
        values.iter_mut().for_each(|value| *value = value.ln());
    }

    /// Rows as columns.
    #[doc(hidden)]
    #[inline(always)]
    fn turn(rows: [&[Self; 4]; 4]) -> [[Self; 4]; 4] {
        turn::turn(rows)
    }

    /// Two rows as one, a number from each in turn.
    #[doc(hidden)]
    #[inline(always)]
    fn weave(a: &[Self; 4], b: &[Self; 4]) -> [[Self; 4]; 2] {
        turn::weave(a, b)
    }

    /// The sign, with 0 for 0 (and for NaN).
    #[inline(always)]
    fn sign(self) -> Self {
        if self > Self::ZERO {
            Self::ONE
        } else if self < Self::ZERO {
            -Self::ONE
        } else {
            Self::ZERO
        }
    }

    /// The smaller one; a NaN in `self` stays.
    #[inline(always)]
    fn at_most(self, bound: Self) -> Self {
        if self > bound { bound } else { self }
    }

    /// The larger one; a NaN in `self` stays.
    #[inline(always)]
    fn at_least(self, bound: Self) -> Self {
        if self < bound { bound } else { self }
    }

    /// 1 / (1 + e^-x)
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exp())
    }
}

impl Real for f32 {
    const EVERYWHERE: bool = true;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NAME: &'static str = "f32";
    const WORDS: usize = 1;
    const STEP: Self = 1.0 / 16_777_216.0;
    const CENTRED: Self = 2_147_483_648.0;

    #[inline(always)]
    fn of(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        math::exp([self])[0]
    }
    #[inline(always)]
    fn ln(self) -> Self {
        math::ln([self])[0]
    }
    #[inline(always)]
    fn exp_each(values: &mut [Self]) {
        math::exp_each(values);
    }
    #[inline(always)]
    fn ln_each(values: &mut [Self]) {
        math::ln_each(values);
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        math::sin_cos(self)
    }
    #[inline]
    fn tanh(self) -> Self {
        libm::tanh(f64::from(self)) as f32
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.is_finite()
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn count(first: u32, _: u32) -> Self {
        // Through i32, for which every instruction set has a vector conversion.
        (first >> 8) as i32 as f32
    }
    #[inline(always)]
    fn turn(rows: [&[Self; 4]; 4]) -> [[Self; 4]; 4] {
        turn::turn_f32(rows)
    }
    #[inline(always)]
    fn weave(a: &[Self; 4], b: &[Self; 4]) -> [[Self; 4]; 2] {
        turn::weave_f32(a, b)
    }
    #[inline(always)]
    fn add_sums(lanes: &[[Self; sums::WIDTH]], out: &mut [Self]) {
        sums::add_f32(lanes, out);
    }
    #[inline(always)]
    fn centred(first: u32, _: u32) -> Self {
        first as i32 as f32
    }
}

impl Real for f64 {
    const EVERYWHERE: bool = false;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NAME: &'static str = "f64";
    const WORDS: usize = 2;
    const STEP: Self = 1.0 / 9_007_199_254_740_992.0;
    const CENTRED: Self = 4_503_599_627_370_496.0;

    #[inline(always)]
    fn turn(rows: [&[Self; 4]; 4]) -> [[Self; 4]; 4] {
        turn::turn_f64(rows)
    }
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline]
    fn exp(self) -> Self {
        libm::exp(self)
    }
    #[inline]
    fn ln(self) -> Self {
        libm::log(self)
    }
    #[inline]
    fn sin_cos(self) -> (Self, Self) {
        libm::sincos(self)
    }
    #[inline]
    fn tanh(self) -> Self {
        libm::tanh(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.is_finite()
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn count(first: u32, second: u32) -> Self {
        f64::from(first >> 5) * 67_108_864.0 + f64::from(second >> 6)
    }
    #[inline(always)]
    fn centred(first: u32, second: u32) -> Self {
        Self::count(first, second) - 4_503_599_627_370_496.0
    }
}

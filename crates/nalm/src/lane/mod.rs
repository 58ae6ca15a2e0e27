//! Sixteen rows at a time: the only place that knows about vector registers.
//!
//! A [`Lane`] holds one feature of sixteen rows. All hot loops are written over lanes, so that the compiler turns them
//! into vector instructions, and the same source is compiled once per instruction set ([`InstructionSet`]) and chosen at run time.
//! Every one executes the same IEEE operations in the same order, without fused multiply-add and with sixteen fixed
//! accumulators in every reduction, and therefore gives the same bits.

pub mod each;
mod instruction_set;
pub mod linear;

pub use instruction_set::{InstructionKind, InstructionSet, Kernel, run};

use crate::{Real, sums};
use std::ops::{Add, AddAssign, Div, Index, IndexMut, Mul, Neg, Sub};

/// Rows in one [`Lane`]: one AVX-512 register of `f32`, two AVX2 registers, four SSE2 or NEON registers.
pub const LANES: usize = sums::WIDTH;

/// One feature of sixteen consecutive rows.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Lane<R>(pub [R; LANES]);

impl<R: Real> Lane<R> {
    /// Sixteen zeros.
    pub const ZERO: Self = Lane([R::ZERO; LANES]);

    /// The same value in every row.
    #[inline(always)]
    pub fn splat(value: R) -> Self {
        Lane([value; LANES])
    }

    /// Applies a function to every row.
    #[inline(always)]
    pub fn map(mut self, f: impl Fn(R) -> R) -> Self {
        // Plain loops, here and below: `array::from_fn` and `array::map` keep LLVM from using whole registers.
        for k in 0..LANES {
            self.0[k] = f(self.0[k]);
        }
        self
    }

    /// Combines two lanes row by row.
    #[inline(always)]
    pub fn zip(mut self, other: Self, f: impl Fn(R, R) -> R) -> Self {
        for k in 0..LANES {
            self.0[k] = f(self.0[k], other.0[k]);
        }
        self
    }

    /// The sum of the rows, always added in the same tree.
    #[inline(always)]
    pub fn sum(&self) -> R {
        sums::sum(&self.0)
    }
}

/// Adds the sum of each lane to the number at its place.
///
/// Not inlined on purpose: reductions that LLVM sees together with the loop that feeds them tear that loop's registers
/// apart. Reading finished lanes from memory costs a few cycles and keeps both parts fast.
#[inline(never)]
pub fn add_sums<R: Real>(lanes: &[Lane<R>], out: &mut [R]) {
    R::add_sums(flat(lanes).as_chunks().0, out);
}

macro_rules! lane_operator {
    ($trait:ident $method:ident $op:tt) => {
        impl<R: Real> $trait for Lane<R> {
            type Output = Self;
            #[inline(always)]
            #[allow(clippy::assign_op_pattern)] // one token serves both the trait and its loop
            fn $method(mut self, other: Self) -> Self {
                for k in 0..LANES {
                    self.0[k] = self.0[k] $op other.0[k];
                }
                self
            }
        }
        impl<R: Real> $trait<R> for Lane<R> {
            type Output = Self;
            #[inline(always)]
            #[allow(clippy::assign_op_pattern)]
            fn $method(mut self, other: R) -> Self {
                for k in 0..LANES {
                    self.0[k] = self.0[k] $op other;
                }
                self
            }
        }
    };
}
lane_operator!(Add add +);
lane_operator!(Sub sub -);
lane_operator!(Mul mul *);
lane_operator!(Div div /);

impl<R: Real> AddAssign for Lane<R> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<R: Real> Neg for Lane<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

impl<R> Index<usize> for Lane<R> {
    type Output = R;
    #[inline(always)]
    fn index(&self, row: usize) -> &R {
        &self.0[row]
    }
}

impl<R> IndexMut<usize> for Lane<R> {
    #[inline(always)]
    fn index_mut(&mut self, row: usize) -> &mut R {
        &mut self.0[row]
    }
}

/// The same memory, one number after the other.
#[inline(always)]
pub fn flat<R: Real>(lanes: &[Lane<R>]) -> &[R] {
    // SAFETY: `Lane` is `repr(C)` around an array of 16 `R`; 64 and 128 bytes are multiples of its alignment, so there
    // is no padding between two lanes.
    #[allow(unsafe_code)]
    unsafe {
        std::slice::from_raw_parts(lanes.as_ptr().cast(), lanes.len() * LANES)
    }
}

/// The same memory, one number after the other, to write to.
#[inline(always)]
pub fn flat_mut<R: Real>(lanes: &mut [Lane<R>]) -> &mut [R] {
    // SAFETY: as in `flat`; the borrow is unique.
    #[allow(unsafe_code)]
    unsafe {
        std::slice::from_raw_parts_mut(lanes.as_mut_ptr().cast(), lanes.len() * LANES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_sums_at_a_time_have_the_bits_of_one_by_one() {
        let number = |k: u32| k.wrapping_mul(2_654_435_761) as i32 as f32 * 1e-3;
        for count in [1, 2, 3, 4, 5, 8, 16, 19] {
            let lanes: Vec<Lane<f32>> =
                (0..count).map(|l| Lane(std::array::from_fn(|k| number(16 * l + k as u32 + 7 * count)))).collect();
            let start: Vec<f32> = (0..count).map(|k| number(k + 1)).collect();
            let mut together = start.clone();
            add_sums(&lanes, &mut together);
            for (k, got) in together.iter().enumerate() {
                assert_eq!(got.to_bits(), (start[k] + lanes[k].sum()).to_bits(), "{k} of {count}");
            }
        }
        let mut fewer = [1.0f32; 5];
        add_sums(&[Lane::splat(1.0); 16], &mut fewer);
        assert_eq!(fewer, [17.0; 5]);
    }
}

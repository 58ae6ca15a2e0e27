//! Sums of sixteen numbers, always added in the same tree.

use std::ops::Add;

/// How many numbers are added at a time; the width is part of the numerics.
pub(crate) const WIDTH: usize = 16;

/// Adds the sum of each sixteen numbers to the number at its place: four at a time where SSE is at hand, to the same bits as one by one.
#[inline(always)]
pub(crate) fn add_f32(lanes: &[[f32; WIDTH]], out: &mut [f32]) {
    let count = lanes.len().min(out.len());
    let (fours, rest) = lanes[..count].as_chunks::<4>();
    let (outs, last) = out[..count].as_chunks_mut::<4>();
    for ([a, b, c, d], out) in fours.iter().zip(outs) {
        for (out, sum) in out.iter_mut().zip(four_f32([a, b, c, d])) {
            *out += sum;
        }
    }
    if let [a, others @ ..] = rest {
        // Fewer than four by the same shuffles, with some of them in two places.
        let (b, c) = (others.first().unwrap_or(a), others.last().unwrap_or(a));
        for (out, sum) in last.iter_mut().zip(four_f32([a, b, c, a])) {
            *out += sum;
        }
    }
}

/// The sums of four times sixteen numbers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn four_f32(lanes: [&[f32; WIDTH]; 4]) -> [f32; 4] {
    use std::arch::x86_64::{
        __m128, _mm_add_ps, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    /// The four sums of every fourth number.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn quarters(lane: &[f32; WIDTH]) -> __m128 {
        // SAFETY: SSE2 is part of x86-64, and the four loads cover exactly the sixteen numbers.
        unsafe {
            let part = |k: usize| _mm_loadu_ps(lane.as_ptr().add(4 * k));
            _mm_add_ps(_mm_add_ps(part(0), part(2)), _mm_add_ps(part(1), part(3)))
        }
    }
    let [a, b, c, d] = lanes;
    let (a, b, c, d) = (quarters(a), quarters(b), quarters(c), quarters(d));
    let mut sums = [0.0; 4];
    // SAFETY: SSE2 is part of x86-64, and the store covers exactly the four numbers.
    #[allow(unsafe_code)]
    unsafe {
        let ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(sums.as_mut_ptr(), _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
    }
    sums
}

/// The sums of four times sixteen numbers.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn four_f32([a, b, c, d]: [&[f32; WIDTH]; 4]) -> [f32; 4] {
    [sum(a), sum(b), sum(c), sum(d)]
}

/// The sum of sixteen numbers: every fourth number, then every second of those, then both.
#[inline(always)]
pub(crate) fn sum<R: Copy + Add<Output = R>>(lane: &[R; WIDTH]) -> R {
    let quarter = |k: usize| (lane[k] + lane[k + 8]) + (lane[k + 4] + lane[k + 12]);
    (quarter(0) + quarter(2)) + (quarter(1) + quarter(3))
}

//! Sums of sixteen numbers, always added in the same tree.

use std::ops::Add;

/// How many numbers are added at a time; the width is part of the numerics.
pub(crate) const WIDTH: usize = 16;

/// Adds the sum of each sixteen numbers to the number at its place: four at a time where SSE is at hand, to the same bits as one by one.
pub(crate) fn add_f32(lanes: &[[f32; WIDTH]], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    let done = {
        use std::arch::x86_64::{
            __m128, _mm_add_ps, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps,
            _mm_unpacklo_ps,
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
        let (fours, _) = lanes.as_chunks::<4>();
        let (outs, _) = out.as_chunks_mut::<4>();
        for ([a, b, c, d], out) in fours.iter().zip(outs.iter_mut()) {
            let (a, b, c, d) = (quarters(a), quarters(b), quarters(c), quarters(d));
            // SAFETY: SSE2 is part of x86-64; load and store cover exactly the four numbers of `out`.
            #[allow(unsafe_code)]
            unsafe {
                let ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
                let cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
                let sums = _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
                _mm_storeu_ps(out.as_mut_ptr(), _mm_add_ps(_mm_loadu_ps(out.as_ptr()), sums));
            }
        }
        4 * fours.len().min(outs.len())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    for (out, lane) in out[done..].iter_mut().zip(&lanes[done..]) {
        *out += sum(lane);
    }
}

/// The sum of sixteen numbers: every fourth number, then every second of those, then both.
#[inline(always)]
pub(crate) fn sum<R: Copy + Add<Output = R>>(lane: &[R; WIDTH]) -> R {
    let quarter = |k: usize| (lane[k] + lane[k + 8]) + (lane[k + 4] + lane[k + 12]);
    (quarter(0) + quarter(2)) + (quarter(1) + quarter(3))
}

//! ReLU and 2x2 max-pooling in one pass, which keeps the pooled value and one byte: which of the four won.

use crate::vector::{Kernel, LANES, Scalar, run};
use nalm::{InstructionSet, Lane};

/// No gradient reaches this cell: ReLU or dropout took it.
pub(crate) const NONE: u8 = 4;

/// Pools two rows of `[column][lane]` into one row of `[column][channel]`. An odd last column is left out.
pub(crate) fn pool_rows<R: Scalar>(
    set: InstructionSet,
    rows: [&[Lane<R>]; 2],
    lanes: usize,
    channels: usize,
    out: &mut [R],
    which: &mut [u8],
) {
    run(set, Pool { rows, lanes, channels, out, which });
}

struct Pool<'a, R> {
    rows: [&'a [Lane<R>]; 2],
    lanes: usize,
    channels: usize,
    out: &'a mut [R],
    which: &'a mut [u8],
}

impl<R: Scalar> Kernel for Pool<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { rows, lanes, channels, out, which } = self;
        for cell in 0..out.len() / channels {
            for lane in 0..lanes {
                let at = |row: usize, side: usize| &rows[row][(2 * cell + side) * lanes + lane];
                let (a, b, c, d) = (at(0, 0), at(0, 1), at(1, 0), at(1, 1));
                let mut best = [R::ZERO; LANES];
                let mut place = [NONE; LANES];
                for k in 0..LANES {
                    // The first one of equals wins, and a cell that is not above zero has no winner.
                    let (ab, ab_at) = if b[k] > a[k] { (b[k], 1) } else { (a[k], 0) };
                    let (cd, cd_at) = if d[k] > c[k] { (d[k], 3) } else { (c[k], 2) };
                    let (value, from) = if cd > ab { (cd, cd_at) } else { (ab, ab_at) };
                    let live = value > R::ZERO;
                    best[k] = if live { value } else { R::ZERO };
                    place[k] = if live { from } else { NONE };
                }
                let count = LANES.min(channels - lane * LANES);
                let to = cell * channels + lane * LANES;
                // A copy of known length is one instruction, and of any other a call.
                // What follows a lane that is not full is written after it.
                if to + LANES <= out.len() {
                    out[to..to + LANES].copy_from_slice(&best);
                    which[to..to + LANES].copy_from_slice(&place);
                } else {
                    out[to..to + count].copy_from_slice(&best[..count]);
                    which[to..to + count].copy_from_slice(&place[..count]);
                }
            }
        }
    }
}

/// Puts the gradients of pooled cells where the winners were; everything else is left as it is.
pub(crate) fn unpool<R: Scalar>(columns: usize, channels: usize, dy: &[R], which: &[u8], scale: R, to: &mut [R]) {
    for (cell, (dy, which)) in dy.chunks_exact(channels).zip(which.chunks_exact(channels)).enumerate() {
        let (row, column) = (2 * (cell / (columns / 2)), 2 * (cell % (columns / 2)));
        for (o, (&dy, &which)) in dy.iter().zip(which).enumerate() {
            if which < NONE {
                let (row, column) = (row + usize::from(which / 2), column + usize::from(which % 2));
                to[(row * columns + column) * channels + o] = dy * scale;
            }
        }
    }
}

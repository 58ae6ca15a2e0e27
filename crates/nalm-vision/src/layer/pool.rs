//! Bias, ReLU and 2x2 max-pooling in one pass, which keeps the pooled value and one byte: which of the four won.

use crate::vector::{LANES, Scalar};
use nalm::Lane;

/// No gradient reaches this cell: ReLU or dropout took it.
pub(crate) const NONE: u8 = 4;

/// Pools two rows of [column][lane] into one row of [column][channel]. An odd last column is left out.
#[inline(always)]
pub(crate) fn pool_rows<R: Scalar>(
    rows: [&[Lane<R>]; 2],
    lanes: usize,
    channels: usize,
    out: &mut [R],
    which: &mut [u8],
) {
    let cells = out.len() / channels;
    for cell in 0..cells {
        for lane in 0..lanes {
            let at = |row: usize, side: usize| &rows[row][(2 * cell + side) * lanes + lane];
            let (a, b, c, d) = (at(0, 0), at(0, 1), at(1, 0), at(1, 1));
            let mut best = [R::ZERO; LANES];
            let mut place = [NONE; LANES];
            for k in 0..LANES {
                // The first one of equals wins, and a cell that is not above zero has no winner.
                let (mut value, mut from) = (R::ZERO, NONE);
                if a[k] > value {
                    (value, from) = (a[k], 0);
                }
                if b[k] > value {
                    (value, from) = (b[k], 1);
                }
                if c[k] > value {
                    (value, from) = (c[k], 2);
                }
                if d[k] > value {
                    (value, from) = (d[k], 3);
                }
                (best[k], place[k]) = (value, from);
            }
            let count = LANES.min(channels - lane * LANES);
            let to = cell * channels + lane * LANES;
            out[to..to + count].copy_from_slice(&best[..count]);
            which[to..to + count].copy_from_slice(&place[..count]);
        }
    }
}

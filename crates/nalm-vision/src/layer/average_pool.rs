//! 2x2 average-pooling of an image `[row][column][channel]`. An odd last row or column is left out.

use crate::vector::{Kernel, Scalar, run};
use nalm::InstructionSet;

/// Pools one image.
pub(crate) fn forward<R: Scalar>(set: InstructionSet, width: usize, channels: usize, x: &[R], y: &mut [R]) {
    run(set, Forward { width, channels, x, y });
}

/// Overwrites the gradient of one image.
pub(crate) fn backward<R: Scalar>(set: InstructionSet, width: usize, channels: usize, dy: &[R], dx: &mut [R]) {
    run(set, Backward { width, channels, dy, dx });
}

struct Forward<'a, R> {
    width: usize,
    channels: usize,
    x: &'a [R],
    y: &'a mut [R],
}

impl<R: Scalar> Kernel for Forward<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { width, channels, x, y } = self;
        // Loops of known length are made of whole registers.
        if channels == 2 { pool(width, 2, x, y) } else { pool(width, channels, x, y) }
    }
}

#[inline(always)]
fn pool<R: Scalar>(width: usize, channels: usize, x: &[R], y: &mut [R]) {
    let quarter = R::of(0.25);
    let rows = x.chunks_exact(2 * width * channels).zip(y.chunks_exact_mut(width / 2 * channels));
    for (x, y) in rows {
        let (upper, lower) = x.split_at(width * channels);
        let cells = upper.chunks_exact(2 * channels).zip(lower.chunks_exact(2 * channels));
        for ((upper, lower), y) in cells.zip(y.chunks_exact_mut(channels)) {
            for k in 0..channels {
                y[k] = (upper[k] + upper[channels + k] + lower[k] + lower[channels + k]) * quarter;
            }
        }
    }
}

struct Backward<'a, R> {
    width: usize,
    channels: usize,
    dy: &'a [R],
    dx: &'a mut [R],
}

impl<R: Scalar> Kernel for Backward<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { width, channels, dy, dx } = self;
        let pooled = 2 * width * channels;
        if !(width.is_multiple_of(2) && dx.len().is_multiple_of(pooled)) {
            dx.fill(R::ZERO);
        }
        if channels == 2 { spread(width, 2, dy, dx) } else { spread(width, channels, dy, dx) }
    }
}

#[inline(always)]
fn spread<R: Scalar>(width: usize, channels: usize, dy: &[R], dx: &mut [R]) {
    let quarter = R::of(0.25);
    let rows = dx.chunks_exact_mut(2 * width * channels).zip(dy.chunks_exact(width / 2 * channels));
    for (dx, dy) in rows {
        let (upper, lower) = dx.split_at_mut(width * channels);
        let cells = upper.chunks_exact_mut(2 * channels).zip(lower.chunks_exact_mut(2 * channels));
        for ((upper, lower), dy) in cells.zip(dy.chunks_exact(channels)) {
            for k in 0..channels {
                let part = dy[k] * quarter;
                (upper[k], upper[channels + k], lower[k], lower[channels + k]) = (part, part, part, part);
            }
        }
    }
}

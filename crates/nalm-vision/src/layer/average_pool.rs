//! 2x2 average-pooling of an image `[row][column][channel]`. An odd last row or column is left out.

use crate::vector::Scalar;

/// Pools one image.
pub(crate) fn forward<R: Scalar>(width: usize, channels: usize, x: &[R], y: &mut [R]) {
    let quarter = R::of(0.25);
    for (cell, y) in y.chunks_exact_mut(channels).enumerate() {
        let (row, column) = (2 * (cell / (width / 2)), 2 * (cell % (width / 2)));
        let (upper, lower) = ((row * width + column) * channels, ((row + 1) * width + column) * channels);
        let (upper, lower) = (&x[upper..][..2 * channels], &x[lower..][..2 * channels]);
        for (k, y) in y.iter_mut().enumerate() {
            *y = (upper[k] + upper[channels + k] + lower[k] + lower[channels + k]) * quarter;
        }
    }
}

/// Overwrites the gradient of one image.
pub(crate) fn backward<R: Scalar>(width: usize, channels: usize, dy: &[R], dx: &mut [R]) {
    let quarter = R::of(0.25);
    dx.fill(R::ZERO);
    for (cell, dy) in dy.chunks_exact(channels).enumerate() {
        let (row, column) = (2 * (cell / (width / 2)), 2 * (cell % (width / 2)));
        for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let at = ((row + r) * width + column + c) * channels;
            for (dx, &dy) in dx[at..at + channels].iter_mut().zip(dy) {
                *dx = dy * quarter;
            }
        }
    }
}

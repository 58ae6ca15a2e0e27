//! Bilinear sampling: an image as it looks from given coordinates.
//!
//! Coordinates -1 and 1 are the outer edges of the first and last pixel, and beyond them everything is 0.

use crate::vector::{Kernel, Scalar, run};
use nalm::InstructionSet;

/// Channels of an image that is sampled.
pub(crate) const CHANNELS: usize = 2;

/// Four neighbours and the shares of the lower right ones.
struct Place<R> {
    /// Where each neighbour starts in the image; none outside.
    at: [Option<usize>; 4],
    fx: R,
    fy: R,
}

impl<R: Scalar> Place<R> {
    #[inline(always)]
    fn new(side: usize, x: R, y: R) -> Self {
        let (size, half) = (R::of(side as f64), R::of(0.5));
        // Nothing is left to see two pixels outside, wherever exactly that is.
        let pixel = |v: R| ((v + R::ONE) * size - R::ONE) * half;
        let bound = |v: R| v.at_least(R::of(-2.0)).at_most(size + R::ONE);
        let (px, py) = (bound(pixel(x)), bound(pixel(y)));
        let (left, top) = (px.floor(), py.floor());
        let (column, row) = (left.to_f64() as isize, top.to_f64() as isize);
        let inside = |k: isize| (0..side as isize).contains(&k);
        let at = |r: isize, c: isize| {
            (inside(row + r) && inside(column + c))
                .then(|| ((row + r) as usize * side + (column + c) as usize) * CHANNELS)
        };
        Self { at: [at(0, 0), at(0, 1), at(1, 0), at(1, 1)], fx: px - left, fy: py - top }
    }

    #[inline(always)]
    fn neighbours(&self, x: &[R], channel: usize) -> [R; 4] {
        self.at.map(|at| at.map_or(R::ZERO, |at| x[at + channel]))
    }
}

/// Samples one image `[row][column][channel]` at coordinates `[x, y][pixel]`.
pub(crate) fn forward<R: Scalar>(set: InstructionSet, side: usize, x: &[R], coordinates: &[R], y: &mut [R]) {
    run(set, Forward { side, x, coordinates, y });
}

/// Overwrites coordinates with their gradient.
pub(crate) fn backward<R: Scalar>(set: InstructionSet, side: usize, x: &[R], dy: &[R], coordinates: &mut [R]) {
    run(set, Backward { side, x, dy, coordinates });
}

struct Forward<'a, R> {
    side: usize,
    x: &'a [R],
    coordinates: &'a [R],
    y: &'a mut [R],
}

impl<R: Scalar> Kernel for Forward<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        sample(self.side, self.x, self.coordinates, self.y);
    }
}

struct Backward<'a, R> {
    side: usize,
    x: &'a [R],
    dy: &'a [R],
    coordinates: &'a mut [R],
}

impl<R: Scalar> Kernel for Backward<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        gradients(self.side, self.x, self.dy, self.coordinates);
    }
}

#[inline(always)]
fn sample<R: Scalar>(side: usize, x: &[R], coordinates: &[R], y: &mut [R]) {
    let (across, down) = coordinates.split_at(coordinates.len() / 2);
    for ((y, &cx), &cy) in y.chunks_exact_mut(CHANNELS).zip(across).zip(down) {
        let place = Place::new(side, cx, cy);
        let (gx, gy) = (R::ONE - place.fx, R::ONE - place.fy);
        for (channel, y) in y.iter_mut().enumerate() {
            let [a, b, c, d] = place.neighbours(x, channel);
            *y = (a * gx + b * place.fx) * gy + (c * gx + d * place.fx) * place.fy;
        }
    }
}

#[inline(always)]
fn gradients<R: Scalar>(side: usize, x: &[R], dy: &[R], coordinates: &mut [R]) {
    let (across, down) = coordinates.split_at_mut(coordinates.len() / 2);
    let scale = R::of(0.5 * side as f64);
    for (k, dy) in dy.chunks_exact(CHANNELS).enumerate() {
        let place = Place::new(side, across[k], down[k]);
        let (gx, gy) = (R::ONE - place.fx, R::ONE - place.fy);
        let (mut sx, mut sy) = (R::ZERO, R::ZERO);
        for (channel, &dy) in dy.iter().enumerate() {
            let [a, b, c, d] = place.neighbours(x, channel);
            sx += dy * ((b - a) * gy + (d - c) * place.fy);
            sy += dy * ((c - a) * gx + (d - b) * place.fx);
        }
        across[k] = sx * scale;
        down[k] = sy * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(side: usize) -> Vec<f64> {
        (0..side * side * CHANNELS).map(|k| (k as f64 * 1.3).sin()).collect()
    }

    /// The corner-aligned grid of the spline under the edge-aligned rule here is pixel 42 k / 41 - 1/2: a slight zoom, whose border is
    /// half black.
    #[test]
    fn the_resting_grid_is_a_slight_zoom() {
        let side = 42;
        let x = vec![1.0; side * side * CHANNELS];
        let at = |k: usize| 2.0 * k as f64 / 41.0 - 1.0;
        let across = (0..side * side).map(|p| at(p % side));
        let coordinates: Vec<f64> = across.chain((0..side * side).map(|p| at(p / side))).collect();
        let mut y = vec![0.0; x.len()];
        forward(InstructionSet::best(), side, &x, &coordinates, &mut y);
        assert!((y[0] - 0.25).abs() < 1e-12, "a corner is half outside twice: {}", y[0]);
        assert!((y[2 * 20] - 0.5).abs() < 1e-12, "an edge once: {}", y[40]);
        assert!((y[2 * (20 * side + 20)] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn far_away_is_nothing_and_has_no_gradient() {
        let (side, x) = (5, image(5));
        let coordinates = [9.0, -1e30, f64::INFINITY, 0.0, 0.0, 0.0];
        let (mut y, mut gradient) = (vec![7.0; 6], coordinates.to_vec());
        forward(InstructionSet::best(), side, &x, &coordinates, &mut y);
        backward(InstructionSet::best(), side, &x, &[1.0; 6], &mut gradient);
        assert_eq!((y, &gradient[..3]), (vec![0.0; 6], &[0.0; 3][..]));
    }

    #[test]
    fn gradients_are_those_of_differences() {
        let (side, x) = (6, image(6));
        let coordinates: Vec<f64> = (0..40).map(|k| 1.3 * (k as f64 * 0.77).cos()).collect();
        let weights: Vec<f64> = (0..40).map(|k| (k as f64).cos()).collect();
        let value = |c: &[f64]| {
            let mut y = vec![0.0; 40];
            forward(InstructionSet::best(), side, &x, c, &mut y);
            y.iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>()
        };
        let mut gradients = coordinates.clone();
        backward(InstructionSet::best(), side, &x, &weights, &mut gradients);
        for k in 0..40 {
            let at = |h: f64| {
                let mut c = coordinates.clone();
                c[k] += h;
                value(&c)
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((difference - gradients[k]).abs() < 1e-6, "{k}: {difference} {}", gradients[k]);
        }
    }
}

//! Bilinear sampling: an image as it looks from given coordinates.
//!
//! Coordinates -1 and 1 are the outer edges of the first and last pixel, and beyond them everything is 0.

use crate::vector::{Kernel, LANES, Scalar, run};
use nalm::InstructionSet;

/// Channels of an image that is sampled.
pub(crate) const CHANNELS: usize = 2;
/// Rows and columns of zeros before the first pixel, so that no neighbour is missing.
const BEFORE: usize = 2;
/// And behind the last one.
const AFTER: usize = 3;

/// An image with a border of zeros.
#[derive(Clone, Debug)]
pub(crate) struct Framed<R> {
    side: usize,
    numbers: Vec<R>,
}

impl<R: Scalar> Framed<R> {
    /// Room for images of `side` x `side`.
    pub(crate) fn new(side: usize) -> Self {
        let wide = side + BEFORE + AFTER;
        Self { side, numbers: vec![R::ZERO; wide * wide * CHANNELS] }
    }

    fn wide(&self) -> usize {
        self.side + BEFORE + AFTER
    }

    /// Takes an image `[row][column][channel]`.
    pub(crate) fn put(&mut self, x: &[R]) {
        let (line, wide) = (self.side * CHANNELS, self.wide() * CHANNELS);
        let rows = self.numbers.chunks_exact_mut(wide).skip(BEFORE);
        for (to, x) in rows.zip(x.chunks_exact(line)) {
            to[BEFORE * CHANNELS..][..line].copy_from_slice(x);
        }
    }

    /// The neighbours of a place: upper left and right, lower left and right, both channels each.
    #[inline(always)]
    fn neighbours(&self, at: u32) -> [[R; CHANNELS]; 4] {
        let pair = |at: usize| -> [[R; CHANNELS]; 2] {
            let [a, b] = self.numbers[at..].first_chunk::<{ 2 * CHANNELS }>().expect("inside the frame").as_chunks().0
            else {
                unreachable!("two neighbours")
            };
            [*a, *b]
        };
        let ([a, b], [c, d]) = (pair(at as usize), pair(at as usize + self.wide() * CHANNELS));
        [a, b, c, d]
    }

    /// Samples the image at coordinates `[x, y][pixel]`.
    pub(crate) fn forward(&self, set: InstructionSet, coordinates: &[R], y: &mut [R]) {
        run(set, Forward { x: self, coordinates, y });
    }

    /// Overwrites coordinates with their gradient.
    pub(crate) fn backward(&self, set: InstructionSet, dy: &[R], coordinates: &mut [R]) {
        run(set, Backward { x: self, dy, coordinates });
    }
}

/// Where some pixels look: their upper left neighbours in a frame, and the shares of the lower right ones.
struct Places<R> {
    at: [u32; LANES],
    fx: [R; LANES],
    fy: [R; LANES],
}

impl<R: Scalar> Places<R> {
    /// As many as both slices have.
    #[inline(always)]
    fn new(image: &Framed<R>, x: &[R], y: &[R]) -> Self {
        let mut own = [[R::ZERO; LANES]; 2];
        own[0][..x.len()].copy_from_slice(x);
        own[1][..y.len()].copy_from_slice(y);
        let (size, half) = (R::of(image.side as f64), R::of(0.5));
        let (wide, channels) = (image.wide() as i32, CHANNELS as i32);
        let mut places = Self { at: [0; LANES], fx: own[0], fy: own[1] };
        for k in 0..LANES {
            // Nothing is left to see two pixels outside, wherever exactly that is.
            let pixel = |v: R| ((v + R::ONE) * size - R::ONE) * half;
            let bound = |v: R| v.at_least(R::of(-2.0)).at_most(size + R::ONE);
            let (px, py) = (bound(pixel(own[0][k])), bound(pixel(own[1][k])));
            let (left, top) = (px.floor(), py.floor());
            // What is not a number looks anywhere and sees none.
            let inside = |v: R| v.small_whole().clamp(-(BEFORE as i32), wide - BEFORE as i32 - 2) + BEFORE as i32;
            let (row, column) = (inside(top), inside(left));
            places.at[k] = ((row * wide + column) * channels) as u32;
            (places.fx[k], places.fy[k]) = (px - left, py - top);
        }
        places
    }
}

struct Forward<'a, R> {
    x: &'a Framed<R>,
    coordinates: &'a [R],
    y: &'a mut [R],
}

impl<R: Scalar> Kernel for Forward<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { x, coordinates, y } = self;
        let (across, down) = coordinates.split_at(coordinates.len() / 2);
        let own = y.chunks_mut(LANES * CHANNELS).zip(across.chunks(LANES)).zip(down.chunks(LANES));
        for ((y, across), down) in own {
            let places = Places::new(x, across, down);
            for (k, y) in y.chunks_exact_mut(CHANNELS).enumerate().take(LANES) {
                let (fx, fy) = (places.fx[k], places.fy[k]);
                let (gx, gy) = (R::ONE - fx, R::ONE - fy);
                let [a, b, c, d] = x.neighbours(places.at[k]);
                for channel in 0..CHANNELS {
                    let (upper, lower) = (a[channel] * gx + b[channel] * fx, c[channel] * gx + d[channel] * fx);
                    y[channel] = upper * gy + lower * fy;
                }
            }
        }
    }
}

struct Backward<'a, R> {
    x: &'a Framed<R>,
    dy: &'a [R],
    coordinates: &'a mut [R],
}

impl<R: Scalar> Kernel for Backward<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { x, dy, coordinates } = self;
        let (across, down) = coordinates.split_at_mut(coordinates.len() / 2);
        let scale = R::of(0.5 * x.side as f64);
        let own = dy.chunks(LANES * CHANNELS).zip(across.chunks_mut(LANES)).zip(down.chunks_mut(LANES));
        for ((dy, across), down) in own {
            let places = Places::new(x, across, down);
            let gradients = dy.chunks_exact(CHANNELS).zip(across).zip(down);
            for (k, ((dy, across), down)) in gradients.enumerate().take(LANES) {
                let (fx, fy) = (places.fx[k], places.fy[k]);
                let (gx, gy) = (R::ONE - fx, R::ONE - fy);
                let [a, b, c, d] = x.neighbours(places.at[k]);
                let (mut sx, mut sy) = (R::ZERO, R::ZERO);
                for channel in 0..CHANNELS {
                    let (a, b, c, d) = (a[channel], b[channel], c[channel], d[channel]);
                    sx += dy[channel] * ((b - a) * gy + (d - c) * fy);
                    sy += dy[channel] * ((c - a) * gx + (d - b) * fx);
                }
                (*across, *down) = (sx * scale, sy * scale);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(side: usize) -> Vec<f64> {
        (0..side * side * CHANNELS).map(|k| (k as f64 * 1.3).sin()).collect()
    }

    fn framed(side: usize, x: &[f64]) -> Framed<f64> {
        let mut framed = Framed::new(side);
        framed.put(x);
        framed
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
        framed(side, &x).forward(InstructionSet::best(), &coordinates, &mut y);
        assert!((y[0] - 0.25).abs() < 1e-12, "a corner is half outside twice: {}", y[0]);
        assert!((y[2 * 20] - 0.5).abs() < 1e-12, "an edge once: {}", y[40]);
        assert!((y[2 * (20 * side + 20)] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn far_away_is_nothing_and_has_no_gradient() {
        let (side, x) = (5, image(5));
        let coordinates = [9.0, -1e30, f64::INFINITY, 0.0, 0.0, 0.0];
        let (mut y, mut gradient) = (vec![7.0; 6], coordinates.to_vec());
        framed(side, &x).forward(InstructionSet::best(), &coordinates, &mut y);
        framed(side, &x).backward(InstructionSet::best(), &[1.0; 6], &mut gradient);
        assert_eq!((y, &gradient[..3]), (vec![0.0; 6], &[0.0; 3][..]));
    }

    #[test]
    fn gradients_are_those_of_differences() {
        let (side, x) = (6, image(6));
        let coordinates: Vec<f64> = (0..40).map(|k| 1.3 * (k as f64 * 0.77).cos()).collect();
        let weights: Vec<f64> = (0..40).map(|k| (k as f64).cos()).collect();
        let value = |c: &[f64]| {
            let mut y = vec![0.0; 40];
            framed(side, &x).forward(InstructionSet::best(), c, &mut y);
            y.iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>()
        };
        let mut gradients = coordinates.clone();
        framed(side, &x).backward(InstructionSet::best(), &weights, &mut gradients);
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

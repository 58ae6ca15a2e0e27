//! The forward pass: register tiles of neighbouring pixels by lanes of output channels.

use super::Geometry;
use super::weights::Room;
use crate::layer::pool;
use crate::vector::{Kernel, LANES, Scalar, accumulate, run, tile_lanes};
use nalm::{InstructionSet, Lane};

/// Weights in the order in which the forward pass reads them: `[block of lanes][kernel row, column, input][lane]`, padded with zeros.
#[derive(Clone, Debug)]
pub(crate) struct Packed<R> {
    weights: Vec<Lane<R>>,
    bias: Vec<Lane<R>>,
    set: InstructionSet,
}

impl<R: Scalar> Packed<R> {
    /// Room for the weights of a convolution.
    pub(super) fn new(g: &Geometry, set: InstructionSet) -> Self {
        Self { weights: vec![Lane::ZERO; g.lanes() * g.patch()], bias: vec![Lane::ZERO; g.lanes()], set }
    }

    /// Takes parameters `[output][kernel row][kernel column][input]`, then biases.
    pub(super) fn pack(&mut self, g: &Geometry, p: &[R]) {
        let (patch, most) = (g.patch(), tile_lanes::<R>(self.set));
        let (weights, bias) = p.split_at(g.outputs * patch);
        let mut at = 0;
        let mut lane = 0;
        while lane < g.lanes() {
            let block = most.min(g.lanes() - lane);
            for k in 0..patch {
                for v in 0..block {
                    for i in 0..LANES {
                        let o = (lane + v) * LANES + i;
                        self.weights[at][i] = if o < g.outputs { weights[o * patch + k] } else { R::ZERO };
                    }
                    at += 1;
                }
            }
            lane += block;
        }
        for (o, &b) in bias.iter().enumerate() {
            self.bias[o / LANES][o % LANES] = b;
        }
    }
}

/// Computes one image behind ReLU.
pub(super) fn forward<R: Scalar>(g: &Geometry, packed: &Packed<R>, x: &[R], y: &mut [R], room: &mut Room<R>) {
    let (lanes, row) = (g.lanes(), &mut room.rows);
    row.resize(g.columns() * lanes, Lane::ZERO);
    for (r, y) in y.chunks_exact_mut(g.columns() * g.outputs).enumerate() {
        forward_rows(g, packed, x, r, 1, g.columns(), row);
        for (pixel, y) in row.chunks_exact(lanes).zip(y.chunks_exact_mut(g.outputs)) {
            let flat = nalm::lane::flat(pixel);
            y.iter_mut().zip(flat).for_each(|(y, &sum)| *y = sum.at_least(R::ZERO));
        }
    }
}

/// Computes one image behind ReLU and 2x2 max-pooling.
pub(super) fn forward_and_pool<R: Scalar>(
    g: &Geometry,
    packed: &Packed<R>,
    x: &[R],
    y: &mut [R],
    which: &mut [u8],
    room: &mut Room<R>,
) {
    // An odd last column is not needed.
    let columns = g.columns() / 2 * 2;
    let (line, len) = (columns * g.lanes(), columns / 2 * g.outputs);
    let rows = &mut room.rows;
    rows.resize(2 * line, Lane::ZERO);
    for (r, (y, which)) in y.chunks_exact_mut(len).zip(which.chunks_exact_mut(len)).enumerate() {
        forward_rows(g, packed, x, 2 * r, 2, columns, rows);
        let (upper, lower) = rows.split_at(line);
        pool::pool_rows(packed.set, [upper, lower], g.lanes(), g.outputs, y, which);
    }
}

/// Computes output rows `first..first + count` of one image up to a column, bias included, into `[row][column][lane]`.
#[inline(always)]
fn forward_rows<R: Scalar>(
    g: &Geometry,
    packed: &Packed<R>,
    x: &[R],
    first: usize,
    count: usize,
    columns: usize,
    out: &mut [Lane<R>],
) {
    run(packed.set, Forward { g: *g, packed, x, first, count, columns, out });
}

struct Forward<'a, R> {
    g: Geometry,
    packed: &'a Packed<R>,
    x: &'a [R],
    first: usize,
    count: usize,
    columns: usize,
    out: &'a mut [Lane<R>],
}

impl<R: Scalar> Kernel for Forward<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, packed, x, first, count, columns, out } = self;
        for (row, out) in out.chunks_exact_mut(columns * g.lanes()).take(count).enumerate() {
            forward_row::<R, FMA, PIXELS, VECTORS>(&g, packed, x, first + row, columns, out);
        }
    }
}

/// Computes the first `columns` pixels of output row `y`.
#[inline(always)]
pub(super) fn forward_row<R: Scalar, const FMA: bool, const PIXELS: usize, const VECTORS: usize>(
    g: &Geometry,
    packed: &Packed<R>,
    x: &[R],
    y: usize,
    columns: usize,
    out: &mut [Lane<R>],
) {
    let lanes = g.lanes();
    let mut lane = 0;
    let mut weights = packed.weights.as_slice();
    while lane < lanes {
        let block = VECTORS.min(lanes - lane);
        let (own, rest) = weights.split_at(block * g.patch());
        weights = rest;
        let mut column = 0;
        while column < columns {
            let left = columns - column;
            let at = Tile { g, x, y, column, weights: own, bias: &packed.bias[lane..lane + block], lane };
            // Smaller tiles at the end of a row; the last one may be a single pixel.
            if block == VECTORS && VECTORS > 1 {
                column += at.best::<FMA, PIXELS, VECTORS>(left, out);
            } else {
                column += at.best::<FMA, PIXELS, 1>(left, out);
            }
        }
        lane += block;
    }
}

/// Some neighbouring pixels of a row, for some lanes of channels.
struct Tile<'a, R> {
    g: &'a Geometry,
    x: &'a [R],
    y: usize,
    column: usize,
    weights: &'a [Lane<R>],
    bias: &'a [Lane<R>],
    lane: usize,
}

impl<R: Scalar> Tile<'_, R> {
    /// A tile of one of the widths that are compiled, the rest of the row being cut as evenly as these allow; returns its pixels.
    #[inline(always)]
    fn best<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(
        &self,
        left: usize,
        out: &mut [Lane<R>],
    ) -> usize {
        let width = left.div_ceil(left.div_ceil(PIXELS));
        match width {
            10.. if PIXELS >= 12 && width > 10 && left >= 12 => self.compute::<FMA, 12, VECTORS>(out),
            10.. if PIXELS >= 10 => self.compute::<FMA, 10, VECTORS>(out),
            9.. if PIXELS >= 9 => self.compute::<FMA, 9, VECTORS>(out),
            8.. if PIXELS >= 8 => self.compute::<FMA, 8, VECTORS>(out),
            6.. => self.compute::<FMA, 6, VECTORS>(out),
            4.. => self.compute::<FMA, 4, VECTORS>(out),
            3 => self.compute::<FMA, 3, VECTORS>(out),
            2 => self.compute::<FMA, 2, VECTORS>(out),
            _ => self.compute::<FMA, 1, VECTORS>(out),
        }
    }

    #[inline(always)]
    fn compute<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(&self, out: &mut [Lane<R>]) -> usize {
        let g = self.g;
        let mut sums = [[Lane::<R>::ZERO; VECTORS]; PIXELS];
        for p in 0..PIXELS {
            for v in 0..VECTORS {
                sums[p][v] = self.bias[v];
            }
        }
        let run = g.kernel * g.inputs;
        for ky in 0..g.kernel {
            let from = ((self.y + ky) * g.width + self.column) * g.inputs;
            // One slice a pixel, all of the same length, so that nothing needs to be checked inside.
            let mut pixels = [&self.x[..0]; PIXELS];
            for (p, pixel) in pixels.iter_mut().enumerate() {
                *pixel = &self.x[from + p * g.inputs..][..run];
            }
            let weights = &self.weights[ky * run * VECTORS..(ky + 1) * run * VECTORS];
            for (k, w) in weights.chunks_exact(VECTORS).enumerate().take(run) {
                for p in 0..PIXELS {
                    let x = pixels[p][k];
                    for v in 0..VECTORS {
                        accumulate::<R, FMA>(&mut sums[p][v], x, &w[v]);
                    }
                }
            }
        }
        let lanes = g.lanes();
        for p in 0..PIXELS {
            for v in 0..VECTORS {
                out[(self.column + p) * lanes + self.lane + v] = sums[p][v];
            }
        }
        PIXELS
    }
}

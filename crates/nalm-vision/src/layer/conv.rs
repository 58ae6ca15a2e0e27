//! Convolution without padding, stride 1, computed directly: no patches are copied.
//!
//! Tensors are `[row][column][channel]`. For one output pixel the inputs are, per kernel row, one run of `kernel * inputs` neighbouring
//! numbers; a register tile computes several neighbouring pixels for one or two lanes of output channels.

use super::pool::NONE;
use crate::vector::{Kernel, LANES, Scalar, Set, accumulate, add_runs, run, spread_run};
use nalm::Lane;

/// The shape of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Rows and columns of an input image.
    pub height: usize,
    /// Columns of an input image.
    pub width: usize,
    /// Channels of an input image.
    pub inputs: usize,
    /// Channels of an output image.
    pub outputs: usize,
    /// Rows and columns of the kernel.
    pub kernel: usize,
}

impl Geometry {
    /// Rows of an output image.
    pub fn rows(&self) -> usize {
        self.height + 1 - self.kernel
    }

    /// Columns of an output image.
    pub fn columns(&self) -> usize {
        self.width + 1 - self.kernel
    }

    /// Numbers of an input image.
    pub fn input_len(&self) -> usize {
        self.height * self.width * self.inputs
    }

    /// Numbers of an output image.
    pub fn output_len(&self) -> usize {
        self.rows() * self.columns() * self.outputs
    }

    /// Weights of one output channel.
    pub fn patch(&self) -> usize {
        self.kernel * self.kernel * self.inputs
    }

    /// Weights and biases.
    pub fn param_len(&self) -> usize {
        self.outputs * (self.patch() + 1)
    }

    /// Output channels in whole lanes.
    pub fn lanes(&self) -> usize {
        self.outputs.div_ceil(LANES)
    }
}

/// Weights in the order in which the forward pass reads them: `[block of lanes][kernel row, column, input][lane]`, padded with zeros.
#[derive(Clone, Debug)]
pub struct Packed<R> {
    weights: Vec<Lane<R>>,
    bias: Vec<Lane<R>>,
    set: Set,
}

impl<R: Scalar> Packed<R> {
    /// Room for the weights of a convolution.
    pub fn new(g: &Geometry, set: Set) -> Self {
        Self { weights: vec![Lane::ZERO; g.lanes() * g.patch()], bias: vec![Lane::ZERO; g.lanes()], set }
    }

    /// The instructions that it was made for.
    pub(crate) fn set(&self) -> Set {
        self.set
    }

    /// Takes parameters `[output][kernel row][kernel column][input]`, then biases.
    pub fn pack(&mut self, g: &Geometry, p: &[R]) {
        let (patch, most) = (g.patch(), self.set.tile_lanes());
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

/// Rows of output channels in whole lanes: what `forward_rows` writes.
pub(crate) fn row_lanes(g: &Geometry) -> usize {
    g.columns() * g.lanes()
}

/// Computes output rows `first..first + count` of one image, bias included, into `[row][column][lane]`.
#[inline(always)]
pub(crate) fn forward_rows<R: Scalar>(
    g: &Geometry,
    packed: &Packed<R>,
    x: &[R],
    first: usize,
    count: usize,
    out: &mut [Lane<R>],
) {
    run(packed.set, Forward { g: *g, packed, x, first, count, out });
}

struct Forward<'a, R> {
    g: Geometry,
    packed: &'a Packed<R>,
    x: &'a [R],
    first: usize,
    count: usize,
    out: &'a mut [Lane<R>],
}

impl<R: Scalar> Kernel for Forward<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, packed, x, first, count, out } = self;
        let (columns, lanes) = (g.columns(), g.lanes());
        for row in 0..count {
            let y = first + row;
            let out = &mut out[row * columns * lanes..(row + 1) * columns * lanes];
            let mut lane = 0;
            let mut weights = packed.weights.as_slice();
            while lane < lanes {
                let block = VECTORS.min(lanes - lane);
                let (own, rest) = weights.split_at(block * g.patch());
                weights = rest;
                let mut column = 0;
                while column < columns {
                    let left = columns - column;
                    let at = Tile { g: &g, x, y, column, weights: own, bias: &packed.bias[lane..lane + block], lane };
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
    /// The widest tile that fits; returns its pixels.
    #[inline(always)]
    fn best<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(
        &self,
        left: usize,
        out: &mut [Lane<R>],
    ) -> usize {
        if left >= PIXELS {
            self.compute::<FMA, PIXELS, VECTORS>(out);
            PIXELS
        } else if left >= 8 && PIXELS > 8 {
            self.compute::<FMA, 8, VECTORS>(out);
            8
        } else if left >= 4 {
            self.compute::<FMA, 4, VECTORS>(out);
            4
        } else if left >= 2 {
            self.compute::<FMA, 2, VECTORS>(out);
            2
        } else {
            self.compute::<FMA, 1, VECTORS>(out);
            1
        }
    }

    #[inline(always)]
    fn compute<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(&self, out: &mut [Lane<R>]) {
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
    }
}

/// Positions of an output image that carry gradient, channel by channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live<R> {
    /// Offsets of the patches in the input image, and gradients.
    entries: Vec<Vec<(u32, R)>>,
}

impl<R: Scalar> Live<R> {
    pub(crate) fn new(g: &Geometry) -> Self {
        Self { entries: vec![Vec::with_capacity(g.rows() * g.columns()); g.outputs] }
    }

    /// Collects the gradients of pooled cells, each at the position that won.
    pub(crate) fn of_pooled(&mut self, g: &Geometry, dy: &[R], which: &[u8], scale: R) {
        self.entries.iter_mut().for_each(Vec::clear);
        let columns = g.columns() / 2;
        for (cell, (dy, which)) in dy.chunks_exact(g.outputs).zip(which.chunks_exact(g.outputs)).enumerate() {
            let (row, column) = (2 * (cell / columns), 2 * (cell % columns));
            for (o, (&dy, &which)) in dy.iter().zip(which).enumerate() {
                if which < NONE && dy != R::ZERO {
                    let (row, column) = (row + usize::from(which / 2), column + usize::from(which % 2));
                    self.entries[o].push((((row * g.width + column) * g.inputs) as u32, dy * scale));
                }
            }
        }
    }

    /// Collects the gradients of positions that ReLU let through.
    pub(crate) fn of_relu(&mut self, g: &Geometry, dy: &[R], y: &[R]) {
        self.entries.iter_mut().for_each(Vec::clear);
        let columns = g.columns();
        for (cell, (dy, y)) in dy.chunks_exact(g.outputs).zip(y.chunks_exact(g.outputs)).enumerate() {
            let at = ((cell / columns * g.width + cell % columns) * g.inputs) as u32;
            for (o, (&dy, &y)) in dy.iter().zip(y).enumerate() {
                if y > R::ZERO && dy != R::ZERO {
                    self.entries[o].push((at, dy));
                }
            }
        }
    }
}

/// Adds the gradient of weights and biases of one image, and overwrites that of the image where it is wanted.
pub(crate) fn backward<R: Scalar>(
    g: &Geometry,
    set: Set,
    p: &[R],
    x: &[R],
    live: &Live<R>,
    dp: &mut [R],
    dx: Option<&mut [R]>,
) {
    run(set, Weights { g: *g, x, live, dp });
    backward_input(g, set, p, live, dx);
}

/// Overwrites the gradient of one image, where it is wanted.
pub(crate) fn backward_input<R: Scalar>(g: &Geometry, set: Set, p: &[R], live: &Live<R>, dx: Option<&mut [R]>) {
    if let Some(dx) = dx {
        run(set, Input { g: *g, p, live, dx });
    }
}

struct Weights<'a, R> {
    g: Geometry,
    x: &'a [R],
    live: &'a Live<R>,
    dp: &'a mut [R],
}

impl<R: Scalar> Kernel for Weights<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, x, live, dp } = self;
        let (patch, line, wide) = (g.patch(), g.kernel * g.inputs, g.width * g.inputs);
        let (dw, db) = dp.split_at_mut(g.outputs * patch);
        for (o, entries) in live.entries.iter().enumerate() {
            for (ky, dw) in dw[o * patch..(o + 1) * patch].chunks_exact_mut(line).enumerate() {
                add_runs::<R, FMA>(x, ky * wide, entries, dw);
            }
            for &(_, value) in entries {
                db[o] += value;
            }
        }
    }
}

struct Input<'a, R> {
    g: Geometry,
    p: &'a [R],
    live: &'a Live<R>,
    dx: &'a mut [R],
}

impl<R: Scalar> Kernel for Input<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, p, live, dx } = self;
        let (patch, line, wide) = (g.patch(), g.kernel * g.inputs, g.width * g.inputs);
        dx.fill(R::ZERO);
        for (o, entries) in live.entries.iter().enumerate() {
            let w = &p[o * patch..(o + 1) * patch];
            for (ky, w) in w.chunks_exact(line).enumerate() {
                spread_run::<R, FMA>(w, ky * wide, entries, dx);
            }
        }
    }
}

/// Adds the gradient of weights and biases of one image with few input channels, from the whole output gradient `[row][column][channel]`. Runs of
/// the sparse way would be too short here; this one goes along the output channels.
pub(crate) fn backward_narrow<R: Scalar>(g: &Geometry, set: Set, x: &[R], dy: &[R], dp: &mut [R]) {
    run(set, Narrow { g: *g, x, dy, dp });
}

struct Narrow<'a, R> {
    g: Geometry,
    x: &'a [R],
    dy: &'a [R],
    dp: &'a mut [R],
}

impl<R: Scalar> Kernel for Narrow<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, x, dy, dp } = self;
        let patch = g.patch();
        let offset = |k: usize| (k / (g.kernel * g.inputs)) * g.width * g.inputs + k % (g.kernel * g.inputs);
        let (dw, db) = dp.split_at_mut(g.outputs * patch);
        for first in (0..g.outputs).step_by(LANES) {
            let count = LANES.min(g.outputs - first);
            let whole = count == LANES;
            let mut bias = Lane::<R>::ZERO;
            for k0 in (0..patch).step_by(TOGETHER) {
                let together = TOGETHER.min(patch - k0);
                let mut offsets = [0; TOGETHER];
                for (k, offset_k) in offsets.iter_mut().enumerate() {
                    *offset_k = offset(k0 + k.min(together - 1));
                }
                let mut sums = [Lane::<R>::ZERO; TOGETHER];
                for row in 0..g.rows() {
                    for column in 0..g.columns() {
                        let cell = (row * g.columns() + column) * g.outputs + first;
                        // A copy of known length is one instruction, and of any other a call.
                        let mut d = Lane::<R>::ZERO;
                        if whole {
                            d.0.copy_from_slice(&dy[cell..cell + LANES]);
                        } else {
                            d.0.iter_mut().zip(&dy[cell..cell + count]).for_each(|(d, &dy)| *d = dy);
                        }
                        let at = (row * g.width + column) * g.inputs;
                        for k in 0..TOGETHER {
                            accumulate::<R, FMA>(&mut sums[k], x[at + offsets[k]], &d);
                        }
                        if k0 == 0 {
                            accumulate::<R, FMA>(&mut bias, R::ONE, &d);
                        }
                    }
                }
                for k in 0..together {
                    for i in 0..count {
                        dw[(first + i) * patch + k0 + k] += sums[k][i];
                    }
                }
            }
            for i in 0..count {
                db[first + i] += bias[i];
            }
        }
    }
}

/// Weights whose gradients are summed in registers at a time.
const TOGETHER: usize = 9;

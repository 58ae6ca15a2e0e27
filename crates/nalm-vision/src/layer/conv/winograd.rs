//! Pooled convolutions with fewer multiplications: Winograd's F(2x2, 3x3) and F(2x2, 5x5), after Lavin and Gray (2016).
//!
//! The four outputs of a pooled cell need 4 x 4 (6 x 6) numbers of every input channel. If these and the kernel are transformed first, 16 (36) products per
//! pair of channels give what takes 36 (100) otherwise: Y = Aᵀ ((G g Gᵀ) ⊙ (Bᵀ d B)) A. Each of the places is a 1x1 convolution over cells, which the
//! register tiles of `forward.rs` compute.

use super::Geometry;
use super::forward::{Packed, forward_row};
use super::weights::Room;
use crate::aligned::Aligned;
use crate::layer::pool;
use crate::vector::{Kernel, LANES, Scalar, run};
use nalm::{InstructionSet, Lane};
use std::marker::PhantomData;

/// Most rows of a transformed cell.
const MOST: usize = 6;

/// The transforms of a size of kernels along one direction. A cell has `KERNEL + 1` rows and columns; what lies behind them is left alone.
trait Scheme: Clone + Copy {
    const KERNEL: usize;
    const SIDE: usize = Self::KERNEL + 1;
    /// G g
    fn weights<R: Scalar>(g: [R; MOST]) -> [R; MOST];
    /// Bᵀ d
    fn inputs<R: Scalar>(d: [Lane<R>; MOST]) -> [Lane<R>; MOST];
    /// Aᵀ m
    fn outputs<R: Scalar>(m: [Lane<R>; MOST]) -> [Lane<R>; 2];
}

/// F(2, 3): polynomials at 0, 1, -1 and infinity.
#[derive(Clone, Copy)]
struct Three;

impl Scheme for Three {
    const KERNEL: usize = 3;

    #[inline(always)]
    fn weights<R: Scalar>([a, b, c, ..]: [R; MOST]) -> [R; MOST] {
        let (outer, half) = (a + c, R::of(0.5));
        [a, (outer + b) * half, (outer - b) * half, c, R::ZERO, R::ZERO]
    }

    #[inline(always)]
    fn inputs<R: Scalar>([a, b, c, d, ..]: [Lane<R>; MOST]) -> [Lane<R>; MOST] {
        [a - c, b + c, c - b, b - d, Lane::ZERO, Lane::ZERO]
    }

    #[inline(always)]
    fn outputs<R: Scalar>([a, b, c, d, ..]: [Lane<R>; MOST]) -> [Lane<R>; 2] {
        [a + b + c, b - c - d]
    }
}

/// F(2, 5): polynomials at 0, 1, -1, 1/2, -2 and infinity, which loses less than half as many digits as 2 and -2 do.
#[derive(Clone, Copy)]
struct Five;

impl Scheme for Five {
    const KERNEL: usize = 5;

    #[inline(always)]
    fn weights<R: Scalar>([a, b, c, d, e, ..]: [R; MOST]) -> [R; MOST] {
        let (even, odd) = (a + c + e, b + d);
        let [two, four, eight, sixteen] = [2.0, 4.0, 8.0, 16.0].map(R::of);
        let (three, fifteen) = (R::of(3.0), R::of(15.0));
        let half = sixteen * a + four * c + e + (eight * b + two * d);
        let minus_two = a + four * c + sixteen * e - (two * b + eight * d);
        [a, (even + odd) / three, (odd - even) / three, R::ZERO - half / fifteen, minus_two / fifteen, e]
    }

    #[inline(always)]
    fn inputs<R: Scalar>([a, b, c, d, e, f]: [Lane<R>; MOST]) -> [Lane<R>; MOST] {
        let [half, more, two, most] = [0.5, 1.5, 2.0, 2.5].map(R::of);
        let (even, odd) = (e - c, d - b);
        [
            a + e - c * two + odd * more,
            e - b + c * half + d * most,
            e + b + d * half - c * most,
            even + odd * two,
            even - odd * half,
            b + f - d * two + even * more,
        ]
    }

    #[inline(always)]
    fn outputs<R: Scalar>([a, b, c, d, e, f]: [Lane<R>; MOST]) -> [Lane<R>; 2] {
        let (half, two) = (R::of(0.5), R::of(2.0));
        [a + b + c + d + e, b - c + f + (d * half - e * two)]
    }
}

/// Whether there are transforms for kernels of this size.
pub(super) fn is_known(kernel: usize) -> bool {
    kernel == Three::KERNEL || kernel == Five::KERNEL
}

/// Cells that are computed together, about: as many as let the tiles be wide and the transformed weights be read seldom.
const CELLS: usize = 24;

/// Transformed weights, one packed 1x1 convolution a place.
#[derive(Clone, Debug)]
pub(crate) struct Transformed<R> {
    places: Vec<Packed<R>>,
    /// Parameters of those convolutions, one after the other.
    p: Vec<R>,
    set: InstructionSet,
}

/// Transformed numbers of some rows of cells.
#[derive(Clone, Debug)]
pub(super) struct Cells<R> {
    /// Four input rows behind the first half of their transform.
    lines: Aligned<R>,
    /// `[place][cell][input]`
    inputs: Aligned<R>,
    /// `[place][cell][lane]`
    products: Vec<Lane<R>>,
}

impl<R: Scalar> Cells<R> {
    pub(super) fn new() -> Self {
        Self { lines: Aligned::zeros(0), inputs: Aligned::zeros(0), products: Vec::new() }
    }
}

impl<R: Scalar> Transformed<R> {
    /// Room for the weights of a layer of which [`is_known`] holds.
    pub(super) fn new(g: &Geometry, set: InstructionSet) -> Self {
        let (at, places) = (pointwise(g, 1), (g.kernel + 1) * (g.kernel + 1));
        Self { places: vec![Packed::new(&at, set); places], p: vec![R::ZERO; places * at.param_len()], set }
    }

    /// Takes parameters as [`Packed::pack`] does.
    pub(super) fn pack(&mut self, g: &Geometry, p: &[R]) {
        let (patch, at) = (g.patch(), pointwise(g, 1));
        let (weights, bias) = p.split_at(g.outputs * patch);
        let work = Kernels { g: *g, weights, to: &mut self.p };
        run(self.set, work);
        // The place of 1 in both directions, which all four outputs of a cell take once, is the one that biases are added to.
        let biased = g.kernel + 2;
        self.p[biased * at.param_len()..][g.outputs * g.inputs..][..g.outputs].copy_from_slice(bias);
        for (place, p) in self.places.iter_mut().zip(self.p.chunks_exact(at.param_len())) {
            place.pack(&at, p);
        }
    }
}

/// G g Gᵀ for the kernels of a layer.
struct Kernels<'a, R> {
    g: Geometry,
    /// `[output][kernel row][kernel column][input]`
    weights: &'a [R],
    /// `[place][output][input]`, with room for biases behind every place.
    to: &'a mut [R],
}

impl<R: Scalar> Kernel for Kernels<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        if self.g.kernel == Three::KERNEL { self.transform::<Three>() } else { self.transform::<Five>() }
    }
}

impl<R: Scalar> Kernels<'_, R> {
    #[inline(always)]
    fn transform<S: Scheme>(self) {
        let Self { g, weights, to } = self;
        let stride = pointwise(&g, 1).param_len();
        let column = |row: &[R], i: usize| {
            let mut numbers = [R::ZERO; MOST];
            for k in 0..S::KERNEL {
                numbers[k] = row[k * g.inputs + i];
            }
            numbers
        };
        for (o, w) in weights.chunks_exact(g.patch()).enumerate() {
            for i in 0..g.inputs {
                let mut rows = [[R::ZERO; MOST]; MOST];
                for (row, w) in rows.iter_mut().zip(w.chunks_exact(S::KERNEL * g.inputs)) {
                    *row = S::weights(column(w, i));
                }
                for x in 0..S::SIDE {
                    let values = S::weights(rows.map(|row| row[x]));
                    for y in 0..S::SIDE {
                        to[(S::SIDE * y + x) * stride + o * g.inputs + i] = values[y];
                    }
                }
            }
        }
    }
}

/// The convolution over `cells` transformed cells that every place is.
fn pointwise(g: &Geometry, cells: usize) -> Geometry {
    Geometry { height: 1, width: cells, inputs: g.inputs, outputs: g.outputs, kernel: 1 }
}

/// Computes one image behind ReLU and 2x2 max-pooling.
pub(super) fn forward_and_pool<R: Scalar>(
    g: &Geometry,
    weights: &Transformed<R>,
    x: &[R],
    y: &mut [R],
    which: &mut [u8],
    room: &mut Room<R>,
) {
    let Room { rows, cells } = room;
    let (across, down) = (g.columns() / 2, g.rows() / 2);
    let together = CELLS.div_ceil(across).min(down);
    let (line, len) = (2 * across * g.lanes(), across * g.outputs);
    rows.resize(2 * together * line, Lane::ZERO);
    let parts = y.chunks_mut(together * len).zip(which.chunks_mut(together * len));
    for (k, (y, which)) in parts.enumerate() {
        let (first, count) = (k * together, y.len() / len);
        if g.kernel == Three::KERNEL {
            run(weights.set, Rows { g: *g, weights, x, first, count, cells, out: rows, scheme: PhantomData::<Three> });
        } else {
            run(weights.set, Rows { g: *g, weights, x, first, count, cells, out: rows, scheme: PhantomData::<Five> });
        }
        let pooled = y.chunks_exact_mut(len).zip(which.chunks_exact_mut(len));
        for ((y, which), rows) in pooled.zip(rows.chunks_exact(2 * line)) {
            let (upper, lower) = rows.split_at(line);
            pool::pool_rows(weights.set, [upper, lower], g.lanes(), g.outputs, y, which);
        }
    }
}

/// Some rows of cells. Compiled for every scheme by itself, because the tiles of one function for both would not stay in registers.
struct Rows<'a, R, S> {
    g: Geometry,
    weights: &'a Transformed<R>,
    x: &'a [R],
    first: usize,
    count: usize,
    cells: &'a mut Cells<R>,
    /// `[row][column][lane]`, two rows a row of cells.
    out: &'a mut [Lane<R>],
    scheme: PhantomData<S>,
}

impl<R: Scalar, S: Scheme> Kernel for Rows<'_, R, S> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, weights, x, first, count, cells: memory, out, scheme: _ } = self;
        let (across, lanes, places) = (g.columns() / 2, g.lanes(), S::SIDE * S::SIDE);
        let cells = count * across;
        let Cells { lines, inputs, products } = memory;
        inputs.resize(places * cells * g.inputs);
        products.resize(places * cells * lanes, Lane::ZERO);
        for row in 0..count {
            let x = &x[2 * (first + row) * g.width * g.inputs..];
            transform_inputs::<R, S>(&g, x, lines, &mut inputs[row * across * g.inputs..], cells * g.inputs);
        }
        let at = pointwise(&g, cells);
        let places = inputs.chunks_exact(cells * g.inputs).zip(products.chunks_exact_mut(cells * lanes));
        for (packed, (x, products)) in weights.places.iter().zip(places) {
            forward_row::<R, FMA, PIXELS, VECTORS>(&at, packed, x, 0, cells, products);
        }
        let line = 2 * across * lanes;
        for (row, out) in out.chunks_exact_mut(2 * line).take(count).enumerate() {
            let (upper, lower) = out.split_at_mut(line);
            for column in 0..across {
                for lane in 0..lanes {
                    let from = (row * across + column) * lanes + lane;
                    let [[a, b], [c, d]] = transform_output::<R, S>(|place| products[place * cells * lanes + from]);
                    let to = 2 * column * lanes + lane;
                    (upper[to], upper[to + lanes], lower[to], lower[to + lanes]) = (a, b, c, d);
                }
            }
        }
    }
}

/// Bᵀ d B for a row of cells whose images start at `x`; places are `stride` apart.
#[inline(always)]
fn transform_inputs<R: Scalar, S: Scheme>(g: &Geometry, x: &[R], lines: &mut Aligned<R>, to: &mut [R], stride: usize) {
    let (across, wide, inputs) = (g.columns() / 2, g.width * g.inputs, g.inputs);
    let len = (2 * across + S::KERNEL - 1) * inputs;
    lines.resize(S::SIDE * len);
    transform_lines::<R, S>(x, wide, len, lines, len);
    for (y, line) in lines.chunks_exact(len).enumerate() {
        for cell in 0..across {
            let to = &mut to[S::SIDE * y * stride + cell * inputs..];
            transform_lines::<R, S>(&line[2 * cell * inputs..], inputs, inputs, to, stride);
        }
    }
}

/// Bᵀ d for every number of lines of this length that start `step` apart, into lines `stride` apart.
#[inline(always)]
fn transform_lines<R: Scalar, S: Scheme>(from: &[R], step: usize, len: usize, to: &mut [R], stride: usize) {
    let mut lanes = [Lane::ZERO; MOST];
    if len < LANES {
        for k in 0..S::SIDE {
            lanes[k].0[..len].copy_from_slice(&from[k * step..][..len]);
        }
        let lanes = S::inputs(lanes);
        for k in 0..S::SIDE {
            to[k * stride..][..len].copy_from_slice(&lanes[k].0[..len]);
        }
        return;
    }
    let mut done = 0;
    while done < len {
        // The last lane may overlap the one before it.
        let at = done.min(len - LANES);
        for k in 0..S::SIDE {
            lanes[k].0 = *from[k * step + at..].first_chunk().expect("a whole lane");
        }
        let lanes = S::inputs(lanes);
        for k in 0..S::SIDE {
            *to[k * stride + at..].first_chunk_mut().expect("a whole lane") = lanes[k].0;
        }
        done = at + LANES;
    }
}

/// Aᵀ m A for sixteen channels.
#[inline(always)]
fn transform_output<R: Scalar, S: Scheme>(m: impl Fn(usize) -> Lane<R>) -> [[Lane<R>; 2]; 2] {
    let (mut upper, mut lower) = ([Lane::ZERO; MOST], [Lane::ZERO; MOST]);
    for x in 0..S::SIDE {
        let mut column = [Lane::ZERO; MOST];
        for y in 0..S::SIDE {
            column[y] = m(S::SIDE * y + x);
        }
        [upper[x], lower[x]] = S::outputs(column);
    }
    [S::outputs(upper), S::outputs(lower)]
}

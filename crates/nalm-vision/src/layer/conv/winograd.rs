//! Pooled 3x3 convolutions with fewer multiplications: Winograd's F(2x2, 3x3), after Lavin and Gray (2016).
//!
//! The four outputs of a pooled cell need 4 x 4 numbers of every input channel. If these and the kernel are transformed first, sixteen products per pair of
//! channels give what takes 36 otherwise: Y = Aᵀ ((G g Gᵀ) ⊙ (Bᵀ d B)) A. The transforms of inputs and outputs only add and subtract; those of weights
//! halve. Each of the sixteen places is a 1x1 convolution over cells, which the register tiles of `forward.rs` compute.

use super::Geometry;
use super::forward::{Packed, forward_row};
use super::weights::Room;
use crate::aligned::Aligned;
use crate::layer::pool;
use crate::vector::{Kernel, Scalar, run};
use nalm::{InstructionSet, Lane};

/// Places of a transformed cell, four rows of four.
const PLACES: usize = 16;
/// The place that all four outputs of a cell take once, and so the one that biases are added to.
const BIASED: usize = 5;
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
    pub(super) fn new(g: &Geometry, set: InstructionSet) -> Self {
        let at = pointwise(g, 1);
        Self { places: vec![Packed::new(&at, set); PLACES], p: vec![R::ZERO; PLACES * at.param_len()], set }
    }

    /// Takes parameters as [`Packed::pack`] does.
    pub(super) fn pack(&mut self, g: &Geometry, p: &[R]) {
        let (at, patch, half) = (pointwise(g, 1), g.patch(), R::of(0.5));
        // G v for three numbers v.
        let turn = |[a, b, c]: [R; 3]| {
            let outer = a + c;
            [a, (outer + b) * half, (outer - b) * half, c]
        };
        let (weights, bias) = p.split_at(g.outputs * patch);
        for (o, w) in weights.chunks_exact(patch).enumerate() {
            for i in 0..g.inputs {
                let rows = [0, 1, 2].map(|ky| turn([0, 1, 2].map(|kx| w[(3 * ky + kx) * g.inputs + i])));
                for x in 0..4 {
                    for (y, value) in turn(rows.map(|row| row[x])).into_iter().enumerate() {
                        self.p[(4 * y + x) * at.param_len() + o * g.inputs + i] = value;
                    }
                }
            }
        }
        self.p[BIASED * at.param_len()..][g.outputs * g.inputs..][..g.outputs].copy_from_slice(bias);
        for (place, p) in self.places.iter_mut().zip(self.p.chunks_exact(at.param_len())) {
            place.pack(&at, p);
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
        let count = y.len() / len;
        run(weights.set, Rows { g: *g, weights, x, first: k * together, count, cells, out: rows });
        let pooled = y.chunks_exact_mut(len).zip(which.chunks_exact_mut(len));
        for ((y, which), rows) in pooled.zip(rows.chunks_exact(2 * line)) {
            let (upper, lower) = rows.split_at(line);
            pool::pool_rows(weights.set, [upper, lower], g.lanes(), g.outputs, y, which);
        }
    }
}

/// Some rows of cells.
struct Rows<'a, R> {
    g: Geometry,
    weights: &'a Transformed<R>,
    x: &'a [R],
    first: usize,
    count: usize,
    cells: &'a mut Cells<R>,
    /// `[row][column][lane]`, two rows a row of cells.
    out: &'a mut [Lane<R>],
}

impl<R: Scalar> Kernel for Rows<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, weights, x, first, count, cells: memory, out } = self;
        let (across, lanes) = (g.columns() / 2, g.lanes());
        let cells = count * across;
        let Cells { lines, inputs, products } = memory;
        inputs.resize(PLACES * cells * g.inputs);
        products.resize(PLACES * cells * lanes, Lane::ZERO);
        for row in 0..count {
            let x = &x[2 * (first + row) * g.width * g.inputs..];
            transform_inputs(&g, x, lines, &mut inputs[row * across * g.inputs..], cells * g.inputs);
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
                    let [[a, b], [c, d]] = transform_output(|place| products[place * cells * lanes + from]);
                    let to = 2 * column * lanes + lane;
                    (upper[to], upper[to + lanes], lower[to], lower[to + lanes]) = (a, b, c, d);
                }
            }
        }
    }
}

/// Bᵀ d B for a row of cells whose images start at `x`; places are `stride` apart.
#[inline(always)]
fn transform_inputs<R: Scalar>(g: &Geometry, x: &[R], lines: &mut Aligned<R>, to: &mut [R], stride: usize) {
    let (across, wide, inputs) = (g.columns() / 2, g.width * g.inputs, g.inputs);
    let len = (2 * across + 2) * inputs;
    lines.resize(4 * len);
    let [a, b, c, d] = [0, 1, 2, 3].map(|k| &x[k * wide..][..len]);
    difference_lines(a, b, c, d, lines, len);
    for (y, line) in lines.chunks_exact(len).enumerate() {
        for cell in 0..across {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| &line[(2 * cell + k) * inputs..][..inputs]);
            difference_lines(a, b, c, d, &mut to[4 * y * stride + cell * inputs..], stride);
        }
    }
}

/// Four lines `stride` apart: a - c, b + c, c - b and b - d.
#[inline(always)]
fn difference_lines<R: Scalar>(a: &[R], b: &[R], c: &[R], d: &[R], to: &mut [R], stride: usize) {
    let len = a.len();
    let (first, rest) = to.split_at_mut(stride);
    let (second, rest) = rest.split_at_mut(stride);
    let (third, fourth) = rest.split_at_mut(stride);
    let lines = [first, second, third, fourth].map(|line| &mut line[..len]);
    for k in 0..len {
        lines[0][k] = a[k] - c[k];
        lines[1][k] = b[k] + c[k];
        lines[2][k] = c[k] - b[k];
        lines[3][k] = b[k] - d[k];
    }
}

/// Aᵀ m A for sixteen channels.
#[inline(always)]
fn transform_output<R: Scalar>(m: impl Fn(usize) -> Lane<R>) -> [[Lane<R>; 2]; 2] {
    let mut halves = [[Lane::ZERO; 4]; 2];
    for x in 0..4 {
        let (a, b, c, d) = (m(x), m(4 + x), m(8 + x), m(12 + x));
        halves[0][x] = a + b + c;
        halves[1][x] = b - c - d;
    }
    let mut out = [[Lane::ZERO; 2]; 2];
    for (out, [a, b, c, d]) in out.iter_mut().zip(halves) {
        *out = [a + b + c, b - c - d];
    }
    out
}

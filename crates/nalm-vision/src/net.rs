//! A stack of image layers over one flat parameter vector, forward and backward over batches.
//!
//! A batch is cut into blocks of samples that depend on nothing but its size. Gradients are summed block by block in their order, so
//! the bits are the same for any number of threads.

use crate::layer::conv::{self, Geometry, Live, Packed};
use crate::layer::dense::{Activation, Shape, product};
use crate::layer::{pool, soft_argmax};
use crate::team;
use crate::vector::{Scalar, Set};
use nalm::Lane;
use nalm::rng::{Fast, Purpose};

/// Samples in a block.
const BLOCK: usize = 32;

/// Fewer input channels than this make runs too short for the sparse gradient.
const NARROW: usize = 8;

/// A layer with what belongs to it: ReLU and pooling to a convolution, an activation to a dense layer, dropout to both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layer {
    /// Convolution, ReLU, 2x2 max-pooling if wanted, and then dropout with this probability.
    Conv {
        /// The shape.
        geometry: Geometry,
        /// Whether to pool; an odd last row or column is left out.
        pool: bool,
        /// Probability that a number is dropped in training; the others are scaled up.
        drop: f64,
    },
    /// Dense layer with activation and dropout.
    Dense {
        /// Numbers that come in.
        inputs: usize,
        /// Numbers that go out.
        outputs: usize,
        /// What follows the sums.
        activation: Activation,
        /// Probability that a number is dropped in training; only behind ReLU.
        drop: f64,
    },
    /// 2x2 average-pooling of an image `[row][column][channel]`; an odd last row or column is left out.
    AveragePool {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
        /// Channels.
        channels: usize,
    },
    /// Softmax over class numbers 0, 1, …, and their expected value.
    SoftArgmax {
        /// How many.
        classes: usize,
    },
}

impl Layer {
    /// Numbers that come in.
    pub fn input_len(&self) -> usize {
        match *self {
            Layer::Conv { geometry, .. } => geometry.input_len(),
            Layer::Dense { inputs, .. } => inputs,
            Layer::AveragePool { height, width, channels } => height * width * channels,
            Layer::SoftArgmax { classes } => classes,
        }
    }

    /// Numbers that go out.
    pub fn output_len(&self) -> usize {
        match *self {
            Layer::Conv { geometry: g, pool: true, .. } => (g.rows() / 2) * (g.columns() / 2) * g.outputs,
            Layer::Conv { geometry, .. } => geometry.output_len(),
            Layer::Dense { outputs, .. } => outputs,
            Layer::AveragePool { height, width, channels } => (height / 2) * (width / 2) * channels,
            Layer::SoftArgmax { .. } => 1,
        }
    }

    /// Numbers that are kept of a sample: what goes out, and what the gradient needs besides.
    fn kept_len(&self) -> usize {
        match *self {
            Layer::SoftArgmax { classes } => 1 + classes,
            _ => self.output_len(),
        }
    }

    /// Parameters.
    pub fn param_len(&self) -> usize {
        match *self {
            Layer::Conv { geometry, .. } => geometry.param_len(),
            Layer::Dense { inputs, outputs, .. } => outputs * (inputs + 1),
            _ => 0,
        }
    }

    /// Inputs of one output, by which weights are initialised.
    fn fan_in(&self) -> usize {
        match *self {
            Layer::Conv { geometry, .. } => geometry.patch(),
            Layer::Dense { inputs, .. } => inputs,
            _ => 1,
        }
    }
}

/// Whether a pass trains.
#[derive(Clone, Copy, Debug)]
pub enum Mode<'a> {
    /// With dropout; its numbers follow from the key and each sample's place in the batch.
    Train {
        /// Names run and step.
        key: &'a str,
    },
    /// Without.
    Eval,
}

/// A stack of layers.
#[derive(Clone, Debug)]
pub struct Net {
    layers: Vec<Layer>,
    starts: Vec<usize>,
    set: Set,
}

impl Net {
    /// A stack whose neighbouring lengths fit.
    pub fn new(layers: Vec<Layer>, set: Set) -> Result<Self, nalm::Error> {
        for pair in layers.windows(2) {
            let (out, into) = (pair[0].output_len(), pair[1].input_len());
            if out != into {
                let what = format!("numbers from {:?} into {:?}", pair[0], pair[1]);
                return Err(nalm::Error::Shape { what, got: out, want: into });
            }
        }
        let mut starts = vec![0];
        for layer in &layers {
            starts.push(starts[starts.len() - 1] + layer.param_len());
        }
        Ok(Self { layers, starts, set })
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Length of the flat parameter vector.
    pub fn param_len(&self) -> usize {
        self.starts[self.layers.len()]
    }

    /// Numbers of one sample that come in.
    pub fn input_len(&self) -> usize {
        self.layers[0].input_len()
    }

    /// Numbers of one sample that go out.
    pub fn output_len(&self) -> usize {
        self.layers[self.layers.len() - 1].output_len()
    }

    /// Draws weights and biases from U(-1/sqrt(fan-in), 1/sqrt(fan-in)), PyTorch's default.
    pub fn init<R: Scalar>(&self, p: &mut [R], rng: &mut nalm::Rng) {
        for (k, layer) in self.layers.iter().enumerate() {
            let bound = R::of(1.0 / (layer.fan_in() as f64).sqrt());
            for p in &mut p[self.starts[k]..self.starts[k + 1]] {
                *p = rng.uniform(-bound, bound);
            }
        }
    }

    /// The memory for batches of up to `samples`.
    pub fn workspace<R: Scalar>(&self, samples: usize) -> Workspace<R> {
        let room = |len: usize| vec![R::ZERO; samples * len];
        let conv_len: usize = self.layers.iter().map(|layer| self.partial_len(layer)).sum();
        Workspace {
            kept: self.layers.iter().map(|layer| room(layer.kept_len())).collect(),
            which: self
                .layers
                .iter()
                .map(|layer| match layer {
                    Layer::Conv { pool: true, .. } => vec![pool::NONE; samples * layer.output_len()],
                    _ => Vec::new(),
                })
                .collect(),
            slopes: self
                .layers
                .iter()
                .map(|layer| if matches!(layer, Layer::Dense { .. }) { room(layer.output_len()) } else { Vec::new() })
                .collect(),
            partial: vec![vec![R::ZERO; conv_len]; samples.div_ceil(BLOCK)],
            scratch: (0..samples.div_ceil(BLOCK)).map(|_| Scratch::new(self)).collect(),
            packed: self
                .layers
                .iter()
                .map(|layer| match layer {
                    Layer::Conv { geometry, .. } => Some(Packed::new(geometry, self.set)),
                    _ => None,
                })
                .collect(),
            samples: 0,
        }
    }

    /// Gradients of convolutions are summed per block first.
    fn partial_len(&self, layer: &Layer) -> usize {
        if matches!(layer, Layer::Conv { .. }) { layer.param_len() } else { 0 }
    }

    /// Computes the outputs of a batch; they stay in the workspace.
    pub fn forward<R: Scalar>(&self, p: &[R], x: &[R], work: &mut Workspace<R>, mode: Mode<'_>, threads: usize) {
        let samples = x.len() / self.input_len();
        work.samples = samples;
        for (k, packed) in work.packed.iter_mut().enumerate() {
            if let (Some(packed), Layer::Conv { geometry, .. }) = (packed, &self.layers[k]) {
                packed.pack(geometry, &p[self.starts[k]..self.starts[k + 1]]);
            }
        }
        let mut blocks: Vec<ForwardBlock<'_, R>> = x
            .chunks(BLOCK * self.input_len())
            .enumerate()
            .zip(&mut work.scratch)
            .map(|((b, x), scratch)| ForwardBlock { first: b * BLOCK, x, kept: Vec::new(), which: Vec::new(), scratch })
            .collect();
        for ((layer, kept), which) in self.layers.iter().zip(&mut work.kept).zip(&mut work.which) {
            let kept = kept[..samples * layer.kept_len()].chunks_mut(BLOCK * layer.kept_len());
            blocks.iter_mut().zip(kept).for_each(|(block, kept)| block.kept.push(kept));
            let mut which = which.chunks_mut(BLOCK * layer.output_len().max(1));
            blocks.iter_mut().for_each(|block| block.which.push(which.next().unwrap_or_default()));
        }
        let packed = &work.packed;
        team::each(threads, blocks, |block| self.forward_block(p, packed, block, mode));
    }

    fn forward_block<R: Scalar>(
        &self,
        p: &[R],
        packed: &[Option<Packed<R>>],
        mut block: ForwardBlock<'_, R>,
        mode: Mode<'_>,
    ) {
        let samples = block.x.len() / self.input_len();
        let mut dice: Vec<Option<Fast>> = (0..samples)
            .map(|s| match mode {
                Mode::Train { key } => Some(Fast::open(&format!("{key}|{}", block.first + s), Purpose::Noise)),
                Mode::Eval => None,
            })
            .collect();
        let Scratch { rows, words, .. } = &mut *block.scratch;
        for (k, layer) in self.layers.iter().enumerate() {
            let (before, after) = block.kept.split_at_mut(k);
            let (x, y) = (before.last().map_or(block.x, |kept| &**kept), &mut *after[0]);
            let p = &p[self.starts[k]..self.starts[k + 1]];
            match *layer {
                Layer::Conv { geometry: g, pool, drop } => {
                    let Some(packed) = &packed[k] else { continue };
                    let line = conv::row_lanes(&g);
                    rows.resize(2 * line, Lane::ZERO);
                    let mut which = block.which[k].chunks_mut(layer.output_len());
                    for ((x, y), dice) in
                        x.chunks_exact(g.input_len()).zip(y.chunks_exact_mut(layer.output_len())).zip(&mut dice)
                    {
                        if !pool {
                            convolve(&g, packed, x, y, &mut rows[..line]);
                            continue;
                        }
                        let Some(which) = which.next() else { continue };
                        convolve_and_pool(&g, packed, x, y, which, &mut rows[..2 * line]);
                        if let Some(dice) = dice {
                            drop_cells(drop, dice, words, y, which);
                        }
                    }
                }
                Layer::Dense { inputs, outputs, activation, drop } => {
                    let (weights, bias) = p.split_at(outputs * inputs);
                    let shape = Shape::new(outputs, inputs).transposed();
                    product(y, Shape::new(samples, outputs), x, Shape::new(samples, inputs), weights, shape);
                    for (y, dice) in y.chunks_exact_mut(outputs).zip(&mut dice) {
                        for (y, &b) in y.iter_mut().zip(bias) {
                            *y = activation.apply(*y + b);
                        }
                        if let Some(dice) = dice {
                            drop_numbers(drop, dice, words, y);
                        }
                    }
                }
                Layer::AveragePool { height, width, channels } => {
                    let quarter = R::of(0.25);
                    for (x, y) in x.chunks_exact(layer.input_len()).zip(y.chunks_exact_mut(layer.output_len())) {
                        for (cell, y) in y.chunks_exact_mut(channels).enumerate() {
                            let (row, column) = (2 * (cell / (width / 2)), 2 * (cell % (width / 2)));
                            let at = |r: usize, c: usize, k: usize| x[((row + r) * width + column + c) * channels + k];
                            for (k, y) in y.iter_mut().enumerate() {
                                *y = (at(0, 0, k) + at(0, 1, k) + at(1, 0, k) + at(1, 1, k)) * quarter;
                            }
                        }
                    }
                    debug_assert!(height > 1);
                }
                Layer::SoftArgmax { classes } => {
                    for (x, kept) in x.chunks_exact(classes).zip(y.chunks_exact_mut(1 + classes)) {
                        let (z, p) = kept.split_at_mut(1);
                        z[0] = soft_argmax::forward(x, p);
                    }
                }
            }
        }
    }

    /// Overwrites `gradient` with that of a loss, given the gradient `dy` of the outputs of the last forward pass over `x`.
    pub fn backward<R: Scalar>(
        &self,
        p: &[R],
        x: &[R],
        work: &mut Workspace<R>,
        dy: &[R],
        gradient: &mut [R],
        threads: usize,
    ) {
        let samples = work.samples;
        let mut blocks: Vec<BackwardBlock<'_, R>> = Vec::new();
        let mut slopes: Vec<_> = self
            .layers
            .iter()
            .zip(&mut work.slopes)
            .map(|(layer, slopes)| slopes.chunks_mut(BLOCK * layer.output_len().max(1)))
            .collect();
        let parts = work.partial[..samples.div_ceil(BLOCK)].iter_mut().zip(&mut work.scratch);
        for (b, (partial, scratch)) in parts.enumerate() {
            let first = b * BLOCK;
            let count = BLOCK.min(samples - first);
            let slopes = slopes.iter_mut().map(|slopes| slopes.next().unwrap_or_default()).collect();
            blocks.push(BackwardBlock { first, count, slopes, partial, scratch });
        }
        let (kept, which) = (&work.kept, &work.which);
        team::each(threads, blocks, |block| self.backward_block(p, x, kept, which, dy, block));
        self.gather(x, work, gradient, threads);
    }

    fn backward_block<R: Scalar>(
        &self,
        p: &[R],
        x: &[R],
        kept: &[Vec<R>],
        which: &[Vec<u8>],
        dy: &[R],
        mut block: BackwardBlock<'_, R>,
    ) {
        let (first, count) = (block.first, block.count);
        let own = |all: &[R], len: usize| -> std::ops::Range<usize> {
            debug_assert!(all.len() >= (first + count) * len);
            first * len..(first + count) * len
        };
        block.partial.fill(R::ZERO);
        let outputs = self.output_len();
        let Scratch { slope, below, dense, live, .. } = &mut *block.scratch;
        slope.clear();
        slope.extend_from_slice(&dy[own(dy, outputs)]);
        let mut end = block.partial.len();
        for (k, layer) in self.layers.iter().enumerate().rev() {
            let x_len = layer.input_len();
            let x = if k == 0 { &x[own(x, x_len)] } else { &kept[k - 1][own(&kept[k - 1], x_len)] };
            let p = &p[self.starts[k]..self.starts[k + 1]];
            below.resize(count * x_len, R::ZERO);
            match *layer {
                Layer::SoftArgmax { classes } => {
                    let kept = &kept[k][own(&kept[k], 1 + classes)];
                    for ((kept, dz), dx) in
                        kept.chunks_exact(1 + classes).zip(&*slope).zip(below.chunks_exact_mut(classes))
                    {
                        soft_argmax::backward(&kept[1..], kept[0], *dz, dx);
                    }
                }
                Layer::Dense { inputs, outputs, activation, drop } => {
                    let y = &kept[k][own(&kept[k], outputs)];
                    let scale = R::of(1.0 / (1.0 - drop));
                    let own_slopes = &mut block.slopes[k][..count * outputs];
                    for ((d, &y), &dy) in own_slopes.iter_mut().zip(y).zip(&*slope) {
                        *d = dy * activation.slope(y) * if drop > 0.0 { scale } else { R::ONE };
                    }
                    if k > 0 {
                        let (from, to) = (Shape::new(count, outputs), Shape::new(count, inputs));
                        product(below, to, own_slopes, from, &p[..outputs * inputs], Shape::new(outputs, inputs));
                    }
                }
                Layer::AveragePool { width, channels, .. } => {
                    let quarter = R::of(0.25);
                    below.fill(R::ZERO);
                    for (dx, dy) in below.chunks_exact_mut(x_len).zip(slope.chunks_exact(layer.output_len())) {
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
                }
                Layer::Conv { geometry: g, pool, drop } => {
                    let start = end - layer.param_len();
                    let dp = &mut block.partial[start..end];
                    end = start;
                    let len = layer.output_len();
                    let y = &kept[k][own(&kept[k], len)];
                    let scale = R::of(1.0 / (1.0 - drop));
                    let Some(live) = &mut live[k] else { continue };
                    for s in 0..count {
                        let (x, dy) = (&x[s * x_len..(s + 1) * x_len], &slope[s * len..(s + 1) * len]);
                        let dx = (k > 0).then(|| &mut below[s * x_len..(s + 1) * x_len]);
                        let narrow = g.inputs < NARROW;
                        if narrow {
                            dense.clear();
                            dense.resize(g.output_len(), R::ZERO);
                            if pool {
                                let which = &which[k][(first + s) * len..(first + s + 1) * len];
                                unpool(&g, dy, which, scale, dense);
                            } else {
                                for ((d, &dy), &y) in dense.iter_mut().zip(dy).zip(&y[s * len..(s + 1) * len]) {
                                    *d = if y > R::ZERO { dy } else { R::ZERO };
                                }
                            }
                            conv::backward_narrow(&g, self.set, x, dense, dp);
                        }
                        if narrow && dx.is_none() {
                            continue;
                        }
                        if pool {
                            let which = &which[k][(first + s) * len..(first + s + 1) * len];
                            live.of_pooled(&g, dy, which, scale);
                        } else {
                            live.of_relu(&g, dy, &y[s * len..(s + 1) * len]);
                        }
                        match narrow {
                            true => conv::backward_input(&g, self.set, p, live, dx),
                            false => conv::backward(&g, self.set, p, x, live, dp, dx),
                        }
                    }
                }
            }
            std::mem::swap(slope, below);
        }
    }

    /// Sums what the blocks left behind, and computes the gradients of dense layers over the whole batch.
    fn gather<R: Scalar>(&self, x: &[R], work: &Workspace<R>, gradient: &mut [R], threads: usize) {
        let samples = work.samples;
        let mut pieces: Vec<Piece<'_, R>> = Vec::new();
        let mut rest = gradient;
        let mut conv_start = 0;
        for (k, layer) in self.layers.iter().enumerate() {
            let (own, after) = rest.split_at_mut(layer.param_len());
            rest = after;
            match *layer {
                Layer::Conv { .. } => {
                    pieces.push(Piece::Sum { from: conv_start, to: own });
                    conv_start += layer.param_len();
                }
                Layer::Dense { inputs, outputs, .. } => {
                    let (mut weights, bias) = own.split_at_mut(outputs * inputs);
                    let rows = outputs.div_ceil(8);
                    let mut first = 0;
                    while first < outputs {
                        let count = rows.min(outputs - first);
                        let (to, after) = weights.split_at_mut(count * inputs);
                        weights = after;
                        pieces.push(Piece::Weights { layer: k, first, count, to });
                        first += count;
                    }
                    pieces.push(Piece::Bias { layer: k, to: bias });
                }
                _ => {}
            }
        }
        let partial = &work.partial[..samples.div_ceil(BLOCK)];
        team::each(threads, pieces, |piece| match piece {
            Piece::Sum { from, to } => {
                to.fill(R::ZERO);
                for block in partial {
                    to.iter_mut().zip(&block[from..]).for_each(|(to, &part)| *to += part);
                }
            }
            Piece::Weights { layer, first, count, to } => {
                let Layer::Dense { inputs, outputs, .. } = self.layers[layer] else { return };
                let x = if layer == 0 { x } else { &work.kept[layer - 1] };
                let slopes = Shape { rows: samples, columns: count, row_stride: outputs, column_stride: 1 };
                let (to_at, x_at) = (Shape::new(count, inputs), Shape::new(samples, inputs));
                product(to, to_at, &work.slopes[layer][first..], slopes.transposed(), x, x_at);
            }
            Piece::Bias { layer, to } => {
                to.fill(R::ZERO);
                for row in work.slopes[layer][..samples * to.len()].chunks_exact(to.len()) {
                    to.iter_mut().zip(row).for_each(|(to, &d)| *to += d);
                }
            }
        });
    }
}

/// A part of the gradient that one thread computes.
enum Piece<'a, R> {
    Sum { from: usize, to: &'a mut [R] },
    Weights { layer: usize, first: usize, count: usize, to: &'a mut [R] },
    Bias { layer: usize, to: &'a mut [R] },
}

struct ForwardBlock<'a, R> {
    /// Its first sample.
    first: usize,
    x: &'a [R],
    kept: Vec<&'a mut [R]>,
    which: Vec<&'a mut [u8]>,
    scratch: &'a mut Scratch<R>,
}

struct BackwardBlock<'a, R> {
    first: usize,
    count: usize,
    slopes: Vec<&'a mut [R]>,
    /// Gradients of the convolutions, one after the other.
    partial: &'a mut Vec<R>,
    scratch: &'a mut Scratch<R>,
}

/// Memory that a block needs for a moment, kept because asking the system for it anew costs more than using it.
#[derive(Clone, Debug)]
struct Scratch<R> {
    rows: Vec<Lane<R>>,
    words: Vec<u32>,
    slope: Vec<R>,
    below: Vec<R>,
    dense: Vec<R>,
    live: Vec<Option<Live<R>>>,
}

impl<R: Scalar> Scratch<R> {
    fn new(net: &Net) -> Self {
        let live = |layer: &Layer| match layer {
            Layer::Conv { geometry, .. } => Some(Live::new(geometry)),
            _ => None,
        };
        let live = net.layers.iter().map(live).collect();
        Self { rows: Vec::new(), words: Vec::new(), slope: Vec::new(), below: Vec::new(), dense: Vec::new(), live }
    }
}

/// What passes over batches leave behind and find again.
#[derive(Clone, Debug)]
pub struct Workspace<R> {
    kept: Vec<Vec<R>>,
    which: Vec<Vec<u8>>,
    slopes: Vec<Vec<R>>,
    partial: Vec<Vec<R>>,
    packed: Vec<Option<Packed<R>>>,
    scratch: Vec<Scratch<R>>,
    samples: usize,
}

impl<R: Scalar> Workspace<R> {
    /// Copies the outputs of the last forward pass, sample by sample.
    pub fn outputs(&self, net: &Net, out: &mut Vec<R>) {
        out.clear();
        let last = net.layers.len() - 1;
        let (kept_len, len) = (net.layers[last].kept_len(), net.output_len());
        for kept in self.kept[last][..self.samples * kept_len].chunks_exact(kept_len) {
            out.extend_from_slice(&kept[..len]);
        }
    }
}

fn convolve<R: Scalar>(g: &Geometry, packed: &Packed<R>, x: &[R], y: &mut [R], row: &mut [Lane<R>]) {
    let lanes = g.lanes();
    for (r, y) in y.chunks_exact_mut(g.columns() * g.outputs).enumerate() {
        conv::forward_rows(g, packed, x, r, 1, row);
        for (pixel, y) in row.chunks_exact(lanes).zip(y.chunks_exact_mut(g.outputs)) {
            let flat = nalm::lane::flat(pixel);
            y.iter_mut().zip(flat).for_each(|(y, &sum)| *y = sum.at_least(R::ZERO));
        }
    }
}

fn convolve_and_pool<R: Scalar>(
    g: &Geometry,
    packed: &Packed<R>,
    x: &[R],
    y: &mut [R],
    which: &mut [u8],
    rows: &mut [Lane<R>],
) {
    let (line, len) = (conv::row_lanes(g), g.columns() / 2 * g.outputs);
    for (r, (y, which)) in y.chunks_exact_mut(len).zip(which.chunks_exact_mut(len)).enumerate() {
        conv::forward_rows(g, packed, x, 2 * r, 2, rows);
        let (upper, lower) = rows.split_at(line);
        pool::pool_rows(packed.set(), [upper, lower], g.lanes(), g.outputs, y, which);
    }
}

/// Puts the gradients of pooled cells where the winners were.
fn unpool<R: Scalar>(g: &Geometry, dy: &[R], which: &[u8], scale: R, to: &mut [R]) {
    let columns = g.columns() / 2;
    for (cell, (dy, which)) in dy.chunks_exact(g.outputs).zip(which.chunks_exact(g.outputs)).enumerate() {
        let (row, column) = (2 * (cell / columns), 2 * (cell % columns));
        for (o, (&dy, &which)) in dy.iter().zip(which).enumerate() {
            if which < pool::NONE {
                let (row, column) = (row + usize::from(which / 2), column + usize::from(which % 2));
                to[(row * g.columns() + column) * g.outputs + o] = dy * scale;
            }
        }
    }
}

/// Whether the next number is dropped.
fn threshold(drop: f64) -> u32 {
    (drop * 4_294_967_296.0) as u32
}

fn drop_cells<R: Scalar>(drop: f64, dice: &mut Fast, words: &mut Vec<u32>, y: &mut [R], which: &mut [u8]) {
    if drop <= 0.0 {
        return;
    }
    let (bound, scale) = (threshold(drop), R::of(1.0 / (1.0 - drop)));
    words.resize(y.len(), 0);
    dice.words(words);
    for ((y, which), &word) in y.iter_mut().zip(which).zip(&*words) {
        *which = if word < bound { pool::NONE } else { *which };
        *y = if word < bound { R::ZERO } else { *y * scale };
    }
}

fn drop_numbers<R: Scalar>(drop: f64, dice: &mut Fast, words: &mut Vec<u32>, y: &mut [R]) {
    if drop <= 0.0 {
        return;
    }
    let (bound, scale) = (threshold(drop), R::of(1.0 / (1.0 - drop)));
    words.resize(y.len(), 0);
    dice.words(words);
    for (y, &word) in y.iter_mut().zip(&*words) {
        *y = if word < bound { R::ZERO } else { *y * scale };
    }
}

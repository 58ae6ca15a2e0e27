//! Computes the gradient of a batch, block by block.

use super::workspace::{Scratch, Workspace};
use super::{BLOCK, Layer, Net};
use crate::aligned::Aligned;
use crate::layer::matrix::{Copied, Copying, Shape, Strips, product, product_with};
use crate::layer::{average_pool, conv, pool, soft_argmax};
use crate::team;
use crate::vector::{LANES, Scalar};

impl Net {
    /// Overwrites `gradient` with that of a loss, given the gradient `dy` of the outputs of the last forward pass over `x`; and `dx` with
    /// that of the inputs, where it is wanted.
    pub fn backward<R: Scalar>(
        &self,
        p: &[R],
        x: &[R],
        work: &mut Workspace<R>,
        dy: &[R],
        gradient: &mut [R],
        dx: Option<&mut [R]>,
        threads: usize,
    ) {
        let samples = work.samples;
        // Below the first parameters a gradient is of use only to who asked for it.
        let asked = dx.is_some();
        let wanted = |k: usize| asked || self.starts[k] > 0;
        let dense = work.dense.iter_mut().enumerate().filter(|(k, _)| wanted(*k));
        let dense = dense.filter_map(|(k, dense)| Some(dense.as_mut()?[1].copying(&p[self.starts[k]..])));
        team::each(threads, dense.flatten().collect(), Copying::copy);
        let mut dx = dx.map(|dx| dx.chunks_mut(BLOCK * self.input_len()));
        let mut blocks: Vec<BackwardBlock<'_, R>> = Vec::new();
        let mut gradients: Vec<_> = self
            .layers
            .iter()
            .zip(&mut work.gradients)
            .map(|(layer, gradients)| gradients.chunks_mut(BLOCK * layer.output_len().max(1)))
            .collect();
        let parts = work.partial[..samples.div_ceil(BLOCK)].iter_mut().zip(&mut work.scratch);
        for (b, (partial, scratch)) in parts.enumerate() {
            let first = b * BLOCK;
            let count = BLOCK.min(samples - first);
            let gradients = gradients.iter_mut().map(|gradients| gradients.next().unwrap_or_default()).collect();
            let dx = dx.as_mut().and_then(Iterator::next);
            blocks.push(BackwardBlock { first, count, gradients, partial, scratch, dx });
        }
        let (kept, which, dense, dropped) = (&work.kept, &work.which, &work.dense, work.dropped);
        team::each(threads, blocks, |block| self.backward_block(p, x, kept, which, dense, dy, dropped, block, wanted));
        self.gather(x, work, gradient, threads);
    }

    fn backward_block<R: Scalar>(
        &self,
        p: &[R],
        x: &[R],
        kept: &[Aligned<R>],
        which: &[Vec<u8>],
        weights: &[Option<[Copied<R>; 2]>],
        dy: &[R],
        dropped: bool,
        mut block: BackwardBlock<'_, R>,
        wanted: impl Fn(usize) -> bool,
    ) {
        let (first, count) = (block.first, block.count);
        let own = |all: &[R], len: usize| -> std::ops::Range<usize> {
            debug_assert!(all.len() >= (first + count) * len);
            first * len..(first + count) * len
        };
        block.partial.fill(R::ZERO);
        let outputs = self.output_len();
        let Scratch { gradient, below, dense, patches, live, strips, .. } = &mut *block.scratch;
        gradient.resize(count * outputs);
        gradient.copy_from_slice(&dy[own(dy, outputs)]);
        // What was not dropped was scaled up.
        let scale = |drop: f64| if dropped { R::of(1.0 / (1.0 - drop)) } else { R::ONE };
        let mut end = block.partial.len();
        for (k, layer) in self.layers.iter().enumerate().rev() {
            let x_len = layer.input_len();
            let x = if k == 0 { &x[own(x, x_len)] } else { &kept[k - 1][own(&kept[k - 1], x_len)] };
            let p = &p[self.starts[k]..self.starts[k + 1]];
            below.resize(count * x_len);
            match *layer {
                Layer::SoftArgmax { classes } => {
                    let kept = &kept[k][own(&kept[k], 1 + classes)];
                    for ((kept, dz), dx) in
                        kept.chunks_exact(1 + classes).zip(gradient.iter()).zip(below.chunks_exact_mut(classes))
                    {
                        soft_argmax::backward(&kept[1..], kept[0], *dz, dx);
                    }
                }
                Layer::Dense { inputs, outputs, activation, drop } => {
                    let y = &kept[k][own(&kept[k], outputs)];
                    let scale = scale(drop);
                    let own_gradients = &mut block.gradients[k][..count * outputs];
                    for ((d, &y), &dy) in own_gradients.iter_mut().zip(y).zip(gradient.iter()) {
                        *d = dy * activation.gradient(y) * scale;
                    }
                    if let Some([_, weights]) = weights[k].as_ref().filter(|_| wanted(k)) {
                        let (from, to) = (Shape::new(count, outputs), Shape::new(count, inputs));
                        product_with(strips, below, to, own_gradients, from, weights);
                    }
                }
                Layer::AveragePool { width, channels, .. } => {
                    for (dx, dy) in below.chunks_exact_mut(x_len).zip(gradient.chunks_exact(layer.output_len())) {
                        average_pool::backward(self.set, width, channels, dy, dx);
                    }
                }
                Layer::Conv { geometry: g, pool, drop } => {
                    let start = end - layer.param_len();
                    let dp = &mut block.partial[start..end];
                    end = start;
                    let len = layer.output_len();
                    let y = &kept[k][own(&kept[k], len)];
                    let scale = scale(drop);
                    let Some(live) = &mut live[k] else { continue };
                    for s in 0..count {
                        let (x, dy) = (&x[s * x_len..(s + 1) * x_len], &gradient[s * len..(s + 1) * len]);
                        let dx = wanted(k).then(|| &mut below[s * x_len..(s + 1) * x_len]);
                        let which = || &which[k][(first + s) * len..(first + s + 1) * len];
                        let y = || &y[s * len..(s + 1) * len];
                        // Pooled or not, wide or not: each has a fastest way.
                        let short = pool && g.inputs < conv::NARROW && conv::is_short(&g);
                        let narrow = g.inputs < conv::NARROW && !short;
                        if narrow {
                            dense.resize(g.output_len());
                            if pool {
                                dense.fill(R::ZERO);
                                pool::unpool(g.columns(), g.outputs, dy, which(), scale, dense);
                            } else {
                                conv::through_relu(self.set, dy, y(), dense);
                            }
                            conv::backward_narrow(&g, self.set, x, dense, dp);
                            if let Some(dx) = dx {
                                conv::backward_input_narrow(&g, self.set, p, dense, patches, strips, dx);
                            }
                            continue;
                        }
                        if pool {
                            live.of_pooled(&g, self.set, dy, which(), scale);
                        } else {
                            live.of_relu(&g, self.set, dy, y());
                        }
                        if short {
                            dense.resize(x_len + LANES);
                            dense[..x_len].copy_from_slice(x);
                            dense[x_len..].fill(R::ZERO);
                            conv::backward_short(&g, self.set, dense, live, dp);
                        } else {
                            conv::backward(&g, self.set, x, live, dp);
                        }
                        conv::backward_input(&g, self.set, p, live, dx);
                    }
                }
            }
            if !wanted(k) {
                break;
            }
            std::mem::swap(gradient, below);
        }
        if let Some(dx) = &mut block.dx {
            dx.copy_from_slice(gradient);
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
                    // The inputs are copied once a piece, so there are not many.
                    let rows = outputs.div_ceil(2 * threads.max(1));
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
                let gradients = Shape { rows: samples, columns: count, row_stride: outputs, column_stride: 1 };
                let (to_at, x_at) = (Shape::new(count, inputs), Shape::new(samples, inputs));
                let (set, dy) = (self.set, &work.gradients[layer][first..]);
                product(set, &mut Strips::new(), to, to_at, dy, gradients.transposed(), x, x_at);
            }
            Piece::Bias { layer, to } => {
                to.fill(R::ZERO);
                for row in work.gradients[layer][..samples * to.len()].chunks_exact(to.len()) {
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

struct BackwardBlock<'a, R> {
    first: usize,
    count: usize,
    gradients: Vec<&'a mut [R]>,
    /// Gradients of the convolutions, one after the other.
    partial: &'a mut Aligned<R>,
    scratch: &'a mut Scratch<R>,
    /// The gradient of the inputs, where it is wanted.
    dx: Option<&'a mut [R]>,
}

//! Computes the outputs of a batch, block by block.

use super::workspace::{Scratch, Workspace};
use super::{BLOCK, Layer, Mode, Net};
use crate::layer::conv::Weights;
use crate::layer::matrix::{Copied, Shape, product_with};
use crate::layer::{average_pool, dropout, soft_argmax};
use crate::team;
use crate::vector::Scalar;
use nalm::rng::{Fast, Purpose};

impl Net {
    /// Computes the outputs of a batch; they stay in the workspace.
    ///
    /// # Panics
    ///
    /// If `x` holds more images than the workspace is for, or part of one.
    pub fn forward<R: Scalar>(&self, p: &[R], x: &[R], work: &mut Workspace<R>, mode: Mode<'_>, threads: usize) {
        let samples = x.len() / self.input_len();
        assert_eq!(x.len(), samples * self.input_len(), "whole images");
        assert!(samples.div_ceil(BLOCK) <= work.scratch.len(), "{samples} images are more than the workspace is for");
        work.samples = samples;
        work.dropped = matches!(mode, Mode::Train { .. });
        let mut prepared: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
        for (k, (packed, dense)) in work.packed.iter_mut().zip(&mut work.dense).enumerate() {
            let p = &p[self.starts[k]..self.starts[k + 1]];
            if let (Some(packed), Layer::Conv { geometry, .. }) = (packed, &self.layers[k]) {
                prepared.push(Box::new(|| packed.pack(geometry, p)));
            }
            if let Some([dense, _]) = dense {
                prepared.extend(dense.copying(p).map(|piece| Box::new(|| piece.copy()) as _));
            }
        }
        team::each(threads, prepared, |work| work());
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
        let (packed, dense) = (&work.packed, &work.dense);
        team::each(threads, blocks, |block| self.forward_block(p, packed, dense, block, mode));
    }

    fn forward_block<R: Scalar>(
        &self,
        p: &[R],
        packed: &[Option<Weights<R>>],
        dense: &[Option<[Copied<R>; 2]>],
        mut block: ForwardBlock<'_, R>,
        mode: Mode<'_>,
    ) {
        let samples = block.x.len() / self.input_len();
        let drops = self.layers.iter().any(Layer::drops);
        let mut dice: Vec<Option<Fast>> = (0..samples)
            .map(|s| match mode {
                Mode::Train { key } if drops => Some(Fast::open(&format!("{key}|{}", block.first + s), Purpose::Noise)),
                _ => None,
            })
            .collect();
        let Scratch { room, words, strips, .. } = &mut *block.scratch;
        for (k, layer) in self.layers.iter().enumerate() {
            let (before, after) = block.kept.split_at_mut(k);
            let (x, y) = (before.last().map_or(block.x, |kept| &**kept), &mut *after[0]);
            let p = &p[self.starts[k]..self.starts[k + 1]];
            match *layer {
                Layer::Conv { geometry: g, pool, drop } => {
                    let Some(packed) = &packed[k] else { continue };
                    let mut which = block.which[k].chunks_mut(layer.output_len());
                    for ((x, y), dice) in
                        x.chunks_exact(g.input_len()).zip(y.chunks_exact_mut(layer.output_len())).zip(&mut dice)
                    {
                        if !pool {
                            packed.forward(&g, x, y, None, room);
                            continue;
                        }
                        let Some(which) = which.next() else { continue };
                        packed.forward(&g, x, y, Some(&mut *which), room);
                        if let Some(dice) = dice {
                            dropout::cells(drop, self.set, dice, words, y, which);
                        }
                    }
                }
                Layer::Dense { inputs, outputs, activation, drop } => {
                    let Some([weights, _]) = &dense[k] else { continue };
                    let bias = &p[outputs * inputs..];
                    let (y_at, x_at) = (Shape::new(samples, outputs), Shape::new(samples, inputs));
                    product_with(strips, y, y_at, x, x_at, weights);
                    for (y, dice) in y.chunks_exact_mut(outputs).zip(&mut dice) {
                        for (y, &b) in y.iter_mut().zip(bias) {
                            *y = activation.apply(*y + b);
                        }
                        if let Some(dice) = dice {
                            dropout::numbers(drop, self.set, dice, words, y);
                        }
                    }
                }
                Layer::AveragePool { width, channels, .. } => {
                    for (x, y) in x.chunks_exact(layer.input_len()).zip(y.chunks_exact_mut(layer.output_len())) {
                        average_pool::forward(self.set, width, channels, x, y);
                    }
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
}

struct ForwardBlock<'a, R> {
    /// Its first sample.
    first: usize,
    x: &'a [R],
    kept: Vec<&'a mut [R]>,
    which: Vec<&'a mut [u8]>,
    scratch: &'a mut Scratch<R>,
}

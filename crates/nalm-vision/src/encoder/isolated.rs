//! Two digits side by side, one classifier for both.

use super::{Encoder, Picture, Samples};
use crate::export;
use crate::net::{Mode, Net, Workspace};
use crate::networks;
use crate::pairs::images;
use nalm::tensor::Tensor;
use nalm::{Error, InstructionSet, Rng};

#[derive(Debug)]
pub(crate) struct Isolated {
    net: Net,
    work: Workspace<f32>,
    halved: bool,
    x: Vec<f32>,
}

impl Isolated {
    /// For up to `pairs` samples at a time; halved images are 14 x 14.
    pub(crate) fn new(halved: bool, pairs: usize) -> Result<Self, Error> {
        let net = networks::digit_classifier(if halved { 14 } else { 28 }, 1, InstructionSet::best())?;
        Ok(Self { work: net.workspace(2 * pairs), net, halved, x: Vec::new() })
    }
}

impl Encoder for Isolated {
    fn param_len(&self) -> usize {
        self.net.param_len()
    }

    fn init(&self, p: &mut [f32], rng: &mut Rng) {
        self.net.init(p, rng);
    }

    fn forward(&mut self, p: &[f32], samples: &Samples<'_>, z: &mut Vec<f32>) {
        images(samples.from, samples.pairs, self.halved, &mut self.x);
        let mode = if samples.training { Mode::Train { key: samples.key } } else { Mode::Eval };
        self.net.forward(p, &self.x, &mut self.work, mode, samples.threads);
        self.work.outputs(&self.net, z);
    }

    fn backward(&mut self, p: &[f32], dz: &[f32], gradient: &mut [f32], threads: usize) {
        self.net.backward(p, &self.x, &mut self.work, dz, gradient, None, threads);
    }

    fn tensors(&self, p: &[f32]) -> Vec<Tensor> {
        export::tensors("classifier", &self.net, p)
    }

    fn trace(&self) -> Vec<Tensor> {
        let side = if self.halved { 14 } else { 28 };
        let shape = vec![self.x.len() / (side * side), side, side, 1];
        let dropped = |layer, name| self.work.activations(&self.net, layer, name);
        let x = Tensor { name: "x".into(), shape, data: self.x.clone() };
        vec![x, dropped(1, "kept1"), dropped(2, "kept2")]
    }

    fn pictures(&self, samples: usize) -> Vec<Vec<Picture>> {
        let width = if self.halved { 14 } else { 28 };
        let (left, right) = self.x.split_at(self.x.len() / 2);
        let picture = |pixels: &[f32]| Picture { title: "", width, channels: 1, pixels: pixels.to_vec() };
        let sides = left.chunks_exact(width * width).zip(right.chunks_exact(width * width));
        sides.take(samples).map(|(left, right)| vec![picture(left), picture(right)]).collect()
    }
}

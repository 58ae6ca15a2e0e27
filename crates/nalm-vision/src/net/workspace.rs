//! The memory of passes over batches, allocated once.

use super::{BLOCK, Layer, Net};
use crate::aligned::Aligned;
use crate::layer::conv::{Live, Room, Weights};
use crate::layer::matrix::{Copied, Shape, Strips};
use crate::layer::pool;
use crate::vector::Scalar;
use nalm::tensor::Tensor;

impl Net {
    /// The memory for batches of up to `samples`.
    pub fn workspace<R: Scalar>(&self, samples: usize) -> Workspace<R> {
        let room = |len: usize| Aligned::zeros(samples * len);
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
            gradients: self
                .layers
                .iter()
                .map(
                    |layer| {
                        if matches!(layer, Layer::Dense { .. }) { room(layer.output_len()) } else { Aligned::zeros(0) }
                    },
                )
                .collect(),
            partial: vec![Aligned::zeros(conv_len); samples.div_ceil(BLOCK)],
            scratch: (0..samples.div_ceil(BLOCK)).map(|_| Scratch::new(self)).collect(),
            packed: self
                .layers
                .iter()
                .map(|layer| match layer {
                    Layer::Conv { geometry, pool, .. } => Some(Weights::new(geometry, *pool, self.set)),
                    _ => None,
                })
                .collect(),
            dense: self
                .layers
                .iter()
                .map(|layer| match *layer {
                    Layer::Dense { inputs, outputs, .. } => {
                        let at = Shape::new(outputs, inputs);
                        Some([at.transposed(), at].map(|at| Copied::new(at, self.set)))
                    }
                    _ => None,
                })
                .collect(),
            samples: 0,
            dropped: false,
        }
    }

    /// Gradients of convolutions are summed per block first.
    fn partial_len(&self, layer: &Layer) -> usize {
        if matches!(layer, Layer::Conv { .. }) { layer.param_len() } else { 0 }
    }
}

/// Memory that a block needs for a moment, kept because asking the system for it anew costs more than using it.
#[derive(Clone, Debug)]
pub(super) struct Scratch<R> {
    pub(super) room: Room<R>,
    pub(super) words: Vec<u32>,
    pub(super) gradient: Aligned<R>,
    pub(super) below: Aligned<R>,
    pub(super) dense: Aligned<R>,
    pub(super) patches: Vec<R>,
    pub(super) live: Vec<Option<Live<R>>>,
    pub(super) strips: Strips<R>,
}

impl<R: Scalar> Scratch<R> {
    fn new(net: &Net) -> Self {
        let live = |layer: &Layer| match layer {
            Layer::Conv { geometry, .. } => Some(Live::new(geometry)),
            _ => None,
        };
        let live = net.layers.iter().map(live).collect();
        Self {
            room: Room::new(),
            words: Vec::new(),
            gradient: Aligned::zeros(0),
            below: Aligned::zeros(0),
            dense: Aligned::zeros(0),
            patches: Vec::new(),
            live,
            strips: Strips::new(),
        }
    }
}

/// What passes over batches leave behind and find again.
#[derive(Clone, Debug)]
pub struct Workspace<R> {
    pub(super) kept: Vec<Aligned<R>>,
    pub(super) which: Vec<Vec<u8>>,
    pub(super) gradients: Vec<Aligned<R>>,
    pub(super) partial: Vec<Aligned<R>>,
    pub(super) packed: Vec<Option<Weights<R>>>,
    /// Weights of dense layers for the forward and for the backward pass.
    pub(super) dense: Vec<Option<[Copied<R>; 2]>>,
    pub(super) scratch: Vec<Scratch<R>>,
    pub(super) samples: usize,
    /// Whether the last forward pass dropped numbers and scaled the others up.
    pub(super) dropped: bool,
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

    /// What layer `index` put out in the last forward pass, as a tensor whose first size is the number of samples.
    pub(crate) fn activations(&self, net: &Net, index: usize, name: &str) -> Tensor<R> {
        let layer = &net.layers[index];
        let mut shape = vec![self.samples];
        shape.extend(super::image(layer).map_or(vec![layer.output_len()], Vec::from));
        Tensor { name: name.into(), shape, data: self.kept[index][..self.samples * layer.kept_len()].to_vec() }
    }
}

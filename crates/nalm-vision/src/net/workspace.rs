//! The memory of passes over batches, allocated once.

use super::{BLOCK, Layer, Net};
use crate::layer::conv::{Live, Packed};
use crate::layer::matrix::Strips;
use crate::layer::pool;
use crate::vector::Scalar;
use nalm::Lane;
use nalm::tensor::Tensor;

impl Net {
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
            gradients: self
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
}

/// Memory that a block needs for a moment, kept because asking the system for it anew costs more than using it.
#[derive(Clone, Debug)]
pub(super) struct Scratch<R> {
    pub(super) rows: Vec<Lane<R>>,
    pub(super) words: Vec<u32>,
    pub(super) gradient: Vec<R>,
    pub(super) below: Vec<R>,
    pub(super) dense: Vec<R>,
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
            rows: Vec::new(),
            words: Vec::new(),
            gradient: Vec::new(),
            below: Vec::new(),
            dense: Vec::new(),
            patches: Vec::new(),
            live,
            strips: Strips::new(),
        }
    }
}

/// What passes over batches leave behind and find again.
#[derive(Clone, Debug)]
pub struct Workspace<R> {
    pub(super) kept: Vec<Vec<R>>,
    pub(super) which: Vec<Vec<u8>>,
    pub(super) gradients: Vec<Vec<R>>,
    pub(super) partial: Vec<Vec<R>>,
    pub(super) packed: Vec<Option<Packed<R>>>,
    pub(super) scratch: Vec<Scratch<R>>,
    pub(super) samples: usize,
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

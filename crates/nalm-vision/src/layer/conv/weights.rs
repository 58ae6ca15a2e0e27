//! The weights of a layer as its forward pass reads them, and which way that pass goes.

use super::forward::{self, Packed};
use super::winograd::{self, Transformed};
use super::{Geometry, NARROW};
use crate::vector::Scalar;
use nalm::{InstructionSet, Lane};

/// Weights of one layer.
#[derive(Clone, Debug)]
pub(crate) enum Weights<R> {
    Direct(Packed<R>),
    Transformed(Transformed<R>),
}

/// Memory of forward passes, kept because asking the system for it anew costs more than using it.
#[derive(Clone, Debug)]
pub(crate) struct Room<R> {
    /// Output rows before ReLU and pooling, `[row][column][lane]`.
    pub(super) rows: Vec<Lane<R>>,
    pub(super) cells: winograd::Cells<R>,
}

impl<R: Scalar> Room<R> {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new(), cells: winograd::Cells::new() }
    }
}

impl<R: Scalar> Weights<R> {
    /// Room for the weights of a layer. The way follows from its shape alone, because it shows in the last bits of results.
    pub(crate) fn new(g: &Geometry, pool: bool, set: InstructionSet) -> Self {
        if pool && winograd::is_known(g.kernel) && g.inputs >= NARROW {
            Self::Transformed(Transformed::new(g, set))
        } else {
            Self::Direct(Packed::new(g, set))
        }
    }

    /// Takes parameters `[output][kernel row][kernel column][input]`, then biases.
    pub(crate) fn pack(&mut self, g: &Geometry, p: &[R]) {
        match self {
            Self::Direct(packed) => packed.pack(g, p),
            Self::Transformed(transformed) => transformed.pack(g, p),
        }
    }

    /// Computes one image behind ReLU, and behind 2x2 max-pooling where `which` is given.
    pub(crate) fn forward(&self, g: &Geometry, x: &[R], y: &mut [R], which: Option<&mut [u8]>, room: &mut Room<R>) {
        match (self, which) {
            (Self::Direct(packed), None) => forward::forward(g, packed, x, y, room),
            (Self::Direct(packed), Some(which)) => forward::forward_and_pool(g, packed, x, y, which, room),
            (Self::Transformed(weights), Some(which)) => winograd::forward_and_pool(g, weights, x, y, which, room),
            (Self::Transformed(_), None) => unreachable!("only pooled layers are transformed"),
        }
    }
}

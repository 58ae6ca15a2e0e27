//! Convolution without padding, stride 1. It is computed directly, without copies of patches, or with fewer multiplications where it is pooled and 3x3 or 5x5.
//!
//! Tensors are `[row][column][channel]`. For one output pixel the inputs are, per kernel row, one run of `kernel * inputs` neighbouring
//! numbers; a register tile computes several neighbouring pixels for one or two lanes of output channels.

mod backward;
mod forward;
mod live;
mod weights;
mod winograd;

pub(crate) use backward::{
    backward, backward_input, backward_input_narrow, backward_narrow, backward_short, is_short, through_relu,
};
pub(crate) use live::Live;
pub(crate) use weights::{Room, Weights};

use crate::vector::LANES;

/// Fewer input channels than this make runs too short to be added up one by one, and for transforms of inputs.
pub(crate) const NARROW: usize = 8;

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

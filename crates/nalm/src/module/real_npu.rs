//! RealNPU (Heim, Pevný and Šmídl, NeurIPS 2020): the NPU without imaginary weights.
//!
//! y_o = exp(sum_i w_r ln r) cos(sum_i w_r k), with r and k as in the NPU

use super::{Npu, Options, Shape, Spec, npu};
use crate::{Error, Real};

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "real-npu",
        label: "RealNPU",
        formula: "y_o = exp(sum_i w_r ln r) cos(sum_i w_r k),  r = g (|x| + 2^-23) + 1 - g,  k = pi g [x < 0]",
        parameters: "w_r [outputs, inputs], g [inputs]",
        build: |shape, _: &Options| Ok(Box::new(Npu::with(shape, false))),
        ..npu::spec()
    }
}

impl Npu {
    /// A RealNPU with this many inputs and outputs.
    pub fn real(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self::with(Shape::new(inputs, outputs)?, false))
    }
}

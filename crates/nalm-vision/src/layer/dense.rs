//! What follows the sums of a dense layer. The sums are products of matrices (`matrix.rs`).

use crate::vector::Scalar;

/// What follows the sums of a dense layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Linear,
    /// max(0, y)
    Relu,
    /// tanh y
    Tanh,
}

impl Activation {
    #[inline(always)]
    pub(crate) fn apply<R: Scalar>(self, y: R) -> R {
        match self {
            Activation::Linear => y,
            Activation::Relu => y.at_least(R::ZERO),
            Activation::Tanh => y.tanh(),
        }
    }

    /// The derivative, from the activation's own value.
    #[inline(always)]
    pub(crate) fn gradient<R: Scalar>(self, y: R) -> R {
        match self {
            Activation::Linear => R::ONE,
            Activation::Relu if y > R::ZERO => R::ONE,
            Activation::Relu => R::ZERO,
            Activation::Tanh => R::ONE - y * y,
        }
    }
}

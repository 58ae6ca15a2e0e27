//! Layers with hand-written gradients, one per file.

pub(crate) mod average_pool;
pub mod conv;
pub mod dense;
pub(crate) mod dropout;
pub(crate) mod matrix;
pub(crate) mod pool;
pub(crate) mod soft_argmax;
pub mod spline;
pub(crate) mod warp;

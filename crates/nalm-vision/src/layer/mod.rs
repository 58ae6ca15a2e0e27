//! Layers with hand-written gradients, one per file.

pub mod conv;
pub mod dense;
pub(crate) mod pool;
pub(crate) mod soft_argmax;

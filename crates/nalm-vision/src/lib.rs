//! Images in front of arithmetic: convolutional networks whose last layer multiplies.
//!
//! [`net::Net`] is a stack of image layers over one flat parameter vector, with hand-written gradients on kernels of its own
//! ([`layer`], [`vector`]): direct convolution on images `[row][column][channel]`, gradients only where max-pooling, ReLU and dropout let
//! any through, dense products by `gemm`. The same bits for any number of threads.

pub mod error;
pub mod isolated;
pub mod layer;
pub mod mnist;
pub mod net;
pub mod networks;
pub mod pairs;
mod team;
pub mod vector;

pub use error::Error;
pub use layer::conv::Geometry;
pub use layer::dense::Activation;
pub use mnist::Mnist;
pub use net::{Layer, Mode, Net, Workspace};
pub use vector::Set;

//! Images in front of arithmetic: convolutional networks whose last layer multiplies.
//!
//! [`net::Net`] is a stack of image layers over one flat parameter vector, with hand-written gradients on kernels of its own
//! ([`layer`], [`vector`]): convolution on images `[row][column][channel]`, gradients only where max-pooling, ReLU and dropout let
//! any through, dense products in blocks of registers. The same bits for any number of threads and every instruction set.
//!
//! The tasks are [`product`] (two digits side by side, or in two colour channels) and [`sequential`]; both are a [`Training`], which goes
//! epoch by epoch and can be stopped and taken up between any two.

mod adam;
mod aligned;
pub mod checkpoint;
mod choice;
pub mod colour;
mod digit_sequence;
mod encoder;
pub mod error;
pub mod export;
pub mod history;
pub mod layer;
mod learner;
pub mod mnist;
pub mod net;
pub mod networks;
pub mod pairs;
pub mod product;
mod recurrence;
pub mod score;
pub mod sequential;
mod shuffle;
mod team;
pub mod training;
pub mod vector;

pub use adam::Adam;
pub use encoder::{Picture, Start};
pub use error::Error;
pub use history::History;
pub use layer::conv::Geometry;
pub use layer::dense::Activation;
pub use mnist::Mnist;
pub use nalm::tensor::Tensor;
pub use net::{Layer, Mode, Net, Workspace};
pub use recurrence::Inputs;
pub use training::{Advance, Checkpoint, NUMERICS, SEQUENTIAL_NUMERICS, Training};

// The code in the README compiles and does what it says.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

//! How a pair of digits is looked at: from a sample to two numbers that a unit multiplies.

mod colour;
mod isolated;

pub(crate) use colour::Colour;
pub use colour::Start;
pub(crate) use isolated::Isolated;

use crate::export::Tensor;
use crate::mnist::Digits;
use crate::pairs::Pair;
use nalm::Rng;

/// A samples at some samples.
pub(crate) struct Samples<'a> {
    /// Names run, epoch and step: all randomness follows from it.
    pub(crate) key: &'a str,
    pub(crate) training: bool,
    pub(crate) from: &'a Digits,
    pub(crate) pairs: &'a [Pair],
    pub(crate) threads: usize,
}

/// A network over one flat parameter vector that sees two digits in a sample.
pub(crate) trait Encoder: Send + std::fmt::Debug {
    fn param_len(&self) -> usize;

    fn init(&self, p: &mut [f32], rng: &mut Rng);

    /// Writes what is seen: the first digits of all samples, then the second ones.
    fn forward(&mut self, p: &[f32], samples: &Samples<'_>, z: &mut Vec<f32>);

    /// Overwrites the gradient, given that of what was seen in the last forward pass.
    fn backward(&mut self, p: &[f32], dz: &[f32], gradient: &mut [f32], threads: usize);

    /// The parameters by name.
    fn tensors(&self, p: &[f32]) -> Vec<Tensor>;

    /// What went into the last forward pass in training: images, and numbers behind dropout, zero where they were dropped.
    fn trace(&self) -> Vec<Tensor>;

    /// Pictures of the last forward pass: of each sample what was shown, and what was looked at where that differs.
    fn pictures(&self, samples: usize) -> Vec<Vec<Picture>>;
}

/// A picture for people, `[row][column][channel]`, in the units of normalised MNIST.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it is.
    pub title: &'static str,
    /// Columns.
    pub width: usize,
    /// One or two.
    pub channels: usize,
    /// The numbers.
    pub pixels: Vec<f32>,
}

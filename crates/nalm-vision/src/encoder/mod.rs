//! Encoders: from a sample, which shows two digits, to two numbers that a unit multiplies.

mod colour;
mod isolated;

pub(crate) use colour::Colour;
pub use colour::Start;
pub(crate) use isolated::Isolated;

use crate::mnist::Digits;
use crate::pairs::Pair;
use nalm::Rng;
use nalm::tensor::Tensor;
use serde::{Serialize, Serializer};

/// What an encoder is given in a forward pass: pairs of digits, and how to make samples of them.
pub(crate) struct Samples<'a> {
    /// Names run, epoch and step: all randomness follows from it.
    pub(crate) key: &'a str,
    /// Whether the networks are trained, with dropout, or evaluated.
    pub(crate) training: bool,
    /// The images that pairs are made of.
    pub(crate) from: &'a Digits,
    /// Which images each sample is made of.
    pub(crate) pairs: &'a [Pair],
    /// Threads to use; results do not depend on them.
    pub(crate) threads: usize,
}

/// A network over one flat parameter vector that reads two digits in a sample.
pub(crate) trait Encoder: Send + std::fmt::Debug {
    fn param_len(&self) -> usize;

    fn init(&self, p: &mut [f32], rng: &mut Rng);

    /// Writes the numbers read: the first digits of all samples, then the second ones.
    fn forward(&mut self, p: &[f32], samples: &Samples<'_>, z: &mut Vec<f32>);

    /// Overwrites the gradient, given that of the numbers written in the last forward pass.
    fn backward(&mut self, p: &[f32], dz: &[f32], gradient: &mut [f32], threads: usize);

    /// The parameters by name.
    fn tensors(&self, p: &[f32]) -> Vec<Tensor>;

    /// What went into the last forward pass in training: images, and numbers behind dropout, zero where they were dropped.
    fn trace(&self) -> Vec<Tensor>;

    /// Pictures of the last forward pass: of each sample what was shown, and what was looked at where that differs.
    fn pictures(&self, samples: usize) -> Vec<Vec<Picture>>;
}

/// A picture for people, `[row][column][channel]`, in the units of normalised MNIST. It is written in sixteen shades, one hexadecimal
/// digit a number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// What it is.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub title: &'static str,
    /// Columns.
    pub width: usize,
    /// One or two.
    pub channels: usize,
    /// The numbers.
    #[serde(serialize_with = "shades")]
    pub pixels: Vec<f32>,
}

fn shades<S: Serializer>(pixels: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    // Normalised MNIST goes from -0.42 (paper) to 2.82 (ink).
    let shade = |v: &f32| (((v + 0.4242) / 3.2457).clamp(0.0, 1.0) * 15.0).round() as u32;
    let text: String = pixels.iter().map(|v| char::from_digit(shade(v), 16).unwrap_or('0')).collect();
    serializer.serialize_str(&text)
}

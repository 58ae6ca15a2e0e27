//! Random numbers, always an argument, never a global.
//!
//! [`Stream::Fast`] opens lane-parallel streams keyed by task, range, seed and purpose. [`Stream::Reference`] opens the
//! streams of the published experiments: NumPy's for data, PyTorch's for initial weights and noise.

pub mod fast;
pub mod mt19937;
mod torch;

pub use fast::Fast;
pub use mt19937::Mt19937;
pub use torch::Torch;

use crate::batch::BatchLayout;
use crate::lane::{self, Kernel, LANES, Lane};
use crate::{Error, Real};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Which family of streams an experiment draws from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Lane-parallel xoshiro128+, the default.
    #[default]
    Fast,
    /// Bit-compatible with the published experiments.
    Reference,
}

impl Stream {
    /// Refuses seeds that the stream does not have.
    pub fn check(self, seed: u64) -> Result<(), Error> {
        if self == Stream::Reference && u32::try_from(seed).is_err() {
            let (what, want) = ("seed of a reference stream", "below 2^32");
            return Err(Error::Value { what, got: seed.to_string(), want });
        }
        Ok(())
    }
}

impl Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stream::Fast => "fast",
            Stream::Reference => "reference",
        })
    }
}

impl FromStr for Stream {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "fast" => Ok(Stream::Fast),
            "reference" => Ok(Stream::Reference),
            _ => Err(Error::unknown("stream", text, &["fast", "reference"])),
        }
    }
}

/// What a stream is used for. Streams of different purposes never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// Which inputs matter.
    Subset,
    /// Training batches.
    Data,
    /// The validation set.
    Validation,
    /// The test set.
    Test,
    /// Initial weights.
    Init,
    /// Noise inside a module or on its gradient.
    Noise,
    /// Simulated thresholds.
    Threshold,
    /// Noise on inputs and targets.
    Augment,
    /// Noise on targets alone.
    Label,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Purpose::Subset => "subset",
            Purpose::Data => "data",
            Purpose::Validation => "validation",
            Purpose::Test => "test",
            Purpose::Init => "init",
            Purpose::Noise => "noise",
            Purpose::Threshold => "threshold",
            Purpose::Augment => "augment",
            Purpose::Label => "label",
        }
    }
}

/// A generator that is handed to whatever needs randomness.
///
/// There are a handful of these in a run, so their size does not matter and a pointer would only be in the way.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
pub enum Rng {
    /// See [`Fast`].
    Fast(Fast),
    /// See [`Torch`].
    Torch(Torch),
}

impl Rng {
    /// Opens the fast stream of `purpose` under a key that names task, range and seed.
    pub fn fast(key: &str, purpose: Purpose) -> Self {
        Rng::Fast(Fast::open(key, purpose))
    }

    /// Opens the fast stream of a seed, for programs that need no more than one.
    ///
    /// ```
    /// use nalm::Rng;
    ///
    /// assert_eq!(Rng::seeded(1), Rng::seeded(1));
    /// assert_ne!(Rng::seeded(1), Rng::seeded(2));
    /// ```
    pub fn seeded(seed: u64) -> Self {
        Rng::fast(&format!("seed {seed}"), Purpose::Init)
    }

    /// Opens PyTorch's CPU stream with this seed.
    pub fn torch(seed: u32) -> Self {
        Rng::Torch(Torch::new(seed))
    }

    /// All that the next draws depend on, as words that can be kept.
    pub fn state(&self) -> Vec<u32> {
        let (kind, words) = match self {
            Rng::Fast(fast) => (0, fast.words_of_state()),
            Rng::Torch(torch) => (1, torch.words_of_state()),
        };
        std::iter::once(kind).chain(words).collect()
    }

    /// The generator that goes on from a [`Rng::state`].
    pub fn restore(state: &[u32]) -> Result<Self, Error> {
        let rng = match state.split_first() {
            Some((0, words)) => Fast::of_state(words).map(Rng::Fast),
            Some((1, words)) => Torch::of_state(words).map(Rng::Torch),
            _ => None,
        };
        let got = || format!("{} words", state.len());
        rng.ok_or_else(|| Error::Value { what: "state of a generator", got: got(), want: "what Rng::state returned" })
    }

    /// The generator for initial weights. Reference streams draw the weights and the noise from one generator.
    pub fn init(stream: Stream, key: &str, seed: u64) -> Self {
        match stream {
            Stream::Fast => Rng::fast(key, Purpose::Init),
            Stream::Reference => Rng::torch(seed as u32),
        }
    }

    /// The generator for noise, given the one that drew the initial weights.
    pub fn noise_after(self, key: &str) -> Self {
        match self {
            Rng::Fast(_) => Rng::fast(key, Purpose::Noise),
            Rng::Torch(_) => self,
        }
    }

    /// One number, uniform on [low, high). Rounding may turn the largest ones into `high`: one of 2^24 numbers of `f32`, at most.
    pub fn uniform<R: Real>(&mut self, low: R, high: R) -> R {
        match self {
            Rng::Fast(fast) => {
                let first = fast.word();
                let second = if R::WORDS == 2 { fast.word() } else { first };
                R::unit(first, second) * (high - low) + low
            }
            Rng::Torch(torch) => torch.uniform(low, high),
        }
    }

    /// One standard normal number.
    pub fn normal<R: Real>(&mut self) -> R {
        match self {
            Rng::Fast(fast) => {
                let u = f64::unit(fast.word(), fast.word());
                let v = f64::unit(fast.word(), fast.word());
                R::of((-2.0 * libm::log(1.0 - u)).sqrt() * libm::cos(std::f64::consts::TAU * v))
            }
            Rng::Torch(torch) => R::of(torch.normal()),
        }
    }

    /// Uniform numbers on [low, high) for every feature of every row. Reference streams draw row by row.
    #[inline(always)]
    pub fn fill_uniform<R: Real>(&mut self, low: R, high: R, out: &mut [Lane<R>], at: BatchLayout) {
        match self {
            Rng::Fast(fast) => {
                // A little narrower than the interval, so that rounding does not turn a number below 1 into 1.
                let half = R::of(0.5);
                let scale = (high - low) * half * (R::ONE - R::STEP - R::STEP) / R::CENTRED;
                fast.fill_centred(out, (low + high) * half, scale);
            }
            Rng::Torch(torch) => torch.fill_uniform(low, high, out, at),
        }
    }

    /// Standard normal numbers, for one value per parameter. Not part of any published stream.
    pub fn fill_normal<R: Real>(&mut self, out: &mut [R], instructions: lane::InstructionSet) {
        match self {
            Rng::Fast(fast) => lane::run(instructions, Normals { fast, out }),
            Rng::Torch(torch) => out.iter_mut().for_each(|z| *z = R::of(torch.normal())),
        }
    }
}

struct Normals<'a, R> {
    fast: &'a mut Fast,
    out: &'a mut [R],
}

impl<R: Real> Kernel for Normals<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;

    /// Box and Muller, thirty-two at a time.
    #[inline(always)]
    fn run(self) {
        for chunk in self.out.chunks_mut(2 * LANES) {
            let mut u = [Lane::ZERO; 2];
            self.fast.fill(&mut u, |count| count * R::STEP);
            let mut z = [Lane::ZERO; 2];
            for k in 0..LANES {
                let radius = (R::of(-2.0) * (R::ONE - u[0][k]).ln()).sqrt();
                let (sine, cosine) = (R::of(std::f64::consts::TAU) * u[1][k]).sin_cos();
                z[0][k] = radius * cosine;
                z[1][k] = radius * sine;
            }
            for (out, z) in chunk.iter_mut().zip(z.iter().flat_map(|lane| lane.0)) {
                *out = z;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_the_moments_of_normals() {
        for mut rng in [Rng::fast("normals", Purpose::Noise), Rng::torch(5)] {
            let mut z = vec![0f64; 200_000];
            rng.fill_normal(&mut z, lane::InstructionSet::best());
            let n = z.len() as f64;
            let moment = |k: i32| z.iter().map(|v| v.powi(k)).sum::<f64>() / n;
            assert!(moment(1).abs() < 5.0 / n.sqrt());
            assert!((moment(2) - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
            assert!((moment(4) - 3.0).abs() < 5.0 * (96.0 / n).sqrt());
        }
    }

    #[test]
    fn units_never_reach_one() {
        let scale = 0.5 * (1.0 - 2.0 * f32::STEP) / f32::CENTRED;
        assert!(f32::CENTRED * scale + 0.5 < 1.0 && -f32::CENTRED * scale + 0.5 >= 0.0);
        let scale = 0.5 * (1.0 - 2.0 * f64::STEP) / f64::CENTRED;
        assert!(f64::CENTRED * scale + 0.5 < 1.0 && -f64::CENTRED * scale + 0.5 >= 0.0);
    }

    #[test]
    fn purposes_and_keys_open_different_streams() {
        let first = |key: &str, purpose| Rng::fast(key, purpose).uniform(0f64, 1.0).to_bits();
        let a = first("x", Purpose::Data);
        assert_ne!(a, first("x", Purpose::Noise));
        assert_ne!(a, first("y", Purpose::Data));
        assert_eq!(a, first("x", Purpose::Data));
    }

    #[test]
    fn a_generator_goes_on_from_its_state() {
        for mut rng in [Rng::fast("state", Purpose::Noise), Rng::torch(7)] {
            for _ in 0..1_001 {
                rng.normal::<f64>();
                rng.uniform(0.0f32, 1.0);
                let mut again = Rng::restore(&rng.state()).unwrap();
                assert_eq!(again, rng);
                assert_eq!(again.normal::<f32>().to_bits(), rng.normal::<f32>().to_bits());
            }
            let words = rng.state();
            for wrong in [&words[1..], &words[..words.len() - 1], &[][..], &[2]] {
                assert!(Rng::restore(wrong).unwrap_err().to_string().starts_with("state of a generator is "));
            }
        }
    }
}

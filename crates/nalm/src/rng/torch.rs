//! PyTorch's CPU generator as of version 1.5: how it turns Mersenne-twister words into floats.

use super::Mt19937;
use crate::batch::BatchLayout;
use crate::lane::{self, LANES};
use crate::{Lane, Real};

/// The stream behind published initial weights and noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Torch {
    words: Mt19937,
    /// The sine half of the last Box-Muller pair.
    spare: Option<f64>,
}

impl Torch {
    /// The generator after `manual_seed(seed)`.
    pub fn new(seed: u32) -> Self {
        Self { words: Mt19937::new(seed), spare: None }
    }

    /// All that the next draws depend on.
    pub(super) fn words_of_state(&self) -> Vec<u32> {
        let bits = self.spare.unwrap_or_default().to_bits();
        let spare = [u32::from(self.spare.is_some()), (bits >> 32) as u32, bits as u32];
        spare.into_iter().chain(self.words.words_of_state()).collect()
    }

    /// The generator that was in this state, if there can be one.
    pub(super) fn of_state(words: &[u32]) -> Option<Self> {
        let (&[is_some, high, low], rest) = words.split_first_chunk()?;
        let spare = f64::from_bits(u64::from(high) << 32 | u64::from(low));
        let words = Mt19937::of_state(rest)?;
        (is_some <= 1).then(|| Self { words, spare: (is_some == 1).then_some(spare) })
    }

    /// 24 random bits scaled to [low, high) in the arithmetic of `R`.
    #[inline]
    pub fn uniform<R: Real>(&mut self, low: R, high: R) -> R {
        scale(self.words.word(), low, high)
    }

    /// A standard normal number, as tensors of fewer than 16 elements are filled.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let angle = std::f64::consts::TAU * self.double();
        let radius = (-2.0 * libm::log(1.0 - self.double())).sqrt();
        let (sine, cosine) = libm::sincos(angle);
        self.spare = Some(radius * sine);
        radius * cosine
    }

    fn double(&mut self) -> f64 {
        let high = u64::from(self.words.word());
        let low = u64::from(self.words.word());
        (((high << 32) | low) & ((1 << 53) - 1)) as f64 / 9_007_199_254_740_992.0
    }

    /// Fills a `[rows, features]` tensor row by row.
    #[inline(never)]
    pub(crate) fn fill_uniform<R: Real>(&mut self, low: R, high: R, out: &mut [Lane<R>], at: BatchLayout) {
        let (lanes, flat) = (at.lanes(), lane::flat_mut(out));
        let features = flat.len() / (lanes * LANES);
        let (mut row, mut start) = (0, 0);
        self.words.words(at.rows * features, |_, word| {
            flat[start + row] = scale(word, low, high);
            start += lanes * LANES;
            if start == flat.len() {
                (row, start) = (row + 1, 0);
            }
        });
        at.pad(out);
    }
}

/// 24 bits of a word, in the arithmetic of `R`.
#[inline(always)]
fn scale<R: Real>(word: u32, low: R, high: R) -> R {
    let unit = R::of(f64::from(word & 0x00ff_ffff) / 16_777_216.0);
    unit * (high - low) + low
}

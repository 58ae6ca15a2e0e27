//! Digits in a row: the data of the sequential product.

use crate::mnist::{Digits, PIXELS, normalise};
use crate::shuffle::shuffled;
use std::ops::Range;

/// Digits of a part of MNIST in a fixed random order, without zeros.
#[derive(Clone, Debug)]
pub(crate) struct DigitSequence {
    pub(crate) places: Vec<u32>,
}

impl DigitSequence {
    pub(crate) fn new(digits: &Digits, among: Range<usize>, key: &str) -> Self {
        let kept: Vec<u32> = among.filter(|&k| digits.labels()[k] != 0).map(|k| k as u32).collect();
        let places = shuffled(kept.len(), key).into_iter().map(|k| kept[k as usize]).collect();
        Self { places }
    }

    /// Sequences of a length; images that are left over are not used.
    pub(crate) fn sequences(&self, length: usize) -> usize {
        self.places.len() / length
    }
}

/// Products of the first one, two, … digits of sequences; `places` are those of the first step, then of the second, and so on.
pub(crate) fn products(digits: &Digits, places: &[u32], sequences: usize) -> Vec<f32> {
    let mut all: Vec<f32> = places.iter().map(|&place| f32::from(digits.labels()[place as usize])).collect();
    for k in sequences..all.len() {
        all[k] *= all[k - sequences];
    }
    all
}

/// The images at some places, normalised, one after the other.
pub(crate) fn fill(digits: &Digits, places: &[u32], x: &mut Vec<f32>) {
    x.clear();
    x.reserve(places.len() * PIXELS);
    places.iter().for_each(|&place| x.extend(digits.image(place as usize).iter().map(|&byte| normalise(byte))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mnist::Mnist;

    #[test]
    fn images_and_sequences_are_as_many_as_published() {
        let Some(mnist) = Mnist::of_project() else { return };
        let train = DigitSequence::new(&mnist.train, 0..55_000, "a");
        let valid = DigitSequence::new(&mnist.train, 55_000..60_000, "b");
        let test = DigitSequence::new(&mnist.test, 0..10_000, "c");
        assert_eq!([&train, &valid, &test].map(|sequence| sequence.places.len()), [49_566, 4_511, 9_020]);
        assert_eq!((train.sequences(2), valid.sequences(2)), (24_783, 2_255));
        let lengths: Vec<usize> = (1..=20).map(|length| test.sequences(length)).collect();
        let want = [
            9020, 4510, 3006, 2255, 1804, 1503, 1288, 1127, 1002, 902, 820, 751, 693, 644, 601, 563, 530, 501, 474, 451,
        ];
        assert_eq!(lengths, want);
        assert_eq!(train.sequences(2).div_ceil(64), 388);
        let places: Vec<u32> = test.places[..6].to_vec();
        let digit = |k: usize| f32::from(mnist.test.labels()[places[k] as usize]);
        assert_eq!(products(&mnist.test, &places, 2)[5], digit(1) * digit(3) * digit(5));
    }
}

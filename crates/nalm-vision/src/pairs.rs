//! Pairs of digits: which of the hundred are learned and which are tested, and the samples made of them.

use crate::error::Error;
use crate::mnist::{Digits, Mnist, PIXELS, normalise};
use crate::shuffle::shuffled;
use nalm::rng::{Fast, Purpose};

/// Test pairs of the ten folds of the isolated task, as 10 a + b; the other ninety are learned.
pub const TEN_FOLDS: [[u8; 10]; 10] = [
    [2, 16, 26, 54, 55, 73, 75, 86, 93, 95],
    [7, 8, 13, 22, 24, 30, 33, 53, 78, 92],
    [3, 6, 43, 45, 48, 62, 71, 76, 82, 99],
    [18, 27, 51, 56, 60, 63, 68, 74, 80, 90],
    [1, 4, 5, 15, 17, 38, 40, 41, 42, 61],
    [0, 11, 23, 28, 34, 35, 50, 52, 59, 91],
    [10, 14, 31, 32, 57, 66, 79, 84, 85, 89],
    [19, 20, 29, 49, 69, 72, 77, 94, 97, 98],
    [12, 25, 37, 39, 46, 58, 65, 70, 81, 88],
    [9, 21, 36, 44, 47, 64, 67, 83, 87, 96],
];

/// Test pairs of the three folds of the colour task.
pub const THREE_FOLDS: [&[u8]; 3] = [
    &[
        2, 3, 6, 7, 8, 13, 16, 22, 24, 26, 30, 33, 43, 45, 48, 53, 54, 55, 60, 62, 68, 71, 73, 75, 76, 78, 80, 82, 86,
        90, 92, 93, 95, 99,
    ],
    &[
        0, 1, 4, 5, 10, 11, 15, 17, 18, 23, 27, 28, 31, 32, 34, 35, 38, 40, 41, 42, 50, 51, 52, 56, 57, 59, 61, 63, 66,
        74, 79, 85, 91,
    ],
    &[
        9, 12, 14, 19, 20, 21, 25, 29, 36, 37, 39, 44, 46, 47, 49, 58, 64, 65, 67, 69, 70, 72, 77, 81, 83, 84, 87, 88,
        89, 94, 96, 97, 98,
    ],
];

/// A sample: two images and their digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Places of the two images.
    pub images: [u32; 2],
    /// Their digits.
    pub digits: [u8; 2],
}

impl Pair {
    /// What is to be predicted.
    pub fn product(&self) -> f32 {
        f32::from(self.digits[0]) * f32::from(self.digits[1])
    }
}

/// How many of so many samples a share is, rounded up.
pub(crate) fn held_back(share: f64, samples: usize) -> usize {
    (share * samples as f64 - 1e-9).ceil() as usize
}

/// The samples of a fold. Test pairs are unseen pairs of unseen images.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Made of training images.
    pub train: Vec<Pair>,
    /// Made of test images.
    pub test: Vec<Pair>,
}

impl Fold {
    /// Draws `samples` of every pair, with replacement: those of pairs in `held_out` from the test images, the others from the training
    /// images. All models of a fold and seed get the same.
    pub fn draw(mnist: &Mnist, held_out: &[u8], samples: usize, seed: u64) -> Result<Self, Error> {
        if samples == 0 {
            return Err(Error::Value { what: "samples of a pair", got: "0".into(), want: "give at least 1" });
        }
        let mut rng = Fast::open(&format!("pairs|{samples}|{held_out:?}|{seed}"), Purpose::Data);
        let mut pick = |digits: &Digits, wanted: &dyn Fn(u8) -> bool| {
            let places = digits.by_label();
            let mut pairs = Vec::new();
            for id in (0..100u8).filter(|id| wanted(*id)) {
                let digits = [id / 10, id % 10];
                for _ in 0..samples {
                    let images = digits.map(|digit| {
                        let all = &places[usize::from(digit)];
                        all[rng.below(all.len() as u32) as usize]
                    });
                    pairs.push(Pair { images, digits });
                }
            }
            pairs
        };
        let train = pick(&mnist.train, &|id| !held_out.contains(&id));
        let test = pick(&mnist.test, &|id| held_out.contains(&id));
        Ok(Self { train, test })
    }

    /// Takes a share of the training samples out, rounded up, the same ones for all models; the rest stays in its order.
    pub(crate) fn hold_back(&mut self, share: f64) -> Vec<Pair> {
        let count = held_back(share, self.train.len());
        let places = shuffled(self.train.len(), "held back");
        let mut back = vec![false; self.train.len()];
        places[..count].iter().for_each(|&place| back[place as usize] = true);
        let mut flags = back.iter();
        let held: Vec<Pair> = self.train.iter().zip(&back).filter(|(_, back)| **back).map(|(pair, _)| *pair).collect();
        self.train.retain(|_| !flags.next().copied().unwrap_or(false));
        held
    }
}

/// Writes the left images of some pairs and then the right ones, 28 x 28, or 14 x 14 with every pixel the mean of four.
pub fn images(digits: &Digits, pairs: &[Pair], halved: bool, out: &mut Vec<f32>) {
    out.clear();
    for side in 0..2 {
        for pair in pairs {
            let image = digits.image(pair.images[side] as usize);
            if !halved {
                out.extend(image.iter().map(|&byte| normalise(byte)));
                continue;
            }
            for cell in 0..PIXELS / 4 {
                let at = (cell / 14) * 2 * 28 + (cell % 14) * 2;
                let sum = normalise(image[at]) + normalise(image[at + 1]) + normalise(image[at + 28]);
                out.push((sum + normalise(image[at + 29])) * 0.25);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_cut_the_hundred_pairs() {
        let mut all: Vec<u8> = TEN_FOLDS.concat();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..100));
        let mut all: Vec<u8> = THREE_FOLDS.concat();
        assert_eq!(THREE_FOLDS.map(<[u8]>::len), [34, 33, 33]);
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..100));
        let zeros = TEN_FOLDS.map(|fold| fold.iter().filter(|id| *id / 10 == 0 || *id % 10 == 0).count());
        assert_eq!(zeros, [1, 3, 2, 3, 4, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn samples_are_of_their_pairs_and_repeatable() {
        let Some(mnist) = Mnist::of_project() else { return };
        let fold = Fold::draw(&mnist, &TEN_FOLDS[2], 1_000, 2).unwrap();
        assert_eq!((fold.train.len(), fold.test.len()), (90_000, 10_000));
        for (pairs, digits, held_out) in [(&fold.train, &mnist.train, false), (&fold.test, &mnist.test, true)] {
            for pair in pairs.iter().step_by(97) {
                assert_eq!(pair.images.map(|image| digits.labels()[image as usize]), pair.digits);
                assert_eq!(TEN_FOLDS[2].contains(&(10 * pair.digits[0] + pair.digits[1])), held_out);
            }
        }
        let again = Fold::draw(&mnist, &TEN_FOLDS[2], 1_000, 2).unwrap();
        assert_eq!((again.train, again.test), (fold.train.clone(), fold.test));
        assert_ne!(Fold::draw(&mnist, &TEN_FOLDS[2], 1_000, 3).unwrap().train, fold.train);
        assert!(Fold::draw(&mnist, &TEN_FOLDS[2], 0, 3).is_err());
        for (fold, counts) in
            [(0, (61_710, 10_890, 37_400)), (1, (62_645, 11_055, 36_300)), (2, (62_645, 11_055, 36_300))]
        {
            let mut drawn = Fold::draw(&mnist, THREE_FOLDS[fold], 1_100, fold as u64).unwrap();
            let held = drawn.hold_back(0.15);
            assert_eq!((drawn.train.len(), held.len(), drawn.test.len()), counts, "fold {fold}");
        }
        let mut out = Vec::new();
        images(&mnist.train, &fold.train[..3], true, &mut out);
        assert_eq!(out.len(), 6 * 196);
        for (k, halved) in out.chunks(196).enumerate() {
            let image = mnist.train.image(fold.train[k % 3].images[k / 3] as usize);
            for (row, column) in (0..14).flat_map(|row| (0..14).map(move |column| (row, column))) {
                let byte = |y: usize, x: usize| f64::from(image[(2 * row + y) * 28 + 2 * column + x]);
                let mean = (byte(0, 0) + byte(0, 1) + byte(1, 0) + byte(1, 1)) / 4.0;
                let (got, want) = (f64::from(halved[row * 14 + column]), (mean / 255.0 - 0.1307) / 0.3081);
                assert!((got - want).abs() < 1e-6, "image {k}, row {row}, column {column}: {got} instead of {want}");
            }
        }
        images(&mnist.train, &fold.train[..3], false, &mut out);
        assert_eq!(
            out[PIXELS..][..PIXELS],
            mnist.train.image(fold.train[1].images[0] as usize).iter().map(|&b| normalise(b)).collect::<Vec<_>>()
        );
    }
}

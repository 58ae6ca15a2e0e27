//! Dropout: numbers are set to zero at random, and the others scaled up.

use super::pool::NONE;
use crate::vector::{Kernel, Scalar, run};
use nalm::InstructionSet;
use nalm::rng::Fast;

/// Drops pooled cells; no gradient reaches those.
pub(crate) fn cells<R: Scalar>(
    drop: f64,
    set: InstructionSet,
    dice: &mut Fast,
    words: &mut Vec<u32>,
    y: &mut [R],
    which: &mut [u8],
) {
    if drop > 0.0 {
        words.resize(y.len(), 0);
        dice.words(words);
        run(set, Drop { drop, words, y, which });
    }
}

/// Drops numbers behind ReLU, where a zero tells the backward pass everything.
pub(crate) fn numbers<R: Scalar>(drop: f64, set: InstructionSet, dice: &mut Fast, words: &mut Vec<u32>, y: &mut [R]) {
    cells(drop, set, dice, words, y, &mut []);
}

struct Drop<'a, R> {
    drop: f64,
    words: &'a [u32],
    y: &'a mut [R],
    /// One a number, or none at all.
    which: &'a mut [u8],
}

impl<R: Scalar> Kernel for Drop<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { drop, words, y, which } = self;
        let (bound, scale) = ((drop * 4_294_967_296.0) as u32, R::of(1.0 / (1.0 - drop)));
        for (y, &word) in y.iter_mut().zip(words) {
            *y = if word < bound { R::ZERO } else { *y * scale };
        }
        for (which, &word) in which.iter_mut().zip(words) {
            *which = if word < bound { NONE } else { *which };
        }
    }
}

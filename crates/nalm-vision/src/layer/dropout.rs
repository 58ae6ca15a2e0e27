//! Dropout: numbers are set to zero at random, and the others scaled up.

use super::pool::NONE;
use crate::vector::Scalar;
use nalm::rng::Fast;

/// Words below this drop their number.
fn threshold(drop: f64) -> u32 {
    (drop * 4_294_967_296.0) as u32
}

/// Drops pooled cells; no gradient reaches those.
pub(crate) fn cells<R: Scalar>(drop: f64, dice: &mut Fast, words: &mut Vec<u32>, y: &mut [R], which: &mut [u8]) {
    if drop <= 0.0 {
        return;
    }
    let (bound, scale) = (threshold(drop), R::of(1.0 / (1.0 - drop)));
    words.resize(y.len(), 0);
    dice.words(words);
    for ((y, which), &word) in y.iter_mut().zip(which).zip(&*words) {
        *which = if word < bound { NONE } else { *which };
        *y = if word < bound { R::ZERO } else { *y * scale };
    }
}

/// Drops numbers behind ReLU, where a zero tells the backward pass everything.
pub(crate) fn numbers<R: Scalar>(drop: f64, dice: &mut Fast, words: &mut Vec<u32>, y: &mut [R]) {
    if drop <= 0.0 {
        return;
    }
    let (bound, scale) = (threshold(drop), R::of(1.0 / (1.0 - drop)));
    words.resize(y.len(), 0);
    dice.words(words);
    for (y, &word) in y.iter_mut().zip(&*words) {
        *y = if word < bound { R::ZERO } else { *y * scale };
    }
}

//! How good predictions of products are, by several rules, because one alone misleads.
//!
//! Strict equality needs a logit lead of 14 to 19 for digits 1 to 9 and of about 104 for 0, unless an NMU's plus one minus one rounds the
//! zero; so every rule is also counted on pairs with and without a zero. And a weight of 0.9998 spoils every strict hit, so strict accuracy is
//! also counted with the head's weights rounded.

use crate::pairs::Pair;
use serde::{Deserialize, Serialize};

/// How far off a prediction may be to count as right under the tolerance rule.
const TOLERANCE: f32 = 1e-4;

/// Shares of predictions that are right, by three rules.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Accuracy {
    /// Equal to the last bit.
    pub strict: f64,
    /// Off by less than 1e-4.
    pub tolerance: f64,
    /// Equal after rounding to the nearest whole number, halves to even.
    pub rounded: f64,
}

/// How good predictions of one part of the data are.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Score {
    /// Mean squared errors of the product and of both digits; none that are not finite.
    pub errors: [Option<f64>; 3],
    /// Accuracies of the product and of both digits.
    pub accuracy: [Accuracy; 3],
    /// Accuracy of the product on pairs with a zero, and without; none if there are no such pairs.
    pub zeros: [Option<Accuracy>; 2],
    /// Share of pairs whose digits are right after rounding, in this order or swapped: the product does not tell.
    pub digits_up_to_a_swap: f64,
    /// Strict accuracy of the product with the head's weights rounded to whole numbers.
    pub strict_snapped: f64,
}

/// Predicted digits by true digits, both places together: truncated, as the published figures of the isolated task are, and rounded.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Confusion {
    /// Fractions cut off.
    pub truncated: [[u32; 10]; 10],
    /// To the nearest digit.
    pub rounded: [[u32; 10]; 10],
    /// What was not read as a number at all, by true digit.
    #[serde(default, skip_serializing_if = "none")]
    pub unread: [u32; 10],
}

fn none(unread: &[u32; 10]) -> bool {
    *unread == [0; 10]
}

impl Confusion {
    /// What was read, by true digit, with fractions cut off or rounded.
    pub fn counts(&self, truncated: bool) -> &[[u32; 10]; 10] {
        if truncated { &self.truncated } else { &self.rounded }
    }

    /// How often a digit was there, what was not read as a number included; at least once.
    pub fn seen(&self, digit: usize) -> f64 {
        f64::from((self.rounded[digit].iter().sum::<u32>() + self.unread[digit]).max(1))
    }

    /// The share of a digit that was read right.
    pub fn share(&self, truncated: bool, digit: usize) -> f64 {
        f64::from(self.counts(truncated)[digit][digit]) / self.seen(digit)
    }

    pub(crate) fn add(&mut self, digit: u8, z: f32) {
        if !z.is_finite() {
            self.unread[usize::from(digit)] += 1;
        } else {
            let column = |z: f32| z.clamp(0.0, 9.0) as usize;
            self.truncated[usize::from(digit)][column(z)] += 1;
            self.rounded[usize::from(digit)][column(z.round_ties_even())] += 1;
        }
    }
}

/// Sums behind a [`Score`].
#[derive(Default)]
pub(crate) struct Tally {
    count: f64,
    squares: [f64; 3],
    right: [[f64; 3]; 3],
    by_zero: [(f64, [f64; 3]); 2],
    swapped: f64,
    snapped: f64,
}

impl Tally {
    /// Counts a prediction: the product, both digits, and the product with rounded weights.
    pub(crate) fn add(&mut self, pair: &Pair, product: f32, z: [f32; 2], snapped: f32) {
        let digits = pair.digits.map(f32::from);
        self.count += 1.0;
        let rules = |got: f32, want: f32| {
            let close = (got - want).abs() < TOLERANCE;
            [got == want, close, got.round_ties_even() == want].map(|right| f64::from(u8::from(right)))
        };
        for (k, (got, want)) in
            [(product, pair.product()), (z[0], digits[0]), (z[1], digits[1])].into_iter().enumerate()
        {
            let miss = f64::from(got - want);
            self.squares[k] += miss * miss;
            let right = rules(got, want);
            (0..3).for_each(|r| self.right[k][r] += right[r]);
        }
        let (count, right) = &mut self.by_zero[usize::from(!pair.digits.contains(&0))];
        *count += 1.0;
        let rules = rules(product, pair.product());
        (0..3).for_each(|r| right[r] += rules[r]);
        let seen = z.map(f32::round_ties_even);
        self.swapped += f64::from(u8::from(seen == digits || seen == [digits[1], digits[0]]));
        self.snapped += f64::from(u8::from(snapped == pair.product()));
    }

    pub(crate) fn score(&self) -> Score {
        let count = self.count.max(1.0);
        let share = |right: [f64; 3], count: f64| {
            let [strict, tolerance, rounded] = right.map(|right| right / count);
            Accuracy { strict, tolerance, rounded }
        };
        Score {
            errors: self.squares.map(|sum| Some(sum / count).filter(|error| error.is_finite())),
            accuracy: self.right.map(|right| share(right, count)),
            zeros: self.by_zero.map(|(count, right)| (count > 0.0).then(|| share(right, count))),
            digits_up_to_a_swap: self.swapped / count,
            strict_snapped: self.snapped / count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: u8, b: u8) -> Pair {
        Pair { images: [0, 0], digits: [a, b] }
    }

    #[test]
    fn every_rule_counts_what_it_says() {
        let mut tally = Tally::default();
        // Exact; close; only rounded, digits swapped; wrong, with a zero; not a number.
        tally.add(&pair(2, 3), 6.0, [2.0, 3.0], 6.0);
        tally.add(&pair(2, 4), 8.000_05, [2.000_05, 4.0], 8.0);
        tally.add(&pair(2, 5), 10.4, [5.2, 1.8], 11.0);
        tally.add(&pair(0, 7), 0.6, [0.1, 6.6], 0.0);
        tally.add(&pair(0, 0), f32::NAN, [f32::NAN, 0.0], f32::NAN);
        let score = tally.score();
        assert_eq!(score.accuracy[0], Accuracy { strict: 0.2, tolerance: 0.4, rounded: 0.6 });
        assert_eq!(score.accuracy[1], Accuracy { strict: 0.2, tolerance: 0.4, rounded: 0.6 });
        assert_eq!(score.accuracy[2], Accuracy { strict: 0.6, tolerance: 0.6, rounded: 0.8 });
        assert_eq!(score.zeros[0], Some(Accuracy { strict: 0.0, tolerance: 0.0, rounded: 0.0 }));
        assert_eq!(score.zeros[1].unwrap().rounded, 1.0);
        assert_eq!((score.digits_up_to_a_swap, score.strict_snapped), (0.8, 0.6));
        assert_eq!(score.errors[0], None, "an error that is not finite is none");
        assert!((score.errors[2].unwrap() - (3.2f64.powi(2) + 0.4f64.powi(2)) / 5.0).abs() < 1e-6);
        assert_eq!(Tally::default().score().zeros, [None, None]);
    }

    #[test]
    fn halves_round_to_even_and_fractions_are_cut_off() {
        let mut tally = Tally::default();
        tally.add(&pair(1, 2), 2.5, [0.5, 2.5], 2.0);
        assert_eq!(tally.score().accuracy.map(|a| a.rounded), [1.0, 0.0, 1.0]);
        let mut confusion = Confusion::default();
        confusion.add(7, 6.999_9);
        confusion.add(7, 12.0);
        confusion.add(7, f32::NAN);
        assert_eq!((confusion.truncated[7][6], confusion.rounded[7][7], confusion.rounded[7][9]), (1, 1, 1));
        assert_eq!((confusion.unread[7], confusion.truncated[7].iter().sum::<u32>()), (1, 2));
    }
}

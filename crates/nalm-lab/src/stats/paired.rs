//! Two groups over common seeds: McNemar's test on success, and the sign test on solved-at.
//!
//! A seed that stands at several places, such as ranges, counts once, for whoever does better at more of them: with the published streams it starts from the
//! same weights everywhere, so that its runs are not independent. Where each seed is there once, these are the usual tests.

use std::collections::BTreeMap;

/// A run as a pair sees it.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// Whether it is solved.
    pub solved: bool,
    /// When.
    pub solved_at: Option<f64>,
}

/// Two groups over common seeds. With several places: seeds for which this holds at more places than the opposite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Common seeds.
    pub pairs: usize,
    /// Only the first solves these.
    pub only_a: usize,
    /// Only the second solves these.
    pub only_b: usize,
    /// Of these two.
    pub mcnemar_p: f64,
    /// Both solve these, at one place at least.
    pub both_solved: usize,
    /// The first is earlier.
    pub a_first: usize,
    /// The second is earlier.
    pub b_first: usize,
    /// Of these two.
    pub sign_test_p: f64,
}

/// Compares runs that differ in their group alone, each pair with its seed.
pub fn compare<S: Ord>(pairs: &[(S, Judged, Judged)]) -> Paired {
    let sign = |first: bool, second: bool| i64::from(first) - i64::from(second);
    let success = by_seed(pairs.iter().map(|(seed, a, b)| (seed, sign(a.solved, b.solved))));
    let both = pairs.iter().filter(|(_, a, b)| a.solved && b.solved);
    let steps = both.filter_map(|(seed, a, b)| Some((seed, a.solved_at?, b.solved_at?)));
    let sooner = by_seed(steps.map(|(seed, a, b)| (seed, sign(a < b, b < a))));
    let ((only_a, only_b), (a_first, b_first)) = (success.ways(), sooner.ways());
    Paired {
        pairs: success.seeds(),
        only_a,
        only_b,
        mcnemar_p: fair_coin(only_a, only_a + only_b),
        both_solved: sooner.seeds(),
        a_first,
        b_first,
        sign_test_p: fair_coin(a_first, a_first + b_first),
    }
}

/// At how many more places the first does better than the second, by seed.
#[derive(Clone, Debug)]
pub struct BySeed<S>(BTreeMap<S, i64>);

/// Adds up, for each seed, 1 where the first does better, -1 where the second does, and 0.
pub fn by_seed<S: Ord>(signs: impl IntoIterator<Item = (S, i64)>) -> BySeed<S> {
    let mut all = BTreeMap::new();
    signs.into_iter().for_each(|(seed, sign)| *all.entry(seed).or_default() += sign);
    BySeed(all)
}

impl<S> BySeed<S> {
    /// How many seeds there are.
    pub fn seeds(&self) -> usize {
        self.0.len()
    }

    /// For how many seeds the first does better, and for how many the second.
    pub fn ways(&self) -> (usize, usize) {
        let count = |sign: i64| self.0.values().filter(|net| net.signum() == sign).count();
        (count(1), count(-1))
    }
}

/// The exact two-sided binomial p-value for `k` of `n` fair coins (McNemar's test on discordant pairs, and the sign test).
pub fn fair_coin(k: usize, n: usize) -> f64 {
    let tail = k.min(n - k);
    // Terms of the binomial distribution by their ratio, from the largest exponent of 1/2 that does not underflow.
    let ln_half = -std::f64::consts::LN_2 * n as f64;
    let mut ln_choose = 0.0;
    let mut sum = 0.0;
    for i in 0..=tail {
        if i > 0 {
            ln_choose += libm::log((n - i + 1) as f64 / i as f64);
        }
        sum += libm::exp(ln_choose + ln_half);
    }
    (2.0 * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(at: Option<f64>) -> Judged {
        Judged { solved: at.is_some(), solved_at: at }
    }

    #[test]
    fn seeds_that_are_there_once_are_pairs() {
        let (early, late, never) = (run(Some(1.0)), run(Some(2.0)), run(None));
        let p = compare(&[(0, early, never), (1, late, early), (2, early, early), (3, never, never), (4, never, late)]);
        assert_eq!((p.pairs, p.only_a, p.only_b, p.both_solved, p.a_first, p.b_first), (5, 1, 1, 2, 0, 1));
        assert_eq!((p.mcnemar_p, p.sign_test_p), (1.0, 1.0));
    }

    /// Five seeds, each of which is gained at two places and lost at none, are five coins and not ten.
    #[test]
    fn a_seed_at_several_places_counts_once() {
        let (early, late, never) = (run(Some(1.0)), run(Some(2.0)), run(None));
        let gained: Vec<_> = (0..10).map(|k| (k / 2, early, never)).collect();
        let p = compare(&gained);
        assert_eq!((p.pairs, p.only_a, p.only_b, p.mcnemar_p), (5, 5, 0, 0.0625));
        // Gained here and lost there is a tie; gained twice and lost once is gained. First at one place of two that both solve is first.
        let mixed = [(0, early, never), (0, never, early), (1, early, never), (1, early, never), (1, never, early)];
        let timed = [(2, early, late), (2, early, early), (3, late, early), (3, early, late)];
        let p = compare(&[&mixed[..], &timed].concat());
        assert_eq!((p.pairs, p.only_a, p.only_b, p.both_solved, p.a_first, p.b_first), (4, 1, 0, 2, 1, 0));
    }

    /// scipy.stats.binomtest(k, n).pvalue
    #[test]
    fn p_values_agree_with_scipy() {
        for (k, n, want) in [(0, 5, 0.0625), (8, 8, 0.0078125), (3, 10, 0.34375), (5, 10, 1.0), (0, 0, 1.0)] {
            assert!((fair_coin(k, n) - want).abs() < 1e-12, "{k} of {n}: {}", fair_coin(k, n));
        }
    }
}

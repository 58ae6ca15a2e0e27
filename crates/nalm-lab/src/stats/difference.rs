//! The difference of two rates over common seeds, and whether the two are equal.
//!
//! Where each seed is there once, the interval is Newcombe's for pairs. A seed that stands at several places, such as ranges, counts once, by its mean
//! difference over them, with Student's interval, because its runs need not be independent.
//!
//! Equality: two one-sided tests (Schuirmann 1987). Two rates count as equal where neither of two tests at 5 % leaves it possible that they
//! differ by a margin or more, which is to say that the 90 % interval of their difference lies within it.

use super::newcombe::{ONE_SIDED, Pairs, paired_at};
use super::{Estimate, Z, student};
use std::collections::BTreeMap;

/// One pair: the seed, whether the first solves it, whether the second does.
pub type Pair<S> = (S, bool, bool);

/// First minus second, at 95 %.
pub fn interval<S: Ord>(pairs: &[Pair<S>]) -> Estimate {
    at(pairs, Z, 0.025)
}

/// The same at 90 %, by which equality is judged.
pub fn narrow_interval<S: Ord>(pairs: &[Pair<S>]) -> Estimate {
    at(pairs, ONE_SIDED, 0.05)
}

/// Whether two rates are equal up to a margin.
pub fn is_within<S: Ord>(pairs: &[Pair<S>], margin: f64) -> bool {
    let e = narrow_interval(pairs);
    e.lower.zip(e.upper).is_some_and(|(lower, upper)| -margin < lower && upper < margin)
}

/// Whether some seed stands at several places.
pub fn has_repeated_seeds<S: Ord>(pairs: &[Pair<S>]) -> bool {
    by_seed(pairs).len() < pairs.len()
}

fn by_seed<S: Ord>(pairs: &[Pair<S>]) -> BTreeMap<&S, Vec<f64>> {
    let mut all: BTreeMap<&S, Vec<f64>> = BTreeMap::new();
    pairs.iter().for_each(|(seed, a, b)| all.entry(seed).or_default().push(f64::from(*a) - f64::from(*b)));
    all
}

fn at<S: Ord>(pairs: &[Pair<S>], z: f64, tail: f64) -> Estimate {
    let means: Vec<f64> = by_seed(pairs).values().map(|own| own.iter().sum::<f64>() / own.len() as f64).collect();
    // Seeds without any difference have no spread, and yet are no proof: they are pairs that agree.
    let agree = means.iter().all(|mean| *mean == 0.0);
    if means.len() == pairs.len() || agree {
        let mut counted = Pairs::default();
        match agree && means.len() < pairs.len() {
            true => counted.both = means.len(),
            false => pairs.iter().for_each(|(_, a, b)| counted.add(*a, *b)),
        }
        return paired_at(&counted, z);
    }
    // Whatever else they all have in common leaves no spread to make an interval of.
    match means.iter().all(|mean| *mean == means[0]) {
        true => Estimate { mean: Some(means[0]), ..Estimate::NONE },
        false => student::interval_at(&means, tail, -1.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::newcombe;

    fn once(both: usize, first: usize, second: usize, neither: usize) -> Vec<Pair<u64>> {
        let ways = [(both, true, true), (first, true, false), (second, false, true), (neither, false, false)];
        let all = ways.into_iter().flat_map(|(n, a, b)| std::iter::repeat_n((a, b), n));
        all.enumerate().map(|(seed, (a, b))| (seed as u64, a, b)).collect()
    }

    #[test]
    fn equality_needs_enough_pairs_and_agreement() {
        assert!(is_within(&once(21, 0, 0, 4), 0.25));
        // The 90 % interval of this table reaches 0.0912, found in another language.
        assert!(is_within(&once(21, 0, 0, 4), 0.0912) && !is_within(&once(21, 0, 0, 4), 0.0911));
        assert!(!is_within(&once(3, 0, 0, 1), 0.25), "too few to tell");
        assert!(!is_within(&once(10, 8, 0, 7), 0.25), "they differ");
        assert!(!is_within::<u64>(&[], 0.25));
    }

    #[test]
    fn seeds_that_are_there_once_have_newcombes_interval() {
        let pairs = Pairs { both: 36, first: 12, second: 2, neither: 0 };
        assert_eq!(interval(&once(36, 12, 2, 0)), newcombe::paired(&pairs));
        assert!(!has_repeated_seeds(&once(36, 12, 2, 0)));
    }

    /// Seeds with mean differences of 0, 0.5, 0.5 and 1 over two places: 0.5 with a standard error of 0.2041, and Student's 3.182 with three
    /// degrees of freedom.
    #[test]
    fn seeds_at_several_places_count_once() {
        let gained = (true, false);
        let places = [[(true, true); 2], [gained, (false, false)], [(true, true), gained], [gained; 2]];
        let pairs: Vec<Pair<u64>> = (0..4).flat_map(|seed| places[seed].map(|(a, b)| (seed as u64, a, b))).collect();
        let (e, narrow) = (interval(&pairs), narrow_interval(&pairs));
        assert!(has_repeated_seeds(&pairs));
        assert!(
            (e.mean.unwrap() - 0.5).abs() < 1e-15 && (e.upper.unwrap() - (0.5 + 3.182_446 * 0.204_124)).abs() > 0.1,
            "cut at 1"
        );
        assert!((e.lower.unwrap() - (0.5 - 3.182_446 * 0.204_124)).abs() < 1e-5, "{e:?}");
        assert!((narrow.lower.unwrap() - (0.5 - 2.353_363 * 0.204_124)).abs() < 1e-5, "{narrow:?}");
        // Seeds that all gain one of their two places leave no spread, and one seed has none: no interval, and nothing is equal.
        let one_of_two = |seeds: u64| -> Vec<Pair<u64>> {
            (0..seeds).flat_map(|seed| [(seed, true, false), (seed, true, true)]).collect()
        };
        for seeds in [1, 2, 20] {
            let e = interval(&one_of_two(seeds));
            assert_eq!((e.mean, e.lower, e.upper), (Some(0.5), None, None));
            assert!(!is_within(&one_of_two(seeds), 0.9));
        }
        // Without any difference there is no spread: as many pairs as seeds that agree.
        let alike: Vec<Pair<u64>> = (0..60).map(|k| (k / 3, true, true)).collect();
        assert_eq!(interval(&alike), newcombe::paired(&Pairs { both: 20, ..Pairs::default() }));
        assert!(is_within(&alike, 0.25) && !is_within(&alike[..9], 0.25));
    }
}

//! Equality: two one-sided tests (Schuirmann 1987). Two rates count as equal where neither of two tests at 5 % leaves it possible that they
//! differ by a margin or more, which is to say that the 90 % interval of their difference lies within it.

use super::Estimate;
use super::newcombe::{ONE_SIDED, Pairs, paired_at};

/// The 90 % interval of the difference of two rates over common seeds.
pub fn interval(pairs: &Pairs) -> Estimate {
    paired_at(pairs, ONE_SIDED)
}

/// Whether two rates over common seeds are equal up to a margin.
pub fn holds(pairs: &Pairs, margin: f64) -> bool {
    let e = interval(pairs);
    e.lower.zip(e.upper).is_some_and(|(lower, upper)| -margin < lower && upper < margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_needs_enough_pairs_and_agreement() {
        let pairs = |both, first, second, neither| Pairs { both, first, second, neither };
        assert!(holds(&pairs(21, 0, 0, 4), 0.25));
        // The 90 % interval of this table reaches 0.0912, found in another language.
        assert!(holds(&pairs(21, 0, 0, 4), 0.0912) && !holds(&pairs(21, 0, 0, 4), 0.0911));
        assert!(!holds(&pairs(3, 0, 0, 1), 0.25), "too few to tell");
        assert!(!holds(&pairs(10, 8, 0, 7), 0.25), "they differ");
        assert!(!holds(&Pairs::default(), 0.25));
    }
}

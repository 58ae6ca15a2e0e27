//! The difference of two rates: Newcombe's intervals (Newcombe 1998, method 10 of both papers), which join two of Wilson's.

use super::{Estimate, Z, wilson};

/// The 95 % point of the standard normal distribution, for tests of one side.
pub const ONE_SIDED: f64 = 1.644_853_626_951_472_2;

/// Two models over common seeds: how many both solve, only the first, only the second, and neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Solved by both.
    pub both: usize,
    /// Solved by the first alone.
    pub first: usize,
    /// Solved by the second alone.
    pub second: usize,
    /// Solved by neither.
    pub neither: usize,
}

impl Pairs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.both + self.first + self.second + self.neither
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts one more.
    pub fn add(&mut self, first: bool, second: bool) {
        match (first, second) {
            (true, true) => self.both += 1,
            (true, false) => self.first += 1,
            (false, true) => self.second += 1,
            (false, false) => self.neither += 1,
        }
    }
}

/// A rate and how far Wilson's interval goes below and above it.
fn arms(k: usize, n: usize, z: f64) -> Option<(f64, f64, f64)> {
    let e = wilson::at(k, n, z);
    Some((e.mean?, e.mean? - e.lower?, e.upper? - e.mean?))
}

/// a - b for rates of separate samples, each so many of so many.
pub fn independent(a: (usize, usize), b: (usize, usize)) -> Estimate {
    let (Some((p, p_low, p_high)), Some((q, q_low, q_high))) = (arms(a.0, a.1, Z), arms(b.0, b.1, Z)) else {
        return Estimate::NONE;
    };
    Estimate::new(p - q, p - q - libm::hypot(p_low, q_high), p - q + libm::hypot(p_high, q_low))
}

/// First minus second over common seeds, at 95 %.
pub fn paired(pairs: &Pairs) -> Estimate {
    paired_at(pairs, Z)
}

/// The same with another normal quantile.
pub(super) fn paired_at(pairs: &Pairs, z: f64) -> Estimate {
    let (n, a, b) = (pairs.len(), pairs.both + pairs.first, pairs.both + pairs.second);
    let (Some((p, p_low, p_high)), Some((q, q_low, q_high))) = (arms(a, n, z), arms(b, n, z)) else {
        return Estimate::NONE;
    };
    let phi = correlation(pairs);
    let arm = |x: f64, y: f64| (x * x - 2.0 * phi * x * y + y * y).max(0.0).sqrt();
    Estimate::new(p - q, p - q - arm(p_low, q_high), p - q + arm(p_high, q_low))
}

/// The correlation of the two, where a positive one is corrected for continuity.
fn correlation(pairs: &Pairs) -> f64 {
    let [e, f, g, h] = [pairs.both, pairs.first, pairs.second, pairs.neither].map(|k| k as f64);
    let product = (e + f) * (g + h) * (e + g) * (f + h);
    let cross = e * h - f * g;
    let corrected = if cross > 0.0 { (cross - 0.5 * (e + f + g + h)).max(0.0) } else { cross };
    if product > 0.0 { corrected / product.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(e: Estimate, lower: f64, upper: f64) {
        let got = (e.lower.unwrap(), e.upper.unwrap());
        assert!((got.0 - lower).abs() < 5.1e-5 && (got.1 - upper).abs() < 5.1e-5, "{got:?} {lower} {upper}");
    }

    /// The eight worked examples of "Interval estimation for the difference between independent proportions", method 10.
    #[test]
    fn differences_of_separate_samples_are_the_published_ones() {
        for (a, b, lower, upper) in [
            ((56, 70), (48, 80), 0.0524, 0.3339),
            ((9, 10), (3, 10), 0.1705, 0.8090),
            ((6, 7), (2, 7), 0.0582, 0.8062),
            ((5, 56), (0, 29), -0.0381, 0.1926),
            ((0, 10), (0, 20), -0.1611, 0.2775),
            ((0, 10), (0, 10), -0.2775, 0.2775),
            ((10, 10), (0, 20), 0.6791, 1.0),
            ((10, 10), (0, 10), 0.6075, 1.0),
        ] {
            close(independent(a, b), lower, upper);
        }
        assert_eq!(independent((0, 0), (1, 2)), Estimate::NONE);
    }

    /// Examples of "Improved confidence intervals for the difference between binomial proportions based on paired data", method 10.
    #[test]
    fn differences_over_pairs_are_the_published_ones() {
        let pairs = |both, first, second, neither| Pairs { both, first, second, neither };
        close(paired(&pairs(36, 12, 2, 0)), 0.0569, 0.3404);
        close(paired(&pairs(36, 14, 0, 0)), 0.1528, 0.4167);
        close(paired(&pairs(2, 1, 0, 97)), -0.0312, 0.0572);
        assert_eq!(paired(&Pairs::default()), Estimate::NONE);
        // Pairs that always agree say more than two separate samples do.
        let (agree, apart) = (paired(&pairs(21, 0, 0, 4)), independent((21, 25), (21, 25)));
        assert!(agree.upper.unwrap() < apart.upper.unwrap());
        assert!((agree.lower.unwrap() + agree.upper.unwrap()).abs() < 1e-15);
    }
}

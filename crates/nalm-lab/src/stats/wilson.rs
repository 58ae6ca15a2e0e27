//! Success rates: Wilson's score interval (Wilson 1927).

use super::{Estimate, Z};

/// The rate k/n with its 95 % interval.
pub fn interval(k: usize, n: usize) -> Estimate {
    at(k, n, Z)
}

/// The same with another normal quantile.
pub(super) fn at(k: usize, n: usize, z: f64) -> Estimate {
    if n == 0 {
        return Estimate::NONE;
    }
    let (n, p) = (n as f64, k as f64 / n as f64);
    let z2 = z * z / n;
    let centre = (p + 0.5 * z2) / (1.0 + z2);
    let half = z / (1.0 + z2) * (p * (1.0 - p) / n + z2 / (4.0 * n)).sqrt();
    // At the ends the formula gives exactly 0 and 1, up to rounding.
    let lower = if k == 0 { 0.0 } else { centre - half };
    let upper = if p == 1.0 { 1.0 } else { centre + half };
    Estimate::new(p, lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_the_published_ones() {
        for (k, n, lower, upper) in [
            (25, 25, 0.8668, 1.0),
            (20, 25, 0.6087, 0.9114),
            (17, 25, 0.4841, 0.8279),
            (0, 25, 0.0, 0.1332),
            (18, 20, 0.6990, 0.9721),
            (15, 20, 0.5313, 0.8881),
        ] {
            let e = interval(k, n);
            assert!(
                (e.lower.unwrap() - lower).abs() < 5e-5 && (e.upper.unwrap() - upper).abs() < 5e-5,
                "{k}/{n} {e:?}"
            );
        }
        assert_eq!(interval(0, 0), Estimate::NONE);
    }
}

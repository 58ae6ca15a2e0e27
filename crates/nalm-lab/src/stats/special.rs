//! The special functions behind the intervals.

pub use nalm_fit::special::incomplete_beta;

/// ln a - psi(a), where psi is the digamma function; without the cancellation that the difference would have.
pub fn ln_minus_digamma(a: f64) -> f64 {
    if a >= 15.0 {
        let z = 1.0 / (a * a);
        // psi(a) ~ ln a - 1/(2a) - sum B_2k / (2k a^2k)
        let series = z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0)))));
        return 0.5 / a + series;
    }
    // psi(a) = psi(a + n) - sum 1 / (a + k)
    let n = (15.0 - a).ceil();
    let sum: f64 = (0..n as u32).map(|k| 1.0 / (a + f64::from(k))).sum();
    libm::log(a / (a + n)) + ln_minus_digamma(a + n) + sum
}

/// The digamma function for positive arguments.
pub fn digamma(a: f64) -> f64 {
    libm::log(a) - ln_minus_digamma(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mpmath.digamma with 30 digits.
    #[test]
    fn digamma_agrees_with_thirty_digit_values() {
        for (a, want) in [
            (0.001, -1_000.575_571_931_810_3),
            (0.5, -1.963_510_026_021_423_5),
            (1.0, -0.577_215_664_901_532_9),
            (3.7, 1.167_153_539_361_511_4),
            (14.9, 2.667_428_976_216_042_3),
            (1e6, 13.815_510_057_964_191),
        ] {
            assert!((digamma(a) / want - 1.0).abs() < 1e-13, "{a}: {}", digamma(a));
        }
    }
}

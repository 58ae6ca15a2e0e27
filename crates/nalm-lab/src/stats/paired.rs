//! Two groups over common seeds: McNemar's test on success, and the sign test on solved-at.

/// The exact two-sided binomial p-value for `k` of `n` fair coins (McNemar's test on discordant pairs, and the sign test).
pub(crate) fn fair_coin(k: usize, n: usize) -> f64 {
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

    /// scipy.stats.binomtest(k, n).pvalue
    #[test]
    fn p_values_agree_with_scipy() {
        for (k, n, want) in [(0, 5, 0.0625), (8, 8, 0.0078125), (3, 10, 0.34375), (5, 10, 1.0), (0, 0, 1.0)] {
            assert!((fair_coin(k, n) - want).abs() < 1e-12, "{k} of {n}: {}", fair_coin(k, n));
        }
    }
}

//! Two groups over common seeds: McNemar's test on success, and the sign test on solved-at.

/// A run as a pair sees it.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// Whether it is solved.
    pub solved: bool,
    /// When.
    pub solved_at: Option<f64>,
}

/// Two groups over common seeds.
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
    /// Both solve these.
    pub both_solved: usize,
    /// The first is earlier.
    pub a_first: usize,
    /// The second is earlier.
    pub b_first: usize,
    /// Of these two.
    pub sign_test_p: f64,
}

/// Compares runs that differ in their group alone.
pub fn compare(pairs: &[(Judged, Judged)]) -> Paired {
    let only_a = pairs.iter().filter(|(a, b)| a.solved && !b.solved).count();
    let only_b = pairs.iter().filter(|(a, b)| !a.solved && b.solved).count();
    let both = pairs.iter().filter(|(a, b)| a.solved && b.solved);
    let steps: Vec<(f64, f64)> = both.filter_map(|(a, b)| a.solved_at.zip(b.solved_at)).collect();
    let a_first = steps.iter().filter(|(a, b)| a < b).count();
    let b_first = steps.iter().filter(|(a, b)| b < a).count();
    Paired {
        pairs: pairs.len(),
        only_a,
        only_b,
        mcnemar_p: fair_coin(only_a, only_a + only_b),
        both_solved: steps.len(),
        a_first,
        b_first,
        sign_test_p: fair_coin(a_first, a_first + b_first),
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

    /// scipy.stats.binomtest(k, n).pvalue
    #[test]
    fn p_values_agree_with_scipy() {
        for (k, n, want) in [(0, 5, 0.0625), (8, 8, 0.0078125), (3, 10, 0.34375), (5, 10, 1.0), (0, 0, 1.0)] {
            assert!((fair_coin(k, n) - want).abs() < 1e-12, "{k} of {n}: {}", fair_coin(k, n));
        }
    }
}

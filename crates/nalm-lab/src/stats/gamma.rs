//! Solved-at: the mean of a gamma distribution, with its profile-likelihood interval.
//!
//! With mean mu and shape a, the log-likelihood per value is a ln(a / mu) - ln Gamma(a) + (a - 1) L - a M / mu, where M is the
//! mean of the values and L the mean of their logarithms. The estimate of mu is M; for any mu the best shape solves
//! ln a - psi(a) = ln mu - 1 - L + M / mu.

use super::root::{bisect, expand};
use super::special::ln_minus_digamma;
use super::{CHI2, Estimate, moments, student};

/// The mean of positive values with its 95 % interval; Student's t where the values hardly differ.
pub fn interval(x: &[f64]) -> Estimate {
    if x.len() < 2 || moments(x).1 <= 1e-5 || x.iter().any(|v| *v <= 0.0) {
        return student::interval(x, 0.0, f64::INFINITY);
    }
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    // In units of the mean, which keeps the logarithms small.
    let log = x.iter().map(|v| libm::log(v / mean)).sum::<f64>() / n;
    let best = profile(1.0, log);
    let excess = |mu: f64| 2.0 * n * (best - profile(mu, log)) - CHI2;
    let far = expand(2.0, |mu| 2.0 * mu, |mu| excess(mu) > 0.0);
    let near = expand(0.5, |mu| 0.5 * mu, |mu| excess(mu) > 0.0);
    Estimate::new(mean, mean * bisect(near, 1.0, excess), mean * bisect(1.0, far, excess))
}

/// The log-likelihood per value at mean `mu` and the best shape, for values of mean 1.
fn profile(mu: f64, log: f64) -> f64 {
    let target = libm::log(mu) - 1.0 - log + 1.0 / mu;
    let a = libm::exp(bisect(-60.0, 60.0, |ln_a| target - ln_minus_digamma(libm::exp(ln_a))));
    a * libm::log(a / mu) - libm::lgamma(a) + (a - 1.0) * log - a / mu
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds found by mpmath with 40 digits.
    #[test]
    fn bounds_agree_with_forty_digit_values() {
        let e = interval(&[1000.0, 2000.0, 2000.0, 3000.0, 5000.0, 4000.0, 2000.0]);
        assert!((e.mean.unwrap() - 19_000.0 / 7.0).abs() < 1e-9);
        assert!((e.lower.unwrap() / 1_864.689_675_464_938_3 - 1.0).abs() < 1e-8, "{e:?}");
        assert!((e.upper.unwrap() / 4_168.734_247_367_722 - 1.0).abs() < 1e-8, "{e:?}");
    }

    #[test]
    fn degenerate_samples_fall_back() {
        assert_eq!(interval(&[]), Estimate::NONE);
        assert_eq!(interval(&[7.0]), Estimate { mean: Some(7.0), ..Estimate::NONE });
        assert_eq!(interval(&[21000.0; 25]), Estimate::new(21000.0, 21000.0, 21000.0));
    }
}

//! Sparsity errors: the mean of a beta distribution on [0, 0.5], with its profile-likelihood interval.
//!
//! The parametrisation is for twice the error, which lies in [0, 1]: mean m = 2 mu and precision v, alpha = m v, beta = (1 - m) v.
//! The published code evaluates the density at the error itself, so that its means and bounds are about half of the true
//! ones; [`published`] does the same and [`corrected`] does not.

use super::root::{bisect, expand};
use super::special::digamma;
use super::{CHI2, Estimate, moments, student};

/// Errors are kept this far from 0 and from 0.5.
pub(crate) const MARGIN: f64 = 1e-16;

/// Below this mean the authors' optimiser returned no Hessian, and their code fell back to Student's t.
const OPTIMISER_GAVE_UP: f64 = 1e-5;

/// As in the published figures: halved, and Student's t where the authors' optimiser gave up.
pub fn published(errors: &[f64]) -> Estimate {
    let x = clip(errors);
    if is_flat(&x) || moments(&x).0 < OPTIMISER_GAVE_UP {
        return student::interval(&x, 0.0, 0.5);
    }
    interval(&x)
}

/// The mean sparsity error with its 95 % interval.
pub fn corrected(errors: &[f64]) -> Estimate {
    let mut x = clip(errors);
    if is_flat(&x) {
        return student::interval(&x, 0.0, 0.5);
    }
    // In place: there may be millions.
    x.iter_mut().for_each(|v| *v *= 2.0);
    interval(&x)
}

/// An estimate with 0 where the smallest error that the fit takes stands for it, for whoever reads it as numbers.
pub fn unclipped(e: Estimate) -> Estimate {
    let own = |v: Option<f64>| v.map(|v| if v <= MARGIN { 0.0 } else { v });
    Estimate { mean: own(e.mean), lower: own(e.lower), upper: own(e.upper) }
}

fn clip(errors: &[f64]) -> Vec<f64> {
    errors.iter().map(|e| e.clamp(MARGIN, 0.5 - MARGIN)).collect()
}

fn is_flat(x: &[f64]) -> bool {
    x.len() < 2 || moments(x).1 <= 1e-10
}

/// Half of the fitted mean of values in (0, 1), and of its bounds.
fn interval(y: &[f64]) -> Estimate {
    let n = y.len() as f64;
    let a = y.iter().map(|v| libm::log(*v)).sum::<f64>() / n;
    let b = y.iter().map(|v| libm::log1p(-v)).sum::<f64>() / n;
    // m on the logit scale, where it has room.
    let mean = |logit: f64| 1.0 / (1.0 + libm::exp(-logit));
    let gradient = |logit: f64| {
        let m = mean(logit);
        let v = precision(m, a, b);
        digamma((1.0 - m) * v) - digamma(m * v) + a - b
    };
    let best = bisect(-45.0, 30.0, gradient);
    let top = profile(mean(best), a, b);
    let excess = |logit: f64| 2.0 * n * (top - profile(mean(logit), a, b)) - CHI2;
    let high = expand(best + 0.1, |l| best + 2.0 * (l - best), |l| l > 30.0 || excess(l) > 0.0);
    let low = expand(best - 0.1, |l| best + 2.0 * (l - best), |l| l < -300.0 || excess(l) > 0.0);
    let half = |logit: f64| 0.5 * mean(logit);
    Estimate::new(half(best), half(bisect(low, best, excess)), half(bisect(best, high, excess)))
}

/// The best precision for mean m: the root of psi(v) - m psi(m v) - (1-m) psi((1-m) v) + m A + (1-m) B.
fn precision(m: f64, a: f64, b: f64) -> f64 {
    let gradient = |ln_v: f64| {
        let v = libm::exp(ln_v);
        digamma(v) - m * digamma(m * v) - (1.0 - m) * digamma((1.0 - m) * v) + m * a + (1.0 - m) * b
    };
    libm::exp(bisect(-30.0, 40.0, gradient))
}

/// The log-likelihood per value at mean m and the best precision.
fn profile(m: f64, a: f64, b: f64) -> f64 {
    let v = precision(m, a, b);
    let (alpha, beta) = (m * v, (1.0 - m) * v);
    libm::lgamma(v) - libm::lgamma(alpha) - libm::lgamma(beta) + (alpha - 1.0) * a + (beta - 1.0) * b
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERRORS: [f64; 8] = [0.02, 0.11, 0.3, 0.05, 0.21, 0.09, 0.004, 0.17];

    /// Fits and bounds found by mpmath with 40 digits.
    #[test]
    fn bounds_agree_with_forty_digit_values() {
        for (got, want) in [
            (published(&ERRORS), [0.058_548_539_681_608_39, 0.030_709_421_427_122_75, 0.117_730_482_496_563_12]),
            (corrected(&ERRORS), [0.116_185_774_084_275_29, 0.062_595_400_397_326_66, 0.205_540_804_540_238_95]),
        ] {
            let got = [got.mean, got.lower, got.upper].map(Option::unwrap);
            for (g, w) in got.iter().zip(want) {
                assert!((g / w - 1.0).abs() < 1e-8, "{got:?} {want:?}");
            }
        }
    }

    #[test]
    fn the_published_form_is_about_half() {
        let ratio = published(&ERRORS).mean.unwrap() / corrected(&ERRORS).mean.unwrap();
        assert!((0.45..0.55).contains(&ratio), "{ratio}");
    }

    #[test]
    fn equal_errors_have_no_width() {
        assert_eq!(corrected(&[0.0; 25]), Estimate::new(1e-16, 1e-16, 1e-16));
        assert_eq!(unclipped(corrected(&[0.0; 25])), Estimate::new(0.0, 0.0, 0.0));
        assert_eq!(corrected(&[]), Estimate::NONE);
    }
}

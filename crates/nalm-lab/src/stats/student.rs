//! Means: Student's t interval (Student 1908).

use super::root::{bisect, expand};
use super::special::incomplete_beta;
use super::{Estimate, moments};

/// The point of Student's t distribution with `df` degrees of freedom above which a share `tail`, less than a half, lies.
pub fn exceeded_by(tail: f64, df: f64) -> f64 {
    let above = |t: f64| 0.5 * incomplete_beta(0.5 * df, 0.5, df / (df + t * t)) - tail;
    let high = expand(2.0, |t| 2.0 * t, |t| above(t) < 0.0);
    bisect(0.0, high, above)
}

/// The mean and its interval, cut to where the quantity lives. One value has no interval, none has no mean.
pub fn interval(x: &[f64], low: f64, high: f64) -> Estimate {
    interval_at(x, 0.025, low, high)
}

/// The same with another share beyond each of its ends.
pub(super) fn interval_at(x: &[f64], tail: f64, low: f64, high: f64) -> Estimate {
    match x {
        [] => Estimate::NONE,
        [one] => Estimate { mean: Some(*one), ..Estimate::NONE },
        _ => {
            let (n, (mean, deviation)) = (x.len() as f64, moments(x));
            let half = exceeded_by(tail, n - 1.0) * deviation / n.sqrt();
            Estimate::new(mean, (mean - half).clamp(low, high), (mean + half).clamp(low, high))
        }
    }
}

/// The same for shares, which lie between 0 and 1.
pub fn share(x: &[f64]) -> Estimate {
    interval(x, 0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roots of the incomplete beta function found by mpmath with 30 digits.
    #[test]
    fn quantiles_agree_with_thirty_digit_values() {
        for (df, want) in [
            (1.0, 12.706_204_736_174_705),
            (2.0, 4.302_652_729_749_464),
            (4.0, 2.776_445_105_197_794_4),
            (19.0, 2.093_024_054_408_309_8),
            (24.0, 2.063_898_561_628_026),
            (99.0, 1.984_216_951_586_417_5),
            (999.0, 1.962_341_461_133_45),
            (1e6, 1.959_966_356_814_107),
        ] {
            let got = exceeded_by(0.025, df);
            assert!((got / want - 1.0).abs() < 1e-10, "{df}: {got}");
        }
        // As printed with the thresholds of the sequential task.
        assert!((exceeded_by(0.01, 8.0) - 2.8965).abs() < 5e-5 && (exceeded_by(0.01, 6.0) - 3.1427).abs() < 5e-5);
    }
}

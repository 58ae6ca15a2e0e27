//! Intervals and tests for what many runs amount to, one file each.

pub mod beta;
pub mod difference;
pub mod gamma;
pub mod holm;
pub mod kaplan_meier;
pub mod log_rank;
pub mod newcombe;
pub mod paired;
pub mod power;
mod root;
pub mod shown;
pub mod special;
pub mod student;
pub mod wilson;

use serde::Serialize;

/// The 97.5 % point of the standard normal distribution.
pub const Z: f64 = 1.959_963_984_540_054;
/// The 95 % point of the chi-squared distribution with one degree of freedom.
const CHI2: f64 = 3.841_458_820_694_124;

/// A mean and its 95 % interval; what is undefined is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The point estimate.
    pub mean: Option<f64>,
    /// The lower end of the interval.
    pub lower: Option<f64>,
    /// The upper end of the interval.
    pub upper: Option<f64>,
}

impl Estimate {
    /// Nothing is known.
    pub const NONE: Estimate = Estimate { mean: None, lower: None, upper: None };

    fn new(mean: f64, lower: f64, upper: f64) -> Self {
        Self { mean: Some(mean), lower: Some(lower), upper: Some(upper) }
    }
}

/// Mean and sample standard deviation.
fn moments(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    // Relative to the first value, so that equal values have no spread at all.
    let mean = x[0] + x.iter().map(|v| v - x[0]).sum::<f64>() / n;
    let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    (mean, variance.sqrt())
}

/// The standard error of the mean; none for a single value.
pub fn standard_error(x: &[f64]) -> Option<f64> {
    let (n, mean) = (x.len() as f64, x.iter().sum::<f64>() / x.len() as f64);
    (x.len() > 1).then(|| (x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

//! How a module's authors train it, and the rule by which the iNALU starts over.

use crate::penalty::{Penalty, Schedule};

/// Redraws all parameters when training is stuck (the rule of the iNALU).
///
/// At every step the last logged validation error is appended to a list. At positive multiples of `every`, once the list
/// is longer than `patience`: if the mean of its first half is at most the mean plus the standard deviation of its second
/// half, and the latter mean is above `error_above`, parameters are drawn anew and the list is cleared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reinit {
    /// Steps between two checks.
    pub every: u64,
    /// Least number of stored errors.
    pub patience: u64,
    /// Errors up to this are good enough to go on.
    pub error_above: f64,
}

/// How a module's authors train it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// The module's own penalty.
    pub penalty: Penalty,
    /// Element-wise bound on the gradient.
    pub clip: Option<f64>,
    /// When to start over.
    pub reinit: Option<Reinit>,
}

impl Default for Recipe {
    /// A learning rate of 0.001, no penalty, no clipping, no starting over.
    fn default() -> Self {
        Self { learning_rate: 1e-3, penalty: Penalty::NONE, clip: None, reinit: None }
    }
}

impl Recipe {
    /// The recipe of NAU and NMU: a sparsity penalty of strength 10 that sets in after 20,000 steps.
    pub fn sparse() -> Self {
        let schedule = Schedule::Ramp { start: 20_000, end: 35_000 };
        Self { penalty: Penalty { strength: 10.0, schedule }, ..Self::default() }
    }
}

/// The validation errors of all steps since the last reinitialisation, as runs of equal values.
#[derive(Debug)]
pub(crate) struct History {
    runs: Vec<(f64, u64)>,
    len: u64,
}

impl History {
    pub(crate) fn with_capacity(runs: usize) -> Self {
        Self { runs: Vec::with_capacity(runs), len: 0 }
    }

    pub(crate) fn push(&mut self, error: f64) {
        self.len += 1;
        match self.runs.last_mut() {
            Some((value, count)) if value.to_bits() == error.to_bits() => *count += 1,
            _ => self.runs.push((error, 1)),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.len = 0;
    }

    /// The rule of [`Reinit`].
    pub(crate) fn is_stuck(&self, rule: &Reinit) -> bool {
        if self.len <= rule.patience {
            return false;
        }
        let half = self.len / 2;
        let (first, _) = self.moments(0, half);
        let (second, deviation) = self.moments(half, self.len);
        first <= second + deviation && second > rule.error_above
    }

    /// Mean and population standard deviation of the errors from..to.
    fn moments(&self, from: u64, to: u64) -> (f64, f64) {
        let pieces = || {
            self.runs.iter().scan(0, move |start, &(value, count)| {
                let (low, high) = ((*start).max(from), (*start + count).min(to));
                *start += count;
                Some((value, high.saturating_sub(low) as f64))
            })
        };
        let n = (to - from) as f64;
        // An error that is infinite or NaN counts only where it lies in the stretch.
        let total = |f: &dyn Fn(f64) -> f64| {
            pieces().filter(|(_, count)| *count > 0.0).map(|(value, count)| count * f(value)).sum::<f64>() / n
        };
        let mean = total(&|v| v);
        (mean, total(&|v| (v - mean) * (v - mean)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_runs_are_those_of_the_list() {
        let list = [5.0, 5.0, 5.0, 2.0, 2.0, 7.0, 7.0, 7.0];
        let mut history = History::with_capacity(8);
        list.iter().for_each(|&v| history.push(v));
        let (mean, deviation) = history.moments(2, 7);
        let slice = &list[2..7];
        let expected = slice.iter().sum::<f64>() / 5.0;
        let variance = slice.iter().map(|v| (v - expected).powi(2)).sum::<f64>() / 5.0;
        assert!((mean - expected).abs() < 1e-12 && (deviation - variance.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn only_a_long_flat_and_bad_history_is_stuck() {
        let rule = Reinit { every: 10, patience: 10, error_above: 1.0 };
        let stuck = |errors: &[f64]| {
            let mut history = History::with_capacity(64);
            errors.iter().for_each(|&e| history.push(e));
            history.is_stuck(&rule)
        };
        assert!(stuck(&[3.0; 12]));
        assert!(!stuck(&[3.0; 10]), "too short");
        assert!(!stuck(&[0.5; 12]), "good enough");
        let falling: Vec<f64> = (0..12).map(|k| 100.0 - 8.0 * f64::from(k)).collect();
        assert!(!stuck(&falling), "improving");
        assert!(!stuck(&[f64::NAN; 12]), "NaN never restarts");
    }
}

//! The outcome of one run: what was logged, and what it amounts to.

use crate::task::Thresholds;

/// Only this many logged rows at the end of a run compete for the best one.
const WINDOW: usize = 5_000;

/// What is logged every so many steps. All three numbers refer to the weights after exactly `step` updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedErrors {
    /// Updates done.
    pub step: u64,
    /// Mean squared error on the validation set.
    pub validation: f64,
    /// Mean squared error on the test set.
    pub test: f64,
    /// The network's sparsity error.
    pub sparsity: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All steps were done.
    Completed,
    /// A parameter became NaN in this step.
    Diverged {
        /// The step.
        step: u64,
    },
    /// The observer stopped the run in this step.
    Cancelled {
        /// The step.
        step: u64,
    },
}

/// A run's success under one threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the test error at the best step is below the threshold.
    pub solved: bool,
    /// The first logged step with a test error below the threshold.
    pub solved_at: Option<u64>,
    /// Whether the last logged test error is below the threshold.
    pub last_row_solved: bool,
    /// The share of logged rows from `solved_at` on that are below the threshold.
    pub stays_solved: Option<f64>,
}

/// What a run amounts to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<R> {
    /// How the run ended.
    pub status: Status,
    /// The logged step with the smallest validation error (the first one of several).
    pub best_step: u64,
    /// The validation error there.
    pub validation_error: f64,
    /// The test error there.
    pub test_error: f64,
    /// The sparsity error there.
    pub sparsity_error: f64,
    /// The verdict under the flat threshold, where the task has one.
    pub flat: Option<Verdict>,
    /// The verdict under the simulated threshold.
    pub simulated: Verdict,
    /// How often parameters were drawn anew.
    pub reinitialisations: u64,
    /// The parameters at the end.
    pub params: Vec<R>,
    /// Everything that was logged.
    pub rows: Vec<LoggedErrors>,
}

impl<R> Outcome<R> {
    /// Whether the run succeeded by the task's first rule: the flat threshold where there is one, else the simulated.
    pub fn solved(&self) -> bool {
        self.flat.unwrap_or(self.simulated).solved
    }

    /// What the run would have amounted to if it had ended with step `steps`, after which its parameters were `params`. Settings
    /// do not depend on the length of a run, so a shorter one is the beginning of a longer one. (Reinitialisations are not counted by
    /// step, and stay those of the whole run.)
    pub fn prefix(&self, steps: u64, params: Vec<R>, thresholds: Thresholds) -> Self {
        let rows = self.rows.iter().copied().filter(|row| row.step <= steps).collect();
        let status = match self.status {
            Status::Diverged { step } | Status::Cancelled { step } if step <= steps => self.status,
            _ => Status::Completed,
        };
        Self::judge(status, rows, thresholds, self.reinitialisations, params)
    }

    pub(crate) fn judge(
        status: Status,
        rows: Vec<LoggedErrors>,
        thresholds: Thresholds,
        reinits: u64,
        params: Vec<R>,
    ) -> Self {
        let best = best(&rows);
        Self {
            status,
            best_step: best.step,
            validation_error: best.validation,
            test_error: best.test,
            sparsity_error: best.sparsity,
            flat: thresholds.flat.map(|threshold| verdict(&rows, best, threshold)),
            simulated: verdict(&rows, best, thresholds.simulated),
            reinitialisations: reinits,
            params,
            rows,
        }
    }
}

/// The first row with the smallest validation error, or the last row if all errors are NaN.
fn best(rows: &[LoggedErrors]) -> LoggedErrors {
    let window = &rows[rows.len().saturating_sub(WINDOW)..];
    let nothing = LoggedErrors { step: 0, validation: f64::NAN, test: f64::NAN, sparsity: f64::NAN };
    let last = *window.last().unwrap_or(&nothing);
    let finite = window.iter().filter(|row| !row.validation.is_nan());
    *finite.reduce(|a, b| if b.validation < a.validation { b } else { a }).unwrap_or(&last)
}

fn verdict(rows: &[LoggedErrors], best: LoggedErrors, threshold: f64) -> Verdict {
    let first = rows.iter().position(|row| row.test < threshold);
    Verdict {
        solved: best.test < threshold,
        solved_at: first.map(|k| rows[k].step),
        last_row_solved: rows.last().is_some_and(|row| row.test < threshold),
        stays_solved: first.map(|k| {
            let after = &rows[k..];
            after.iter().filter(|row| row.test < threshold).count() as f64 / after.len() as f64
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(rows: &[(f64, f64)]) -> Outcome<f32> {
        let row = |(k, &(validation, test)): (usize, &(f64, f64))| LoggedErrors {
            step: 1000 * k as u64,
            validation,
            test,
            sparsity: k as f64,
        };
        let rows = rows.iter().enumerate().map(row).collect();
        let thresholds = Thresholds { flat: Some(1e-5), simulated: 1.0 };
        Outcome::judge(Status::Completed, rows, thresholds, 0, Vec::new())
    }

    #[test]
    fn the_first_of_equal_validation_errors_is_best() {
        let o = outcome(&[(2.0, 9.0), (1.0, 1e-6), (1.0, 9.0)]);
        assert_eq!((o.best_step, o.test_error, o.sparsity_error), (1000, 1e-6, 1.0));
        assert!(o.solved());
    }

    #[test]
    fn solved_at_may_precede_the_best_row_and_be_lost_again() {
        let flat = outcome(&[(5.0, 1e-6), (4.0, 9.0), (3.0, 1e-7), (2.0, 1e-7)]).flat.unwrap();
        assert_eq!((flat.solved, flat.solved_at, flat.last_row_solved), (true, Some(0), true));
        assert_eq!(flat.stays_solved, Some(0.75));
    }

    #[test]
    fn a_good_test_error_at_a_bad_validation_error_is_no_success() {
        let o = outcome(&[(5.0, 1e-6), (1.0, 1e-5)]);
        assert!(!o.flat.unwrap().solved, "the threshold is strict");
        assert!(o.simulated.solved);
    }

    #[test]
    fn nan_is_a_failure() {
        let nan = f64::NAN;
        let o = outcome(&[(nan, nan), (nan, 1e-9)]);
        assert_eq!(o.best_step, 1000);
        let o = outcome(&[(1.0, nan), (nan, 1e-9)]);
        assert_eq!((o.best_step, o.solved()), (0, false));
        assert!(!outcome(&[]).solved());
    }

    #[test]
    fn only_the_last_rows_compete() {
        let mut rows = vec![(1.0, 0.5); WINDOW];
        rows.insert(0, (0.0, 0.0));
        assert_eq!(outcome(&rows).best_step, 1000);
    }
}

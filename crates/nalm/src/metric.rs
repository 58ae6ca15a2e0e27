//! The outcome of one run: what was logged, and what it amounts to.

use crate::task::Thresholds;
use crate::training_state::TrainingState;

/// Only this many logged rows at the end of a run compete for the best one.
pub(crate) const WINDOW: usize = 5_000;

/// What is logged every so many steps. All three numbers refer to the weights after exactly `step` updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedErrors {
    /// Updates done.
    pub step: u64,
    /// Mean squared error on the validation set.
    pub validation: f64,
    /// Mean squared error on the test set.
    pub test: f64,
    /// The network's sparsity error; 0 where no layer has one.
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
#[non_exhaustive]
pub struct Outcome<R> {
    /// How the run ended.
    pub status: Status,
    /// The logged step with the smallest validation error (the first one of several).
    pub best_step: u64,
    /// The validation error there.
    pub validation_error: f64,
    /// The test error there.
    pub test_error: f64,
    /// The sparsity error there; 0 where no layer has one.
    pub sparsity_error: f64,
    /// The verdict under the flat threshold, where the task has one.
    pub flat: Option<Verdict>,
    /// The verdict under the simulated threshold.
    pub simulated: Verdict,
    /// What the verdicts are by.
    pub thresholds: Thresholds,
    /// How often parameters were drawn anew.
    pub reinitialisations: u64,
    /// The parameters at the end; after [`crate::train_until()`] those at [`Outcome::best_step`].
    pub params: Vec<R>,
    /// The parameters at [`Outcome::best_step`]. Nothing where they were not kept: of the beginning of a longer run, and of one that was
    /// stopped early after thousands of logged rows.
    pub best_params: Option<Vec<R>>,
    /// Where the run ended, to go on from ([`crate::train::resume`]); nothing after a run along a schedule, and of the beginning of a run.
    pub state: Option<TrainingState<R>>,
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
        Self::judge(status, rows, thresholds, self.reinitialisations, params, None, WINDOW)
    }

    pub(crate) fn judge(
        status: Status,
        rows: Vec<LoggedErrors>,
        thresholds: Thresholds,
        reinits: u64,
        params: Vec<R>,
        kept: Option<Kept<R>>,
        window: usize,
    ) -> Self {
        let best = best(&rows, window);
        Self {
            status,
            best_step: best.step,
            validation_error: best.validation,
            test_error: best.test,
            sparsity_error: best.sparsity,
            flat: thresholds.flat.map(|threshold| verdict(&rows, best, threshold)),
            simulated: verdict(&rows, best, thresholds.simulated),
            thresholds,
            reinitialisations: reinits,
            params,
            best_params: kept.filter(|kept| kept.step == Some(best.step)).map(|kept| kept.params),
            state: None,
            rows,
        }
    }
}

/// The parameters of the best step so far, kept while a run is on its way.
#[derive(Clone, Debug)]
pub(crate) struct Kept<R> {
    step: Option<u64>,
    validation: f64,
    params: Vec<R>,
    /// Rows that are logged before any competes, if the run ends as planned.
    too_early: usize,
    logged: usize,
}

impl<R: Copy> Kept<R> {
    /// Memory for the parameters of a run that plans to log so many rows.
    pub(crate) fn new(params: &[R], rows: usize) -> Self {
        let (step, validation, too_early) = (None, f64::NAN, rows.saturating_sub(WINDOW));
        Self { step, validation, params: params.to_vec(), too_early, logged: 0 }
    }

    /// The parameters of the best step and its validation error; nothing before the first look.
    pub(crate) fn best(&self) -> Option<(&[R], f64)> {
        self.step.map(|_| (self.params.as_slice(), self.validation))
    }

    /// Looks at what was logged, by the rule of [`best`].
    pub(crate) fn look(&mut self, row: &LoggedErrors, params: &[R]) {
        self.logged += 1;
        let better = row.validation < self.validation || (self.validation.is_nan() && !row.validation.is_nan());
        // Without a number the last row counts.
        let none = self.validation.is_nan() && row.validation.is_nan();
        if self.logged > self.too_early && (better || none || self.step.is_none()) {
            (self.step, self.validation) = (Some(row.step), row.validation);
            self.params.copy_from_slice(params);
        }
    }
}

/// The first row with the smallest validation error, or the last row if all errors are NaN.
fn best(rows: &[LoggedErrors], window: usize) -> LoggedErrors {
    let window = &rows[rows.len().saturating_sub(window)..];
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
        Outcome::judge(Status::Completed, rows, thresholds, 0, Vec::new(), None, WINDOW)
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

    #[test]
    fn kept_parameters_are_those_of_the_best_step() {
        let nan = f64::NAN;
        for (validations, want) in [
            (vec![3.0, 1.0, 2.0], 1.0),
            (vec![3.0, 1.0, 1.0], 1.0),
            (vec![nan, 5.0, 7.0], 1.0),
            (vec![nan, nan, nan], 2.0),
            (vec![4.0, nan, nan], 0.0),
        ] {
            let rows: Vec<LoggedErrors> = (0u32..)
                .zip(&validations)
                .map(|(k, &validation)| LoggedErrors { step: k.into(), validation, test: 0.0, sparsity: 0.0 })
                .collect();
            let mut kept = Kept::new(&[-1.0], rows.len());
            rows.iter().for_each(|row| kept.look(row, &[row.step as f64]));
            let thresholds = Thresholds { flat: None, simulated: 1.0 };
            let outcome = Outcome::judge(Status::Completed, rows, thresholds, 0, vec![9.0], Some(kept), WINDOW);
            assert_eq!(outcome.best_params, Some(vec![want]), "{validations:?}");
        }
        // The first of one row too many does not compete, however good it is.
        let row = |step, validation| LoggedErrors { step, validation, test: 0.0, sparsity: 0.0 };
        let mut kept = Kept::new(&[-1.0], WINDOW + 1);
        let rows: Vec<LoggedErrors> = (0..=WINDOW as u64).map(|k| row(k, if k == 0 { 0.0 } else { 1.0 })).collect();
        rows.iter().for_each(|row| kept.look(row, &[row.step as f64]));
        let thresholds = Thresholds { flat: None, simulated: 1.0 };
        let judge = |rows: &[LoggedErrors]| {
            Outcome::judge(Status::Completed, rows.to_vec(), thresholds, 0, vec![9.0], Some(kept.clone()), WINDOW)
        };
        assert_eq!(judge(&rows).best_params, Some(vec![1.0]));
        // Stopped before that, it would have been best, and is not there.
        assert_eq!(judge(&rows[..WINDOW]).best_params, None);
    }
}

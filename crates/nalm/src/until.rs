//! Training on data of one's own: until it gets no better, from several starts, and the best by validation counts.

use crate::metric::{Kept, Outcome, Status};
use crate::penalty::Penalty;
use crate::task::Task;
use crate::train::{Observer, Run};
use crate::{Config, Error, Network, Real};
use std::ops::ControlFlow;

/// When to stop.
///
/// An attempt ends when the validation error has not fallen by a hundredth for `patience` steps, counted from when the penalties have
/// their full strength, or after `steps`. If the smallest error so far is then above the error that solves the task on its test rows, another attempt starts from
/// new random weights. The weights with the smallest validation error of all count; test rows decide nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stopping {
    /// Steps of one attempt, at most; 100,000 by default.
    pub steps: u64,
    /// Steps without an improvement after which an attempt ends; 5,000 by default.
    pub patience: u64,
    /// Starts, at most; 3 by default.
    pub attempts: u32,
}

impl Default for Stopping {
    fn default() -> Self {
        Self { steps: 100_000, patience: 5_000, attempts: 3 }
    }
}

impl Stopping {
    /// The same with so many steps at most.
    pub fn steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// The same with this patience.
    pub fn patience(self, patience: u64) -> Self {
        Self { patience, ..self }
    }

    /// The same with so many starts at most.
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(self.steps > 0, "steps of an attempt", 0.0, "at least 1")?;
        Error::check(self.patience > 0, "patience", 0.0, "at least 1 step")?;
        Error::check(self.attempts > 0, "number of attempts", 0.0, "at least 1")
    }
}

/// Falls of the validation error by less than this share are none.
const FALL: f64 = 0.01;

/// Trains a network on a task until `stopping` says so. `config.steps` does not count; errors are evaluated every `config.log_every` steps.
///
/// [`Outcome::params`] are those with the smallest validation error, [`Outcome::reinitialisations`] is the number of further starts, and steps are counted over all
/// attempts, so that the end of one and the start of the next have the same number. There is no [`Outcome::state`] to go on from.
///
/// ```
/// use nalm::{Config, Network, Nmu, Split, Stopping, Table, TableTask, formula, train_until};
///
/// // 200 rows with a length, a width, a colour that does not matter, and an area.
/// let column = |k: u32| (0..200).map(move |row| 1.0 + f64::from(row * k % 97) / 97.0);
/// let area = column(5).zip(column(7)).map(|(length, width)| length * width).collect();
/// let table = Table::new([
///     ("length", column(5).collect()),
///     ("width", column(7).collect()),
///     ("colour", column(11).collect()),
///     ("area", area),
/// ])?;
/// let split = Split::Extremes { column: "area".into(), validation: 0.2, test: 0.2 };
/// let task = TableTask::new(table, &["length", "width", "colour"], "area", split, TableTask::GOAL)?;
/// let network = Network::<f32>::single(Nmu::new(3, 1)?);
/// let config = Config::published(&network).ramp(5_000, 10_000);
/// let outcome = train_until(&network, &task, 0, &config, &Stopping::default(), &mut ())?;
/// assert!(outcome.solved()); // on rows with larger and smaller areas than any it was trained on
/// let names: Vec<&str> = task.inputs().iter().map(String::as_str).collect();
/// assert_eq!(formula::read(&network, &outcome.params, &names)?.unwrap(), ["y = length * width"]);
/// # Ok::<(), nalm::Error>(())
/// ```
pub fn train_until<R: TrainedUntil>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    stopping: &Stopping,
    observer: &mut dyn Observer<R>,
) -> Result<Outcome<R>, Error> {
    R::train_until(network, task, seed, config, stopping, observer)
}

/// A number type for which this crate holds the compiled code of [`train_until`]; part of [`crate::Compiled`].
pub trait TrainedUntil: Real {
    /// Training over this type; see [`train_until`].
    #[doc(hidden)]
    fn train_until(
        network: &Network<Self>,
        task: &dyn Task<Self>,
        seed: u64,
        config: &Config,
        stopping: &Stopping,
        observer: &mut dyn Observer<Self>,
    ) -> Result<Outcome<Self>, Error>;
}

macro_rules! trained_until {
    ($($type:ty)*) => {
        $(impl TrainedUntil for $type {
            fn train_until(
                network: &Network<Self>,
                task: &dyn Task<Self>,
                seed: u64,
                config: &Config,
                stopping: &Stopping,
                observer: &mut dyn Observer<Self>,
            ) -> Result<Outcome<Self>, Error> {
                run(network, task, seed, config, stopping, observer)
            }
        })*
    };
}

// A blanket implementation would be generic again, so each type has its own.
trained_until!(f32 f64);

/// [`train_until`], called through [`TrainedUntil`] for the same reason as [`crate::module::every`].
pub(crate) fn run<R: Real>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    stopping: &Stopping,
    observer: &mut dyn Observer<R>,
) -> Result<Outcome<R>, Error> {
    stopping.check()?;
    let total = stopping.steps.saturating_mul(u64::from(stopping.attempts));
    let config = Config { steps: total, ..config.clone() };
    config.check(network, task)?;
    config.stream.check(seed)?;
    let mut run = Run::new(network, task, seed, &config)?;
    let thresholds = task.thresholds();
    let goal = thresholds.flat.unwrap_or(thresholds.simulated);
    let patient_from = config.penalties.iter().map(Penalty::full_from).max().unwrap_or(0);
    // Every row competes, not only the last ones.
    run.kept = Kept::new(&run.params, 0);
    let (mut status, mut diverged, mut step) = (Status::Completed, None, 0);
    'attempts: for attempt in 0..stopping.attempts {
        if attempt > 0 {
            run.start_over()?;
        }
        let (mut least, mut since, mut patient) = (f64::INFINITY, 0, false);
        for own in 0..=stopping.steps {
            if own.is_multiple_of(config.log_every) || own == stopping.steps {
                let row = run.evaluate(step);
                if observer.logged(&row, &run.params).is_break() {
                    status = Status::Cancelled { step };
                    break 'attempts;
                }
                if own >= patient_from && !patient {
                    // What penalties cost is no reason to give up: from here on it counts.
                    (least, since, patient) = (f64::INFINITY, own, true);
                }
                if row.validation < (1.0 - FALL) * least {
                    (least, since) = (row.validation, own);
                }
                if patient && own - since >= stopping.patience {
                    break;
                }
            }
            if own == stopping.steps {
                break;
            }
            let went = run.advance(own, step, observer);
            step += 1;
            match went {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(end @ Status::Diverged { .. }) => {
                    diverged = Some(end);
                    break;
                }
                ControlFlow::Break(end) => {
                    status = end;
                    break 'attempts;
                }
            }
        }
        if run.kept.best().is_some_and(|(_, validation)| validation < goal) {
            break;
        }
    }
    match run.kept.best() {
        Some((params, validation)) if validation.is_finite() => run.params = params.to_vec(),
        _ if status == Status::Completed => status = diverged.unwrap_or(status),
        _ => {}
    }
    Ok(run.outcome_of_all(status, thresholds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nmu, Operation, SingleModule, Uniform};

    fn nmu() -> (Network<f32>, SingleModule, Config) {
        let network = Network::single(Nmu::new(2, 1).unwrap());
        let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap();
        let config = Config { validation: 200, test: 200, log_every: 100, ..Config::published(&network) };
        (network, task, config.ramp(2_000, 4_000))
    }

    #[test]
    fn training_ends_by_itself_once_nothing_gets_better() {
        let (network, task, config) = nmu();
        let outcome = train_until(&network, &task, 0, &config, &Stopping::default(), &mut ()).unwrap();
        assert!(outcome.solved());
        assert_eq!((outcome.params.as_slice(), outcome.reinitialisations), (&[1.0, 1.0][..], 0));
        let last = outcome.rows.last().unwrap().step;
        assert!((9_000..30_000).contains(&last), "{last}");
    }

    #[test]
    fn attempts_go_on_until_the_goal_and_the_best_counts() {
        let (network, _, config) = nmu();
        // No NMU can add.
        let range = |low, high| Uniform::new(low, high).unwrap();
        let task = SingleModule::new(Operation::Add, 2, range(1.0, 2.0), range(2.0, 6.0)).unwrap();
        let stopping = Stopping::default().steps(3_000).patience(200).attempts(4);
        let outcome = train_until(&network, &task, 0, &config.ramp(100, 200), &stopping, &mut ()).unwrap();
        assert_eq!(outcome.reinitialisations, 3);
        let least = outcome.rows.iter().map(|row| row.validation).fold(f64::INFINITY, f64::min);
        assert_eq!(outcome.validation_error, least);
        assert_eq!(outcome.best_params.as_ref(), Some(&outcome.params));
        assert!(!outcome.solved());
    }

    #[test]
    fn numbers_that_make_no_sense_are_named() {
        let text = |stopping: Stopping| stopping.check().unwrap_err().to_string();
        assert_eq!(text(Stopping::default().steps(0)), "steps of an attempt is 0; it must be at least 1");
        assert_eq!(text(Stopping::default().patience(0)), "patience is 0; it must be at least 1 step");
        assert_eq!(text(Stopping::default().attempts(0)), "number of attempts is 0; it must be at least 1");
    }
}

//! Training in phases, as data: which optimiser, which loss, noise or not, for how long.

use super::levenberg_marquardt::Settings;
use crate::loss::{Loss, LossPlan};
use crate::optim::Optimiser;
use crate::penalty::Penalty;
use crate::{Config, Error};

/// Phases that follow one another, and when to start over.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSchedule {
    /// How often the phases are gone through at most, each time from new random weights.
    pub attempts: u32,
    /// The relative error (root mean square, over that of the targets) on held-out data below which no further attempt is made.
    pub goal: f64,
    /// The phases.
    pub phases: Vec<Phase>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Adam on fresh batches.
    Adam(Adam),
    /// Levenberg-Marquardt on fixed samples.
    Lm(Lm),
}

/// A phase of first-order training. What it does not mention is as in the run's [`Config`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Updates.
    pub steps: u64,
    /// Rows in a batch.
    pub batch: usize,
    /// Step size.
    pub learning_rate: f64,
    /// What is minimised.
    pub loss: Loss,
    /// Whether stochastic modules are noisy.
    pub noise: bool,
    /// The steps of the phase between which the modules' penalties grow to their full strength; none for no penalty.
    pub ramp: Option<(u64, u64)>,
    /// Whether parameters are moved into their boxes after every step.
    pub clamp: bool,
}

impl Default for Adam {
    fn default() -> Self {
        Self { steps: 20_000, batch: 128, learning_rate: 1e-3, loss: Loss::Mse, noise: true, ramp: None, clamp: true }
    }
}

/// A phase of second-order training: without noise, on the mean squared error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lm {
    /// Solutions of the normal equations, at most.
    pub iterations: u64,
    /// Samples, drawn once: at least this many.
    pub samples: usize,
    /// And at least this many for each parameter.
    pub per_parameter: f64,
    /// Pull, box and damping.
    pub settings: Settings,
    /// Whether the weights are rounded once the rounded ones pass the held-out data, or at the end if they are better there.
    pub discretise: bool,
    /// Whether weights, outputs and Jacobian are `f64`, or what the network is trained in.
    pub double: bool,
}

impl Default for Lm {
    fn default() -> Self {
        Self {
            iterations: 600,
            samples: 1_024,
            per_parameter: 5.0,
            settings: Settings::default(),
            discretise: true,
            double: true,
        }
    }
}

/// Rounding of `f32` targets is 3.4e-8 of them at most, in the root mean square.
const GOAL: f64 = 1e-7;

/// A schedule with a name, for lists and command lines.
#[derive(Clone, Debug)]
pub struct ScheduleSpec {
    /// The name.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// The schedule.
    pub schedule: TrainingSchedule,
}

/// All named schedules.
pub fn list() -> Vec<ScheduleSpec> {
    let adam = Adam::default();
    let of = |phases| TrainingSchedule { attempts: 1, goal: GOAL, phases };
    vec![
        ScheduleSpec {
            name: "second-order",
            summary: "20,000 steps of Adam with noise find the product, Levenberg-Marquardt finds the sums; weights are rounded",
            schedule: TrainingSchedule::default(),
        },
        ScheduleSpec {
            name: "pearson-then-mse",
            summary: "Adam on Pearson's correlation, then on the mean squared error with the modules' penalty",
            schedule: of(vec![
                Phase::Adam(Adam { steps: 20_000, loss: Loss::Pearson, ..adam }),
                Phase::Adam(Adam { steps: 80_000, ramp: Some((20_000, 40_000)), ..adam }),
            ]),
        },
    ]
}

impl Default for TrainingSchedule {
    /// Adam with noise, then Levenberg-Marquardt and rounding; up to three attempts.
    fn default() -> Self {
        Self { attempts: 3, goal: GOAL, phases: vec![Phase::Adam(Adam::default()), Phase::Lm(Lm::default())] }
    }
}

impl TrainingSchedule {
    /// The schedule with this name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let names: Vec<&str> = list().iter().map(|spec| spec.name).collect();
        let found = list().into_iter().find(|spec| spec.name == name);
        found.map(|spec| spec.schedule).ok_or_else(|| Error::unknown("schedule", name, &names))
    }

    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(self.attempts > 0, "number of attempts", 0.0, "at least 1")?;
        Error::check(self.goal > 0.0 && self.goal.is_finite(), "goal of a schedule", self.goal, "positive and finite")?;
        Error::check(!self.phases.is_empty(), "number of phases", 0.0, "at least 1")?;
        self.phases.iter().try_for_each(Phase::check)
    }

    /// Steps of one attempt with a network of `params` parameters, if no phase ends before its time. They are counted in batches of
    /// `batch` samples looked at: an iteration that goes through 1,024 samples is eight steps of 128.
    pub fn steps(&self, batch: usize, params: usize) -> u64 {
        let of = |phase: &Phase| match phase {
            Phase::Adam(adam) => adam.steps,
            Phase::Lm(lm) => lm.iterations.saturating_mul(lm.steps_each(batch, params)),
        };
        self.phases.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Different samples that one attempt trains on.
    pub fn samples(&self, params: usize) -> u64 {
        let of = |phase: &Phase| match phase {
            Phase::Adam(adam) => adam.steps.saturating_mul(adam.batch as u64),
            Phase::Lm(lm) => lm.samples_of(params) as u64,
        };
        self.phases.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// Whether so many rows can be held at a time.
fn in_memory(rows: usize) -> bool {
    (1..1 << 24).contains(&rows)
}

impl Phase {
    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Phase::Adam(adam) => {
                Error::check(adam.steps > 0, "steps of a phase", 0.0, "at least 1; leave the phase out otherwise")?;
                let batch = adam.batch;
                Error::check(in_memory(batch), "batch of a phase", batch as f64, "at least 1 and below 2^24")?;
                if let Some((start, end)) = adam.ramp {
                    Error::check(end > start, "end of the penalty's ramp", end as f64, "later than its start")?;
                }
                Optimiser::adam(adam.learning_rate).check()
            }
            Phase::Lm(lm) => {
                Error::check(lm.iterations > 0, "iterations of a phase", 0.0, "at least 1; leave it out otherwise")?;
                let (samples, per) = (lm.samples, lm.per_parameter);
                Error::check(in_memory(samples), "samples of a phase", samples as f64, "at least 1 and below 2^24")?;
                Error::check((0.0..1e3).contains(&per), "samples per_parameter", per, "at least 0 and below 1,000")?;
                lm.settings.check()
            }
        }
    }
}

impl Lm {
    /// Samples of a network with `params` parameters.
    pub fn samples_of(&self, params: usize) -> usize {
        self.samples.max((self.per_parameter * params as f64).ceil() as usize)
    }

    /// What one iteration counts.
    pub(super) fn steps_each(&self, batch: usize, params: usize) -> u64 {
        self.samples_of(params).div_ceil(batch.max(1)) as u64
    }
}

impl Adam {
    /// The run's settings with those of the phase.
    pub(super) fn config(&self, base: &Config) -> Config {
        let mut config = Config {
            batch: self.batch,
            optimiser: Optimiser::adam(self.learning_rate),
            loss: LossPlan { first: self.loss, then: None },
            clamp: self.clamp,
            ..base.clone()
        };
        match self.ramp {
            Some((start, end)) => config = config.ramp(start, end),
            None => config.penalties.fill(Penalty::NONE),
        }
        config
    }
}

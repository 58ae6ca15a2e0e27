//! Training in phases, as data: which optimiser, which loss, noise or not, for how long.

use super::levenberg_marquardt::Settings;
use crate::loss::{Loss, LossPlan};
use crate::optim::Optimiser;
use crate::penalty::Penalty;
use crate::setting::{Kind, Options, Setting, Value};
use crate::{Config, Error, Real};
use std::fmt::{self, Display};
use std::str::FromStr;

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

const fn setting(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind, default, meaning, numerics: true }
}

/// What may be chosen of a phase of [`Adam`]. The order is that of written schedules.
pub const ADAM: [Setting; 7] = [
    setting("steps", Kind::Whole, "20000", "updates"),
    setting("batch", Kind::Whole, "128", "samples in a batch"),
    setting("learning_rate", Kind::Number, "0.001", "the learning rate"),
    setting("loss", Kind::text::<Loss>("mse, pearson or mape"), "mse", "what is minimised"),
    setting("noise", Kind::Flag, "true", "whether noisy modules are"),
    setting("ramp", Kind::WholePair, "", "first and last step of the penalty's ramp; no penalty if not given"),
    setting("clamp", Kind::Flag, "true", "whether weights are moved into their boxes"),
];

/// What may be chosen of a phase of [`Lm`]. The order is that of written schedules.
pub const LM: [Setting; 8] = [
    setting("clamp", Kind::Flag, "false", "whether weights are moved into their boxes"),
    setting("iterations", Kind::Whole, "600", "iterations of the fit at most"),
    setting("samples", Kind::Whole, "1024", "samples of the fit at least"),
    setting("per_parameter", Kind::Number, "5", "samples for each parameter at least"),
    setting("pull", Kind::Number, "0.1", "how strongly weights are pulled to whole numbers"),
    setting("damping", Kind::Number, "0.001", "the damping that the fit starts with"),
    setting("discretise", Kind::Flag, "true", "whether weights are rounded at the end"),
    setting("precision", Kind::text::<Precision>("f64 or f32"), "f64", "f64, or f32 for the network's own"),
];

/// The optimisers that phases name, and what may be chosen of each.
pub const OPTIMISERS: [(&str, &[Setting]); 2] = [("adam", &ADAM), ("lm", &LM)];

/// What may be chosen of a phase with this optimiser.
pub fn settings(optimiser: &str) -> Result<&'static [Setting], Error> {
    let found = OPTIMISERS.iter().find(|(name, _)| *name == optimiser);
    let unknown = || Error::unknown("optimiser", optimiser, &OPTIMISERS.map(|(name, _)| name));
    found.map(|(_, settings)| *settings).ok_or_else(unknown)
}

/// [`Lm::double`] as it is written.
struct Precision {
    double: bool,
}

impl Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.double { f64::NAME } else { f32::NAME })
    }
}

impl FromStr for Precision {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let found = [false, true].into_iter().map(|double| Self { double }).find(|one| one.to_string() == text);
        found.ok_or_else(|| Error::unknown("precision", text, &[f32::NAME, f64::NAME]))
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
    /// A phase of an optimiser with these settings, checked; what is absent has its default.
    pub fn read(optimiser: &str, options: &Options) -> Result<Self, Error> {
        let own = settings(optimiser)?;
        for (name, value) in options.iter().filter(|(name, _)| own.iter().all(|setting| setting.name != *name)) {
            foreign(optimiser, own, name, value)?;
        }
        let phase = if optimiser == "adam" {
            let [steps, batch, learning_rate, loss, noise, ramp, clamp] = &ADAM;
            Phase::Adam(Adam {
                steps: options.whole(steps)? as u64,
                batch: options.whole(batch)?,
                learning_rate: options.number(learning_rate)?,
                loss: options.read(loss)?,
                noise: options.flag(noise)?,
                ramp: options.get(ramp.name).map(|_| options.whole_pair(ramp)).transpose()?,
                clamp: options.flag(clamp)?,
            })
        } else {
            let [clamp, iterations, samples, per_parameter, pull, damping, discretise, precision] = &LM;
            Phase::Lm(Lm {
                iterations: options.whole(iterations)? as u64,
                samples: options.whole(samples)?,
                per_parameter: options.number(per_parameter)?,
                settings: Settings {
                    pull: options.number(pull)?,
                    clamp: options.flag(clamp)?,
                    damping: options.number(damping)?,
                },
                discretise: options.flag(discretise)?,
                double: options.read::<Precision>(precision)?.double,
            })
        };
        phase.check()?;
        Ok(phase)
    }

    /// Its optimiser and settings with every number in its place, so that equal phases read alike.
    pub fn write(&self) -> (&'static str, Options) {
        match *self {
            Phase::Adam(Adam { steps, batch, learning_rate, loss, noise, ramp, clamp }) => {
                let mut options = Options::new()
                    .with("steps", steps)
                    .with("batch", batch)
                    .with("learning_rate", learning_rate)
                    .with("loss", loss.to_string())
                    .with("noise", noise)
                    .with("clamp", clamp);
                if let Some((start, end)) = ramp {
                    options.set("ramp", Value::Wholes(vec![start, end]));
                }
                ("adam", options)
            }
            Phase::Lm(Lm { iterations, samples, per_parameter, settings, discretise, double }) => {
                let options = Options::new()
                    .with("iterations", iterations)
                    .with("samples", samples)
                    .with("per_parameter", per_parameter)
                    .with("pull", settings.pull)
                    .with("clamp", settings.clamp)
                    .with("damping", settings.damping)
                    .with("discretise", discretise)
                    .with("precision", Precision { double }.to_string());
                ("lm", options)
            }
        }
    }

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

/// What is to be said of a setting that an optimiser does not have.
fn foreign(optimiser: &str, own: &[Setting], name: &str, value: &Value) -> Result<(), Error> {
    let has = |settings: &[Setting]| settings.iter().any(|setting| setting.name == name);
    let Some((other, _)) = OPTIMISERS.iter().find(|(_, settings)| has(settings)) else {
        let names: Vec<&str> = own.iter().map(|setting| setting.name).collect();
        return Err(Error::unknown("setting", name, &names));
    };
    let instead = match (name, value) {
        // These hold for every fit, so a phase of lm may say them.
        ("noise", Value::Flag(false)) => return Ok(()),
        ("loss", Value::Text(loss)) if loss == "mse" => return Ok(()),
        ("noise", _) => "lm fits fixed samples, which noise would move: leave noise out".into(),
        ("loss", _) => "lm minimises squares: leave the loss out or write mse".into(),
        _ => format!("{name} is a setting of {other}"),
    };
    Err(Error::Unsupported { what: format!("{name} = {value}"), when: format!("in a phase of {optimiser}"), instead })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Defaults of the declarations are those of the types.
    #[test]
    fn phases_with_nothing_said_are_the_defaults() {
        assert_eq!(Phase::read("adam", &Options::new()).unwrap(), Phase::Adam(Adam::default()));
        assert_eq!(Phase::read("lm", &Options::new()).unwrap(), Phase::Lm(Lm::default()));
    }

    /// Every field differs from its default, so none can be forgotten on the way.
    #[test]
    fn written_phases_read_as_themselves() {
        let adam = Adam {
            steps: 7,
            batch: 3,
            learning_rate: 0.5,
            loss: Loss::Mape,
            noise: false,
            ramp: Some((1, 2)),
            clamp: false,
        };
        let lm = Lm {
            iterations: 5,
            samples: 9,
            per_parameter: 0.0,
            settings: Settings { pull: 0.0, clamp: true, damping: 1.0 },
            discretise: false,
            double: false,
        };
        for phase in [Phase::Adam(adam), Phase::Lm(lm), Phase::Adam(Adam::default()), Phase::Lm(Lm::default())] {
            let (optimiser, options) = phase.write();
            assert_eq!(Phase::read(optimiser, &options).unwrap(), phase);
            // In the form that records keep.
            assert_eq!(options.check(optimiser, settings(optimiser).unwrap()).unwrap(), options);
        }
    }

    #[test]
    fn fits_may_say_what_holds_for_all_of_them() {
        let said = Options::new().with("noise", false).with("loss", "mse");
        assert_eq!(Phase::read("lm", &said).unwrap(), Phase::Lm(Lm::default()));
    }

    #[test]
    fn settings_that_a_phase_does_not_have_are_refused() {
        let text = |optimiser: &str, name: &str, value: Value| {
            Phase::read(optimiser, &Options::new().with(name, value)).unwrap_err().to_string()
        };
        let want = "pull = 0.1 is not available in a phase of adam; pull is a setting of lm";
        assert_eq!(text("adam", "pull", Value::Number(0.1)), want);
        let want =
            "loss = mape is not available in a phase of lm; lm minimises squares: leave the loss out or write mse";
        assert_eq!(text("lm", "loss", Value::Text("mape".into())), want);
        let typo = text("adam", "stpes", Value::Whole(3));
        assert!(typo.starts_with("unknown setting 'stpes'; did you mean 'steps'? (valid: steps, batch,"), "{typo}");
        assert_eq!(text("lm", "iterations", Value::Flag(true)), "iterations is true; it must be a whole number");
        assert_eq!(
            text("adma", "steps", Value::Whole(3)),
            "unknown optimiser 'adma'; did you mean 'adam'? (valid: adam, lm)"
        );
    }
}

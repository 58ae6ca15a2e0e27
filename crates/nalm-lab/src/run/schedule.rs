//! Training schedules as experiment files write them, and as rows keep them.

use super::spec::hex;
use crate::error::{Context, Result, bail};
use nalm::second_order::{Adam, Lm, Phase, Settings, TrainingSchedule};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Phases and when to start over. What is absent is as in the schedule `second-order`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// How often it may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The relative error on held-out data that ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<f64>,
    /// One after the other.
    pub phase: Vec<WrittenPhase>,
}

/// A phase: the fields that its optimiser has.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenPhase {
    /// adam or lm.
    pub optimiser: String,
    /// Updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Samples in a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// The learning rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// mse, pearson or mape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// Whether noisy modules are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<bool>,
    /// First and last step of the penalty's ramp; no penalty if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<[u64; 2]>,
    /// Whether weights are moved into their boxes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamp: Option<bool>,
    /// Iterations of the fit at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Samples of the fit at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Samples for each parameter at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_parameter: Option<f64>,
    /// How strongly weights are pulled to whole numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<f64>,
    /// The damping that the fit starts with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    /// Whether weights are rounded at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discretise: Option<bool>,
    /// f64, or f32 for the network's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
}

impl Written {
    /// The named schedule, written out.
    pub fn named(name: &str) -> Result<Self, nalm::Error> {
        TrainingSchedule::named(name).map(|schedule| Self::of(&schedule))
    }

    /// A schedule with every number in its place, so that equal ones read alike.
    pub fn of(schedule: &TrainingSchedule) -> Self {
        let phase = schedule.phases.iter().map(|phase| match *phase {
            Phase::Adam(Adam { steps, batch, learning_rate, loss, noise, ramp, clamp }) => WrittenPhase {
                optimiser: "adam".into(),
                steps: Some(steps),
                batch: Some(batch),
                learning_rate: Some(learning_rate),
                loss: Some(loss.to_string()),
                noise: Some(noise),
                ramp: ramp.map(|(start, end)| [start, end]),
                clamp: Some(clamp),
                ..WrittenPhase::default()
            },
            Phase::Lm(Lm { iterations, samples, per_parameter, settings, discretise, double }) => {
                let Settings { pull, clamp, damping } = settings;
                WrittenPhase {
                    optimiser: "lm".into(),
                    iterations: Some(iterations),
                    samples: Some(samples),
                    per_parameter: Some(per_parameter),
                    pull: Some(pull),
                    clamp: Some(clamp),
                    damping: Some(damping),
                    discretise: Some(discretise),
                    precision: Some(if double { "f64" } else { "f32" }.into()),
                    ..WrittenPhase::default()
                }
            }
        });
        Self { attempts: Some(schedule.attempts), goal: Some(schedule.goal), phase: phase.collect() }
    }

    /// Its name, or a short one by which it can be told from others.
    pub fn name(&self) -> String {
        let named = nalm::second_order::schedule::list().into_iter().find(|spec| Self::of(&spec.schedule) == *self);
        let text = || serde_json::to_string(self).expect("a schedule is plain data");
        named.map_or_else(|| format!("own-{}", hex(&Sha256::digest(text())[..4])), |spec| spec.name.into())
    }

    /// The schedule, checked.
    pub fn read(&self) -> Result<TrainingSchedule> {
        let usual = TrainingSchedule::default();
        let phases = self.phase.iter().enumerate();
        let checked = |phase: &WrittenPhase| -> Result<Phase> {
            let read = phase.read()?;
            read.check()?;
            Ok(read)
        };
        let phases = phases.map(|(k, phase)| checked(phase).at(|| format!("phase {}", k + 1)));
        let schedule = TrainingSchedule {
            attempts: self.attempts.unwrap_or(usual.attempts),
            goal: self.goal.unwrap_or(usual.goal),
            phases: phases.collect::<Result<_>>()?,
        };
        schedule.check()?;
        Ok(schedule)
    }
}

impl WrittenPhase {
    fn read(&self) -> Result<Phase> {
        let (adam, lm) = (Adam::default(), Lm::default());
        let only = |of: &str, fields: &[(&str, bool)]| match fields.iter().find(|(_, given)| *given) {
            Some((field, _)) => bail!("{field} is a setting of {of}, not of {}", self.optimiser),
            None => Ok(()),
        };
        match self.optimiser.as_str() {
            "adam" => {
                only(
                    "lm",
                    &[
                        ("iterations", self.iterations.is_some()),
                        ("samples", self.samples.is_some()),
                        ("per_parameter", self.per_parameter.is_some()),
                        ("pull", self.pull.is_some()),
                        ("damping", self.damping.is_some()),
                        ("discretise", self.discretise.is_some()),
                        ("precision", self.precision.is_some()),
                    ],
                )?;
                Ok(Phase::Adam(Adam {
                    steps: self.steps.unwrap_or(adam.steps),
                    batch: self.batch.unwrap_or(adam.batch),
                    learning_rate: self.learning_rate.unwrap_or(adam.learning_rate),
                    loss: self.loss.as_deref().map_or(Ok(adam.loss), str::parse)?,
                    noise: self.noise.unwrap_or(adam.noise),
                    ramp: self.ramp.map(|[start, end]| (start, end)),
                    clamp: self.clamp.unwrap_or(adam.clamp),
                }))
            }
            "lm" => {
                only(
                    "adam",
                    &[
                        ("steps", self.steps.is_some()),
                        ("batch", self.batch.is_some()),
                        ("learning_rate", self.learning_rate.is_some()),
                        ("ramp", self.ramp.is_some()),
                    ],
                )?;
                if self.noise == Some(true) {
                    bail!("lm fits fixed samples, which noise would move; leave noise out");
                }
                if self.loss.as_deref().is_some_and(|loss| loss != "mse") {
                    bail!("lm minimises squares; leave the loss out or write mse");
                }
                let double = match self.precision.as_deref() {
                    None => lm.double,
                    Some("f64") => true,
                    Some("f32") => false,
                    Some(other) => return Err(nalm::Error::unknown("precision", other, &["f32", "f64"]).into()),
                };
                Ok(Phase::Lm(Lm {
                    iterations: self.iterations.unwrap_or(lm.iterations),
                    samples: self.samples.unwrap_or(lm.samples),
                    per_parameter: self.per_parameter.unwrap_or(lm.per_parameter),
                    settings: Settings {
                        pull: self.pull.unwrap_or(lm.settings.pull),
                        clamp: self.clamp.unwrap_or(lm.settings.clamp),
                        damping: self.damping.unwrap_or(lm.settings.damping),
                    },
                    discretise: self.discretise.unwrap_or(lm.discretise),
                    double,
                }))
            }
            other => Err(nalm::Error::unknown("optimiser", other, &["adam", "lm"]).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_schedules_survive_being_written() {
        for spec in nalm::second_order::schedule::list() {
            let written = Written::named(spec.name).unwrap();
            assert_eq!(written.read().unwrap(), spec.schedule, "{}", spec.name);
            let text = toml::to_string(&written).unwrap();
            assert_eq!(toml::from_str::<Written>(&text).unwrap(), written, "{}", spec.name);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, hint) in [
            ("phase = [{ optimiser = \"adma\" }]", "did you mean 'adam'"),
            ("phase = [{ optimiser = \"adam\", pull = 0.1 }]", "pull is a setting of lm"),
            ("phase = [{ optimiser = \"lm\", steps = 3 }]", "steps is a setting of adam"),
            ("phase = [{ optimiser = \"lm\", noise = true }]", "leave noise out"),
            ("phase = [{ optimiser = \"lm\", loss = \"mape\" }]", "lm minimises squares"),
            ("phase = [{ optimiser = \"lm\", precision = \"f16\" }]", "precision"),
            (
                "phase = [{ optimiser = \"adam\" }, { optimiser = \"lm\", iterations = 0 }]",
                "phase 2: iterations of a phase is 0",
            ),
            ("phase = [{ optimiser = \"adam\", learning_rate = -3.0 }]", "phase 1: learning rate is -3"),
            ("phase = [{ optimiser = \"adam\", batch = 999999999 }]", "batch of a phase"),
            ("phase = [{ optimiser = \"lm\", samples = 9000000000 }]", "below 2^24"),
            ("phase = [{ optimiser = \"adam\", loss = \"pearsn\" }]", "did you mean 'pearson'"),
            ("attempts = 0\nphase = [{ optimiser = \"adam\" }]", "number of attempts is 0"),
            ("goal = -1.0\nphase = [{ optimiser = \"adam\" }]", "goal of a schedule is -1"),
            ("phase = []", "number of phases"),
        ] {
            let message = format!("{:#}", toml::from_str::<Written>(text).unwrap().read().unwrap_err());
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}

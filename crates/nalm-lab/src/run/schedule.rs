//! Training schedules as experiment files write them, and as rows keep them.

use super::Spec;
use super::spec::{hex, json, setting};
use crate::error::{Context, Error, Result};
use nalm::Options;
use nalm::second_order::{Phase, TrainingSchedule, schedule};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Phases and when to start over. What is absent is as in the schedule `second-order`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, expecting = "[schedule.NAME]")]
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

/// A phase: the settings that its optimiser declares.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct WrittenPhase {
    /// adam or lm.
    pub optimiser: String,
    /// What is chosen of it.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

impl Serialize for WrittenPhase {
    /// In the order of the declarations, because [`Written::name`] depends on it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let optimiser = Value::from(self.optimiser.as_str());
        let declared = schedule::settings(&self.optimiser).unwrap_or_default();
        let chosen = declared.iter().filter_map(|setting| Some((setting.name, self.settings.get(setting.name)?)));
        serializer.collect_map(std::iter::once(("optimiser", &optimiser)).chain(chosen))
    }
}

impl Written {
    /// The named schedule, written out.
    pub fn named(name: &str) -> Result<Self, nalm::Error> {
        TrainingSchedule::named(name).map(|schedule| Self::of(&schedule))
    }

    /// The schedule of a run that has one.
    pub fn of_run(spec: &Spec) -> Result<Option<Self>> {
        Ok(spec.get("schedule").map(|value| serde_json::from_value(value.clone())).transpose()?)
    }

    /// A schedule with every number in its place, so that equal ones read alike.
    pub fn of(schedule: &TrainingSchedule) -> Self {
        let phase = schedule.phases.iter().map(|phase| {
            let (optimiser, options) = phase.write();
            let settings = options.iter().map(|(name, value)| (name.into(), json(value))).collect();
            WrittenPhase { optimiser: optimiser.into(), settings }
        });
        Self { attempts: Some(schedule.attempts), goal: Some(schedule.goal), phase: phase.collect() }
    }

    /// Its name, or a short one by which it can be told from others.
    pub fn name(&self) -> String {
        let named = schedule::list().into_iter().find(|spec| Self::of(&spec.schedule) == *self);
        let text = || serde_json::to_string(self).expect("a schedule is plain data");
        named.map_or_else(|| format!("own-{}", hex(&Sha256::digest(text())[..4])), |spec| spec.name.into())
    }

    /// The schedule, checked.
    pub fn read(&self) -> Result<TrainingSchedule> {
        let usual = TrainingSchedule::default();
        let phases = self.phase.iter().enumerate();
        let phases = phases.map(|(k, phase)| phase.read().at(|| format!("phase {}", k + 1)));
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
        let mut options = Options::new();
        for (name, value) in &self.settings {
            let wrong = || Error::Request(format!("{name} is {value}, which no setting can be"));
            options.set(name, setting(value).ok_or_else(wrong)?);
        }
        Ok(Phase::read(&self.optimiser, &options)?)
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

    /// Exported tables have these names.
    #[test]
    fn schedules_of_ones_own_keep_their_names() {
        let text = "attempts = 1\nphase = [{ optimiser = \"adam\", noise = false }, { optimiser = \"lm\" }]";
        let read = toml::from_str::<Written>(text).unwrap().read().unwrap();
        let of_row = serde_json::from_value::<Written>(serde_json::to_value(Written::of(&read)).unwrap()).unwrap();
        assert_eq!((Written::of(&read).name(), of_row.name()), ("own-7075507b".into(), "own-7075507b".into()));
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
            ("phase = [{ optimiser = \"adam\", stpes = 3 }]", "phase 1: unknown setting 'stpes'; did you mean 'steps'"),
            ("phase = [{ optimiser = \"adam\", steps = -3 }]", "steps is -3; it must be a whole number"),
            ("phase = [{ optimiser = \"adam\", steps = {} }]", "steps is {}, which no setting can be"),
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

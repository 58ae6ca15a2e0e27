//! What is kept of a run: its specification, what was measured, and a hash over the bits of it.

use super::curve::Curve;
use super::{Spec, old_row};
use crate::run::spec::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// How a run ended.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should.
    Completed,
    /// With numbers that are not finite: a result, too.
    Diverged,
    /// It could not be carried out.
    Failed,
}

impl Status {
    /// As rows say it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Completed => "completed",
            Status::Diverged => "diverged",
            Status::Failed => "failed",
        }
    }
}

/// One run. Numbers that are not finite are null.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    /// The hash of the specification.
    pub id: String,
    /// What was run.
    pub spec: Spec,
    /// How it ended.
    pub status: Status,
    /// The step at which it diverged, or the message with which it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it amounts to: one value a name.
    pub metrics: Map<String, Value>,
    /// What it looked like on its way.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub series: Map<String, Value>,
    /// Weights, pictures, and the files of the store that belong to it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub artefacts: Map<String, Value>,
    /// The version of the program.
    pub version: String,
    /// SHA-256 over the bits of everything that was measured and of the final weights.
    pub result_hash: String,
}

impl Row {
    /// The row of a run that ended as `status` says, with nothing measured yet.
    pub fn new(spec: &Spec, status: Status, reason: Option<String>, result_hash: String) -> Self {
        Self {
            id: spec.id(),
            spec: spec.clone(),
            status,
            reason,
            metrics: Map::new(),
            series: Map::new(),
            artefacts: Map::new(),
            version: env!("CARGO_PKG_VERSION").into(),
            result_hash,
        }
    }

    /// The row of a run that could not be carried out.
    pub fn failed(spec: &Spec, message: String) -> Self {
        let hash = hex(&Sha256::digest(message.as_bytes())[..16]);
        Self::new(spec, Status::Failed, Some(message), hash)
    }

    /// A row from a line of a store, in today's form or in one of those before it.
    pub fn from_json(value: Value) -> Option<Self> {
        serde_json::from_value(old_row::upgrade(value)).ok()
    }

    /// A metric that is a number.
    pub fn number(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric)?.as_f64()
    }

    /// A metric that is true or false.
    pub fn flag(&self, metric: &str) -> Option<bool> {
        self.metrics.get(metric)?.as_bool()
    }

    /// Success by the task's first rule.
    pub fn is_solved(&self) -> bool {
        self.flag("solved").unwrap_or(false)
    }

    /// The step at which it was solved by the same rule, if it counts as solved.
    pub fn solved_at(&self) -> Option<f64> {
        self.number("solved_at")
    }

    /// The parameters that the row holds.
    pub fn weights(&self) -> Vec<Option<f32>> {
        let number = |value: &Value| value.as_f64().map(|w| w as f32);
        self.artefacts
            .get("weights")
            .and_then(Value::as_array)
            .map_or(Vec::new(), |all| all.iter().map(number).collect())
    }

    /// Its learning curve, if it was kept.
    pub fn curve(&self) -> Option<Curve> {
        serde_json::from_value(self.series.get("curve")?.clone()).ok()
    }

    /// Whether `other`, of the same specification, has another result. Image runs of the first numerics round by instruction set.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let set = |row: &Self| row.artefacts.get("instructions").cloned();
        self.result_hash != other.result_hash && set(self) == set(other)
    }
}

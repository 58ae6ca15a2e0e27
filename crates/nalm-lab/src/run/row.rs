//! What is kept of a run: its specification, what was measured, and a hash over the bits of it.

use super::curve::Curve;
use super::{Spec, old_row};
use crate::run::spec::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

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
    pub fn from_json(value: Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(old_row::upgrade(value))
    }

    /// Whether the run could not be carried out, so that there is no result.
    pub fn is_failed(&self) -> bool {
        self.status == Status::Failed
    }

    /// Whether its numbers became infinite or none at all: on the way, or where it was judged.
    pub fn has_diverged(&self) -> bool {
        self.status == Status::Diverged || self.metrics.get("validation_error").is_some_and(Value::is_null)
    }

    /// A metric that is a number.
    pub fn number(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric)?.as_f64()
    }

    /// A metric that is true or false.
    pub fn flag(&self, metric: &str) -> Option<bool> {
        self.metrics.get(metric)?.as_bool()
    }

    /// Whether the two may be compared seed by seed: the same seed, and the same version of the numerics.
    pub fn is_twin_of(&self, other: &Row) -> bool {
        let of = |row: &Row| (row.spec.seed(), row.spec.numerics());
        of(self) == of(other)
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
        let weights = self.artefacts.get("weights").and_then(Value::as_array);
        weights.into_iter().flatten().map(number).collect()
    }

    /// Its learning curve, if it was kept.
    pub fn curve(&self) -> Option<Curve> {
        serde_json::from_value(self.series.get("curve")?.clone()).ok()
    }

    /// The same with weights in the shortest form that is the same `f32`, as rows are written. Earlier ones have seventeen digits.
    pub fn normalised(mut self) -> Self {
        if let Some(Value::Array(weights)) = self.artefacts.get_mut("weights") {
            weights.iter_mut().for_each(shorten);
        }
        let curve = self.series.get_mut("curve").and_then(|curve| curve.get_mut("weights"));
        for point in curve.and_then(Value::as_array_mut).into_iter().flatten() {
            point.get_mut(1).and_then(Value::as_array_mut).into_iter().flatten().for_each(shorten);
        }
        self
    }

    /// The names of everything in which `other` has another result. The version of the program is none, but where it differs, only metrics that
    /// both rows have are compared.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (a, b) = (self.clone().normalised(), other.clone().normalised());
        let plain = [
            ("id", a.id != b.id),
            ("spec", a.spec != b.spec),
            ("status", a.status != b.status),
            ("reason", a.reason != b.reason),
            ("result_hash", a.result_hash != b.result_hash),
        ];
        let mut names: Vec<String> =
            plain.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.into()).collect();
        // A later version may measure more.
        let grown = a.version != b.version;
        let parts =
            [(&a.metrics, &b.metrics, grown), (&a.series, &b.series, false), (&a.artefacts, &b.artefacts, false)];
        for (a, b, grown) in parts {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let counts = |key: &&String| !grown || (a.contains_key(*key) && b.contains_key(*key));
            names.extend(keys.into_iter().filter(counts).filter(|key| a.get(*key) != b.get(*key)).cloned());
        }
        names
    }

    /// What contradicts `other`, of the same specification. Image runs of the first numerics round by instruction set.
    pub fn conflict_with(&self, other: &Self) -> Option<String> {
        let set = |row: &Self| row.artefacts.get("instructions").filter(|_| row.spec.numerics() == 1).cloned();
        let excused = set(self).zip(set(other)).is_some_and(|(a, b)| a != b);
        let differences = self.differences(other);
        (!differences.is_empty() && !excused).then(|| differences.join(", "))
    }
}

/// A number as the shortest decimal that is the same `f32`.
fn shorten(value: &mut Value) {
    let Some(number) = value.as_f64() else { return };
    let narrow = number as f32;
    let short: f64 = narrow.to_string().parse().unwrap_or(number);
    // Never at the price of a bit.
    if (short as f32).to_bits() == narrow.to_bits() {
        *value = short.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row() -> Row {
        let spec = crate::run::spec::tests::spec("nmu");
        let mut row = Row::new(&spec, Status::Completed, None, "ab".into());
        row.metrics = json!({"solved": true, "test_error": 0.1}).as_object().unwrap().clone();
        row.artefacts = json!({"weights": [0.1f32, 1.0, null]}).as_object().unwrap().clone();
        row.series = json!({"curve": {"errors": [], "weights": [[0, [0.7f32, null]]]}}).as_object().unwrap().clone();
        row
    }

    #[test]
    fn weights_are_written_as_the_shortest_decimal_that_is_the_same_number() {
        let short = row().normalised();
        assert_eq!(serde_json::to_string(&short.artefacts["weights"]).unwrap(), "[0.1,1.0,null]");
        assert_eq!(serde_json::to_string(&short.series["curve"]["weights"]).unwrap(), "[[0,[0.7,null]]]");
        assert_eq!(short.weights(), row().weights());
        assert_eq!(short.clone().normalised(), short);
        let mut bits = 1u32;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = f32::from_bits(bits);
            if number.is_finite() {
                let mut value = Value::from(number);
                shorten(&mut value);
                assert_eq!((value.as_f64().unwrap() as f32).to_bits(), bits, "{number:e}");
            }
        }
    }

    /// Whatever is changed in a row, it is another result; how a number is written is not.
    #[test]
    fn every_change_is_a_difference() {
        let first = row();
        assert!(first.differences(&first.clone().normalised()).is_empty());
        let changed = |name: &str, change: fn(&mut Row)| {
            let mut other = row();
            change(&mut other);
            assert_eq!(first.differences(&other), [name]);
            assert_eq!(first.conflict_with(&other).as_deref(), Some(name));
        };
        changed("status", |row| row.status = Status::Diverged);
        changed("reason", |row| row.reason = Some("step 3".into()));
        changed("result_hash", |row| row.result_hash = "ac".into());
        changed("solved", |row| _ = row.metrics.insert("solved".into(), false.into()));
        changed("best_step", |row| _ = row.metrics.insert("best_step".into(), 3.into()));
        changed("test_error", |row| _ = row.metrics.remove("test_error"));
        changed("curve", |row| _ = row.series.remove("curve"));
        changed("weights", |row| row.artefacts["weights"][0] = json!(0.100_000_01));
        changed("spec", |row| row.spec = row.spec.with("seed", 7));
        changed("id", |row| row.id = "other".into());
        let mut later = row();
        later.metrics.insert("new".into(), 1.into());
        later.version = "9.9.9".into();
        assert!(first.differences(&later).is_empty());
        later.metrics.insert("solved".into(), false.into());
        assert_eq!(first.differences(&later), ["solved"]);
        // Only rows of the first numerics, and only if both name their instructions.
        let on = |set: &str, version: u64, hash: &str| {
            let mut row = Row { spec: row().spec.with("numerics", version), result_hash: hash.into(), ..row() };
            row.artefacts.insert("instructions".into(), set.into());
            row
        };
        assert_eq!(on("avx2", 1, "ab").conflict_with(&on("avx512", 1, "ac")), None);
        assert_eq!(on("avx2", 1, "ab").conflict_with(&on("avx2", 1, "ac")).as_deref(), Some("result_hash"));
        assert!(on("avx2", 1, "ac").conflict_with(&first).is_some());
        assert!(on("avx2", 2, "ab").conflict_with(&on("avx512", 2, "ac")).is_some());
    }
}

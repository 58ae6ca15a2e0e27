//! What is kept of a run: its specification, its outcome, and a hash over the bits of both.

use crate::curve::Curve;
use crate::runspec::{RunSpec, hex};
use crate::tensors::{MOST_IN_ROW, Tensors};
use nalm::{Network, Outcome, Status, Verdict};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A number under the flat and under the simulated threshold.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Both<T> {
    pub(crate) flat: Option<T>,
    pub(crate) simulated: Option<T>,
}

/// One run. Numbers that are not finite are absent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) spec: RunSpec,
    /// completed, diverged or failed.
    pub(crate) status: String,
    /// The step at which it diverged, or the message with which it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) solved: Both<bool>,
    pub(crate) solved_at: Both<u64>,
    pub(crate) last_row_solved: Both<bool>,
    pub(crate) stays_solved: Both<f64>,
    pub(crate) best_step: u64,
    pub(crate) validation_error: Option<f64>,
    pub(crate) test_error: Option<f64>,
    pub(crate) sparsity_error: Option<f64>,
    /// All parameters; of more than a thousand, only the last layer's.
    pub(crate) weights: Vec<Option<f32>>,
    /// Where in the store the others are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) curve: Option<Curve>,
    /// How often a schedule began, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempts: Option<u64>,
    pub(crate) version: String,
    /// SHA-256 over the bits of the logged errors and of the final weights.
    pub(crate) result_hash: String,
}

impl Row {
    /// The row of a run that was carried out.
    pub(crate) fn new(spec: &RunSpec, outcome: &Outcome<f32>, curve: Option<Curve>) -> Self {
        let (status, reason) = match outcome.status {
            Status::Diverged { step } => ("diverged", Some(format!("step {step}"))),
            Status::Completed | Status::Cancelled { .. } => ("completed", None),
        };
        let finite = |x: f64| x.is_finite().then_some(x);
        Self {
            id: spec.id(),
            spec: spec.clone(),
            status: status.into(),
            reason,
            solved: both(outcome, |v| Some(v.solved)),
            solved_at: both(outcome, |v| v.solved_at.filter(|_| v.solved)),
            last_row_solved: both(outcome, |v| Some(v.last_row_solved)),
            stays_solved: both(outcome, |v| v.stays_solved),
            best_step: outcome.best_step,
            validation_error: finite(outcome.validation_error),
            test_error: finite(outcome.test_error),
            sparsity_error: finite(outcome.sparsity_error),
            weights: outcome.params.iter().map(|w| w.is_finite().then_some(*w)).collect(),
            weights_file: None,
            curve,
            attempts: spec.schedule.as_ref().map(|_| outcome.reinitialisations + 1),
            version: env!("CARGO_PKG_VERSION").into(),
            result_hash: result_hash(outcome),
        }
    }

    /// The row of a run that could not be carried out: a result, too.
    pub(crate) fn failed(spec: &RunSpec, message: String) -> Self {
        Self {
            id: spec.id(),
            spec: spec.clone(),
            status: "failed".into(),
            result_hash: hex(&Sha256::digest(message.as_bytes())[..16]),
            reason: Some(message),
            solved: Both { flat: Some(false), simulated: Some(false) },
            solved_at: Both::default(),
            last_row_solved: Both::default(),
            stays_solved: Both::default(),
            best_step: 0,
            validation_error: None,
            test_error: None,
            sparsity_error: None,
            weights: Vec::new(),
            weights_file: None,
            curve: None,
            attempts: None,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Moves the parameters out of the row if they are too many for it, and returns them.
    pub(crate) fn take_tensors(&mut self, network: &Network<f32>, params: &[f32]) -> Option<Tensors> {
        if params.len() <= MOST_IN_ROW {
            return None;
        }
        let last = network.layers().len() - 1;
        let own = network.layer_params(params, last);
        let kept = if last > 0 && own.len() <= MOST_IN_ROW { own.len() } else { 0 };
        self.weights.drain(..params.len() - kept);
        self.weights_file = Some(format!("weights/{}.safetensors", self.id));
        Some(Tensors::new(network, params))
    }

    /// Success by the task's first rule: flat where there is one.
    pub(crate) fn is_solved(&self) -> bool {
        self.solved.flat.or(self.solved.simulated).unwrap_or(false)
    }

    /// Solved-at by the same rule.
    pub(crate) fn solved_step(&self) -> Option<u64> {
        if self.solved.flat.is_some() { self.solved_at.flat } else { self.solved_at.simulated }
    }
}

fn both<T>(outcome: &Outcome<f32>, f: impl Fn(&Verdict) -> Option<T>) -> Both<T> {
    Both { flat: outcome.flat.as_ref().and_then(&f), simulated: f(&outcome.simulated) }
}

fn result_hash(outcome: &Outcome<f32>) -> String {
    let mut hash = Sha256::new();
    for row in &outcome.rows {
        hash.update(row.step.to_le_bytes());
        for number in [row.validation, row.test, row.sparsity] {
            // All NaNs are one, whatever their payload.
            hash.update(if number.is_nan() { u64::MAX } else { number.to_bits() }.to_le_bytes());
        }
    }
    for weight in &outcome.params {
        hash.update(if weight.is_nan() { u32::MAX } else { weight.to_bits() }.to_le_bytes());
    }
    hex(&hash.finalize()[..16])
}

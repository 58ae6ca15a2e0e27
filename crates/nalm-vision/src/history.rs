//! What is measured on the way of a run, and kept of it.

use crate::score::{Confusion, Score};
use serde::{Deserialize, Serialize};

/// JSON has no NaN: numbers that are not finite are written as null, and read back as NaN.
mod finite {
    use serde::{Deserialize, Deserializer};

    pub(crate) fn one<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
    }

    pub(crate) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f32>, D::Error> {
        let all = Vec::<Option<f32>>::deserialize(from)?;
        Ok(all.into_iter().map(|number| number.unwrap_or(f32::NAN)).collect())
    }
}

/// What was measured so far.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum History {
    /// Of a static task.
    Product(Vec<ProductMeasurement>),
    /// Of the sequential task.
    Sequence(Vec<SequenceMeasurement>),
}

impl History {
    /// What was measured of a static task; nothing of another one.
    pub fn products(&self) -> &[ProductMeasurement] {
        match self {
            History::Product(all) => all,
            History::Sequence(_) => &[],
        }
    }

    /// What was measured of the sequential task; nothing of another one.
    pub fn sequences(&self) -> &[SequenceMeasurement] {
        match self {
            History::Product(_) => &[],
            History::Sequence(all) => all,
        }
    }
}

/// The state of a static task after `epoch` epochs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ProductMeasurement {
    /// Epochs done.
    pub epoch: u64,
    /// On training pairs and training images.
    pub train: Score,
    /// On samples of training pairs that are held back, in the colour task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<Score>,
    /// On held-out pairs of test images.
    pub test: Score,
    /// The head's weights.
    #[serde(deserialize_with = "finite::list")]
    pub weights: Vec<f32>,
    /// Share of the last epoch's updates after which the weights were not all exactly 1.
    pub off_one: f64,
    /// What was taken for what on the test pairs, in the last row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
}

/// How good predictions on sequences of one length are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Part {
    /// Mean squared error over all steps; none if it is not finite.
    pub error: Option<f64>,
    /// Share of all products that are right after rounding.
    pub rounded: f64,
    /// The same of the last products.
    pub rounded_last: f64,
}

/// The state of the sequential task after `epoch` epochs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SequenceMeasurement {
    /// Epochs done.
    pub epoch: u64,
    /// Updates done.
    pub step: u64,
    /// On the training images, two at a time in an order of their own.
    pub train: Part,
    /// On the held-back images, two at a time.
    pub valid: Part,
    /// On the test images, by length from one on.
    pub test: Vec<Part>,
    /// The cell's weights.
    #[serde(deserialize_with = "finite::list")]
    pub weights: Vec<f32>,
    /// How far they are from 0 or 1.
    #[serde(deserialize_with = "finite::one")]
    pub sparsity: f64,
}

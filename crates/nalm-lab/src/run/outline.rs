//! What a row says without its weights, curves and pictures, which are most of its bytes.

use super::{Row, Spec, Status};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The short parts of a row.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Outline {
    /// What was run.
    pub spec: Spec,
    /// How it ended.
    pub status: Status,
    /// What it amounts to.
    pub metrics: Map<String, Value>,
}

impl Outline {
    /// Reads the short parts of a row's JSON.
    pub fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        // Rows of earlier versions have these parts elsewhere.
        serde_json::from_slice(text).or_else(|_| {
            let Row { spec, status, metrics, .. } = serde_json::from_slice(text).and_then(Row::from_json)?;
            Ok(Self { spec, status, metrics })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_outline_is_the_row_without_its_long_parts() {
        let spec = crate::run::spec::tests::spec("nmu");
        let mut old = serde_json::to_value(&spec).unwrap();
        let more = json!({"id": spec.id(), "status": "completed", "solved": {"flat": true, "simulated": false}, "best_step": 3,
            "weights": [1.0], "version": "0.1.0", "result_hash": "ab"});
        old.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let row = Row::from_json(old.clone()).unwrap();
        for text in [old.to_string(), serde_json::to_string(&row).unwrap()] {
            let outline = Outline::read(text.as_bytes()).unwrap();
            assert_eq!(
                (outline.spec, outline.status, outline.metrics),
                (row.spec.clone(), row.status, row.metrics.clone())
            );
        }
    }
}

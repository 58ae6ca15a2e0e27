//! What a row says without its weights, curves and pictures, which are most of its bytes.

use super::{Spec, Status, old_row};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

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

/// The long parts, in today's form and in those before it. The history of an image run is what old rows have their metrics in.
const LONG: [&str; 5] = ["artefacts", "series", "weights", "curve", "pictures"];

impl Outline {
    /// Reads the short parts of a row's JSON.
    pub fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        let Short(map) = serde_json::from_slice(text)?;
        serde_json::from_value(old_row::upgrade(map.into()))
    }
}

/// An object without its long parts.
struct Short(Map<String, Value>);

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = Short;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Short, A::Error> {
                let mut map = Map::new();
                while let Some(key) = parts.next_key::<String>()? {
                    match LONG.contains(&key.as_str()) {
                        true => _ = parts.next_value::<IgnoredAny>()?,
                        false => _ = map.insert(key, parts.next_value()?),
                    }
                }
                Ok(Short(map))
            }
        }
        deserializer.deserialize_map(Parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Row;
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

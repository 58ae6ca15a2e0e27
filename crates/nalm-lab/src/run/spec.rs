//! One run, completely described: everything that affects its result, and nothing else.

use nalm::{Options, Value as Setting};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Everything that affects the result of a run, as JSON that reads the same for ever. Its task knows what the keys mean; values that
/// differ from the published ones stand in the inner objects `options`, `problem` and `settings`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Spec(Map<String, Value>);

impl TryFrom<Map<String, Value>> for Spec {
    type Error = &'static str;
    fn try_from(map: Map<String, Value>) -> Result<Self, Self::Error> {
        let whole = |key: &str| map.get(key).is_some_and(Value::is_u64);
        match map.get("task") {
            Some(Value::String(_)) if whole("seed") && whole("numerics") => Ok(Self(map)),
            _ => Err("a specification needs a task, a seed and a version of the numerics"),
        }
    }
}

impl Spec {
    /// The first 128 bits of the SHA-256 of the specification's canonical JSON (sorted keys, shortest numbers).
    pub fn id(&self) -> String {
        let text = serde_json::to_string(&self.0).expect("a map of texts is JSON");
        hex(&Sha256::digest(text.as_bytes())[..16])
    }

    /// The task's name.
    pub fn task(&self) -> &str {
        self.text("task")
    }

    /// The module's name; empty for a stack.
    pub fn module(&self) -> &str {
        let of = |key| self.0.get(key).and_then(Value::as_str);
        of("module").or_else(|| of("head")).unwrap_or_default()
    }

    /// The seed, or the fold.
    pub fn seed(&self) -> u64 {
        self.whole("seed").unwrap_or_default()
    }

    /// The run in a few words, without its seed: its model with what was chosen of it, and what it is trained on.
    pub fn about(&self) -> String {
        let layers = self.0.get("layers").and_then(Value::as_array);
        let names = layers.map(|all| all.iter().filter_map(|layer| layer["module"].as_str()).collect::<Vec<_>>());
        let model = names.map_or_else(|| self.module().into(), |names| names.join("-"));
        let chosen = self
            .inner()
            .flatten()
            .map(|(name, value)| format!(" {name}={}", value.as_str().map_or_else(|| value.to_string(), String::from)));
        let on = if self.text("range").is_empty() { self.task() } else { self.text("range") };
        format!("{model}{} on {on}", chosen.collect::<String>())
    }

    /// The version of the numerics.
    pub fn numerics(&self) -> u64 {
        self.whole("numerics").unwrap_or_default()
    }

    /// A value, at the top or in an inner object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let inner = || self.inner().find_map(|object| object.get(key));
        self.0.get(key).or_else(inner)
    }

    /// A text; empty if there is none.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A whole number.
    pub fn whole(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(Value::as_u64)
    }

    /// A list of numbers.
    pub fn numbers(&self, key: &str) -> Option<Vec<f64>> {
        self.get(key)?.as_array()?.iter().map(Value::as_f64).collect()
    }

    /// The same with another value at the top.
    pub fn with(&self, key: &str, value: impl Into<Value>) -> Self {
        let mut map = self.0.clone();
        map.insert(key.into(), value.into());
        Self(map)
    }

    /// Whether it is another one, or differs from it by its seed alone.
    pub(crate) fn differs_in_seed(&self, other: &Self) -> bool {
        let same = |(a, b): ((&String, &Value), (&String, &Value))| a == b || (a.0 == b.0 && a.0 == "seed");
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }

    /// Its keys and values.
    pub fn map(&self) -> &Map<String, Value> {
        &self.0
    }

    fn inner(&self) -> impl Iterator<Item = &Map<String, Value>> {
        ["options", "problem", "settings"].into_iter().filter_map(|key| self.0.get(key)?.as_object())
    }

    /// Everything in the inner objects, and `more` of the top, as the core and the image tasks take it.
    pub fn options(&self, more: &[&str]) -> Options {
        let mut options = Options::new();
        let top = more.iter().filter_map(|key| self.0.get_key_value(*key));
        for (name, value) in self.inner().flatten().chain(top) {
            if let Some(value) = setting(value) {
                options.set(name, value);
            }
        }
        options
    }
}

/// A value of a setting from JSON, where it can be one.
pub fn setting(value: &Value) -> Option<Setting> {
    Some(match value {
        Value::Bool(flag) => Setting::Flag(*flag),
        Value::Number(number) => {
            number.as_u64().map_or_else(|| number.as_f64().map(Setting::Number), |n| Some(Setting::Whole(n)))?
        }
        Value::String(text) => Setting::Text(text.clone()),
        Value::Array(all) => Setting::Numbers(all.iter().map(Value::as_f64).collect::<Option<_>>()?),
        Value::Null | Value::Object(_) => return None,
    })
}

/// A value of a setting as JSON.
pub fn json(value: &Setting) -> Value {
    match value {
        Setting::Flag(flag) => (*flag).into(),
        Setting::Whole(n) => (*n).into(),
        Setting::Number(x) => (*x).into(),
        Setting::Wholes(all) => all.clone().into(),
        Setting::Numbers(all) => all.clone().into(),
        Setting::Text(text) => text.clone().into(),
        other => other.to_string().into(),
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    /// A run of a single module, as the record has them.
    pub(crate) fn spec(module: &str) -> Spec {
        let value = json!({"task": "single-module", "operation": "mul", "inputs": 2, "range": "U[1,2)", "test_range": "U[2,6)",
            "module": module, "options": {}, "seed": 0, "stream": "fast", "steps": 1000, "numerics": 1});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn identity_depends_on_everything_and_is_stable() {
        let a = spec("nmu");
        assert_eq!(a.id(), "8898e1f3a646730af4bd88e8710b8f9c");
        let others =
            [a.with("seed", 1), a.with("range", "U[1,3)"), a.with("options", json!({"noise": "batch"})), spec("snmu")];
        let mut ids: Vec<String> = others.iter().chain([&a]).map(Spec::id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 5);
    }

    #[test]
    fn inner_objects_are_read_as_options() {
        let spec = spec("snmu")
            .with("options", json!({"noise": "U[1,2]", "ramp": [1, 2]}))
            .with("problem", json!({"subset": 0.5}));
        let options = spec.options(&["inputs"]);
        assert_eq!(options.get("noise"), Some(&Setting::Text("U[1,2]".into())));
        assert_eq!(options.get("ramp"), Some(&Setting::Numbers(vec![1.0, 2.0])));
        assert_eq!(
            (options.get("subset"), options.get("inputs")),
            (Some(&Setting::Number(0.5)), Some(&Setting::Whole(2)))
        );
        assert_eq!((spec.text("noise"), spec.whole("nothing")), ("U[1,2]", None));
    }
}

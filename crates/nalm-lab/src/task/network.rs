//! Stacks of layers as experiment files write them, and the options of modules.

use super::catalogue::{Catalogue, alias};
use crate::error::{Error, Result, bail};
use crate::run::spec::{json, setting};
use nalm::{Network, Options, architecture};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json as value};

/// A layer of a stack: `"nau 100->3"`, or the same as a table with options.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Value", into = "Map<String, Value>")]
pub struct Layer(pub architecture::Layer);

/// What a layer has besides its module's options.
const KEYS: [&str; 6] = ["module", "inputs", "outputs", "steps", "state", "options"];

impl TryFrom<Value> for Layer {
    type Error = Error;
    fn try_from(written: Value) -> Result<Self> {
        let mut given = match written {
            Value::String(text) => return Ok(Self(text.parse()?)),
            Value::Object(given) => given,
            other => bail!(
                "a layer is {other}; write it as text, such as \"nau 100->3\", or as a table, such as {{ module = \"nau\", outputs = 3 }}"
            ),
        };
        let module = match given.remove("module") {
            Some(Value::String(module)) => module,
            Some(other) => bail!("the module of a layer is {other}; it must be a name in quotes"),
            None => {
                let is_near = |key: &&String| nalm::Error::nearest(key, &KEYS[..1]).is_some();
                let instead =
                    given.keys().find(is_near).map_or(String::new(), |key| format!("; is {key} meant to be module?"));
                bail!("a layer has no module; write {{ module = \"nau\", outputs = 3 }}{instead}")
            }
        };
        let mut whole = |key: &str| match given.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let wrong =
                    || Error::Request(format!("{key} of the layer {module} is {value}; it must be a whole number"));
                value.as_u64().and_then(|n| usize::try_from(n).ok()).map(Some).ok_or_else(wrong)
            }
        };
        let [inputs, outputs, steps] = [whole("inputs")?, whole("outputs")?, whole("steps")?];
        let state = match given.remove("state") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let wrong = || Error::Request(format!("state of the layer {module} is {value}; it must be a number"));
                Some(value.as_f64().ok_or_else(wrong)?)
            }
        };
        // As rows keep them, options stand in an object of their own; files write them beside the name.
        if let Some(Value::Object(inner)) = given.remove("options") {
            given.extend(inner);
        }
        let mut options = Options::new();
        for (name, value) in &given {
            // What is no value of any setting is refused when the module checks it.
            options.set(name, setting(value).unwrap_or_else(|| value.to_string().into()));
        }
        Ok(Self(architecture::Layer { module, inputs, outputs, steps, state, options, ..Default::default() }))
    }
}

impl From<Layer> for Map<String, Value> {
    /// As rows keep it: what was given, options in an object of their own.
    fn from(Layer(layer): Layer) -> Self {
        let options: Map<String, Value> =
            layer.options.iter().map(|(name, value)| (name.into(), json(value))).collect();
        let architecture::Layer { module, inputs, outputs, steps, state, .. } = layer;
        let options = (!options.is_empty()).then_some(options);
        let all = value!({"module": module, "inputs": inputs, "outputs": outputs, "steps": steps, "state": state, "options": options});
        let all = all.as_object().cloned().unwrap_or_default();
        all.into_iter().filter(|(_, value)| !value.is_null()).collect()
    }
}

/// The names of a stack's layers in tables and figures.
pub fn label(catalogue: &Catalogue, layers: &[Layer]) -> String {
    layers.iter().map(|Layer(layer)| catalogue.label(&layer.module)).collect::<Vec<_>>().join("-")
}

/// A stack of layers.
pub fn stack(catalogue: &Catalogue, layers: &[Layer], inputs: usize) -> Result<Network<f32>> {
    let layers = layers.iter().map(|Layer(layer)| plain(catalogue, layer)).collect::<Result<Vec<_>>>()?;
    Ok(architecture::stack(&layers, inputs, &|name| catalogue.module(name).map(|entry| entry.single.clone()))?)
}

/// A layer with the module and the option that an alias stands for.
fn plain(catalogue: &Catalogue, layer: &architecture::Layer) -> Result<architecture::Layer> {
    let Some(alias) = alias(&layer.module) else { return Ok(layer.clone()) };
    let options = catalogue.module(alias.module)?.single.options;
    let Some(declared) = options.iter().find(|option| option.name == alias.option) else {
        bail!("{} is a way to train {}, and no layer; use {}", alias.name, alias.module, alias.module);
    };
    let mut layer = architecture::Layer { module: alias.module.into(), ..layer.clone() };
    if layer.options.get(alias.option).is_none() {
        layer.options.set(alias.option, declared.parse(alias.value)?);
    }
    Ok(layer)
}

/// The options of a module or alias, checked.
pub fn options(catalogue: &Catalogue, module: &str, given: &Options) -> Result<Options> {
    let spec = &catalogue.module(module)?.single;
    let mut options = Options::new();
    if let Some(alias) = alias(module)
        && let Some(declared) = spec.options.iter().find(|option| option.name == alias.option)
    {
        options.set(alias.option, declared.parse(alias.value)?);
    }
    let own = given.iter().filter(|(name, _)| spec.options.iter().any(|option| option.name == *name));
    own.for_each(|(name, value)| options.set(name, value.clone()));
    Ok(options.check(spec.name, spec.options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_written_as_text_or_as_tables() {
        let catalogue = Catalogue::default();
        let text = r#"["nau 100->3", {"module": "nau", "outputs": 2}, {"module": "snmu", "noise": "U[1,2]"}]"#;
        let layers: Vec<Layer> = serde_json::from_str(text).unwrap();
        assert_eq!(label(&catalogue, &layers), "NAU-NAU-sNMU");
        assert_eq!(stack(&catalogue, &layers, 100).unwrap().param_len(), 300 + 6 + 2);
        // As a row keeps it, and back.
        let kept = serde_json::to_string(&layers).unwrap();
        let want = r#"[{"inputs":100,"module":"nau","outputs":3},{"module":"nau","outputs":2},{"module":"snmu","options":{"noise":"U[1,2]"}}]"#;
        assert_eq!(kept, want);
        assert_eq!(serde_json::from_str::<Vec<Layer>>(&kept).unwrap(), layers);
        // What an alias stands for is part of the layer.
        let network = |text: &str| stack(&catalogue, &serde_json::from_str::<Vec<Layer>>(text).unwrap(), 2);
        let noise = |text: &str| format!("{:?}", network(text).unwrap().layers()[1]);
        let batch = noise(r#"["nau 2->2", "snmu-batch"]"#);
        assert_eq!(batch, noise(r#"["nau 2->2", {"module": "snmu", "noise": "batch"}]"#));
        assert_ne!(batch, noise(r#"["nau 2->2", "snmu"]"#));
        assert_eq!(network(r#"["nau 2->2", "mlp-1"]"#).unwrap().param_len(), 4 + 5);
        let training = network(r#"["nau 2->2", "nmu-grad-noise"]"#).unwrap_err().to_string();
        assert!(training.contains("is a way to train nmu, and no layer"), "{training}");
        let error = serde_json::from_str::<Layer>("\"nau 4>3\"").unwrap_err().to_string();
        assert!(error.contains("write it like \"nau 100->3\""), "{error}");
        for (text, want) in [
            ("3", "a layer is 3; write it as text, such as \"nau 100->3\", or as a table"),
            (r#"["nmu"]"#, "a layer is [\"nmu\"]; write it as text"),
            (
                r#"{"modul": "nmu"}"#,
                "a layer has no module; write { module = \"nau\", outputs = 3 }; is modul meant to be module?",
            ),
            (r#"{"outputs": 3}"#, "a layer has no module; write { module = \"nau\", outputs = 3 }"),
            (r#"{"module": "nau", "inputs": "x"}"#, "inputs of the layer nau is \"x\"; it must be a whole number"),
        ] {
            let error = serde_json::from_str::<Layer>(text).unwrap_err().to_string();
            assert!(error.starts_with(want), "{text}: {error}");
        }
    }
}

//! Networks from names: the task's own, with the unit behind its front, or a stack of layers as experiment files write them.

use super::catalogue::{Catalogue, alias};
use crate::error::{Context, Error, Result, bail, ensure};
use crate::run::spec::setting;
use nalm::module::{Dispatch, Shape};
use nalm::task::FrontLayer;
use nalm::{Network, Options, Recurrent};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A layer of a stack: `"nau 100->3"`, or the same as a table with options.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(from = "Written")]
pub struct Layer {
    /// The module's name.
    pub module: String,
    /// Its inputs; those that the layer before has as outputs, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<usize>,
    /// Its outputs; one, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<usize>,
    /// Steps of a recurrence of which the module is the cell; not recurrent if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// The state that a recurrence starts from; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<f64>,
    /// Options of the module.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
}

/// The two ways to write a layer.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Table {
        module: String,
        inputs: Option<usize>,
        outputs: Option<usize>,
        steps: Option<usize>,
        state: Option<f64>,
        #[serde(flatten)]
        options: Map<String, Value>,
    },
}

impl From<Written> for Layer {
    fn from(written: Written) -> Self {
        match written {
            Written::Table { module, inputs, outputs, steps, state, mut options } => {
                // As rows keep them, options stand in an object of their own; files write them beside the name.
                if let Some(Value::Object(inner)) = options.remove("options") {
                    options.extend(inner);
                }
                Layer { module, inputs, outputs, steps, state, options }
            }
            Written::Text(text) => {
                let mut words = text.split_whitespace();
                let module = words.next().unwrap_or_default().to_string();
                let sizes = words.next().and_then(|sizes| {
                    let (inputs, outputs) = sizes.split_once("->").or_else(|| sizes.split_once('→'))?;
                    Some((inputs.parse().ok()?, outputs.parse().ok()?))
                });
                match (sizes, words.next(), text.split_whitespace().count()) {
                    (None, None, 0 | 1) => Layer { module, ..Layer::default() },
                    (Some((inputs, outputs)), None, _) => {
                        Layer { module, inputs: Some(inputs), outputs: Some(outputs), ..Layer::default() }
                    }
                    // Kept whole, so that checking it names it.
                    _ => Layer { module: text, ..Layer::default() },
                }
            }
        }
    }
}

/// The names of a stack's layers in tables and figures.
pub fn label(catalogue: &Catalogue, layers: &[Layer]) -> String {
    layers.iter().map(|layer| catalogue.label(&layer.module)).collect::<Vec<_>>().join("-")
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

/// The task's own network: its front, and the unit with one output.
pub fn unit(
    catalogue: &Catalogue,
    front: &[FrontLayer],
    module: &str,
    inputs: usize,
    given: &Options,
) -> Result<Network<f32>> {
    let mut layers: Vec<Box<dyn Dispatch<f32>>> = Vec::new();
    let mut inputs = inputs;
    for layer in front {
        let spec = &catalogue.module(layer.module)?.single;
        layers.push((spec.build)(Shape::new(inputs, layer.outputs)?, &Options::new())?);
        inputs = layer.outputs;
    }
    let spec = &catalogue.module(module)?.single;
    layers.push((spec.build)(Shape::new(inputs, 1)?, &options(catalogue, module, given)?)?);
    Ok(Network::new(layers)?)
}

/// A stack of layers; shapes are inferred where they can be.
pub fn stack(catalogue: &Catalogue, layers: &[Layer], inputs: usize) -> Result<Network<f32>> {
    ensure!(!layers.is_empty(), "a stack needs at least one layer, such as layers = [\"nau 100->2\", \"nmu\"]");
    let mut built: Vec<Box<dyn Dispatch<f32>>> = Vec::new();
    let mut before = inputs;
    for (k, layer) in layers.iter().enumerate() {
        let place = || format!("layer {} ({})", k + 1, layer.module);
        let (unit, outputs) = one(catalogue, layer, before).at(place)?;
        built.push(unit);
        before = outputs;
    }
    ensure!(before == 1, "the last layer has {before} outputs; tasks have one target, so give it one");
    Ok(Network::new(built)?)
}

fn one(catalogue: &Catalogue, layer: &Layer, before: usize) -> Result<(Box<dyn Dispatch<f32>>, usize)> {
    if layer.module.contains(char::is_whitespace) {
        bail!("cannot read the layer '{}'; write it like \"nau 100->3\" or \"nmu\"", layer.module);
    }
    let spec = &catalogue.module(&layer.module)?.single;
    let mut given = Options::new();
    for (name, value) in &layer.options {
        nalm::setting::find(spec.name, spec.options, name)?;
        let wrong = || Error::Request(format!("{name} = {value} is no value of an option"));
        given.set(name, setting(value).ok_or_else(wrong)?);
    }
    let options = options(catalogue, &layer.module, &given)?;
    let outputs = layer.outputs.unwrap_or(1);
    let fits = |inputs: usize| match layer.inputs {
        Some(given) if given != inputs => {
            Err(Error::Core(nalm::Error::Shape { what: "inputs of the layer".into(), got: given, want: inputs }))
        }
        _ => Ok(inputs),
    };
    let Some(steps) = layer.steps else {
        ensure!(layer.state.is_none(), "state is for a recurrent layer; give its steps, too");
        return Ok(((spec.build)(Shape::new(fits(before)?, outputs)?, &options)?, outputs));
    };
    ensure!(
        steps > 0 && before.is_multiple_of(steps),
        "{before} inputs cannot be cut into {steps} steps; give steps that divide them"
    );
    let cell = (spec.build)(Shape::new(fits(before / steps + outputs)?, outputs)?, &options)?;
    Ok((Box::new(Recurrent::new(cell, steps, layer.state.unwrap_or(1.0))?), outputs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(json: &str) -> Vec<Layer> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn stacks_are_written_as_text_or_as_tables() {
        let catalogue = Catalogue::default();
        let text = r#"["nau 100->3", {"module": "nau", "outputs": 2}, {"module": "snmu", "noise": "U[1,2]"}]"#;
        let stack = layers(text);
        assert_eq!(label(&catalogue, &stack), "NAU-NAU-sNMU");
        let network = super::stack(&catalogue, &stack, 100).unwrap();
        assert_eq!(network.param_len(), 300 + 6 + 2);
        // As a row keeps it, and back.
        let kept = serde_json::to_string(&stack).unwrap();
        assert_eq!(
            kept,
            r#"[{"module":"nau","inputs":100,"outputs":3},{"module":"nau","outputs":2},{"module":"snmu","options":{"noise":"U[1,2]"}}]"#
        );
        assert_eq!(layers(&kept), stack);
    }

    #[test]
    fn a_cell_is_used_along_the_inputs() {
        let catalogue = Catalogue::default();
        let network = stack(&catalogue, &layers(r#"[{"module": "nmu", "steps": 4}]"#), 4).unwrap();
        assert_eq!(network.param_len(), 2);
        assert_eq!(network.predict(&[1.0, 1.0], &[1.0, 2.0, 3.0, 4.0]).unwrap(), [24.0]);
    }

    #[test]
    fn mistakes_are_named_with_the_layer() {
        let catalogue = Catalogue::default();
        for (text, hint) in [
            (r#"["nau 4->3", "nmu 2->1"]"#, "layer 2 (nmu): inputs of the layer: got 2, but 3 is needed"),
            (r#"["nau 4>3"]"#, "write it like \"nau 100->3\""),
            (r#"["nau", "nmuu"]"#, "layer 2 (nmuu): unknown module 'nmuu'; did you mean 'nmu'?"),
            (r#"[{"module": "nmu", "noise": "batch"}]"#, "nmu has no option noise; it has: start"),
            (r#"["nau 4->3"]"#, "the last layer has 3 outputs"),
            (r#"[{"module": "nmu", "steps": 3}]"#, "4 inputs cannot be cut into 3 steps"),
            ("[]", "a stack needs at least one layer"),
        ] {
            let message = stack(&catalogue, &layers(text), 4).unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}

//! Networks from names: a stack as people write it, `nau 100->3, snmu`, with shapes inferred where they can be.

use crate::module::{Dispatch, Shape, Spec};
use crate::setting::Value;
use crate::{Error, Network, Options, Real, Recurrent};
use std::fmt::{self, Display};
use std::str::FromStr;

/// A layer as it is written: a module by name, and what is known of its shape.
///
/// ```
/// use nalm::architecture::{Layer, stack};
///
/// let layers: Vec<Layer> = ["nau 100->3", "nau 3->2", "nmu"].iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
/// let network = stack::<f32>(&layers, 100, &nalm::module::find)?;
/// assert_eq!(network.param_len(), 300 + 6 + 2);
/// # Ok::<(), nalm::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// The module's name.
    pub module: String,
    /// Its inputs; those that the layer before has as outputs, if absent.
    pub inputs: Option<usize>,
    /// Its outputs; one, if absent.
    pub outputs: Option<usize>,
    /// Steps of a recurrence of which the module is the cell; not recurrent if absent.
    pub steps: Option<usize>,
    /// The state that a recurrence starts from; 1 if absent.
    pub state: Option<f64>,
    /// Whether a recurrence has every state as output, and not only the last one.
    pub every_state: bool,
    /// Options of the module.
    pub options: Options,
}

impl FromStr for Layer {
    type Err = Error;

    /// A module with what is known of it: `nmu`, `nau 100->3`, `snmu 3->1 noise=U[1,2]`, `nmu 2->1 steps=4 state=1 output=every`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let syntax = || Error::Syntax {
            what: "a layer",
            got: text.into(),
            example: "\"nau 100->3\", \"nmu\" or \"snmu noise=U[1,2]\"",
        };
        let mut words = text.split_whitespace();
        let module = words.next().filter(|word| !word.contains(['=', '>'])).ok_or_else(syntax)?;
        let mut layer = Self { module: module.into(), ..Self::default() };
        for (k, word) in words.enumerate() {
            if let (0, Some((inputs, outputs))) = (k, word.split_once("->").or_else(|| word.split_once('→'))) {
                layer.inputs = Some(inputs.parse().map_err(|_| syntax())?);
                layer.outputs = Some(outputs.parse().map_err(|_| syntax())?);
                continue;
            }
            match word.split_once('=').ok_or_else(syntax)? {
                ("steps", value) => layer.steps = Some(value.parse().map_err(|_| syntax())?),
                ("state", value) => layer.state = Some(value.parse().map_err(|_| syntax())?),
                ("output", "every") => layer.every_state = true,
                ("output", "last") => layer.every_state = false,
                ("output", _) | ("", _) | (_, "") => return Err(syntax()),
                (name, _) if layer.options.get(name).is_some() => return Err(syntax()),
                (name, value) => layer.options.set(name, guess(value)),
            }
        }
        // What is said of a recurrence is nothing without one.
        if layer.steps.is_none() && (layer.state.is_some() || layer.every_state) {
            return Err(syntax());
        }
        Ok(layer)
    }
}

/// What a text stands for where nothing is known of the setting.
fn guess(text: &str) -> Value {
    let numbers = || text.split(',').map(|part| part.parse().ok()).collect::<Option<Vec<f64>>>();
    if let Ok(flag) = text.parse() {
        Value::Flag(flag)
    } else if let Ok(whole) = text.parse() {
        Value::Whole(whole)
    } else {
        match numbers().as_deref() {
            Some([number]) => Value::Number(*number),
            Some(all) => Value::Numbers(all.to_vec()),
            None => Value::Text(text.into()),
        }
    }
}

impl Display for Layer {
    /// What [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.module)?;
        if let (Some(inputs), Some(outputs)) = (self.inputs, self.outputs) {
            write!(f, " {inputs}->{outputs}")?;
        }
        if let Some(steps) = self.steps {
            write!(f, " steps={steps} state={}", self.state.unwrap_or(1.0))?;
            f.write_str(if self.every_state { " output=every" } else { "" })?;
        }
        for (name, value) in self.options.iter() {
            let text = value.to_string();
            let list = matches!(value, Value::Numbers(_) | Value::Wholes(_));
            let text = if list { text.trim_matches(['[', ']']).replace(' ', "") } else { text };
            write!(f, " {name}={text}")?;
        }
        Ok(())
    }
}

/// A stack of layers on so many inputs; `find` looks modules up.
pub fn network<R: Real>(
    layers: &[Layer],
    inputs: usize,
    find: &dyn Fn(&str) -> Result<Spec<R>, Error>,
) -> Result<Network<R>, Error> {
    Error::check(!layers.is_empty(), "number of layers", 0.0, "at least 1")?;
    let mut built: Vec<Box<dyn Dispatch<R>>> = Vec::new();
    let mut before = inputs;
    for (k, layer) in layers.iter().enumerate() {
        let named = |error| Error::Layer { place: k + 1, module: layer.module.clone(), error: Box::new(error) };
        let unit = layer.build(before, find).map_err(named)?;
        before = unit.shape().outputs;
        built.push(unit);
    }
    Network::new(built)
}

/// A stack of layers with one output, on so many inputs; `find` looks modules up.
pub fn stack<R: Real>(
    layers: &[Layer],
    inputs: usize,
    find: &dyn Fn(&str) -> Result<Spec<R>, Error>,
) -> Result<Network<R>, Error> {
    let network = network(layers, inputs, find)?;
    Error::sizes("outputs of the last layer", network.shape().outputs, 1)?;
    Ok(network)
}

impl<R: Real> Network<R> {
    /// The layers in words, from which [`network`] makes the same network again.
    pub fn architecture(&self) -> Vec<Layer> {
        self.layers().iter().map(|layer| layer.layer()).collect()
    }
}

impl Layer {
    /// Inputs and outputs of the layer, where both are known: those of the whole sequence, if it is a recurrence.
    pub fn shape(&self) -> Option<(usize, usize)> {
        let (inputs, outputs) = (self.inputs?, self.outputs?);
        let Some(steps) = self.steps else { return Some((inputs, outputs)) };
        let sequence = inputs.checked_sub(outputs)?.checked_mul(steps)?;
        Some((sequence, if self.every_state { outputs.checked_mul(steps)? } else { outputs }))
    }

    /// The layer's module behind `before` outputs.
    fn build<R: Real>(
        &self,
        before: usize,
        find: &dyn Fn(&str) -> Result<Spec<R>, Error>,
    ) -> Result<Box<dyn Dispatch<R>>, Error> {
        let spec = find(&self.module)?;
        let (options, outputs) = (self.options.check(spec.name, spec.options)?, self.outputs.unwrap_or(1));
        let fits = |inputs: usize| match self.inputs {
            Some(got) if got != inputs => Err(Error::Shape { what: "inputs of the layer".into(), got, want: inputs }),
            _ => Shape::new(inputs, outputs),
        };
        let Some(steps) = self.steps else { return (spec.build)(fits(before)?, &options) };
        let whole = steps > 0 && before.is_multiple_of(steps);
        Error::check(whole, "number of recurrent steps", steps as f64, "one that divides the inputs of the layer")?;
        let cell = (spec.build)(fits((before / steps).saturating_add(outputs))?, &options)?;
        let start = self.state.unwrap_or(1.0);
        Ok(Box::new(match self.every_state {
            true => Recurrent::every_state(cell, steps, start)?,
            false => Recurrent::new(cell, steps, start)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::find;

    fn layers(texts: &[&str]) -> Vec<Layer> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_cell_is_used_along_the_inputs() {
        let cell = Layer { steps: Some(4), ..layers(&["nmu"]).remove(0) };
        let network = stack::<f32>(&[cell], 4, &find).unwrap();
        assert_eq!(network.param_len(), 2);
        assert_eq!(network.predict(&[1.0, 1.0], &[1.0, 2.0, 3.0, 4.0]).unwrap(), [24.0]);
    }

    #[test]
    fn mistakes_are_named_with_the_layer() {
        let fail = |layers: &[Layer]| stack::<f32>(layers, 4, &find).unwrap_err().to_string();
        let with = |text: &str, options: Options| Layer { options, ..layers(&[text]).remove(0) };
        assert_eq!(
            fail(&layers(&["nau 4->3", "nmu 2->1"])),
            "layer 2 (nmu): inputs of the layer: got 2, but 3 is needed"
        );
        assert!(
            fail(&layers(&["nau", "nmuu"])).starts_with("layer 2 (nmuu): unknown module 'nmuu'; did you mean 'nmu'?")
        );
        let noisy = with("nmu", Options::new().with("noise", "batch"));
        assert_eq!(fail(&[noisy]), "layer 1 (nmu): nmu has no option noise; it has: start");
        assert_eq!(fail(&layers(&["nau 4->3"])), "outputs of the last layer: got 3, but 1 is needed");
        let cell = Layer { steps: Some(3), ..with("nmu", Options::new()) };
        let why = "number of recurrent steps is 3; it must be one that divides the inputs of the layer";
        assert_eq!(fail(&[cell]), format!("layer 1 (nmu): {why}"));
        assert!(fail(&[]).contains("number of layers is 0"));
        let error = "nau 4>3".parse::<Layer>().unwrap_err().to_string();
        let want = "cannot read a layer from 'nau 4>3'; write it like \"nau 100->3\", \"nmu\" or \"snmu noise=U[1,2]\"";
        assert_eq!(error, want);
    }

    #[test]
    fn layers_read_as_they_are_written() {
        for text in [
            "nmu",
            "nau 100->3",
            "snmu 3->1 denoiser=paper noise=U[1,2] start=0.25,0.75",
            "snmu 3->1 noise=two-point(1,5)",
            "mlp 2->1 hidden=7",
            "stg-nmu 2->1 lambda=0.5 sigma=0.1",
            "nmu 2->1 steps=4 state=0.5 output=every",
        ] {
            let layer: Layer = text.parse().unwrap();
            assert_eq!(layer.to_string(), text);
        }
        for text in [
            "",
            "nau 3->",
            "nau x->1",
            "snmu noise",
            "snmu =3",
            "nmu steps=a",
            "nmu output=first",
            "3->1",
            "nmu state=5",
            "nmu output=every",
            "mlp hidden=3 hidden=4",
        ] {
            assert!(text.parse::<Layer>().is_err(), "{text}");
        }
    }

    #[test]
    fn networks_are_made_again_from_their_architecture() {
        let text = ["nau 8->4", "nmu 3->2 steps=4 state=1 output=every", "snmu 8->2 noise=constant(3)"];
        let first = network::<f64>(&layers(&text), 8, &find).unwrap();
        let again = network::<f64>(&first.architecture(), 8, &find).unwrap();
        assert_eq!(again.architecture(), first.architecture());
        assert_eq!(again.shape(), first.shape());
        let written: Vec<String> = first.architecture().iter().map(Layer::to_string).collect();
        let noise = "snmu 8->2 denoiser=paper noise=constant(3) start=0.25,0.75";
        assert_eq!(written, ["nau 8->4", "nmu 3->2 steps=4 state=1 output=every start=0.25,0.75", noise]);
    }
}

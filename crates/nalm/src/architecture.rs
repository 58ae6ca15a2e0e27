//! Networks from names: a stack as people write it, `nau 100->3, snmu`, with shapes inferred where they can be.

use crate::module::{Dispatch, Shape, Spec};
use crate::{Error, Network, Options, Real, Recurrent};
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
    /// Options of the module.
    pub options: Options,
}

impl FromStr for Layer {
    type Err = Error;

    /// A module, or a module and its sizes: `nmu`, `nau 100->3`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let sizes = |text: &str| {
            let (inputs, outputs) = text.split_once("->").or_else(|| text.split_once('→'))?;
            Some((inputs.parse().ok()?, outputs.parse().ok()?))
        };
        match words[..] {
            [module] => Ok(Self { module: module.into(), ..Self::default() }),
            [module, shape] if sizes(shape).is_some() => {
                let (inputs, outputs) = sizes(shape).unzip();
                Ok(Self { module: module.into(), inputs, outputs, ..Self::default() })
            }
            _ => Err(Error::Syntax { what: "a layer", got: text.into(), example: "\"nau 100->3\" or \"nmu\"" }),
        }
    }
}

/// A stack of layers with one output, on so many inputs; `find` looks modules up.
pub fn stack<R: Real>(
    layers: &[Layer],
    inputs: usize,
    find: &dyn Fn(&str) -> Result<Spec<R>, Error>,
) -> Result<Network<R>, Error> {
    Error::check(!layers.is_empty(), "number of layers", 0.0, "at least 1")?;
    let mut built: Vec<Box<dyn Dispatch<R>>> = Vec::new();
    let mut before = inputs;
    for (k, layer) in layers.iter().enumerate() {
        let unit = layer.build(before, find);
        let named = |error| Error::Layer { place: k + 1, module: layer.module.clone(), error: Box::new(error) };
        built.push(unit.map_err(named)?);
        before = layer.outputs.unwrap_or(1);
    }
    if before != 1 {
        return Err(Error::Shape { what: "outputs of the last layer".into(), got: before, want: 1 });
    }
    Network::new(built)
}

impl Layer {
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
        let cell = (spec.build)(fits(before / steps + outputs)?, &options)?;
        Ok(Box::new(Recurrent::new(cell, steps, self.state.unwrap_or(1.0))?))
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
        assert_eq!(error, "cannot read a layer from 'nau 4>3'; write it like \"nau 100->3\" or \"nmu\"");
    }
}

//! Networks from names: a stack as people write it, `nau 100->3, snmu`, with shapes inferred where they can be.

pub use crate::layer::Layer;

use crate::module::{Dispatch, Shape, Spec};
use crate::{Error, Network, Real, Recurrent};

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
        let unit = build(layer, before, find).map_err(named)?;
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

/// The layer's module behind `before` outputs.
fn build<R: Real>(
    layer: &Layer,
    before: usize,
    find: &dyn Fn(&str) -> Result<Spec<R>, Error>,
) -> Result<Box<dyn Dispatch<R>>, Error> {
    let spec = find(&layer.module)?;
    let (options, outputs) = (layer.options.check(spec.name, spec.options)?, layer.outputs.unwrap_or(1));
    let fits = |inputs: usize| match layer.inputs {
        Some(got) if got != inputs => Err(Error::Shape { what: "inputs of the layer".into(), got, want: inputs }),
        _ => Shape::new(inputs, outputs),
    };
    let Some(steps) = layer.steps else { return (spec.build)(fits(before)?, &options) };
    let whole = steps > 0 && before.is_multiple_of(steps);
    Error::check(whole, "number of recurrent steps", steps as f64, "one that divides the inputs of the layer")?;
    let cell = (spec.build)(fits((before / steps).saturating_add(outputs))?, &options)?;
    let start = layer.state.unwrap_or(1.0);
    Ok(Box::new(match layer.every_state {
        true => Recurrent::every_state(cell, steps, start)?,
        false => Recurrent::new(cell, steps, start)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
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

//! Networks and the state of their training as the bytes of safetensors files (cargo feature `save`).
//!
//! A file has one tensor for each layer's parameters, and in its metadata a text that says how the network is built:
//!
//! ```text
//! nalm 1
//! numbers f32
//! layer nau 4->2
//! layer nmu 2->1 start=0.25,0.75
//! ```
//!
//! The number after `nalm` is the version of this form. Files are read by every later version, to the bit.
//!
//! ```
//! use nalm::{Network, Nmu, module, save};
//!
//! let network = Network::<f32>::single(Nmu::new(2, 1)?);
//! let bytes = save::to_bytes(&network, &[1.0, 0.5])?; // std::fs::write("product.safetensors", bytes)
//! let (again, params) = save::from_bytes::<f32>(&bytes, &module::find)?;
//! assert_eq!(params, [1.0, 0.5]);
//! assert_eq!(again.predict(&params, &[3.0, 4.0])?, network.predict(&params, &[3.0, 4.0])?);
//! # Ok::<(), nalm::Error>(())
//! ```

use crate::architecture::{self, Layer};
use crate::module::Spec;
use crate::rng::Rng;
use crate::tensor::{self, Tensor};
use crate::train::TrainingState;
use crate::{Error, Network, Real};
use std::collections::HashMap;

/// The version of the form.
const VERSION: u32 = 1;

/// A network and its parameters.
pub fn to_bytes<R: Real>(network: &Network<R>, params: &[R]) -> Result<Vec<u8>, Error> {
    tensor::to_bytes(&parameters(network, params)?, Some(&about(network)?))
}

/// A network and its parameters back. `find` looks modules up: [`crate::module::find`], or a function that knows modules of your own, too.
pub fn from_bytes<R: Real>(
    bytes: &[u8],
    find: &dyn Fn(&str) -> Result<Spec<R>, Error>,
) -> Result<(Network<R>, Vec<R>), Error> {
    let (tensors, text) = read(bytes)?;
    let network = build(&text, find)?;
    let params = params_of(&network, &tensors)?;
    Ok((network, params))
}

/// A network and the state of its training, with which [`crate::train::resume`] goes on.
pub fn training_to_bytes<R: Real>(network: &Network<R>, state: &TrainingState<R>) -> Result<Vec<u8>, Error> {
    let mut tensors = parameters(network, &state.params)?;
    tensors.push(Tensor::flat("optimiser.mean", &state.mean));
    tensors.push(Tensor::flat("optimiser.square", &state.square));
    // Halves of words are whole numbers that every number type holds.
    let halves = state.noise.state().into_iter().flat_map(|word| [word >> 16, word & 0xffff]);
    tensors.push(Tensor::flat("noise", &halves.map(|half| R::of(f64::from(half))).collect::<Vec<_>>()));
    let TrainingState { step, reinitialisations, .. } = state;
    let [first, second, validation] = [state.powers.0, state.powers.1, state.validation].map(f64::to_bits);
    let text = format!(
        "{}step {step}\npowers {first:016x} {second:016x}\nvalidation {validation:016x}\nstarts {reinitialisations}\n",
        about(network)?
    );
    tensor::to_bytes(&tensors, Some(&text))
}

/// The same back.
pub fn training_from_bytes<R: Real>(
    bytes: &[u8],
    find: &dyn Fn(&str) -> Result<Spec<R>, Error>,
) -> Result<(Network<R>, TrainingState<R>), Error> {
    let (tensors, text) = read(bytes)?;
    let network = build(&text, find)?;
    let params = params_of(&network, &tensors)?;
    let wrong = |what: &str| {
        Error::Tensors(format!(
            "no {what} in it that can be used; it is a network without the state of its training, or damaged"
        ))
    };
    let line = |key: &'static str| lines(&text, key).next().ok_or_else(|| wrong(key));
    let bits = |hex: &str| u64::from_str_radix(hex, 16).map(f64::from_bits).ok();
    let powers = line("powers")?.split_once(' ').and_then(|(first, second)| Some((bits(first)?, bits(second)?)));
    let share = |x: f64| (0.0..=1.0).contains(&x);
    let powers = powers.filter(|(first, second)| share(*first) && share(*second)).ok_or_else(|| wrong("powers"))?;
    let vector = |name: &str| {
        let found = tensors.iter().find(|tensor| tensor.name == name);
        found.map(|tensor| tensor.data.clone()).ok_or_else(|| wrong(name))
    };
    let half = |x: &R| Some(x.to_f64()).filter(|x| x.fract() == 0.0 && (0.0..65_536.0).contains(x)).map(|x| x as u32);
    let halves: Option<Vec<u32>> = vector("noise")?.iter().map(half).collect();
    let halves = halves.filter(|halves| halves.len().is_multiple_of(2)).ok_or_else(|| wrong("noise"))?;
    let words: Vec<u32> = halves.chunks_exact(2).map(|pair| pair[0] << 16 | pair[1]).collect();
    let state = TrainingState {
        step: line("step")?.parse().map_err(|_| wrong("step"))?,
        params,
        mean: vector("optimiser.mean")?,
        square: vector("optimiser.square")?,
        powers,
        noise: Rng::restore(&words)?,
        reinitialisations: line("starts")?.parse().map_err(|_| wrong("starts"))?,
        validation: bits(line("validation")?).ok_or_else(|| wrong("validation"))?,
    };
    Ok((network, state))
}

/// How a network is built, if words can say it.
fn about<R: Real>(network: &Network<R>) -> Result<String, Error> {
    let mut text = format!("nalm {VERSION}\nnumbers {}\n", R::NAME);
    for module in network.layers() {
        let (layer, shape) = (module.layer(), module.shape());
        let written = layer.to_string();
        let read = written.parse::<Layer>().ok().filter(|read| read.to_string() == written);
        if read.and_then(|read| read.shape()) != Some((shape.inputs, shape.outputs)) {
            return Err(Error::Unsupported {
                what: format!("saving the layer '{written}'"),
                when: "because these words do not make it again".into(),
                instead: "save its parameters as tensors (nalm::tensor), and build the network yourself".into(),
            });
        }
        text.push_str(&format!("layer {written}\n"));
    }
    Ok(text)
}

fn parameters<R: Real>(network: &Network<R>, params: &[R]) -> Result<Vec<Tensor<R>>, Error> {
    Error::sizes(&format!("parameters of {}", network.name()), params.len(), network.param_len())?;
    let tensor = |k: usize| Tensor::flat(name(network, k), network.layer_params(params, k));
    Ok((0..network.layers().len()).map(tensor).collect())
}

fn name<R: Real>(network: &Network<R>, layer: usize) -> String {
    format!("layer{}.{}", layer + 1, network.layers()[layer].name())
}

fn lines<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix(' '))
}

fn read<R: Real>(bytes: &[u8]) -> Result<(Vec<Tensor<R>>, String), Error> {
    let text = tensor::text(bytes)?;
    let version = lines(&text, "nalm").next().and_then(|version| version.parse::<u32>().ok());
    match version {
        None => return Err(Error::Tensors("it does not say how the network is built; nalm did not write it".into())),
        Some(VERSION) => {}
        Some(newer) => {
            return Err(Error::Tensors(format!(
                "its form is version {newer}, and this program reads {VERSION}; use a newer one"
            )));
        }
    }
    let numbers = lines(&text, "numbers").next().unwrap_or_default();
    if numbers != R::NAME {
        return Err(Error::Tensors(format!("its numbers are {numbers}, and {} were asked for", R::NAME)));
    }
    Ok((tensor::from_bytes(bytes)?.0, text))
}

fn build<R: Real>(text: &str, find: &dyn Fn(&str) -> Result<Spec<R>, Error>) -> Result<Network<R>, Error> {
    let layers: Vec<Layer> = lines(text, "layer").map(str::parse).collect::<Result<_, _>>()?;
    let first = layers.first().ok_or_else(|| Error::Tensors("it has no layers".into()))?;
    let inputs = first.shape().map(|(inputs, _)| inputs);
    let inputs =
        inputs.ok_or_else(|| Error::Tensors(format!("the layer '{first}' does not say a shape that can be")))?;
    architecture::network(&layers, inputs, find)
}

fn params_of<R: Real>(network: &Network<R>, tensors: &[Tensor<R>]) -> Result<Vec<R>, Error> {
    let mut params = Vec::new();
    let by_name: HashMap<&str, &Tensor<R>> = tensors.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
    for (k, layer) in network.layers().iter().enumerate() {
        let name = name(network, k);
        let data = by_name.get(name.as_str()).ok_or_else(|| Error::Tensors(format!("the tensor {name} is missing")))?;
        Error::sizes(&format!("numbers in {name}"), data.data.len(), layer.param_len())?;
        params.extend_from_slice(&data.data);
    }
    Ok(params)
}

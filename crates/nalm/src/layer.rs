//! A layer in words: `snmu 3->1 noise=U[1,2]`.

use crate::setting::Value;
use crate::{Error, Options};
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
        let mut words = words(text).into_iter();
        let module = words.next().filter(|word| !word.contains(['=', '>'])).ok_or_else(syntax)?;
        let mut layer = Self { module: module.into(), ..Self::default() };
        for (k, word) in words.enumerate() {
            let shape = word.split_once("->").or_else(|| word.split_once('→')).filter(|_| !word.contains('='));
            if let (0, Some((inputs, outputs))) = (k, shape) {
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
                // A shape in the wrong place is no setting.
                (name, _) if name.contains(['>', '→']) => return Err(syntax()),
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

/// The words of a text; blanks in brackets part none.
fn words(text: &str) -> Vec<&str> {
    let mut open = 0_i32;
    let parts = text.split(|c: char| {
        // A range may end with either bracket.
        open += i32::from(matches!(c, '[' | '(')) - i32::from(matches!(c, ']' | ')'));
        open <= 0 && c.is_whitespace()
    });
    parts.filter(|word| !word.is_empty()).collect()
}

/// What a text stands for where nothing is known of the setting.
fn guess(text: &str) -> Value {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let numbers = |text: &str| text.split(',').map(|part| part.trim().parse().ok()).collect::<Option<Vec<f64>>>();
    if let Ok(flag) = text.parse() {
        Value::Flag(flag)
    } else if let Ok(whole) = text.parse() {
        Value::Whole(whole)
    } else {
        match numbers(inner.unwrap_or(text)).as_deref() {
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

impl Layer {
    /// Inputs and outputs of the layer, where both are known: those of the whole sequence, if it is a recurrence.
    pub fn shape(&self) -> Option<(usize, usize)> {
        let (inputs, outputs) = (self.inputs?, self.outputs?);
        let Some(steps) = self.steps else { return Some((inputs, outputs)) };
        let sequence = inputs.checked_sub(outputs)?.checked_mul(steps)?;
        Some((sequence, if self.every_state { outputs.checked_mul(steps)? } else { outputs }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As its own text and as listings write it, with blanks and brackets: whatever can be chosen of a module can be chosen in a layer's text.
    #[test]
    fn every_option_of_every_module_reads_back_from_a_layers_text() {
        let pairs = ["start=[0.5,0.9]", "start=[0.5, 0.9]", "start=[ 0.5 , 0.9 ]", "start=0.5,0.9"];
        for text in pairs.map(|start| format!("snmu 2->1 noise=U[1, 2] {start} denoiser=none")) {
            let layer: Layer = text.parse().unwrap();
            assert_eq!(layer.to_string(), "snmu 2->1 denoiser=none noise=U[1, 2] start=0.5,0.9", "{text}");
        }
        let mut seen = 0;
        for module in crate::module::every::<f32>() {
            for setting in module.options.iter().filter(|setting| !setting.default.is_empty()) {
                let value = setting.parse(setting.default).unwrap();
                let own = Layer {
                    module: module.name.into(),
                    options: Options::new().with(setting.name, value.clone()),
                    ..Layer::default()
                };
                for text in [own.to_string(), format!("{} {}={value}", module.name, setting.name)] {
                    let read: Layer = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
                    let read =
                        read.options.check(module.name, module.options).unwrap_or_else(|e| panic!("{text}: {e}"));
                    assert_eq!(read.get(setting.name), Some(&value), "{text}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 10, "{seen}");
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
            "nmu label=a->b",
            "nmu 2->1 steps=4 state=0.5 output=every",
        ] {
            let layer: Layer = text.parse().unwrap();
            assert_eq!(layer.to_string(), text);
        }
        for text in [
            "",
            "nau 3->",
            "snmu noise=U[1,2] 2->1start=3",
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
}

//! Units and stacks of units.

use super::{Diagram, Node, numbers, parameters};
use crate::error::Result;
use crate::task::Catalogue;
use nalm::module::{Dispatch, Shape};
use nalm::{Denoiser, Network};

/// The drawing of a network on numbers: its layers one after the other, or the inside of its only one.
pub fn of_network(catalogue: &Catalogue, title: &str, network: &Network<f32>) -> Result<String> {
    let mut diagram = Diagram::new(title);
    let layers = network.layers();
    match layers {
        [only] => unit(&mut diagram, catalogue, &**only)?,
        _ => {
            diagram.row(numbers("x", network.shape().inputs), []);
            for (k, layer) in layers.iter().enumerate() {
                let is_last = k + 1 == layers.len();
                let name =
                    if is_last { "y".into() } else { ["z", "u", "v"].get(k).map_or(format!("h{k}_"), |s| (*s).into()) };
                diagram.joined(vec![described(catalogue, &**layer)?]);
                diagram.joined(numbers(&name, layer.shape().outputs));
            }
            diagram.notes.push(format!("{} in all.", parameters(network.param_len())));
        }
    }
    Ok(diagram.draw())
}

/// A layer in words: name and shape, formula, parameters, options that were chosen.
pub(super) fn described(catalogue: &Catalogue, layer: &dyn Dispatch<f32>) -> Result<Node> {
    described_with(catalogue, layer, str::to_string)
}

/// The same with its formula said otherwise.
pub(super) fn described_with(
    catalogue: &Catalogue,
    layer: &dyn Dispatch<f32>,
    formula: impl Fn(&str) -> String,
) -> Result<Node> {
    let (written, Shape { inputs, outputs, .. }) = (layer.layer(), layer.shape());
    let spec = &catalogue.module(&written.module)?.single;
    let noise = layer.options().get("noise").map_or(String::new(), |noise| format!("noise {noise}"));
    let steps = written
        .steps
        .map_or(String::new(), |steps| format!("{steps} step{} of a recurrence", if steps == 1 { "" } else { "s" }));
    Ok(Node::layer([
        format!("{} {inputs} → {outputs}", spec.label),
        formula(spec.formula),
        steps,
        noise,
        format!("{}: {}; {}", parameters(layer.param_len()), spec.parameters, spec.allowed),
    ]))
}

/// The inside of one unit.
fn unit(diagram: &mut Diagram, catalogue: &Catalogue, layer: &dyn Dispatch<f32>) -> Result<()> {
    let Shape { inputs, outputs, .. } = layer.shape();
    let spec = &catalogue.module(&layer.layer().module)?.single;
    let options = layer.options();
    let text = |name: &str| options.get(name).map(ToString::to_string);
    let denoiser = text("denoiser").and_then(|name| name.parse::<Denoiser>().ok());
    match (text("noise"), denoiser) {
        // Noise that is divided out again: numerator and denominator.
        (Some(noise), Some(denoiser)) if layer.layer().steps.is_none() => {
            let shown = numbers("x", inputs).len();
            let mut first = numbers("x", inputs);
            first.push(Node::noise([
                format!("n ~ {noise}"),
                "one for each input and sample".into(),
                "in training only".into(),
            ]));
            diagram.row(first, []);
            let mut second: Vec<Node> = (0..shown).map(|k| noisy(inputs, k)).collect();
            second.push(Node::layer([format!("w [{outputs} x {inputs}]"), spec.allowed.into()]));
            second.push(Node::pass());
            let each = (0..shown).flat_map(|k| [(k, k), (shown, k)]);
            diagram.row(second, each.chain([(shown, shown + 1)]).collect::<Vec<_>>());
            let under = nalm::denoiser::DENOISERS.iter().find(|spec| spec.denoiser == denoiser);
            let third = vec![
                Node::layer(["numerator", "prod_i (n_i x_i w_i + 1 - w_i)"]),
                Node::layer(["denominator", under.map_or("", |spec| spec.formula)]),
            ];
            let into = (0..shown).map(|k| (k, 0)).chain([(shown, 0), (shown, 1), (shown + 1, 1)]);
            diagram.row(third, into.collect::<Vec<_>>());
            diagram.joined(vec![Node::layer([format!("{}: numerator / denominator", spec.label)])]);
            diagram.notes.push("In evaluation there is no noise: y = prod_i (x_i w_i + 1 - w_i).".into());
        }
        (noise, _) => {
            let mut first = numbers("x", inputs);
            first.extend(noise.map(|noise| Node::noise([format!("n ~ {noise}"), "in training only".into()])));
            diagram.row(first, []);
            diagram.joined(vec![described(catalogue, layer)?]);
        }
    }
    diagram.joined(numbers("y", outputs));
    diagram.notes.push(format!("{}.", spec.citation.trim_end_matches('.')));
    Ok(())
}

/// The noisy input that stands at a place of [`numbers`].
fn noisy(inputs: usize, k: usize) -> Node {
    let name = |i: usize| Node::data(if inputs == 1 { "n x".into() } else { format!("n{i} x{i}") });
    match (inputs, k) {
        (5.., 2) => Node::data("…"),
        (5.., 3) => name(inputs),
        _ => name(k + 1),
    }
}

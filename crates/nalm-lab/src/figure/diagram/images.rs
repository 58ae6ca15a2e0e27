//! The networks of the three tasks with images.

use super::units::{described, described_with};
use super::{Diagram, Kind, Node, parameters};
use crate::error::Result;
use crate::task::Catalogue;
use nalm::module::{Options, Shape};
use nalm::{InstructionSet, Network};
use nalm_vision::layer::spline::POINTS;
use nalm_vision::product::View;
use nalm_vision::{Activation, Layer, Net, networks};

/// The diagram of a task with images, with an sNMU behind it; nothing for other tasks.
pub(super) fn diagram(catalogue: &Catalogue, name: &str, title: &str) -> Result<Option<Diagram>> {
    let spec = &catalogue.module("snmu")?.single;
    let unit = Network::<f32>::new(vec![(spec.build)(Shape::new(2, 1)?, &Options::default())?])?;
    let head = || described(catalogue, &*unit.layers()[0]);
    let set = InstructionSet::best();
    let mut diagram = Diagram::new(title);
    let total = match name {
        "mnist-isolated" => {
            let net = networks::digit_classifier(View::ISOLATED.side(), 1, set)?;
            let picture = image([View::ISOLATED.side(), View::ISOLATED.side(), 1]);
            diagram.row(
                vec![Node::data(format!("first digit, {picture}")), Node::data(format!("second digit, {picture}"))],
                [],
            );
            diagram.joined(vec![Node::data("one after the other, the same network for both")]);
            chain(&mut diagram, &[&net]);
            diagram.joined(vec![Node::data("z1"), Node::data("z2")]);
            diagram.joined(vec![head()?]);
            diagram.joined(vec![Node::data("y: the only thing that is supervised")]);
            net.param_len()
        }
        "mnist-colour" => {
            let (locator, side) = (networks::localisation(set)?, View::COLOUR.side());
            let classifier = networks::digit_classifier(side / 2, 2, set)?;
            diagram.row(
                vec![Node::new(
                    Kind::Data,
                    [format!("picture, {}", image([side, side, 2])), "a digit in each channel".into()],
                )],
                [],
            );
            diagram.joined(vec![Node::data("first transformer"), Node::data("second transformer")]);
            chain(&mut diagram, &[&locator, &locator]);
            let spline = |_| {
                Node::layer([
                    "thin-plate spline and sampler".to_string(),
                    format!("warps the picture by {POINTS} points"),
                    image([side, side, 2]),
                ])
            };
            diagram.row([0, 1].map(spline).into(), [(0, 0), (1, 1)]);
            let halved = Node::layer([
                "average-pooling 2 x 2".to_string(),
                format!("{}, the same network for both", image([side / 2, side / 2, 2])),
            ]);
            diagram.joined(vec![halved]);
            chain(&mut diagram, &[&classifier]);
            diagram.joined(vec![Node::data("z1"), Node::data("z2")]);
            diagram.joined(vec![head()?]);
            diagram.joined(vec![Node::data("y: the only thing that is supervised")]);
            2 * locator.param_len() + classifier.param_len()
        }
        "mnist-sequential" => {
            let net = networks::digit_regressor(set)?;
            diagram.row(vec![Node::data(format!("digit t, {}", image([28, 28, 1])))], []);
            chain(&mut diagram, &[&net]);
            diagram.row(vec![Node::data("z_t"), Node::data("s_(t-1): the state before, 1 at first")], [(0, 0)]);
            // The published code never leaves training mode here.
            let noisy = |formula: &str| {
                formula.replace("; the NMU in evaluation", "; noisy in evaluation, too (eval_noise = true)")
            };
            diagram.joined(vec![described_with(catalogue, &*unit.layers()[0], noisy)?]);
            diagram.joined(vec![Node::data("s_t: the product so far, and the state of the next step")]);
            diagram.notes.push("The same network and the same unit at every step; every product is supervised.".into());
            net.param_len()
        }
        _ => return Ok(None),
    };
    diagram.notes.push(format!("{} in front of the unit.", parameters(total)));
    Ok(Some(diagram))
}

/// The layers of networks side by side, one below the other.
fn chain(diagram: &mut Diagram, nets: &[&Net]) {
    let most = nets.iter().map(|net| net.layers().len()).max().unwrap_or(0);
    for k in 0..most {
        let nodes: Vec<Node> = nets.iter().map(|net| net.layers().get(k).map_or_else(Node::pass, layer)).collect();
        let arrows: Vec<(usize, usize)> = (0..nets.len()).map(|n| (n, n)).collect();
        diagram.row(nodes, arrows);
    }
}

fn image([rows, columns, channels]: [usize; 3]) -> String {
    format!("{rows} x {columns} x {channels}")
}

fn layer(layer: &Layer) -> Node {
    let dropout = |drop: f64| if drop > 0.0 { format!(", dropout {drop}") } else { String::new() };
    let own = if layer.param_len() > 0 { parameters(layer.param_len()) } else { String::new() };
    match *layer {
        Layer::Conv { geometry: g, pool, drop } => {
            let (half, pooling) = if pool { (2, ", max-pooling 2 x 2") } else { (1, "") };
            Node::layer([
                format!("convolution {0} x {0}, {1} channels", g.kernel, g.outputs),
                format!("ReLU{pooling}{}", dropout(drop)),
                format!("{}; {own}", image([g.rows() / half, g.columns() / half, g.outputs])),
            ])
        }
        Layer::Dense { outputs, activation, drop, .. } => {
            let activation = match activation {
                Activation::Linear => "",
                Activation::Relu => ", ReLU",
                Activation::Tanh => ", tanh",
            };
            Node::layer([format!("dense, {outputs} out{activation}{}", dropout(drop)), own])
        }
        Layer::AveragePool { height, width, channels } => {
            Node::layer(["average-pooling 2 x 2".into(), image([height / 2, width / 2, channels])])
        }
        Layer::SoftArgmax { classes } => {
            Node::layer([format!("softmax over {classes} digits"), "their expected value".into()])
        }
    }
}

//! The networks of the three tasks.

use crate::layer::conv::Geometry;
use crate::layer::dense::Activation;
use crate::net::{Layer, Net};
use nalm::{Error, InstructionSet};

/// The digit classifier of the static tasks for images of `side` x `side` x `channels`: two 3x3 convolutions, pooling, two dense layers, and
/// the expected digit. 1,199,882 parameters for 28 x 28 x 1; 544,810 for 21 x 21 x 2.
pub fn digit_classifier(side: usize, channels: usize, set: InstructionSet) -> Result<Net, Error> {
    if side < 6 {
        return Err(Error::TooFew { what: "number of rows of an image", got: side, least: 6 });
    }
    let conv = |side, inputs, outputs| Geometry { height: side, width: side, inputs, outputs, kernel: 3 };
    let cells = (side - 4) / 2;
    Net::new(
        vec![
            Layer::Conv { geometry: conv(side, channels, 32), pool: false, drop: 0.0 },
            Layer::Conv { geometry: conv(side - 2, 32, 64), pool: true, drop: 0.25 },
            Layer::Dense { inputs: cells * cells * 64, outputs: 128, activation: Activation::Relu, drop: 0.5 },
            Layer::Dense { inputs: 128, outputs: 10, activation: Activation::Linear, drop: 0.0 },
            Layer::SoftArgmax { classes: 10 },
        ],
        set,
    )
}

/// The network of the sequential task: two 5x5 convolutions with pooling and two dense layers that regress the digit. 426,571 parameters.
pub fn digit_regressor(set: InstructionSet) -> Result<Net, Error> {
    let conv = |side, inputs, outputs| Geometry { height: side, width: side, inputs, outputs, kernel: 5 };
    Net::new(
        vec![
            Layer::Conv { geometry: conv(28, 1, 20), pool: true, drop: 0.0 },
            Layer::Conv { geometry: conv(12, 20, 50), pool: true, drop: 0.0 },
            Layer::Dense { inputs: 800, outputs: 500, activation: Activation::Relu, drop: 0.0 },
            Layer::Dense { inputs: 500, outputs: 1, activation: Activation::Linear, drop: 0.0 },
        ],
        set,
    )
}

/// A localisation network of the colour task: from 42 x 42 x 2 to 16 control points (x, y) in (-1, 1). 22,368 parameters.
pub fn localisation(set: InstructionSet) -> Result<Net, Error> {
    let conv = |side, inputs| Geometry { height: side, width: side, inputs, outputs: 20, kernel: 5 };
    Net::new(
        vec![
            Layer::AveragePool { height: 42, width: 42, channels: 2 },
            Layer::Conv { geometry: conv(21, 2), pool: true, drop: 0.0 },
            Layer::Conv { geometry: conv(8, 20), pool: false, drop: 0.0 },
            Layer::Dense { inputs: 320, outputs: 32, activation: Activation::Relu, drop: 0.0 },
            Layer::Dense { inputs: 32, outputs: 32, activation: Activation::Tanh, drop: 0.0 },
        ],
        set,
    )
}

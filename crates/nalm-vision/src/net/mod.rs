//! A stack of image layers over one flat parameter vector, forward and backward over batches.
//!
//! A batch is cut into blocks of samples that depend on nothing but its size. Gradients are summed block by block in their order, so
//! the bits are the same for any number of threads.

mod backward;
mod forward;
mod workspace;

pub use workspace::Workspace;

use crate::layer::conv::Geometry;
use crate::layer::dense::Activation;
use crate::vector::Scalar;
use nalm::InstructionSet;

/// Samples in a block.
pub(crate) const BLOCK: usize = 32;

/// A layer with what belongs to it: ReLU and pooling to a convolution, an activation to a dense layer, dropout to both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layer {
    /// Convolution, ReLU, 2x2 max-pooling if wanted, and then dropout with this probability.
    Conv {
        /// The shape.
        geometry: Geometry,
        /// Whether to pool; an odd last row or column is left out.
        pool: bool,
        /// Probability that a number is dropped in training; the others are scaled up.
        drop: f64,
    },
    /// Dense layer with activation and dropout.
    Dense {
        /// Numbers that come in.
        inputs: usize,
        /// Numbers that go out.
        outputs: usize,
        /// What follows the sums.
        activation: Activation,
        /// Probability that a number is dropped in training; only behind ReLU.
        drop: f64,
    },
    /// 2x2 average-pooling of an image `[row][column][channel]`; an odd last row or column is left out.
    AveragePool {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
        /// Channels.
        channels: usize,
    },
    /// Softmax over class numbers 0, 1, …, and their expected value.
    SoftArgmax {
        /// How many.
        classes: usize,
    },
}

impl Layer {
    /// Whether it drops numbers in training.
    fn drops(&self) -> bool {
        matches!(*self, Layer::Conv { drop, .. } | Layer::Dense { drop, .. } if drop > 0.0)
    }

    /// Checks that its sizes make sense and that its dropout is of a kind that the gradient knows.
    fn check(&self) -> Result<(), nalm::Error> {
        let size = |what, n: usize| nalm::Error::check(n > 0, what, n as f64, "at least 1");
        let share = |drop: f64, known: bool, want| {
            nalm::Error::check((0.0..1.0).contains(&drop), "dropout", drop, "at least 0 and below 1")?;
            nalm::Error::check(drop == 0.0 || known, "dropout", drop, want)
        };
        match *self {
            Layer::Conv { geometry: g, pool, drop } => {
                for (what, n) in
                    [("kernel size", g.kernel), ("input channels", g.inputs), ("output channels", g.outputs)]
                {
                    size(what, n)?;
                }
                let (least, pooled) = (g.height.min(g.width), if pool { 2 } else { 1 });
                let room = "a kernel that fits into the image, with two rows and columns to pool";
                nalm::Error::check(g.kernel + pooled <= least + 1, "kernel size", g.kernel as f64, room)?;
                share(drop, pool, "0 without pooling")
            }
            Layer::Dense { inputs, outputs, activation, drop } => {
                size("inputs", inputs)?;
                size("outputs", outputs)?;
                share(drop, activation == Activation::Relu, "0 without ReLU")
            }
            Layer::AveragePool { height, width, channels } => {
                size("channels", channels)?;
                let least = height.min(width);
                nalm::Error::check(least > 1, "rows and columns to pool", least as f64, "at least 2")
            }
            Layer::SoftArgmax { classes } => size("classes", classes),
        }
    }

    /// Numbers that come in.
    pub fn input_len(&self) -> usize {
        match *self {
            Layer::Conv { geometry, .. } => geometry.input_len(),
            Layer::Dense { inputs, .. } => inputs,
            Layer::AveragePool { height, width, channels } => height * width * channels,
            Layer::SoftArgmax { classes } => classes,
        }
    }

    /// Numbers that go out.
    pub fn output_len(&self) -> usize {
        match *self {
            Layer::Conv { geometry: g, pool: true, .. } => (g.rows() / 2) * (g.columns() / 2) * g.outputs,
            Layer::Conv { geometry, .. } => geometry.output_len(),
            Layer::Dense { outputs, .. } => outputs,
            Layer::AveragePool { height, width, channels } => (height / 2) * (width / 2) * channels,
            Layer::SoftArgmax { .. } => 1,
        }
    }

    /// Numbers that are kept of a sample: what goes out, and what the gradient needs besides.
    fn kept_len(&self) -> usize {
        match *self {
            Layer::SoftArgmax { classes } => 1 + classes,
            _ => self.output_len(),
        }
    }

    /// Parameters.
    pub fn param_len(&self) -> usize {
        match *self {
            Layer::Conv { geometry, .. } => geometry.param_len(),
            Layer::Dense { inputs, outputs, .. } => outputs * (inputs + 1),
            _ => 0,
        }
    }

    /// Inputs of one output, by which weights are initialised.
    fn fan_in(&self) -> usize {
        match *self {
            Layer::Conv { geometry, .. } => geometry.patch(),
            Layer::Dense { inputs, .. } => inputs,
            _ => 1,
        }
    }
}

/// Whether a pass trains.
#[derive(Clone, Copy, Debug)]
pub enum Mode<'a> {
    /// With dropout; its numbers follow from the key and each sample's place in the batch.
    Train {
        /// Names run and step.
        key: &'a str,
    },
    /// Without.
    Eval,
}

/// A stack of layers.
#[derive(Clone, Debug)]
pub struct Net {
    layers: Vec<Layer>,
    starts: Vec<usize>,
    set: InstructionSet,
}

impl Net {
    /// A stack whose neighbouring lengths fit.
    pub fn new(layers: Vec<Layer>, set: InstructionSet) -> Result<Self, nalm::Error> {
        nalm::Error::check(!layers.is_empty(), "number of layers", 0.0, "at least 1")?;
        layers.iter().try_for_each(Layer::check)?;
        for pair in layers.windows(2) {
            let (out, into) = (pair[0].output_len(), pair[1].input_len());
            if out != into {
                let what = format!("numbers from {:?} into {:?}", pair[0], pair[1]);
                return Err(nalm::Error::Shape { what, got: out, want: into });
            }
        }
        let mut starts = vec![0];
        for layer in &layers {
            starts.push(starts[starts.len() - 1] + layer.param_len());
        }
        Ok(Self { layers, starts, set })
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Length of the flat parameter vector.
    pub fn param_len(&self) -> usize {
        self.starts[self.layers.len()]
    }

    /// Numbers of one sample that come in.
    pub fn input_len(&self) -> usize {
        self.layers[0].input_len()
    }

    /// Numbers of one sample that go out.
    pub fn output_len(&self) -> usize {
        self.layers[self.layers.len() - 1].output_len()
    }

    /// Draws weights and biases from U(-1/sqrt(fan-in), 1/sqrt(fan-in)), PyTorch's default.
    pub fn init<R: Scalar>(&self, p: &mut [R], rng: &mut nalm::Rng) {
        for (k, layer) in self.layers.iter().enumerate() {
            let bound = R::of(1.0 / (layer.fan_in() as f64).sqrt());
            for p in &mut p[self.starts[k]..self.starts[k + 1]] {
                *p = rng.uniform(-bound, bound);
            }
        }
    }
}

/// Rows, columns and channels of a layer's output, where it is an image.
pub(crate) fn image(layer: &Layer) -> Option<[usize; 3]> {
    match *layer {
        Layer::Conv { geometry: g, pool, .. } => {
            let half = if pool { 2 } else { 1 };
            Some([g.rows() / half, g.columns() / half, g.outputs])
        }
        Layer::AveragePool { height, width, channels } => Some([height / 2, width / 2, channels]),
        Layer::Dense { .. } | Layer::SoftArgmax { .. } => None,
    }
}

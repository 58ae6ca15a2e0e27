//! The shape of a module.

use crate::Error;

/// Number of inputs and outputs of a module: at least one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shape {
    /// Features per row that come in.
    pub inputs: usize,
    /// Features per row that go out.
    pub outputs: usize,
}

impl Shape {
    /// A shape with at least one input and one output.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Error::check(inputs > 0, "number of inputs", inputs as f64, "at least 1")?;
        Error::check(outputs > 0, "number of outputs", outputs as f64, "at least 1")?;
        let weights = inputs as f64 * outputs as f64;
        Error::check(weights <= MOST_WEIGHTS, "number of weights", weights, "at most 2^31")?;
        Ok(Self { inputs, outputs })
    }

    /// This shape, for a module that takes no other one.
    pub fn only(self, inputs: usize, outputs: usize) -> Result<Self, Error> {
        let fits = |what: &str, got: usize, want: usize| match got == want {
            true => Ok(()),
            false => Err(Error::Shape { what: what.into(), got, want }),
        };
        fits("inputs of the unit", self.inputs, inputs)?;
        fits("outputs of the unit", self.outputs, outputs)?;
        Ok(self)
    }

    /// Weights of a full matrix.
    #[inline(always)]
    pub fn weights(self) -> usize {
        self.inputs * self.outputs
    }
}

/// Larger matrices would overflow sizes that are computed from them, and no memory would hold their batches.
const MOST_WEIGHTS: f64 = 2_147_483_648.0;

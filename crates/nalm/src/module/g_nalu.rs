//! G-NALU, the golden-ratio NALU (Rana, Malhi and Främling, ICTAI 2019): tanh, sigmoid and the exponential with base
//! phi = (1 + sqrt 5) / 2.
//!
//! tanh_phi(u) = tanh(c u) and sigmoid_phi(u) = sigmoid(c u) with c = ln phi, while phi^(s / ln phi) = exp(s): a NALU whose
//! three pre-activations are multiplied by c.

use super::{Nalu, Options, Shape, Spec, nalu};
use crate::{Error, Real};

/// ln((1 + sqrt 5) / 2)
const LN_PHI: f64 = 0.481_211_825_059_603_45;

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "g-nalu",
        label: "G-NALU",
        citation: "Rana, Malhi and Främling, Exploring Numerical Calculations with CalcNet, ICTAI 2019",
        formula: "the NALU with tanh(c u), sigmoid(c u) for its weights and gate, c = ln((1 + sqrt 5) / 2)",
        build: |shape, _: &Options| Ok(Box::new(Nalu::scaled("g-nalu", shape, LN_PHI))),
        ..nalu::spec()
    }
}

impl Nalu {
    /// A G-NALU with this many inputs and outputs.
    pub fn golden(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Ok(Self::scaled("g-nalu", Shape::new(inputs, outputs)?, LN_PHI))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_is_the_logarithm_of_the_golden_ratio() {
        assert_eq!(LN_PHI, libm::log((1.0 + 5f64.sqrt()) / 2.0));
    }
}

//! sNMU with the exponent denoiser, the alternative that the paper rejects (Mistry, Farrahi and Hare 2022).
//!
//! y_o = prod_i (n_i x_i w_oi + 1 - w_oi) / prod_i n_i^w_oi in training, the NMU in evaluation

use super::start::START;
use super::{Options, Snmu, Spec, snmu};
use crate::{Denoiser, Real};

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "snmu-exp",
        label: "sNMU (exponent)",
        formula: "y_o = prod_i (n_i x_i w_oi + 1 - w_oi) / prod_i n_i^w_oi; the NMU in evaluation",
        options: &[snmu::NOISE, START],
        build: |shape, options: &Options| {
            Ok(Box::new(Snmu::from_options("snmu-exp", shape, Denoiser::Exponent, options)?))
        },
        ..snmu::spec()
    }
}

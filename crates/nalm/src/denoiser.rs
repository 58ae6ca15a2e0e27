//! What the sNMU divides its noisy product by, and the list of its kinds.

use crate::{Error, Lane, Real};
use std::fmt::{self, Display};
use std::str::FromStr;

/// The denominator of the stochastic unit, given noise n and weights w.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Denoiser {
    /// prod (n w + 1 - w): the paper's; exact at w in {0, 1} and reversible in between.
    #[default]
    Paper,
    /// prod n^w: the alternative that the paper rejects.
    Exponent,
    /// prod n: exact only where every weight is 1.
    Noise,
    /// prod n w: undefined at w = 0.
    Weighted,
    /// 1: irreversible noise.
    None,
}

/// One kind of denoiser, for lists and help texts.
#[derive(Clone, Copy, Debug)]
pub struct DenoiserSpec {
    /// The kind's name.
    pub name: &'static str,
    /// The denominator.
    pub formula: &'static str,
    /// The kind.
    pub denoiser: Denoiser,
}

/// All kinds of denoisers.
pub const DENOISERS: &[DenoiserSpec] = &[
    DenoiserSpec { name: "paper", formula: "prod_i (n_i w_i + 1 - w_i)", denoiser: Denoiser::Paper },
    DenoiserSpec { name: "exponent", formula: "prod_i n_i^w_i", denoiser: Denoiser::Exponent },
    DenoiserSpec { name: "noise", formula: "prod_i n_i", denoiser: Denoiser::Noise },
    DenoiserSpec { name: "weighted", formula: "prod_i n_i w_i", denoiser: Denoiser::Weighted },
    DenoiserSpec { name: "none", formula: "1", denoiser: Denoiser::None },
];

impl Denoiser {
    /// The denominator's factor for one input.
    #[inline(always)]
    pub(crate) fn factor<R: Real>(self, n: Lane<R>, w: R) -> Lane<R> {
        match self {
            // The order of the operations is the one that gives the published digits in `f32`.
            Denoiser::Paper => n * w + R::ONE - w,
            Denoiser::Exponent => n.map(|n| (w * n.ln()).exp()),
            Denoiser::Noise => n,
            Denoiser::Weighted => n * w,
            Denoiser::None => Lane::splat(R::ONE),
        }
    }

    /// The derivative of the factor's logarithm with respect to the weight.
    #[inline(always)]
    pub(crate) fn log_gradient_by_weight<R: Real>(self, n: Lane<R>, w: R) -> Lane<R> {
        match self {
            Denoiser::Paper => (n - R::ONE) / self.factor(n, w),
            Denoiser::Exponent => n.map(R::ln),
            Denoiser::Weighted => Lane::splat(R::ONE / w),
            Denoiser::Noise | Denoiser::None => Lane::ZERO,
        }
    }

    /// The derivative of the factor's logarithm with respect to the noise.
    #[inline(always)]
    pub(crate) fn log_gradient_by_noise<R: Real>(self, n: Lane<R>, w: R) -> Lane<R> {
        match self {
            Denoiser::Paper => Lane::splat(w) / self.factor(n, w),
            Denoiser::Exponent => Lane::splat(w) / n,
            Denoiser::Noise | Denoiser::Weighted => Lane::splat(R::ONE) / n,
            Denoiser::None => Lane::ZERO,
        }
    }
}

impl Display for Denoiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = DENOISERS.iter().find(|spec| spec.denoiser == *self);
        f.write_str(spec.map_or("unlisted", |spec| spec.name))
    }
}

impl FromStr for Denoiser {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let names: Vec<&str> = DENOISERS.iter().map(|spec| spec.name).collect();
        DENOISERS
            .iter()
            .find(|spec| spec.name == text)
            .map(|spec| spec.denoiser)
            .ok_or_else(|| Error::unknown("denoiser", text, &names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Denoiser; 5] =
        [Denoiser::Paper, Denoiser::Exponent, Denoiser::Noise, Denoiser::Weighted, Denoiser::None];

    #[test]
    fn every_denoiser_is_listed_and_parses_as_it_prints() {
        for denoiser in ALL {
            assert_eq!(denoiser.to_string().parse(), Ok(denoiser));
        }
        assert_eq!(DENOISERS.len(), ALL.len());
    }

    #[test]
    fn log_gradients_are_derivatives() {
        let (n, w, h) = (2.7f64, 0.4, 1e-6);
        for d in ALL {
            let ln = |n: f64, w: f64| libm::log(d.factor(Lane::splat(n), w)[0]);
            let by_w = d.log_gradient_by_weight(Lane::splat(n), w)[0];
            let by_n = d.log_gradient_by_noise(Lane::splat(n), w)[0];
            assert!((by_w - (ln(n, w + h) - ln(n, w - h)) / (2.0 * h)).abs() < 1e-8, "{d}");
            assert!((by_n - (ln(n + h, w) - ln(n - h, w)) / (2.0 * h)).abs() < 1e-8, "{d}");
        }
    }
}

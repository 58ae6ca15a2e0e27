//! The noise that the sNMU multiplies its inputs by, and the list of its kinds.

use crate::batch::BatchLayout;
use crate::lane::{Lane, each};
use crate::rng::Rng;
use crate::{Error, Real};
use std::fmt::{self, Display};
use std::str::FromStr;

/// A distribution of multiplicative noise, drawn anew for every row and input in every training pass.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Noise {
    /// Uniform on [low, high); the paper's `U[1,5]`.
    Uniform {
        /// Smallest noise.
        low: f64,
        /// Largest noise.
        high: f64,
    },
    /// Uniform on [1, 1 + 1/s) where s is a standard deviation of the unit's input; the paper's batch noise.
    Batch(Spread),
    /// Always the same number: a deterministic reparametrisation.
    Constant(f64),
    /// One of two numbers, each with probability one half.
    TwoPoint {
        /// The one.
        low: f64,
        /// The other.
        high: f64,
    },
    /// The exponential of a uniform number on [ln low, ln high).
    LogUniform {
        /// Smallest noise.
        low: f64,
        /// Largest noise.
        high: f64,
    },
    /// 1 plus a gamma variable with a whole-numbered shape.
    ShiftedGamma {
        /// Number of exponential variables that are summed.
        shape: u32,
        /// Their mean.
        scale: f64,
    },
    /// Uniform on [1, 1 + softplus(rho)) with a learned rho.
    Learnable {
        /// The upper bound at the start.
        start: f64,
    },
}

/// Which standard deviation the batch noise uses. None of them carries a gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Of all numbers of the input tensor, as published.
    Pooled,
    /// Of each input on its own.
    PerFeature,
    /// An exponential running mean of the pooled one.
    Running {
        /// The weight of the newest batch.
        momentum: f64,
    },
}

/// One kind of noise, for lists and help texts.
#[derive(Clone, Copy, Debug)]
pub struct NoiseSpec {
    /// The kind's name.
    pub name: &'static str,
    /// What it draws.
    pub formula: &'static str,
    /// A member that parses and prints like this.
    pub example: Noise,
}

impl NoiseSpec {
    /// An example as people type it, without the digits that nobody would.
    pub fn written(&self) -> String {
        match self.example {
            Noise::ShiftedGamma { shape, scale } => {
                format!("shifted-gamma({shape},{})", crate::digits::significant(scale, 2))
            }
            other => other.to_string(),
        }
    }
}

/// All kinds of noise.
pub const NOISES: &[NoiseSpec] = &[
    NoiseSpec { name: "uniform", formula: "n ~ U[low, high)", example: Noise::Uniform { low: 1.0, high: 5.0 } },
    NoiseSpec {
        name: "batch",
        formula: "n ~ U[1, 1 + 1/s), s = sd of the whole input tensor",
        example: Noise::Batch(Spread::Pooled),
    },
    NoiseSpec {
        name: "batch-feature",
        formula: "n_i ~ U[1, 1 + 1/s_i), s_i = sd of input i",
        example: Noise::Batch(Spread::PerFeature),
    },
    NoiseSpec {
        name: "batch-running",
        formula: "n ~ U[1, 1 + 1/s), s = running mean of the pooled sd",
        example: Noise::Batch(Spread::Running { momentum: 0.1 }),
    },
    NoiseSpec { name: "constant", formula: "n = c", example: Noise::Constant(3.0) },
    NoiseSpec {
        name: "two-point",
        formula: "n = low or high, each with probability 1/2",
        example: Noise::TwoPoint { low: 1.0, high: 5.0 },
    },
    NoiseSpec {
        name: "log-uniform",
        formula: "ln n ~ U[ln low, ln high)",
        example: Noise::LogUniform { low: 1.0, high: 5.0 },
    },
    NoiseSpec {
        name: "shifted-gamma",
        formula: "n = 1 + Gamma(shape, scale)",
        example: Noise::ShiftedGamma { shape: 3, scale: 2.0 / 3.0 },
    },
    NoiseSpec {
        name: "learnable",
        formula: "n ~ U[1, 1 + softplus(rho)), rho learned",
        example: Noise::Learnable { start: 5.0 },
    },
];

/// What a shape of gamma noise is called, and what it must be.
const GAMMA_SHAPE: (&str, &str) = ("shape of the gamma noise", "a whole number from 1 to 64");

impl Default for Noise {
    fn default() -> Self {
        Noise::Uniform { low: 1.0, high: 5.0 }
    }
}

impl Noise {
    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        let positive = |what, x: f64| Error::check(x > 0.0 && x.is_finite(), what, x, "positive and finite");
        let ordered = |low: f64, high: f64| {
            positive("lower end of the noise", low)?;
            positive("upper end of the noise", high)?;
            Error::check(low < high, "upper end of the noise", high, "above the lower end")
        };
        match *self {
            Noise::Uniform { low, high } | Noise::TwoPoint { low, high } | Noise::LogUniform { low, high } => {
                ordered(low, high)
            }
            Noise::Batch(Spread::Running { momentum: m }) => {
                Error::check(m > 0.0 && m <= 1.0, "momentum of the running deviation", m, "in (0, 1]")
            }
            Noise::Batch(_) => Ok(()),
            Noise::Constant(c) => positive("constant noise", c),
            Noise::ShiftedGamma { shape, scale } => {
                Error::check((1..=64).contains(&shape), GAMMA_SHAPE.0, shape.into(), GAMMA_SHAPE.1)?;
                positive("scale of the gamma noise", scale)
            }
            Noise::Learnable { start } => {
                Error::check(start > 1.0 && start.is_finite(), "learnable upper end", start, "above 1 and finite")
            }
        }
    }

    /// Whether the noise has a parameter of its own.
    pub fn is_learnable(&self) -> bool {
        matches!(self, Noise::Learnable { .. })
    }

    /// The rho at which a learnable bound starts.
    pub(crate) fn rho(&self) -> f64 {
        match *self {
            // The inverse of softplus, in the form that does not overflow.
            Noise::Learnable { start } => (start - 1.0) + libm::log(-libm::expm1(1.0 - start)),
            _ => 0.0,
        }
    }

    /// Draws the noise for input `x` into `n`. `spare` is a tensor of the same size, `memory` one lane that persists.
    /// For learnable noise `n` gets the underlying numbers in [0, 1).
    #[inline(always)]
    pub(crate) fn draw<R: Real>(
        &self,
        rng: &mut Rng,
        x: &[Lane<R>],
        n: &mut [Lane<R>],
        spare: &mut [Lane<R>],
        memory: &mut Lane<R>,
        at: BatchLayout,
    ) {
        match *self {
            Noise::Uniform { low, high } => rng.fill_uniform(R::of(low), R::of(high), n, at),
            Noise::Batch(Spread::Pooled) => {
                let s = deviation(x, at);
                rng.fill_uniform(R::ONE, R::ONE + R::ONE / s, n, at);
            }
            Noise::Batch(Spread::Running { momentum }) => {
                let s = deviation(x, at);
                let old = memory[0];
                let s = if old > R::ZERO { old + R::of(momentum) * (s - old) } else { s };
                memory[0] = s;
                rng.fill_uniform(R::ONE, R::ONE + R::ONE / s, n, at);
            }
            Noise::Batch(Spread::PerFeature) => {
                rng.fill_uniform(R::ZERO, R::ONE, n, at);
                for (x, n) in x.chunks_exact(at.lanes()).zip(n.chunks_exact_mut(at.lanes())) {
                    let width = R::ONE / deviation(x, at);
                    each::update(n, |u| u * width + R::ONE);
                }
            }
            Noise::Constant(c) => n.fill(Lane::splat(R::of(c))),
            Noise::TwoPoint { low, high } => {
                rng.fill_uniform(R::ZERO, R::ONE, n, at);
                let (low, high, half) = (R::of(low), R::of(high), R::of(0.5));
                each::update(n, |u| if u < half { low } else { high });
            }
            Noise::LogUniform { low, high } => {
                rng.fill_uniform(R::of(libm::log(low)), R::of(libm::log(high)), n, at);
                each::exp(n);
            }
            Noise::ShiftedGamma { shape, scale } => {
                n.fill(Lane::splat(R::ONE));
                for _ in 0..shape {
                    rng.fill_uniform(R::ZERO, R::ONE, spare, at);
                    each::update1(n, spare, |n, u| n - (R::ONE - u).ln() * R::of(scale));
                }
            }
            Noise::Learnable { .. } => rng.fill_uniform(R::ZERO, R::ONE, n, at),
        }
    }
}

/// ln(1 + e^rho)
#[inline(always)]
pub(crate) fn softplus<R: Real>(rho: R) -> R {
    if rho > R::ZERO { rho + (R::ONE + (-rho).exp()).ln() } else { (R::ONE + rho.exp()).ln() }
}

/// The standard deviation of all rows of all features in `x`, with n - 1 in the denominator.
#[inline(always)]
fn deviation<R: Real>(x: &[Lane<R>], at: BatchLayout) -> R {
    let count = R::of((x.len() / at.lanes() * at.rows) as f64);
    let mean = sum(x, at, |x| x) / count;
    (sum(x, at, |x| (x - mean) * (x - mean)) / (count - R::ONE)).sqrt()
}

/// The sum of `f` over all rows that count.
#[inline(always)]
fn sum<R: Real>(x: &[Lane<R>], at: BatchLayout, f: impl Fn(Lane<R>) -> Lane<R>) -> R {
    let mut sum = Lane::ZERO;
    for feature in x.chunks_exact(at.lanes()) {
        for (c, &x) in feature.iter().enumerate() {
            let mut part = f(x);
            if c + 1 == feature.len() {
                part.0[at.rows_in(c)..].fill(R::ZERO);
            }
            sum += part;
        }
    }
    sum.sum()
}

impl Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Noise::Uniform { low, high } => write!(f, "U[{low},{high}]"),
            Noise::Batch(Spread::Pooled) => write!(f, "batch"),
            Noise::Batch(Spread::PerFeature) => write!(f, "batch-feature"),
            Noise::Batch(Spread::Running { momentum }) => write!(f, "batch-running({momentum})"),
            Noise::Constant(c) => write!(f, "constant({c})"),
            Noise::TwoPoint { low, high } => write!(f, "two-point({low},{high})"),
            Noise::LogUniform { low, high } => write!(f, "log-uniform({low},{high})"),
            Noise::ShiftedGamma { shape, scale } => write!(f, "shifted-gamma({shape},{scale})"),
            Noise::Learnable { start } => write!(f, "learnable({start})"),
        }
    }
}

impl FromStr for Noise {
    type Err = Error;

    /// Reads what [`Display`] prints.
    fn from_str(text: &str) -> Result<Self, Error> {
        let syntax = || Error::Syntax { what: "noise", got: text.into(), example: "U[1,5], batch or constant(3)" };
        let trimmed = text.trim();
        let (name, arguments) = match trimmed.find(['[', '(']) {
            Some(open) => {
                let inner = trimmed[open + 1..].strip_suffix([']', ')']).ok_or_else(syntax)?;
                (&trimmed[..open], inner)
            }
            // Two numbers without a name are a range of which the brackets were left out.
            None if trimmed.contains(',') => ("", trimmed),
            None => (trimmed, ""),
        };
        let numbers: Vec<f64> = arguments
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(|part| part.trim().parse().map_err(|_| syntax()))
            .collect::<Result<_, _>>()?;
        let noise = match (name, &numbers[..]) {
            ("U" | "uniform", &[low, high]) => Noise::Uniform { low, high },
            ("batch", []) => Noise::Batch(Spread::Pooled),
            ("batch-feature", []) => Noise::Batch(Spread::PerFeature),
            ("batch-running", &[momentum]) => Noise::Batch(Spread::Running { momentum }),
            ("constant", &[c]) => Noise::Constant(c),
            ("two-point", &[low, high]) => Noise::TwoPoint { low, high },
            ("log-uniform", &[low, high]) => Noise::LogUniform { low, high },
            ("shifted-gamma", &[shape, scale]) => {
                let fits = shape.fract() == 0.0 && (1.0..=64.0).contains(&shape);
                Error::check(fits, GAMMA_SHAPE.0, shape, GAMMA_SHAPE.1)?;
                Noise::ShiftedGamma { shape: shape as u32, scale }
            }
            ("learnable", &[start]) => Noise::Learnable { start },
            _ if name == "U" || NOISES.iter().any(|spec| spec.name == name) => return Err(syntax()),
            ("", &[low, high]) => {
                let (what, got) = (format!("'{trimmed}'"), Noise::Uniform { low, high });
                let instead = format!("did you mean {got}?");
                return Err(Error::Unsupported { what, when: "as a noise".into(), instead });
            }
            _ => {
                // A name alone can rarely be read, so that they are listed as they are written.
                let nearest = NOISES.iter().map(|spec| spec.name).collect::<Vec<_>>();
                let error = Error::unknown("noise", name, &nearest);
                let Error::Unknown { what, got, nearest, .. } = error else { return Err(error) };
                let written = |name: &str| NOISES.iter().find(|spec| spec.name == name).map(NoiseSpec::written);
                let valid: Vec<String> = NOISES.iter().map(NoiseSpec::written).collect();
                let nearest = nearest.and_then(|name| written(&name));
                return Err(Error::Unknown { what, got, nearest, valid: valid.join(", ") });
            }
        };
        noise.check()?;
        Ok(noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::to_lanes;
    use crate::rng::Purpose;

    #[test]
    fn every_listed_noise_parses_as_it_prints() {
        for spec in NOISES {
            assert_eq!(spec.example.to_string().parse(), Ok(spec.example), "{}", spec.name);
            let written = spec.written();
            assert!(written.parse::<Noise>().is_ok() && written.len() < 22, "{written}");
        }
    }

    /// What an error lists can be typed.
    #[test]
    fn an_unknown_noise_is_told_what_can_be_written() {
        let text = "lernable".parse::<Noise>().unwrap_err().to_string();
        assert_eq!(text.matches("learnable(5)").count(), 2, "{text}");
        assert!(text.contains("U[1,5]") && !text.contains("learnable,"), "{text}");
    }

    #[test]
    fn nonsense_is_refused_with_the_value() {
        for (text, hint) in [
            ("U[5,1]", "1"),
            ("U[0,1]", "0"),
            ("constant(-3)", "-3"),
            ("batsh", "batch"),
            ("U[1,5", "U[1,5"),
            ("two-point(1)", "two-point(1)"),
            ("U[1,NaN]", "NaN"),
            ("[1, 2]", "did you mean U[1,2]?"),
            ("1,2", "'1,2' is not available as a noise; did you mean U[1,2]?"),
            ("1,x", "cannot read noise from '1,x'"),
        ] {
            let message = text.parse::<Noise>().unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    /// Means by their closed forms: all listed examples have a mean near 3 or a bound set by the batch.
    #[test]
    fn every_noise_has_its_mean() {
        let rows = 16_000;
        let at = BatchLayout::new(rows).unwrap();
        let x: Vec<f64> = (0..2 * rows).map(|k| if k % 4 < 2 { -1.0 } else { 1.0 }).collect();
        let x = to_lanes(&x, at).unwrap();
        for spec in NOISES {
            let mean = match spec.example {
                Noise::Batch(_) => 1.5,
                Noise::LogUniform { low, high } => (high - low) / libm::log(high / low),
                Noise::Learnable { .. } => 0.5,
                _ => 3.0,
            };
            let mut rng = Rng::fast("mean", Purpose::Noise);
            let mut n = vec![Lane::ZERO; x.len()];
            let mut spare = n.clone();
            let mut memory = Lane::ZERO;
            spec.example.draw(&mut rng, &x, &mut n, &mut spare, &mut memory, at);
            let got = n.iter().flat_map(|l| l.0).sum::<f64>() / (2 * rows) as f64;
            assert!((got / mean - 1.0).abs() < 0.02, "{}: {got} instead of {mean}", spec.name);
        }
    }

    #[test]
    fn the_start_of_a_learned_bound_is_the_inverse_of_its_softplus() {
        for start in [1.001, 2.0, 5.0, 50.0, 5000.0] {
            let rho = Noise::Learnable { start }.rho();
            assert!((1.0 + softplus(rho) - start).abs() < 1e-9 * start, "{start}: {rho}");
        }
    }

    #[test]
    fn deviations_ignore_the_padding() {
        let at = BatchLayout::new(3).unwrap();
        let x = to_lanes(&[1.0, 2.0, 4.0], at).unwrap();
        assert!((deviation(&x, at) - (7f64 / 3.0).sqrt()).abs() < 1e-12);
    }
}

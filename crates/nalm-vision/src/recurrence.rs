//! What a sequence costs: a multiplication cell along it, h_t = cell(l_t, h_(t-1)) from h_0 = 1, every state supervised, and a regulariser
//! on the cell's inputs. The core unrolls the cell.

use crate::error::Error;
use nalm::module::Dispatch;
use nalm::{BatchLayout, Lane, Module, Pass, Real, Recurrent, batch};
use std::fmt;
use std::str::FromStr;

/// Which of a cell's inputs the regulariser of the network in front looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inputs {
    /// With the noise of the cell, as the reference code does: its mean is about three times larger under `U[1,5]`.
    #[default]
    Noised,
    /// As they come.
    Clean,
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Inputs::Noised => "noised",
            Inputs::Clean => "clean",
        })
    }
}

impl FromStr for Inputs {
    type Err = nalm::Error;
    fn from_str(text: &str) -> Result<Self, nalm::Error> {
        match text {
            "noised" => Ok(Inputs::Noised),
            "clean" => Ok(Inputs::Clean),
            _ => Err(nalm::Error::unknown("rz_inputs", text, &["noised", "clean"])),
        }
    }
}

/// What one batch costs, and the gradients.
pub(crate) struct Cost<R> {
    /// Mean squared error over all samples and steps.
    pub(crate) error: R,
    /// R_z without its strength.
    pub(crate) regulariser: R,
    /// Of the labels, step after step.
    pub(crate) dlabels: Vec<R>,
    pub(crate) dp: Vec<R>,
    /// Noise on the cell's inputs, step after step and there sample by sample.
    pub(crate) noise: Vec<R>,
}

/// A cell with two inputs, the label first, and one output. A batch has as many steps as its labels.
#[derive(Debug)]
pub(crate) struct SequenceCost<R: Real>(Recurrent<R>);

/// A batch that went through the cell step by step.
struct Unrolled<R: Real> {
    recurrent: Recurrent<R>,
    at: BatchLayout,
    states: Vec<Lane<R>>,
    tape: Vec<Lane<R>>,
}

impl<R: Real> SequenceCost<R> {
    pub(crate) fn new(cell: Box<dyn Dispatch<R>>) -> Result<Self, Error> {
        Ok(Self(Recurrent::every_state(cell, 1, 1.0)?))
    }

    /// What is the same for any number of steps: parameters, their start, box and penalty.
    pub(crate) fn module(&self) -> &Recurrent<R> {
        &self.0
    }

    /// `labels` are those of all samples for the first step, then for the second, and so on.
    fn unroll(&self, p: &[R], labels: &[R], samples: usize, pass: Pass<'_>) -> Result<Unrolled<R>, Error> {
        let at = BatchLayout::new(samples)?;
        let recurrent = self.0.with_steps(labels.len() / samples)?;
        let labels: Vec<_> =
            labels.chunks_exact(samples).map(|labels| batch::to_lanes(labels, at)).collect::<Result<_, _>>()?;
        let labels = labels.concat();
        let mut states = vec![Lane::ZERO; labels.len()];
        let mut tape = vec![Lane::ZERO; recurrent.tape_len(at)];
        recurrent.forward(p, &labels, &mut states, &mut tape, at, pass);
        Ok(Unrolled { recurrent, at, states, tape })
    }

    /// All states, step after step.
    pub(crate) fn states(&self, p: &[R], labels: &[R], samples: usize, pass: Pass<'_>) -> Result<Vec<R>, Error> {
        let Unrolled { at, states, .. } = self.unroll(p, labels, samples, pass)?;
        Ok(by_step(&states, at))
    }

    /// The cost of a batch: mean squared error of all states, plus `strength` times
    /// R_z = 1/2 sum_i (1 - w_i) (1 - m_i)^2, m_i the mean of input i over samples and steps.
    pub(crate) fn cost(
        &self,
        p: &[R],
        labels: &[R],
        targets: &[R],
        samples: usize,
        inputs: Inputs,
        strength: R,
        pass: Pass<'_>,
    ) -> Result<Cost<R>, Error> {
        let count = R::of(labels.len() as f64);
        let Unrolled { recurrent, at, states, mut tape } = self.unroll(p, labels, samples, pass)?;
        let steps = recurrent.steps();
        // By how much an entry counts in the mean of its input: with the noise on it, or once.
        let factor = |tape: &[Lane<R>], t: usize, feature: usize, k: usize| match inputs {
            Inputs::Clean => R::ONE,
            Inputs::Noised => {
                recurrent.cell_noise(tape, t, at).map_or(R::ONE, |noise| *at.row(at.feature(noise, feature), k))
            }
        };
        let mut means = [R::ZERO; 2];
        for t in 0..steps {
            let input = recurrent.cell_inputs(&tape, t, at);
            for feature in 0..2 {
                for k in 0..samples {
                    means[feature] += *at.row(at.feature(input, feature), k) * factor(&tape, t, feature, k) / count;
                }
            }
        }
        let mut dp = vec![R::ZERO; p.len()];
        let (mut regulariser, mut by_mean) = (R::ZERO, [R::ZERO; 2]);
        let half = R::of(0.5);
        // A cell without weights has nothing to regularise.
        for (i, &w) in p.iter().enumerate().take(2) {
            let away = R::ONE - means[i];
            regulariser += half * (R::ONE - w) * away * away;
            dp[i] -= strength * half * away * away;
            by_mean[i] = -strength * (R::ONE - w) * away / count;
        }
        // The gradients of the error by the states and of R_z by the cell's inputs; both are 0 in the padding.
        let mut error = R::ZERO;
        let mut dstates = vec![Lane::ZERO; states.len()];
        let mut dinputs = vec![Lane::ZERO; 2 * states.len()];
        for t in (0..steps).rev() {
            for k in 0..samples {
                let off = *at.row(at.feature(&states, t), k) - targets[t * samples + k];
                error += off * off / count;
                *at.row_mut(at.feature_mut(&mut dstates, t), k) = (off + off) / count;
                for feature in 0..2 {
                    let by_input = by_mean[feature] * factor(&tape, t, feature, k);
                    *at.row_mut(at.feature_mut(&mut dinputs, 2 * t + feature), k) = by_input;
                }
            }
        }
        let mut dlabels = vec![Lane::ZERO; states.len()];
        recurrent.backward_with(p, &dstates, Some(&dinputs), Some(&mut dlabels), &mut dp, &mut tape, at);
        let noises = (0..steps).filter_map(|t| recurrent.cell_noise(&tape, t, at));
        let noise = noises.flat_map(|noise| batch::from_lanes(noise, at)).collect();
        Ok(Cost { error, regulariser, dlabels: by_step(&dlabels, at), dp, noise })
    }
}

/// The numbers of all samples at the first step, then at the second, and so on.
fn by_step<R: Real>(lanes: &[Lane<R>], at: BatchLayout) -> Vec<R> {
    lanes.chunks_exact(at.lanes()).flat_map(|step| batch::from_lanes(step, at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalm::Rng;
    use nalm::module::{Options, Shape, find};
    use nalm::rng::Purpose;

    fn cell(name: &str) -> SequenceCost<f64> {
        let spec = find::<f64>(name).unwrap();
        SequenceCost::new((spec.build)(Shape::new(2, 1).unwrap(), &Options::default()).unwrap()).unwrap()
    }

    #[test]
    fn at_ones_the_states_are_the_products() {
        let labels = [2.0, 3.0, 5.0, 7.0, 4.0, 1.0];
        for name in ["nmu", "snmu", "mul"] {
            let cell = cell(name);
            let p = vec![1.0; cell.module().param_len()];
            let noise = &mut Rng::fast("noise", Purpose::Noise);
            let states = cell.states(&p, &labels, 2, Pass::Train(noise)).unwrap();
            for (got, want) in states.iter().zip([2.0, 3.0, 10.0, 21.0, 40.0, 21.0]) {
                assert!((got - want).abs() < 1e-12, "{name}: {got} {want}");
            }
        }
    }

    /// Labels and weights, through every step and through the means of R_z, with the same noise each time.
    #[test]
    fn gradients_are_those_of_differences() {
        let (samples, steps) = (19, 3);
        let labels: Vec<f64> = (0..samples * steps).map(|k| 1.5 + (k as f64 * 0.9).sin()).collect();
        let targets: Vec<f64> = (0..samples * steps).map(|k| 3.0 + (k as f64).cos()).collect();
        for (name, inputs) in [("nmu", Inputs::Noised), ("snmu", Inputs::Noised), ("snmu", Inputs::Clean)] {
            let cell = cell(name);
            let p = vec![0.6, 0.8];
            let cost = |p: &[f64], labels: &[f64]| {
                let noise = &mut Rng::fast("noise", Purpose::Noise);
                cell.cost(p, labels, &targets, samples, inputs, 0.7, Pass::Train(noise)).unwrap()
            };
            let value = |p: &[f64], labels: &[f64]| {
                let cost = cost(p, labels);
                cost.error + 0.7 * cost.regulariser
            };
            let found = cost(&p, &labels);
            let check = |got: f64, at: &dyn Fn(f64) -> f64| {
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((got - difference).abs() < 1e-6 * difference.abs().max(1.0), "{name}: {got} {difference}");
            };
            for i in 0..2 {
                check(found.dp[i], &|h| {
                    let mut p = p.clone();
                    p[i] += h;
                    value(&p, &labels)
                });
            }
            for k in 0..labels.len() {
                check(found.dlabels[k], &|h| {
                    let mut labels = labels.clone();
                    labels[k] += h;
                    value(&p, &labels)
                });
            }
        }
    }

    /// Under U[1,5] the means are about three times as large, and the regulariser an order of magnitude.
    #[test]
    fn noise_strengthens_the_regulariser() {
        let cell = cell("snmu");
        let labels: Vec<f64> = (0..600).map(|k| 1.0 + (k % 9) as f64).collect();
        let value = |inputs| {
            let noise = &mut Rng::fast("noise", Purpose::Noise);
            cell.cost(&[0.5, 0.5], &labels, &labels, 300, inputs, 1.0, Pass::Train(noise)).unwrap().regulariser
        };
        let ratio = value(Inputs::Noised) / value(Inputs::Clean);
        assert!((8.0..20.0).contains(&ratio), "{ratio}");
    }
}

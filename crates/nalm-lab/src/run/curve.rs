//! What a run looked like on its way: errors and weights, at steps that thin out as it goes on.

use nalm::{Network, Observer};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// More weights than this are not followed.
const MOST_WEIGHTS: usize = 8;

/// The learning curve of a run, and the way of its last layer's weights.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Curve {
    /// Errors on the way.
    pub errors: Vec<Point>,
    /// Updates done, and the weights after them.
    pub weights: Vec<(u64, Vec<Option<f32>>)>,
}

/// Errors of the weights after `step` updates.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Point {
    /// Updates before.
    pub step: u64,
    /// On the validation set.
    pub validation: Option<f64>,
    /// On the test set.
    pub test: Option<f64>,
    /// Of the weights.
    pub sparsity: Option<f64>,
}

/// Follows a run.
#[derive(Default)]
pub struct Recorder {
    curve: Curve,
    next_error: u64,
    next_weights: u64,
    /// The last errors of a run whose last phase is short, and short is what it is about.
    last: Option<Point>,
    whole: bool,
}

/// About fifty a decade from the hundredth step on.
fn after(step: u64) -> u64 {
    step + (step / 20).max(1)
}

impl Recorder {
    /// Follows a run; one that is trained in phases to its end, however soon after the last point that is.
    pub fn new(whole: bool) -> Self {
        Self { whole, ..Self::default() }
    }

    /// The curve, with the weights of the last layer only.
    pub fn finish(mut self, network: &Network<f32>) -> Curve {
        let own = network.layers().last().map_or(0, |layer| layer.param_len());
        self.curve.errors.extend(self.last.take());
        if own > MOST_WEIGHTS {
            self.curve.weights.clear();
        }
        for (_, weights) in &mut self.curve.weights {
            weights.drain(..weights.len() - own);
        }
        self.curve
    }

    fn weights(&mut self, updates: u64, params: &[f32]) {
        if updates >= self.next_weights {
            self.next_weights = after(updates);
            self.curve.weights.push((updates, params.iter().map(|w| w.is_finite().then_some(*w)).collect()));
        }
    }
}

impl Observer<f32> for Recorder {
    fn logged(&mut self, row: &nalm::LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        if row.step == 0 {
            self.weights(0, params);
        }
        let finite = |x: f64| x.is_finite().then_some(x);
        let [validation, test, sparsity] = [row.validation, row.test, row.sparsity].map(finite);
        let point = Point { step: row.step, validation, test, sparsity };
        if row.step >= self.next_error {
            self.next_error = after(row.step);
            self.curve.errors.push(point);
            self.last = None;
        } else if self.whole {
            self.last = Some(point);
        }
        ControlFlow::Continue(())
    }

    fn stepped(&mut self, step: u64, _: f32, _: f32, params: &[f32]) -> ControlFlow<()> {
        self.weights(step + 1, params);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalm::Nmu;

    /// A unit of as many weights as are followed, and one of one more.
    #[test]
    fn weights_are_followed_where_they_are_few() {
        for (inputs, points) in [(MOST_WEIGHTS, 2), (MOST_WEIGHTS + 1, 0)] {
            let network = Network::single(Nmu::new(inputs, 1).unwrap());
            let mut recorder = Recorder::new(false);
            for updates in [0, 1] {
                recorder.weights(updates, &vec![0.5; inputs]);
            }
            let curve = recorder.finish(&network);
            assert_eq!(curve.weights.len(), points, "{inputs} weights");
            assert!(curve.weights.iter().all(|(_, weights)| weights.len() == inputs));
        }
    }
}

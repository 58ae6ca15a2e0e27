//! Where a run has arrived.

use crate::rng::Rng;

/// Where a run has arrived: all that the next step depends on besides network, task, seed and settings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainingState<R> {
    /// The last step that was done.
    pub step: u64,
    /// The parameters after it.
    pub params: Vec<R>,
    /// The optimiser's mean gradients.
    pub mean: Vec<R>,
    /// The optimiser's mean squared gradients.
    pub square: Vec<R>,
    /// The optimiser's decays to the power of the number of its steps.
    pub powers: (f64, f64),
    /// The generator of the noise.
    pub noise: Rng,
    /// How often parameters were drawn anew.
    pub reinitialisations: u64,
    /// The last validation error that was logged, by which some penalties decide whether to act.
    pub validation: f64,
}

//! Everything about a run but network, task and seed.

use crate::loss::LossPlan;
use crate::optim::Optimiser;
use crate::penalty::{Penalty, Schedule};
use crate::recipe::Reinit;
use crate::rng::Stream;
use crate::task::Task;
use crate::{Error, InstructionSet, Network, Real};

/// Everything about a run but network, task and seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The last step. Steps are counted from 0, so there is one more update than this.
    pub steps: u64,
    /// Rows in a training batch.
    pub batch: usize,
    /// Rows in the validation set. Tasks with data of their own have sets of their own sizes instead: [`Task::evaluation_rows`].
    pub validation: usize,
    /// Rows in the test set.
    pub test: usize,
    /// Rows of the validation set by which a schedule decides whether to start over; all of them where a task has data of its own.
    pub held_out: usize,
    /// Steps between two evaluations.
    pub log_every: u64,
    /// Whether the last step is evaluated, too, where it is none of these; published runs do without.
    pub log_last: bool,
    /// Which random streams to draw from.
    pub stream: Stream,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// The loss.
    pub loss: LossPlan,
    /// Strength and schedule of each layer's own penalty.
    pub penalties: Vec<Penalty>,
    /// Whether parameters are moved into their boxes after every step.
    pub clamp: bool,
    /// Element-wise bound on the gradient.
    pub clip: Option<f64>,
    /// When to start over.
    pub reinit: Option<Reinit>,
    /// Noise on the gradient.
    pub gradient_noise: Option<GradientNoise>,
    /// Parameters to start from instead of random ones; all other streams stay as they are.
    pub start: Option<Vec<f64>>,
    /// The instruction set; results do not depend on it.
    pub instructions: InstructionSet,
}

/// Gaussian noise of variance eta / (1 + step)^gamma on every gradient (Neelakantan et al. 2015).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientNoise {
    /// The variance at step 0.
    pub eta: f64,
    /// How fast it decays; 0.55 as published.
    pub gamma: f64,
}

impl GradientNoise {
    /// The published decay.
    pub fn new(eta: f64) -> Self {
        Self { eta, gamma: 0.55 }
    }
}

/// Sets of more numbers than this would hardly be wanted, and no machine should die of a mistyped size.
const MOST_NUMBERS: f64 = 268_435_456.0;

impl Config {
    /// The settings under which the network's modules were published on the Single Module Task: 50,000 steps, batches of 128 rows,
    /// errors on 10,000 rows every 1,000 steps, Adam, penalty ramps from 20,000 to 35,000. The Arithmetic Dataset Task has `.steps(5_000_000).ramp(1_000_000, 2_000_000)`.
    ///
    /// In a stack, each layer keeps its own penalty; the smallest learning rate, the tightest clipping and any
    /// reinitialisation rule hold for all.
    pub fn published<R: Real>(network: &Network<R>) -> Self {
        let recipes: Vec<_> = network.layers().iter().map(|layer| layer.recipe()).collect();
        let learning_rate = recipes.iter().map(|r| r.learning_rate).fold(f64::INFINITY, f64::min);
        Self {
            steps: 50_000,
            batch: 128,
            validation: 10_000,
            test: 10_000,
            held_out: 1_024,
            log_every: 1_000,
            log_last: false,
            stream: Stream::Fast,
            optimiser: Optimiser::adam(learning_rate),
            loss: LossPlan::default(),
            penalties: recipes.iter().map(|r| r.penalty).collect(),
            clamp: true,
            clip: recipes.iter().filter_map(|r| r.clip).reduce(f64::min),
            reinit: recipes.iter().find_map(|r| r.reinit),
            gradient_noise: None,
            start: None,
            instructions: InstructionSet::best(),
        }
    }

    /// The same settings for this many steps.
    pub fn steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// The same settings with this stream.
    pub fn stream(self, stream: Stream) -> Self {
        Self { stream, ..self }
    }

    /// The same settings with all penalty ramps from `start` to `end`.
    pub fn ramp(mut self, start: u64, end: u64) -> Self {
        for penalty in &mut self.penalties {
            if let Schedule::Ramp { .. } = penalty.schedule {
                penalty.schedule = Schedule::Ramp { start, end };
            }
        }
        self
    }

    /// Checks that the settings make sense, and that network and task fit together.
    pub fn check<R: Real>(&self, network: &Network<R>, task: &dyn Task<R>) -> Result<(), Error> {
        Error::check(self.batch > 0, "batch size", 0.0, "at least 1")?;
        Error::check(self.validation > 0, "size of the validation set", 0.0, "at least 1")?;
        Error::check(self.test > 0, "size of the test set", 0.0, "at least 1")?;
        Error::check(self.held_out > 0, "size of the held-out data", 0.0, "at least 1")?;
        Error::check(self.log_every > 0, "steps between two evaluations", 0.0, "at least 1")?;
        let (validation, test) = task.evaluation_rows().unwrap_or((self.validation, self.test));
        let held_out = if task.evaluation_rows().is_some() { 0 } else { self.held_out };
        let numbers = network.shape().inputs as f64 * self.batch.max(validation).max(test).max(held_out) as f64;
        Error::check(numbers <= MOST_NUMBERS, "numbers in a set (rows times inputs)", numbers, "at most 2^28")?;
        self.optimiser.check()?;
        if self.penalties.len() != network.layers().len() {
            let what = "penalties, one for each layer".to_string();
            return Err(Error::Shape { what, got: self.penalties.len(), want: network.layers().len() });
        }
        self.penalties.iter().try_for_each(Penalty::check)?;
        if let Some(clip) = self.clip {
            Error::check(clip > 0.0, "gradient clip", clip, "positive")?;
        }
        if let Some(GradientNoise { eta, gamma }) = self.gradient_noise {
            Error::check(
                eta >= 0.0 && eta.is_finite(),
                "variance of the gradient noise",
                eta,
                "finite and at least 0",
            )?;
            Error::check(gamma >= 0.0 && gamma.is_finite(), "gamma of the gradient noise", gamma, "at least 0")?;
        }
        if let Some(start) = &self.start {
            if start.len() != network.param_len() {
                let what = "parameters to start from".to_string();
                return Err(Error::Shape { what, got: start.len(), want: network.param_len() });
            }
            for &w in start {
                Error::check(w.is_finite(), "parameter to start from", w, "finite")?;
            }
        }
        if let Some(reinit) = self.reinit {
            Error::check(reinit.every > 0, "steps between two reinitialisation checks", 0.0, "at least 1")?;
        }
        let (want, got) = (task.shape(), network.shape());
        for (what, got, want) in [("inputs", got.inputs, want.inputs), ("outputs", got.outputs, want.outputs)] {
            if got != want {
                let what = format!("{what} of the network for the task {}", task.name());
                return Err(Error::Shape { what, got, want });
            }
        }
        Ok(())
    }
}

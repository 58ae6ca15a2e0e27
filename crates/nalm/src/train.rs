//! The training loop, written once.

use crate::batch::{Batch, Layout};
use crate::loss::LossPlan;
use crate::metric::{Outcome, Row, Status};
use crate::module::Pass;
use crate::network::Workspace;
use crate::optim::{Optimisation, Optimiser};
use crate::penalty::{Penalty, Reinit, Schedule};
use crate::rng::{Rng, Stream};
use crate::task::Task;
use crate::{Error, Lane, Network, Path, Real};
use std::ops::ControlFlow;

/// Everything about a run but network, task and seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The last step. Steps are counted from 0, so there is one more update than this.
    pub steps: u64,
    /// Rows in a training batch.
    pub batch: usize,
    /// Rows in the validation and in the test set.
    pub evaluation: usize,
    /// Steps between two evaluations.
    pub log_every: u64,
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
    /// The instruction set; results do not depend on it.
    pub path: Path,
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

impl Config {
    /// The settings under which the network's modules were published, for 50,000 steps.
    ///
    /// In a stack, each layer keeps its own penalty; the smallest learning rate, the tightest clipping and any
    /// reinitialisation rule hold for all.
    pub fn published<R: Real>(network: &Network<R>) -> Self {
        let recipes: Vec<_> = network.layers().iter().map(|layer| layer.recipe()).collect();
        let learning_rate = recipes.iter().map(|r| r.learning_rate).fold(f64::INFINITY, f64::min);
        Self {
            steps: 50_000,
            batch: 128,
            evaluation: 10_000,
            log_every: 1_000,
            stream: Stream::Fast,
            optimiser: Optimiser::adam(learning_rate),
            loss: LossPlan::default(),
            penalties: recipes.iter().map(|r| r.penalty).collect(),
            clamp: true,
            clip: recipes.iter().filter_map(|r| r.clip).reduce(f64::min),
            reinit: recipes.iter().find_map(|r| r.reinit),
            gradient_noise: None,
            path: Path::best(),
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

    fn check<R: Real>(&self, network: &Network<R>, task: &dyn Task<R>) -> Result<(), Error> {
        Error::check(self.batch > 0, "batch size", 0.0, "at least 1")?;
        Error::check(self.evaluation > 0, "size of the evaluation sets", 0.0, "at least 1")?;
        Error::check(self.log_every > 0, "steps between two evaluations", 0.0, "at least 1")?;
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
            Error::check(eta >= 0.0 && eta.is_finite(), "eta of the gradient noise", eta, "finite and at least 0")?;
            Error::check(gamma >= 0.0 && gamma.is_finite(), "gamma of the gradient noise", gamma, "at least 0")?;
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

/// Watches a run, and may stop it. The unit type watches nothing and costs nothing.
pub trait Observer<R: Real> {
    /// Called whenever errors were evaluated, before the step.
    fn logged(&mut self, _row: &Row, _params: &[R]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after every step with its loss (data part, penalty part) and the parameters it led to.
    #[inline(always)]
    fn stepped(&mut self, _step: u64, _loss: R, _penalty: R, _params: &[R]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<R: Real> Observer<R> for () {}

/// Trains a network on a task.
///
/// In every step: evaluate where it is due, draw a batch, forward, loss and penalties, backward, clip, optimise, clamp,
/// start over where training is stuck. The same arguments give the same bits on every machine.
pub fn train<R: Real>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    observer: &mut impl Observer<R>,
) -> Result<Outcome<R>, Error> {
    config.check(network, task)?;
    let mut run = Run::new(network, task, seed, config)?;
    let mut status = Status::Completed;
    for step in 0..=config.steps {
        if step % config.log_every == 0 {
            let row = run.evaluate(step);
            if observer.logged(&row, &run.params).is_break() {
                status = Status::Cancelled { step };
                break;
            }
        }
        let (loss, penalty) = run.step(step);
        if (loss.is_nan() || penalty.is_nan()) && run.params.iter().any(|p| p.is_nan()) {
            status = Status::Diverged { step };
            break;
        }
        if observer.stepped(step, loss, penalty, &run.params).is_break() {
            status = Status::Cancelled { step };
            break;
        }
    }
    Ok(Outcome::judge(status, run.rows, task.thresholds(), run.reinits, run.params))
}

/// A run in progress.
struct Run<'a, R: Real> {
    network: &'a Network<R>,
    config: &'a Config,
    samples: Box<dyn crate::task::Samples<R>>,
    batch: Batch<R>,
    work: Workspace<R>,
    sets: [Batch<R>; 2],
    evaluation: Workspace<R>,
    params: Vec<R>,
    gradient: Vec<R>,
    shake: Vec<R>,
    optimisation: Optimisation<R>,
    noise: Rng,
    history: History,
    reinits: u64,
    rows: Vec<Row>,
}

impl<'a, R: Real> Run<'a, R> {
    fn new(network: &'a Network<R>, task: &dyn Task<R>, seed: u64, config: &'a Config) -> Result<Self, Error> {
        let shape = network.shape();
        let at = Layout::on(config.path, config.batch)?;
        let all = Layout::on(config.path, config.evaluation)?;
        let mut samples = task.open(config.stream, seed)?;
        let mut sets = [0; 2].map(|_| Batch::zeros(shape.inputs, shape.outputs, all));
        samples.validation(&mut sets[0]);
        samples.test(&mut sets[1]);

        let key = format!("{}|{seed}", task.key());
        let mut params = vec![R::ZERO; network.param_len()];
        let mut init = Rng::init(config.stream, &key, seed);
        network.init(&mut params, &mut init);
        if config.stream == Stream::Reference {
            // The published code initialised twice: in the constructor and again in the script.
            network.init(&mut params, &mut init);
        }
        let rows = (config.steps / config.log_every + 1) as usize;
        Ok(Self {
            network,
            config,
            samples,
            batch: Batch::zeros(shape.inputs, shape.outputs, at),
            work: network.workspace(at),
            sets,
            evaluation: network.workspace(all),
            gradient: vec![R::ZERO; params.len()],
            shake: vec![R::ZERO; params.len()],
            optimisation: Optimisation::new(config.optimiser, params.len(), config.path)?,
            noise: init.noise_after(&key),
            history: History::with_capacity(rows + 1),
            reinits: 0,
            rows: Vec::with_capacity(rows),
            params,
        })
    }

    /// Logs the errors of the current weights.
    fn evaluate(&mut self, step: u64) -> Row {
        let [validation, test] = [0, 1].map(|k| {
            let set = &self.sets[k];
            let y = self.network.forward(&self.params, &set.x, &mut self.evaluation, Pass::Eval);
            mean_squared_error(y, &set.t, set.at)
        });
        let sparsity = self.network.sparsity_error(&self.params).to_f64();
        let row = Row { step, validation, test, sparsity };
        self.rows.push(row);
        row
    }

    /// One update; returns the loss and the penalty before it.
    fn step(&mut self, step: u64) -> (R, R) {
        let Self { network, config, batch, work, params, gradient, .. } = self;
        let validation = self.rows.last().map_or(f64::NAN, |row| row.validation);
        self.samples.train(batch);
        network.forward(params, &batch.x, work, Pass::Train(&mut self.noise));
        let (y, dy) = work.output_and_slope();
        let loss = config.loss.at(step).gradient(y, &batch.t, dy, batch.at);
        gradient.fill(R::ZERO);
        network.backward(params, &batch.x, work, None, gradient);
        let penalty = network.penalty(params, &config.penalties, step, validation, gradient);
        if let Some(GradientNoise { eta, gamma }) = config.gradient_noise {
            let deviation = R::of((eta / libm::pow(1.0 + step as f64, gamma)).sqrt());
            self.noise.fill_normal(&mut self.shake, config.path);
            gradient.iter_mut().zip(&self.shake).for_each(|(g, &z)| *g += deviation * z);
        }
        if let Some(clip) = config.clip {
            let clip = R::of(clip);
            gradient.iter_mut().for_each(|g| *g = g.at_most(clip).at_least(-clip));
        }
        self.optimisation.step(params, gradient);
        if config.clamp {
            network.project(params);
        }
        if let Some(rule) = config.reinit {
            self.history.push(validation);
            if step > 0 && step.is_multiple_of(rule.every) && self.history.is_stuck(&rule) {
                network.init(params, &mut self.noise);
                self.history.clear();
                self.reinits += 1;
            }
        }
        (loss, penalty)
    }
}

/// The mean over all rows and outputs, accumulated in f64.
fn mean_squared_error<R: Real>(y: &[Lane<R>], t: &[Lane<R>], at: Layout) -> f64 {
    let lanes = at.lanes();
    let mut sum = 0.0;
    for (k, (y, t)) in y.iter().zip(t).enumerate() {
        let mut part = 0.0;
        for r in 0..at.rows_in(k % lanes) {
            let residual = y[r] - t[r];
            part += (residual * residual).to_f64();
        }
        sum += part;
    }
    sum / (y.len() / lanes * at.rows) as f64
}

/// The validation errors of all steps since the last reinitialisation, as runs of equal values.
#[derive(Debug)]
struct History {
    runs: Vec<(f64, u64)>,
    len: u64,
}

impl History {
    fn with_capacity(runs: usize) -> Self {
        Self { runs: Vec::with_capacity(runs), len: 0 }
    }

    fn push(&mut self, error: f64) {
        self.len += 1;
        match self.runs.last_mut() {
            Some((value, count)) if value.to_bits() == error.to_bits() => *count += 1,
            _ => self.runs.push((error, 1)),
        }
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.len = 0;
    }

    /// The rule of [`Reinit`].
    fn is_stuck(&self, rule: &Reinit) -> bool {
        if self.len <= rule.patience {
            return false;
        }
        let half = self.len / 2;
        let (first, _) = self.moments(0, half);
        let (second, deviation) = self.moments(half, self.len);
        first <= second + deviation && second > rule.error_above
    }

    /// Mean and population standard deviation of the errors from..to.
    fn moments(&self, from: u64, to: u64) -> (f64, f64) {
        let pieces = || {
            self.runs.iter().scan(0, move |start, &(value, count)| {
                let (low, high) = ((*start).max(from), (*start + count).min(to));
                *start += count;
                Some((value, high.saturating_sub(low) as f64))
            })
        };
        let n = (to - from) as f64;
        // An error that is infinite or NaN counts only where it lies in the stretch.
        let total = |f: &dyn Fn(f64) -> f64| {
            pieces().filter(|(_, count)| *count > 0.0).map(|(value, count)| count * f(value)).sum::<f64>() / n
        };
        let mean = total(&|v| v);
        (mean, total(&|v| (v - mean) * (v - mean)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_runs_are_those_of_the_list() {
        let list = [5.0, 5.0, 5.0, 2.0, 2.0, 7.0, 7.0, 7.0];
        let mut history = History::with_capacity(8);
        list.iter().for_each(|&v| history.push(v));
        let (mean, deviation) = history.moments(2, 7);
        let slice = &list[2..7];
        let expected = slice.iter().sum::<f64>() / 5.0;
        let variance = slice.iter().map(|v| (v - expected).powi(2)).sum::<f64>() / 5.0;
        assert!((mean - expected).abs() < 1e-12 && (deviation - variance.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn only_a_long_flat_and_bad_history_is_stuck() {
        let rule = Reinit { every: 10, patience: 10, error_above: 1.0 };
        let stuck = |errors: &[f64]| {
            let mut history = History::with_capacity(64);
            errors.iter().for_each(|&e| history.push(e));
            history.is_stuck(&rule)
        };
        assert!(stuck(&[3.0; 12]));
        assert!(!stuck(&[3.0; 10]), "too short");
        assert!(!stuck(&[0.5; 12]), "good enough");
        let falling: Vec<f64> = (0..12).map(|k| 100.0 - 8.0 * f64::from(k)).collect();
        assert!(!stuck(&falling), "improving");
        assert!(!stuck(&[f64::NAN; 12]), "NaN never restarts");
    }
}

//! The training loop, written once.

pub use crate::training_state::TrainingState;

use crate::batch::{Batch, BatchLayout};
use crate::config::{Config, GradientNoise};
use crate::metric::{Kept, LoggedErrors, Outcome, Status, WINDOW};
use crate::module::Pass;
use crate::network::Workspace;
use crate::optim::Optimisation;
use crate::recipe::History;
use crate::rng::{Rng, Stream};
use crate::task::{Samples, Task, Thresholds};
use crate::{Error, Lane, Network, Real};
use std::ops::ControlFlow;

/// Logged rows that memory is reserved for.
pub(crate) const MOST_ROWS: u64 = 1 << 20;

/// Watches a run, and may stop it. The unit type watches nothing.
pub trait Observer<R: Real> {
    /// Called whenever errors were evaluated, before the step.
    fn logged(&mut self, _row: &LoggedErrors, _params: &[R]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after every step with its loss (data part, penalty part) and the parameters it led to.
    fn stepped(&mut self, _step: u64, _loss: R, _penalty: R, _params: &[R]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<R: Real> Observer<R> for () {}

/// Trains a network on a task.
///
/// In every step: evaluate where it is due, draw a batch, forward, loss and penalties, backward, clip, optimise, clamp,
/// start over where training is stuck. The same arguments give the same bits on every machine.
pub fn train<R: Trained>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    observer: &mut dyn Observer<R>,
) -> Result<Outcome<R>, Error> {
    R::train(network, task, seed, config, None, observer)
}

/// Goes on where a run ended, up to the last step of `config`, with the same network, task, seed and settings; `save` keeps a state in a file.
///
/// It ends as the run would have ended that was never interrupted, to the bit, except for what a module remembers from one pass to
/// the next (noise from running statistics) and for the errors that a rule of [`crate::Reinit`] has seen: both begin anew. The outcome tells of the
/// steps from here on.
pub fn resume<R: Trained>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    state: &TrainingState<R>,
    observer: &mut dyn Observer<R>,
) -> Result<Outcome<R>, Error> {
    R::train(network, task, seed, config, Some(state), observer)
}

/// A number type for which this crate holds the compiled training loop; part of [`crate::Compiled`].
pub trait Trained: Real {
    /// Training over this type; see [`train`].
    #[doc(hidden)]
    fn train(
        network: &Network<Self>,
        task: &dyn Task<Self>,
        seed: u64,
        config: &Config,
        from: Option<&TrainingState<Self>>,
        observer: &mut dyn Observer<Self>,
    ) -> Result<Outcome<Self>, Error>;
}

macro_rules! trained {
    ($($type:ty)*) => {
        $(impl Trained for $type {
            fn train(
                network: &Network<Self>,
                task: &dyn Task<Self>,
                seed: u64,
                config: &Config,
                from: Option<&TrainingState<Self>>,
                observer: &mut dyn Observer<Self>,
            ) -> Result<Outcome<Self>, Error> {
                run(network, task, seed, config, from, observer)
            }
        })*
    };
}

// A blanket implementation would be generic again, so each type has its own.
trained!(f32 f64);

/// [`train`], called through [`Trained`] for the same reason as [`crate::module::every`].
pub(crate) fn run<R: Real>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    from: Option<&TrainingState<R>>,
    observer: &mut dyn Observer<R>,
) -> Result<Outcome<R>, Error> {
    config.check(network, task)?;
    config.stream.check(seed)?;
    let mut run = Run::new(network, task, seed, config)?;
    let (mut status, mut done) = (Status::Completed, from.map(|state| state.step));
    if let Some(state) = from {
        let (what, want) = ("step to go on from", "below the last step");
        Error::check(state.step < config.steps, what, state.step as f64, want)?;
        run.restore(state)?;
    }
    for step in done.map_or(0, |step| step.saturating_add(1))..=config.steps {
        if step % config.log_every == 0 || (config.log_last && step == config.steps) {
            let row = run.evaluate(step);
            if observer.logged(&row, &run.params).is_break() {
                status = Status::Cancelled { step };
                break;
            }
        }
        let went = run.advance(step, step, observer);
        done = Some(step);
        if let ControlFlow::Break(end) = went {
            status = end;
            break;
        }
    }
    let state = done.map(|step| run.state(step));
    Ok(Outcome { state, ..run.outcome(status, task.thresholds()) })
}

/// A run in progress.
pub(crate) struct Run<'a, R: Real> {
    network: &'a Network<R>,
    config: &'a Config,
    pub(crate) samples: Box<dyn Samples<R>>,
    batch: Batch<R>,
    work: Workspace<R>,
    sets: [Batch<R>; 2],
    /// One for both sets, or one for each where their sizes differ.
    evaluation: Vec<Workspace<R>>,
    pub(crate) params: Vec<R>,
    gradient: Vec<R>,
    shake: Vec<R>,
    optimisation: Optimisation<R>,
    pub(crate) noise: Rng,
    /// Whether modules are trained without their noise.
    noiseless: bool,
    history: History,
    pub(crate) reinits: u64,
    pub(crate) rows: Vec<LoggedErrors>,
    /// The last validation error that was logged.
    validation: f64,
    pub(crate) kept: Kept<R>,
}

impl<'a, R: Real> Run<'a, R> {
    pub(crate) fn new(
        network: &'a Network<R>,
        task: &dyn Task<R>,
        seed: u64,
        config: &'a Config,
    ) -> Result<Self, Error> {
        let shape = network.shape();
        let at = BatchLayout::on(config.instructions, config.batch)?;
        let (validation, test) = task.evaluation_rows().unwrap_or((config.validation, config.test));
        let all = [BatchLayout::on(config.instructions, validation)?, BatchLayout::on(config.instructions, test)?];
        let mut samples = task.open(config.stream, seed)?;
        let mut sets = all.map(|all| Batch::zeros(shape.inputs, shape.outputs, all));
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
        if let Some(start) = &config.start {
            params.iter_mut().zip(start).for_each(|(p, &w)| *p = R::of(w));
        }
        // Reserved in advance, so that the loop does not allocate; more than this is no run of fixed length.
        let last = u64::from(config.log_last && !config.steps.is_multiple_of(config.log_every));
        let rows = (config.steps / config.log_every).saturating_add(1 + last).min(MOST_ROWS) as usize;
        Ok(Self {
            network,
            config,
            samples,
            batch: Batch::zeros(shape.inputs, shape.outputs, at),
            work: network.workspace(at),
            sets,
            evaluation: all[..if all[0] == all[1] { 1 } else { 2 }].iter().map(|&all| network.workspace(all)).collect(),
            gradient: vec![R::ZERO; params.len()],
            shake: vec![R::ZERO; params.len()],
            optimisation: Optimisation::on(config.instructions, config.optimiser, params.len())?,
            noise: init.noise_after(&key),
            noiseless: false,
            history: History::with_capacity(rows + 1),
            reinits: 0,
            rows: Vec::with_capacity(rows),
            validation: f64::NAN,
            kept: Kept::new(&params, rows),
            params,
        })
    }

    /// Goes on with other settings: weights, data and noise stay, the optimiser's memory does not.
    #[cfg(feature = "second-order")]
    pub(crate) fn go_on(&mut self, config: &'a Config, noiseless: bool) -> Result<(), Error> {
        let (shape, at) = (self.network.shape(), BatchLayout::on(config.instructions, config.batch)?);
        if at != self.batch.at {
            self.batch = Batch::zeros(shape.inputs, shape.outputs, at);
            self.work = self.network.workspace(at);
        }
        self.optimisation = Optimisation::on(config.instructions, config.optimiser, self.params.len())?;
        self.history.clear();
        (self.config, self.noiseless) = (config, noiseless);
        Ok(())
    }

    /// Begins anew from other random weights; data and noise go on.
    pub(crate) fn start_over(&mut self) -> Result<(), Error> {
        self.network.init(&mut self.params, &mut self.noise);
        self.optimisation = Optimisation::on(self.config.instructions, self.config.optimiser, self.params.len())?;
        self.history.clear();
        self.reinits += 1;
        Ok(())
    }

    /// Where the run is after this step.
    fn state(&self, step: u64) -> TrainingState<R> {
        let (mean, square, powers) = self.optimisation.memory();
        TrainingState {
            step,
            params: self.params.clone(),
            mean: mean.to_vec(),
            square: square.to_vec(),
            powers,
            noise: self.noise.clone(),
            reinitialisations: self.reinits,
            validation: self.validation,
        }
    }

    /// Goes on from there. The stream of data is drawn from up to that step; other than that nothing is done again.
    fn restore(&mut self, state: &TrainingState<R>) -> Result<(), Error> {
        Error::sizes("parameters of the state to go on from", state.params.len(), self.params.len())?;
        self.optimisation.remember(&state.mean, &state.square, state.powers)?;
        self.params.copy_from_slice(&state.params);
        self.noise = state.noise.clone();
        self.reinits = state.reinitialisations;
        self.validation = state.validation;
        let Config { steps, log_every, log_last, .. } = *self.config;
        let last = u64::from(log_last && !steps.is_multiple_of(log_every));
        let to_log = steps / log_every - state.step / log_every + last;
        self.kept = Kept::new(&self.params, usize::try_from(to_log).unwrap_or(usize::MAX));
        (0..=state.step).for_each(|_| self.samples.train(&mut self.batch));
        Ok(())
    }

    /// Logs the errors of the current weights.
    pub(crate) fn evaluate(&mut self, step: u64) -> LoggedErrors {
        let [validation, test] = [0, 1].map(|k| {
            let (set, last) = (&self.sets[k], self.evaluation.len() - 1);
            let y = self.network.forward(&self.params, &set.x, &mut self.evaluation[k.min(last)], Pass::Eval);
            mean_squared_error(y, &set.t, set.at)
        });
        let sparsity = self.network.sparsity_error(&self.params).map_or(0.0, Real::to_f64);
        let row = LoggedErrors { step, validation, test, sparsity };
        self.rows.push(row);
        self.validation = row.validation;
        self.kept.look(&row, &self.params);
        row
    }

    /// What the run amounts to.
    pub(crate) fn outcome(self, status: Status, thresholds: Thresholds) -> Outcome<R> {
        Outcome::judge(status, self.rows, thresholds, self.reinits, self.params, Some(self.kept), WINDOW)
    }

    /// The same where every row competes for the best one.
    pub(crate) fn outcome_of_all(self, status: Status, thresholds: Thresholds) -> Outcome<R> {
        Outcome::judge(status, self.rows, thresholds, self.reinits, self.params, Some(self.kept), usize::MAX)
    }

    /// One update, the `own`th of its phase, which schedules go by, and `step` of the whole run, by which it is reported. Breaks where parameters are no
    /// numbers any more, or where the observer has seen enough.
    #[inline(always)]
    pub(crate) fn advance(&mut self, own: u64, step: u64, observer: &mut dyn Observer<R>) -> ControlFlow<Status> {
        let (loss, penalty) = self.step(own);
        // Parameters can only become NaN where something before them is not finite.
        let finite = loss.is_finite() && penalty.is_finite();
        if !finite && self.params.iter().any(|p| p.is_nan()) {
            return ControlFlow::Break(Status::Diverged { step });
        }
        if observer.stepped(step, loss, penalty, &self.params).is_break() {
            return ControlFlow::Break(Status::Cancelled { step });
        }
        ControlFlow::Continue(())
    }

    /// One update; returns the loss and the penalty before it.
    fn step(&mut self, step: u64) -> (R, R) {
        let Self { network, config, batch, work, params, gradient, .. } = self;
        let validation = self.validation;
        self.samples.train(batch);
        let pass = if self.noiseless { Pass::Noiseless } else { Pass::Train(&mut self.noise) };
        network.forward(params, &batch.x, work, pass);
        let (y, dy) = work.output_and_gradient();
        let loss = config.loss.at(step).gradient(y, &batch.t, dy, batch.at);
        gradient.fill(R::ZERO);
        network.backward(params, &batch.x, work, None, gradient);
        let penalty = network.penalty(params, &config.penalties, step, validation, gradient);
        if let Some(GradientNoise { eta, gamma }) = config.gradient_noise {
            let deviation = R::of((eta / libm::pow(1.0 + step as f64, gamma)).sqrt());
            self.noise.fill_normal(&mut self.shake, config.instructions);
            gradient.iter_mut().zip(&self.shake).for_each(|(g, &z)| *g += deviation * z);
        }
        if let Some(clip) = config.clip {
            let clip = R::of(clip);
            gradient.iter_mut().for_each(|g| *g = g.at_most(clip).at_least(-clip));
        }
        self.optimisation.advance(params, gradient);
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
fn mean_squared_error<R: Real>(y: &[Lane<R>], t: &[Lane<R>], at: BatchLayout) -> f64 {
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

//! A run along a schedule.

use super::discretise::discretise;
use super::levenberg_marquardt::{LevenbergMarquardt, Step, check_size, mean_square, unit};
use super::schedule::{Adam, Lm, Phase, TrainingSchedule};
use crate::batch::{Batch, BatchLayout};
use crate::metric::{Outcome, Status};
use crate::module::Pass;
use crate::network::Workspace;
use crate::task::{Samples, Task};
use crate::train::{MOST_ROWS, Observer, Run};
use crate::{Config, Error, Lane, Network, Real};
use std::ops::ControlFlow;

/// Iterations between two evaluations.
const LOG_EVERY: u64 = 10;
/// A fit whose sum of squares falls by less than this share in so many iterations has arrived.
const STALLED: (f64, u64) = (1e-6, 50);

/// Trains a network on a task, phase by phase.
///
/// Between phases the weights, the stream of data and that of the noise go on; the optimiser starts afresh. After the last phase the
/// error on held-out data of the training range decides whether to start over from new random weights, and which attempt counts;
/// nothing else is known of the answer. An attempt that diverges has failed like any other. Steps are counted in batches of `config.batch`
/// samples looked at, over all attempts; `config.steps` does not count, and `config.start` is where the first attempt starts.
///
/// Of a task with data of its own ([`crate::TableTask`]), the held-out data are all its validation rows, and a fit is given training rows;
/// where there are fewer than are asked for, they come again.
pub fn follow<R: Followed>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    schedule: &TrainingSchedule,
    observer: &mut dyn Observer<R>,
) -> Result<Outcome<R>, Error> {
    R::follow(network, task, seed, config, schedule, observer)
}

/// A number type for which this crate holds the compiled code of schedules; part of [`crate::Compiled`].
pub trait Followed: Real {
    /// Training along a schedule; see [`follow`].
    #[doc(hidden)]
    fn follow(
        network: &Network<Self>,
        task: &dyn Task<Self>,
        seed: u64,
        config: &Config,
        schedule: &TrainingSchedule,
        observer: &mut dyn Observer<Self>,
    ) -> Result<Outcome<Self>, Error>;
}

macro_rules! followed {
    ($($type:ty)*) => {
        $(impl Followed for $type {
            fn follow(
                network: &Network<Self>,
                task: &dyn Task<Self>,
                seed: u64,
                config: &Config,
                schedule: &TrainingSchedule,
                observer: &mut dyn Observer<Self>,
            ) -> Result<Outcome<Self>, Error> {
                run(network, task, seed, config, schedule, observer)
            }
        })*
    };
}

// A blanket implementation would be generic again, so each type has its own.
followed!(f32 f64);

/// [`follow`], called through [`Followed`] for the same reason as [`crate::module::every`].
pub(crate) fn run<R: Real>(
    network: &Network<R>,
    task: &dyn Task<R>,
    seed: u64,
    config: &Config,
    schedule: &TrainingSchedule,
    observer: &mut dyn Observer<R>,
) -> Result<Outcome<R>, Error> {
    schedule.check()?;
    let total = schedule.steps(config.batch, network.param_len()).saturating_mul(u64::from(schedule.attempts));
    let base = Config { steps: total, ..config.clone() };
    base.check(network, task)?;
    base.stream.check(seed)?;
    if schedule.phases.iter().any(|phase| matches!(phase, Phase::Lm(_))) {
        check_size(network.param_len())?;
    }
    let configs: Vec<Config> = schedule
        .phases
        .iter()
        .map(|phase| match phase {
            Phase::Adam(adam) => adam.config(&base),
            Phase::Lm(_) => base.clone(),
        })
        .collect();
    let wide = network.as_f64()?;
    let mut run = Run::new(network, task, seed, &base)?;
    // Fits log more often than steps of their number would.
    let logs = |phase: &Phase| match phase {
        Phase::Adam(adam) => adam.steps / base.log_every,
        Phase::Lm(lm) => lm.iterations / LOG_EVERY,
    };
    let rows: u64 = schedule.phases.iter().map(|phase| logs(phase).saturating_add(1)).fold(1, u64::saturating_add);
    run.rows.reserve(rows.saturating_mul(u64::from(schedule.attempts)).min(MOST_ROWS) as usize);
    let rows = task.evaluation_rows().map_or(base.held_out, |(validation, _)| validation);
    let held = HeldOut::new(&wide, &mut *run.samples, BatchLayout::on(base.instructions, rows)?);
    let mut way = Way { network, wide: &wide, run, held, step: 0, observer, batch: base.batch };
    let mut best: Option<(f64, Vec<R>)> = None;
    let (mut status, mut diverged) = (Status::Completed, None);
    'attempts: for attempt in 0..schedule.attempts {
        if attempt > 0 {
            network.init(&mut way.run.params, &mut way.run.noise);
            way.run.reinits += 1;
        }
        for (phase, config) in schedule.phases.iter().zip(&configs) {
            way.run.go_on(config, matches!(phase, Phase::Adam(Adam { noise: false, .. })))?;
            let ended = match phase {
                Phase::Adam(adam) => way.adam(adam, config.log_every),
                Phase::Lm(lm) if lm.double => way.lm(way.wide, lm, schedule.goal)?,
                Phase::Lm(lm) => way.lm(way.network, lm, schedule.goal)?,
            };
            match ended {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(ended @ Status::Diverged { .. }) => {
                    diverged = Some(ended);
                    continue 'attempts;
                }
                ControlFlow::Break(ended) => {
                    status = ended;
                    break 'attempts;
                }
            }
        }
        let error = way.held.error_of(&wide, &way.run.params);
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, way.run.params.clone()));
        }
        if error < schedule.goal {
            break;
        }
    }
    match (best, diverged) {
        (Some((_, params)), _) => {
            way.run.params = params;
            if status == Status::Completed && way.log().is_break() {
                status = Status::Cancelled { step: way.step };
            }
        }
        (None, Some(diverged)) if status == Status::Completed => status = diverged,
        (None, _) => {}
    }
    Ok(way.run.outcome(status, task.thresholds()))
}

/// A run on its way.
struct Way<'a, R: Real> {
    network: &'a Network<R>,
    wide: &'a Network<f64>,
    run: Run<'a, R>,
    held: HeldOut,
    step: u64,
    observer: &'a mut dyn Observer<R>,
    batch: usize,
}

impl<R: Real> Way<'_, R> {
    fn log(&mut self) -> ControlFlow<()> {
        let row = self.run.evaluate(self.step);
        self.observer.logged(&row, &self.run.params)
    }

    fn adam(&mut self, phase: &Adam, log_every: u64) -> ControlFlow<Status> {
        for own in 0..phase.steps {
            if own.is_multiple_of(log_every) && self.log().is_break() {
                return ControlFlow::Break(Status::Cancelled { step: self.step });
            }
            let went = self.run.advance(own, self.step, self.observer);
            self.step += 1;
            went?;
        }
        ControlFlow::Continue(())
    }

    fn lm<S: Real>(&mut self, network: &Network<S>, phase: &Lm, goal: f64) -> Result<ControlFlow<Status>, Error> {
        let shape = network.shape();
        let params = network.param_len();
        let at = BatchLayout::on(self.held.batch.at.instructions, phase.samples_of(params))?;
        let mut drawn = Batch::zeros(shape.inputs, shape.outputs, at);
        self.run.samples.train(&mut drawn);
        let start = self.run.params.iter().map(|&p| S::of(p.to_f64())).collect();
        let mut fit = LevenbergMarquardt::new(network, convert(&drawn), start, phase.settings)?;
        let mut rounded = fit.params().to_vec();
        let mut scratch = Vec::with_capacity(rounded.len());
        let (mut before, mut passed) = (f64::INFINITY, false);
        for own in 0..phase.iterations {
            let step = self.step;
            if own.is_multiple_of(LOG_EVERY) && self.log().is_break() {
                return Ok(ControlFlow::Break(Status::Cancelled { step }));
            }
            let taken = fit.iterate();
            self.step += phase.steps_each(self.batch, params);
            if taken == Step::Accepted {
                self.run.params.iter_mut().zip(fit.params()).for_each(|(p, w)| *p = R::of(w.to_f64()));
                if phase.discretise {
                    rounded.copy_from_slice(fit.params());
                    discretise(network, &mut rounded, &mut scratch)?;
                    passed = self.held.error_of(self.wide, &rounded) < goal;
                    if passed {
                        break;
                    }
                }
            }
            if self.observer.stepped(step, R::of(fit.loss()), R::ZERO, &self.run.params).is_break() {
                return Ok(ControlFlow::Break(Status::Cancelled { step }));
            }
            if own % STALLED.1 == STALLED.1 - 1 {
                if fit.cost() > (1.0 - STALLED.0) * before {
                    break;
                }
                before = fit.cost();
            }
            if taken == Step::Stuck {
                break;
            }
        }
        if phase.discretise {
            rounded.copy_from_slice(fit.params());
            discretise(network, &mut rounded, &mut scratch)?;
            let error = self.held.error_of(self.wide, &rounded);
            // What passed counts even if weights that are not whole numbers happen to lie closer.
            if passed || (error.is_finite() && error <= self.held.error_of(self.wide, fit.params())) {
                self.run.params.iter_mut().zip(&rounded).for_each(|(p, w)| *p = R::of(w.to_f64()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Data of the training range that no step is fitted to, in `f64`.
struct HeldOut {
    batch: Batch<f64>,
    work: Workspace<f64>,
    params: Vec<f64>,
    scale: f64,
}

impl HeldOut {
    fn new<R: Real>(wide: &Network<f64>, samples: &mut dyn Samples<R>, at: BatchLayout) -> Self {
        let shape = wide.shape();
        let mut drawn = Batch::zeros(shape.inputs, shape.outputs, at);
        samples.validation(&mut drawn);
        let batch = convert(&drawn);
        let scale = unit(mean_square(&batch));
        Self { work: wide.workspace(at), params: vec![0.0; wide.param_len()], scale, batch }
    }

    /// The relative error of some weights: root mean square, over that of the targets, if they are not all 0. NaN counts as infinite.
    fn error_of<S: Real>(&mut self, wide: &Network<f64>, params: &[S]) -> f64 {
        let Self { batch, work, params: own, scale } = self;
        own.iter_mut().zip(params).for_each(|(own, p)| *own = p.to_f64());
        let y = wide.forward(own, &batch.x, work, Pass::Eval);
        let lanes = batch.at.lanes();
        let squares = y.iter().zip(&batch.t).enumerate().map(|(k, (&y, &t))| {
            let mut square = (y - t) * (y - t);
            square.0[batch.at.rows_in(k % lanes)..].fill(0.0);
            square.sum()
        });
        let error = (squares.sum::<f64>() / (batch.at.rows * wide.shape().outputs) as f64 / *scale).sqrt();
        if error.is_nan() { f64::INFINITY } else { error }
    }
}

/// The same numbers in another type.
fn convert<R: Real, S: Real>(batch: &Batch<R>) -> Batch<S> {
    let lane = |from: &Lane<R>| {
        let mut to = Lane::ZERO;
        for (to, from) in to.0.iter_mut().zip(&from.0) {
            *to = S::of(from.to_f64());
        }
        to
    };
    Batch { x: batch.x.iter().map(lane).collect(), t: batch.t.iter().map(lane).collect(), at: batch.at }
}

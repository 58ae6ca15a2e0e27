//! Levenberg's and Marquardt's method: least squares by damped steps of Gauss and Newton.

use super::dense::{PANEL, Symmetric};
use super::jacobian::{self, Jacobian};
use crate::batch::Batch;
use crate::lane::{self, Lane};
use crate::module::Pass;
use crate::network::{Network, Workspace};
use crate::{Error, Real};

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How strongly the weights of products are pulled to their nearest discrete value, as a share of the targets' root mean square per
    /// sample; 0 to leave them free.
    pub pull: f64,
    /// Whether parameters are moved into their boxes after every step.
    pub clamp: bool,
    /// Damping of the first step, relative to the diagonal.
    pub damping: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pull: 0.1, clamp: false, damping: 1e-3 }
    }
}

impl Settings {
    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        let Self { pull, damping, .. } = *self;
        Error::check(pull >= 0.0 && pull.is_finite(), "pull to discrete weights", pull, "finite and at least 0")?;
        Error::check(damping > 0.0 && damping.is_finite(), "damping of the first step", damping, "positive and finite")
    }
}

/// The damping is multiplied by this after a step that does not help, and divided by it after one that does.
const FACTOR: f64 = 3.0;
/// Beyond this damping, steps are too short to change a parameter.
const MOST_DAMPING: f64 = 1e16;
const LEAST_DAMPING: f64 = 1e-15;
/// Directions without any curvature get this share of the largest one.
const FLOOR: f64 = 1e-14;

/// What came of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The sum of squares became smaller.
    Accepted,
    /// It did not; the next step is shorter.
    Rejected,
    /// No shorter step is possible.
    Stuck,
}

/// A least-squares fit of a network to fixed samples, in progress.
///
/// All parameters move at once, along the solution of (JᵀJ + damping diag JᵀJ) step = -Jᵀ r. Samples are looked at in blocks whose
/// Jacobian is added to the normal equations and forgotten. Nothing is allocated after the construction.
#[derive(Debug)]
pub struct LevenbergMarquardt<'a, R: Real> {
    network: &'a Network<R>,
    batch: Batch<R>,
    settings: Settings,
    params: Vec<R>,
    trial: Vec<R>,
    /// Places of the parameters that are pulled.
    pulled: Vec<usize>,
    /// Weight of a pulled parameter's squared distance.
    weight: f64,
    jacobian: Jacobian<R>,
    rows: Vec<Lane<f64>>,
    gram: Symmetric,
    factor: Symmetric,
    gradient: Vec<f64>,
    step: Vec<f64>,
    work: Workspace<R>,
    damping: f64,
    /// The sum of squares of the residuals, and with the pull.
    squares: f64,
    cost: f64,
    /// Whether `gram` and `gradient` belong to `params`.
    fresh: bool,
    /// The mean square of the targets.
    scale: f64,
}

impl<'a, R: Real> LevenbergMarquardt<'a, R> {
    /// Starts a fit of `network` to `batch` at `params`.
    pub fn new(network: &'a Network<R>, batch: Batch<R>, params: Vec<R>, settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let n = network.param_len();
        check_size(n)?;
        jacobian::check(network, &params, &batch)?;
        let gram = Symmetric::zeros(n);
        // A large matrix is not worth touching for every sixteen samples; a small one stays in the cache, and so should they.
        let blocks = if gram.lanes() > 32 { 4 } else { 1 };
        let pulled = if settings.pull > 0.0 { super::discretise::products(network) } else { Vec::new() };
        let mut fit = Self {
            jacobian: Jacobian::new(network, batch.at)?,
            rows: vec![Lane::ZERO; blocks * PANEL * gram.lanes() * network.shape().outputs],
            factor: gram.clone(),
            gram,
            gradient: vec![0.0; n],
            step: vec![0.0; n],
            work: network.workspace(batch.at),
            trial: params.clone(),
            pulled,
            weight: 0.0,
            damping: settings.damping,
            squares: f64::NAN,
            cost: f64::NAN,
            fresh: false,
            scale: mean_square(&batch),
            network,
            batch,
            settings,
            params,
        };
        let samples = (fit.batch.at.rows * network.shape().outputs) as f64;
        fit.weight = settings.pull * settings.pull * unit(fit.scale) * samples;
        fit.squares = fit.squares_of_trial();
        fit.cost = fit.squares + fit.pull_of_trial();
        Ok(fit)
    }

    /// The parameters so far.
    pub fn params(&self) -> &[R] {
        &self.params
    }

    /// The mean squared residual.
    pub fn loss(&self) -> f64 {
        self.squares / (self.batch.at.rows * self.network.shape().outputs) as f64
    }

    /// The mean squared residual over the targets' mean square, or by itself if all targets are 0.
    pub fn relative_loss(&self) -> f64 {
        self.loss() / unit(self.scale)
    }

    /// The sum of squares that is minimised: residuals and pulls.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// One solution of the damped normal equations, taken if it makes the sum of squares smaller.
    pub fn iterate(&mut self) -> Step {
        if !self.fresh {
            self.linearise();
            self.fresh = true;
        }
        let n = self.gradient.len();
        let largest = (0..n).map(|i| self.gram.at(i, i)).fold(0.0, f64::max);
        self.factor.copy_from(&self.gram);
        for i in 0..n {
            let own = self.gram.at(i, i).max(FLOOR * largest);
            self.factor.add_to_diagonal(i, self.damping * own);
        }
        if self.factor.factorise(self.batch.at.instructions) {
            self.step.copy_from_slice(&self.gradient);
            self.factor.solve(&mut self.step);
            for ((trial, &p), &step) in self.trial.iter_mut().zip(&self.params).zip(&self.step) {
                *trial = R::of(p.to_f64() - step);
            }
            if self.settings.clamp {
                self.network.project(&mut self.trial);
            }
            let squares = self.squares_of_trial();
            let cost = squares + self.pull_of_trial();
            if cost < self.cost {
                (self.squares, self.cost) = (squares, cost);
                self.params.copy_from_slice(&self.trial);
                self.fresh = false;
                self.damping = (self.damping / FACTOR).max(LEAST_DAMPING);
                return Step::Accepted;
            }
        }
        self.damping *= FACTOR;
        if self.damping > MOST_DAMPING { Step::Stuck } else { Step::Rejected }
    }

    /// The normal equations at `params`.
    fn linearise(&mut self) {
        let Self { network, batch, params, jacobian, rows, gram, gradient, .. } = self;
        let lanes = gram.lanes();
        gram.clear();
        gradient.fill(0.0);
        let most = rows.len() / lanes;
        let each_block = PANEL * network.shape().outputs;
        let mut filled = 0;
        for block in 0..batch.at.lanes() {
            jacobian.block(network, params, batch, block, &mut |residual, of_row| {
                let row = lane::flat_mut(&mut rows[filled * lanes..][..lanes]);
                for ((row, sum), g) in row.iter_mut().zip(gradient.iter_mut()).zip(of_row) {
                    *row = g.to_f64();
                    *sum += residual * *row;
                }
                filled += 1;
            });
            if filled + each_block > most || block + 1 == batch.at.lanes() {
                gram.add_squares(&rows[..filled * lanes], batch.at.instructions);
                filled = 0;
            }
        }
        for &k in &self.pulled {
            let w = params[k].to_f64();
            gram.add_to_diagonal(k, self.weight);
            gradient[k] += self.weight * (w - super::discretise::nearest(w, 0.0));
        }
    }

    fn squares_of_trial(&mut self) -> f64 {
        let Self { network, batch, trial, work, .. } = self;
        let lanes = batch.at.lanes();
        let y = network.forward(trial, &batch.x, work, Pass::Eval);
        let mut sum = 0.0;
        for (k, (y, t)) in y.iter().zip(&batch.t).enumerate() {
            for r in 0..batch.at.rows_in(k % lanes) {
                let residual = y[r].to_f64() - t[r].to_f64();
                sum += residual * residual;
            }
        }
        sum
    }

    fn pull_of_trial(&self) -> f64 {
        let square = |&k: &usize| {
            let w = self.trial[k].to_f64();
            let off = w - super::discretise::nearest(w, 0.0);
            off * off
        };
        self.weight * self.pulled.iter().map(square).sum::<f64>()
    }
}

/// The normal equations are a square matrix, of which two are kept.
const MOST_PARAMETERS: usize = 16_384;

/// Checks that so many parameters can be fitted.
pub(super) fn check_size(n: usize) -> Result<(), Error> {
    let ok = (1..=MOST_PARAMETERS).contains(&n);
    Error::check(ok, "number of parameters to fit", n as f64, "at least 1 and at most 16,384")
}

/// What errors are measured in: the mean square of the targets, unless all of them are 0.
pub(super) fn unit(mean_square: f64) -> f64 {
    if mean_square > 0.0 { mean_square } else { 1.0 }
}

/// The mean square of a batch's targets.
pub(super) fn mean_square<R: Real>(batch: &Batch<R>) -> f64 {
    let lanes = batch.at.lanes();
    let mut sum = 0.0;
    for (k, t) in batch.t.iter().enumerate() {
        for r in 0..batch.at.rows_in(k % lanes) {
            sum += t[r].to_f64() * t[r].to_f64();
        }
    }
    sum / (batch.t.len() / lanes * batch.at.rows) as f64
}

//! The static product: a network sees two digits, a unit multiplies what it sees, and only the product is supervised.

use crate::encoder::{Colour, Encoder, Isolated, Picture, Samples, Start};
use crate::error::Error;
use crate::history::History;
pub use crate::history::ProductMeasurement as Measurement;
use crate::learner::{Learner, stateless};
use crate::mnist::{Digits, Mnist};
use crate::pairs::{Fold, Pair, TEN_FOLDS, THREE_FOLDS};
use crate::score::{Confusion, Score, Tally};
use crate::shuffle::shuffled;
use crate::tensor::Tensor;
use crate::training::{Checkpoint, Training};
use nalm::lane::LANES;
use nalm::module::{self, Options, Shape};
use nalm::rng::Purpose;
use nalm::{BatchLayout, Network, Pass, Penalty, Rng, Schedule, batch};
use std::sync::Arc;

/// Pairs that are evaluated at a time.
const EVALUATED: usize = 128;

/// How the digits are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Side by side.
    Isolated {
        /// Whether images are halved to 14 x 14.
        halved: bool,
    },
    /// Rotated, scaled and moved in two colour channels.
    Colour {
        /// Where the transformers start.
        start: Start,
    },
}

/// A run, completely described.
#[derive(Clone, Debug)]
pub struct Config {
    /// How the digits are shown.
    pub view: View,
    /// The multiplication head: `mul`, `fc`, `nmu` or `snmu`.
    pub head: String,
    /// Its noise and start.
    pub options: Options,
    /// Which of the folds; also the seed.
    pub fold: usize,
    /// Samples of a pair.
    pub samples: usize,
    /// Epochs; there is one more row than this.
    pub epochs: u64,
    /// Pairs in a batch.
    pub batch: usize,
    /// Strength of the sparsity penalty at the end of its ramp.
    pub lambda: f64,
    /// First and last epoch of the ramp.
    pub ramp: (u64, u64),
    /// Epochs between two rows.
    pub row_every: u64,
    /// Training pairs that are evaluated for a row, evenly spread.
    pub train_evaluated: usize,
    /// Threads; results do not depend on them.
    pub threads: usize,
}

impl Config {
    /// The published settings of a head on a fold.
    pub fn published(view: View, head: &str, fold: usize) -> Self {
        let colour = matches!(view, View::Colour { .. });
        Self {
            view,
            head: head.into(),
            options: Options::default(),
            fold,
            samples: if colour { 1_100 } else { 1_000 },
            epochs: 1_000,
            batch: if colour { 256 } else { 128 },
            lambda: 100.0,
            ramp: (30, 40),
            row_every: 1,
            train_evaluated: usize::MAX,
            threads: 1,
        }
    }

    /// The test pairs of the fold.
    fn held_out(&self) -> Result<&'static [u8], Error> {
        let (fold, want) = match self.view {
            View::Isolated { .. } => (TEN_FOLDS.get(self.fold).map(|fold| &fold[..]), "there are folds 0 to 9"),
            View::Colour { .. } => (THREE_FOLDS.get(self.fold).copied(), "there are folds 0 to 2"),
        };
        fold.ok_or_else(|| Error::Value { what: "fold", got: self.fold.to_string(), want })
    }

    /// The penalty; heads without a published one stay without.
    fn penalty(&self) -> Penalty {
        let strength = if matches!(self.head.as_str(), "nmu" | "snmu") { self.lambda } else { 0.0 };
        let (start, end) = self.ramp;
        Penalty { strength, schedule: Schedule::Ramp { start, end } }
    }

    fn build_head(&self) -> Result<Network<f32>, Error> {
        let spec = module::find::<f32>(&self.head)?;
        stateless(&self.options)?;
        Ok(Network::new(vec![(spec.build)(Shape::new(2, 1)?, &self.options)?])?)
    }

    /// Checks everything that can be known without images.
    pub fn check(&self) -> Result<(), Error> {
        self.held_out()?;
        self.build_head()?;
        self.penalty().check()?;
        for (what, got) in [
            ("samples of a pair", self.samples as u64),
            ("pairs in a batch", self.batch as u64),
            ("epochs between two rows", self.row_every),
            ("training pairs to evaluate", self.train_evaluated as u64),
        ] {
            if got == 0 {
                return Err(Error::Value { what, got: "0".into(), want: "give at least 1" });
            }
        }
        Ok(())
    }

    /// What data, order and first weights depend on: everything but the head, so that all heads of a fold start alike.
    fn key(&self) -> String {
        match self.view {
            View::Isolated { halved } => format!("isolated|{halved}|{}|{}", self.samples, self.fold),
            // The same pictures wherever the transformers start.
            View::Colour { .. } => format!("colour|{}|{}", self.samples, self.fold),
        }
    }
}

/// A run under way.
#[derive(Debug)]
pub struct Run {
    config: Config,
    key: String,
    mnist: Arc<Mnist>,
    fold: Fold,
    valid: Vec<Pair>,
    encoder: Box<dyn Encoder>,
    head: Network<f32>,
    penalty: Penalty,
    learner: Learner,
}

/// What one update did.
struct Update {
    /// Without penalty.
    loss: f32,
    /// Noise on the head's inputs, sample by sample.
    noise: Option<Vec<f32>>,
    head_gradient: Vec<f32>,
}

impl Run {
    /// Draws samples and initial weights.
    pub fn new(config: Config, mnist: Arc<Mnist>) -> Result<Self, Error> {
        config.check()?;
        let most = config.batch.max(EVALUATED);
        let encoder: Box<dyn Encoder> = match config.view {
            View::Isolated { halved } => Box::new(Isolated::new(halved, most)?),
            View::Colour { start } => Box::new(Colour::new(start, most)?),
        };
        let head = config.build_head()?;
        let key = config.key();
        let mut params = vec![0.0; encoder.param_len()];
        encoder.init(&mut params, &mut Rng::fast(&key, Purpose::Init));
        let mut head_params = vec![0.0; head.param_len()];
        head.init(&mut head_params, &mut Rng::fast(&format!("{key}|head"), Purpose::Init));
        let mut fold = Fold::draw(&mnist, config.held_out()?, config.samples, config.fold as u64)?;
        let valid = match config.view {
            View::Isolated { .. } => Vec::new(),
            View::Colour { .. } => fold.hold_back(0.15),
        };
        Ok(Self {
            penalty: config.penalty(),
            learner: Learner::new(params, head_params, History::Product(Vec::new()))?,
            config,
            key,
            mnist,
            fold,
            valid,
            encoder,
            head,
        })
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Measurement] {
        match &self.learner.history {
            History::Product(rows) => rows,
            History::Sequence(_) => &[],
        }
    }

    /// One update.
    fn step(&mut self, key: &str, pairs: &[Pair], noise: &mut Rng) -> Result<Update, Error> {
        let (n, threads) = (pairs.len(), self.config.threads);
        let mut z = Vec::new();
        let samples = Samples { key, training: true, from: &self.mnist.train, pairs, threads };
        self.encoder.forward(&self.learner.params, &samples, &mut z);
        // Two features a sample.
        let rows: Vec<f32> = (0..n).flat_map(|k| [z[k], z[n + k]]).collect();
        let at = BatchLayout::new(n)?;
        let lanes = batch::to_lanes(&rows, at)?;
        let mut work = self.head.workspace(at);
        self.head.forward(&self.learner.head, &lanes, &mut work, Pass::Train(noise));
        let noise = self.head.noise_on(&work, 0).map(|noise| batch::from_lanes(noise, at));
        let (y, gradient) = work.output_and_gradient();
        let mut loss = 0.0;
        gradient.fill(nalm::Lane::ZERO);
        for (k, pair) in pairs.iter().enumerate() {
            let (lane, place) = (k / LANES, k % LANES);
            let error = y[lane][place] - pair.product();
            loss += error * error / n as f32;
            gradient[lane][place] = 2.0 * error / n as f32;
        }
        let mut dx = lanes.clone();
        let mut head_gradient = vec![0.0; self.learner.head.len()];
        self.head.backward(&self.learner.head, &lanes, &mut work, Some(&mut dx), &mut head_gradient);
        self.head.penalty(&self.learner.head, &[self.penalty], self.learner.epoch, 0.0, &mut head_gradient);
        let flat = batch::from_lanes(&dx, at);
        let dz: Vec<f32> = (0..2).flat_map(|side| flat.iter().skip(side).step_by(2).copied()).collect();
        self.encoder.backward(&self.learner.params, &dz, &mut self.learner.gradient, threads);
        self.learner.update(&head_gradient, threads);
        self.head.project(&mut self.learner.head);
        Ok(Update { loss, noise, head_gradient })
    }

    /// Does the first update of an epoch, and returns all that went into it and came out of it, so that other implementations can be held
    /// against it. The run is of no use afterwards.
    pub fn trace(mut self, samples: usize) -> Result<Vec<Tensor>, Error> {
        let every = (self.fold.train.len() / samples.max(1)).max(1);
        let pairs: Vec<Pair> = self.fold.train.iter().copied().step_by(every).take(samples).collect();
        let mut all: Vec<Tensor> = Tensor::named("before", self.tensors()).collect();
        let mut noise = Rng::fast(&format!("{}|trace", self.key), Purpose::Noise);
        let update = self.step(&format!("{}|trace", self.key), &pairs, &mut noise)?;
        all.extend(self.encoder.trace());
        all.push(Tensor::flat("target", &pairs.iter().map(Pair::product).collect::<Vec<_>>()));
        all.extend(update.noise.map(|noise| Tensor::flat("noise", &noise)));
        all.push(Tensor::flat("loss", &[update.loss]));
        all.extend(Tensor::named("gradient", self.encoder.tensors(&self.learner.gradient)));
        all.push(Tensor::flat("gradient.head.weight", &update.head_gradient));
        all.extend(Tensor::named("after", self.tensors()));
        Ok(all)
    }

    /// The current state.
    fn row(&mut self) -> Result<Measurement, Error> {
        let every = self.fold.train.len().div_ceil(self.config.train_evaluated).max(1);
        let train: Vec<Pair> = self.fold.train.iter().copied().step_by(every).collect();
        let (valid, test) = (self.valid.clone(), self.fold.test.clone());
        let mnist = Arc::clone(&self.mnist);
        let last = self.learner.epoch >= self.config.epochs;
        let mut confusion = last.then(Confusion::default);
        Ok(Measurement {
            epoch: self.learner.epoch,
            train: self.score("train", &mnist.train, &train, None)?,
            valid: match valid.is_empty() {
                true => None,
                false => Some(self.score("valid", &mnist.train, &valid, None)?),
            },
            test: self.score("test", &mnist.test, &test, confusion.as_mut())?,
            weights: self.learner.head.clone(),
            off_one: self.learner.off_one,
            confusion,
        })
    }

    fn score(
        &mut self,
        part: &str,
        from: &Digits,
        pairs: &[Pair],
        mut confusion: Option<&mut Confusion>,
    ) -> Result<Score, Error> {
        let snapped: Vec<f32> = self.learner.head.iter().map(|w| w.round()).collect();
        let mut z = Vec::new();
        let mut tally = Tally::default();
        for (step, pairs) in pairs.chunks(EVALUATED).enumerate() {
            let key = format!("{}|{part}|{}|{step}", self.key, self.learner.epoch);
            let samples = Samples { key: &key, training: false, from, pairs, threads: self.config.threads };
            self.encoder.forward(&self.learner.params, &samples, &mut z);
            let n = pairs.len();
            let rows: Vec<f32> = (0..n).flat_map(|k| [z[k], z[n + k]]).collect();
            let products = self.head.predict(&self.learner.head, &rows)?;
            let exact = self.head.predict(&snapped, &rows)?;
            for (k, pair) in pairs.iter().enumerate() {
                tally.add(pair, products[k], [z[k], z[n + k]], exact[k]);
                if let Some(confusion) = &mut confusion {
                    [z[k], z[n + k]].into_iter().zip(pair.digits).for_each(|(z, digit)| confusion.add(digit, z));
                }
            }
        }
        Ok(tally.score())
    }
}

impl Training for Run {
    fn epoch(&self) -> u64 {
        self.learner.epoch
    }

    fn epochs(&self) -> u64 {
        self.config.epochs
    }

    fn images(&self) -> u64 {
        2 * self.fold.train.len() as u64
    }

    fn row_every(&self) -> u64 {
        self.config.row_every
    }

    fn measure(&mut self) -> Result<(), Error> {
        let row = self.row()?;
        if let History::Product(rows) = &mut self.learner.history {
            rows.push(row);
        }
        Ok(())
    }

    fn train_epoch(&mut self, stop: &dyn Fn() -> bool) -> Result<bool, Error> {
        let key = format!("{}|{}", self.key, self.learner.epoch);
        let order = shuffled(self.fold.train.len(), &key);
        let mut noise = Rng::fast(&format!("{key}|head"), Purpose::Noise);
        let mut pairs = Vec::new();
        let (mut updates, mut off_one) = (0u32, 0u32);
        for (step, places) in order.chunks(self.config.batch).enumerate() {
            if stop() {
                return Ok(false);
            }
            pairs.clear();
            pairs.extend(places.iter().map(|&place| self.fold.train[place as usize]));
            self.step(&format!("{key}|{step}"), &pairs, &mut noise)?;
            updates += 1;
            off_one += u32::from(self.learner.head.iter().any(|&w| w != 1.0));
        }
        self.learner.off_one = f64::from(off_one) / f64::from(updates.max(1));
        self.learner.epoch += 1;
        Ok(true)
    }

    fn history(&self) -> &History {
        &self.learner.history
    }

    fn checkpoint(&self) -> Checkpoint {
        self.learner.checkpoint()
    }

    fn restore(&mut self, from: &Checkpoint) -> Result<(), Error> {
        self.learner.restore(from)
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut all = self.encoder.tensors(&self.learner.params);
        all.extend(self.learner.head_tensor());
        all
    }

    fn pictures(&mut self, samples: usize) -> Vec<Vec<Picture>> {
        // Spread over the pairs, which are in their order.
        let every = (self.fold.test.len() / samples.max(1)).max(1);
        let pairs: Vec<Pair> = self.fold.test.iter().copied().step_by(every).take(samples.min(EVALUATED)).collect();
        let key = format!("{}|pictures", self.key);
        let mnist = Arc::clone(&self.mnist);
        let shown = Samples { key: &key, training: false, from: &mnist.test, pairs: &pairs, threads: 1 };
        self.encoder.forward(&self.learner.params, &shown, &mut Vec::new());
        self.encoder.pictures(samples)
    }
}

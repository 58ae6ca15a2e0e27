//! The static product: a network sees two digits, a unit multiplies what it sees, and only the product is supervised.

use crate::choice::{self, BATCH, EPOCHS, LAMBDA, ROW_EVERY, changes, count, keeps, or};
use crate::colour::CANVAS;
use crate::encoder::{Colour, Encoder, Isolated, Picture, Samples, Start};
use crate::error::Error;
use crate::history::History;
pub use crate::history::ProductMeasurement as Measurement;
use crate::learner::{Learner, stateless};
use crate::mnist::{Digits, Mnist};
use crate::pairs::{Fold, Pair, TEN_FOLDS, THREE_FOLDS, held_back};
use crate::score::{Confusion, Score, Tally};
use crate::shuffle::shuffled;
use crate::training::{Checkpoint, Training};
use nalm::lane::LANES;
use nalm::module::{self, Options, Shape};
use nalm::rng::Purpose;
use nalm::setting::Kind;
use nalm::tensor::Tensor;
use nalm::{BatchLayout, Network, Pass, Penalty, Rng, Schedule, Setting, batch};
use std::sync::Arc;

/// Heads that the task is defined for.
pub const HEADS: [&str; 4] = ["mul", "fc", "nmu", "snmu"];
/// Pairs that are evaluated at a time.
const EVALUATED: usize = 128;

const SAMPLES: Setting = changes("samples", Kind::Whole, "", "samples of a pair; the published number if not given");
const RAMP: Setting =
    changes("ramp", Kind::WholePair, "", "first and last epoch of its ramp; the published ones if not given");
const TRAIN_EVALUATED: Setting =
    keeps("train_evaluated", Kind::Whole, "", "training samples that are measured; all if not given");
const HALVED: Setting = changes("halved", Kind::Flag, "false", "whether digits have 14 x 14 pixels");
const TPS_INIT: Setting =
    changes("tps_init", Kind::text::<Start>("reset or identity"), "reset", "where the transformers start");

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

impl View {
    /// Side by side, as published.
    pub const ISOLATED: View = View::Isolated { halved: false };
    /// In colour channels, as published.
    pub const COLOUR: View = View::Colour { start: Start::Reset };

    /// Rows and columns of a picture.
    pub fn side(self) -> usize {
        match self {
            View::Isolated { halved: true } => 14,
            View::Isolated { halved: false } => 28,
            View::Colour { .. } => CANVAS,
        }
    }

    /// The share of the training samples that is held back for validation.
    fn validated(self) -> f64 {
        if matches!(self, View::Colour { .. }) { 0.15 } else { 0.0 }
    }
}

/// Everything that can be chosen of a task with such a view, options of the head aside.
pub fn settings(view: View) -> &'static [Setting] {
    match view {
        View::Isolated { .. } => &[SAMPLES, EPOCHS, BATCH, LAMBDA, RAMP, ROW_EVERY, TRAIN_EVALUATED, HALVED],
        View::Colour { .. } => &[SAMPLES, EPOCHS, BATCH, LAMBDA, RAMP, ROW_EVERY, TRAIN_EVALUATED, TPS_INIT],
    }
}

/// A run, completely described.
#[derive(Clone, Debug)]
pub struct Config {
    /// How the digits are shown.
    pub view: View,
    /// The multiplication head, one of [`HEADS`].
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

    /// The run that some choices describe, [`settings`] and options of the head; what is absent is as published, and as `view` says.
    pub fn read(view: View, head: &str, fold: usize, given: &Options) -> Result<Self, Error> {
        let view = match view {
            View::Isolated { halved } => View::Isolated { halved: or(given, &HALVED, Options::flag, halved)? },
            View::Colour { start } => View::Colour { start: or(given, &TPS_INIT, Options::read, start)? },
        };
        let published = Self::published(view, head, fold);
        Ok(Self {
            options: choice::of_head(head, given)?,
            samples: or(given, &SAMPLES, Options::whole, published.samples)?,
            epochs: or(given, &EPOCHS, count, published.epochs)?,
            batch: or(given, &BATCH, Options::whole, published.batch)?,
            lambda: or(given, &LAMBDA, Options::number, published.lambda)?,
            ramp: or(given, &RAMP, Options::whole_pair, published.ramp)?,
            row_every: or(given, &ROW_EVERY, count, published.row_every)?,
            train_evaluated: or(given, &TRAIN_EVALUATED, Options::whole, published.train_evaluated)?,
            ..published
        })
    }

    /// Bytes of memory that the run takes, to about a factor of two: the digits, the network with all that a batch leaves in it, and the
    /// lists of samples.
    pub fn bytes(&self) -> f64 {
        let image = match self.view {
            View::Isolated { halved: true } => 0.15e6,
            View::Isolated { halved: false } => 0.6e6,
            View::Colour { .. } => 1e6,
        };
        100e6 + image * self.batch as f64 + 200.0 * 16.0 * self.samples as f64
    }

    /// Seconds that the run takes on one core of the machine that this was written on, to about a factor of two.
    pub fn seconds(&self) -> f64 {
        let samples = self.samples as f64;
        // Milliseconds that training an image takes, and images that are trained and tested.
        let (image, trained, tested) = match self.view {
            View::Isolated { halved } => (if halved { 0.09 } else { 0.5 }, 180.0 * samples, 20.0 * samples),
            View::Colour { .. } => (0.4, 2.0 * 0.85 * 67.0 * samples, 2.0 * 43.0 * samples),
        };
        let measured = trained.min(2.0 * self.train_evaluated as f64) + tested;
        choice::seconds(image, trained, measured, self.epochs, self.row_every)
    }

    /// Updates in an epoch.
    pub fn updates(&self) -> Result<u64, Error> {
        let samples = (100 - self.held_out()?.len()).saturating_mul(self.samples);
        Ok((samples - held_back(self.view.validated(), samples)).div_ceil(self.batch.max(1)) as u64)
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
        let valid = fold.hold_back(config.view.validated());
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
        self.learner.history.products()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_defaults_are_the_published_values() {
        for view in [View::ISOLATED, View::COLOUR] {
            let read = |given: &Options| format!("{:?}", Config::read(view, "snmu", 1, given).unwrap());
            let mut defaults = Options::new();
            let declared = settings(view).iter().filter(|setting| !setting.default.is_empty());
            declared.for_each(|setting| defaults.set(setting.name, setting.parse(setting.default).unwrap()));
            let published = format!("{:?}", Config::published(view, "snmu", 1));
            assert_eq!((read(&defaults), read(&Options::new())), (published.clone(), published));
        }
        let given = Options::new().with("noise", "U[1,2]").with("lambda", 7.0).with("ramp", (2.0, 3.0));
        let given = given.with("halved", true).with("samples", 5usize).with("epochs", 9u64);
        let config = Config::read(View::ISOLATED, "snmu", 1, &given).unwrap();
        assert_eq!(config.options, Options::new().with("noise", "U[1,2]"));
        assert_eq!((config.view, config.lambda, config.ramp), (View::Isolated { halved: true }, 7.0, (2, 3)));
        assert_eq!((config.samples, config.epochs, config.batch), (5, 9, 128));
        config.check().unwrap();
        let wrong = Config::read(View::COLOUR, "nmu", 0, &Options::new().with("tps_init", "rest")).unwrap_err();
        assert!(wrong.to_string().contains("did you mean 'reset'"), "{wrong}");
    }

    /// Update by update on one run, epoch by epoch on another, which are the same but for that.
    #[test]
    fn off_one_is_the_share_of_updates_that_leave_a_weight_off_one() {
        let Some(mnist) = Mnist::of_project() else { return };
        let mnist = Arc::new(mnist);
        let start = |head: &str| {
            let view = View::Isolated { halved: true };
            let config = Config { samples: 2, batch: 16, lambda: 0.0, ..Config::published(view, head, 2) };
            Run::new(config, Arc::clone(&mnist)).unwrap()
        };
        let counted = |head: &str| {
            let (mut whole, mut single) = (start(head), start(head));
            let mut kinds = [0; 3];
            let (mut shares, mut wanted) = (Vec::new(), Vec::new());
            // What is far above one is one after an update, and not after the next.
            for (epoch, weights) in [[2.0, 2.0], [2.0, 0.5], [0.5, 0.5]].into_iter().enumerate() {
                for run in [&mut whole, &mut single] {
                    run.learner.head.iter_mut().zip(weights).for_each(|(w, weight)| *w = weight);
                }
                assert!(whole.train_epoch(&|| false).unwrap());
                shares.push(whole.row().unwrap().off_one);
                let key = format!("{}|{epoch}", single.key);
                let order = shuffled(single.fold.train.len(), &key);
                let mut noise = Rng::fast(&format!("{key}|head"), Purpose::Noise);
                let mut off = Vec::new();
                for (step, places) in order.chunks(16).enumerate() {
                    let pairs: Vec<Pair> = places.iter().map(|&place| single.fold.train[place as usize]).collect();
                    single.step(&format!("{key}|{step}"), &pairs, &mut noise).unwrap();
                    off.push(single.learner.head.iter().filter(|w| **w != 1.0).count());
                }
                off.iter().for_each(|&off| kinds[off] += 1);
                wanted.push(off.iter().filter(|off| **off > 0).count() as f64 / off.len() as f64);
            }
            assert_eq!(whole.learner.head, single.learner.head, "the same run");
            assert_eq!(shares, wanted, "{head}");
            kinds
        };
        let kinds = counted("nmu");
        assert!(kinds.iter().all(|count| *count > 0), "updates with no, one and two weights off one: {kinds:?}");
        assert_eq!(counted("mul")[1..], [0, 0]);
    }

    #[test]
    fn an_epoch_has_as_many_updates_as_batches() {
        let Some(mnist) = Mnist::of_project() else { return };
        let mnist = Arc::new(mnist);
        for (view, fold) in [(View::Isolated { halved: true }, 2), (View::COLOUR, 0), (View::COLOUR, 1)] {
            let config = Config { samples: 3, batch: 16, ..Config::published(view, "nmu", fold) };
            let updates = config.updates().unwrap();
            let run = Run::new(config, Arc::clone(&mnist)).unwrap();
            assert_eq!(updates, run.fold.train.len().div_ceil(16) as u64, "{view:?}");
        }
        assert_eq!(Config::published(View::ISOLATED, "nmu", 0).updates().unwrap(), 704);
    }

    #[test]
    fn costs_are_those_of_the_published_runs() {
        let hours = |view| Config::published(view, "nmu", 0).seconds() / 3_600.0;
        assert_eq!([View::ISOLATED, View::COLOUR].map(|view| hours(view).round()), [34.0, 22.0]);
    }
}

//! The sequential product: a network reads digits one by one, a cell multiplies them up, and every intermediate product is supervised.
//!
//! Trained on two digits, tested on one to twenty. Zeros are left out, as the reference code does.

use crate::choice::{self, BATCH, EPOCHS, LAMBDA, ROW_EVERY, changes, count, keeps, or};
use crate::digit_sequence::{DigitSequence, fill, products};
use crate::encoder::Picture;
use crate::error::Error;
use crate::export;
use crate::history::History;
pub use crate::history::{Part, SequenceMeasurement as Measurement};
use crate::learner::{Learner, stateless};
use crate::mnist::{Digits, Mnist, SIDE, normalise};
use crate::net::{Mode, Net, Workspace};
use crate::networks;
use crate::recurrence::{Cost, Inputs, SequenceCost};
use crate::shuffle::shuffled;
use crate::training::{Checkpoint, Training};
use nalm::module::{self, Options, Shape};
use nalm::rng::Purpose;
use nalm::setting::Kind;
use nalm::tensor::Tensor;
use nalm::{InstructionSet, Module, Pass, Penalty, Rng, Schedule, Setting};
use std::sync::Arc;

/// Lengths on which is tested: one to this.
pub const LENGTHS: usize = 20;
/// The length on which is trained.
const TRAINED: usize = 2;
/// Cells that the task is defined for.
pub const CELLS: [&str; 3] = ["mul", "nmu", "snmu"];
/// Images that are read at a time for a row.
const READ: usize = 256;

const SAMPLES: Setting = changes("samples", Kind::Whole, "", "sequences to train on at most; all if not given");
const RAMP: Setting =
    changes("ramp", Kind::WholePair, "", "first and last update of its ramp; the published ones if not given");
const RZ: Setting = changes("rz", Kind::Number, "1", "strength of the regulariser R_z");
const RZ_INPUTS: Setting =
    changes("rz_inputs", Kind::text::<Inputs>("noised or clean"), "noised", "which inputs R_z looks at");
const EVAL_NOISE: Setting = keeps("eval_noise", Kind::Flag, "true", "whether the cell is noisy while it is measured");

/// Everything that can be chosen of the task, options of the cell aside.
pub const SETTINGS: [Setting; 9] = [SAMPLES, EPOCHS, BATCH, LAMBDA, RAMP, ROW_EVERY, RZ, RZ_INPUTS, EVAL_NOISE];

/// A run, completely described.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cell, one of [`CELLS`]; `mul` is the reference.
    pub cell: String,
    /// Its noise and start.
    pub options: Options,
    /// Order of the training images, and all other randomness.
    pub seed: u64,
    /// Sequences to train on at most.
    pub sequences: usize,
    /// Epochs.
    pub epochs: u64,
    /// Sequences in a batch.
    pub batch: usize,
    /// Strength of the sparsity penalty at the end of its ramp.
    pub lambda: f64,
    /// First and last update of the ramp.
    pub ramp: (u64, u64),
    /// Strength of the regulariser R_z on the cell's inputs.
    pub rz: f64,
    /// What R_z looks at.
    pub rz_inputs: Inputs,
    /// Whether the cell is noisy while it is measured, as the reference code has it.
    pub eval_noise: bool,
    /// Epochs between two rows.
    pub row_every: u64,
    /// Threads; results do not depend on them.
    pub threads: usize,
}

impl Config {
    /// The published settings of a cell.
    pub fn published(cell: &str, seed: u64) -> Self {
        Self {
            cell: cell.into(),
            options: Options::default(),
            seed,
            sequences: usize::MAX,
            epochs: 1_000,
            batch: 64,
            lambda: 10.0,
            ramp: (10_000, 100_000),
            rz: 1.0,
            rz_inputs: Inputs::Noised,
            eval_noise: true,
            row_every: 5,
            threads: 1,
        }
    }

    /// The run that some choices describe, [`SETTINGS`] and options of the cell; what is absent is as published.
    pub fn read(cell: &str, seed: u64, given: &Options) -> Result<Self, Error> {
        let published = Self::published(cell, seed);
        Ok(Self {
            options: choice::of_head(cell, given)?,
            sequences: or(given, &SAMPLES, Options::whole, published.sequences)?,
            epochs: or(given, &EPOCHS, count, published.epochs)?,
            batch: or(given, &BATCH, Options::whole, published.batch)?,
            lambda: or(given, &LAMBDA, Options::number, published.lambda)?,
            ramp: or(given, &RAMP, Options::whole_pair, published.ramp)?,
            rz: or(given, &RZ, Options::number, published.rz)?,
            rz_inputs: or(given, &RZ_INPUTS, Options::read, published.rz_inputs)?,
            eval_noise: or(given, &EVAL_NOISE, Options::flag, published.eval_noise)?,
            row_every: or(given, &ROW_EVERY, count, published.row_every)?,
            ..published
        })
    }

    /// Bytes of memory that the run takes, to about a factor of two.
    pub fn bytes(&self) -> f64 {
        100e6 + 0.3e6 * self.batch as f64
    }

    /// Seconds that the run takes on one core of the machine that this was written on, to about a factor of two.
    pub fn seconds(&self) -> f64 {
        // There are 24,783 pairs of training images without zeros, and 13,531 images to validate and test.
        let trained = 2.0 * self.sequences.min(24_783) as f64;
        choice::seconds(0.12, trained, trained + 13_531.0, self.epochs, self.row_every)
    }

    fn penalty(&self) -> Penalty {
        let (start, end) = self.ramp;
        Penalty { strength: self.lambda, schedule: Schedule::Ramp { start, end } }
    }

    fn build_cell(&self) -> Result<SequenceCost<f32>, Error> {
        if !CELLS.contains(&self.cell.as_str()) {
            return Err(nalm::Error::unknown("cell", &self.cell, &CELLS).into());
        }
        stateless(&self.options)?;
        SequenceCost::new((module::find::<f32>(&self.cell)?.build)(Shape::new(2, 1)?, &self.options)?)
    }

    /// Checks everything that can be known without images.
    pub fn check(&self) -> Result<(), Error> {
        self.build_cell()?;
        self.penalty().check()?;
        for (what, got) in [
            ("sequences in a batch", self.batch as u64),
            ("sequences to train on", self.sequences as u64),
            ("epochs between two rows", self.row_every),
        ] {
            if got == 0 {
                return Err(Error::Value { what, got: "0".into(), want: "give at least 1" });
            }
        }
        if !self.rz.is_finite() || self.rz < 0.0 {
            let (what, got) = ("strength of R_z", self.rz.to_string());
            return Err(Error::Value { what, got, want: "give a finite number that is not negative" });
        }
        Ok(())
    }
}

/// A run under way.
#[derive(Debug)]
pub struct Run {
    config: Config,
    key: String,
    mnist: Arc<Mnist>,
    trained: DigitSequence,
    train_full: DigitSequence,
    valid: DigitSequence,
    test: DigitSequence,
    net: Net,
    work: Workspace<f32>,
    x: Vec<f32>,
    cell: SequenceCost<f32>,
    penalty: Penalty,
    learner: Learner,
}

impl Run {
    /// Draws orders and initial weights.
    pub fn new(config: Config, mnist: Arc<Mnist>) -> Result<Self, Error> {
        config.check()?;
        let net = networks::digit_regressor(InstructionSet::best())?;
        let cell = config.build_cell()?;
        // All cells of a seed see the same images in the same order, and start with the same network.
        let key = format!("sequential|{}", config.seed);
        let mut params = vec![0.0; net.param_len()];
        net.init(&mut params, &mut Rng::fast(&key, Purpose::Init));
        let mut cell_params = vec![0.0; cell.module().param_len()];
        cell.module().init(&mut cell_params, &mut Rng::fast(&format!("{key}|cell"), Purpose::Init));
        let mut trained = DigitSequence::new(&mnist.train, 0..55_000, &key);
        let trained_all = trained.sequences(TRAINED);
        trained.places.truncate(config.sequences.saturating_mul(TRAINED));
        // Measured are the images that are trained on, in an order that is the same for all seeds if they are all of them.
        let fixed = "sequential, all training images";
        let train_full = match config.sequences < trained_all {
            true => DigitSequence {
                places: shuffled(trained.places.len(), fixed).iter().map(|&k| trained.places[k as usize]).collect(),
            },
            false => DigitSequence::new(&mnist.train, 0..55_000, fixed),
        };
        Ok(Self {
            trained,
            train_full,
            valid: DigitSequence::new(&mnist.train, 55_000..60_000, "sequential, validation"),
            test: DigitSequence::new(&mnist.test, 0..10_000, "sequential, test"),
            work: net.workspace(READ.max(TRAINED * config.batch)),
            penalty: config.penalty(),
            learner: Learner::new(params, cell_params, History::Sequence(Vec::new()))?,
            x: Vec::new(),
            config,
            key,
            mnist,
            net,
            cell,
        })
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Measurement] {
        self.learner.history.sequences()
    }

    /// Updates in an epoch.
    fn updates(&self) -> u64 {
        self.trained.sequences(TRAINED).div_ceil(self.config.batch) as u64
    }

    /// The `update`-th update, with some of the training sequences.
    fn step(&mut self, sequences: &[u32], update: u64, noise: &mut Rng) -> Result<Cost<f32>, Error> {
        let Config { rz, rz_inputs, threads, .. } = self.config;
        let place = |t: usize, s: u32| self.trained.places[s as usize * TRAINED + t];
        let places: Vec<u32> = (0..TRAINED).flat_map(|t| sequences.iter().map(move |&s| place(t, s))).collect();
        let targets = products(&self.mnist.train, &places, sequences.len());
        fill(&self.mnist.train, &places, &mut self.x);
        // This network has no dropout, so there is no randomness for a key to name.
        self.net.forward(&self.learner.params, &self.x, &mut self.work, Mode::Eval, threads);
        let mut labels = Vec::new();
        self.work.outputs(&self.net, &mut labels);
        let (p, pass) = (&self.learner.head, Pass::Train(noise));
        let mut cost = self.cell.cost(p, &labels, &targets, sequences.len(), rz_inputs, rz as f32, pass)?;
        let strength = self.penalty.at(update, 0.0) as f32;
        if strength > 0.0 {
            self.cell.module().penalty(&self.learner.head, strength, &mut cost.dp);
        }
        self.net.backward(
            &self.learner.params,
            &self.x,
            &mut self.work,
            &cost.dlabels,
            &mut self.learner.gradient,
            None,
            threads,
        );
        self.learner.update(&cost.dp, threads);
        self.cell.module().project(&mut self.learner.head);
        Ok(cost)
    }

    /// Does one update, and returns all that went into it and came out of it, so that other implementations can be held against it. The
    /// run is of no use afterwards.
    pub fn trace(mut self, samples: usize) -> Result<Vec<Tensor>, Error> {
        let sequences: Vec<u32> = (0..samples.min(self.trained.sequences(TRAINED)) as u32).collect();
        let mut all: Vec<Tensor> = Tensor::named("before", self.tensors()).collect();
        let mut noise = Rng::fast(&format!("{}|trace", self.key), Purpose::Noise);
        let cost = self.step(&sequences, 1, &mut noise)?;
        let label = |place: u32| f32::from(self.mnist.train.labels()[place as usize]);
        let digit = |t: usize, s: u32| label(self.trained.places[s as usize * TRAINED + t]);
        let digits: Vec<f32> = (0..TRAINED).flat_map(|t| sequences.iter().map(move |&s| digit(t, s))).collect();
        let shape = vec![digits.len(), SIDE, SIDE, 1];
        all.push(Tensor { name: "x".into(), shape, data: self.x.clone() });
        all.push(Tensor::flat("target", &digits));
        all.push(Tensor::flat("noise", &cost.noise));
        all.push(Tensor::flat("loss", &[cost.error + self.config.rz as f32 * cost.regulariser]));
        all.extend(Tensor::named("gradient", export::tensors("regressor", &self.net, &self.learner.gradient)));
        all.push(Tensor::flat("gradient.head.weight", &cost.dp));
        all.extend(Tensor::named("after", self.tensors()));
        Ok(all)
    }

    /// What the network reads in every image of a sequence.
    fn read(&mut self, digits: &Digits, sequence: &DigitSequence) -> Vec<f32> {
        let (mut x, mut some, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for places in sequence.places.chunks(READ) {
            fill(digits, places, &mut x);
            self.net.forward(&self.learner.params, &x, &mut self.work, Mode::Eval, self.config.threads);
            self.work.outputs(&self.net, &mut some);
            all.extend_from_slice(&some);
        }
        all
    }

    /// Multiplies up what was read in sequences of a length.
    fn score(
        &self,
        digits: &Digits,
        sequence: &DigitSequence,
        read: &[f32],
        length: usize,
        noise: &mut Rng,
    ) -> Result<Part, Error> {
        let (mut squares, mut right, mut right_last, mut count) = (0.0, 0u64, 0u64, 0u64);
        let sequences: Vec<usize> = (0..sequence.sequences(length)).collect();
        for own in sequences.chunks(self.config.batch) {
            let at = |t: usize| own.iter().map(move |&s| s * length + t);
            let labels: Vec<f32> = (0..length).flat_map(|t| at(t).map(|k| read[k])).collect();
            let places: Vec<u32> = (0..length).flat_map(|t| at(t).map(|k| sequence.places[k])).collect();
            let targets = products(digits, &places, own.len());
            let pass = if self.config.eval_noise { Pass::Train(noise) } else { Pass::Eval };
            let states = self.cell.states(&self.learner.head, &labels, own.len(), pass)?;
            for (k, (&got, &want)) in states.iter().zip(&targets).enumerate() {
                let miss = f64::from(got - want);
                squares += miss * miss;
                let hit = u64::from(got.round_ties_even() == want);
                right += hit;
                right_last += if k >= (length - 1) * own.len() { hit } else { 0 };
                count += 1;
            }
        }
        let count = count.max(1) as f64;
        let error = Some(squares / count).filter(|error| error.is_finite());
        Ok(Part { error, rounded: right as f64 / count, rounded_last: right_last as f64 * length as f64 / count })
    }

    /// The current state.
    fn row(&mut self) -> Result<Measurement, Error> {
        let mnist = Arc::clone(&self.mnist);
        let mut noise = Rng::fast(&format!("{}|{}|measured", self.key, self.learner.epoch), Purpose::Noise);
        let mut two = |run: &mut Self, digits: &Digits, sequence: &DigitSequence| {
            let read = run.read(digits, sequence);
            run.score(digits, sequence, &read, TRAINED, &mut noise)
        };
        let (train, valid, test) = (self.train_full.clone(), self.valid.clone(), self.test.clone());
        let (train, valid) = (two(self, &mnist.train, &train)?, two(self, &mnist.train, &valid)?);
        let read = self.read(&mnist.test, &test);
        let by_length = |length| self.score(&mnist.test, &test, &read, length, &mut noise);
        Ok(Measurement {
            epoch: self.learner.epoch,
            step: self.learner.epoch * self.updates(),
            train,
            valid,
            test: (1..=LENGTHS).map(by_length).collect::<Result<_, _>>()?,
            weights: self.learner.head.clone(),
            sparsity: self.cell.module().sparsity_error(&self.learner.head).map_or(0.0, f64::from),
        })
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
        (TRAINED * self.trained.sequences(TRAINED)) as u64
    }

    fn row_every(&self) -> u64 {
        self.config.row_every
    }

    fn measure(&mut self) -> Result<(), Error> {
        let row = self.row()?;
        if let History::Sequence(rows) = &mut self.learner.history {
            rows.push(row);
        }
        Ok(())
    }

    fn train_epoch(&mut self, stop: &dyn Fn() -> bool) -> Result<bool, Error> {
        let key = format!("{}|{}", self.key, self.learner.epoch);
        let order = shuffled(self.trained.sequences(TRAINED), &key);
        let mut noise = Rng::fast(&format!("{key}|cell"), Purpose::Noise);
        for (step, sequences) in order.chunks(self.config.batch).enumerate() {
            if stop() {
                return Ok(false);
            }
            self.step(sequences, self.learner.epoch * self.updates() + step as u64 + 1, &mut noise)?;
        }
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
        let mut all = export::tensors("regressor", &self.net, &self.learner.params);
        all.extend(self.learner.head_tensor());
        all
    }

    fn pictures(&mut self, samples: usize) -> Vec<Vec<Picture>> {
        let picture = |&place: &u32| {
            let pixels = self.mnist.test.image(place as usize).iter().map(|&byte| normalise(byte)).collect();
            Picture { title: "", width: SIDE, channels: 1, pixels }
        };
        self.test.places.chunks_exact(6).take(samples).map(|places| places.iter().map(picture).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_penalty_ramps_by_update() {
        let penalty = Config::published("nmu", 0).penalty();
        assert_eq!([10_000, 55_000, 100_000].map(|update| penalty.at(update, 0.0)), [0.0, 5.0, 10.0]);
    }

    #[test]
    fn choices_are_read_and_defaults_are_the_published_values() {
        let read = |given: &Options| format!("{:?}", Config::read("nmu", 3, given).unwrap());
        let mut defaults = Options::new();
        let declared = SETTINGS.iter().filter(|setting| !setting.default.is_empty());
        declared.for_each(|setting| defaults.set(setting.name, setting.parse(setting.default).unwrap()));
        let published = format!("{:?}", Config::published("nmu", 3));
        assert_eq!((read(&defaults), read(&Options::new())), (published.clone(), published));
        let given = Options::new().with("rz", 0.5).with("rz_inputs", "clean").with("eval_noise", false);
        let config = Config::read("nmu", 3, &given.with("samples", 7usize).with("lambda", 0.0)).unwrap();
        assert_eq!((config.rz, config.rz_inputs, config.eval_noise), (0.5, Inputs::Clean, false));
        assert_eq!((config.sequences, config.lambda, config.seed), (7, 0.0, 3));
        assert!(config.options.is_empty());
        let given = Options::new().with("epochs", 2u64).with("batch", 5usize).with("row_every", 3u64);
        let config = Config::read("nmu", 3, &given.with("ramp", (4.0, 9.0))).unwrap();
        assert_eq!((config.epochs, config.batch, config.row_every, config.ramp), (2, 5, 3, (4, 9)));
    }
}

//! The static product of isolated digits: two images side by side, one classifier for both, and a unit that multiplies what it sees. Only the
//! product is supervised.

use crate::error::Error;
use crate::mnist::{Digits, Mnist};
use crate::net::{Mode, Net, Workspace};
use crate::networks;
use crate::pairs::{Fold, Pair, TEN_FOLDS, images};
use crate::vector::Set;
use nalm::module::{self, Options, Shape};
use nalm::optim::Optimisation;
use nalm::rng::{Fast, Purpose};
use nalm::{Layout, Network, Optimiser, Pass, Path, Penalty, Rng, Schedule, batch};
use std::ops::ControlFlow;

/// Pairs that are evaluated at a time.
const EVALUATED: usize = 128;
/// How far off a prediction may be to count as right under the tolerance rule.
const TOLERANCE: f32 = 1e-4;

/// A run, completely described.
#[derive(Clone, Debug)]
pub struct Config {
    /// The multiplication head: `mul`, `fc`, `nmu` or `snmu`.
    pub head: String,
    /// Its noise and start.
    pub options: Options,
    /// Which of the ten folds; also the seed.
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
    /// Whether images are halved to 14 x 14.
    pub halved: bool,
    /// Epochs between two rows.
    pub row_every: u64,
    /// Training pairs that are evaluated for a row, from the first on.
    pub train_evaluated: usize,
    /// Threads; results do not depend on them.
    pub threads: usize,
}

impl Config {
    /// The published settings of a head on a fold.
    pub fn published(head: &str, fold: usize) -> Self {
        Self {
            head: head.into(),
            options: Options::default(),
            fold,
            samples: 1_000,
            epochs: 1_000,
            batch: 128,
            lambda: 100.0,
            ramp: (30, 40),
            halved: false,
            row_every: 1,
            train_evaluated: usize::MAX,
            threads: 1,
        }
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |what, got: usize, want| Err(Error::Value { what, got: got.to_string(), want });
        if self.fold >= TEN_FOLDS.len() {
            return wrong("fold", self.fold, "there are folds 0 to 9");
        }
        if self.batch == 0 {
            return wrong("pairs in a batch", 0, "give at least 1");
        }
        if self.row_every == 0 {
            return wrong("epochs between two rows", 0, "give at least 1");
        }
        Ok(())
    }
}

/// Shares of predictions that are right, by three rules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Equal to the last bit.
    pub strict: f64,
    /// Off by less than 1e-4.
    pub tolerance: f64,
    /// Equal after rounding to the nearest whole number, halves to even.
    pub rounded: f64,
}

/// How good predictions of one part are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Mean squared errors of the product and of both digits.
    pub errors: [f64; 3],
    /// Accuracies of the product and of both digits.
    pub accuracy: [Accuracy; 3],
    /// Accuracy of the product on pairs with a zero, and without.
    pub zeros: [Accuracy; 2],
    /// Share of pairs whose digits are right after rounding, in this order or swapped: the product does not tell.
    pub digits_up_to_a_swap: f64,
    /// Strict accuracy of the product with the head's weights rounded to 0 or 1.
    pub strict_snapped: f64,
}

/// The state after `epoch` epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Epochs done.
    pub epoch: u64,
    /// On training pairs and training images.
    pub train: Score,
    /// On held-out pairs of test images.
    pub test: Score,
    /// The head's weights.
    pub weights: Vec<f32>,
    /// Share of the last epoch's updates after which the weights were not all exactly 1.
    pub off_one: f64,
    /// Predicted digits by true digits on the test pairs, both places together: truncated, and rounded.
    pub confusion: Box<[[[u32; 10]; 10]; 2]>,
}

/// A run under way.
#[derive(Debug)]
pub struct Run<'a> {
    config: Config,
    mnist: &'a Mnist,
    fold: Fold,
    net: Net,
    head: Network<f32>,
    penalty: Penalty,
    params: Vec<f32>,
    head_params: Vec<f32>,
    optimisation: Vec<Optimisation<f32>>,
    head_optimisation: Optimisation<f32>,
    noise: Rng,
    epoch: u64,
    off_one: f64,
    work: Workspace<f32>,
    gradient: Vec<f32>,
}

/// Parameters that one piece of the optimiser moves; pieces are dealt out to threads.
const PIECE: usize = 1 << 16;

impl<'a> Run<'a> {
    /// Draws samples and initial weights.
    pub fn new(config: Config, mnist: &'a Mnist) -> Result<Self, Error> {
        config.check()?;
        let net = networks::digit_classifier(if config.halved { 14 } else { 28 }, 1, Set::best())?;
        let spec = module::find::<f32>(&config.head)?;
        let head = Network::new(vec![(spec.build)(Shape::new(2, 1)?, &config.options)?])?;
        // The classifier starts alike under every head.
        let key = format!("isolated|{}|{}|{}", config.halved, config.samples, config.fold);
        let mut params = vec![0.0; net.param_len()];
        net.init(&mut params, &mut Rng::fast(&key, Purpose::Init));
        let mut head_params = vec![0.0; head.param_len()];
        head.init(&mut head_params, &mut Rng::fast(&format!("{key}|head"), Purpose::Init));
        let adam = |len| Optimisation::new(Optimiser::adam(1e-3), len, Path::best());
        let (start, end) = config.ramp;
        // Heads without a published penalty stay without.
        let strength = if matches!(config.head.as_str(), "nmu" | "snmu") { config.lambda } else { 0.0 };
        Ok(Self {
            fold: Fold::draw(mnist, &TEN_FOLDS[config.fold], config.samples, config.fold as u64)?,
            penalty: Penalty { strength, schedule: Schedule::Ramp { start, end } },
            optimisation: params.chunks(PIECE).map(|piece| adam(piece.len())).collect::<Result<_, _>>()?,
            head_optimisation: adam(head_params.len())?,
            noise: Rng::fast(&format!("{key}|head"), Purpose::Noise),
            work: net.workspace(2 * config.batch.max(EVALUATED)),
            gradient: vec![0.0; params.len()],
            epoch: 0,
            off_one: 0.0,
            config,
            mnist,
            net,
            head,
            params,
            head_params,
        })
    }

    /// Trains to the end, with a row every few epochs; `watch` may stop it.
    pub fn train(&mut self, mut watch: impl FnMut(&Row) -> ControlFlow<()>) -> Result<(), Error> {
        loop {
            if self.epoch.is_multiple_of(self.config.row_every) || self.epoch == self.config.epochs {
                let row = self.row()?;
                if watch(&row).is_break() || self.epoch == self.config.epochs {
                    return Ok(());
                }
            }
            self.train_epoch()?;
        }
    }

    /// One pass over the training pairs, in an order of its own.
    pub fn train_epoch(&mut self) -> Result<(), Error> {
        let key = format!("isolated|{}|{}|{}", self.config.halved, self.config.samples, self.config.fold);
        let mut rng = Fast::open(&format!("{key}|{}", self.epoch), Purpose::Data);
        let mut order: Vec<u32> = (0..self.fold.train.len() as u32).collect();
        for k in (1..order.len()).rev() {
            order.swap(k, rng.below(k as u32 + 1) as usize);
        }
        let (mut pairs, mut x) = (Vec::new(), Vec::new());
        let (mut updates, mut off_one) = (0u32, 0u32);
        for (step, places) in order.chunks(self.config.batch).enumerate() {
            pairs.clear();
            pairs.extend(places.iter().map(|&place| self.fold.train[place as usize]));
            images(&self.mnist.train, &pairs, self.config.halved, &mut x);
            self.step(&format!("{key}|{}|{step}", self.epoch), &pairs, &x)?;
            updates += 1;
            off_one += u32::from(self.head_params.iter().any(|&w| w != 1.0));
        }
        self.off_one = f64::from(off_one) / f64::from(updates.max(1));
        self.epoch += 1;
        Ok(())
    }

    /// One update.
    fn step(&mut self, key: &str, pairs: &[Pair], x: &[f32]) -> Result<(), Error> {
        let (n, threads) = (pairs.len(), self.config.threads);
        self.net.forward(&self.params, x, &mut self.work, Mode::Train { key }, threads);
        let mut z = Vec::new();
        self.work.outputs(&self.net, &mut z);
        // Left digits, then right ones: what the head calls two features.
        let rows: Vec<f32> = (0..n).flat_map(|k| [z[k], z[n + k]]).collect();
        let at = Layout::new(n)?;
        let lanes = batch::to_lanes(&rows, at)?;
        let mut head_work = self.head.workspace(at);
        self.head.forward(&self.head_params, &lanes, &mut head_work, Pass::Train(&mut self.noise));
        let (y, slope) = head_work.output_and_slope();
        for (k, pair) in pairs.iter().enumerate() {
            let (lane, place) = (k / nalm::lane::LANES, k % nalm::lane::LANES);
            slope[lane][place] = 2.0 * (y[lane][place] - pair.product()) / n as f32;
        }
        for k in n..slope.len() * nalm::lane::LANES {
            slope[k / nalm::lane::LANES][k % nalm::lane::LANES] = 0.0;
        }
        let mut dx = lanes.clone();
        let mut head_gradient = vec![0.0; self.head_params.len()];
        self.head.backward(&self.head_params, &lanes, &mut head_work, Some(&mut dx), &mut head_gradient);
        let penalties = [self.penalty];
        self.head.penalty(&self.head_params, &penalties, self.epoch, 0.0, &mut head_gradient);
        let flat = batch::from_lanes(&dx, at);
        let dz: Vec<f32> = (0..2).flat_map(|side| flat.iter().skip(side).step_by(2).copied()).collect();
        self.net.backward(&self.params, x, &mut self.work, &dz, &mut self.gradient, threads);
        let pieces = self.params.chunks_mut(PIECE).zip(self.gradient.chunks(PIECE)).zip(&mut self.optimisation);
        crate::team::each(threads, pieces.collect(), |((p, g), adam)| adam.step(p, g));
        self.head_optimisation.step(&mut self.head_params, &head_gradient);
        self.head.project(&mut self.head_params);
        Ok(())
    }

    /// Measures the current state.
    pub fn row(&mut self) -> Result<Row, Error> {
        let mut confusion = Box::new([[[0; 10]; 10]; 2]);
        let train = self.fold.train.len().min(self.config.train_evaluated);
        let pairs = std::mem::take(&mut self.fold.train);
        let train = self.score(&self.mnist.train, &pairs[..train], None);
        self.fold.train = pairs;
        let pairs = std::mem::take(&mut self.fold.test);
        let test = self.score(&self.mnist.test, &pairs, Some(&mut confusion));
        self.fold.test = pairs;
        let (weights, off_one) = (self.head_params.clone(), self.off_one);
        Ok(Row { epoch: self.epoch, train: train?, test: test?, weights, off_one, confusion })
    }

    fn score(
        &mut self,
        digits: &Digits,
        pairs: &[Pair],
        mut confusion: Option<&mut [[[u32; 10]; 10]; 2]>,
    ) -> Result<Score, Error> {
        let snapped: Vec<f32> = self.head_params.iter().map(|w| w.round()).collect();
        let (mut x, mut z) = (Vec::new(), Vec::new());
        let mut tally = Tally::default();
        for pairs in pairs.chunks(EVALUATED) {
            images(digits, pairs, self.config.halved, &mut x);
            self.net.forward(&self.params, &x, &mut self.work, Mode::Eval, self.config.threads);
            self.work.outputs(&self.net, &mut z);
            let n = pairs.len();
            let rows: Vec<f32> = (0..n).flat_map(|k| [z[k], z[n + k]]).collect();
            let products = self.head.predict(&self.head_params, &rows)?;
            let exact = self.head.predict(&snapped, &rows)?;
            for (k, pair) in pairs.iter().enumerate() {
                tally.add(pair, products[k], [z[k], z[n + k]], exact[k]);
                if let Some(confusion) = &mut confusion {
                    for (z, digit) in [z[k], z[n + k]].into_iter().zip(pair.digits) {
                        confusion[0][usize::from(digit)][(z as usize).min(9)] += 1;
                        confusion[1][usize::from(digit)][(z.round_ties_even() as usize).min(9)] += 1;
                    }
                }
            }
        }
        Ok(tally.score())
    }
}

/// Sums behind a [`Score`].
#[derive(Default)]
struct Tally {
    count: f64,
    squares: [f64; 3],
    right: [[f64; 3]; 3],
    by_zero: [(f64, [f64; 3]); 2],
    swapped: f64,
    snapped: f64,
}

impl Tally {
    fn add(&mut self, pair: &Pair, product: f32, z: [f32; 2], snapped: f32) {
        let digits = pair.digits.map(f32::from);
        self.count += 1.0;
        let rules = |got: f32, want: f32| {
            let close = (got - want).abs() < TOLERANCE;
            [got == want, close, got.round_ties_even() == want].map(|right| f64::from(u8::from(right)))
        };
        for (k, (got, want)) in
            [(product, pair.product()), (z[0], digits[0]), (z[1], digits[1])].into_iter().enumerate()
        {
            self.squares[k] += f64::from(got - want).powi(2);
            let right = rules(got, want);
            (0..3).for_each(|r| self.right[k][r] += right[r]);
        }
        let (count, right) = &mut self.by_zero[usize::from(!pair.digits.contains(&0))];
        *count += 1.0;
        let rules = rules(product, pair.product());
        (0..3).for_each(|r| right[r] += rules[r]);
        let seen = z.map(f32::round_ties_even);
        self.swapped += f64::from(u8::from(seen == digits || seen == [digits[1], digits[0]]));
        self.snapped += f64::from(u8::from(snapped == pair.product()));
    }

    fn score(&self) -> Score {
        let share = |right: [f64; 3], count: f64| {
            let [strict, tolerance, rounded] = right.map(|r| if count > 0.0 { r / count } else { f64::NAN });
            Accuracy { strict, tolerance, rounded }
        };
        Score {
            errors: self.squares.map(|sum| sum / self.count),
            accuracy: self.right.map(|right| share(right, self.count)),
            zeros: self.by_zero.map(|(count, right)| share(right, count)),
            digits_up_to_a_swap: self.swapped / self.count,
            strict_snapped: self.snapped / self.count,
        }
    }
}

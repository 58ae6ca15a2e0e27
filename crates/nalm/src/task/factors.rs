//! A product of several sums, some of whose summands are subtracted: the Arithmetic Dataset Task beyond its published sizes.

use super::{Samples, Task, Thresholds, threshold};
use crate::batch::Batch;
use crate::lane::{LANES, Lane, linear};
use crate::rng::{Fast, Purpose, Stream};
use crate::sampler::Sampler;
use crate::{Distribution, Error, Real, Shape};
use std::ops::Range;
use std::sync::OnceLock;

/// t = product over the factors of (sum of a slice of the inputs, the last ones of it subtracted).
#[derive(Clone, Debug)]
pub struct Factors {
    inputs: usize,
    slices: Slices,
    train: Distribution,
    test: Distribution,
    simulated: OnceLock<f64>,
}

/// Which inputs make up which factor.
#[derive(Clone, Debug, PartialEq)]
struct Slices {
    ranges: Vec<Range<usize>>,
    /// How many inputs at the end of every slice are subtracted.
    subtracted: usize,
}

impl Slices {
    fn shifted(&self, offset: usize) -> Self {
        let shift = |r: &Range<usize>| r.start + offset..r.end + offset;
        Self { ranges: self.ranges.iter().map(shift).collect(), subtracted: self.subtracted }
    }

    /// What is added and what is subtracted in a slice.
    fn parts(&self, slice: &Range<usize>) -> [Range<usize>; 2] {
        let middle = slice.end - self.subtracted;
        [slice.start..middle, middle..slice.end]
    }
}

impl Factors {
    /// The task with `factors` slices of `subset_ratio` of the inputs, each of which shares `overlap_ratio` of its inputs with the
    /// next one, and of which `differences` are subtracted; all sizes are rounded down. Every seed draws the position of the slices.
    pub fn new(
        inputs: usize,
        factors: usize,
        subset_ratio: f64,
        overlap_ratio: f64,
        differences: f64,
        train: impl Into<Distribution>,
        test: impl Into<Distribution>,
    ) -> Result<Self, Error> {
        let (train, test) = (train.into(), test.into());
        train.check()?;
        test.check()?;
        Sampler::<f64>::new(&test)?;
        for (what, share) in
            [("subset ratio", subset_ratio), ("overlap ratio", overlap_ratio), ("share of differences", differences)]
        {
            Error::check((0.0..=1.0).contains(&share), what, share, "in [0, 1]")?;
        }
        Error::check(factors > 0, "number of factors", 0.0, "at least 1")?;
        let size = (subset_ratio * inputs as f64).floor() as usize;
        Error::check(size > 0, "size of a subset", size as f64, "at least 1")?;
        let apart = size - (overlap_ratio * size as f64).floor() as usize;
        let end = (factors - 1).saturating_mul(apart).saturating_add(size);
        if end > inputs {
            let what = format!("inputs that {factors} overlapping subsets span");
            return Err(Error::Shape { what, got: inputs, want: end });
        }
        // Slices that overlap as a whole span no more inputs than one of them.
        let want = "at most the number of inputs";
        Error::check(factors <= inputs, "number of factors", factors as f64, want)?;
        let ranges: Vec<Range<usize>> = (0..factors).map(|f| f * apart..f * apart + size).collect();
        let subtracted = (differences * size as f64).floor() as usize;
        Ok(Self { inputs, slices: Slices { ranges, subtracted }, train, test, simulated: OnceLock::new() })
    }

    fn data_key(&self) -> String {
        let Slices { ranges, subtracted } = &self.slices;
        format!("factors {} {ranges:?} {subtracted}|{}", self.inputs, self.train)
    }

    /// The errors on the test set below which the task is solved: those of weights that are all off by epsilon towards each other.
    pub fn thresholds(&self) -> Thresholds {
        let simulate = || {
            let mut fast = Fast::open(&format!("{}|{}", self.data_key(), self.test), Purpose::Threshold);
            let error = |row: &[f64]| {
                let total: f64 = row.iter().sum();
                let (mut exact, mut off) = (1.0, 1.0);
                for slice in &self.slices.ranges {
                    let [added, subtracted] = self.slices.parts(slice).map(|part| row[part].iter().sum::<f64>());
                    let sum = added - subtracted;
                    exact *= sum;
                    off *= (1.0 - threshold::EPSILON) * sum + threshold::EPSILON * (total - added - subtracted);
                }
                off - exact
            };
            // Test distributions that cannot be sampled are refused by the constructor.
            threshold::mean_square(&mut fast, &self.test, self.inputs, error).unwrap_or(f64::NAN)
        };
        Thresholds { flat: None, simulated: *self.simulated.get_or_init(simulate) }
    }
}

impl<R: Real> Task<R> for Factors {
    fn name(&self) -> &'static str {
        "factors"
    }

    fn key(&self) -> String {
        self.data_key()
    }

    fn shape(&self) -> Shape {
        Shape { inputs: self.inputs, outputs: 1 }
    }

    fn thresholds(&self) -> Thresholds {
        self.thresholds()
    }

    fn open(&self, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error> {
        if stream == Stream::Reference {
            return Err(Error::Unsupported {
                what: "a product of several sums".into(),
                when: "with reference streams".into(),
                instead: "use the fast streams".into(),
            });
        }
        let key = self.data_key();
        let seeded = format!("{key}|{seed}");
        let room = self.inputs - self.slices.ranges.last().map_or(0, |last| last.end);
        let offset = Fast::open(&seeded, Purpose::Subset).below(room as u32 + 1);
        Ok(Box::new(FactorSamples {
            slices: self.slices.shifted(offset as usize),
            train: Sampler::new(&self.train)?,
            test: Sampler::new(&self.test)?,
            rng: Fast::open(&seeded, Purpose::Data),
            validation: Fast::open(&key, Purpose::Validation),
            held_out: Fast::open(&format!("{key}|{}", self.test), Purpose::Test),
        }))
    }
}

struct FactorSamples<R> {
    slices: Slices,
    train: Sampler<R>,
    test: Sampler<R>,
    rng: Fast,
    validation: Fast,
    held_out: Fast,
}

impl<R: Real> FactorSamples<R> {
    /// Targets of a fixed set: in f64 from the inputs as the network sees them.
    fn exact_targets(&self, batch: &mut Batch<R>) {
        let Batch { x, t, at } = batch;
        at.pad(x);
        let lanes = at.lanes();
        for (c, t) in t.iter_mut().enumerate() {
            for k in 0..LANES {
                let sum = |part: Range<usize>| part.map(|i| x[i * lanes + c][k].to_f64()).sum::<f64>();
                let factor = |slice: &Range<usize>| {
                    let [added, subtracted] = self.slices.parts(slice).map(sum);
                    added - subtracted
                };
                t[k] = R::of(self.slices.ranges.iter().map(factor).product());
            }
        }
    }
}

impl<R: Real> Samples<R> for FactorSamples<R> {
    fn train(&mut self, batch: &mut Batch<R>) {
        let Batch { x, t, at } = batch;
        let lanes = at.lanes();
        self.train.fill(&mut self.rng, x, lanes);
        at.pad(x);
        for (c, t) in t.iter_mut().enumerate() {
            let mut product = Lane::splat(R::ONE);
            for slice in &self.slices.ranges {
                let [added, subtracted] = self.slices.parts(slice).map(|part| linear::slice_sum(x, &part, c, lanes));
                product = product * (added - subtracted);
            }
            *t = product;
        }
    }

    fn validation(&mut self, batch: &mut Batch<R>) {
        let mut rng = self.validation.clone();
        self.train.fill(&mut rng, &mut batch.x, batch.at.lanes());
        self.exact_targets(batch);
    }

    fn test(&mut self, batch: &mut Batch<R>) {
        let mut rng = self.held_out.clone();
        self.test.fill(&mut rng, &mut batch.x, batch.at.lanes());
        self.exact_targets(batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchLayout, from_lanes};
    use crate::{Arithmetic, Operation};

    fn ranges() -> (Distribution, Distribution) {
        ("U[1,2)".parse().unwrap(), "U[2,6)".parse().unwrap())
    }

    #[test]
    fn targets_are_products_of_differences() {
        let (train, test) = ranges();
        // Slices 0..4, 2..6 and 4..8 with the last of each subtracted, and no room to move.
        let task = Factors::new(8, 3, 0.5, 0.5, 0.25, train, test).unwrap();
        let mut samples = Task::<f64>::open(&task, Stream::Fast, 3).unwrap();
        let mut batch = Batch::zeros(8, 1, BatchLayout::new(21).unwrap());
        for fill in [Samples::train, Samples::validation, Samples::test] {
            fill(&mut *samples, &mut batch);
            let (x, t) = (from_lanes(&batch.x, batch.at), from_lanes(&batch.t, batch.at));
            for (x, t) in x.chunks_exact(8).zip(t) {
                let factor = |k: usize| x[k] + x[k + 1] + x[k + 2] - x[k + 3];
                assert!((factor(0) * factor(2) * factor(4) - t).abs() < 1e-12 * t.abs().max(1.0));
            }
        }
    }

    /// Two sums of two among eight inputs may start at 0 to 4, and seeds find each of these places.
    #[test]
    fn seeds_move_the_slices_over_all_inputs() {
        let (train, test) = ranges();
        let task = Factors::new(8, 2, 0.25, 0.0, 0.0, train, test).unwrap();
        let mut found = [0; 5];
        for seed in 0..100 {
            let mut samples = Task::<f64>::open(&task, Stream::Fast, seed).unwrap();
            let mut batch = Batch::zeros(8, 1, BatchLayout::new(16).unwrap());
            samples.train(&mut batch);
            let x: [f64; 8] = std::array::from_fn(|k| batch.x[k][0]);
            let product = |k: usize| (x[k] + x[k + 1]) * (x[k + 2] + x[k + 3]);
            let place = (0..5).find(|&k| (product(k) - batch.t[0][0]).abs() < 1e-12).expect("a place of both slices");
            found[place] += 1;
        }
        assert!(found.iter().all(|seeds| (10..=35).contains(seeds)), "{found:?}");
    }

    #[test]
    fn two_sums_have_the_threshold_of_the_arithmetic_task() {
        let (train, test) = ranges();
        let ours = Factors::new(20, 2, 0.25, 0.4, 0.0, train.clone(), test.clone()).unwrap().thresholds().simulated;
        let other = Arithmetic::new(Operation::Mul, 20, 0.25, 0.4, train, test).unwrap().thresholds().simulated;
        assert!((ours / other - 1.0).abs() < 0.01, "{ours} {other}");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let (train, test) = ranges();
        let make = |inputs, factors, subset, differences| {
            Factors::new(inputs, factors, subset, 0.0, differences, train.clone(), test.clone())
                .unwrap_err()
                .to_string()
        };
        assert!(make(10, 3, 0.5, 0.0).contains("got 10, but 15 is needed"));
        assert!(make(10, 2, 0.01, 0.0).contains("size of a subset is 0"));
        assert!(make(10, 2, 0.5, 1.5).contains("share of differences is 1.5"));
        assert!(make(10, 0, 0.5, 0.0).contains("number of factors"));
    }
}

//! Data augmentation for products: scaling the factors scales the product.

use super::{Samples, Task, Thresholds};
use crate::batch::Batch;
use crate::rng::{Fast, Purpose, Stream};
use crate::sampler::Sampler;
use crate::{Distribution, Error, Lane, Real, Shape, Uniform};
use std::ops;
use std::sync::Arc;

/// A task whose training data are multiplied by noise: x to n x, and t = a b to n_a n_b t. Validation and test sets stay as they are.
///
/// Where each factor is one input, every input has noise of its own; where factors are sums, each row has one number for all
/// inputs. What the unit sees is what a stochastic unit sees, but nothing is divided out: the target moves instead.
#[derive(Debug)]
pub struct Augmented<R: Real> {
    task: Arc<dyn Task<R>>,
    noise: Uniform,
}

impl<R: Real> Augmented<R> {
    /// Augments a task that multiplies two of its inputs, or two sums of them.
    pub fn new(task: Arc<dyn Task<R>>, noise: Uniform) -> Result<Self, Error> {
        let low = noise.intervals()[0].low();
        Error::check(low > 0.0, "lower end of the augmenting noise", low, "positive")?;
        if task.open(Stream::Fast, 0)?.product().is_none() {
            return Err(Error::Unsupported {
                what: "data augmentation".into(),
                when: format!("on the task {} with another operation than mul", task.name()),
                instead: "use mul".into(),
            });
        }
        Ok(Self { task, noise })
    }
}

impl<R: Real> Task<R> for Augmented<R> {
    fn name(&self) -> &'static str {
        self.task.name()
    }

    // The same data and the same initial weights as without augmentation.
    fn key(&self) -> String {
        self.task.key()
    }

    fn shape(&self) -> Shape {
        self.task.shape()
    }

    fn evaluation_rows(&self) -> Option<(usize, usize)> {
        self.task.evaluation_rows()
    }

    fn thresholds(&self) -> Thresholds {
        self.task.thresholds()
    }

    fn open(&self, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error> {
        let samples = self.task.open(stream, seed)?;
        Ok(Box::new(AugmentedSamples {
            factors: samples.product().unwrap_or([0..0, 0..0]),
            samples,
            noise: Sampler::new(&Distribution::Uniform(self.noise.clone()))?,
            rng: Fast::open(&format!("{}|{seed}", self.task.key()), Purpose::Augment),
            drawn: Vec::new(),
        }))
    }
}

struct AugmentedSamples<R: Real> {
    samples: Box<dyn Samples<R>>,
    factors: [ops::Range<usize>; 2],
    noise: Sampler<R>,
    rng: Fast,
    drawn: Vec<Lane<R>>,
}

impl<R: Real> Samples<R> for AugmentedSamples<R> {
    fn train(&mut self, batch: &mut Batch<R>) {
        self.samples.train(batch);
        let lanes = batch.at.lanes();
        let [a, b] = &self.factors;
        let single = a.len() == 1 && b.len() == 1;
        // Without growth after the first batch.
        self.drawn.resize(if single { batch.x.len() } else { lanes }, Lane::ZERO);
        self.noise.fill(&mut self.rng, &mut self.drawn, lanes);
        for (k, x) in batch.x.iter_mut().enumerate() {
            *x = *x * self.drawn[k % self.drawn.len()];
        }
        for (c, t) in batch.t.iter_mut().enumerate() {
            let of = |i: usize| self.drawn[if single { i * lanes + c } else { c }];
            *t = *t * of(a.start) * of(b.start);
        }
        batch.at.pad(&mut batch.x);
    }

    fn validation(&mut self, batch: &mut Batch<R>) {
        self.samples.validation(batch);
    }

    fn test(&mut self, batch: &mut Batch<R>) {
        self.samples.test(batch);
    }

    fn subsets(&self) -> Option<[ops::Range<usize>; 2]> {
        self.samples.subsets()
    }

    fn product(&self) -> Option<[ops::Range<usize>; 2]> {
        self.samples.product()
    }
}

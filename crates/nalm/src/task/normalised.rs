//! A product task in units in which the training inputs have a root mean square of 1.

use super::{Samples, Task, Thresholds};
use crate::batch::Batch;
use crate::rng::Stream;
use crate::{Error, Real, Shape, Uniform};
use std::ops;
use std::sync::Arc;

/// A task whose inputs are multiplied by c = 1 / rms of the training range, and its targets by c², in all three sets.
///
/// A product stays a product under scaling, so an exact unit stays exact; under a shift (as in standardising to mean 0) it would not.
/// Thresholds are scaled by c⁴, so that a run succeeds if and only if its error in the original units would.
#[derive(Debug)]
pub struct Normalised<R: Real> {
    task: Arc<dyn Task<R>>,
    scale: f64,
}

impl<R: Real> Normalised<R> {
    /// Normalises a task that multiplies two of its inputs, or two sums of them, and is trained on `range`.
    pub fn new(task: Arc<dyn Task<R>>, range: &Uniform) -> Result<Self, Error> {
        if task.open(Stream::Fast, 0)?.product().is_none() {
            return Err(Error::Unsupported {
                what: "normalised inputs".into(),
                when: format!("on the task {} with another operation than mul", task.name()),
                instead: "use mul".into(),
            });
        }
        Ok(Self { task, scale: 1.0 / range.mean_square().sqrt() })
    }
}

impl<R: Real> Task<R> for Normalised<R> {
    fn name(&self) -> &'static str {
        self.task.name()
    }

    // The same data up to the scale, and the same initial weights.
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
        let Thresholds { flat, simulated } = self.task.thresholds();
        let square = self.scale * self.scale;
        let power = square * square;
        Thresholds { flat: flat.map(|t| t * power), simulated: simulated * power }
    }

    fn open(&self, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error> {
        Ok(Box::new(NormalisedSamples { samples: self.task.open(stream, seed)?, scale: R::of(self.scale) }))
    }
}

struct NormalisedSamples<R: Real> {
    samples: Box<dyn Samples<R>>,
    scale: R,
}

impl<R: Real> NormalisedSamples<R> {
    fn scale(&self, batch: &mut Batch<R>) {
        let square = self.scale * self.scale;
        batch.x.iter_mut().for_each(|x| *x = *x * self.scale);
        batch.t.iter_mut().for_each(|t| *t = *t * square);
        batch.at.pad(&mut batch.x);
    }
}

impl<R: Real> Samples<R> for NormalisedSamples<R> {
    fn train(&mut self, batch: &mut Batch<R>) {
        self.samples.train(batch);
        self.scale(batch);
    }

    fn validation(&mut self, batch: &mut Batch<R>) {
        self.samples.validation(batch);
        self.scale(batch);
    }

    fn test(&mut self, batch: &mut Batch<R>) {
        self.samples.test(batch);
        self.scale(batch);
    }

    fn subsets(&self) -> Option<[ops::Range<usize>; 2]> {
        self.samples.subsets()
    }

    fn product(&self) -> Option<[ops::Range<usize>; 2]> {
        self.samples.product()
    }
}

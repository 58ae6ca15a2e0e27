//! Labels as a measurement would give them.

use super::{Samples, Task, Thresholds};
use crate::batch::Batch;
use crate::lane;
use crate::rng::{Purpose, Rng, Stream};
use crate::{Error, Real, Shape};
use std::ops;
use std::sync::Arc;

/// A task whose training and validation targets are t (1 + deviation z), z standard normal. The test set stays as it is.
#[derive(Debug)]
pub struct Noisy<R: Real> {
    task: Arc<dyn Task<R>>,
    deviation: f64,
}

impl<R: Real> Noisy<R> {
    /// Adds noise to the labels of a task.
    pub fn new(task: Arc<dyn Task<R>>, deviation: f64) -> Result<Self, Error> {
        let ok = deviation >= 0.0 && deviation.is_finite();
        Error::check(ok, "deviation of the label noise", deviation, "finite and at least 0")?;
        Ok(Self { task, deviation })
    }
}

impl<R: Real> Task<R> for Noisy<R> {
    fn name(&self) -> &'static str {
        self.task.name()
    }

    // The same inputs and the same initial weights as without noise.
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
        let key = self.task.key();
        Ok(Box::new(NoisySamples {
            samples: self.task.open(stream, seed)?,
            deviation: R::of(self.deviation),
            rng: Rng::fast(&format!("{key}|{seed}"), Purpose::Label),
            validation: Rng::fast(&format!("{key}|validation"), Purpose::Label),
            drawn: Vec::new(),
        }))
    }
}

struct NoisySamples<R: Real> {
    samples: Box<dyn Samples<R>>,
    deviation: R,
    rng: Rng,
    validation: Rng,
    drawn: Vec<R>,
}

fn shake<R: Real>(batch: &mut Batch<R>, deviation: R, rng: &mut Rng, drawn: &mut Vec<R>) {
    let t = lane::flat_mut(&mut batch.t);
    // Without growth after the first batch.
    drawn.resize(t.len(), R::ZERO);
    rng.fill_normal(drawn, batch.at.instructions);
    t.iter_mut().zip(drawn).for_each(|(t, z)| *t = *t + *t * deviation * *z);
}

impl<R: Real> Samples<R> for NoisySamples<R> {
    fn train(&mut self, batch: &mut Batch<R>) {
        self.samples.train(batch);
        shake(batch, self.deviation, &mut self.rng, &mut self.drawn);
    }

    fn validation(&mut self, batch: &mut Batch<R>) {
        self.samples.validation(batch);
        shake(batch, self.deviation, &mut self.validation.clone(), &mut self.drawn);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SingleModule;
    use crate::batch::{BatchLayout, from_lanes};

    #[test]
    fn noise_has_its_size_and_the_validation_set_is_fixed() {
        let clean: Arc<dyn Task<f64>> = Arc::new(SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap());
        let noisy = Noisy::new(Arc::clone(&clean), 1e-3).unwrap();
        let (mut a, mut b) = (clean.open(Stream::Fast, 0).unwrap(), noisy.open(Stream::Fast, 0).unwrap());
        let zeros = || Batch::<f64>::zeros(2, 1, BatchLayout::new(10_000).unwrap());
        let (mut exact, mut off) = (zeros(), zeros());
        let deviation = |exact: &Batch<f64>, off: &Batch<f64>| {
            assert_eq!(exact.x, off.x);
            let (t, s) = (from_lanes(&exact.t, exact.at), from_lanes(&off.t, off.at));
            let squares: f64 = t.iter().zip(&s).map(|(t, s)| (s / t - 1.0).powi(2)).sum();
            (squares / t.len() as f64).sqrt()
        };
        a.train(&mut exact);
        b.train(&mut off);
        assert!((deviation(&exact, &off) / 1e-3 - 1.0).abs() < 0.03);
        a.validation(&mut exact);
        b.validation(&mut off);
        assert!((deviation(&exact, &off) / 1e-3 - 1.0).abs() < 0.03);
        let first = off.t.clone();
        b.validation(&mut off);
        assert_eq!(first, off.t);
        a.test(&mut exact);
        b.test(&mut off);
        assert_eq!(exact.t, off.t);
        assert!(Noisy::new(clean, f64::NAN).unwrap_err().to_string().contains("label noise"));
    }
}

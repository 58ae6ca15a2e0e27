//! The data behind both tasks: t = operation(sum of one subset of the inputs, sum of another).

use super::Samples;
use crate::batch::{Batch, BatchLayout, transpose};
use crate::lane::{self, Kernel, LANES, Lane, linear};
use crate::rng::{Fast, Mt19937, Purpose, Stream};
use crate::sampler::Sampler;
use crate::{Distribution, Error, Operation, Real, Uniform};
use std::ops;

/// Seeds of NumPy's generators for the fixed sets of the published experiments.
const VALIDATION_SEED: u32 = 43_953_907;
const TEST_SEED: u32 = 8_689_336;

/// Two slices of the input vector, up to a common offset that every seed draws for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subsets {
    pub(crate) inputs: usize,
    pub(crate) a: ops::Range<usize>,
    pub(crate) b: ops::Range<usize>,
}

impl Subsets {
    pub(crate) fn new(inputs: usize, a: ops::Range<usize>, b: ops::Range<usize>) -> Result<Self, Error> {
        for slice in [&a, &b] {
            Error::check(!slice.is_empty(), "size of a subset", slice.len() as f64, "at least 1")?;
        }
        let least = a.end.max(b.end);
        if least > inputs {
            return Err(Error::TooFew { what: "number of inputs", got: inputs, least });
        }
        Ok(Self { inputs, a, b })
    }

    /// The largest offset.
    fn room(&self) -> usize {
        self.inputs - self.a.end.max(self.b.end)
    }

    fn shifted(&self, offset: usize) -> Self {
        let shift = |r: &ops::Range<usize>| r.start + offset..r.end + offset;
        Self { inputs: self.inputs, a: shift(&self.a), b: shift(&self.b) }
    }

    /// The two sums of one row.
    pub(crate) fn sums(&self, row: &[f64]) -> (f64, f64) {
        (row[self.a.clone()].iter().sum(), row[self.b.clone()].iter().sum())
    }
}

/// Everything that defines the data.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) subsets: Subsets,
    pub(crate) operation: Operation,
    pub(crate) train: Distribution,
    pub(crate) test: Distribution,
}

impl Problem {
    pub(crate) fn key(&self, task: &str) -> String {
        let Problem { subsets: Subsets { inputs, a, b }, operation, train, .. } = self;
        format!("{task} {operation} {inputs} {a:?} {b:?}|{train}")
    }

    pub(crate) fn open<R: Real>(&self, task: &str, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error> {
        let key = self.key(task);
        let most = self.subsets.room() as u32;
        match stream {
            Stream::Fast => {
                let seeded = format!("{key}|{seed}");
                let offset = Fast::open(&seeded, Purpose::Subset).below(most + 1);
                Ok(Box::new(FastSamples {
                    subsets: self.subsets.shifted(offset as usize),
                    operation: self.operation,
                    train: Sampler::new(&self.train)?,
                    test: Sampler::new(&self.test)?,
                    rng: Fast::open(&seeded, Purpose::Data),
                    validation: Fast::open(&key, Purpose::Validation),
                    held_out: Fast::open(&format!("{key}|{}", self.test), Purpose::Test),
                }))
            }
            Stream::Reference => {
                stream.check(seed)?;
                let mut dataset = Mt19937::new(seed as u32);
                let offset = dataset.at_most(most);
                Ok(Box::new(ReferenceSamples {
                    subsets: self.subsets.shifted(offset as usize),
                    operation: self.operation,
                    train: reference_range(&self.train)?,
                    test: reference_range(&self.test)?,
                    rng: Mt19937::new(dataset.at_most(u32::MAX - 1)),
                    scratch: Vec::new(),
                }))
            }
        }
    }
}

/// The published experiments drew from one interval, or from two of equal width by a fair coin.
fn reference_range(distribution: &Distribution) -> Result<Uniform, Error> {
    let unsupported = || Error::Unsupported {
        what: format!("the distribution {distribution}"),
        when: "with reference streams".into(),
        instead: "use one interval, two intervals of equal width, or the fast streams".into(),
    };
    let range = distribution.as_range().ok_or_else(unsupported)?;
    match range.intervals() {
        [_] => Ok(range.clone()),
        [a, b] if (a.width() - b.width()).abs() < 1e-9 => Ok(range.clone()),
        _ => Err(unsupported()),
    }
}

struct FastSamples<R> {
    subsets: Subsets,
    operation: Operation,
    train: Sampler<R>,
    test: Sampler<R>,
    rng: Fast,
    validation: Fast,
    held_out: Fast,
}

impl<R: Real> Samples<R> for FastSamples<R> {
    fn train(&mut self, batch: &mut Batch<R>) {
        let (sampler, subsets, operation) = (&self.train, &self.subsets, self.operation);
        lane::run(batch.at.instructions, Draw { sampler, rng: &mut self.rng, subsets, operation, batch });
    }

    fn validation(&mut self, batch: &mut Batch<R>) {
        let mut rng = self.validation.clone();
        self.train.fill(&mut rng, &mut batch.x, batch.at.lanes());
        exact_targets(&self.subsets, self.operation, batch);
    }

    fn test(&mut self, batch: &mut Batch<R>) {
        let mut rng = self.held_out.clone();
        self.test.fill(&mut rng, &mut batch.x, batch.at.lanes());
        exact_targets(&self.subsets, self.operation, batch);
    }

    fn subsets(&self) -> Option<[ops::Range<usize>; 2]> {
        Some([self.subsets.a.clone(), self.subsets.b.clone()])
    }

    fn product(&self) -> Option<[ops::Range<usize>; 2]> {
        Samples::<R>::subsets(self).filter(|_| self.operation == Operation::Mul)
    }
}

/// Targets of a fixed set: in f64 from the inputs as the network sees them.
fn exact_targets<R: Real>(subsets: &Subsets, operation: Operation, batch: &mut Batch<R>) {
    let Batch { x, t, at } = batch;
    at.pad(x);
    let lanes = at.lanes();
    for row in 0..lanes * LANES {
        let (c, k) = (row / LANES, row % LANES);
        let sum = |slice: &ops::Range<usize>| slice.clone().map(|i| x[i * lanes + c][k].to_f64()).sum::<f64>();
        t[c][k] = R::of(operation.apply(sum(&subsets.a), sum(&subsets.b)));
    }
}

/// A training batch: inputs drawn, targets computed in the precision of training.
struct Draw<'a, R> {
    sampler: &'a Sampler<R>,
    rng: &'a mut Fast,
    subsets: &'a Subsets,
    operation: Operation,
    batch: &'a mut Batch<R>,
}

impl<R: Real> Kernel for Draw<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) {
        let Batch { x, t, at } = self.batch;
        let lanes = at.lanes();
        self.sampler.fill(self.rng, x, lanes);
        at.pad(x);
        let Subsets { a, b, .. } = self.subsets;
        if a.len() == 1 && b.len() == 1 {
            // What the sums below come to, without them: they would cost more than drawing the numbers.
            let feature = |slice: &ops::Range<usize>| &x[slice.start * lanes..][..lanes];
            for ((t, &a), &b) in t.iter_mut().zip(feature(a)).zip(feature(b)) {
                *t = combine(self.operation, Lane::ZERO + a, Lane::ZERO + b);
            }
            return;
        }
        let (fours, rest) = t.as_chunks_mut::<4>();
        let first = lanes - rest.len();
        for (k, t) in fours.iter_mut().enumerate() {
            let (a, b) = (linear::slice_sums(x, a, 4 * k, lanes), linear::slice_sums(x, b, 4 * k, lanes));
            for ((t, a), b) in t.iter_mut().zip(a).zip(b) {
                *t = combine(self.operation, a, b);
            }
        }
        for (c, t) in (first..).zip(rest) {
            *t = combine(self.operation, linear::slice_sum(x, a, c, lanes), linear::slice_sum(x, b, c, lanes));
        }
    }
}

/// The operation, row by row; without a branch per row for the one that is hot.
#[inline(always)]
fn combine<R: Real>(operation: Operation, a: Lane<R>, b: Lane<R>) -> Lane<R> {
    match operation {
        Operation::Mul => a * b,
        _ => a.zip(b, |a, b| operation.apply(a, b)),
    }
}

struct ReferenceSamples {
    subsets: Subsets,
    operation: Operation,
    train: Uniform,
    test: Uniform,
    rng: Mt19937,
    /// One batch, row-major, in f64.
    scratch: Vec<f64>,
}

impl ReferenceSamples {
    fn draw<R: Real>(&mut self, fixed: Option<u32>, batch: &mut Batch<R>) {
        let Self { subsets, operation, train, test, rng, scratch } = self;
        let mut fixed_rng = fixed.map(Mt19937::new);
        let range = if fixed == Some(TEST_SEED) { test } else { train };
        let rng = fixed_rng.as_mut().unwrap_or(rng);
        let numbers = batch.at.rows * subsets.inputs;
        let intervals = range.intervals();
        scratch.resize(numbers * intervals.len(), 0.0);
        for (part, interval) in scratch.chunks_exact_mut(numbers).zip(intervals) {
            rng.doubles(interval.low(), interval.width(), part);
        }
        if intervals.len() == 2 {
            let (first, second) = scratch.split_at_mut(numbers);
            for (x, other) in first.iter_mut().zip(second) {
                if rng.at_most(1) == 0 {
                    *x = *other;
                }
            }
        }
        let rows = &scratch[..numbers];
        lane::run(batch.at.instructions, Transpose { rows, subsets, operation: *operation, batch });
    }
}

/// Row-major f64 numbers into lanes, with targets in f64 before rounding.
struct Transpose<'a, R> {
    rows: &'a [f64],
    subsets: &'a Subsets,
    operation: Operation,
    batch: &'a mut Batch<R>,
}

impl<R: Real> Kernel for Transpose<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) {
        let Batch { x, t, at } = self.batch;
        let (x, t) = (x.as_mut_slice(), t.as_mut_slice());
        let (lanes, inputs) = (at.lanes(), self.subsets.inputs);
        let Subsets { a, b, .. } = self.subsets;
        for (c, block) in self.rows.chunks(LANES * inputs).enumerate() {
            let mut sums = [Lane::<f64>::ZERO; 2];
            let mut first = 0;
            // Four features at a time by shuffles, where all sixteen rows are there.
            while block.len() == LANES * inputs && first + 4 <= inputs {
                let mut wide = [Lane::<f64>::ZERO; 4];
                for (q, rows) in block.chunks_exact(4 * inputs).enumerate() {
                    let ((a, b), (c, d)) = transpose::quarters(rows, inputs);
                    let turned = f64::turn([a, b, c, d].map(|row| transpose::four(row, first)));
                    for (wide, turned) in wide.iter_mut().zip(turned) {
                        wide.0[4 * q..4 * q + 4].copy_from_slice(&turned);
                    }
                }
                for (k, wide) in wide.iter().enumerate() {
                    x[(first + k) * lanes + c] = narrow(wide);
                    add(wide, [a.contains(&(first + k)), b.contains(&(first + k))], &mut sums);
                }
                first += 4;
            }
            for i in first..inputs {
                let mut wide = Lane::<f64>::ZERO;
                for (wide, row) in wide.0.iter_mut().zip(block.chunks_exact(inputs)) {
                    *wide = row[i];
                }
                x[i * lanes + c] = narrow(&wide);
                add(&wide, [a.contains(&i), b.contains(&i)], &mut sums);
            }
            for k in 0..LANES {
                t[c][k] = R::of(self.operation.apply(sums[0][k], sums[1][k]));
            }
        }
        pad(x, t, *at);
    }
}

#[inline(always)]
fn narrow<R: Real>(wide: &Lane<f64>) -> Lane<R> {
    let mut narrow = Lane::ZERO;
    for k in 0..LANES {
        narrow[k] = R::of(wide[k]);
    }
    narrow
}

/// Adds numbers to the sums that they belong to.
#[inline(always)]
fn add(wide: &Lane<f64>, belongs: [bool; 2], sums: &mut [Lane<f64>; 2]) {
    for (sum, belongs) in sums.iter_mut().zip(belongs) {
        if belongs {
            *sum += *wide;
        }
    }
}

fn pad<R: Real>(x: &mut [Lane<R>], t: &mut [Lane<R>], at: BatchLayout) {
    at.pad(x);
    at.pad(t);
}

impl<R: Real> Samples<R> for ReferenceSamples {
    fn train(&mut self, batch: &mut Batch<R>) {
        self.draw(None, batch);
    }

    fn validation(&mut self, batch: &mut Batch<R>) {
        self.draw(Some(VALIDATION_SEED), batch);
    }

    fn test(&mut self, batch: &mut Batch<R>) {
        self.draw(Some(TEST_SEED), batch);
    }

    fn subsets(&self) -> Option<[ops::Range<usize>; 2]> {
        Some([self.subsets.a.clone(), self.subsets.b.clone()])
    }

    fn product(&self) -> Option<[ops::Range<usize>; 2]> {
        Samples::<R>::subsets(self).filter(|_| self.operation == Operation::Mul)
    }
}

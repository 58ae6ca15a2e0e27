//! A table of one's own as a task: some columns are the inputs, another is the target.

use super::{Samples, Task, Thresholds};
use crate::batch::Batch;
use crate::rng::{Fast, Purpose, Stream};
use crate::table::{Table, fingerprint};
use crate::{Error, Real, Shape};
use std::fmt::{self, Display};
use std::sync::Arc;

/// How the rows of a table are divided into training, validation and test rows. Shares are of all rows; training has the rest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Split {
    /// Every seed draws validation and test rows: the test asks for interpolation.
    Random {
        /// The share of the validation rows.
        validation: f64,
        /// The share of the test rows.
        test: f64,
    },
    /// The rows with the lowest and the highest values of a column are the test rows, half of the share at each end, so that the test asks for
    /// extrapolation; an odd row is one of the highest. Rows of equal value stay together, so test rows lie strictly outside
    /// all others and may be a few more than the share. Every seed draws validation rows among the others.
    Extremes {
        /// The column: an input, the target, or any other of the table.
        column: String,
        /// The share of the validation rows.
        validation: f64,
        /// The share of the test rows.
        test: f64,
    },
}

impl Split {
    fn shares(&self) -> (f64, f64) {
        let (Split::Random { validation, test } | Split::Extremes { validation, test, .. }) = self;
        (*validation, *test)
    }

    /// How streams are named after it.
    fn key(&self) -> String {
        match self {
            Split::Random { validation, test } => format!("random {validation} {test}"),
            Split::Extremes { column, validation, test } => format!("extremes {column:?} {validation} {test}"),
        }
    }
}

impl Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Split::Random { .. } => f.write_str("at random")?,
            Split::Extremes { column, .. } => {
                write!(f, "by the extremes of the column '{column}' (equal values stay together)")?
            }
        }
        let (validation, test) = self.shares();
        write!(f, " with shares of {validation} for validation and {test} for testing")
    }
}

/// The rows of each part, counted from 0. What is drawn is in the order of drawing, so that the first few rows of a part are as good a sample
/// as any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What is trained on.
    pub training: Vec<usize>,
    /// What is validated on.
    pub validation: Vec<usize>,
    /// What is tested on.
    pub test: Vec<usize>,
}

/// A table of one's own.
///
/// Training batches go through the training rows in an order that is drawn anew for every epoch; a batch may begin in one epoch and end in
/// another. It is solved when the mean squared error on the test rows is below `goal` times the variance of the target over all rows.
///
/// ```
/// use nalm::{Config, Network, Nmu, Split, Table, TableTask, train};
///
/// let a: Vec<f64> = (0..200).map(|k| 1.0 + (k % 20) as f64 / 20.0).collect();
/// let b: Vec<f64> = (0..200).map(|k| 1.0 + (k / 20) as f64 / 10.0).collect();
/// let area = a.iter().zip(&b).map(|(a, b)| a * b).collect();
/// let table = Table::new([("a", a), ("b", b), ("area", area)])?;
///
/// let split = Split::Extremes { column: "area".into(), validation: 0.1, test: 0.2 };
/// let task = TableTask::new(table, &["a", "b"], "area", split, TableTask::GOAL)?;
/// let network = Network::<f32>::single(Nmu::new(2, 1)?);
/// let outcome = train(&network, &task, 0, &Config::published(&network).steps(10_000), &mut ())?;
/// assert!(outcome.solved());
/// // The weights read: area = a * b, up to the rounding of the table to f32.
/// assert!(outcome.params.iter().all(|w| (w - 1.0).abs() < 1e-6));
/// # Ok::<(), nalm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableTask {
    table: Arc<Table>,
    inputs: Vec<String>,
    target: String,
    split: Split,
    key: String,
    threshold: f64,
    /// Rows that are the same for every seed: those that are drawn from, and the test rows where the split says which.
    drawn: Vec<usize>,
    extremes: Vec<usize>,
    /// Validation rows, and test rows that are drawn.
    counts: (usize, usize),
}

impl TableTask {
    /// The usual goal: a mean squared error of a millionth of the target's variance.
    pub const GOAL: f64 = 1e-6;

    /// The task of finding one column of a table from others.
    pub fn new(
        table: impl Into<Arc<Table>>,
        inputs: &[&str],
        target: &str,
        split: Split,
        goal: f64,
    ) -> Result<Self, Error> {
        let table = table.into();
        let rows = table.rows();
        Error::check(rows < 1 << 31, "number of rows of a table", rows as f64, "below 2^31")?;
        Error::check(!inputs.is_empty(), "number of input columns", 0.0, "at least 1")?;
        let goal_ok = goal > 0.0 && goal.is_finite();
        Error::check(goal_ok, "goal (squared error relative to the target's variance)", goal, "positive and finite")?;
        let mut used = Vec::new();
        for (k, name) in inputs.iter().enumerate() {
            used.push((*name, table.column(name)?));
            let refused = |when: &str, instead: &str| {
                Err(Error::Unsupported {
                    what: format!("the column '{name}'"),
                    when: when.into(),
                    instead: instead.into(),
                })
            };
            if inputs[..k].contains(name) {
                return refused("as two inputs", "name it once");
            }
            if *name == target {
                return refused("as an input and as the target", "leave it out of the inputs");
            }
        }
        let column = table.column(target)?;
        used.push((target, column));
        if column.iter().all(|x| x == &column[0]) {
            let got = format!("constant ('{target}' is {} in every row)", column[0]);
            return Err(Error::Value { what: "target", got, want: "a column that varies" });
        }
        let variance = variance(column);
        let variance_ok = variance > 0.0 && variance.is_finite();
        Error::check(variance_ok, "variance of the target", variance, "positive and finite")?;

        let (validation, test) = split.shares();
        for (what, share) in [("share of the validation rows", validation), ("share of the test rows", test)] {
            Error::check((0.0..=1.0).contains(&share), what, share, "from 0 to 1")?;
        }
        let of = |share: f64| (share * rows as f64).round() as usize;
        let (drawn, extremes, counts) = match &split {
            Split::Random { .. } => ((0..rows).collect(), Vec::new(), (of(validation), of(test))),
            Split::Extremes { column, .. } => {
                let values = table.column(column)?;
                used.push((column.as_str(), values));
                let (rest, extremes) = extremes(values, of(test));
                (rest, extremes, (of(validation), 0))
            }
        };
        let empty = |part| Err(Error::EmptyPart { rows, split: split.to_string(), part });
        if counts.0 + counts.1 >= drawn.len() {
            return empty("training");
        }
        if counts.0 == 0 {
            return empty("validation");
        }
        if counts.1 + extremes.len() == 0 {
            return empty("testing");
        }
        // Streams are named after the columns in use alone: what else is in the table does not matter.
        let key = format!("table {:016x} {}|{}", fingerprint(used.iter().copied()), inputs.len(), split.key());
        Ok(Self {
            inputs: inputs.iter().map(ToString::to_string).collect(),
            target: target.into(),
            key,
            threshold: goal * variance,
            drawn,
            extremes,
            counts,
            split,
            table,
        })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The names of the input columns.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The name of the target column.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// How the rows are divided.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The error on the test rows below which the task is solved.
    pub fn thresholds(&self) -> Thresholds {
        Thresholds { flat: None, simulated: self.threshold }
    }

    /// The rows of each part under this seed.
    pub fn parts(&self, seed: u64) -> Parts {
        let mut training = self.drawn.clone();
        shuffle(&mut training, &mut Fast::open(&format!("{}|{seed}", self.key), Purpose::Subset));
        let mut take = |count| training.split_off(training.len() - count);
        let validation = take(self.counts.0);
        let test = if self.extremes.is_empty() { take(self.counts.1) } else { self.extremes.clone() };
        Parts { training, validation, test }
    }
}

impl<R: Real> Task<R> for TableTask {
    fn name(&self) -> &'static str {
        "table"
    }

    fn key(&self) -> String {
        self.key.clone()
    }

    fn shape(&self) -> Shape {
        Shape { inputs: self.inputs.len(), outputs: 1 }
    }

    fn thresholds(&self) -> Thresholds {
        self.thresholds()
    }

    fn open(&self, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error> {
        if stream == Stream::Reference {
            return Err(Error::Unsupported {
                what: "a table of your own".into(),
                when: "with reference streams".into(),
                instead: "use the fast streams".into(),
            });
        }
        let names = self.inputs.iter().chain([&self.target]);
        let width = self.inputs.len() + 1;
        let mut numbers = vec![R::ZERO; width * self.table.rows()];
        for (k, name) in names.enumerate() {
            for (row, &x) in numbers.chunks_exact_mut(width).zip(self.table.column(name)?) {
                row[k] = R::of(x);
                Table::fits::<R>(x, name)?;
            }
        }
        let parts = self.parts(seed);
        Ok(Box::new(TableSamples {
            numbers,
            width,
            // The first batch begins an epoch.
            done: parts.training.len(),
            parts,
            rng: Fast::open(&format!("{}|{seed}", self.key), Purpose::Data),
        }))
    }

    fn evaluation_rows(&self) -> Option<(usize, usize)> {
        Some((self.counts.0, self.counts.1 + self.extremes.len()))
    }
}

struct TableSamples<R> {
    /// Row-major: inputs, then the target.
    numbers: Vec<R>,
    width: usize,
    parts: Parts,
    /// Training rows of this epoch that were given.
    done: usize,
    rng: Fast,
}

impl<R: Real> Samples<R> for TableSamples<R> {
    fn train(&mut self, batch: &mut Batch<R>) {
        let Self { numbers, width, parts: Parts { training, .. }, done, rng } = self;
        fill(batch, numbers, *width, |_| {
            if *done == training.len() {
                shuffle(training, rng);
                *done = 0;
            }
            *done += 1;
            training[*done - 1]
        });
    }

    // Batches larger than the set have its rows again and again.
    fn validation(&mut self, batch: &mut Batch<R>) {
        let rows = &self.parts.validation;
        fill(batch, &self.numbers, self.width, |k| rows[k % rows.len()]);
    }

    fn test(&mut self, batch: &mut Batch<R>) {
        let rows = &self.parts.test;
        fill(batch, &self.numbers, self.width, |k| rows[k % rows.len()]);
    }
}

/// Fills a batch with the rows that `pick` names.
fn fill<R: Real>(batch: &mut Batch<R>, numbers: &[R], width: usize, mut pick: impl FnMut(usize) -> usize) {
    let Batch { x, t, at } = batch;
    for k in 0..at.rows {
        let row = &numbers[pick(k) * width..][..width];
        for (i, &value) in row[..width - 1].iter().enumerate() {
            *at.row_mut(at.feature_mut(x, i), k) = value;
        }
        *at.row_mut(t, k) = row[width - 1];
    }
    at.pad(x);
    at.pad(t);
}

/// Fisher and Yates.
fn shuffle(rows: &mut [usize], rng: &mut Fast) {
    for k in (1..rows.len()).rev() {
        rows.swap(k, rng.below(k as u32 + 1) as usize);
    }
}

/// The mean squared distance from the mean.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n
}

/// The rows between, and about `count` rows with the lowest and highest values; rows of equal value stay together.
fn extremes(values: &[f64], count: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let same = |k: usize| values[order[k - 1]] == values[order[k]];
    let mut low = count / 2;
    while low > 0 && low < order.len() && same(low) {
        low += 1;
    }
    let mut high = order.len() - (count - count / 2);
    while high > 0 && high < order.len() && same(high) {
        high -= 1;
    }
    let mut rest = order[low.min(high)..high].to_vec();
    let mut extremes: Vec<usize> = order[..low.min(high)].iter().chain(&order[high..]).copied().collect();
    rest.sort_unstable();
    extremes.sort_unstable();
    (rest, extremes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows between, and rows at the ends, counted by hand.
    #[test]
    fn extremes_of_few_rows() {
        let of = |values: &[f64], count| extremes(values, count);
        assert_eq!(of(&[5.0, 1.0, 4.0, 2.0, 3.0], 2), (vec![2, 3, 4], vec![0, 1]));
        assert_eq!(of(&[5.0, 1.0, 4.0, 2.0, 3.0], 3), (vec![3, 4], vec![0, 1, 2]));
        assert_eq!(of(&[5.0, 1.0, 4.0, 2.0, 3.0], 0), (vec![0, 1, 2, 3, 4], vec![]));
        // Rows of equal value go together, at either end.
        assert_eq!(of(&[1.0, 1.0, 1.0, 2.0, 3.0, 4.0], 2), (vec![3, 4], vec![0, 1, 2, 5]));
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 4.0, 4.0], 2), (vec![1, 2], vec![0, 3, 4, 5]));
        assert_eq!(of(&[1.0, 2.0, 2.0, 2.0], 2), (vec![], vec![0, 1, 2, 3]));
        assert_eq!(of(&[7.0; 5], 2), (vec![], vec![0, 1, 2, 3, 4]));
        assert_eq!(of(&[7.0; 5], 1), (vec![], vec![0, 1, 2, 3, 4]));
        assert_eq!(of(&[7.0; 5], 5), (vec![], vec![0, 1, 2, 3, 4]));
    }
}

//! How a batch lies in memory: feature after feature, sixteen rows to a lane.

pub(crate) mod transpose;

use crate::lane::{InstructionSet, LANES, Lane};
use crate::{Error, Real};

/// The number of rows in a batch and the instruction set that works on it.
///
/// A tensor of `f` features is a slice of `f * lanes()` lanes: `[feature][row / 16][row % 16]`. Rows beyond
/// [`BatchLayout::rows`] in the last lane are padding: they hold ordinary numbers, and no result depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchLayout {
    /// Rows that count.
    pub rows: usize,
    /// The instruction set to use.
    pub instructions: InstructionSet,
}

impl BatchLayout {
    /// A layout for `rows` rows with the fastest instructions of this machine.
    pub fn new(rows: usize) -> Result<Self, Error> {
        Self::on(InstructionSet::best(), rows)
    }

    /// A layout for `rows` rows with given instructions.
    pub fn on(instructions: InstructionSet, rows: usize) -> Result<Self, Error> {
        Error::check(rows > 0, "number of rows in a batch", 0.0, "at least 1")?;
        Error::check(rows < 1 << 31, "number of rows in a batch", rows as f64, "below 2^31")?;
        Ok(Self { rows, instructions })
    }

    /// Lanes per feature.
    #[inline(always)]
    pub fn lanes(self) -> usize {
        self.rows.div_ceil(LANES)
    }

    /// One row of one feature.
    #[inline(always)]
    pub fn row<R>(self, feature: &[Lane<R>], row: usize) -> &R {
        &feature[row / LANES].0[row % LANES]
    }

    /// One row of one feature, to write to.
    #[inline(always)]
    pub fn row_mut<R>(self, feature: &mut [Lane<R>], row: usize) -> &mut R {
        &mut feature[row / LANES].0[row % LANES]
    }

    /// The lanes of feature `index`.
    #[inline(always)]
    pub fn feature<R>(self, tensor: &[Lane<R>], index: usize) -> &[Lane<R>] {
        &tensor[index * self.lanes()..][..self.lanes()]
    }

    /// The lanes of feature `index`, to write to.
    #[inline(always)]
    pub fn feature_mut<R>(self, tensor: &mut [Lane<R>], index: usize) -> &mut [Lane<R>] {
        let lanes = self.lanes();
        &mut tensor[index * lanes..][..lanes]
    }

    /// Copies the last row into the padding, so that the padding is as well-behaved as the data.
    pub fn pad<R: Copy>(self, tensor: &mut [Lane<R>]) {
        let used = self.rows % LANES;
        if used > 0 {
            for last in tensor.iter_mut().skip(self.lanes() - 1).step_by(self.lanes()) {
                let value = last.0[used - 1];
                last.0[used..].fill(value);
            }
        }
    }

    /// Writes 0 into the padding, so that nothing which is added up over rows sees it.
    #[inline(always)]
    pub(crate) fn clear_padding<R: Real>(self, tensor: &mut [Lane<R>]) {
        let used = self.rows % LANES;
        if used > 0 {
            for last in tensor.iter_mut().skip(self.lanes() - 1).step_by(self.lanes()) {
                last.0[used..].fill(R::ZERO);
            }
        }
    }

    /// How many rows of lane `index` count.
    #[inline(always)]
    pub fn rows_in(self, index: usize) -> usize {
        self.rows.saturating_sub(index * LANES).min(LANES)
    }
}

/// Inputs and targets.
#[derive(Clone, Debug)]
pub struct Batch<R> {
    /// Inputs, `[feature][lane]`.
    pub x: Vec<Lane<R>>,
    /// Targets, `[output][lane]`.
    pub t: Vec<Lane<R>>,
    /// Number of rows and vector instructions.
    pub at: BatchLayout,
}

impl<R: Real> Batch<R> {
    /// An empty batch of zeros.
    pub fn zeros(inputs: usize, outputs: usize, at: BatchLayout) -> Self {
        let lanes = at.lanes();
        Self { x: vec![Lane::ZERO; inputs * lanes], t: vec![Lane::ZERO; outputs * lanes], at }
    }

    /// Inputs and targets of so many rows, given row by row.
    ///
    /// ```
    /// let batch = nalm::Batch::from_rows(3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2.0, 12.0, 30.0])?;
    /// assert_eq!((batch.at.rows, batch.x[1][2]), (3, 6.0)); // the second feature of the third row
    /// # Ok::<(), nalm::Error>(())
    /// ```
    pub fn from_rows(rows: usize, inputs: &[R], targets: &[R]) -> Result<Self, Error> {
        let at = BatchLayout::new(rows)?;
        Ok(Self { x: to_lanes(inputs, at)?, t: to_lanes(targets, at)?, at })
    }
}

/// Turns row-major numbers into lanes. The padding holds copies of the last row: right for inputs and targets, not for gradients, which
/// [`Network::backward_rows`](crate::Network::backward_rows) takes as rows.
pub fn to_lanes<R: Real>(rows: &[R], at: BatchLayout) -> Result<Vec<Lane<R>>, Error> {
    if !rows.len().is_multiple_of(at.rows) {
        let what = format!("numbers for {} rows of equal length", at.rows);
        return Err(Error::Shape { what, got: rows.len(), want: rows.len().next_multiple_of(at.rows) });
    }
    let mut tensor = vec![Lane::ZERO; rows.len() / at.rows * at.lanes()];
    transpose::into_lanes(rows, &mut tensor, at);
    Ok(tensor)
}

/// Turns lanes into row-major numbers.
pub fn from_lanes<R: Real>(tensor: &[Lane<R>], at: BatchLayout) -> Vec<R> {
    let mut rows = vec![R::ZERO; tensor.len() / at.lanes() * at.rows];
    transpose::from_lanes(tensor, &mut rows, at);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_round_trip_and_padding_copies_the_last_row() {
        let rows: Vec<f64> = (0..3 * 21).map(f64::from).collect();
        let at = BatchLayout::new(21).unwrap();
        let lanes = to_lanes(&rows, at).unwrap();
        assert_eq!(lanes.len(), 3 * 2);
        assert_eq!(from_lanes(&lanes, at), rows);
        assert_eq!(at.feature(&lanes, 1)[1][15], rows[20 * 3 + 1]);
    }

    #[test]
    fn an_empty_batch_is_refused() {
        assert!(BatchLayout::new(0).unwrap_err().to_string().contains("rows"));
        assert!(to_lanes(&[0.0; 31], BatchLayout::new(16).unwrap()).unwrap_err().to_string().contains("got 31"));
    }
}

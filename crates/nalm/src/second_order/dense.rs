//! Dense symmetric matrices: what the normal equations need of linear algebra, and no more.
//!
//! A matrix is stored by rows of whole lanes, of which only the upper triangle counts. Adding up the normal equations and
//! factorising them are one and the same operation, M ± Pᵀ P for a few rows P, so there is one kernel. Like everything over lanes
//! it gives the same bits on every instruction set, which a library that fuses or blocks by the machine cannot.

use crate::lane::{self, InstructionSet, Kernel, LANES, Lane};

/// Rows of a panel of the factorisation.
pub(super) const PANEL: usize = LANES;

/// A symmetric matrix.
#[derive(Clone, Debug)]
pub(super) struct Symmetric {
    /// Rows and columns that count.
    size: usize,
    /// Lanes in a row.
    lanes: usize,
    cells: Vec<Lane<f64>>,
}

impl Symmetric {
    pub(super) fn zeros(size: usize) -> Self {
        let lanes = size.div_ceil(LANES);
        // Whole panels, so that kernels need no ragged end.
        Self { size, lanes, cells: vec![Lane::ZERO; lanes * lanes * LANES] }
    }

    /// Lanes in a row.
    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }

    pub(super) fn clear(&mut self) {
        self.cells.fill(Lane::ZERO);
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.cells.copy_from_slice(&other.cells);
    }

    /// The cell in row `i` and column `j >= i`.
    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.cells[i * self.lanes + j / LANES][j % LANES]
    }

    pub(super) fn add_to_diagonal(&mut self, i: usize, value: f64) {
        self.cells[i * self.lanes + i / LANES][i % LANES] += value;
    }

    /// Adds Pᵀ P, where `rows` are the rows of P, each as long as one of the matrix.
    pub(super) fn add_squares(&mut self, rows: &[Lane<f64>], instructions: InstructionSet) {
        lane::run(instructions, RankUpdate { rows, from: 0, sign: 1.0, lanes: self.lanes, cells: &mut self.cells });
    }

    /// Cholesky's factor U with Uᵀ U = M, in place of M. False, with the contents spoilt, if M is not safely positive definite.
    pub(super) fn factorise(&mut self, instructions: InstructionSet) -> bool {
        let Self { size, lanes, ref mut cells } = *self;
        for first in (0..size).step_by(PANEL) {
            let end = (first + PANEL).min(size);
            let (done, below) = cells.split_at_mut((first + PANEL) * lanes);
            let panel = &mut done[first * lanes..];
            if !lane::run(instructions, Panel { first, end, lanes, rows: panel }) {
                return false;
            }
            let rows = &panel[..(end - first) * lanes];
            lane::run(instructions, RankUpdate { rows, from: first / LANES + 1, sign: -1.0, lanes, cells: below });
        }
        true
    }

    /// Replaces `b` by the solution of Uᵀ U x = b, where this is U.
    pub(super) fn solve(&self, b: &mut [f64]) {
        for i in 0..self.size {
            let row = lane::flat(&self.cells[i * self.lanes..][..self.lanes]);
            let value = b[i] / row[i];
            b[i] = value;
            for (b, &u) in b[i + 1..].iter_mut().zip(&row[i + 1..]) {
                *b -= u * value;
            }
        }
        for i in (0..self.size).rev() {
            let row = lane::flat(&self.cells[i * self.lanes..][..self.lanes]);
            let sum: f64 = b[i + 1..].iter().zip(&row[i + 1..]).map(|(&b, &u)| b * u).sum();
            b[i] = (b[i] - sum) / row[i];
        }
    }
}

/// M ± Pᵀ P for the lanes and rows of M from lane `from` on; `cells` starts with row `from * LANES`.
struct RankUpdate<'a> {
    rows: &'a [Lane<f64>],
    from: usize,
    sign: f64,
    lanes: usize,
    cells: &'a mut [Lane<f64>],
}

/// Rows of the matrix that share the loads of a lane.
const TILE: usize = 4;

impl Kernel for RankUpdate<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { rows, from, sign, lanes, cells } = self;
        for (k, four) in cells.chunks_exact_mut(TILE * lanes).enumerate() {
            let (block, within) = (from + k * TILE / LANES, k * TILE % LANES);
            for b in block..lanes {
                let mut sums = [Lane::<f64>::ZERO; TILE];
                for row in rows.chunks_exact(lanes) {
                    let (right, left) = (row[b], &row[block].0[within..within + TILE]);
                    sums[0] += right * left[0];
                    sums[1] += right * left[1];
                    sums[2] += right * left[2];
                    sums[3] += right * left[3];
                }
                for (t, sum) in sums.into_iter().enumerate() {
                    four[t * lanes + b] += sum * sign;
                }
            }
        }
    }
}

/// The rows `first` to `end` of the factor, given what is left of the matrix there.
struct Panel<'a> {
    first: usize,
    end: usize,
    lanes: usize,
    rows: &'a mut [Lane<f64>],
}

impl Kernel for Panel<'_> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let Self { first, end, lanes, rows } = self;
        let block = first / LANES;
        for k in 0..end - first {
            let (row, below) = rows[k * lanes..].split_at_mut(lanes);
            let pivot = row[block][k];
            // Also refuses NaN.
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            let scale = 1.0 / pivot.sqrt();
            for lane in &mut row[block..] {
                *lane = *lane * scale;
            }
            for (i, below) in below.chunks_exact_mut(lanes).enumerate().take(end - first - k - 1) {
                let factor = row[block][k + 1 + i];
                for (below, &row) in below[block..].iter_mut().zip(&row[block..]) {
                    *below = *below - row * factor;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    fn rows(count: usize, size: usize) -> Vec<Lane<f64>> {
        let mut rng = Rng::fast("dense", Purpose::Data);
        let lanes = size.div_ceil(LANES);
        let mut rows = vec![Lane::ZERO; count * lanes];
        for row in rows.chunks_exact_mut(lanes) {
            lane::flat_mut(row)[..size].fill_with(|| rng.normal());
        }
        rows
    }

    #[test]
    fn squares_are_sums_of_products_on_every_path() {
        for size in [1, 5, 16, 37] {
            let rows = rows(41, size);
            let lanes = size.div_ceil(LANES);
            let matrices: Vec<Symmetric> = InstructionSet::available()
                .into_iter()
                .map(|instructions| {
                    let mut m = Symmetric::zeros(size);
                    m.add_squares(&rows, instructions);
                    m
                })
                .collect();
            for i in 0..size {
                for j in i..size {
                    let flat = |k: usize| &lane::flat(&rows[k * lanes..])[..size];
                    let want: f64 = (0..41).map(|k| flat(k)[i] * flat(k)[j]).sum();
                    assert!((matrices[0].at(i, j) - want).abs() < 1e-12 * 41.0, "{i} {j}");
                    assert!(matrices.iter().all(|m| m.at(i, j).to_bits() == matrices[0].at(i, j).to_bits()));
                }
            }
        }
    }

    #[test]
    fn factors_solve_and_have_the_same_bits_on_every_path() {
        for size in [1, 3, 16, 17, 64, 75] {
            let rows = rows(size + 20, size);
            let mut matrix = Symmetric::zeros(size);
            matrix.add_squares(&rows, InstructionSet::PORTABLE);
            let want: Vec<f64> = (0..size).map(|k| (k as f64 * 0.7).sin()).collect();
            let full = |i: usize, j: usize| matrix.at(i.min(j), i.max(j));
            let b: Vec<f64> = (0..size).map(|i| (0..size).map(|j| full(i, j) * want[j]).sum()).collect();
            let mut solutions = Vec::new();
            for instructions in InstructionSet::available() {
                let mut factor = matrix.clone();
                assert!(factor.factorise(instructions));
                let mut x = b.clone();
                factor.solve(&mut x);
                let worst = x.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-9, "{size}: {worst:e}");
                solutions.push(x.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
            }
            assert!(solutions.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        for bad in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
            let mut m = Symmetric::zeros(20);
            for i in 0..20 {
                m.add_to_diagonal(i, if i == 18 { bad } else { 2.0 });
            }
            assert!(!m.factorise(InstructionSet::best()), "{bad}");
        }
    }
}

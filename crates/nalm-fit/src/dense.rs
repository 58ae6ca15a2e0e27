//! Dense linear algebra in one fixed order of operations: least squares by Householder's reflections, Cholesky, Jacobi's eigenvalues.
//!
//! What takes most of the time is compiled for every instruction set (`Kernel`); nothing is fused, so the bits are the same with each.

use nalm::InstructionSet;
use nalm::lane::{Kernel, run};

/// The product of two vectors.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    run(InstructionSet::best(), Dot { a, b })
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Kernel for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        inline_dot(self.a, self.b)
    }
}

/// In eight strands, so that it is fast on every machine and the same on all.
#[inline(always)]
fn inline_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut strands = [0.0; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b[..a.len()].as_chunks::<8>();
    for (a, b) in a8.iter().zip(b8) {
        for k in 0..8 {
            strands[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    let [a, b, c, d, e, f, g, h] = strands;
    ((a + e) + (b + f)) + ((c + g) + (d + h)) + rest
}

pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The root of the mean square of numbers of any size: scaled by a power of two, no square overflows or vanishes, and no bit is lost.
pub(crate) fn root_mean_square(numbers: &[f64]) -> f64 {
    let scale = power_of_two(numbers);
    let squares: f64 = numbers.iter().map(|x| (x / scale) * (x / scale)).sum();
    (squares / numbers.len().max(1) as f64).sqrt() * scale
}

/// The standard deviation of numbers of any size.
pub(crate) fn deviation(numbers: &[f64]) -> f64 {
    let scale = power_of_two(numbers);
    let mean = numbers.iter().map(|x| x / scale).sum::<f64>() / numbers.len() as f64;
    let apart: Vec<f64> = numbers.iter().map(|x| x / scale - mean).collect();
    root_mean_square(&apart) * scale
}

/// The power of two at or below the largest size among numbers; 1 if all are 0 or one is infinite.
pub(crate) fn power_of_two(numbers: &[f64]) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    let largest = numbers.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return 1.0;
    }
    f64::from_bits(largest.to_bits() & EXPONENT).max(f64::MIN_POSITIVE)
}

/// `to += factor * from`
#[inline(always)]
pub(crate) fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    if numbers.is_empty() {
        return f64::NAN;
    }
    let middle = numbers.len() / 2;
    let (below, value, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let value = *value;
    if below.len() == middle && middle > 0 && (below.len() * 2) == numbers.len() {
        let lower = numbers[..middle].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        return 0.5 * (lower + value);
    }
    value
}

/// The number below which this share of all lies.
pub(crate) fn quantile(mut v: Vec<f64>, share: f64) -> f64 {
    if v.is_empty() {
        return f64::NAN;
    }
    let place = ((v.len() - 1) as f64 * share) as usize;
    *v.select_nth_unstable_by(place, f64::total_cmp).1
}

/// A matrix by columns.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    cells: Vec<f64>,
}

impl Matrix {
    pub(crate) fn new(rows: usize) -> Self {
        Self { rows, cells: Vec::new() }
    }

    #[cfg(test)]
    fn of(columns: &[Vec<f64>]) -> Self {
        Self { rows: columns.first().map_or(0, Vec::len), cells: columns.concat() }
    }

    pub(crate) fn columns(&self) -> usize {
        self.cells.len().checked_div(self.rows).unwrap_or(0)
    }

    pub(crate) fn column(&self, j: usize) -> &[f64] {
        &self.cells[j * self.rows..][..self.rows]
    }

    pub(crate) fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.cells[j * self.rows..][..self.rows]
    }

    pub(crate) fn push(&mut self, column: impl IntoIterator<Item = f64>) {
        self.cells.extend(column);
        debug_assert_eq!(self.cells.len() % self.rows.max(1), 0);
    }

    pub(crate) fn pick(&self, columns: &[usize]) -> Self {
        Self { rows: self.rows, cells: columns.iter().flat_map(|&j| self.column(j)).copied().collect() }
    }

    /// Divides every column by its norm, and returns the norms.
    pub(crate) fn normalise(&mut self) -> Vec<f64> {
        (0..self.columns())
            .map(|j| {
                let (mut length, mut scale) = (norm(self.column(j)), 1.0);
                // Squares that overflow or vanish leave no norm.
                if !(1e-140..1e140).contains(&length) {
                    scale = power_of_two(self.column(j));
                    self.column_mut(j).iter_mut().for_each(|x| *x /= scale);
                    length = norm(self.column(j));
                }
                let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
                self.column_mut(j).iter_mut().for_each(|x| *x /= length);
                length * scale
            })
            .collect()
    }

    pub(crate) fn times(&self, c: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.rows];
        for (j, &c) in c.iter().enumerate() {
            if c != 0.0 {
                add(&mut sum, c, self.column(j));
            }
        }
        sum
    }

    pub(crate) fn transposed_times(&self, y: &[f64]) -> Vec<f64> {
        (0..self.columns()).map(|j| dot(self.column(j), y)).collect()
    }

    /// All products of two columns, for many of them.
    pub(crate) fn gram_tiled(&self) -> Vec<Vec<f64>> {
        run(InstructionSet::best(), TiledGram(self))
    }

    /// All products of two columns, for few of them.
    pub(crate) fn gram(&self) -> Vec<Vec<f64>> {
        run(InstructionSet::best(), Gram(self))
    }
}

struct Gram<'a>(&'a Matrix);

impl Kernel for Gram<'_> {
    type Output = Vec<Vec<f64>>;

    #[inline(always)]
    fn run(self) -> Vec<Vec<f64>> {
        let n = self.0.columns();
        let mut gram = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in i..n {
                let product = inline_dot(self.0.column(i), self.0.column(j));
                gram[i][j] = product;
                gram[j][i] = product;
            }
        }
        gram
    }
}

struct TiledGram<'a>(&'a Matrix);

impl Kernel for TiledGram<'_> {
    type Output = Vec<Vec<f64>>;

    /// Each product is summed row by row, in tiles that stay in registers.
    #[inline(always)]
    fn run(self) -> Vec<Vec<f64>> {
        const HIGH: usize = 4;
        const WIDE: usize = 8;
        let n = self.0.columns();
        let width = n.div_ceil(WIDE) * WIDE;
        let mut by_rows = vec![0.0; width * self.0.rows];
        for j in 0..n {
            for (k, &x) in self.0.column(j).iter().enumerate() {
                by_rows[k * width + j] = x;
            }
        }
        let mut gram = vec![vec![0.0; n]; n];
        for i in (0..n).step_by(HIGH) {
            for j in (i / WIDE * WIDE..n).step_by(WIDE) {
                let mut sums = [[0.0; WIDE]; HIGH];
                for row in by_rows.chunks_exact(width) {
                    let (a, b) = (&row[i..i + HIGH], &row[j..j + WIDE]);
                    for s in 0..HIGH {
                        for t in 0..WIDE {
                            sums[s][t] += a[s] * b[t];
                        }
                    }
                }
                for (di, sums) in sums.iter().enumerate().take(n - i) {
                    for (dj, &sum) in sums.iter().enumerate().take(n - j) {
                        gram[i + di][j + dj] = sum;
                        gram[j + dj][i + di] = sum;
                    }
                }
            }
        }
        gram
    }
}

/// Householder's factorisation, column by column in the given order. A column that depends on those before it takes no part.
#[derive(Clone, Debug)]
pub(crate) struct Qr {
    /// Reflections below, R on and above the steps.
    cells: Matrix,
    /// Which column each reflection came from, and its factor.
    steps: Vec<(usize, f64)>,
    /// The norm of what each column has beyond those before it.
    pub(crate) beyond: Vec<f64>,
}

impl Qr {
    /// `least` is the share of a column's norm that must be its own.
    pub(crate) fn new(cells: Matrix, least: f64) -> Self {
        run(InstructionSet::best(), Householder { cells, least })
    }
}

struct Householder {
    cells: Matrix,
    least: f64,
}

impl Kernel for Householder {
    type Output = Qr;

    #[inline(always)]
    fn run(self) -> Qr {
        let Self { cells, least } = self;
        let inline_norm = |a: &[f64]| inline_dot(a, a).sqrt();
        let mut qr = Qr { beyond: Vec::with_capacity(cells.columns()), cells, steps: Vec::new() };
        for j in 0..qr.cells.columns() {
            let rank = qr.steps.len();
            let before = inline_norm(qr.cells.column(j));
            for (k, &(pivot, beta)) in qr.steps.iter().enumerate() {
                let (done, now) = qr.cells.cells.split_at_mut(j * qr.cells.rows);
                let v = &done[pivot * qr.cells.rows..][..qr.cells.rows];
                reflect(&v[k..], beta, &mut now[k..qr.cells.rows]);
            }
            if rank >= qr.cells.rows {
                qr.beyond.push(0.0);
                continue;
            }
            let own = inline_norm(&qr.cells.column(j)[rank..]);
            qr.beyond.push(own);
            // Also refuses NaN.
            if !(own > least * before && own > 0.0) {
                continue;
            }
            // v = a ± |a| e stands in the column from here on, and R's diagonal in `beyond`.
            let column = qr.cells.column_mut(j);
            let head = column[rank];
            let alpha = if head > 0.0 { -own } else { own };
            let v0 = head - alpha;
            column[rank] = v0;
            let beta = -1.0 / (alpha * v0);
            qr.steps.push((j, beta));
            qr.beyond[j] = own.copysign(alpha);
        }
        qr
    }
}

impl Qr {
    pub(crate) fn rank(&self) -> usize {
        self.steps.len()
    }

    /// Q' b in place.
    fn rotate(&self, b: &mut [f64]) {
        for (k, &(pivot, beta)) in self.steps.iter().enumerate() {
            reflect(&self.cells.column(pivot)[k..], beta, &mut b[k..]);
        }
    }

    /// Takes away from `b` all that the columns explain.
    pub(crate) fn project_out(&self, b: &mut [f64]) {
        self.rotate(b);
        b[..self.rank()].fill(0.0);
        for (k, &(pivot, beta)) in self.steps.iter().enumerate().rev() {
            reflect(&self.cells.column(pivot)[k..], beta, &mut b[k..]);
        }
    }

    /// The least-squares coefficients; 0 for dependent columns.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut rotated = b.to_vec();
        self.rotate(&mut rotated);
        self.back(rotated)
    }

    fn back(&self, mut b: Vec<f64>) -> Vec<f64> {
        let mut c = vec![0.0; self.cells.columns()];
        for (k, &(pivot, _)) in self.steps.iter().enumerate().rev() {
            let value = b[k] / self.beyond[pivot];
            c[pivot] = value;
            let column = &self.cells.column(pivot)[..k];
            add(&mut b[..k], -value, column);
        }
        c
    }

    /// (A'A)^-1.
    pub(crate) fn inverse_gram(&self) -> Vec<Vec<f64>> {
        let n = self.cells.columns();
        let mut inverse = vec![vec![0.0; n]; n];
        for k in 0..self.rank() {
            let mut unit = vec![0.0; self.rank()];
            unit[k] = 1.0;
            let column = self.back(unit);
            for (row, &c) in inverse.iter_mut().zip(&column) {
                add(row, c, &column);
            }
        }
        inverse
    }

    /// For every column the root of its diagonal entry of (A'A)^-1: its standard error, up to that of the data.
    pub(crate) fn standard_errors(&self) -> Vec<f64> {
        let n = self.cells.columns();
        let mut squares = vec![0.0; n];
        for k in 0..self.rank() {
            let mut unit = vec![0.0; self.rank()];
            unit[k] = 1.0;
            for (square, c) in squares.iter_mut().zip(self.back(unit)) {
                *square += c * c;
            }
        }
        squares.into_iter().map(|s| if s > 0.0 { s.sqrt() } else { f64::INFINITY }).collect()
    }
}

#[inline(always)]
fn reflect(v: &[f64], beta: f64, b: &mut [f64]) {
    let product = -beta * inline_dot(v, b);
    add(b, product, v);
}

/// Coefficients and relative residual of t on columns of A.
pub(crate) fn least_squares(a: &Matrix, t: &[f64]) -> (Vec<f64>, f64) {
    let c = Qr::new(a.clone(), 1e-14).solve(t);
    let mut r = a.times(&c);
    r.iter_mut().zip(t).for_each(|(r, t)| *r = t - *r);
    (c, norm(&r) / norm(t).max(f64::MIN_POSITIVE))
}

/// Solves (H + damping) x = g for a symmetric H with ones on its diagonal.
pub(crate) fn solve_damped(h: &[Vec<f64>], damping: f64, g: &[f64]) -> Option<Vec<f64>> {
    let n = g.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = h[i][j] - dot(&l[i][..j], &l[j][..j]);
            if i == j {
                sum += damping;
                if !(sum > 0.0 && sum.is_finite()) {
                    return None;
                }
                l[i][i] = sum.sqrt();
            } else {
                l[i][j] = sum / l[j][j];
            }
        }
    }
    let mut x = g.to_vec();
    for i in 0..n {
        x[i] = (x[i] - dot(&l[i][..i], &x[..i])) / l[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
    Some(x)
}

/// Eigenvalues and eigenvectors of a symmetric matrix, the largest in absolute value first, by Jacobi's rotations.
pub(crate) fn eigen(mut a: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    let n = a.len();
    let mut v: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect();
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let all: f64 = (0..n).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-28 * all || !off.is_finite() {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[k][p], a[k][q]);
                    (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p][k], a[q][k]);
                    (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[k][p], v[k][q]);
                    (v[k][p], v[k][q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let mut pairs: Vec<_> = (0..n).map(|j| (a[j][j], v.iter().map(|row| row[j]).collect::<Vec<f64>>())).collect();
    pairs.sort_by(|x, y| y.0.abs().total_cmp(&x.0.abs()));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_come_back_and_dependent_columns_are_named() {
        let n = 30;
        let columns: Vec<Vec<f64>> =
            (0..4).map(|j| (0..n).map(|i| libm::cos((i * (j + 1)) as f64 * 0.37)).collect()).collect();
        let mut a = Matrix::of(&columns);
        let t: Vec<f64> = (0..n).map(|i| 2.0 * columns[0][i] - 3.0 * columns[2][i]).collect();
        a.push(t.clone());
        let qr = Qr::new(a, 1e-12);
        assert_eq!(qr.rank(), 4);
        assert!(qr.beyond[4].abs() < 1e-13);
        let (c, r) = least_squares(&Matrix::of(&columns), &t);
        assert!(r < 1e-15 && c.iter().zip([2.0, 0.0, -3.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-14), "{c:?} {r}");
        let mut rest = t.clone();
        Qr::new(Matrix::of(&columns), 1e-12).project_out(&mut rest);
        assert!(norm(&rest) < 1e-14 * norm(&t));
    }

    #[test]
    fn eigenvectors_are_eigenvectors() {
        let a: Vec<Vec<f64>> = (0..5).map(|i| (0..5).map(|j| libm::cos((i * j + i + j) as f64)).collect()).collect();
        let pairs = eigen(a.clone());
        for (value, vector) in &pairs {
            for i in 0..5 {
                assert!((dot(&a[i], vector) - value * vector[i]).abs() < 1e-12);
            }
        }
        assert!(pairs.windows(2).all(|w| w[0].0.abs() >= w[1].0.abs()));
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 3.0, 1.0, 2.0]), 2.5);
        assert_eq!(median(vec![7.0]), 7.0);
    }

    #[test]
    fn damped_systems_are_solved() {
        let h = vec![vec![1.0, 0.5], vec![0.5, 1.0]];
        let x = solve_damped(&h, 0.0, &[1.0, 2.0]).unwrap();
        assert!((x[0] - 0.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15);
        assert!(solve_damped(&[vec![1.0, 2.0], vec![2.0, 1.0]], 0.0, &[1.0, 1.0]).is_none());
    }
}

//! Products of matrices in a fixed order, so that their bits are the same with every instruction set.
//!
//! Terms are taken in blocks of [`TERMS`]; within a block they are summed one after the other by fused multiply-adds, which round the same everywhere,
//! and the sums of blocks are added in their order. Neither the size of a tile nor the place of an element in it plays a part.
//!
//! As everywhere, speed comes from a tile of sums that stays in registers. Both factors are first copied into strips, term by term, so that a tile
//! reads memory from front to back whatever the strides of the matrices are.

use crate::vector::{Kernel, LANES, Scalar, accumulate, run};
use nalm::lane::flat_mut;
use nalm::{InstructionSet, Lane};

/// Terms that are summed before their sum is added to what was there. A strip of so many stays in the nearest cache.
const TERMS: usize = 128;

/// Rows of the first factor that are copied at a time.
const ROWS: usize = 96;

/// A matrix in memory: `rows` x `columns` with these strides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl Shape {
    /// Row after row.
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same memory with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        let Self { rows, columns, row_stride, column_stride } = self;
        Self { rows: columns, columns: rows, row_stride: column_stride, column_stride: row_stride }
    }

    /// Numbers from the first to the last of the matrix.
    fn span(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride + 1
    }
}

/// Memory for strips, kept because asking the system for it anew costs more than using it.
#[derive(Clone, Debug)]
pub(crate) struct Strips<R> {
    /// Of rows: `[tile of rows][term][row]`.
    rows: Vec<R>,
    /// Of columns: `[term][column]`.
    columns: Vec<Lane<R>>,
}

impl<R: Scalar> Strips<R> {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new(), columns: Vec::new() }
    }
}

/// to = a b, on one thread.
pub(crate) fn product<R: Scalar>(
    set: InstructionSet,
    strips: &mut Strips<R>,
    to: &mut [R],
    at: Shape,
    a: &[R],
    a_at: Shape,
    b: &[R],
    b_at: Shape,
) {
    assert!(a_at.rows == at.rows && b_at.columns == at.columns && a_at.columns == b_at.rows, "shapes fit");
    assert!(to.len() >= at.span() && a.len() >= a_at.span() && b.len() >= b_at.span(), "matrices lie in their slices");
    if a_at.columns == 0 {
        // Sums of nothing.
        for i in 0..at.rows {
            (0..at.columns).for_each(|j| to[i * at.row_stride + j * at.column_stride] = R::ZERO);
        }
        return;
    }
    run(set, Product { strips, to, at, a, a_at, b, b_at });
}

struct Product<'a, R> {
    strips: &'a mut Strips<R>,
    to: &'a mut [R],
    at: Shape,
    a: &'a [R],
    a_at: Shape,
    b: &'a [R],
    b_at: Shape,
}

impl<R: Scalar> Kernel for Product<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const TALL: usize, const VECTORS: usize>(self) {
        let Self { strips, to, at, a, a_at, b, b_at } = self;
        strips.rows.resize(TERMS * ROWS.next_multiple_of(TALL), R::ZERO);
        strips.columns.resize(TERMS * VECTORS, Lane::ZERO);
        for k in (0..a_at.columns).step_by(TERMS) {
            let terms = TERMS.min(a_at.columns - k);
            for row in (0..at.rows).step_by(ROWS) {
                let rows = ROWS.min(at.rows - row);
                let tiles = strips.rows.chunks_exact_mut(TERMS * TALL);
                for (tile, strip) in (0..rows).step_by(TALL).zip(tiles) {
                    let lines =
                        Lines { line: a_at.row_stride, term: a_at.column_stride, count: TALL.min(rows - tile), terms };
                    lines.copy(&a[(row + tile) * a_at.row_stride + k * a_at.column_stride..], strip, TALL);
                }
                for column in (0..at.columns).step_by(VECTORS * LANES) {
                    let count = (VECTORS * LANES).min(at.columns - column);
                    let lines = Lines { line: b_at.column_stride, term: b_at.row_stride, count, terms };
                    lines.copy(
                        &b[k * b_at.row_stride + column * b_at.column_stride..],
                        flat_mut(&mut strips.columns),
                        VECTORS * LANES,
                    );
                    let tiles = strips.rows.chunks_exact(TERMS * TALL);
                    for (tile, strip) in (0..rows).step_by(TALL).zip(tiles) {
                        let sums = tile_sums::<R, FMA, TALL, VECTORS>(
                            &strip[..terms * TALL],
                            &strips.columns[..terms * VECTORS],
                        );
                        for (i, sums) in sums.iter().take(rows - tile).enumerate() {
                            let to = &mut to[(row + tile + i) * at.row_stride + column * at.column_stride..];
                            put(to, at.column_stride, sums, count, k == 0);
                        }
                    }
                }
            }
        }
    }
}

/// Lines of a matrix (rows of the first factor, columns of the second), to be copied term by term.
struct Lines {
    /// From line to line.
    line: usize,
    /// From term to term.
    term: usize,
    count: usize,
    terms: usize,
}

impl Lines {
    /// Writes `[term][line]`, with zeros for lines that are missing to the width.
    #[inline(always)]
    fn copy<R: Scalar>(&self, from: &[R], strip: &mut [R], width: usize) {
        let Self { line, term, count, terms } = *self;
        let mut turned = 0;
        if line == 1 {
            for (k, to) in strip.chunks_exact_mut(width).take(terms).enumerate() {
                to[..count].copy_from_slice(&from[k * term..][..count]);
            }
            turned = count;
        } else if term == 1 {
            // Four lines by four terms at a time.
            while turned + 4 <= count {
                let lines: [&[R]; 4] = std::array::from_fn(|k| &from[(turned + k) * line..][..terms]);
                let fours = lines.map(|line| line.as_chunks::<4>().0);
                let whole = strip.chunks_exact_mut(4 * width);
                for ((((to, a), b), c), d) in whole.zip(fours[0]).zip(fours[1]).zip(fours[2]).zip(fours[3]) {
                    for (to, turned_to) in to.chunks_exact_mut(width).zip(R::turn([a, b, c, d])) {
                        to[turned..turned + 4].copy_from_slice(&turned_to);
                    }
                }
                for k in terms / 4 * 4..terms {
                    for (to, line) in strip[k * width + turned..].iter_mut().zip(lines) {
                        *to = line[k];
                    }
                }
                turned += 4;
            }
        }
        for (k, to) in strip.chunks_exact_mut(width).take(terms).enumerate() {
            for i in turned..count {
                to[i] = from[i * line + k * term];
            }
            to[count..].fill(R::ZERO);
        }
    }
}

/// The sums of a tile over the terms of two strips.
#[inline(always)]
fn tile_sums<R: Scalar, const FMA: bool, const TALL: usize, const VECTORS: usize>(
    rows: &[R],
    columns: &[Lane<R>],
) -> [[Lane<R>; VECTORS]; TALL] {
    let mut sums = [[Lane::<R>::ZERO; VECTORS]; TALL];
    for (a, b) in rows.as_chunks::<TALL>().0.iter().zip(columns.as_chunks::<VECTORS>().0) {
        for i in 0..TALL {
            for v in 0..VECTORS {
                accumulate::<R, FMA>(&mut sums[i][v], a[i], &b[v]);
            }
        }
    }
    sums
}

/// Writes some sums of a row, or adds them to what is there.
#[inline(always)]
fn put<R: Scalar>(to: &mut [R], stride: usize, sums: &[Lane<R>], count: usize, first: bool) {
    for (v, sums) in sums.iter().enumerate() {
        let count = count.saturating_sub(v * LANES).min(LANES);
        if stride == 1 && count == LANES {
            let to: &mut [R; LANES] = to[v * LANES..].first_chunk_mut().expect("a whole lane");
            for (to, &sum) in to.iter_mut().zip(&sums.0) {
                *to = if first { sum } else { *to + sum };
            }
            continue;
        }
        for (j, &sum) in sums.0.iter().take(count).enumerate() {
            let to = &mut to[(v * LANES + j) * stride];
            *to = if first { sum } else { *to + sum };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, of which products and sums are exact in any order.
    fn numbers<R: Scalar>(count: usize, step: usize) -> Vec<R> {
        (0..count).map(|k| R::of(((k * step) % 11) as f64 - 5.0)).collect()
    }

    fn element<R: Scalar>(m: &[R], at: Shape, i: usize, j: usize) -> R {
        m[i * at.row_stride + j * at.column_stride]
    }

    /// Every way that three matrices can lie in memory. No slice has a number more than its matrix.
    fn layouts(rows: usize, inner: usize, columns: usize) -> impl Iterator<Item = [Shape; 3]> {
        let plain = [Shape::new(rows, columns), Shape::new(rows, inner), Shape::new(inner, columns)];
        let turned =
            [Shape::new(columns, rows), Shape::new(inner, rows), Shape::new(columns, inner)].map(Shape::transposed);
        (0..8).map(move |which| [0, 1, 2].map(|k| if which >> k & 1 == 0 { plain[k] } else { turned[k] }))
    }

    const SIZES: [(usize, usize, usize); 9] =
        [(1, 1, 1), (1, 7, 1), (3, 1, 2), (2, 3, 5), (5, 17, 4), (16, 4, 9), (17, 2, 33), (13, 130, 49), (98, 257, 17)];

    fn exact<R: Scalar>((rows, inner, columns): (usize, usize, usize)) {
        let (a, b) = (numbers::<R>(rows * inner, 7), numbers::<R>(inner * columns, 5));
        for [at, a_at, b_at] in layouts(rows, inner, columns) {
            for set in InstructionSet::available() {
                let mut to = vec![R::of(f64::NAN); rows * columns];
                product(set, &mut Strips::new(), &mut to, at, &a, a_at, &b, b_at);
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let terms = (0..inner).map(|k| element(&a, a_at, i, k) * element(&b, b_at, k, j));
                    let want = terms.fold(R::ZERO, |sum, term| sum + term);
                    let got = element(&to, at, i, j);
                    assert_eq!(got, want, "{i}, {j} of {rows} x {inner} x {columns}, {at:?} {}", set.name());
                }
            }
        }
    }

    #[test]
    fn products_of_matrices_that_fill_their_slices() {
        // Miri takes a thousand times as long.
        let sizes = if cfg!(miri) { &SIZES[..7] } else { &SIZES[..] };
        sizes.iter().copied().for_each(exact::<f32>);
        sizes.iter().copied().for_each(exact::<f64>);
    }

    /// The order that the file promises, whatever the tile, the memory and the instructions.
    #[test]
    fn every_instruction_set_gives_the_promised_bits() {
        for (rows, inner, columns) in SIZES {
            let a: Vec<f32> = (0..rows * inner).map(|k| (k as f32 * 0.7).sin()).collect();
            let b: Vec<f32> = (0..inner * columns).map(|k| (k as f32 * 1.3).cos()).collect();
            for [at, a_at, b_at] in layouts(rows, inner, columns) {
                for set in InstructionSet::available() {
                    let mut to = vec![f32::NAN; rows * columns];
                    product(set, &mut Strips::new(), &mut to, at, &a, a_at, &b, b_at);
                    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                        let term = |sum: f32, k: usize| element(&a, a_at, i, k).mul_add(element(&b, b_at, k, j), sum);
                        let block = |k: usize| (k..inner.min(k + TERMS)).fold(0.0, term);
                        let want = (0..inner).step_by(TERMS).map(block).reduce(|a, b| a + b);
                        let got = Some(element(&to, at, i, j));
                        assert_eq!(got, want, "{i}, {j} of {rows} x {inner} x {columns}, {}", set.name());
                    }
                }
            }
        }
    }

    /// Every second number of a row, and columns amid wider rows, as splines and gradients of dense layers have them.
    #[test]
    fn strides_that_leave_numbers_out() {
        let (rows, inner, columns) = (21, 131, 35);
        let at = Shape { rows, columns, row_stride: 2 * columns + 3, column_stride: 2 };
        let a_at = Shape { rows, columns: inner, row_stride: 2 * inner + 1, column_stride: 2 };
        let b_at = Shape { rows: inner, columns, row_stride: columns + 7, column_stride: 1 };
        let (a, b) = (numbers::<f32>(a_at.span(), 7), numbers::<f32>(b_at.span(), 5));
        for (b, b_at) in [(&b, b_at), (&a, Shape { rows: inner, columns, row_stride: 2, column_stride: 3 })] {
            for set in InstructionSet::available() {
                let mut to = vec![f32::NAN; at.span()];
                product(set, &mut Strips::new(), &mut to, at, &a, a_at, b, b_at);
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let want: f32 = (0..inner).map(|k| element(&a, a_at, i, k) * element(b, b_at, k, j)).sum();
                    assert_eq!(element(&to, at, i, j), want, "{i}, {j}, {}", set.name());
                }
                assert_eq!(
                    to.iter().filter(|x| x.is_nan()).count(),
                    to.len() - rows * columns,
                    "nothing else is written"
                );
            }
        }
    }

    #[test]
    fn a_sum_of_nothing_is_nothing() {
        let mut to = [7.0f32; 4];
        let at = Shape::new(2, 2);
        product(InstructionSet::best(), &mut Strips::new(), &mut to, at, &[], Shape::new(2, 0), &[], Shape::new(0, 2));
        assert_eq!(to, [0.0; 4]);
    }

    #[test]
    #[should_panic = "matrices lie in their slices"]
    fn a_matrix_beyond_its_slice_is_refused() {
        let at = Shape::new(2, 2);
        product(InstructionSet::best(), &mut Strips::new(), &mut [0f32; 4], at, &[1.0; 4], at, &[1.0; 3], at);
    }

    #[test]
    #[should_panic = "matrices lie in their slices"]
    fn a_product_beyond_its_slice_is_refused() {
        let at = Shape { row_stride: 3, ..Shape::new(2, 2) };
        product(
            InstructionSet::best(),
            &mut Strips::new(),
            &mut [0f32; 4],
            at,
            &[1.0; 4],
            Shape::new(2, 2),
            &[1.0; 4],
            Shape::new(2, 2),
        );
    }

    #[test]
    #[should_panic = "shapes fit"]
    fn matrices_that_do_not_fit_each_other_are_refused() {
        product(
            InstructionSet::best(),
            &mut Strips::new(),
            &mut [0f32; 4],
            Shape::new(2, 2),
            &[1.0; 6],
            Shape::new(2, 3),
            &[1.0; 4],
            Shape::new(2, 2),
        );
    }
}

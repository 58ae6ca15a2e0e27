//! Products of matrices in a fixed order, so that their bits are the same with every instruction set.
//!
//! Terms are taken in blocks of [`TERMS`]; within a block they are summed one after the other by fused multiply-adds, which round the same everywhere,
//! and the sums of blocks are added in their order. Neither the size of a tile nor the place of an element in it plays a part.
//!
//! As everywhere, speed comes from a tile of sums that stays in registers. Both factors are first copied into strips, term by term, so that a tile
//! reads memory from front to back whatever the strides of the matrices are.

use crate::vector::{Kernel, LANES, Scalar, accumulate, run, tile_lanes};
use nalm::lane::flat_mut;
use nalm::{InstructionSet, Lane};

/// Terms that are summed before their sum is added to what was there. A strip of so many stays in the nearest cache.
const TERMS: usize = 128;

/// Rows of the first factor that are copied at a time. Strips of so many stay in the second cache.
const ROWS: usize = 256;

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

/// A second factor whose strips are copied once for many products.
#[derive(Clone, Debug)]
pub(crate) struct Copied<R> {
    at: Shape,
    set: InstructionSet,
    /// `[block of terms][block of columns][term][column]`, with room for all terms of a block everywhere.
    strips: Vec<Lane<R>>,
}

/// Strips that are copied together.
const TOGETHER: usize = 16;

impl<R: Scalar> Copied<R> {
    /// Room for such a matrix.
    pub(crate) fn new(at: Shape, set: InstructionSet) -> Self {
        let lanes = strip_lanes::<R>(set, at.columns);
        let strips = at.rows.div_ceil(TERMS) * at.columns.div_ceil(lanes * LANES);
        Self { at, set, strips: vec![Lane::ZERO; strips * TERMS * lanes] }
    }

    /// The work of copying the matrix, in pieces that different threads can do.
    pub(crate) fn copying<'a>(&'a mut self, b: &'a [R]) -> impl Iterator<Item = Copying<'a, R>> {
        assert!(b.len() >= self.at.span(), "matrices lie in their slices");
        let (at, set) = (self.at, self.set);
        let len = TOGETHER * TERMS * strip_lanes::<R>(set, at.columns);
        let pieces = self.strips.chunks_mut(len).enumerate();
        pieces.map(move |(k, strips)| Copying { set, at, b, first: k * TOGETHER, strips })
    }
}

/// Lanes of a strip of columns: what a tile holds, if there are so many.
fn strip_lanes<R: Scalar>(set: InstructionSet, columns: usize) -> usize {
    if columns <= LANES { 1 } else { tile_lanes::<R>(set) }
}

/// Some strips of a matrix that are to be copied.
pub(crate) struct Copying<'a, R> {
    set: InstructionSet,
    at: Shape,
    b: &'a [R],
    first: usize,
    strips: &'a mut [Lane<R>],
}

impl<R: Scalar> Copying<'_, R> {
    pub(crate) fn copy(self) {
        run(self.set, self);
    }

    #[inline(always)]
    fn all<const VECTORS: usize>(self) {
        let Self { at, b, first, strips, .. } = self;
        let blocks = at.columns.div_ceil(VECTORS * LANES);
        for (k, strip) in strips.chunks_exact_mut(TERMS * VECTORS).enumerate() {
            let (term, column) = ((first + k) / blocks * TERMS, (first + k) % blocks * VECTORS * LANES);
            let terms = TERMS.min(at.rows - term);
            copy_columns::<R, VECTORS>(b, at, term, terms, column, strip);
        }
    }
}

impl<R: Scalar> Kernel for Copying<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const TALL: usize, const VECTORS: usize>(self) {
        if self.at.columns <= LANES { self.all::<1>() } else { self.all::<VECTORS>() }
    }
}

/// Copies some terms of the columns of a tile.
#[inline(always)]
fn copy_columns<R: Scalar, const VECTORS: usize>(
    b: &[R],
    at: Shape,
    term: usize,
    terms: usize,
    column: usize,
    strip: &mut [Lane<R>],
) {
    let count = (VECTORS * LANES).min(at.columns - column);
    let lines = Lines { line: at.column_stride, term: at.row_stride, count, terms };
    lines.copy(&b[term * at.row_stride + column * at.column_stride..], flat_mut(strip), VECTORS * LANES);
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
    assert!(b.len() >= b_at.span(), "matrices lie in their slices");
    multiply(set, strips, to, at, a, a_at, Second::Plain(b, b_at));
}

/// to = a b, on one thread.
pub(crate) fn product_with<R: Scalar>(
    strips: &mut Strips<R>,
    to: &mut [R],
    at: Shape,
    a: &[R],
    a_at: Shape,
    b: &Copied<R>,
) {
    multiply(b.set, strips, to, at, a, a_at, Second::Copied(b));
}

fn multiply<R: Scalar>(
    set: InstructionSet,
    strips: &mut Strips<R>,
    to: &mut [R],
    at: Shape,
    a: &[R],
    a_at: Shape,
    b: Second<'_, R>,
) {
    let b_at = match b {
        Second::Plain(_, at) => at,
        Second::Copied(b) => b.at,
    };
    assert!(a_at.rows == at.rows && b_at.columns == at.columns && a_at.columns == b_at.rows, "shapes fit");
    assert!(to.len() >= at.span() && a.len() >= a_at.span(), "matrices lie in their slices");
    if a_at.columns == 0 {
        // Sums of nothing.
        for i in 0..at.rows {
            (0..at.columns).for_each(|j| to[i * at.row_stride + j * at.column_stride] = R::ZERO);
        }
        return;
    }
    run(set, Product { strips, to, at, a, a_at, b });
}

/// The second factor of a product.
#[derive(Clone, Copy)]
enum Second<'a, R> {
    Plain(&'a [R], Shape),
    Copied(&'a Copied<R>),
}

struct Product<'a, R> {
    strips: &'a mut Strips<R>,
    to: &'a mut [R],
    at: Shape,
    a: &'a [R],
    a_at: Shape,
    b: Second<'a, R>,
}

impl<R: Scalar> Kernel for Product<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const TALL: usize, const VECTORS: usize>(self) {
        if self.at.columns <= LANES {
            self.compute::<FMA, TALL, 1>();
        } else {
            self.compute::<FMA, TALL, VECTORS>();
        }
    }
}

impl<R: Scalar> Product<'_, R> {
    #[inline(always)]
    fn compute<const FMA: bool, const TALL: usize, const VECTORS: usize>(self) {
        let Self { strips, to, at, a, a_at, b } = self;
        // The last tile may be higher than what is left of the rows.
        strips.rows.resize(TERMS * (ROWS.min(at.rows) + TALL), R::ZERO);
        strips.columns.resize(TERMS * VECTORS, Lane::ZERO);
        for k in (0..a_at.columns).step_by(TERMS) {
            let terms = TERMS.min(a_at.columns - k);
            for row in (0..at.rows).step_by(ROWS) {
                let rows = ROWS.min(at.rows - row);
                let mut tile = 0;
                while tile < rows {
                    let tall = height::<TALL>(rows - tile);
                    let count = tall.min(rows - tile);
                    let lines = Lines { line: a_at.row_stride, term: a_at.column_stride, count, terms };
                    let from = &a[(row + tile) * a_at.row_stride + k * a_at.column_stride..];
                    lines.copy(from, &mut strips.rows[tile * TERMS..], tall);
                    tile += tall;
                }
                let blocks = at.columns.div_ceil(VECTORS * LANES);
                for block in 0..blocks {
                    let column = block * VECTORS * LANES;
                    let count = (VECTORS * LANES).min(at.columns - column);
                    let columns = match b {
                        Second::Copied(b) => &b.strips[(k / TERMS * blocks + block) * TERMS * VECTORS..],
                        Second::Plain(b, b_at) => {
                            copy_columns::<R, VECTORS>(b, b_at, k, terms, column, &mut strips.columns);
                            &strips.columns[..]
                        }
                    };
                    let columns = &columns[..terms * VECTORS];
                    let mut tile = 0;
                    while tile < rows {
                        let strip = &strips.rows[tile * TERMS..];
                        let to = &mut to[(row + tile) * at.row_stride + column * at.column_stride..];
                        let to = Place { to, at, rows: rows - tile, columns: count, first: k == 0 };
                        tile += match height::<TALL>(rows - tile) {
                            12 if TALL >= 12 => to.fill::<FMA, 12, VECTORS>(strip, columns),
                            11 if TALL >= 12 => to.fill::<FMA, 11, VECTORS>(strip, columns),
                            8 if TALL >= 12 => to.fill::<FMA, 8, VECTORS>(strip, columns),
                            6 if TALL >= 6 => to.fill::<FMA, 6, VECTORS>(strip, columns),
                            5 if TALL >= 6 => to.fill::<FMA, 5, VECTORS>(strip, columns),
                            4 => to.fill::<FMA, 4, VECTORS>(strip, columns),
                            2 => to.fill::<FMA, 2, VECTORS>(strip, columns),
                            _ => to.fill::<FMA, 1, VECTORS>(strip, columns),
                        };
                    }
                }
            }
        }
    }
}

/// Rows of a tile such that what is left is cut into tiles of about equal height.
#[inline(always)]
fn height<const TALL: usize>(left: usize) -> usize {
    let about = left.div_ceil(left.div_ceil(TALL));
    match about {
        12.. => 12,
        9.. => 11.max(about),
        7.. => 8,
        3 => 4,
        _ => about,
    }
}

/// Where the sums of a tile go.
struct Place<'a, R> {
    to: &'a mut [R],
    at: Shape,
    rows: usize,
    columns: usize,
    /// Whether they are written, or added to what is there.
    first: bool,
}

impl<R: Scalar> Place<'_, R> {
    /// Returns the rows of the tile.
    #[inline(always)]
    fn fill<const FMA: bool, const TALL: usize, const VECTORS: usize>(self, rows: &[R], columns: &[Lane<R>]) -> usize {
        let sums = tile_sums::<R, FMA, TALL, VECTORS>(rows, columns);
        for (i, sums) in sums.iter().take(self.rows).enumerate() {
            let to = &mut self.to[i * self.at.row_stride..];
            put(to, self.at.column_stride, sums, self.columns, self.first);
        }
        TALL
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
                // A copy of known length is a few instructions, and of any other a call.
                if count == width {
                    to[..width].copy_from_slice(&from[k * term..][..width]);
                } else {
                    to[..count].copy_from_slice(&from[k * term..][..count]);
                }
            }
            if count == width {
                return;
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
            // One loop for both cases would go number by number.
            if first {
                *to = sums.0;
            } else {
                (0..LANES).for_each(|k| to[k] += sums[k]);
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
                let mut copied = Copied::new(b_at, set);
                copied.copying(&b).for_each(Copying::copy);
                let mut again = vec![R::of(f64::NAN); rows * columns];
                product_with(&mut Strips::new(), &mut again, at, &a, a_at, &copied);
                assert_eq!(to, again, "{rows} x {inner} x {columns}, {at:?} {}", set.name());
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

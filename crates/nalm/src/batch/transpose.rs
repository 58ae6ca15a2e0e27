//! Row-major numbers to lanes and back. Everybody but the authors of modules works with rows; this is the way in and out.
//!
//! Two or three features are taken apart with a stride that the compiler knows, more of them in blocks of four rows by four features
//! ([`Real::turn`]); both become shuffles of registers. What is moved one by one costs four times as much. The outer loop is over
//! features where there are many, because their lanes lie one after the other: with the loop over rows outside, each number costs three times as much.

use super::BatchLayout;
use crate::Real;
use crate::lane::{Kernel, LANES, Lane, flat, flat_mut, run};

/// Writes row-major numbers into lanes, and copies of the last row into the padding. Sizes must fit.
pub(crate) fn into_lanes<R: Real>(rows: &[R], lanes: &mut [Lane<R>], at: BatchLayout) {
    if rows.len() == at.rows {
        flat_mut(lanes)[..at.rows].copy_from_slice(rows);
        return at.pad(lanes);
    }
    run(at.instructions, IntoLanes { rows, lanes, at });
}

/// Writes the rows of lanes one after the other; the padding stays behind. Sizes must fit.
pub(crate) fn from_lanes<R: Real>(lanes: &[Lane<R>], rows: &mut [R], at: BatchLayout) {
    if rows.len() == at.rows {
        return rows.copy_from_slice(&flat(lanes)[..at.rows]);
    }
    run(at.instructions, FromLanes { lanes, rows, at });
}

struct IntoLanes<'a, R> {
    rows: &'a [R],
    lanes: &'a mut [Lane<R>],
    at: BatchLayout,
}

impl<R: Real> Kernel for IntoLanes<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;

    #[inline(always)]
    fn run(self) {
        let Self { rows, lanes: out, at } = self;
        let (lanes, features) = (at.lanes(), rows.len() / at.rows);
        let whole = at.rows / LANES;
        let (blocks, rest) = rows.split_at(whole * LANES * features);
        match features {
            0 => {}
            2 => into_few::<R, 2>(blocks, out, lanes),
            3 => into_few::<R, 3>(blocks, out, lanes),
            _ => into_many(blocks, features, out, lanes),
        }
        if whole < lanes {
            for i in 0..features {
                let mut lane = Lane::splat(rest[rest.len() - features + i]);
                for (to, row) in lane.0.iter_mut().zip(rest.chunks_exact(features)) {
                    *to = row[i];
                }
                out[i * lanes + whole] = lane;
            }
        }
    }
}

#[inline(always)]
fn into_few<R: Real, const FEATURES: usize>(rows: &[R], out: &mut [Lane<R>], lanes: usize) {
    for c in 0..rows.len() / (LANES * FEATURES) {
        let block = &rows[c * LANES * FEATURES..][..LANES * FEATURES];
        for i in 0..FEATURES {
            let mut lane = Lane::ZERO;
            for k in 0..LANES {
                lane.0[k] = block[k * FEATURES + i];
            }
            out[i * lanes + c] = lane;
        }
    }
}

#[inline(always)]
fn into_many<R: Real>(rows: &[R], features: usize, out: &mut [Lane<R>], lanes: usize) {
    for (j, out) in out.chunks_exact_mut(4 * lanes).take(features / 4).enumerate() {
        let ((first, second), (third, fourth)) = quarters_mut(out, lanes);
        let out = first.iter_mut().zip(second).zip(third.iter_mut().zip(fourth));
        for (((first, second), (third, fourth)), block) in out.zip(rows.chunks_exact(LANES * features)) {
            for (q, rows) in block.chunks_exact(4 * features).enumerate() {
                let ((a, b), (c, d)) = quarters(rows, features);
                let [a, b, c, d] = R::turn([a, b, c, d].map(|row| four(row, 4 * j)));
                *four_mut(&mut first.0, 4 * q) = a;
                *four_mut(&mut second.0, 4 * q) = b;
                *four_mut(&mut third.0, 4 * q) = c;
                *four_mut(&mut fourth.0, 4 * q) = d;
            }
        }
    }
    for i in features / 4 * 4..features {
        for (out, block) in out[i * lanes..].iter_mut().zip(rows.chunks_exact(LANES * features)) {
            for k in 0..LANES {
                out.0[k] = block[k * features + i];
            }
        }
    }
}

struct FromLanes<'a, R> {
    lanes: &'a [Lane<R>],
    rows: &'a mut [R],
    at: BatchLayout,
}

impl<R: Real> Kernel for FromLanes<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;

    #[inline(always)]
    fn run(self) {
        let Self { lanes: from, rows, at } = self;
        let (lanes, features) = (at.lanes(), rows.len() / at.rows);
        let whole = at.rows / LANES;
        let (blocks, rest) = rows.split_at_mut(whole * LANES * features);
        match features {
            0 => return,
            2 => from_two(from, blocks, lanes),
            3 => from_three(from, blocks, lanes),
            _ => from_many(from, features, blocks, lanes),
        }
        for (k, row) in rest.chunks_exact_mut(features).enumerate() {
            for (i, to) in row.iter_mut().enumerate() {
                *to = from[i * lanes + whole].0[k];
            }
        }
    }
}

#[inline(always)]
fn from_two<R: Real>(from: &[Lane<R>], rows: &mut [R], lanes: usize) {
    let (first, second) = from.split_at(lanes);
    for ((a, b), block) in first.iter().zip(second).zip(rows.as_chunks_mut::<{ 2 * LANES }>().0) {
        for q in 0..LANES / 4 {
            let [low, high] = R::weave(four(&a.0, 4 * q), four(&b.0, 4 * q));
            *four_mut(block, 8 * q) = low;
            *four_mut(block, 8 * q + 4) = high;
        }
    }
}

#[inline(always)]
fn from_three<R: Real>(from: &[Lane<R>], rows: &mut [R], lanes: usize) {
    for (c, block) in rows.as_chunks_mut::<3>().0.chunks_exact_mut(LANES).enumerate() {
        let own: [_; 3] = std::array::from_fn(|i| &from[i * lanes + c].0);
        for (k, row) in block.iter_mut().enumerate() {
            *row = own.map(|lane| lane[k]);
        }
    }
}

#[inline(always)]
fn from_many<R: Real>(from: &[Lane<R>], features: usize, rows: &mut [R], lanes: usize) {
    for (j, from) in from.chunks_exact(4 * lanes).take(features / 4).enumerate() {
        let ((first, second), (third, fourth)) = quarters(from, lanes);
        let from = first.iter().zip(second).zip(third.iter().zip(fourth));
        for (((first, second), (third, fourth)), block) in from.zip(rows.chunks_exact_mut(LANES * features)) {
            for (q, rows) in block.chunks_exact_mut(4 * features).enumerate() {
                let turned = R::turn([first, second, third, fourth].map(|lane| four(&lane.0, 4 * q)));
                let ((a, b), (c, d)) = quarters_mut(rows, features);
                for (row, turned) in [a, b, c, d].into_iter().zip(turned) {
                    *four_mut(row, 4 * j) = turned;
                }
            }
        }
    }
    for i in features / 4 * 4..features {
        for (from, block) in from[i * lanes..].iter().zip(rows.chunks_exact_mut(LANES * features)) {
            for k in 0..LANES {
                block[k * features + i] = from.0[k];
            }
        }
    }
}

pub(crate) type Quarters<T> = ((T, T), (T, T));

/// Four parts of this length.
#[inline(always)]
pub(crate) fn quarters<T>(all: &[T], length: usize) -> Quarters<&[T]> {
    let (first, last) = all.split_at(2 * length);
    (first.split_at(length), last.split_at(length))
}

#[inline(always)]
fn quarters_mut<T>(all: &mut [T], length: usize) -> Quarters<&mut [T]> {
    let (first, last) = all.split_at_mut(2 * length);
    (first.split_at_mut(length), last.split_at_mut(length))
}

/// Four numbers from here on.
#[inline(always)]
pub(crate) fn four<R>(numbers: &[R], from: usize) -> &[R; 4] {
    numbers[from..].first_chunk().expect("four numbers")
}

#[inline(always)]
fn four_mut<R>(numbers: &mut [R], from: usize) -> &mut [R; 4] {
    numbers[from..].first_chunk_mut().expect("four numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InstructionSet;

    fn law<R: Real>() {
        for instructions in InstructionSet::available() {
            for rows in 1..=50 {
                for features in [1, 2, 3, 4, 5, 7, 8, 19] {
                    let at = BatchLayout::on(instructions, rows).unwrap();
                    let numbers: Vec<R> = (0..rows * features).map(|k| R::of(k as f64)).collect();
                    let mut lanes = vec![Lane::splat(R::of(-1.0)); features * at.lanes()];
                    into_lanes(&numbers, &mut lanes, at);
                    for i in 0..features {
                        for row in 0..at.lanes() * LANES {
                            let (got, want) = (lanes[i * at.lanes() + row / LANES].0[row % LANES], row.min(rows - 1));
                            assert_eq!(
                                got,
                                numbers[want * features + i],
                                "row {row}, feature {i} of {rows} x {features}"
                            );
                        }
                    }
                    let mut back = vec![R::ZERO; numbers.len()];
                    from_lanes(&lanes, &mut back, at);
                    assert_eq!(back, numbers, "{rows} x {features}");
                }
            }
        }
    }

    #[test]
    fn every_number_is_in_its_place_and_padding_copies_the_last_row() {
        law::<f32>();
        law::<f64>();
    }
}

//! Row-major numbers to lanes and back. Everybody but the authors of modules works with rows; this is the way in and out.
//!
//! Up to four features are taken apart with a stride that the compiler knows, more of them in blocks of four rows by four features
//! ([`Real::turn`]); both become shuffles of registers. What is moved one by one costs four times as much.

use super::BatchLayout;
use crate::Real;
use crate::lane::{Kernel, LANES, Lane, flat, flat_mut, run};

/// Writes row-major numbers into lanes, and copies of the last row into the padding. Sizes must fit.
pub(crate) fn into_lanes<R: Real>(rows: &[R], lanes: &mut [Lane<R>], at: BatchLayout) {
    run(at.instructions, IntoLanes { rows, lanes, at });
}

/// Writes the rows of lanes one after the other; the padding stays behind. Sizes must fit.
pub(crate) fn from_lanes<R: Real>(lanes: &[Lane<R>], rows: &mut [R], at: BatchLayout) {
    run(at.instructions, FromLanes { lanes, rows, at });
}

struct IntoLanes<'a, R> {
    rows: &'a [R],
    lanes: &'a mut [Lane<R>],
    at: BatchLayout,
}

impl<R: Real> Kernel for IntoLanes<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rows, lanes: out, at } = self;
        let (lanes, features) = (at.lanes(), rows.len() / at.rows);
        let whole = at.rows / LANES;
        let (blocks, rest) = rows.split_at(whole * LANES * features);
        match features {
            0 => {}
            1 => flat_mut(out)[..blocks.len()].copy_from_slice(blocks),
            2 => into_few::<R, 2>(blocks, out, lanes),
            3 => into_few::<R, 3>(blocks, out, lanes),
            4 => into_few::<R, 4>(blocks, out, lanes),
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
    for (c, block) in rows.chunks_exact(LANES * features).enumerate() {
        let mut i = 0;
        while i + 4 <= features {
            for q in 0..LANES / 4 {
                let rows = [0, 1, 2, 3].map(|k| four(block, (4 * q + k) * features + i));
                for (a, column) in R::turn(rows).iter().enumerate() {
                    four_mut(&mut out[(i + a) * lanes + c].0, 4 * q).copy_from_slice(column);
                }
            }
            i += 4;
        }
        for i in i..features {
            for k in 0..LANES {
                out[i * lanes + c].0[k] = block[k * features + i];
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

    #[inline(always)]
    fn run(self) {
        let Self { lanes: from, rows, at } = self;
        let (lanes, features) = (at.lanes(), rows.len() / at.rows);
        let whole = at.rows / LANES;
        let (blocks, rest) = rows.split_at_mut(whole * LANES * features);
        match features {
            0 => return,
            1 => blocks.copy_from_slice(&flat(from)[..blocks.len()]),
            2 => from_few::<R, 2>(from, blocks, lanes),
            3 => from_few::<R, 3>(from, blocks, lanes),
            4 => from_few::<R, 4>(from, blocks, lanes),
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
fn from_few<R: Real, const FEATURES: usize>(from: &[Lane<R>], rows: &mut [R], lanes: usize) {
    for c in 0..rows.len() / (LANES * FEATURES) {
        let block = &mut rows[c * LANES * FEATURES..][..LANES * FEATURES];
        let mut own = [Lane::ZERO; FEATURES];
        for i in 0..FEATURES {
            own[i] = from[i * lanes + c];
        }
        for k in 0..LANES {
            for i in 0..FEATURES {
                block[k * FEATURES + i] = own[i].0[k];
            }
        }
    }
}

#[inline(always)]
fn from_many<R: Real>(from: &[Lane<R>], features: usize, rows: &mut [R], lanes: usize) {
    for (c, block) in rows.chunks_exact_mut(LANES * features).enumerate() {
        let mut i = 0;
        while i + 4 <= features {
            for q in 0..LANES / 4 {
                let columns = [0, 1, 2, 3].map(|a| four(&from[(i + a) * lanes + c].0, 4 * q));
                for (k, row) in R::turn(columns).iter().enumerate() {
                    four_mut(block, (4 * q + k) * features + i).copy_from_slice(row);
                }
            }
            i += 4;
        }
        for i in i..features {
            for k in 0..LANES {
                block[k * features + i] = from[i * lanes + c].0[k];
            }
        }
    }
}

#[inline(always)]
fn four<R>(numbers: &[R], from: usize) -> &[R; 4] {
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

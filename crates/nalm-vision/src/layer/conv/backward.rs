//! The backward pass: over the live positions, or along the output channels where there are few input channels.

use super::{Geometry, Live};
use crate::layer::matrix::{Shape, Strips, product};
use crate::vector::{Kernel, LANES, Scalar, accumulate, add_runs, madd, run, run_narrow, spread_run};
use nalm::{InstructionSet, Lane};

/// Adds the gradient of weights and biases of one image, from the live positions.
pub(crate) fn backward<R: Scalar>(g: &Geometry, set: InstructionSet, x: &[R], live: &Live<R>, dp: &mut [R]) {
    if g.inputs.is_multiple_of(LANES) {
        run(set, Weights { g: *g, x, live, dp });
    } else {
        run_narrow(set, Weights { g: *g, x, live, dp });
    }
}

/// Overwrites the gradient of one image, where it is wanted.
pub(crate) fn backward_input<R: Scalar>(
    g: &Geometry,
    set: InstructionSet,
    p: &[R],
    live: &Live<R>,
    dx: Option<&mut [R]>,
) {
    if let Some(dx) = dx {
        if g.inputs.is_multiple_of(LANES) {
            run(set, Input { g: *g, p, live, dx });
        } else {
            run_narrow(set, Input { g: *g, p, live, dx });
        }
    }
}

struct Weights<'a, R> {
    g: Geometry,
    x: &'a [R],
    live: &'a Live<R>,
    dp: &'a mut [R],
}

impl<R: Scalar> Kernel for Weights<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, x, live, dp } = self;
        let (patch, line, wide) = (g.patch(), g.kernel * g.inputs, g.width * g.inputs);
        let (dw, db) = dp.split_at_mut(g.outputs * patch);
        for (o, entries) in live.channels().enumerate() {
            for (ky, dw) in dw[o * patch..(o + 1) * patch].chunks_exact_mut(line).enumerate() {
                add_runs::<R, FMA>(x, ky * wide, entries, dw);
            }
            for &(_, value) in entries {
                db[o] += value;
            }
        }
    }
}

struct Input<'a, R> {
    g: Geometry,
    p: &'a [R],
    live: &'a Live<R>,
    dx: &'a mut [R],
}

impl<R: Scalar> Kernel for Input<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, p, live, dx } = self;
        let (patch, line, wide) = (g.patch(), g.kernel * g.inputs, g.width * g.inputs);
        dx.fill(R::ZERO);
        for (o, entries) in live.channels().enumerate() {
            let w = &p[o * patch..(o + 1) * patch];
            for (ky, w) in w.chunks_exact(line).enumerate() {
                spread_run::<R, FMA>(w, ky * wide, entries, dx);
            }
        }
    }
}

/// Whether a kernel row is short enough for [`backward_short`].
pub(crate) fn is_short(g: &Geometry) -> bool {
    g.kernel * g.inputs <= LANES && (2..=5).contains(&g.kernel)
}

/// Adds the gradient of weights and biases of one image whose kernel rows fit into a lane, from the live positions. Every kernel row is
/// loaded as a whole lane, of which what lies behind the row is dropped at the end; `x` must go on for a lane after the image.
pub(crate) fn backward_short<R: Scalar>(g: &Geometry, set: InstructionSet, x: &[R], live: &Live<R>, dp: &mut [R]) {
    match g.kernel {
        2 => run_narrow(set, Short::<_, 2> { g: *g, x, live, dp }),
        3 => run_narrow(set, Short::<_, 3> { g: *g, x, live, dp }),
        4 => run_narrow(set, Short::<_, 4> { g: *g, x, live, dp }),
        _ => run_narrow(set, Short::<_, 5> { g: *g, x, live, dp }),
    }
}

struct Short<'a, R, const ROWS: usize> {
    g: Geometry,
    x: &'a [R],
    live: &'a Live<R>,
    dp: &'a mut [R],
}

impl<R: Scalar, const ROWS: usize> Kernel for Short<'_, R, ROWS> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, x, live, dp } = self;
        let (patch, line, wide) = (g.patch(), g.kernel * g.inputs, g.width * g.inputs);
        let (dw, db) = dp.split_at_mut(g.outputs * patch);
        let all = (ROWS - 1) * wide + LANES;
        for (o, entries) in live.channels().enumerate() {
            let mut sums = [Lane::<R>::ZERO; ROWS];
            let mut bias = R::ZERO;
            for &(at, value) in entries {
                let x = &x[at as usize..][..all];
                for ky in 0..ROWS {
                    let row = &x[ky * wide..][..LANES];
                    for k in 0..LANES {
                        sums[ky][k] = madd::<R, FMA>(value, row[k], sums[ky][k]);
                    }
                }
                bias += value;
            }
            for ky in 0..ROWS {
                for k in 0..line {
                    dw[o * patch + ky * line + k] += sums[ky][k];
                }
            }
            db[o] += bias;
        }
    }
}

/// Overwrites `d` with the gradients of positions that ReLU let through, and with 0 elsewhere.
pub(crate) fn through_relu<R: Scalar>(set: InstructionSet, dy: &[R], y: &[R], d: &mut [R]) {
    run(set, ThroughRelu { dy, y, d });
}

struct ThroughRelu<'a, R> {
    dy: &'a [R],
    y: &'a [R],
    d: &'a mut [R],
}

impl<R: Scalar> Kernel for ThroughRelu<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        for ((d, &dy), &y) in self.d.iter_mut().zip(self.dy).zip(self.y) {
            *d = if y > R::ZERO { dy } else { R::ZERO };
        }
    }
}

/// Adds the gradient of weights and biases of one image with few input channels, from the whole output gradient `[row][column][channel]`. Runs of
/// the sparse way would be too short here; this one goes along the output channels.
pub(crate) fn backward_narrow<R: Scalar>(g: &Geometry, set: InstructionSet, x: &[R], dy: &[R], dp: &mut [R]) {
    run(set, Narrow { g: *g, x, dy, dp });
}

struct Narrow<'a, R> {
    g: Geometry,
    x: &'a [R],
    dy: &'a [R],
    dp: &'a mut [R],
}

impl<R: Scalar> Kernel for Narrow<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { g, x, dy, dp } = self;
        let patch = g.patch();
        let offset = |k: usize| (k / (g.kernel * g.inputs)) * g.width * g.inputs + k % (g.kernel * g.inputs);
        let (dw, db) = dp.split_at_mut(g.outputs * patch);
        for first in (0..g.outputs).step_by(LANES) {
            let count = LANES.min(g.outputs - first);
            let whole = count == LANES;
            let mut bias = Lane::<R>::ZERO;
            for k0 in (0..patch).step_by(TOGETHER) {
                let together = TOGETHER.min(patch - k0);
                let mut offsets = [0; TOGETHER];
                for (k, offset_k) in offsets.iter_mut().enumerate() {
                    *offset_k = offset(k0 + k.min(together - 1));
                }
                let mut sums = [Lane::<R>::ZERO; TOGETHER];
                for row in 0..g.rows() {
                    for column in 0..g.columns() {
                        let cell = (row * g.columns() + column) * g.outputs + first;
                        // A copy of known length is one instruction, and of any other a call.
                        let mut d = Lane::<R>::ZERO;
                        if whole {
                            d.0.copy_from_slice(&dy[cell..cell + LANES]);
                        } else {
                            d.0.iter_mut().zip(&dy[cell..cell + count]).for_each(|(d, &dy)| *d = dy);
                        }
                        let at = (row * g.width + column) * g.inputs;
                        for k in 0..TOGETHER {
                            accumulate::<R, FMA>(&mut sums[k], x[at + offsets[k]], &d);
                        }
                        if k0 == 0 {
                            accumulate::<R, FMA>(&mut bias, R::ONE, &d);
                        }
                    }
                }
                for k in 0..together {
                    for i in 0..count {
                        dw[(first + i) * patch + k0 + k] += sums[k][i];
                    }
                }
            }
            for i in 0..count {
                db[first + i] += bias[i];
            }
        }
    }
}

/// Overwrites the gradient of one image with few input channels, from the whole output gradient: one matrix product gives what every
/// position adds to its patch, and adding that up is all that is left.
pub(crate) fn backward_input_narrow<R: Scalar>(
    g: &Geometry,
    set: InstructionSet,
    p: &[R],
    dy: &[R],
    patches: &mut Vec<R>,
    strips: &mut Strips<R>,
    dx: &mut [R],
) {
    let (positions, patch) = (g.rows() * g.columns(), g.patch());
    patches.resize(positions * patch, R::ZERO);
    let (to, from) = (Shape::new(positions, patch), Shape::new(positions, g.outputs));
    product(set, strips, patches, to, dy, from, &p[..g.outputs * patch], Shape::new(g.outputs, patch));
    dx.fill(R::ZERO);
    let line = g.kernel * g.inputs;
    for (position, added) in patches.chunks_exact(patch).enumerate() {
        let (row, column) = (position / g.columns(), position % g.columns());
        for (ky, added) in added.chunks_exact(line).enumerate() {
            let at = ((row + ky) * g.width + column) * g.inputs;
            dx[at..at + line].iter_mut().zip(added).for_each(|(dx, &add)| *dx += add);
        }
    }
}

/// Weights whose gradients are summed in registers at a time.
const TOGETHER: usize = 9;

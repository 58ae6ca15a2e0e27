//! The matrix product that most units contain, and its two gradients. Matrices are `[output][input]`.

use super::{LANES, Lane, add_sums, each};
use crate::Real;

/// y_o = sum_i w_oi x_i
///
/// Two outputs and two lanes at a time: four independent sums hide the latency of an addition, and the inputs, which may
/// not fit into the first-level cache, are read once for both outputs.
#[inline(always)]
pub fn forward<R: Real>(w: &[R], x: &[Lane<R>], y: &mut [Lane<R>], lanes: usize) {
    let inputs = x.len() / lanes;
    for (w, y) in w.chunks(2 * inputs).zip(y.chunks_mut(2 * lanes)) {
        let (w0, w1) = w.split_at(inputs);
        let (y0, y1) = y.split_at_mut(lanes);
        if w1.is_empty() {
            one_output(w0, x, y0, lanes);
        } else {
            two_outputs(w0, w1, x, y0, y1, lanes);
        }
    }
}

#[inline(always)]
fn one_output<R: Real>(w: &[R], x: &[Lane<R>], y: &mut [Lane<R>], lanes: usize) {
    let mut c = 0;
    while c + 4 <= lanes {
        let (mut s0, mut s1, mut s2, mut s3) = (Lane::ZERO, Lane::ZERO, Lane::ZERO, Lane::ZERO);
        for (&w, x) in w.iter().zip(x.chunks_exact(lanes)) {
            let x = &x[c..c + 4];
            s0 += x[0] * w;
            s1 += x[1] * w;
            s2 += x[2] * w;
            s3 += x[3] * w;
        }
        (y[c], y[c + 1], y[c + 2], y[c + 3]) = (s0, s1, s2, s3);
        c += 4;
    }
    for c in c..lanes {
        let mut s = Lane::ZERO;
        for (&w, x) in w.iter().zip(x.chunks_exact(lanes)) {
            s += x[c] * w;
        }
        y[c] = s;
    }
}

#[inline(always)]
fn two_outputs<R: Real>(w0: &[R], w1: &[R], x: &[Lane<R>], y0: &mut [Lane<R>], y1: &mut [Lane<R>], lanes: usize) {
    let mut c = 0;
    while c + 2 <= lanes {
        let (mut s00, mut s01, mut s10, mut s11) = (Lane::ZERO, Lane::ZERO, Lane::ZERO, Lane::ZERO);
        for ((&w0, &w1), x) in w0.iter().zip(w1).zip(x.chunks_exact(lanes)) {
            let x = &x[c..c + 2];
            s00 += x[0] * w0;
            s01 += x[1] * w0;
            s10 += x[0] * w1;
            s11 += x[1] * w1;
        }
        (y0[c], y0[c + 1], y1[c], y1[c + 1]) = (s00, s01, s10, s11);
        c += 2;
    }
    for c in c..lanes {
        let (mut s0, mut s1) = (Lane::ZERO, Lane::ZERO);
        for ((&w0, &w1), x) in w0.iter().zip(w1).zip(x.chunks_exact(lanes)) {
            s0 += x[c] * w0;
            s1 += x[c] * w1;
        }
        (y0[c], y1[c]) = (s0, s1);
    }
}

/// dw_oi += sum over rows of dy_o x_i, two outputs at a time like [`forward`].
#[inline(always)]
pub fn weight_gradient<R: Real>(dy: &[Lane<R>], x: &[Lane<R>], dw: &mut [R], lanes: usize) {
    let inputs = x.len() / lanes;
    let (mut sums0, mut sums1) = ([Lane::ZERO; LANES], [Lane::ZERO; LANES]);
    for (dw, dy) in dw.chunks_mut(2 * inputs).zip(dy.chunks(2 * lanes)) {
        let (dw0, dw1) = dw.split_at_mut(inputs);
        let (dy0, dy1) = dy.split_at(lanes);
        for (block, x) in x.chunks(LANES * lanes).enumerate() {
            let start = block * LANES;
            if dy1.is_empty() {
                for (sum, x) in sums0.iter_mut().zip(x.chunks_exact(lanes)) {
                    *sum = dot(dy0, x);
                }
            } else {
                for ((sum0, sum1), x) in sums0.iter_mut().zip(&mut sums1).zip(x.chunks_exact(lanes)) {
                    let (mut s0, mut s1) = (Lane::ZERO, Lane::ZERO);
                    for ((&dy0, &dy1), &x) in dy0.iter().zip(dy1).zip(x) {
                        s0 += dy0 * x;
                        s1 += dy1 * x;
                    }
                    (*sum0, *sum1) = (s0, s1);
                }
                add_sums(&sums1, &mut dw1[start..]);
            }
            add_sums(&sums0, &mut dw0[start..]);
        }
    }
}

/// The sum of products of two features, still sixteen partial sums.
#[inline(always)]
pub fn dot<R: Real>(a: &[Lane<R>], b: &[Lane<R>]) -> Lane<R> {
    let mut sum = Lane::ZERO;
    for (&a, &b) in a.iter().zip(b) {
        sum += a * b;
    }
    sum
}

/// dx_i += sum_o w_oi dy_o
#[inline(always)]
pub fn input_gradient<R: Real>(w: &[R], dy: &[Lane<R>], dx: &mut [Lane<R>], lanes: usize) {
    let inputs = dx.len() / lanes;
    for (w, dy) in w.chunks_exact(inputs).zip(dy.chunks_exact(lanes)) {
        for (&w, dx) in w.iter().zip(dx.chunks_exact_mut(lanes)) {
            each::update1(dx, dy, |dx, dy| dx + dy * w);
        }
    }
}

/// The sum over the rows of one feature, still sixteen partial sums.
#[inline(always)]
pub fn partial_sums<R: Real>(feature: &[Lane<R>]) -> Lane<R> {
    let mut sum = Lane::ZERO;
    for &lane in feature {
        sum += lane;
    }
    sum
}

/// The sum over the rows of one feature.
#[inline(always)]
pub fn row_sum<R: Real>(feature: &[Lane<R>]) -> R {
    partial_sums(feature).sum()
}

/// The sum of the features in `slice` for lane `c`, in two halves that are added at the end.
#[inline(always)]
pub fn slice_sum<R: Real>(x: &[Lane<R>], slice: std::ops::Range<usize>, c: usize, lanes: usize) -> Lane<R> {
    if slice.len() == 1 {
        // What the loops below come to, without them: they would cost more than drawing the numbers.
        return Lane::ZERO + (Lane::ZERO + x[slice.start * lanes + c]);
    }
    let mut sums = [Lane::ZERO; 2];
    let middle = slice.start + slice.len() / 2;
    for i in slice.start..middle {
        sums[0] += x[i * lanes + c];
    }
    for i in middle..slice.end {
        sums[1] += x[i * lanes + c];
    }
    sums[0] + sums[1]
}

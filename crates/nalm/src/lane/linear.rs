//! The matrix product that most units contain, and its two gradients. Matrices are `[output][input]`.

use super::{InstructionSet, Kernel, LANES, Lane, add_sums, each, run};
use crate::Real;

// Units of two inputs are so small that whatever is done once per call counts. They have loops of their own, with the operations of the general ones in
// the same order, without the divisions that iterators over chunks make. The general loops are kernels: compiled into every unit that has a matrix, they
// would take a tenth of the crate's build.

/// y_o = sum_i w_oi x_i
///
/// Two outputs and two lanes at a time: four independent sums hide the latency of an addition, and the inputs, which may
/// not fit into the first-level cache, are read once for both outputs.
#[inline(always)]
pub fn forward<R: Real>(instructions: InstructionSet, w: &[R], x: &[Lane<R>], y: &mut [Lane<R>], lanes: usize) {
    match x.len() == 2 * lanes {
        true => two_inputs(w, x, y, lanes),
        false => run(instructions, Forward { w, x, y, lanes }),
    }
}

struct Forward<'a, R> {
    w: &'a [R],
    x: &'a [Lane<R>],
    y: &'a mut [Lane<R>],
    lanes: usize,
}

impl<R: Real> Kernel for Forward<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) {
        let Self { w, x, y, lanes } = self;
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
}

#[inline(always)]
fn two_inputs<R: Real>(w: &[R], x: &[Lane<R>], y: &mut [Lane<R>], lanes: usize) {
    let (x0, x1) = x.split_at(lanes);
    let mut start = 0;
    for &[w0, w1] in w.as_chunks().0 {
        each::map2(&mut y[start..][..lanes], x0, x1, |x0, x1| (R::ZERO + x0 * w0) + x1 * w1);
        start += lanes;
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

/// dw_oi += sum over rows of dy_o x_i
///
/// Two outputs by two inputs at a time, so that whatever is loaded is used twice.
#[inline(always)]
pub fn weight_gradient<R: Real>(
    instructions: InstructionSet,
    dy: &[Lane<R>],
    x: &[Lane<R>],
    dw: &mut [R],
    lanes: usize,
) {
    match x.len() == 2 * lanes && dy.len() == lanes {
        true => gradient_of_pair(dy, x, dw, lanes),
        false => run(instructions, WeightGradient { dy, x, dw, lanes }),
    }
}

struct WeightGradient<'a, R> {
    dy: &'a [Lane<R>],
    x: &'a [Lane<R>],
    dw: &'a mut [R],
    lanes: usize,
}

impl<R: Real> Kernel for WeightGradient<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) {
        let Self { dy, x, dw, lanes } = self;
        let inputs = x.len() / lanes;
        for (dw, dy) in dw.chunks_mut(2 * inputs).zip(dy.chunks(2 * lanes)) {
            let (dw0, dw1) = dw.split_at_mut(inputs);
            let (dy0, dy1) = dy.split_at(lanes);
            if dy1.is_empty() {
                gradient_of_one(dy0, x, dw0, lanes);
            } else {
                gradient_of_two(dy0, dy1, x, dw0, dw1, lanes);
            }
        }
    }
}

#[inline(always)]
fn gradient_of_one<R: Real>(dy: &[Lane<R>], x: &[Lane<R>], dw: &mut [R], lanes: usize) {
    for (x, dw) in x.chunks(2 * lanes).zip(dw.chunks_mut(2)) {
        if x.len() > lanes {
            gradient_of_pair(dy, x, dw, lanes);
        } else {
            add_sums(&[dot(dy, x)], dw);
        }
    }
}

/// One output by two inputs.
#[inline(always)]
fn gradient_of_pair<R: Real>(dy: &[Lane<R>], x: &[Lane<R>], dw: &mut [R], lanes: usize) {
    let (x0, x1) = x.split_at(lanes);
    let (mut s0, mut s1) = (Lane::ZERO, Lane::ZERO);
    for ((&dy, &x0), &x1) in dy.iter().zip(x0).zip(x1) {
        s0 += dy * x0;
        s1 += dy * x1;
    }
    add_sums(&[s0, s1], dw);
}

#[inline(always)]
fn gradient_of_two<R: Real>(
    dy0: &[Lane<R>],
    dy1: &[Lane<R>],
    x: &[Lane<R>],
    dw0: &mut [R],
    dw1: &mut [R],
    lanes: usize,
) {
    let (mut sums0, mut sums1) = ([[Lane::ZERO; 2]; LANES / 2], [[Lane::ZERO; 2]; LANES / 2]);
    let blocks = x.chunks(LANES * lanes).zip(dw0.chunks_mut(LANES).zip(dw1.chunks_mut(LANES)));
    for (x, (dw0, dw1)) in blocks {
        let pairs = x.chunks_exact(2 * lanes);
        let last = pairs.remainder();
        for ((sums0, sums1), x) in sums0.iter_mut().zip(&mut sums1).zip(pairs) {
            let (x0, x1) = x.split_at(lanes);
            let (mut s00, mut s01, mut s10, mut s11) = (Lane::ZERO, Lane::ZERO, Lane::ZERO, Lane::ZERO);
            for (((&dy0, &dy1), &x0), &x1) in dy0.iter().zip(dy1).zip(x0).zip(x1) {
                s00 += dy0 * x0;
                s01 += dy0 * x1;
                s10 += dy1 * x0;
                s11 += dy1 * x1;
            }
            (*sums0, *sums1) = ([s00, s01], [s10, s11]);
        }
        if !last.is_empty() {
            let k = x.len() / lanes / 2;
            (sums0[k][0], sums1[k][0]) = (dot(dy0, last), dot(dy1, last));
        }
        add_sums(sums0.as_flattened(), dw0);
        add_sums(sums1.as_flattened(), dw1);
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
    let mut weights = w.iter();
    let mut row = 0;
    while row < dy.len() {
        let dy = &dy[row..][..lanes];
        for (i, &w) in weights.by_ref().take(inputs).enumerate() {
            each::update1(&mut dx[i * lanes..][..lanes], dy, |dx, dy| dx + dy * w);
        }
        row += lanes;
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

/// The sums of the features in `slice` for lane `c`, in two halves that are added at the end.
#[inline(always)]
pub fn slice_sum<R: Real>(x: &[Lane<R>], slice: &std::ops::Range<usize>, c: usize, lanes: usize) -> Lane<R> {
    let middle = slice.start + slice.len() / 2;
    let (mut first, mut second) = (Lane::ZERO, Lane::ZERO);
    for i in slice.start..middle {
        first += x[i * lanes + c];
    }
    for i in middle..slice.end {
        second += x[i * lanes + c];
    }
    first + second
}

/// [`slice_sum`] for four lanes from `c` on: four times as many sums at a time, with a quarter of what is around them.
#[inline(always)]
pub fn slice_sums<R: Real>(x: &[Lane<R>], slice: &std::ops::Range<usize>, c: usize, lanes: usize) -> [Lane<R>; 4] {
    let middle = slice.start + slice.len() / 2;
    let [a0, a1, a2, a3] = feature_sums(x, slice.start..middle, c, lanes);
    let [b0, b1, b2, b3] = feature_sums(x, middle..slice.end, c, lanes);
    [a0 + b0, a1 + b1, a2 + b2, a3 + b3]
}

#[inline(always)]
fn feature_sums<R: Real>(x: &[Lane<R>], features: std::ops::Range<usize>, c: usize, lanes: usize) -> [Lane<R>; 4] {
    let (mut s0, mut s1, mut s2, mut s3) = (Lane::ZERO, Lane::ZERO, Lane::ZERO, Lane::ZERO);
    for i in features {
        let x = &x[i * lanes + c..][..4];
        s0 += x[0];
        s1 += x[1];
        s2 += x[2];
        s3 += x[3];
    }
    [s0, s1, s2, s3]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(lanes: usize, salt: u32) -> Vec<Lane<f32>> {
        let number = |k: u32| k.wrapping_add(salt).wrapping_mul(2_654_435_761) as i32 as f32 * 1e-9;
        (0..lanes as u32).map(|l| Lane(std::array::from_fn(|k| number(16 * l + k as u32)))).collect()
    }

    /// Products and gradients, whichever loops they go through, against sums in their one order.
    #[test]
    fn every_shape_has_the_bits_of_plain_sums() {
        for (inputs, outputs, lanes) in [(1, 1, 1), (2, 1, 5), (2, 3, 4), (3, 2, 1), (5, 3, 3), (16, 2, 8), (37, 2, 2)]
        {
            let (x, dy) = (numbers(inputs * lanes, 1), numbers(outputs * lanes, 2));
            let w: Vec<f32> = numbers(inputs * outputs, 3).iter().map(|lane| lane[0]).collect();
            let (mut y, mut dw) = (vec![Lane::ZERO; outputs * lanes], w.clone());
            forward(InstructionSet::PORTABLE, &w, &x, &mut y, lanes);
            weight_gradient(InstructionSet::PORTABLE, &dy, &x, &mut dw, lanes);
            for set in InstructionSet::available() {
                let (mut same_y, mut same_dw) = (vec![Lane::ZERO; outputs * lanes], w.clone());
                forward(set, &w, &x, &mut same_y, lanes);
                weight_gradient(set, &dy, &x, &mut same_dw, lanes);
                assert_eq!((same_y, same_dw), (y.clone(), dw.clone()), "{}", set.name());
            }
            let mut dx = x.clone();
            input_gradient(&w, &dy, &mut dx, lanes);
            for o in 0..outputs {
                for c in 0..lanes {
                    let terms = (0..inputs).map(|i| x[i * lanes + c] * w[o * inputs + i]);
                    assert_eq!(y[o * lanes + c], terms.fold(Lane::ZERO, |sum, term| sum + term));
                }
                for i in 0..inputs {
                    let k = o * inputs + i;
                    assert_eq!(dw[k], w[k] + dot(&dy[o * lanes..][..lanes], &x[i * lanes..][..lanes]).sum());
                }
            }
            for i in 0..inputs {
                for c in 0..lanes {
                    let k = i * lanes + c;
                    let terms = (0..outputs).map(|o| dy[o * lanes + c] * w[o * inputs + i]);
                    assert_eq!(dx[k], terms.fold(x[k], |sum, term| sum + term));
                }
            }
        }
    }

    #[test]
    fn four_lanes_at_a_time_have_the_sums_of_one() {
        let (lanes, x) = (6, numbers(6 * 9, 4));
        for slice in [0..0, 3..4, 2..9, 1..7] {
            let alone = [1, 2, 3, 4].map(|c| slice_sum(&x, &slice, c, lanes));
            assert_eq!(slice_sums(&x, &slice, 1, lanes), alone);
        }
    }
}

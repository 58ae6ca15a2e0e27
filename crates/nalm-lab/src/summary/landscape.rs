//! The loss over two weights: of one sample, and the mean over all samples for the NMU and for the sNMU, where its noise is averaged, too.

/// Inputs of the mean losses.
const LOW: f64 = -2.0;
const HIGH: f64 = -1.0;
/// The noise of the sNMU.
const NOISE: (f64, f64) = (1.0, 5.0);

/// The loss of the one sample (-2, -1.8).
pub fn one_sample(w1: f64, w2: f64) -> f64 {
    let error = 3.6 - (1.0 - 3.0 * w1) * (1.0 - 2.8 * w2);
    error * error
}

/// The mean loss over inputs from U[LOW, HIGH), given first and second moments of what the noise makes of each weight.
fn mean_loss(a: [f64; 2], b: [f64; 2]) -> f64 {
    let mean = 0.5 * (LOW + HIGH);
    let square = (HIGH * HIGH * HIGH - LOW * LOW * LOW) / (3.0 * (HIGH - LOW));
    // A factor is f = 1 + w (x - 1); the two are independent, so E(x1 x2 - f1 f2)^2 needs E[x f] and E[f^2] only.
    let cross = |[w, _]: [f64; 2]| mean + w * (square - mean);
    let own = |[w, ww]: [f64; 2]| 1.0 + 2.0 * w * (mean - 1.0) + ww * (square - 2.0 * mean + 1.0);
    square * square - 2.0 * cross(a) * cross(b) + own(a) * own(b)
}

/// Mean and mean square of n w / (1 + (n - 1) w) over the noise, by Simpson's rule.
fn moments(w: f64) -> [f64; 2] {
    let pieces = 64;
    let mut sums = [0.0; 2];
    for k in 0..=pieces {
        let n = NOISE.0 + (NOISE.1 - NOISE.0) * f64::from(k) / f64::from(pieces);
        let weight = if k == 0 || k == pieces { 1.0 } else { 2.0 + 2.0 * f64::from(k % 2) };
        let moved = n * w / (1.0 + (n - 1.0) * w);
        sums[0] += weight * moved / (3.0 * f64::from(pieces));
        sums[1] += weight * moved * moved / (3.0 * f64::from(pieces));
    }
    sums
}

/// The mean loss of the NMU.
pub fn nmu(w1: f64, w2: f64) -> f64 {
    mean_loss([w1, w1 * w1], [w2, w2 * w2])
}

/// The mean loss of the sNMU.
pub fn snmu(w1: f64, w2: f64) -> f64 {
    mean_loss(moments(w1), moments(w2))
}

/// How many minima the mean loss has within the box of the weights, with noise or without: points of a grid that none of their neighbours is
/// below.
pub fn minima(noise: bool) -> usize {
    const SIDE: i32 = 60;
    let at = |k: i32| f64::from(k) / f64::from(SIDE);
    let loss = |(a, b): (i32, i32)| if noise { snmu(at(a), at(b)) } else { nmu(at(a), at(b)) };
    let inside = |k: i32| (0..=SIDE).contains(&k);
    let lowest = |&(a, b): &(i32, i32)| {
        let around = (-1..=1).flat_map(|i| (-1..=1).map(move |j| (a + i, b + j)));
        let mut others = around.filter(|&(i, j)| (i, j) != (a, b) && inside(i) && inside(j));
        others.all(|other| loss((a, b)) < loss(other))
    };
    (0..=SIDE).flat_map(|a| (0..=SIDE).map(move |b| (a, b))).filter(lowest).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1, 1) and (0, 0), with noise and without it.
    #[test]
    fn noise_takes_no_minimum_away() {
        assert_eq!((minima(false), minima(true)), (2, 2));
    }

    #[test]
    fn the_marked_points_are_where_the_paper_says() {
        assert!(one_sample(1.0, 1.0) < 1e-20 && one_sample(-1.0 / 6.0, -0.5) < 1e-20);
        assert!((one_sample(0.0, 0.0) - 2.6f64.powi(2)).abs() < 1e-12);
    }

    /// Against sums over many samples and noises.
    #[test]
    fn mean_losses_are_means() {
        let (side, noises) = (40, 20);
        let at = |k: usize, n: usize, low: f64, high: f64| low + (high - low) * (k as f64 + 0.5) / n as f64;
        for (w1, w2) in [(0.3, 0.6), (0.9, 0.2)] {
            let (mut plain, mut noisy, mut count) = (0.0, 0.0, 0.0);
            for (i, j) in (0..side * side).map(|k| (k / side, k % side)) {
                let (x1, x2) = (at(i, side, LOW, HIGH), at(j, side, LOW, HIGH));
                let f = |w: f64, x: f64| 1.0 + w * (x - 1.0);
                plain += (x1 * x2 - f(w1, x1) * f(w2, x2)).powi(2);
                for (a, b) in (0..noises * noises).map(|k| (k / noises, k % noises)) {
                    let moved = |w: f64, n: f64| n * w / (1.0 + (n - 1.0) * w);
                    let u1 = moved(w1, at(a, noises, NOISE.0, NOISE.1));
                    let u2 = moved(w2, at(b, noises, NOISE.0, NOISE.1));
                    noisy += (x1 * x2 - f(u1, x1) * f(u2, x2)).powi(2);
                    count += 1.0;
                }
            }
            let cells = (side * side) as f64;
            assert!((nmu(w1, w2) / (plain / cells) - 1.0).abs() < 2e-3);
            assert!((snmu(w1, w2) / (noisy / count) - 1.0).abs() < 2e-3);
        }
    }
}

//! Which few of many logarithms explain a target beside the columns: a product of powers is linear in logarithms, and stays so when sums
//! and functions without constants of their own are among its factors. All pairs are tried, and the best of them with a third.

use super::Basis;
use super::sparse::{Best, left_by_pair};
use crate::dense::{Matrix, dot};

/// Sets that are kept of each size, and extended to three.
const KEPT: (usize, usize) = (6, 30);

/// The best sets of columns of a library beside a base, by the bits of what they leave of a target and their own: some of every size up to
/// `most`, size by size.
pub(crate) fn best(
    base: &Basis,
    target: &[f64],
    library: &[Vec<f64>],
    bits: &dyn Fn(usize) -> f64,
    most: usize,
) -> Vec<Vec<usize>> {
    let rows = target.len();
    let mut rest = target.to_vec();
    base.project_out(&mut rest);
    let size = dot(&rest, &rest).sqrt();
    if size.is_nan() || size <= 0.0 {
        return Vec::new();
    }
    rest.iter_mut().for_each(|r| *r /= size);
    // n/2 log2(left) + bits, as a factor of what is left.
    let mut factors = Vec::new();
    let (mut places, mut a) = (Vec::new(), Matrix::new(rows));
    for (j, column) in library.iter().enumerate() {
        let before = dot(column, column);
        let mut own = column.clone();
        base.project_out(&mut own);
        let left = dot(&own, &own);
        // Also refuses NaN.
        if left > 1e-8 * before && left.is_finite() {
            places.push(j);
            factors.push(libm::exp2(2.0 * bits(j) / rows as f64));
            a.push(own);
        }
    }
    a.normalise();
    let n = places.len();
    let b = a.transposed_times(&rest);
    let mut single = Best::new(KEPT.0);
    (0..n).for_each(|j| single.push((1.0 - b[j] * b[j]) * factors[j], vec![j]));
    let mut sets: Vec<Vec<usize>> = single.into_items().collect();
    if most > 1 {
        let gram = a.gram_tiled();
        let mut pairs = Best::new(KEPT.1);
        for i in 0..n {
            let mut limit = pairs.limit();
            for j in i + 1..n {
                let left = (1.0 - left_by_pair(gram[i][j], b[i], b[j], 1e-6)) * factors[i] * factors[j];
                if left < limit {
                    pairs.push(left, vec![i, j]);
                    limit = pairs.limit();
                }
            }
        }
        let pairs: Vec<Vec<usize>> = pairs.into_items().collect();
        if most > 2 {
            let mut triples = Best::new(KEPT.0);
            for pair in &pairs {
                for (left, j) in super::sparse::extensions(&gram, &b, pair, 2, 1e-3) {
                    triples.push(left, [pair.as_slice(), &[j]].concat());
                }
            }
            sets.extend(triples.into_items());
        }
        sets.extend(pairs.into_iter().take(KEPT.0));
    }
    sets.iter().map(|set| set.iter().map(|&j| places[j]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Draws;

    #[test]
    fn what_a_target_is_made_of_comes_first() {
        let mut draws = Draws::new("library");
        let mut column = || (0..60).map(|_| draws.normal()).collect::<Vec<f64>>();
        let library: Vec<Vec<f64>> = (0..40).map(|_| column()).collect();
        let own = column();
        let target: Vec<f64> =
            (0..60).map(|k| 2.0 * own[k] - library[7][k] + 0.5 * library[31][k] + library[3][k]).collect();
        let mut base = Basis::default();
        base.push(own, 0.0);
        let sets = best(&base, &target, &library, &|_| 0.0, 3);
        let mut first = sets.iter().find(|set| set.len() == 3).unwrap().clone();
        first.sort_unstable();
        assert_eq!(first, [3, 7, 31]);
    }
}

//! Lists of products of whole powers, and their values.

use crate::columns::View;
use crate::dense::{Matrix, least_squares};
use crate::form::{Form, Sum, Term, power};
use crate::judge::relative_weights;

pub(crate) type Exponents = Vec<i32>;

/// How many products of at most this degree there are.
pub(crate) fn count(columns: usize, degree: usize) -> usize {
    // (columns + degree choose degree), each step without a remainder
    (1..=degree).fold(1usize, |n, k| n.saturating_mul(columns + k) / k)
}

/// All products of at most this degree, by degree.
pub(crate) fn products(columns: usize, degree: usize) -> Vec<Exponents> {
    let mut all = vec![vec![0; columns]];
    let mut last: Vec<(Exponents, usize)> = vec![(vec![0; columns], 0)];
    for _ in 0..degree {
        let mut next = Vec::new();
        for (exponents, from) in &last {
            for i in *from..columns {
                let mut more = exponents.clone();
                more[i] += 1;
                next.push((more, i));
            }
        }
        all.extend(next.iter().map(|(e, _)| e.clone()));
        last = next;
    }
    all
}

/// The largest degree, at most `most_degree`, with at most `most` products.
pub(crate) fn degree_for(columns: usize, most: usize, most_degree: usize) -> usize {
    (1..=most_degree).take_while(|&d| count(columns, d) <= most).last().unwrap_or(0)
}

/// Exponents of either sign with at most 3 of a kind: the longest list of at most `most` entries, by their sum of sizes.
pub(crate) fn laurent(columns: usize, most: usize) -> Vec<Exponents> {
    let how_many = |length: usize| {
        let mut sum = 0usize;
        let mut ways = 1usize;
        for k in 0..=length.min(columns) {
            // 2^k (columns choose k) (length choose k), an upper bound where exponents are limited
            let choose = (0..k).fold(1usize, |n, j| n.saturating_mul(length - j) / (j + 1));
            sum = sum.saturating_add(ways.saturating_mul(choose));
            ways = ways.saturating_mul(2 * (columns - k)) / (k + 1);
        }
        sum
    };
    let length = (1..=8).take_while(|&l| l == 1 || how_many(l) <= most).last().unwrap_or(1) as i32;
    let mut all = Vec::new();
    fn fill(i: usize, left: i32, now: &mut Exponents, all: &mut Vec<Exponents>) {
        if i == now.len() {
            all.push(now.clone());
            return;
        }
        for e in -left.min(3)..=left.min(3) {
            now[i] = e;
            fill(i + 1, left - e.abs(), now, all);
        }
        now[i] = 0;
    }
    fill(0, length, &mut vec![0; columns], &mut all);
    all.sort_by_key(|e| (e.iter().map(|e| e.abs()).sum::<i32>(), e.iter().filter(|e| **e < 0).count()));
    all
}

/// The same, and all products of two columns with exponents up to 3, where there are not too many columns for that.
pub(crate) fn laurent_and_pairs(columns: usize, most: usize) -> Vec<Exponents> {
    let mut all = laurent(columns, most);
    if columns * columns * 9 > 2 * most {
        return all;
    }
    for i in 0..columns {
        for j in i + 1..columns {
            for (a, b) in (1..=3).flat_map(|a| [-3, -2, -1, 1, 2, 3].map(|b| (a, b))) {
                for sign in [1, -1] {
                    let mut e = vec![0; columns];
                    (e[i], e[j]) = (sign * a, sign * b);
                    if !all.contains(&e) {
                        all.push(e);
                    }
                }
            }
        }
    }
    all
}

/// Values of products, one column each, with weights for the rows.
pub(crate) fn design(x: &[Vec<f64>], list: &[Exponents], weights: &[f64]) -> Matrix {
    let rows = weights.len();
    let most = list.iter().flatten().map(|e| e.unsigned_abs()).max().unwrap_or(0) as i32;
    let tables: Vec<Vec<Vec<f64>>> = x
        .iter()
        .map(|x| {
            (-most..=most)
                .map(|e| {
                    if e == 0 || (e < 0 && !list.iter().any(|l| l.contains(&e))) {
                        Vec::new()
                    } else {
                        x.iter().map(|x| power(*x, e.into())).collect()
                    }
                })
                .collect()
        })
        .collect();
    let mut a = Matrix::new(rows);
    let mut column = vec![0.0; rows];
    for exponents in list {
        column.copy_from_slice(weights);
        for (table, &e) in tables.iter().zip(exponents) {
            if e != 0 {
                column.iter_mut().zip(&table[(e + most) as usize]).for_each(|(c, p)| *c *= p);
            }
        }
        a.push(column.iter().copied());
    }
    a
}

pub(crate) fn terms(list: &[Exponents], places: &[usize], factors: &[f64]) -> Vec<Term> {
    let powers = |place: usize| list[place].iter().map(|e| f64::from(*e)).collect();
    places.iter().zip(factors).map(|(&place, &factor)| Term { factor, powers: powers(place) }).collect()
}

/// The target to a power, weighted so that small and large rows count alike.
pub(crate) struct Powered {
    pub(crate) k: i32,
    /// The power itself.
    pub(crate) t: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    /// Power times weight.
    pub(crate) weighted: Vec<f64>,
    sign: f64,
}

impl Powered {
    /// Nothing where the power loses the sign of the target, or has poles.
    pub(crate) fn new(view: &View, k: i32) -> Option<Self> {
        if k < 0 && view.y.contains(&0.0) {
            return None;
        }
        if k.abs() == 2 && !squares_keep_signs(view) {
            return None;
        }
        let t: Vec<f64> = view.y.iter().map(|y| power(*y, k.into())).collect();
        let weights = relative_weights(&t, 1.0);
        let weighted = t.iter().zip(&weights).map(|(t, w)| t * w).collect();
        let sign = if k.abs() == 2 { view.usual_sign() } else { 1.0 };
        Some(Self { k, t, weights, weighted, sign })
    }

    /// y for y^k = sum of terms.
    pub(crate) fn form(&self, terms: Vec<Term>, columns: usize) -> Form {
        Form::sum(self.sign, 1.0 / f64::from(self.k), terms, columns)
    }

    /// y for y^k = ratio of two sums.
    pub(crate) fn ratio(&self, over: Vec<Term>, under: Vec<Term>, columns: usize) -> Form {
        let mut form = self.form(over, columns);
        form.sums.push(Sum { power: -1.0 / f64::from(self.k), terms: under });
        form
    }
}

/// Whether y can be told from y²: it has one sign, or that of a product of columns.
pub(crate) fn squares_keep_signs(view: &View) -> bool {
    view.y.iter().all(|y| *y >= 0.0) || view.y.iter().all(|y| *y <= 0.0) || view.parity().is_some()
}

/// Fits t by columns of A, if that leaves less than `tolerance`, and leaves out as many columns as can be. Returns columns, factors and
/// the relative residual.
pub(crate) fn pruned(a: &Matrix, t: &[f64], tolerance: f64) -> Option<(Vec<usize>, Vec<f64>, f64)> {
    let mut a = a.clone();
    let lengths = a.normalise();
    let (mut c, mut r) = least_squares(&a, t);
    if r >= tolerance || r.is_nan() {
        return None;
    }
    let limit = (30.0 * r).max(1e-12);
    let mut keep: Vec<usize> = (0..a.columns()).collect();
    for threshold in [1e-3, 1e-5, 1e-7, 1e-9] {
        let largest = c.iter().fold(0.0f64, |m, c| m.max(c.abs()));
        let some: Vec<usize> = (0..keep.len()).filter(|&k| c[k].abs() > threshold * largest).map(|k| keep[k]).collect();
        if some.len() == keep.len() || some.is_empty() {
            continue;
        }
        let (c2, r2) = least_squares(&a.pick(&some), t);
        if r2 < limit {
            (keep, c, r) = (some, c2, r2);
            break;
        }
    }
    while keep.len() > 1 {
        let mut order: Vec<usize> = (0..keep.len()).collect();
        order.sort_by(|&i, &j| c[i].abs().total_cmp(&c[j].abs()));
        let mut best: Option<(f64, Vec<usize>, Vec<f64>)> = None;
        for &i in order.iter().take(4) {
            let mut some = keep.clone();
            some.remove(i);
            let (c2, r2) = least_squares(&a.pick(&some), t);
            if r2 < limit && best.as_ref().is_none_or(|best| r2 < best.0) {
                best = Some((r2, some, c2));
            }
        }
        let Some(found) = best else { break };
        (r, keep, c) = found;
    }
    let factors = keep.iter().zip(&c).map(|(&j, c)| c / lengths[j]).collect();
    Some((keep, factors, r))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_long_as_they_should_be() {
        for (columns, degree) in [(1, 6), (3, 3), (5, 2), (9, 2)] {
            assert_eq!(products(columns, degree).len(), count(columns, degree));
        }
        // One column: -3 to 3 (exponents are limited), ordered by size.
        assert_eq!(laurent(1, 100), [[0], [1], [-1], [2], [-2], [3], [-3]].map(|e| e.to_vec()));
        assert!(laurent(6, 1500).len() <= 1500 && laurent(6, 1500).len() > 300);
        assert_eq!(laurent(100, 50).len(), 201);
    }

    #[test]
    fn pruning_leaves_what_is_needed() {
        let x: Vec<f64> = (0..50).map(|k| 1.0 + 0.1 * k as f64).collect();
        let z: Vec<f64> = (0..50).map(|k| 2.0 + libm::cos(k as f64)).collect();
        let t: Vec<f64> = x.iter().zip(&z).map(|(x, z)| 3.0 * x * z - 0.5 * z * z).collect();
        let list = products(2, 4);
        let a = design(&[x, z], &list, &vec![1.0; 50]);
        let (keep, factors, r) = pruned(&a, &t, 1e-10).unwrap();
        let mut found: Vec<_> = keep.iter().map(|&k| list[k].clone()).zip(factors).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        assert!(r < 1e-13);
        assert_eq!(found.iter().map(|f| f.0.clone()).collect::<Vec<_>>(), [vec![0, 2], vec![1, 1]]);
        assert!((found[0].1 + 0.5).abs() < 1e-12 && (found[1].1 - 3.0).abs() < 1e-12);
    }
}

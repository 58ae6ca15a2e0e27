//! What engines offer where the target is noisy: nothing stops early, rows are weighted by what their noise does to them.

use super::dictionary::{Exponents, count, design, laurent, products, squares_keep_signs, terms};
use super::logarithms::{Settings, Space};
use super::sparse::{Best, extensions};
use super::{Sink, powers as product_engine, sums as sums_engine};
use crate::columns::View;
use crate::dense::{Matrix, Qr, add, dot, least_squares, quantile};
use crate::form::{Form, power};
use std::ops::ControlFlow;

type Weigh<'a> = Option<&'a dyn Fn(f64) -> f64>;

pub(crate) fn powers(view: &View, weigh: Weigh<'_>) -> Vec<Form> {
    let both = [product_engine::product(view, weigh), product_engine::product(view, None)];
    both.into_iter().take(if weigh.is_some() { 2 } else { 1 }).flatten().map(|(form, _)| form).collect()
}

/// The best of some shapes in logarithms; solutions that are the same count once.
pub(crate) fn logarithms(
    view: &View,
    shapes: &[&[usize]],
    weigh: Weigh<'_>,
    sink: &mut dyn Sink,
) -> ControlFlow<(), Vec<Form>> {
    let view = view.without_zeros();
    let Some(sign) = view.sign() else { return ControlFlow::Continue(Vec::new()) };
    let space = Space::new(&view, weigh.map(|w| view.y.iter().map(|y| w(*y)).collect()));
    let mut forms = Vec::new();
    for shape in shapes {
        let mut before: Option<f64> = None;
        for (form, rms) in space.search(shape, sign, &Settings { starts: 24, kept: 2, good: 0.0 }, sink)? {
            if before.is_none_or(|before| (rms / before - 1.0).abs() > 1e-4) {
                forms.push(form);
            }
            before = Some(rms);
        }
    }
    ControlFlow::Continue(forms)
}

pub(crate) fn sums(view: &View, sink: &mut dyn Sink) -> ControlFlow<(), Vec<Form>> {
    struct Collect<'a>(Vec<Form>, &'a mut dyn Sink);
    impl Sink for Collect<'_> {
        fn offer(&mut self, form: Form, _: f64) -> ControlFlow<()> {
            self.0.push(form);
            ControlFlow::Continue(())
        }
        fn spend(&mut self, operations: f64) -> ControlFlow<()> {
            self.1.spend(operations)
        }
    }
    let mut collect = Collect(Vec::new(), sink);
    sums_engine::search(view, &[2, 3], 12, 0.0, &mut collect)?;
    ControlFlow::Continue(collect.0)
}

/// Widths of the beam, most terms of a sum, and how many sums of a dictionary are offered.
const BEAM: (usize, usize, usize) = (12, 7, 3);

/// Sparse sums for powers of the target: a beam over dictionaries, and backward elimination from all products, which alone finds expanded squares of differences.
pub(crate) fn regressions(
    view: &View,
    most: usize,
    sink: &mut dyn Sink,
    offer: &mut dyn FnMut(Form),
) -> ControlFlow<()> {
    let view = view.without_zeros();
    let (rows, d) = (view.rows(), view.columns());
    if rows < 20 {
        return ControlFlow::Continue(());
    }
    for k in [1, -1, 2, -2] {
        if i32::abs(k) == 2 && !squares_keep_signs(&view) {
            continue;
        }
        let sign = if i32::abs(k) == 2 { view.usual_sign() } else { 1.0 };
        let t: Vec<f64> = view.y.iter().map(|y| power(*y, k.into())).collect();
        // To first order, noise of the target moves its power by the slope.
        let slope = |y: &f64| 1.0 / (f64::from(k).abs() * power(y.abs(), f64::from(k - 1)) + 1e-12);
        let mut weights: Vec<f64> = view.y.iter().map(slope).collect();
        if k != 1 {
            let largest = quantile(weights.clone(), 0.98);
            weights.iter_mut().for_each(|w| *w = w.min(largest));
        }
        let target: Vec<f64> = t.iter().zip(&weights).map(|(t, w)| t * w).collect();
        let form = |list: &[Exponents], places: &[usize], factors: &[f64]| {
            Form::sum(sign, 1.0 / f64::from(k), terms(list, places, factors), d)
        };
        for degree in [2, 3] {
            if count(d, degree) > rows / 3 {
                break;
            }
            let list = products(d, degree);
            sink.spend((2 * rows * list.len() * list.len()) as f64)?;
            if let Some((places, factors)) = eliminate(&design(&view.x, &list, &weights), &target) {
                offer(form(&list, &places, &factors));
            }
        }
        let degree = (1..=4).rev().find(|&degree| count(d, degree) <= most.min(rows / 2));
        let polynomial = degree.map(|degree| products(d, degree));
        for list in polynomial.into_iter().chain([laurent(d, most)]) {
            let mut a = design(&view.x, &list, &weights);
            let lengths = a.normalise();
            sink.spend((rows * list.len() * list.len()) as f64)?;
            for places in beam(&a, &target, &list) {
                let (c, _) = least_squares(&a.pick(&places), &target);
                let factors: Vec<f64> = c.iter().zip(&places).map(|(c, &j)| c / lengths[j]).collect();
                offer(form(&list, &places, &factors));
            }
        }
    }
    ControlFlow::Continue(())
}

/// Sums with the shortest descriptions, found term by term.
fn beam(a: &Matrix, target: &[f64], list: &[Exponents]) -> Vec<Vec<usize>> {
    let n = list.len();
    let size = dot(target, target).sqrt();
    let t: Vec<f64> = target.iter().map(|t| t / size).collect();
    let (gram, b) = (a.gram_tiled(), a.transposed_times(&t));
    let rows = target.len() as f64;
    let mut ranked = Best::new(BEAM.2);
    let length = |places: &[usize]| -> f64 {
        let exponents: i32 = places.iter().flat_map(|&j| &list[j]).map(|e| e.abs()).sum();
        places.len() as f64 * (0.5 * libm::log2(rows) + 3.0) + f64::from(exponents)
    };
    let bits = |places: &[usize]| {
        let (_, r) = least_squares(&a.pick(places), &t);
        rows * libm::log2(r.max(1e-15)) + length(places)
    };
    let mut single = Best::new(3);
    (0..n).for_each(|j| single.push(-b[j] * b[j], vec![j]));
    for places in single.into_items() {
        ranked.push(bits(&places), places);
    }
    let mut pairs = Best::new(BEAM.0);
    for i in 0..n {
        let mut limit = pairs.limit();
        for j in i + 1..n {
            let g = gram[i][j];
            let left = 1.0 - (b[i] * b[i] + b[j] * b[j] - 2.0 * g * b[i] * b[j]) / (1.0 - g * g).max(1e-6);
            if left < limit {
                pairs.push(left, vec![i, j]);
                limit = pairs.limit();
            }
        }
    }
    let mut sets: Vec<Vec<usize>> = pairs.into_items().collect();
    let mut best = f64::INFINITY;
    for count in 2..=BEAM.1 {
        let mut least = f64::INFINITY;
        for set in &sets {
            let bits = bits(set);
            least = least.min(bits);
            ranked.push(bits, set.clone());
        }
        // Two terms more without a gain: further ones describe noise.
        if least > best + 24.0 || count == BEAM.1 {
            break;
        }
        best = best.min(least);
        let mut next = Best::new(BEAM.0);
        let mut seen = std::collections::BTreeSet::new();
        for set in &sets {
            for (left, j) in extensions(&gram, &b, set, 4, 3e-3) {
                let mut more = set.clone();
                more.push(j);
                more.sort_unstable();
                if seen.insert(more.clone()) {
                    next.push(left, more);
                }
            }
        }
        sets = next.into_items().collect();
    }
    ranked.into_items().collect()
}

/// Leaves out the least significant column again and again, and returns the columns and factors with the shortest description.
fn eliminate(a: &Matrix, target: &[f64]) -> Option<(Vec<usize>, Vec<f64>)> {
    let rows = target.len() as f64;
    let mut normal = a.clone();
    normal.normalise();
    let qr = Qr::new(normal.clone(), 1e-10);
    // Dependent columns are left out from the start.
    let mut places: Vec<usize> = (0..a.columns()).filter(|&j| qr.beyond[j].abs() > 1e-10).collect();
    let normal = normal.pick(&places);
    let qr = Qr::new(normal.clone(), 0.0);
    let mut c = qr.solve(target);
    let mut inverse = qr.inverse_gram();
    let mut rest = normal.times(&c);
    rest.iter_mut().zip(target).for_each(|(r, t)| *r -= t);
    let mut squares = dot(&rest, &rest);
    let mut best: Option<(f64, Vec<usize>)> = None;
    while !places.is_empty() {
        let bits =
            rows / 2.0 * libm::log2(squares.max(1e-30) / rows) + places.len() as f64 * (0.5 * libm::log2(rows) + 3.0);
        if best.as_ref().is_none_or(|best| bits < best.0) {
            best = Some((bits, places.clone()));
        }
        let score = |k: usize| c[k] * c[k] / inverse[k][k].max(1e-300);
        let k = (0..places.len()).min_by(|&i, &j| score(i).total_cmp(&score(j)))?;
        squares += score(k);
        let (row, own) = (inverse[k].clone(), c[k]);
        for i in (0..places.len()).filter(|&i| i != k) {
            let along = -row[i] / row[k];
            c[i] += along * own;
            add(&mut inverse[i], along, &row);
        }
        places.remove(k);
        c.remove(k);
        inverse.remove(k);
        inverse.iter_mut().for_each(|row| {
            row.remove(k);
        });
    }
    let (_, places) = best.filter(|(_, places)| places.len() <= 14)?;
    let mut own = a.pick(&places);
    let scale = own.normalise();
    let (c, _) = least_squares(&own, target);
    Some((places, c.iter().zip(scale).map(|(c, s)| c / s).collect()))
}

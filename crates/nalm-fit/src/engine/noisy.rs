//! What engines offer where the target is noisy: nothing stops early, rows are weighted by what their noise does to them.

use super::dictionary::{Exponents, count, design, laurent, laurent_and_pairs, products, squares_keep_signs, terms};
use super::logarithms::{Settings, Space};
use super::sparse::{Best, extensions, left_by_pair};
use super::{Basis, Sink, powers as product_engine, sums as sums_engine};
use crate::columns::View;
use crate::dense::{Matrix, Qr, add, dot, least_squares, quantile};
use crate::form::{Form, Sum, Term, power};
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
        for (form, rms) in space.search(shape, sign, &Settings { starts: 28, kept: 3, good: 0.0 }, sink)? {
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

fn bits_of_product(e: &Exponents) -> f64 {
    e.iter().filter(|e| **e != 0).map(|e| 2.0 + f64::from(e.abs())).sum()
}

/// Products of which 1 + m and 1 - m are tried as factors.
const UNIT_SUMS: usize = 250;

/// Products of powers of columns and of one or two sums 1 ± m, whose factors are 1: linear in logarithms, so all of them are tried. `scales` are what
/// the columns were divided by. Exponents are as they are fitted.
pub(crate) fn unit_sums(
    view: &View,
    scales: &[f64],
    weigh: Weigh<'_>,
    sink: &mut dyn Sink,
) -> ControlFlow<(), Vec<Form>> {
    let view = view.without_zeros();
    let Some(sign) = view.sign() else { return ControlFlow::Continue(Vec::new()) };
    let (rows, d) = (view.rows(), view.columns());
    let list = laurent_and_pairs(d, UNIT_SUMS);
    if list.len() > 4 * UNIT_SUMS || rows < d + 8 {
        return ControlFlow::Continue(Vec::new());
    }
    let weights: Vec<f64> = view.y.iter().map(|y| weigh.map_or(1.0, |w| w(*y))).collect();
    let products = design(&view.x, &list, &vec![1.0; rows]);
    let mut base = Basis::default();
    base.push(weights.clone(), 0.0);
    for log in view.logs() {
        base.push(log.iter().zip(&weights).map(|(l, w)| l * w).collect(), 1e-10);
    }
    let target: Vec<f64> = view.y.iter().zip(&weights).map(|(y, w)| libm::log(y.abs()) * w).collect();
    let (mut library, mut sums) = (Vec::new(), Vec::new());
    for (j, e) in list.iter().enumerate() {
        // 1 + 1/m is 1 + m over m.
        if e.iter().find(|e| **e != 0).is_none_or(|e| *e < 0) {
            continue;
        }
        let scale = e.iter().zip(scales).fold(1.0, |s, (e, g)| s * power(*g, f64::from(*e)));
        for s in [scale, -scale] {
            let total = |m: &f64| 1.0 + s * m;
            let first = total(&products.column(j)[0]).signum();
            if products.column(j).iter().all(|m| total(m) * first > 0.0) {
                let logs = products.column(j).iter().zip(&weights).map(|(m, w)| libm::log(total(m).abs()) * w);
                library.push(logs.collect::<Vec<f64>>());
                sums.push((j, s, first));
            }
        }
    }
    sink.spend((rows * library.len() * library.len()) as f64)?;
    let mut forms = Vec::new();
    let bits = |k: usize| bits_of_product(&list[sums[k].0]);
    for set in super::library::best(&base, &target, &library, &bits, 2) {
        let mut a = Matrix::new(rows);
        a.push(weights.iter().copied());
        for log in view.logs() {
            a.push(log.iter().zip(&weights).map(|(l, w)| l * w));
        }
        set.iter().for_each(|&k| a.push(library[k].iter().copied()));
        let c = Qr::new(a, 1e-12).solve(&target);
        let mut form = Form::monomial(sign * libm::exp(c[0]), c[1..=d].to_vec());
        for (&k, &q) in set.iter().zip(&c[d + 1..]) {
            let (j, s, first) = sums[k];
            let powers = list[j].iter().map(|e| f64::from(*e)).collect();
            let terms = vec![Term { factor: first, powers: vec![0.0; d] }, Term { factor: first * s, powers }];
            form.sums.push(Sum { power: q, terms });
        }
        if form.sums.iter().all(|sum| sum.power.abs() < 6.0 && sum.power.abs() > 0.1) {
            forms.push(form);
        }
    }
    ControlFlow::Continue(forms)
}

/// The sign of the larger half of a target.
pub(crate) fn sign_of_large(view: &View) -> f64 {
    let middle = quantile(view.y.iter().map(|y| y.abs()).collect(), 0.5);
    let positive = view.y.iter().filter(|y| **y >= middle).count();
    let negative = view.y.iter().filter(|y| **y <= -middle).count();
    if negative > positive { -1.0 } else { 1.0 }
}

/// Most ways in which a form grows at a place.
const WAYS: usize = 6;
/// Bits that a new term must promise.
const PROMISED: f64 = 2.0;
/// Powers of a factor that is new.
const NEW_POWERS: [f64; 5] = [-1.0, 0.5, -0.5, 2.0, -2.0];

/// A form with one term or factor more, for the products that would explain most of its errors at once: to first order, a new term
/// changes the values by a known column, and its part that the constants of the form cannot follow is held against the errors.
///
/// With `bend`, the exponents in front are as free as the constants, and only a factor can be new.
pub(crate) fn grown(
    form: &Form,
    bend: bool,
    view: &View,
    weights: &[f64],
    list: &[Exponents],
    products: &Matrix,
) -> Vec<Form> {
    let (rows, d) = (view.rows(), view.columns());
    let values = form.values(&view.x, rows);
    if values.iter().any(|v| !v.is_finite()) || form.factor == 0.0 {
        return Vec::new();
    }
    let mut r: Vec<f64> = (0..rows).map(|k| (view.y[k] - values[k]) * weights[k]).collect();
    let mut basis = Basis::default();
    basis.push((0..rows).map(|k| values[k] * weights[k]).collect(), 0.0);
    if bend {
        for x in &view.x {
            basis.push((0..rows).map(|k| values[k] * weights[k] * libm::log(x[k].abs().max(1e-300))).collect(), 1e-9);
        }
    }
    // What a change of a sum by 1 does to the values.
    let mut slopes: Vec<Vec<f64>> = Vec::new();
    for sum in &form.sums {
        let total = Form::sum(1.0, 1.0, sum.terms.clone(), d).values(&view.x, rows);
        slopes.push((0..rows).map(|k| values[k] * sum.power / crate::polish::guard(total[k]) * weights[k]).collect());
        for t in &sum.terms {
            let mut column = slopes[slopes.len() - 1].clone();
            crate::form::multiply(&mut column, &view.x, &t.powers);
            basis.push(column, 1e-9);
        }
    }
    basis.project_out(&mut r);
    let squares = dot(&r, &r);
    let ranked = |slope: &dyn Fn(usize) -> f64| -> Vec<(usize, f64)> {
        let slope: Vec<f64> = (0..rows).map(slope).collect();
        let mut best = Best::new(WAYS);
        for j in 0..list.len() {
            let mut column: Vec<f64> = products.column(j).iter().zip(&slope).map(|(m, s)| m * s).collect();
            let before = dot(&column, &column);
            let along = dot(&column, &r);
            // A cheap bound first: what is left of a column is no longer than a millionth of it, or it is not used.
            if along * along <= 1e-9 * squares * before {
                continue;
            }
            basis.project_out(&mut column);
            let own = dot(&column, &column);
            // Bits that the errors shrink by, less those of the product.
            let left = (squares - along * along / own).max(1e-9 * squares);
            let promise = rows as f64 / 2.0 * libm::log2(squares / left) - bits_of_product(&list[j]);
            if own > 1e-6 * before && promise > PROMISED {
                best.push(-promise, (j, along / own));
            }
        }
        best.into_items().collect()
    };
    let powers = |j: usize| -> Vec<f64> { list[j].iter().map(|e| f64::from(*e)).collect() };
    let mut found = Vec::new();
    // One more factor (1 + s m)^q.
    for (j, s) in ranked(&|k| values[k] * weights[k]) {
        // Where exponents stay as they are, a power of 1 is one more term.
        for q in NEW_POWERS.into_iter().chain(bend.then_some(1.0)) {
            let mut more = form.clone();
            let terms = vec![Term { factor: 1.0, powers: vec![0.0; d] }, Term { factor: s / q, powers: powers(j) }];
            more.sums.push(Sum { power: q, terms });
            found.push(more);
        }
    }
    if bend {
        return found;
    }
    // One more term of a sum.
    for (s, slope) in slopes.iter().enumerate() {
        for (j, a) in ranked(&|k| slope[k]) {
            let mut more = form.clone();
            more.sums[s].terms.push(Term { factor: a, powers: powers(j) });
            found.push(more);
        }
    }
    // One more term beside all.
    if form.sums.len() < 2 && form.sums.iter().all(|s| s.power == 1.0) {
        for (j, a) in ranked(&|k| weights[k]) {
            let mut more = form.clone();
            let beside = powers(j).iter().zip(&form.powers).map(|(e, p)| e - p).collect();
            if more.sums.is_empty() {
                more.sums.push(Sum { power: 1.0, terms: vec![Term { factor: 1.0, powers: vec![0.0; d] }] });
            }
            more.sums[0].terms.push(Term { factor: a / form.factor, powers: beside });
            found.push(more);
        }
    }
    found
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
        if k > 0 {
            ratios(&view, f64::from(k), sign, &t, &weights, sink, offer)?;
        }
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

/// Products of a list for numerators and denominators, and how many ratios are offered.
const RATIOS: (usize, usize) = (90, 4);

/// Powers of the target as ratios: t = a m1 + b m2 + c t m3 over all triples. The noise of t biases c, but the ranking suffices.
fn ratios(
    view: &View,
    k: f64,
    sign: f64,
    t: &[f64],
    weights: &[f64],
    sink: &mut dyn Sink,
    offer: &mut dyn FnMut(Form),
) -> ControlFlow<()> {
    let d = view.columns();
    let list = laurent(d, RATIOS.0);
    let n = list.len();
    if n > 2 * RATIOS.0 {
        return ControlFlow::Continue(());
    }
    let mut a = design(&view.x, &list, weights);
    for j in 0..n {
        let column: Vec<f64> = a.column(j).iter().zip(t).map(|(a, t)| a * t).collect();
        a.push(column);
    }
    let lengths = a.normalise();
    let target: Vec<f64> = t.iter().zip(weights).map(|(t, w)| t * w).collect();
    let size = dot(&target, &target).sqrt();
    let unit: Vec<f64> = target.iter().map(|t| t / size).collect();
    sink.spend((view.rows() * 4 * n * n + n * n * n * 2) as f64)?;
    let (gram, b) = (a.gram_tiled(), a.transposed_times(&unit));
    // The denominator's term first; the list begins with 1, which would be t itself.
    let mut best = Best::new(RATIOS.1);
    let (mut own, mut product) = (vec![0.0; n], vec![0.0; n]);
    for i in n + 1..2 * n {
        let g = &gram[i];
        for j in 0..n {
            own[j] = 1.0 / (1.0 - g[j] * g[j]).max(1e-4).sqrt();
            product[j] = (b[j] - g[j] * b[i]) * own[j];
        }
        let left = 1.0 - b[i] * b[i];
        for j in 0..n {
            let mut limit = best.limit();
            for l in j + 1..n {
                let both = (gram[j][l] - g[j] * g[l]) * own[j] * own[l];
                let rest = left - left_by_pair(both, product[j], product[l], 1e-4);
                if rest < limit {
                    best.push(rest, [j, l, i]);
                    limit = best.limit();
                }
            }
        }
    }
    for places in best.into_items() {
        let (c, _) = least_squares(&a.pick(&places), &target);
        let factor = |k: usize| c[k] / lengths[places[k]];
        let mut form = Form::sum(sign, 1.0 / k, terms(&list, &places[..2], &[factor(0), factor(1)]), d);
        let mut below = vec![Term { factor: 1.0, powers: vec![0.0; d] }];
        below.extend(terms(&list, &[places[2] - n], &[-factor(2)]));
        form.sums.push(Sum { power: -1.0 / k, terms: below });
        offer(form);
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

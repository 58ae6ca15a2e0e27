//! Few terms out of a long list: all pairs, all triples with ratios, and a beam of more, ranked by their Gram matrix.

use super::dictionary::{Exponents, Powered, design, laurent, terms};
use super::{Engine, Sink};
use crate::columns::View;
use crate::dense::{Matrix, dot, least_squares};
use crate::form::Term;
use std::ops::ControlFlow;

pub(crate) struct Sparse;

impl Engine for Sparse {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        search(view, &[1, -1, 2, -2], &Settings::FULL, sink)
    }
}

/// How much to look at.
pub(crate) struct Settings {
    /// Terms of which all pairs are tried.
    pub(crate) pairs: usize,
    /// Terms of which all triples are tried.
    pub(crate) triples: usize,
    /// Sums of the beam, and their most terms.
    pub(crate) beam: (usize, usize),
}

impl Settings {
    pub(crate) const FULL: Self = Self { pairs: 1500, triples: 220, beam: (40, 5) };
    pub(crate) const SMALL: Self = Self { pairs: 600, triples: 100, beam: (20, 5) };
}

/// A fit with less than this left is worth judging.
const GOOD: f64 = 1e-9;
/// Rows that suffice for ranking.
const RANKED: usize = 128;

/// The best of many, the smallest first.
pub(crate) struct Best<T> {
    most: usize,
    list: Vec<(f64, T)>,
}

impl<T> Best<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, list: Vec::new() }
    }

    /// A score below which something new is kept.
    pub(crate) fn limit(&self) -> f64 {
        if self.list.len() < self.most { f64::INFINITY } else { self.list.last().map_or(f64::INFINITY, |l| l.0) }
    }

    pub(crate) fn push(&mut self, score: f64, item: T) {
        if score < self.limit() {
            let place = self.list.partition_point(|l| l.0 <= score);
            self.list.insert(place, (score, item));
            self.list.truncate(self.most);
        }
    }

    pub(crate) fn into_items(self) -> impl Iterator<Item = T> {
        self.list.into_iter().map(|(_, item)| item)
    }
}

/// Columns x^e and perhaps x^e y^k, ready to be ranked.
struct Book<'a> {
    target: &'a Powered,
    list: Vec<Exponents>,
    /// Whether the term goes with the power of the target.
    with_target: Vec<bool>,
    a: Matrix,
    lengths: Vec<f64>,
    weighted: Vec<f64>,
    size: f64,
}

impl<'a> Book<'a> {
    fn new(view: &View, target: &'a Powered, plain: Vec<Exponents>, ratios: bool) -> Self {
        let mut list = plain.clone();
        let mut with_target = vec![false; plain.len()];
        let mut a = design(&view.x, &plain, &target.weights);
        if ratios {
            for (j, e) in plain.iter().enumerate().filter(|(_, e)| e.iter().any(|e| *e != 0)) {
                let column: Vec<f64> = a.column(j).iter().zip(&target.t).map(|(a, t)| a * t).collect();
                a.push(column);
                list.push(e.clone());
                with_target.push(true);
            }
        }
        let lengths = a.normalise();
        let size = dot(&target.weighted, &target.weighted).sqrt();
        let weighted = target.weighted.iter().map(|t| t / size).collect();
        Self { target, list, with_target, a, lengths, weighted, size }
    }

    /// Gram matrix and products with the target over a part of the rows, of columns that have length 1 there.
    fn ranking(&self) -> (Vec<Vec<f64>>, Vec<f64>) {
        let rows = self.a.rows.min(RANKED);
        let step = self.a.rows as f64 / rows as f64;
        let pick = |v: &[f64]| -> Vec<f64> { (0..rows).map(|k| v[(k as f64 * step) as usize]).collect() };
        let mut part = Matrix::new(rows);
        for j in 0..self.list.len() {
            part.push(pick(self.a.column(j)));
        }
        part.normalise();
        let mut t = pick(&self.weighted);
        let size = dot(&t, &t).sqrt().max(f64::MIN_POSITIVE);
        t.iter_mut().for_each(|t| *t /= size);
        (part.gram_tiled(), part.transposed_times(&t))
    }

    /// Fits these columns and offers the form if next to nothing is left.
    fn offer(&self, places: &[usize], columns: usize, sink: &mut dyn Sink) -> ControlFlow<(), bool> {
        let (c, r) = least_squares(&self.a.pick(places), &self.weighted);
        if r > GOOD || r.is_nan() {
            return ControlFlow::Continue(false);
        }
        let c: Vec<f64> = places.iter().zip(&c).map(|(&j, c)| c * self.size / self.lengths[j]).collect();
        let (mut over, mut over_c, mut under, mut under_c) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (&j, &c) in places.iter().zip(&c) {
            if self.with_target[j] {
                under.push(j);
                under_c.push(-c);
            } else {
                over.push(j);
                over_c.push(c);
            }
        }
        if over.is_empty() {
            return ControlFlow::Continue(false);
        }
        let over = terms(&self.list, &over, &over_c);
        if under.is_empty() {
            sink.offer(self.target.form(over, columns), r)?;
        } else {
            let mut below = vec![Term { factor: 1.0, powers: vec![0.0; columns] }];
            below.extend(terms(&self.list, &under, &under_c));
            sink.offer(self.target.ratio(over, below, columns), r)?;
        }
        ControlFlow::Continue(true)
    }
}

/// What the best two columns leave of a target of length 1, given their products with it and with each other.
pub(super) fn left_by_pair(gij: f64, bi: f64, bj: f64, least: f64) -> f64 {
    (bi * bi + bj * bj - 2.0 * gij * bi * bj) / (1.0 - gij * gij).max(least)
}

pub(crate) fn search(view: &View, powers: &[i32], settings: &Settings, sink: &mut dyn Sink) -> ControlFlow<()> {
    let view = view.filtered(|k| view.x.iter().all(|x| x[k] != 0.0));
    let d = view.columns();
    if view.rows() < 12 {
        return ControlFlow::Continue(());
    }
    for &k in powers {
        let Some(target) = Powered::new(&view, k) else { continue };
        let book = Book::new(&view, &target, laurent(d, settings.pairs), false);
        let n = book.list.len();
        let (gram, b) = book.ranking();
        sink.spend((n * n * RANKED) as f64)?;
        let mut pairs = Best::new(settings.beam.0.max(12));
        for i in 0..n {
            let (row, bi) = (&gram[i], b[i]);
            let limit = pairs.limit();
            let mut least = limit;
            for j in i + 1..n {
                let left = 1.0 - left_by_pair(row[j], bi, b[j], 1e-10);
                if left < least {
                    pairs.push(left, vec![i, j]);
                    least = pairs.limit();
                }
            }
        }
        let pairs: Vec<Vec<usize>> = pairs.into_items().collect();
        for pair in pairs.iter().take(12) {
            if book.offer(pair, d, sink)? {
                return ControlFlow::Continue(());
            }
        }
        if triples(&view, &target, settings, sink)? || beam(&book, &gram, &b, pairs, settings.beam, d, sink)? {
            return ControlFlow::Continue(());
        }
    }
    ControlFlow::Continue(())
}

/// All triples of terms, with ratios: one or two of them may go with the power of the target.
fn triples(view: &View, target: &Powered, settings: &Settings, sink: &mut dyn Sink) -> ControlFlow<(), bool> {
    let d = view.columns();
    let book = Book::new(view, target, laurent(d, settings.triples / 2), true);
    let n = book.list.len();
    let (gram, b) = book.ranking();
    sink.spend((n * n * (RANKED + 3 * n)) as f64)?;
    let mut best = Best::new(15);
    let (mut own, mut product) = (vec![0.0; n], vec![0.0; n]);
    for i in 0..n {
        let g = &gram[i];
        for j in i + 1..n {
            own[j] = 1.0 / (1.0 - g[j] * g[j]).max(1e-9).sqrt();
            product[j] = (b[j] - g[j] * b[i]) * own[j];
        }
        let left = 1.0 - b[i] * b[i];
        let mut two = Best::new(2);
        for j in i + 1..n {
            let (row, gj, oj, pj) = (&gram[j], g[j], own[j], product[j]);
            let mut limit = two.limit();
            for l in j + 1..n {
                let both = (row[l] - gj * g[l]) * oj * own[l];
                let rest = left - left_by_pair(both, pj, product[l], 1e-8);
                if rest < limit {
                    two.push(rest, (j, l));
                    limit = two.limit();
                }
            }
        }
        for (score, (j, l)) in two.list {
            best.push(score, vec![i, j, l]);
        }
    }
    for triple in best.into_items() {
        if book.offer(&triple, d, sink)? {
            return ControlFlow::Continue(true);
        }
    }
    ControlFlow::Continue(false)
}

/// Extends the best pairs term by term.
fn beam(
    book: &Book<'_>,
    gram: &[Vec<f64>],
    b: &[f64],
    mut sets: Vec<Vec<usize>>,
    (width, most): (usize, usize),
    columns: usize,
    sink: &mut dyn Sink,
) -> ControlFlow<(), bool> {
    for _ in 2..most {
        let mut next = Best::new(width);
        let mut seen = std::collections::BTreeSet::new();
        for set in &sets {
            for (score, j) in extensions(gram, b, set, 8, 1e-3) {
                let mut more = set.clone();
                more.push(j);
                more.sort_unstable();
                if seen.insert(more.clone()) {
                    next.push(score, more);
                }
            }
        }
        sink.spend((sets.len() * gram.len() * 30) as f64)?;
        sets = next.into_items().collect();
        for set in sets.iter().take(6) {
            if book.offer(set, columns, sink)? {
                return ControlFlow::Continue(true);
            }
        }
    }
    ControlFlow::Continue(false)
}

/// The terms that explain most of what a set leaves, with what would be left, by the Gram matrix alone.
pub(crate) fn extensions(gram: &[Vec<f64>], b: &[f64], set: &[usize], most: usize, least: f64) -> Vec<(f64, usize)> {
    let n = gram.len();
    // Orthogonalise the set: rows of the inverse of Cholesky's factor.
    let mut basis: Vec<Vec<f64>> = Vec::new(); // products of orthonormal directions with all columns
    let mut with_target: Vec<f64> = Vec::new();
    for &i in set {
        let mut row = gram[i].clone();
        let mut own = b[i];
        for (q, t) in basis.iter().zip(&with_target) {
            let along = q[i];
            crate::dense::add(&mut row, -along, q);
            own -= along * t;
        }
        let length = row[i].max(1e-14).sqrt();
        row.iter_mut().for_each(|r| *r /= length);
        basis.push(row);
        with_target.push(own / length);
    }
    let left = 1.0 - with_target.iter().map(|t| t * t).sum::<f64>();
    let mut best = Best::new(most);
    for j in (0..n).filter(|j| !set.contains(j)) {
        let (mut product, mut own) = (b[j], 1.0);
        for (q, t) in basis.iter().zip(&with_target) {
            product -= q[j] * t;
            own -= q[j] * q[j];
        }
        best.push(left - product * product / own.max(least * least), j);
    }
    best.list
}

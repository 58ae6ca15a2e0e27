//! Relations P + Q y = 0 and P + Q y² = 0 between polynomials: ratios, and square roots of ratios.
//!
//! Columns x^e y^a are ordered by degree and orthogonalised one by one. The first that depends on those before it is the relation of
//! the lowest degree; no degrees need to be guessed.

use super::dictionary::{Exponents, Powered, count, design, products, pruned, squares_keep_signs};
use super::{Engine, Sink, polynomial};
use crate::columns::View;
use crate::dense::{Matrix, Qr, median};
use crate::form::{Form, Sum, Term, power};
use crate::judge::relative_weights;
use std::ops::ControlFlow;

pub(crate) struct Implicit;

impl Engine for Implicit {
    fn name(&self) -> &'static str {
        "implicit"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        search(view, 160, sink)
    }
}

/// A column that is less than this beyond those before it depends on them.
const DEPENDENT: f64 = 1e-11;
/// The degree of y: slightly less than 1, else common factors of P and Q come first.
const DEGREE_OF_TARGET: f64 = 0.9;

/// Terms of a relation: factor, exponents, and which power of the target they go with.
pub(crate) type Relation = (Vec<(f64, Exponents, usize)>, f64);

/// The first two relations among columns x^e t^a with their weights, the lowest degrees first.
pub(crate) fn relations(
    view: &View,
    powers: &[Vec<f64>],
    weights: &[f64],
    columns: &[(usize, Exponents)],
) -> Vec<Relation> {
    let list: Vec<Exponents> = columns.iter().map(|(_, e)| e.clone()).collect();
    let plain = design(&view.x, &list, weights);
    let mut a = Matrix::new(view.rows());
    for (j, (p, _)) in columns.iter().enumerate() {
        a.push(plain.column(j).iter().zip(&powers[*p]).map(|(x, t)| x * t));
    }
    let lengths = a.normalise();
    let beyond = Qr::new(a.clone(), DEPENDENT).beyond;
    let mut found = Vec::new();
    for j in (1..columns.len()).filter(|&j| beyond[j].abs() < DEPENDENT) {
        let before: Vec<usize> = (0..j).collect();
        let Some((keep, factors, r)) = pruned(&a.pick(&before), a.column(j), 1e-9) else { continue };
        let mut terms: Vec<(f64, Exponents, usize)> =
            keep.iter().zip(factors).map(|(&i, c)| (c / lengths[i], columns[i].1.clone(), columns[i].0)).collect();
        terms.push((-1.0 / lengths[j], columns[j].1.clone(), columns[j].0));
        if terms.iter().any(|t| t.2 > 0) {
            found.push((terms, r));
        }
        if found.len() == 2 {
            break;
        }
    }
    found
}

fn with_power(relation: &Relation, p: usize, sign: f64) -> Vec<Term> {
    let term = |(c, e, _): &(f64, Exponents, usize)| Term {
        factor: sign * c,
        powers: e.iter().map(|e| f64::from(*e)).collect(),
    };
    relation.0.iter().filter(|t| t.2 == p).map(term).collect()
}

pub(crate) fn search(view: &View, most: usize, sink: &mut dyn Sink) -> ControlFlow<()> {
    let most = most.min(view.rows() * 3 / 5);
    let columns = view.columns();
    for k in [1, 2] {
        let t: Vec<f64> = view.y.iter().map(|y| power(*y, k.into())).collect();
        let degree = (1..=6).rev().find(|&d| 2 * count(columns, d) <= 3 * most).unwrap_or(1);
        if 2 * count(columns, degree) > 4 * most {
            return ControlFlow::Continue(());
        }
        let list = products(columns, degree);
        let size = |e: &Exponents, a: usize| f64::from(e.iter().sum::<i32>()) + DEGREE_OF_TARGET * a as f64;
        let mut all: Vec<(usize, Exponents)> = list.iter().flat_map(|e| [(0, e.clone()), (1, e.clone())]).collect();
        all.sort_by(|x, y| size(&x.1, x.0).total_cmp(&size(&y.1, y.0)));
        all.truncate(most);
        let weights = relative_weights(&t, 1.0);
        sink.spend((2 * view.rows() * all.len() * all.len()) as f64)?;
        let powers = [vec![1.0; view.rows()], t.clone()];
        for relation in relations(view, &powers, &weights, &all) {
            let (mut over, mut under) = (with_power(&relation, 0, -1.0), with_power(&relation, 1, 1.0));
            if over.is_empty() || under.is_empty() {
                continue;
            }
            if k == 2 {
                let values = sum_values(view, &over);
                if median(values) < 0.0 {
                    over.iter_mut().chain(&mut under).for_each(|t| t.factor = -t.factor);
                }
                for (terms, sign) in [(&under, 1.0), (&over, -1.0)] {
                    peel(view, terms, sign, most, sink)?;
                }
                if !squares_keep_signs(view) {
                    continue;
                }
            }
            if let Some(target) = Powered::new(view, k) {
                sink.offer(target.ratio(over, under, columns), relation.1)?;
            }
        }
    }
    ControlFlow::Continue(())
}

fn sum_values(view: &View, terms: &[Term]) -> Vec<f64> {
    Form::sum(1.0, 1.0, terms.to_vec(), view.columns()).values(&view.x, view.rows())
}

/// If a sum of a relation for y² has one sign, y times or over its root may be a polynomial: S1 / √S2 with S1 of both signs.
fn peel(view: &View, terms: &[Term], sign: f64, most: usize, sink: &mut dyn Sink) -> ControlFlow<()> {
    let z = sum_values(view, terms);
    let first = z[0].signum();
    if terms.len() < 2 || z.iter().any(|z| z.signum() != first || *z == 0.0) {
        return ControlFlow::Continue(());
    }
    let y = view.y.iter().zip(&z).map(|(y, z)| y * power(z.abs(), 0.5 * sign)).collect();
    let root = Sum {
        power: -0.5 * sign,
        terms: terms.iter().map(|t| Term { factor: t.factor * first, powers: t.powers.clone() }).collect(),
    };
    let mut with_root = WithSum { root, sink };
    polynomial::search(&View { x: view.x.clone(), y }, &[1, -1], most, 6, &mut with_root)
}

/// Multiplies what is found by a sum.
struct WithSum<'a> {
    root: Sum,
    sink: &'a mut dyn Sink,
}

impl Sink for WithSum<'_> {
    fn offer(&mut self, mut form: Form, rms: f64) -> ControlFlow<()> {
        form.sums.push(self.root.clone());
        self.sink.offer(form, rms)
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        self.sink.spend(operations)
    }
}

//! Relations Q y² + P y + R = 0: y is -P/2Q plus something whose square is simple, as in nested roots.

use super::dictionary::{Exponents, degree_for, products};
use super::{Divide, Engine, Implicit, Logarithms, Polynomial, Powers, Sink, Sparse, Sums, implicit};
use crate::columns::View;
use crate::dense::median;
use crate::form::{Form, Sum, Term};
use std::ops::ControlFlow;

pub(crate) struct Quadratic;

impl Engine for Quadratic {
    fn name(&self) -> &'static str {
        "quadratic"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        let most = (view.rows() * 3 / 5).min(190);
        let degree = degree_for(view.columns(), most, 10);
        if degree == 0 {
            return ControlFlow::Continue(());
        }
        let list = products(view.columns(), degree);
        let middle = median(view.y.iter().map(|y| y.abs()).collect());
        let weights: Vec<f64> = view.y.iter().map(|y| 1.0 / libm::pow(middle + y.abs(), 1.5)).collect();
        let squares = view.y.iter().map(|y| y * y).collect();
        let powers = [vec![1.0; view.rows()], view.y.clone(), squares];
        for degree_of_target in [1.0, 2.0, 3.0] {
            let size = |e: &Exponents, a: usize| f64::from(e.iter().sum::<i32>()) + degree_of_target * a as f64;
            let mut all: Vec<(usize, Exponents)> =
                list.iter().flat_map(|e| (0..3).map(move |a| (a, e.clone()))).collect();
            all.retain(|(a, e)| *a == 0 || size(e, *a) <= degree as f64 + 0.5);
            all.sort_by(|x, y| size(&x.1, x.0).total_cmp(&size(&y.1, y.0)));
            all.truncate(most);
            sink.spend((2 * view.rows() * all.len() * all.len()) as f64)?;
            for (relation, _) in implicit::relations(view, &powers, &weights, &all) {
                let part = |p: usize| -> Vec<Term> {
                    let own = relation.iter().filter(|t| t.2 == p);
                    own.map(|(c, e, _)| Term { factor: *c, powers: e.iter().map(|e| f64::from(*e)).collect() })
                        .collect()
                };
                let (linear, square) = (part(1), part(2));
                if linear.is_empty() || square.is_empty() {
                    continue;
                }
                let mut middle = Form::sum(-0.5, 1.0, linear, view.columns());
                middle.sums.push(Sum { power: -1.0, terms: square });
                let values = middle.values(&view.x, view.rows());
                let rest: Vec<f64> = view.y.iter().zip(values).map(|(y, v)| y - v).collect();
                if rest.iter().any(|z| !z.is_finite()) {
                    continue;
                }
                let view = View { x: view.x.clone(), y: rest };
                let mut sink = Added { middle: Box::new(middle), sink };
                let engines: [&dyn Engine; 7] = [
                    &Powers,
                    &Polynomial,
                    &Logarithms { shapes: &[&[0]], starts: 40 },
                    &Divide::Relations,
                    &Implicit,
                    &Sums(&[2]),
                    &Sparse,
                ];
                for engine in engines {
                    engine.search(&view, &mut sink)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Adds what was subtracted.
struct Added<'a> {
    middle: Box<Form>,
    sink: &'a mut dyn Sink,
}

impl Sink for Added<'_> {
    fn offer(&mut self, mut form: Form, rms: f64) -> ControlFlow<()> {
        form.add = Some(self.middle.clone());
        self.sink.offer(form, rms)
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        self.sink.spend(operations)
    }
}

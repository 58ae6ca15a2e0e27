//! Polynomials, their inverses, and square roots of either.

use super::dictionary::{Powered, degree_for, design, products, pruned, terms};
use super::{Engine, Sink};
use crate::columns::View;
use std::ops::ControlFlow;

pub(crate) struct Polynomial;

impl Engine for Polynomial {
    fn name(&self) -> &'static str {
        "polynomial"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        search(view, &[1, -1, 2, -2], 140, 6, sink)
    }
}

/// Powers of the target as polynomials of degree 2 and of the largest degree that the rows allow.
pub(crate) fn search(view: &View, powers: &[i32], most: usize, degree: usize, sink: &mut dyn Sink) -> ControlFlow<()> {
    let most = most.min(view.rows() * 3 / 5);
    let largest = degree_for(view.columns(), most, degree);
    let mut degrees = vec![2.min(largest), largest];
    degrees.dedup();
    for &k in powers {
        let Some(target) = Powered::new(view, k) else { continue };
        for &degree in degrees.iter().filter(|d| **d > 0) {
            let list = products(view.columns(), degree);
            let a = design(&view.x, &list, &target.weights);
            sink.spend((2 * view.rows() * list.len() * list.len()) as f64)?;
            if let Some((keep, factors, r)) = pruned(&a, &target.weighted, 1e-10) {
                sink.offer(target.form(terms(&list, &keep, &factors), view.columns()), r)?;
                // A higher degree or another power would only say the same in more words.
                return ControlFlow::Continue(());
            }
        }
    }
    ControlFlow::Continue(())
}

//! A product of powers that is nearly right, and one more term: square roots of one plus something large.

use super::dictionary::{Exponents, Powered, design, laurent};
use super::{Engine, Sink, powers};
use crate::columns::View;
use crate::dense::{Matrix, Qr, dot, least_squares, norm};
use crate::form::{Term, monomial};
use crate::judge::with_simple_exponents;
use std::ops::ControlFlow;

pub(crate) struct Grow;

/// Terms to choose from.
const TERMS: usize = 1500;

impl Engine for Grow {
    fn name(&self) -> &'static str {
        "grow"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        let view = view.without_zeros();
        let Some((form, rms)) = powers::product(&view, None) else { return ControlFlow::Continue(()) };
        if rms >= 1e-3 {
            return ControlFlow::Continue(());
        }
        let Some(form) = with_simple_exponents(&form, 2e-2) else { return ControlFlow::Continue(()) };
        let list: Vec<Exponents> = laurent(view.columns(), TERMS);
        for k in [1, -1, 2, -2] {
            let Some(target) = Powered::new(&view, k) else { continue };
            let first: Vec<f64> = form.powers.iter().map(|p| p * f64::from(k)).collect();
            let mut base = Matrix::new(view.rows());
            base.push(monomial(&view.x, &first, view.rows()).iter().zip(&target.weights).map(|(m, w)| m * w));
            let mut a = design(&view.x, &list, &target.weights);
            let lengths = a.normalise();
            let qr = Qr::new(base.clone(), 0.0);
            let mut rest = target.weighted.clone();
            qr.project_out(&mut rest);
            let mut scores: Vec<(f64, usize)> = Vec::new();
            for j in 0..list.len() {
                let mut own = a.column(j).to_vec();
                qr.project_out(&mut own);
                scores.push((dot(&own, &rest).abs() / norm(&own).max(1e-7), j));
            }
            sink.spend((list.len() * view.rows() * 8) as f64)?;
            scores.sort_by(|x, y| y.0.total_cmp(&x.0));
            for &(_, j) in scores.iter().take(6) {
                let mut pair = base.clone();
                pair.push(a.column(j).iter().copied());
                let scale = pair.normalise();
                let (c, r) = least_squares(&pair, &target.weighted);
                if r < 1e-9 {
                    let powers = list[j].iter().map(|e| f64::from(*e)).collect();
                    let terms = vec![
                        Term { factor: c[0] / scale[0], powers: first.clone() },
                        Term { factor: c[1] / scale[1] / lengths[j], powers },
                    ];
                    sink.offer(target.form(terms, view.columns()), r)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

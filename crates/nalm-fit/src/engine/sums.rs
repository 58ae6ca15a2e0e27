//! Sums of products of powers with any exponents: y = Σ c exp(E·u), and 1/y. Factors are eliminated, exponents searched.

use super::{Engine, Sink};
use crate::columns::{Draws, View};
use crate::dense::{Matrix, Qr, add, dot, norm, solve_damped};
use crate::form::{Form, Term, power};
use crate::judge::relative_weights;
use std::ops::ControlFlow;

/// Sums of so many terms.
pub(crate) struct Sums(pub(crate) &'static [usize]);

impl Engine for Sums {
    fn name(&self) -> &'static str {
        "sums"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        search(view, self.0, if self.0 == [2] { 16 } else { 24 }, 1e-7, sink)
    }
}

struct Space {
    logs: Vec<Vec<f64>>,
    weights: Vec<f64>,
    target: Vec<f64>,
}

struct State {
    cost: f64,
    weighted: Vec<Vec<f64>>,
    qr: Qr,
    r: Vec<f64>,
    c: Vec<f64>,
}

impl Space {
    fn evaluate(&self, e: &[Vec<f64>]) -> Option<State> {
        let rows = self.target.len();
        let mut a = Matrix::new(rows);
        let mut weighted = Vec::new();
        for e in e {
            let mut z = vec![0.0; rows];
            for (log, &e) in self.logs.iter().zip(e) {
                add(&mut z, e, log);
            }
            if z.iter().any(|z| z.abs() > 60.0 || z.is_nan()) {
                return None;
            }
            z.iter_mut().zip(&self.weights).for_each(|(z, w)| *z = libm::exp(*z) * w);
            a.push(z.iter().copied());
            weighted.push(z);
        }
        let lengths = a.normalise();
        let qr = Qr::new(a, 1e-10);
        if qr.rank() < e.len() {
            return None;
        }
        let c: Vec<f64> = qr.solve(&self.target).iter().zip(&lengths).map(|(c, l)| c / l).collect();
        let mut r = self.target.clone();
        qr.project_out(&mut r);
        Some(State { cost: dot(&r, &r), weighted, qr, r, c })
    }

    fn minimise(&self, e: &[Vec<f64>], most: usize, sink: &mut dyn Sink) -> Option<(f64, Vec<Vec<f64>>, Vec<f64>)> {
        let (d, terms) = (self.logs.len(), e.len());
        let mut e = e.to_vec();
        let mut state = self.evaluate(&e)?;
        let size = norm(&self.target);
        let mut damping = 1e-2;
        for _ in 0..most {
            let mut j = Matrix::new(self.target.len());
            for (m, &c) in state.weighted.iter().zip(&state.c) {
                for log in &self.logs {
                    j.push(m.iter().zip(log).map(|(m, l)| c * m * l));
                }
            }
            for k in 0..j.columns() {
                state.qr.project_out(j.column_mut(k));
            }
            let lengths: Vec<f64> = (0..j.columns()).map(|k| norm(j.column(k)).max(1e-12)).collect();
            for (k, &length) in lengths.iter().enumerate() {
                j.column_mut(k).iter_mut().for_each(|x| *x /= length);
            }
            let (h, g) = (j.gram(), j.transposed_times(&state.r));
            if sink.spend((j.rows * g.len() * (8 * terms + g.len())) as f64).is_break() {
                return None;
            }
            let mut taken = None;
            for _ in 0..6 {
                if let Some(mut step) = solve_damped(&h, damping, &g) {
                    step.iter_mut().zip(&lengths).for_each(|(s, l)| *s /= l);
                    let largest = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
                    if largest > 1.0 {
                        step.iter_mut().for_each(|s| *s /= largest);
                    }
                    let next: Vec<Vec<f64>> =
                        (0..terms).map(|k| e[k].iter().zip(&step[k * d..]).map(|(a, b)| a + b).collect()).collect();
                    if let Some(found) = self.evaluate(&next).filter(|found| found.cost < state.cost) {
                        taken = Some((next, found));
                        break;
                    }
                }
                damping = damping * 6.0 + 1e-13;
            }
            let Some((next, found)) = taken else { break };
            (e, state) = (next, found);
            damping = f64::max(damping / 5.0, 1e-13);
            if state.cost.sqrt() < 1e-13 * size {
                break;
            }
        }
        Some((state.cost.sqrt() / size, e, state.c))
    }
}

pub(crate) fn search(view: &View, terms: &[usize], starts: usize, good: f64, sink: &mut dyn Sink) -> ControlFlow<()> {
    let view = view.without_zeros();
    let d = view.columns();
    if view.mixed().contains(&true) {
        return ControlFlow::Continue(());
    }
    let logs = view.logs();
    for &terms in terms {
        if view.rows() < terms * (d + 1) + 3 {
            continue;
        }
        for k in [1.0, -1.0] {
            let t: Vec<f64> = view.y.iter().map(|y| power(*y, k)).collect();
            let weights = relative_weights(&t, 1.0);
            let target = t.iter().zip(&weights).map(|(t, w)| t * w).collect();
            let space = Space { logs: logs.clone(), weights, target };
            let mut draws = Draws::new(&format!("sums {terms} {k}"));
            let mut best: Option<(f64, Vec<Vec<f64>>, Vec<f64>)> = None;
            let each = (30 * view.rows() * terms * d * (8 + terms * d)) as f64;
            for _ in 0..starts.min((3e9 / each) as usize) {
                let mut e = vec![vec![0.0; d]; terms];
                for e in &mut e {
                    let count = 1 + draws.below(d.min(4));
                    for i in draws.some(count, d) {
                        e[i] = draws.of(&[-2.0, -1.0, 1.0, 1.0, 2.0]);
                    }
                    e.iter_mut().for_each(|e| *e += 0.05 * draws.normal());
                }
                let found = space.minimise(&e, 12, sink);
                sink.spend(0.0)?;
                let Some(mut found) = found else { continue };
                if best.as_ref().is_none_or(|best| found.0 < best.0) {
                    if found.0 < 0.3 {
                        found = space.minimise(&found.1, 80, sink).unwrap_or(found);
                        sink.spend(0.0)?;
                    }
                    best = Some(found);
                }
                if best.as_ref().is_some_and(|best| best.0 < good) {
                    break;
                }
            }
            if let Some((r, e, c)) = best {
                let terms = e.into_iter().zip(c).map(|(powers, factor)| Term { factor, powers }).collect();
                sink.offer(Form::sum(1.0, 1.0 / k, terms, d), r)?;
            }
        }
    }
    ControlFlow::Continue(())
}

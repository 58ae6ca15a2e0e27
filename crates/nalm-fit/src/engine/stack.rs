//! Products of sums over any number of columns: a layer of NAU below a layer of NMU, trained by Levenberg and Marquardt.
//!
//! Searching fails where a hundred columns could belong to any of two sums, because lists of terms explode; gradients do not mind. Weights are
//! free while they are fitted, those that are next to nothing are left out afterwards, and the stack grows by one factor where it does not suffice.

use super::{Engine, Sink};
use crate::columns::{Draws, View};
use crate::form::{Form, Sum, Term};
use nalm::second_order::{LevenbergMarquardt, Settings, Step};
use nalm::{Batch, Nau, Network, Nmu};
use std::ops::ControlFlow;

pub(crate) struct Stack;

/// Most factors.
const FACTORS: usize = 3;
/// Random starts of each stack.
const STARTS: usize = 3;
const ITERATIONS: usize = 120;
/// Operations that a stack may take; what has more columns is left alone.
const MOST: f64 = 4e10;

impl Engine for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        let d = view.columns();
        let inputs: Vec<f64> = (0..view.rows()).flat_map(|k| view.x.iter().map(move |x| x[k])).collect();
        let mut smaller: Option<Vec<f64>> = None;
        for factors in 2..=FACTORS {
            let params = factors * (d + 1);
            let cost = (params * params * (view.rows() + params)) as f64;
            if view.rows() < params || cost * (ITERATIONS * STARTS) as f64 > MOST {
                break;
            }
            let Ok(batch) = Batch::from_rows(view.rows(), &inputs, &view.y) else { break };
            let (Ok(nau), Ok(nmu)) = (Nau::new(d, factors), Nmu::new(factors, 1)) else { break };
            let Ok(network) = Network::<f64>::new(vec![Box::new(nau), Box::new(nmu)]) else { break };
            let mut draws = Draws::new(&format!("stack {factors}"));
            let mut best: Option<(f64, Vec<f64>)> = None;
            for start in 0..STARTS {
                let weight = |draws: &mut Draws| (1.0 + 2.0 * draws.normal()) / d as f64;
                let mut weights: Vec<f64> = (0..factors * d).map(|_| weight(&mut draws)).collect();
                if let Some(smaller) = smaller.as_ref().filter(|_| start == 0) {
                    // Grown by one factor that is nearly 1.
                    weights[..smaller.len()].copy_from_slice(smaller);
                }
                weights.extend(vec![1.0; factors]);
                let Ok(mut fit) = LevenbergMarquardt::new(&network, batch.clone(), weights, Settings::default()) else {
                    continue;
                };
                let mut before = f64::INFINITY;
                for k in 0..ITERATIONS {
                    sink.spend(cost)?;
                    if fit.iterate() == Step::Stuck || fit.relative_loss() < 1e-26 {
                        break;
                    }
                    if k % 15 == 14 {
                        if fit.cost() > 0.9 * before {
                            break;
                        }
                        before = fit.cost();
                    }
                }
                let error = fit.relative_loss().sqrt();
                if best.as_ref().is_none_or(|best| error < best.0) {
                    best = Some((error, fit.params()[..factors * d].to_vec()));
                }
                if error < 1e-9 {
                    break;
                }
            }
            let Some((error, weights)) = best else { break };
            for least in [1e-2, 1e-5] {
                sink.offer(product(&weights, d, least), if error < 1e-6 { error } else { 1.0 })?;
            }
            if error < 1e-9 {
                break;
            }
            smaller = Some(weights);
        }
        ControlFlow::Continue(())
    }
}

/// The product of sums without weights that are small beside the largest of their sum.
fn product(weights: &[f64], columns: usize, least: f64) -> Form {
    let mut form = Form::monomial(1.0, vec![0.0; columns]);
    for row in weights.chunks_exact(columns) {
        let largest = row.iter().fold(0.0f64, |m, w| m.max(w.abs()));
        let kept = (0..columns).filter(|&i| row[i].abs() > least * largest);
        let unit = |i: usize| (0..columns).map(|j| f64::from(i == j)).collect();
        let terms = kept.map(|i| Term { factor: row[i], powers: unit(i) }).collect();
        form.sums.push(Sum { power: 1.0, terms });
    }
    form
}

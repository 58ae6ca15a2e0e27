//! Products and ratios of sums over any number of columns: a layer of NAU below a layer of NMU or NPU, trained by Levenberg and Marquardt.
//!
//! Searching fails where a hundred columns could belong to any of two sums, because lists of terms explode; gradients do not mind. Weights are
//! free while they are fitted. The stack grows by one factor where it does not suffice, and columns that hardly move it are left out before it
//! is trained again: with as many weights as that, noise of the columns is fitted, too.

use super::divide::divided;
use super::{Engine, Sink};
use crate::columns::{Draws, View};
use crate::form::{Form, Sum, Term};
use nalm::second_order::{LevenbergMarquardt, Settings, Step};
use nalm::{Batch, Dispatch, Nau, Network, Nmu, Npu};
use std::ops::ControlFlow;

pub(crate) struct Stack;

/// Most factors.
const FACTORS: usize = 3;
/// Random starts of each stack, and of one with columns left out.
const STARTS: (usize, usize) = (3, 8);
const ITERATIONS: usize = 120;
/// Operations that a stack may take; what has more columns is left alone.
const MOST: f64 = 4e10;
/// Columns that move a stack by less than this share of the largest are left out.
const MOVES: f64 = 0.1;
/// An error at which a stack is right.
const RIGHT: f64 = 1e-9;
/// The same for an NPU, which adds a little to what it takes the logarithm of.
const NEARLY: f64 = 1e-5;

/// The layer above the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Above {
    Nmu,
    Npu,
}

/// A trained stack: its error, the weights of its sums, and their powers.
struct Trained {
    error: f64,
    weights: Vec<f64>,
    powers: Vec<f64>,
}

impl Engine for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        let d = view.columns();
        let mut smaller: Option<Trained> = None;
        for factors in 2..=FACTORS {
            let grown = smaller.as_ref().map(|s| s.weights.as_slice());
            let Some(trained) = train(view, Above::Nmu, factors, STARTS.0, grown, sink)? else { break };
            if offer(&trained, d, sink)? {
                return ControlFlow::Continue(());
            }
            let keep = moving(view, &trained);
            if keep.len() >= 2 && keep.len() < d {
                let without: Vec<(usize, f64)> = (0..d).filter(|i| !keep.contains(i)).map(|i| (i, 0.0)).collect();
                divided(view, &without, sink, &mut |rest, sink| fewer(rest, sink))?;
            }
            smaller = Some(trained);
        }
        ControlFlow::Continue(())
    }
}

/// Stacks of either kind over few columns.
fn fewer(view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
    let positive = view.x.iter().flatten().all(|x| *x > 0.0) && view.sign() == Some(1.0);
    for above in [Above::Nmu, Above::Npu] {
        if above == Above::Npu && !positive {
            break;
        }
        let mut smaller: Option<Trained> = None;
        for factors in 2..=FACTORS {
            let grown = smaller.as_ref().map(|s| s.weights.as_slice());
            let Some(trained) = train(view, above, factors, STARTS.1, grown, sink)? else { break };
            if offer(&trained, view.columns(), sink)? {
                return ControlFlow::Continue(());
            }
            smaller = Some(trained);
        }
    }
    ControlFlow::Continue(())
}

/// Offers a stack, as promising only if it is right.
fn offer(trained: &Trained, columns: usize, sink: &mut dyn Sink) -> ControlFlow<(), bool> {
    let right = trained.error < if trained.powers.iter().all(|p| *p == 1.0) { RIGHT } else { NEARLY };
    for least in [1e-2, 1e-5] {
        sink.offer(product(trained, columns, least), if right { trained.error } else { 1.0 })?;
    }
    ControlFlow::Continue(right)
}

/// The best of some starts, the first of them grown from a stack with a factor less.
fn train(
    view: &View,
    above: Above,
    factors: usize,
    starts: usize,
    smaller: Option<&[f64]>,
    sink: &mut dyn Sink,
) -> ControlFlow<(), Option<Trained>> {
    let (rows, d) = (view.rows(), view.columns());
    let params = factors * (d + if above == Above::Nmu { 1 } else { 3 });
    let cost = (params * params * (rows + params)) as f64;
    if rows < params || cost * (ITERATIONS * starts) as f64 > MOST {
        return ControlFlow::Continue(None);
    }
    let inputs: Vec<f64> = (0..rows).flat_map(|k| view.x.iter().map(move |x| x[k])).collect();
    let Some((network, batch)) = network(view, above, factors, &inputs) else { return ControlFlow::Continue(None) };
    let mut draws = Draws::new(&format!("stack {above:?} {factors}"));
    let mut best: Option<Trained> = None;
    for start in 0..starts {
        let spread = if above == Above::Nmu { 2.0 } else { 0.5 };
        let mut weights: Vec<f64> = (0..factors * d).map(|_| (1.0 + spread * draws.normal()) / d as f64).collect();
        if let Some(smaller) = smaller.filter(|_| start == 0) {
            // Grown by one factor that is nearly 1.
            weights[..smaller.len()].copy_from_slice(smaller);
        }
        match above {
            Above::Nmu => weights.extend(vec![1.0; factors]),
            Above::Npu => {
                // Real powers, the last sum below; imaginary ones; open gates.
                weights.extend((0..factors).map(|k| if k + 1 == factors { -1.0 } else { 1.0 }));
                weights.extend(vec![0.0; factors]);
                weights.extend(vec![1.0; factors]);
            }
        }
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
        if error.is_nan() {
            continue;
        }
        if best.as_ref().is_none_or(|best| error < best.error) {
            let powers = match above {
                Above::Nmu => vec![1.0; factors],
                Above::Npu => fit.params()[factors * d..][..factors].to_vec(),
            };
            best = Some(Trained { error, weights: fit.params()[..factors * d].to_vec(), powers });
        }
        if error < if above == Above::Nmu { RIGHT } else { 0.1 * NEARLY } {
            break;
        }
    }
    ControlFlow::Continue(best)
}

fn network(view: &View, above: Above, factors: usize, inputs: &[f64]) -> Option<(Network<f64>, Batch<f64>)> {
    let batch = Batch::from_rows(view.rows(), inputs, &view.y).ok()?;
    let top: Box<dyn Dispatch<f64>> = match above {
        Above::Nmu => Box::new(Nmu::new(factors, 1).ok()?),
        Above::Npu => Box::new(Npu::new(factors, 1).ok()?),
    };
    let sums = Nau::new(view.columns(), factors).ok()?;
    Some((Network::new(vec![Box::new(sums), top]).ok()?, batch))
}

/// Columns that move the values of a stack: what each one's deviation does to first order, at the middle of the rows.
fn moving(view: &View, trained: &Trained) -> Vec<usize> {
    let d = view.columns();
    let middle: Vec<f64> = view.x.iter().map(|x| x.iter().sum::<f64>() / x.len() as f64).collect();
    let sums: Vec<&[f64]> = trained.weights.chunks_exact(d).collect();
    let totals: Vec<f64> = sums.iter().map(|w| w.iter().zip(&middle).map(|(w, m)| w * m).sum()).collect();
    let effect = |i: usize| {
        let others = |f: usize| totals.iter().enumerate().filter(|(k, _)| *k != f).map(|(_, t)| t).product::<f64>();
        let slope: f64 = (0..sums.len()).map(|f| sums[f][i] * others(f)).sum();
        (slope * crate::dense::deviation(&view.x[i])).abs()
    };
    let effects: Vec<f64> = (0..d).map(effect).collect();
    let largest = effects.iter().copied().fold(0.0, f64::max);
    (0..d).filter(|&i| effects[i] > MOVES * largest).collect()
}

/// The product of sums without weights that are small beside the largest of their sum.
fn product(trained: &Trained, columns: usize, least: f64) -> Form {
    let mut form = Form::monomial(1.0, vec![0.0; columns]);
    for (row, &power) in trained.weights.chunks_exact(columns).zip(&trained.powers) {
        let largest = row.iter().fold(0.0f64, |m, w| m.max(w.abs()));
        let kept = (0..columns).filter(|&i| row[i].abs() > least * largest);
        let unit = |i: usize| (0..columns).map(|j| f64::from(i == j)).collect();
        let terms = kept.map(|i| Term { factor: row[i], powers: unit(i) }).collect();
        let terms: Vec<Term> = terms;
        // A sum of nothing makes the product 0 everywhere; no such stack is a formula.
        if !terms.is_empty() {
            form.sums.push(Sum { power, terms });
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::super::sparse::Sparse;
    use super::*;

    /// Keeps the best offer.
    struct Keep(f64, Option<Form>);

    impl Sink for Keep {
        fn offer(&mut self, form: Form, rms: f64) -> ControlFlow<()> {
            if rms < self.0 {
                *self = Self(rms, Some(form));
            }
            ControlFlow::Continue(())
        }

        fn spend(&mut self, _: f64) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }

    /// A product of sums on a narrow range among a hundred other columns: lists of terms are too long to search, gradients find it.
    #[test]
    fn a_product_of_sums_among_a_hundred_columns_is_found_by_the_stack_and_not_by_searching() {
        let mut draws = Draws::new("hundred");
        let rows = 340;
        let x: Vec<Vec<f64>> = (0..104).map(|_| (0..rows).map(|_| 1.1 + 0.1 * draws.uniform()).collect()).collect();
        let sums = |k: usize| (x[0][k] + x[1][k], x[2][k] + x[3][k]);
        let product = (0..rows).map(|k| sums(k).0 * sums(k).1).collect();
        let ratio = (0..rows).map(|k| sums(k).0 / sums(k).1).collect();
        for (y, least) in [(product, RIGHT), (ratio, NEARLY)] {
            let view = View { x: x.clone(), y };
            let found = |engine: &dyn Engine| {
                let mut keep = Keep(f64::INFINITY, None);
                let _ = engine.search(&view, &mut keep);
                keep
            };
            let Keep(error, form) = found(&Stack);
            assert!(error < least, "{error}");
            let columns = |sum: &Sum| -> Vec<usize> {
                sum.terms.iter().filter_map(|t| t.powers.iter().position(|e| *e == 1.0)).collect()
            };
            let mut sums: Vec<Vec<usize>> = form.unwrap().sums.iter().map(columns).collect();
            sums.sort();
            if least == RIGHT {
                assert_eq!(sums, [[0, 1], [2, 3]]);
            }
            // What an NPU finds is near, and is fitted on; the columns are the right ones.
            assert!(sums.concat().iter().all(|i| *i < 4), "{sums:?}");
            assert!(found(&Sparse).0 > 1e-6);
        }
    }
}

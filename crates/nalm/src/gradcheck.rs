//! Hand-written gradients against central differences, in `f64`.

use crate::module::Pass;
use crate::rng::{Purpose, Rng};
use crate::{Network, RowWorkspace};

/// The result of checking a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// The largest relative error of any parameter's or input's gradient.
    pub worst_relative_error: f64,
    /// Gradients compared.
    pub compared: usize,
    /// Gradients left out because a kink of the function is within reach of the difference.
    pub kinks: usize,
}

/// Rows of a checked batch: a whole lane and part of another, so that more than one lane and padding are checked.
const ROWS: usize = 19;

/// Compares the gradients of a random weighted sum of a network's training outputs, with noise held fixed, with
/// extrapolated central differences at one random point.
///
/// Inputs are of either sign, some of them tiny and, if `with_zeros`, some of them 0. An error is relative to the gradient's
/// own size, or to a thousandth of the largest one where it is smaller than that. A kink shows itself by two differences of
/// different width that disagree, whatever the hand-written gradient says.
pub fn check(network: &Network<f64>, with_zeros: bool, seed: u64) -> Check {
    check_rows(network, ROWS, with_zeros, seed)
}

/// The same for a batch of so many rows, at least one.
pub fn check_rows(network: &Network<f64>, rows: usize, with_zeros: bool, seed: u64) -> Check {
    let rows = rows.max(1);
    let mut rng = Rng::fast(&format!("gradcheck {} {seed}", network.name()), Purpose::Data);
    let shape = network.shape();
    let x: Vec<f64> = (0..rows * shape.inputs).map(|_| draw_input(&mut rng, with_zeros)).collect();
    let weights = draw_weights(&mut rng, rows * shape.outputs);
    let point = Point { network, weights, params: draw_params(network, &mut rng), x };

    let fits = "sizes are those of the network";
    let mut work = network.row_workspace();
    network.forward_rows(&point.params, &point.x, Pass::Train(&mut rng), &mut work).expect(fits);
    // The same noise for every evaluation: what a module remembers between passes must not move either.
    let tapes = work.clone();
    let mut dp = vec![0.0; network.param_len()];
    let dx = network.backward_rows(&point.params, &point.weights, &mut dp, &mut work).expect(fits).to_vec();

    let by_param: Vec<(f64, Option<f64>)> = (0..dp.len())
        .map(|k| {
            let difference = difference(point.params[k], point.params[k].abs().clamp(0.05, 1.0), |v| {
                let mut params = point.params.clone();
                params[k] = v;
                point.terms(&params, &point.x, &mut tapes.clone())
            });
            (dp[k], difference)
        })
        .collect();
    let by_input: Vec<(f64, Option<f64>)> = (0..dx.len())
        .map(|k| {
            // Units that are not smooth at 0 have a logarithm there, and it bends the more the smaller the input is.
            let reach = if with_zeros { 1.0 } else { point.x[k].abs().min(1.0) };
            let difference = difference(point.x[k], reach, |v| {
                let mut x = point.x.clone();
                x[k] = v;
                point.terms(&point.params, &x, &mut tapes.clone())
            });
            (dx[k], difference)
        })
        .collect();
    merge(compare(&by_param), compare(&by_input))
}

/// Two checks as one.
fn merge(a: Check, b: Check) -> Check {
    Check {
        worst_relative_error: larger(a.worst_relative_error, b.worst_relative_error),
        compared: a.compared + b.compared,
        kinks: a.kinks + b.kinks,
    }
}

/// The larger number, or NaN if either is.
fn larger(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// The largest error over several random points.
pub fn check_many(network: &Network<f64>, with_zeros: bool, points: u64) -> Check {
    let none = Check { worst_relative_error: 0.0, compared: 0, kinks: 0 };
    (0..points).map(|seed| check(network, with_zeros, seed)).fold(none, merge)
}

/// Where the gradient is taken: parameters, inputs and the weights of the outputs in the scalar that is differentiated.
struct Point<'a> {
    network: &'a Network<f64>,
    weights: Vec<f64>,
    params: Vec<f64>,
    x: Vec<f64>,
}

impl Point<'_> {
    /// The weighted outputs, whose sum is differentiated.
    fn terms(&self, params: &[f64], x: &[f64], work: &mut RowWorkspace<f64>) -> Vec<f64> {
        let y = self.network.forward_rows(params, x, Pass::Replay, work).expect("sizes are those of the network");
        y.iter().zip(&self.weights).map(|(y, w)| y * w).collect()
    }
}

fn draw_input(rng: &mut Rng, with_zeros: bool) -> f64 {
    let size: f64 = rng.uniform(0.2, 2.5);
    let sign = if rng.uniform(0.0, 1.0) < 0.5 { -1.0 } else { 1.0 };
    match rng.uniform(0.0, 1.0) {
        u if u < 0.1 && with_zeros => 0.0,
        // Tiny, down to where a logarithm's own guard of 1e-7 would be felt by the difference.
        u if u < 0.25 => sign * size * libm::exp(rng.uniform(-9.2, -4.6)),
        _ => sign * size,
    }
}

fn draw_weights(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.uniform(0.3, 1.0)).collect()
}

/// Parameters well inside their boxes, or between -1.5 and 1.5 where there is no box.
fn draw_params(network: &Network<f64>, rng: &mut Rng) -> Vec<f64> {
    let mut params = Vec::with_capacity(network.param_len());
    for layer in network.layers() {
        for index in 0..layer.param_len() {
            let (low, high) = layer.bounds(index);
            let (low, high) = (low.max(-1.5), high.min(1.5));
            params.push(low + (high - low) * rng.uniform(0.05, 0.95));
        }
    }
    params
}

/// The central difference at `v`, extrapolated from two of fourth order over stretches proportional to `reach`, or nothing if
/// the function has a kink nearby.
fn difference(v: f64, reach: f64, terms: impl Fn(f64) -> Vec<f64>) -> Option<f64> {
    let at = |h: f64| {
        // Term by term: what does not depend on `v` cancels exactly, however large it is.
        let [a, b, c, d] = [v + h, v - h, v + 2.0 * h, v - 2.0 * h].map(&terms);
        (0..a.len()).map(|k| 8.0 * (a[k] - b[k]) - (c[k] - d[k])).sum::<f64>() / (12.0 * h)
    };
    let (wide, narrow) = (at(2e-3 * reach), at(1e-3 * reach));
    let scale = wide.abs().max(narrow.abs()).max(1e-3);
    ((wide - narrow).abs() <= 1e-5 * scale).then_some(narrow + (narrow - wide) / 15.0)
}

fn compare(gradients: &[(f64, Option<f64>)]) -> Check {
    let largest = gradients.iter().filter_map(|(_, d)| *d).fold(0.0, |m: f64, d| m.max(d.abs()));
    let floor = (1e-3 * largest).max(1e-12);
    let errors = gradients.iter().filter_map(|(g, d)| d.map(|d| (g - d).abs() / d.abs().max(g.abs()).max(floor)));
    let worst = errors.fold(0.0, larger);
    let kinks = gradients.iter().filter(|(_, d)| d.is_none()).count();
    Check { worst_relative_error: worst, compared: gradients.len() - kinks, kinks }
}

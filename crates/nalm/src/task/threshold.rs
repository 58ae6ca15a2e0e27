//! When a run counts as successful: the errors of a solution that is off by epsilon = 1e-5 everywhere.

use super::subsets::{Problem, Subsets};
use crate::batch::BatchLayout;
use crate::lane::Lane;
use crate::rng::{Fast, Purpose};
use crate::sampler::Sampler;
use crate::{Distribution, Error, Operation, Uniform};

/// How far a weight or exponent of the imperfect solution is off.
pub const EPSILON: f64 = 1e-5;

/// Test rows of a simulated threshold.
const SAMPLES: usize = 1_000_000;

/// The mean squared test errors below which a run is solved, by two rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The same for every range, where the task has such a rule.
    pub flat: Option<f64>,
    /// The error of the imperfect solution on the test range; NaN where that has no mean, as for quotients whose divisors come near 0.
    pub simulated: f64,
}

/// Refuses problems whose threshold could not be simulated.
pub(super) fn check(problem: &Problem) -> Result<(), Error> {
    Sampler::<f64>::new(&problem.test).map(drop)
}

/// Refuses quotients that have no threshold. Without this, a few divisors near 0 would make it so large that untrained networks are below it.
pub(super) fn check_quotient(problem: &Problem) -> Result<(), Error> {
    if is_defined(problem) { Ok(()) } else { Err(Error::NoThreshold { range: problem.test.to_string() }) }
}

/// Whether the squared error of the imperfect solution has a mean, which that of a quotient only has where the divisor keeps away from 0.
fn is_defined(problem: &Problem) -> bool {
    /// The squared error grows as the fourth power of 1 / s, and a sum of n numbers from 0 on is below s with a probability of the order s^n.
    const ENOUGH: usize = 5;
    let n = match problem.operation {
        Operation::Div => problem.subsets.b.len(),
        Operation::Reciprocal => problem.subsets.a.len(),
        _ => return true,
    };
    let parts = problem.test.support();
    if n == 1 {
        return parts.iter().all(|part| part.low > 0.0 || part.high < 0.0);
    }
    let low = parts.iter().map(|part| part.low).fold(f64::INFINITY, f64::min);
    let high = parts.iter().map(|part| part.high).fold(f64::NEG_INFINITY, f64::max);
    low > 0.0 || high < 0.0 || (n >= ENOUGH && (low == 0.0 || high == 0.0))
}

/// The threshold of a single module that computes `operation` of two inputs among others that do not matter.
///
/// For products, in closed form where inputs are uniform: the solution is (1 - e)^2 x1 x2 times (1 - e |x|) for every input that does not matter.
/// For all others by simulation: weights of a sum, or exponents of a product of powers, are off by e towards 0, and those
/// of inputs that do not matter are e instead of 0.
pub(super) fn single_module(task: &str, problem: &Problem) -> f64 {
    if !is_defined(problem) {
        return f64::NAN;
    }
    match (problem.operation, problem.test.as_range()) {
        (Operation::Mul, Some(range)) => product(range, problem.subsets.inputs - 2),
        (Operation::Mul, None) => simulate(task, problem, |subsets, row| {
            let (a, b) = (subsets.a.start, subsets.b.start);
            let others = row.iter().enumerate().filter(|(i, _)| *i != a && *i != b);
            let q: f64 = others.map(|(_, x)| 1.0 - EPSILON * x.abs()).product();
            row[a] * row[b] * ((1.0 - EPSILON) * (1.0 - EPSILON) * q - 1.0)
        }),
        (operation, _) => simulate(task, problem, |subsets, row| {
            let exact = operation.apply(row[subsets.a.start], row[subsets.b.start]);
            imperfect(operation, subsets, row) - exact
        }),
    }
}

/// E[(x1 x2)^2] E[((1 - e)^2 q - 1)^2] with q = prod (1 - e |x|) over the irrelevant inputs.
fn product(range: &Uniform, irrelevant: usize) -> f64 {
    let n = irrelevant as f64;
    let (size, square) = (range.mean_size(), range.mean_square());
    // Logarithms, because all of these are within 1e-5 of 1.
    let ln_mean = 2.0 * libm::log1p(-EPSILON) + n * libm::log1p(-EPSILON * size);
    let ln_square = 4.0 * libm::log1p(-EPSILON) + n * libm::log1p(EPSILON * (EPSILON * square - 2.0 * size));
    let bias = libm::expm1(ln_mean);
    let variance = libm::exp(2.0 * ln_mean) * libm::expm1(ln_square - 2.0 * ln_mean);
    square * square * (bias * bias + variance)
}

/// The operation with every weight or exponent off by epsilon.
fn imperfect(operation: Operation, subsets: &Subsets, row: &[f64]) -> f64 {
    let (a, b) = (subsets.a.start, subsets.b.start);
    let off = |e: f64| {
        if e == 0.0 { EPSILON } else { e - e.signum() * EPSILON }
    };
    let (ea, eb) = operation.exponents();
    let exponent = |i: usize| {
        if i == a {
            off(ea)
        } else if i == b {
            off(eb)
        } else {
            EPSILON
        }
    };
    if operation.is_sum() {
        return row.iter().enumerate().map(|(i, x)| exponent(i) * x).sum();
    }
    let size: f64 = row.iter().enumerate().map(|(i, x)| exponent(i) * libm::log(x.abs())).sum();
    operation.apply(row[a], row[b]).signum() * libm::exp(size)
}

/// The threshold of a stack that sums and then applies `operation`: every weight of the sums is off by epsilon, so that
/// S' = (1 - e) S + e (T - S) with T the sum of all inputs, and the operation is exact.
pub(super) fn arithmetic(task: &str, problem: &Problem) -> f64 {
    let operation = problem.operation;
    simulate(task, problem, |subsets, row| {
        let total: f64 = row.iter().sum();
        let (a, b) = subsets.sums(row);
        let off = |s: f64| (1.0 - EPSILON) * s + EPSILON * (total - s);
        operation.apply(off(a), off(b)) - operation.apply(a, b)
    })
}

/// The mean square of `error` over a million rows of the test distribution.
fn simulate(task: &str, problem: &Problem, error: impl Fn(&Subsets, &[f64]) -> f64) -> f64 {
    let Problem { subsets, test, .. } = problem;
    let key = format!("{}|{test}", problem.key(task));
    let mut fast = Fast::open(&key, Purpose::Threshold);
    // Tasks whose test distribution cannot be sampled are refused by `check`.
    mean_square(&mut fast, test, subsets.inputs, |row| error(subsets, row)).unwrap_or(f64::NAN)
}

pub(super) fn mean_square(
    fast: &mut Fast,
    test: &Distribution,
    inputs: usize,
    error: impl Fn(&[f64]) -> f64,
) -> Result<f64, Error> {
    const ROWS: usize = 1_000;
    let at = BatchLayout::new(ROWS)?;
    let sampler = Sampler::<f64>::new(test)?;
    let mut x = vec![Lane::ZERO; inputs * at.lanes()];
    let mut row = vec![0.0; inputs];
    let mut total = 0.0;
    for _ in 0..SAMPLES / ROWS {
        sampler.fill(fast, &mut x, at.lanes());
        let mut sum = 0.0;
        for r in 0..ROWS {
            for (i, value) in row.iter_mut().enumerate() {
                *value = *at.row(at.feature(&x, i), r);
            }
            let error = error(&row);
            sum += error * error;
        }
        total += sum;
    }
    Ok(total / SAMPLES as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(operation: Operation, inputs: usize, a: std::ops::Range<usize>, b: std::ops::Range<usize>) -> Problem {
        let test: Uniform = "U[2,6)".parse().unwrap();
        Problem {
            subsets: Subsets::new(inputs, a, b).unwrap(),
            operation,
            train: Uniform::new(1.0, 2.0).unwrap().into(),
            test: test.into(),
        }
    }

    /// The closed forms printed for the paper's test ranges.
    #[test]
    fn products_have_the_published_closed_form() {
        for (range, want) in [
            ("U[20,40)", 3.4844e-4),
            ("U[-6,-2)", 1.20177e-7),
            ("U[-6,-2)∪U[2,6)", 1.20177e-7),
            ("U[-6.1,-1.2)", 9.3921e-8),
            ("U[1.2,6)", 8.8565e-8),
            ("U[0.2,2)", 8.7615e-10),
        ] {
            let got = product(&range.parse().unwrap(), 0);
            assert!((got / want - 1.0).abs() < 2e-5, "{range}: {got:e}");
        }
    }

    #[test]
    fn the_closed_form_with_irrelevant_inputs_agrees_with_simulation() {
        let p = problem(Operation::Mul, 5, 0..1, 1..2);
        let simulated = simulate("t", &p, |_, row| {
            let q: f64 = row[2..].iter().map(|x| 1.0 - EPSILON * x.abs()).product();
            row[0] * row[1] * ((1.0 - EPSILON).powi(2) * q - 1.0)
        });
        let closed = product(p.test.as_range().unwrap(), 3);
        assert!((simulated / closed - 1.0).abs() < 5e-3, "{simulated:e} {closed:e}");
    }

    /// For a sum of two inputs the error is e (x1 + x2), whose mean square has a closed form.
    #[test]
    fn sums_agree_with_their_closed_form() {
        let simulated = single_module("t", &problem(Operation::Add, 2, 0..1, 1..2));
        let (mean, square) = (4.0, 4.0 * 4.0 + 4.0 / 3.0);
        let exact = EPSILON * EPSILON * (2.0 * square + 2.0 * mean * mean);
        assert!((simulated / exact - 1.0).abs() < 5e-3, "{simulated:e} {exact:e}");
    }

    /// The leading order of a quotient: e (ln x2 - ln x1) x1 / x2 with x1, x2 independent; by quadrature.
    #[test]
    fn quotients_agree_with_quadrature() {
        let simulated = single_module("t", &problem(Operation::Div, 2, 0..1, 1..2));
        let n = 400;
        let grid = |k: usize| 2.0 + 4.0 * (k as f64 + 0.5) / n as f64;
        let mut sum = 0.0;
        for i in 0..n {
            for j in 0..n {
                let q = grid(i) / grid(j);
                sum += (EPSILON * q * libm::log(q)).powi(2);
            }
        }
        let exact = sum / (n * n) as f64;
        assert!((simulated / exact - 1.0).abs() < 1e-2, "{simulated:e} {exact:e}");
    }

    /// Where a divisor can be 0 the simulated mean depends on the one row that comes nearest, and is no threshold.
    #[test]
    fn quotients_have_a_threshold_where_divisors_keep_away_from_zero() {
        let of = |operation, n: usize, test: &str| {
            let test = test.parse().unwrap();
            is_defined(&Problem { operation, test, ..problem(operation, 20, 0..n, 0..n) })
        };
        for (n, test, want) in [
            (1, "U[2,6)", true),
            (1, "U[-6,-2)∪U[2,6)", true),
            (1, "U[-1,1)", false),
            (1, "U[0,1)", false),
            (1, "Benford[10,100)", true),
            (5, "U[-6,-2)", true),
            (5, "U[-6,-2)∪U[2,6)", false),
            (5, "U[-3,-1)∪U[3,5)", false),
            (5, "halves(U[-2,-1);U[1,2))", false),
            (5, "N(0,1)[-2,2)", false),
            (5, "U[0,1)", true),
            (5, "Exp(0.5)", true),
            (4, "Exp(0.5)", false),
        ] {
            for operation in [Operation::Div, Operation::Reciprocal] {
                assert_eq!(of(operation, n, test), want, "{operation} of {n} {test}");
            }
            assert!(of(Operation::Mul, n, test) && of(Operation::Root, n, test));
        }
    }

    /// The stored constants of the arithmetic task were simulated with subsets of 26 instead of 25 elements.
    #[test]
    fn the_arithmetic_simulation_gives_the_stored_constant() {
        let simulated = arithmetic("t", &problem(Operation::Mul, 100, 0..26, 13..39));
        assert!((simulated / 0.160_053_064_554_457 - 1.0).abs() < 2e-3, "{simulated}");
    }
}

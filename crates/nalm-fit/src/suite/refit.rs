//! The constants of a formula fitted anew, by nothing but its values: Levenberg-Marquardt with differences for derivatives. It serves to tell whether a formula has the right structure, and
//! shares no code with the search, on purpose.

use nalm::expression::Expression;

const STEPS: usize = 80;

/// The formula with free constants: every number that is no exponent, and a factor before every term of a sum and every argument of a function.
pub(super) struct Free {
    expression: Expression,
    pub(super) constants: Vec<f64>,
}

/// The name of a constant; no column can be called so, because it would be trimmed.
fn name(k: usize) -> String {
    format!(" {k}")
}

impl Free {
    pub(super) fn new(expression: &Expression) -> Self {
        let mut constants = Vec::new();
        let expression = term(expression, &mut constants);
        Self { expression, constants }
    }

    pub(super) fn value(&self, constants: &[f64], column: &dyn Fn(&str) -> f64) -> f64 {
        self.expression.evaluate(&|name| match name.strip_prefix(' ') {
            Some(k) => k.parse().ok().and_then(|k: usize| constants.get(k).copied()).unwrap_or(f64::NAN),
            None => column(name),
        })
    }

    /// Fits the constants to the target over so many rows, and says whether every one of them matters.
    pub(super) fn fit(&mut self, rows: usize, column: &dyn Fn(&str, usize) -> f64, target: &[f64]) -> bool {
        let mut sizes: Vec<f64> = target.iter().map(|y| y.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let middle = sizes[rows / 2].max(f64::MIN_POSITIVE);
        let n = self.constants.len();
        let residuals = |c: &[f64]| -> Vec<f64> {
            let one = |row: usize| {
                let weight = 1.0 / (target[row].abs() + middle);
                weight * (self.value(c, &|name| column(name, row)) - target[row])
            };
            (0..rows).map(one).collect()
        };
        let cost = |r: &[f64]| r.iter().map(|r| r * r).sum::<f64>();
        let mut c = self.constants.clone();
        let mut r = residuals(&c);
        let mut damping = 1e-3;
        let mut jacobian = vec![vec![0.0; rows]; n];
        for _ in 0..STEPS {
            for k in 0..n {
                let step = 1e-6 * c[k].abs().max(1e-3);
                let moved = |by: f64| {
                    let mut c = c.clone();
                    c[k] += by;
                    residuals(&c)
                };
                let (up, down) = (moved(step), moved(-step));
                jacobian[k] = up.iter().zip(&down).map(|(up, down)| (up - down) / (2.0 * step)).collect();
            }
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let gram: Vec<Vec<f64>> =
                (0..n).map(|i| (0..n).map(|j| dot(&jacobian[i], &jacobian[j])).collect()).collect();
            let down: Vec<f64> = (0..n).map(|i| -dot(&jacobian[i], &r)).collect();
            let mut better = false;
            for _ in 0..8 {
                let mut damped = gram.clone();
                (0..n).for_each(|i| damped[i][i] += damping * gram[i][i].max(1e-30));
                let Some(step) = solve(damped, down.clone()) else { break };
                let next: Vec<f64> = c.iter().zip(&step).map(|(c, s)| c + s).collect();
                let tried = residuals(&next);
                if cost(&tried) < cost(&r) {
                    (c, r, better) = (next, tried, true);
                    damping = (damping / 10.0).max(1e-14);
                    break;
                }
                damping *= 10.0;
            }
            if !better {
                break;
            }
        }
        let relative = |row: usize| target[row] / (target[row].abs() + middle);
        let scale: f64 = (0..rows).map(|row| relative(row) * relative(row)).sum();
        let matters = |k: usize| {
            let squares: f64 = jacobian[k].iter().map(|d| (d * c[k]) * (d * c[k])).sum();
            squares > 1e-12 * scale
        };
        let all = (0..n).all(matters);
        self.constants = c;
        all
    }
}

/// With a factor of its own in front.
fn term(expression: &Expression, constants: &mut Vec<f64>) -> Expression {
    match expression {
        Expression::Number(x) => free(*x, constants),
        Expression::Sum(_) => inner(expression, constants),
        Expression::Product(factors) => {
            let (first, rest) = match factors.as_slice() {
                [Expression::Number(x), rest @ ..] => (*x, rest),
                all => (1.0, all),
            };
            let head = free(first, constants);
            Expression::Product([head].into_iter().chain(rest.iter().map(|f| inner(f, constants))).collect())
        }
        other => Expression::Product(vec![free(1.0, constants), inner(other, constants)]),
    }
}

fn inner(expression: &Expression, constants: &mut Vec<f64>) -> Expression {
    match expression {
        Expression::Sum(terms) => Expression::Sum(terms.iter().map(|t| term(t, constants)).collect()),
        Expression::Product(factors) => Expression::Product(factors.iter().map(|f| inner(f, constants)).collect()),
        // A number to a power is a number, and there is a factor for it already.
        Expression::Power(base, exponent) => Expression::Power(Box::new(inner(base, constants)), *exponent),
        Expression::Call(function, of) => Expression::Call(*function, Box::new(term(of, constants))),
        other => other.clone(),
    }
}

fn free(x: f64, constants: &mut Vec<f64>) -> Expression {
    constants.push(x);
    Expression::Variable(name(constants.len() - 1))
}

/// Gaussian elimination with partial pivoting.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k] == 0.0 || !a[k][k].is_finite() {
            return None;
        }
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - sum) / a[k][k];
    }
    Some(b)
}

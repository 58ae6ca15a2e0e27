//! A form as an expression over the names of the table.

use crate::constants;
use crate::form::{Form, Sum, Term, is_odd, is_whole};
use nalm::expression::{Expression, Function};

/// The formula in the words of the table. What is meant by a column may be a negative one: `-x`.
pub(crate) fn expression(form: &Form, meaning: &[Expression]) -> Expression {
    let own = product(form.factor, &form.powers, &form.sums, meaning);
    match &form.add {
        None => own,
        Some(other) => Expression::sum([own, expression(other, meaning)]),
    }
}

fn product(factor: f64, powers: &[f64], sums: &[Sum], meaning: &[Expression]) -> Expression {
    let mut sign = factor.signum();
    let mut factors = constants::factors(factor);
    for (name, &e) in meaning.iter().zip(powers) {
        if e == 0.0 {
            continue;
        }
        match negated(name) {
            Some(positive) if is_whole(e) => {
                sign *= if is_odd(e) { -1.0 } else { 1.0 };
                factors.push(positive.power(e));
            }
            _ => factors.push(name.clone().power(e)),
        }
    }
    for sum in sums {
        let written =
            |terms: &[Term]| Expression::sum(terms.iter().map(|t| product(t.factor, &t.powers, &[], meaning)));
        factors.push(match sum.under_root_of_square() {
            Some(terms) => written(&terms).call(Function::Abs).power(2.0 * sum.power),
            None => written(&sum.terms).power(sum.power),
        });
    }
    if sign < 0.0 {
        match factors.first_mut() {
            Some(Expression::Number(x)) => *x = -*x,
            _ => factors.insert(0, Expression::Number(-1.0)),
        }
    }
    match factors.len() {
        0 => Expression::Number(1.0),
        1 => factors.remove(0),
        _ => flat(factors),
    }
}

/// A product whose numbers stay as they are written: 4 / 3 is not 1.3333.
fn flat(factors: Vec<Expression>) -> Expression {
    let mut all = Vec::new();
    for factor in factors {
        match factor {
            Expression::Product(inner) if !matches!(inner[0], Expression::Number(_)) => all.extend(inner),
            other => all.push(other),
        }
    }
    Expression::Product(all)
}

/// x for -x.
fn negated(name: &Expression) -> Option<Expression> {
    match name {
        Expression::Product(factors) => match factors.as_slice() {
            [Expression::Number(-1.0), rest @ ..] => Some(Expression::product(rest.iter().cloned())),
            _ => None,
        },
        _ => None,
    }
}

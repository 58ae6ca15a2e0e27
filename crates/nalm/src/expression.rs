//! Arithmetic as data: what a trained network computes, to be evaluated, read, or written in other languages.

mod language;
mod parse;

pub use self::language::Language;
pub(crate) use self::language::is_word;

use crate::Real;
use std::fmt::{self, Display};

/// An expression over named variables.
///
/// ```
/// use nalm::expression::{Expression, Language};
///
/// let x = Expression::variable;
/// let area = Expression::product([Expression::number(0.5), x("a"), x("b")]);
/// assert_eq!(area.to_string(), "0.5 * a * b");
/// assert_eq!(Expression::sum([area.clone(), x("c").times(-1.0)]).write(Language::Python), "0.5 * a * b - c");
/// assert_eq!(area.evaluate(&|name| if name == "a" { 3.0 } else { 4.0 }), 6.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expression {
    /// A number.
    Number(f64),
    /// The circle number.
    Pi,
    /// What a name stands for.
    Variable(String),
    /// The sum of at least two terms.
    Sum(Vec<Expression>),
    /// The product of at least two factors; a number is the first of them.
    Product(Vec<Expression>),
    /// A power with a fixed exponent.
    Power(Box<Expression>, f64),
    /// A function of an expression.
    Call(Function, Box<Expression>),
    /// The expression, or this number where it is smaller.
    AtLeast(Box<Expression>, f64),
    /// The expression, or this number where it is larger.
    AtMost(Box<Expression>, f64),
}

/// The functions that occur in formulas of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Function {
    /// The absolute value.
    Abs,
    /// -1, 0 or 1.
    Sign,
    /// 1 where the argument is below 0, else 0.
    IsNegative,
    /// e to the power of the argument.
    Exp,
    /// The natural logarithm.
    Ln,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The tangent.
    Tan,
    /// The angle with this sine, from -pi/2 to pi/2.
    Asin,
    /// The angle with this cosine, from 0 to pi.
    Acos,
    /// The angle with this tangent.
    Atan,
    /// The hyperbolic sine.
    Sinh,
    /// The hyperbolic cosine.
    Cosh,
    /// The hyperbolic tangent.
    Tanh,
    /// 1 / (1 + exp(-z)).
    Sigmoid,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 15] = [
        Function::Abs,
        Function::Sign,
        Function::IsNegative,
        Function::Exp,
        Function::Ln,
        Function::Sin,
        Function::Cos,
        Function::Tan,
        Function::Asin,
        Function::Acos,
        Function::Atan,
        Function::Sinh,
        Function::Cosh,
        Function::Tanh,
        Function::Sigmoid,
    ];

    /// Its name in formulas.
    pub fn name(self) -> &'static str {
        match self {
            Function::Abs => "abs",
            Function::Sign => "sign",
            Function::IsNegative => "is_negative",
            Function::Exp => "exp",
            Function::Ln => "ln",
            Function::Sin => "sin",
            Function::Cos => "cos",
            Function::Tan => "tan",
            Function::Asin => "asin",
            Function::Acos => "acos",
            Function::Atan => "atan",
            Function::Sinh => "sinh",
            Function::Cosh => "cosh",
            Function::Tanh => "tanh",
            Function::Sigmoid => "sigmoid",
        }
    }

    pub(crate) fn evaluate(self, z: f64) -> f64 {
        match self {
            Function::Abs => z.abs(),
            Function::Sign => z.sign(),
            Function::IsNegative => f64::from(z < 0.0),
            Function::Exp => libm::exp(z),
            Function::Ln => libm::log(z),
            Function::Sin => libm::sin(z),
            Function::Cos => libm::cos(z),
            Function::Tan => libm::tan(z),
            Function::Asin => libm::asin(z),
            Function::Acos => libm::acos(z),
            Function::Atan => libm::atan(z),
            Function::Sinh => libm::sinh(z),
            Function::Cosh => libm::cosh(z),
            Function::Tanh => libm::tanh(z),
            Function::Sigmoid => 1.0 / (1.0 + libm::exp(-z)),
        }
    }
}

impl Expression {
    /// A number.
    pub fn number(x: f64) -> Self {
        Expression::Number(x)
    }

    /// A variable.
    pub fn variable(name: impl Into<String>) -> Self {
        Expression::Variable(name.into())
    }

    /// A sum. Sums in it are part of it, its numbers are added up, and zeros are left out.
    pub fn sum(terms: impl IntoIterator<Item = Expression>) -> Self {
        let (mut kept, mut constant) = (Vec::new(), 0.0);
        for term in terms {
            match term {
                Expression::Number(x) => constant += x,
                Expression::Sum(inner) => {
                    for term in inner {
                        if let Expression::Number(x) = term { constant += x } else { kept.push(term) }
                    }
                }
                term => kept.push(term),
            }
        }
        if constant != 0.0 || kept.is_empty() {
            kept.push(Expression::Number(constant));
        }
        if kept.len() == 1 { kept.remove(0) } else { Expression::Sum(kept) }
    }

    /// A product. Products in it are part of it, its numbers are multiplied, and ones are left out; 0 makes it 0.
    pub fn product(factors: impl IntoIterator<Item = Expression>) -> Self {
        let (mut kept, mut constant) = (Vec::new(), 1.0);
        for factor in factors {
            match factor {
                Expression::Number(x) => constant *= x,
                Expression::Product(inner) => {
                    for factor in inner {
                        if let Expression::Number(x) = factor { constant *= x } else { kept.push(factor) }
                    }
                }
                factor => kept.push(factor),
            }
        }
        if constant == 0.0 || kept.is_empty() {
            return Expression::Number(constant);
        }
        if constant != 1.0 {
            kept.insert(0, Expression::Number(constant));
        }
        if kept.len() == 1 { kept.remove(0) } else { Expression::Product(kept) }
    }

    /// A quotient of whole numbers, which stays one: a third is written as 1 / 3.
    pub fn fraction(over: i64, under: i64) -> Self {
        let under = match under {
            1 => None,
            under => Some(Expression::Power(Box::new(Expression::Number(under as f64)), -1.0)),
        };
        Self::product([Expression::Number(over as f64)].into_iter().chain(under))
    }

    /// The square root of a number, which stays one.
    pub fn root(of: Expression) -> Self {
        Expression::Power(Box::new(of), 0.5)
    }

    /// This, so many times.
    pub fn times(self, number: f64) -> Self {
        Self::product([Expression::Number(number), self])
    }

    /// A power.
    pub fn power(self, exponent: f64) -> Self {
        match (self, exponent) {
            (_, 0.0) => Expression::Number(1.0),
            (base, 1.0) => base,
            (Expression::Number(x), _) => Expression::Number(libm::pow(x, exponent)),
            (base, _) => Expression::Power(Box::new(base), exponent),
        }
    }

    /// A function of this.
    pub fn call(self, function: Function) -> Self {
        match self {
            Expression::Number(x) => Expression::Number(function.evaluate(x)),
            inner => Expression::Call(function, Box::new(inner)),
        }
    }

    /// This, but at least so much.
    pub fn at_least(self, bound: f64) -> Self {
        Expression::AtLeast(Box::new(self), bound)
    }

    /// This, but at most so much.
    pub fn at_most(self, bound: f64) -> Self {
        Expression::AtMost(Box::new(self), bound)
    }

    /// The value where variables have these values.
    pub fn evaluate(&self, value: &dyn Fn(&str) -> f64) -> f64 {
        match self {
            Expression::Number(x) => *x,
            Expression::Pi => std::f64::consts::PI,
            Expression::Variable(name) => value(name),
            Expression::Sum(terms) => terms.iter().map(|term| term.evaluate(value)).sum(),
            Expression::Product(factors) => factors.iter().map(|factor| factor.evaluate(value)).product(),
            Expression::Power(base, exponent) => libm::pow(base.evaluate(value), *exponent),
            Expression::Call(function, inner) => function.evaluate(inner.evaluate(value)),
            // By comparison, as the units do it: a NaN stays.
            Expression::AtLeast(inner, bound) => inner.evaluate(value).at_least(*bound),
            Expression::AtMost(inner, bound) => inner.evaluate(value).at_most(*bound),
        }
    }

    /// Numbers, variables and operations in it.
    pub fn size(&self) -> usize {
        match self {
            Expression::Number(_) | Expression::Pi | Expression::Variable(_) => 1,
            Expression::Sum(all) | Expression::Product(all) => all.iter().map(Expression::size).sum::<usize>() + 1,
            Expression::Power(inner, _)
            | Expression::Call(_, inner)
            | Expression::AtLeast(inner, _)
            | Expression::AtMost(inner, _) => inner.size() + 1,
        }
    }

    /// Calls `each` with the name of every variable, as often as it occurs.
    pub fn variables<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Expression::Number(_) | Expression::Pi => {}
            Expression::Variable(name) => each(name),
            Expression::Sum(all) | Expression::Product(all) => all.iter().for_each(|inner| inner.variables(each)),
            Expression::Power(inner, _)
            | Expression::Call(_, inner)
            | Expression::AtLeast(inner, _)
            | Expression::AtMost(inner, _) => inner.variables(each),
        }
    }

    /// The same with another name for every variable.
    pub fn renamed(&self, name: &dyn Fn(&str) -> String) -> Self {
        let all = |all: &[Expression]| all.iter().map(|inner| inner.renamed(name)).collect();
        let boxed = |inner: &Expression| Box::new(inner.renamed(name));
        match self {
            Expression::Number(_) | Expression::Pi => self.clone(),
            Expression::Variable(old) => Expression::Variable(name(old)),
            Expression::Sum(terms) => Expression::Sum(all(terms)),
            Expression::Product(factors) => Expression::Product(all(factors)),
            Expression::Power(base, exponent) => Expression::Power(boxed(base), *exponent),
            Expression::Call(function, inner) => Expression::Call(*function, boxed(inner)),
            Expression::AtLeast(inner, bound) => Expression::AtLeast(boxed(inner), *bound),
            Expression::AtMost(inner, bound) => Expression::AtMost(boxed(inner), *bound),
        }
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write(Language::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x(name: &str) -> Expression {
        Expression::variable(name)
    }

    #[test]
    fn sums_and_products_are_simplified_as_they_are_made() {
        let sum = Expression::sum([x("a"), Expression::number(0.0), x("b").times(-1.0), x("c").times(0.0)]);
        assert_eq!(sum.to_string(), "a - b");
        assert_eq!(Expression::sum([]).to_string(), "0");
        assert_eq!(Expression::product([]).to_string(), "1");
        assert_eq!(Expression::product([x("a"), Expression::number(0.0)]), Expression::number(0.0));
        let nested = Expression::product([x("a").times(2.0), x("b").times(3.0)]);
        assert_eq!(nested.to_string(), "6 * a * b");
        let nested = Expression::sum([sum, Expression::number(2.0), Expression::number(-5.0)]);
        assert_eq!(nested.to_string(), "a - b - 3");
        assert_eq!(nested.size(), 6);
    }

    #[test]
    fn people_read_signs_quotients_and_runs() {
        let text = |e: Expression| e.to_string();
        assert_eq!(text(x("a").power(-1.0)), "1 / a");
        assert_eq!(text(Expression::product([x("a"), x("b").power(-2.0)])), "a / b^2");
        assert_eq!(text(Expression::product([x("a"), x("b").power(-0.5)]).times(-1.0)), "-a / sqrt(b)");
        let sum = Expression::sum([x("a"), x("b").times(-0.25)]);
        assert_eq!(text(Expression::product([sum.clone(), x("c")])), "(a - 0.25 * b) * c");
        assert_eq!(text(sum.clone().power(2.0)), "(a - 0.25 * b)^2");
        assert_eq!(text(x("c").power(-1.0).power(2.0)), "(1 / c)^2");
        assert_eq!(text(Expression::product([x("c"), sum.power(-1.0)])), "c / (a - 0.25 * b)");
        let run = Expression::sum((1..=9).map(|k| x(&format!("x{k}"))).chain([x("x7")]));
        assert_eq!(text(run), "(x1 + … + x9) + x7");
        let run = Expression::sum((3..=6).map(|k| x(&format!("x{k}")).times(-1.0)));
        assert_eq!(text(run), "-(x3 + … + x6)");
        assert_eq!(text(x("a").times(1.0 / 3.0)), "0.3333 * a");
        assert_eq!(text(x("a").times(1e-7)), "1e-7 * a");
        assert_eq!(text(x("a").times(123_456.789)), "123500 * a");
        assert_eq!(text(Expression::sum([x("a"), Expression::number(12_345.0)])), "a + 12345");
        let run = Expression::sum([x("x18446744073709551615"), x("a"), x("b"), x("c")]);
        assert_eq!(text(run), "x18446744073709551615 + a + b + c");
        let padded = Expression::sum(["x0", "x01", "x2", "x3"].map(x));
        assert_eq!(text(padded), "x0 + x01 + x2 + x3");
        // A base is written once, however deep it lies.
        let deep = (0..200).fold(x("a"), |inner, _| Expression::Power(Box::new(inner), 0.5));
        assert_eq!(text(deep).len(), 200 * "sqrt()".len() + 1);
    }

    #[test]
    fn values_are_those_of_the_operations() {
        let z = |name: &str| if name == "a" { -2.0 } else { 0.5 };
        let value = |e: Expression| e.evaluate(&z);
        assert_eq!(value(Expression::sum([x("a"), x("b"), Expression::number(1.0)])), -0.5);
        assert_eq!(value(Expression::product([x("a"), x("b").power(-2.0)])), -8.0);
        assert_eq!(value(x("a").call(Function::Abs)), 2.0);
        assert_eq!(value(x("a").call(Function::Sign)), -1.0);
        assert_eq!(value(x("a").call(Function::IsNegative)), 1.0);
        assert_eq!(value(x("b").call(Function::IsNegative)), 0.0);
        assert_eq!(value(x("a").at_least(-1.0)), -1.0);
        assert_eq!(value(x("b").at_most(0.25)), 0.25);
        assert!((value(x("b").call(Function::Sigmoid)) - 0.622_459_331_201_854_6).abs() < 1e-15);
        assert_eq!(value(x("a").call(Function::Exp).call(Function::Ln)), -2.0);
        assert_eq!(Expression::number(0.0).call(Function::Sign), Expression::number(0.0));
    }

    #[test]
    fn programs_get_every_digit() {
        let third = x("a").times(1.0 / 3.0);
        assert_eq!(third.write(Language::C), "0.3333333333333333 * a");
        assert_eq!(x("a").power(0.5).write(Language::Rust), "f64::sqrt(a)");
        assert_eq!(x("a").power(2.0).write(Language::Python), "a**2");
        assert_eq!(x("a").times(-2.0).call(Function::IsNegative).write(Language::C), "(double)(-2.0 * a < 0.0)");
        assert_eq!(Expression::number(f64::NEG_INFINITY).write(Language::Python), "float(\"-inf\")");
        assert_eq!(x("a").at_most(20.0).write(Language::Rust), "f64::clamp(a, f64::NEG_INFINITY, 20.0)");
        assert!(x("a").at_least(0.0).evaluate(&|_| f64::NAN).is_nan());
        let long = Expression::sum((0..130).map(|k| x(&format!("x{k}")))).write(Language::C);
        assert!(
            long.starts_with("(x0 + x1 + ") && long.contains("x63) + (x64 + ") && long.ends_with("(x128 + x129)"),
            "{long}"
        );
    }
}

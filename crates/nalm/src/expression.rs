//! Arithmetic as data: what a trained network computes, to be evaluated, read, or written in other languages.

use crate::Real;
use std::fmt::{self, Display, Write};

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
    /// The cosine.
    Cos,
    /// 1 / (1 + exp(-z)).
    Sigmoid,
}

impl Function {
    pub(crate) fn evaluate(self, z: f64) -> f64 {
        match self {
            Function::Abs => z.abs(),
            Function::Sign => z.sign(),
            Function::IsNegative => f64::from(z < 0.0),
            Function::Exp => libm::exp(z),
            Function::Ln => libm::log(z),
            Function::Cos => libm::cos(z),
            Function::Sigmoid => 1.0 / (1.0 + libm::exp(-z)),
        }
    }
}

/// What an expression is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// For people: few digits, `|x|`, `x^2`, and `x1 + … + x9` for long sums.
    Text,
    /// Rust, without any crate.
    Rust,
    /// C with `math.h`, and functions `sign`, `at_least` and `at_most` where they occur ([`crate::formula::source`] defines them).
    C,
    /// Python with the names of its module `math`, and a function `sign` where it occurs. Its functions raise an error where those of other languages become infinite.
    Python,
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
            Expression::Number(_) | Expression::Variable(_) => 1,
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
            Expression::Number(_) => {}
            Expression::Variable(name) => each(name),
            Expression::Sum(all) | Expression::Product(all) => all.iter().for_each(|inner| inner.variables(each)),
            Expression::Power(inner, _)
            | Expression::Call(_, inner)
            | Expression::AtLeast(inner, _)
            | Expression::AtMost(inner, _) => inner.variables(each),
        }
    }

    /// The expression in a language.
    pub fn write(&self, language: Language) -> String {
        let mut out = String::new();
        self.put(&mut out, language, Binding::Sum);
        out
    }

    /// Writes the expression, in parentheses where what is around it binds more tightly than it does.
    fn put(&self, out: &mut String, language: Language, around: Binding) {
        let own = match self {
            Expression::Sum(_) => Binding::Sum,
            Expression::Number(x) if *x < 0.0 => Binding::Sum,
            Expression::Product(_) => Binding::Product,
            Expression::Power(_, exponent) if *exponent < 0.0 => Binding::Product,
            Expression::Power(..) => Binding::Power,
            _ => Binding::Atom,
        };
        let parentheses = own < around;
        if parentheses {
            out.push('(');
        }
        match self {
            Expression::Number(x) => out.push_str(&language.number(*x)),
            Expression::Variable(name) => out.push_str(name),
            Expression::Sum(all) if language != Language::Text && all.len() > GROUP => {
                put_sum(&grouped(all, Expression::Sum), out, language);
            }
            Expression::Product(all) if language != Language::Text && all.len() > GROUP => {
                put_product(&grouped(all, Expression::Product), out, language);
            }
            Expression::Sum(terms) => put_sum(terms, out, language),
            Expression::Product(factors) => put_product(factors, out, language),
            Expression::Power(_, exponent) if *exponent < 0.0 => put_product(std::slice::from_ref(self), out, language),
            Expression::Power(base, exponent) => language.put_power(base, *exponent, out),
            Expression::Call(function, inner) => language.put_call(*function, inner, out),
            Expression::AtLeast(inner, bound) => language.put_bound("max", inner, *bound, out),
            Expression::AtMost(inner, bound) => language.put_bound("min", inner, *bound, out),
        }
        if parentheses {
            out.push(')');
        }
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write(Language::Text))
    }
}

/// How tightly an operation binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Sum,
    Product,
    Power,
    Atom,
}

/// More terms or factors than this in a row are more than some compilers can take.
const GROUP: usize = 64;

/// The same in groups, so that no row of operators is long and none is nested deeply.
fn grouped(all: &[Expression], kind: fn(Vec<Expression>) -> Expression) -> Vec<Expression> {
    let mut groups = all.to_vec();
    while groups.len() > GROUP {
        groups = groups.chunks(GROUP).map(|group| kind(group.to_vec())).collect();
    }
    groups
}

fn put_sum(terms: &[Expression], out: &mut String, language: Language) {
    let mut k = 0;
    while k < terms.len() {
        let (negative, term) = signed(&terms[k]);
        let run = if language == Language::Text { run_of_variables(&terms[k..]) } else { 1 };
        match (k, negative) {
            (0, false) => {}
            (0, true) => out.push('-'),
            (_, false) => out.push_str(" + "),
            (_, true) => out.push_str(" - "),
        }
        if run > 3 {
            let last = signed(&terms[k + run - 1]).1;
            out.push('(');
            term.put(out, language, Binding::Product);
            out.push_str(" + … + ");
            last.put(out, language, Binding::Product);
            out.push(')');
            k += run;
        } else {
            term.put(out, language, Binding::Product);
            k += 1;
        }
    }
}

/// A term without its sign, and whether that is negative.
fn signed(term: &Expression) -> (bool, Expression) {
    match term {
        Expression::Number(x) if *x < 0.0 => (true, Expression::Number(-x)),
        Expression::Product(factors) => match factors.first() {
            Some(Expression::Number(x)) if *x < 0.0 => (true, term.clone().times(-1.0)),
            _ => (false, term.clone()),
        },
        _ => (false, term.clone()),
    }
}

/// How many of the first terms are variables with the same sign and neighbouring numbers: x1, x2, x3.
fn run_of_variables(terms: &[Expression]) -> usize {
    let parts = |term: &Expression| {
        let (negative, Expression::Variable(name)) = signed(term) else { return None };
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        Some((negative, name[..word].to_owned(), name[word..].to_owned()))
    };
    let Some((sign, word, first)) = parts(&terms[0]) else { return 1 };
    let Ok(first) = first.parse::<u64>() else { return 1 };
    let follows = |(k, term): &(usize, &Expression)| {
        let number = first.checked_add(*k as u64);
        number.is_some_and(|number| parts(term) == Some((sign, word.clone(), number.to_string())))
    };
    terms.iter().enumerate().take_while(follows).count().max(1)
}

fn put_product(factors: &[Expression], out: &mut String, language: Language) {
    let below = |factor: &&Expression| matches!(factor, Expression::Power(_, exponent) if *exponent < 0.0);
    let (under, mut over): (Vec<_>, Vec<_>) = factors.iter().partition(below);
    if let Some(Expression::Number(-1.0)) = over.first() {
        out.push('-');
        over.remove(0);
    }
    if over.is_empty() {
        out.push_str(&language.number(1.0));
    }
    for (k, factor) in over.iter().enumerate() {
        out.push_str(if k > 0 { " * " } else { "" });
        match factor {
            // A leading negative number needs no parentheses.
            Expression::Number(x) if k == 0 => out.push_str(&language.number(*x)),
            _ => factor.put(out, language, Binding::Power),
        }
    }
    for factor in under {
        let Expression::Power(base, exponent) = factor else { continue };
        out.push_str(" / ");
        base.as_ref().clone().power(-exponent).put(out, language, Binding::Power);
    }
}

impl Language {
    /// A number: with few digits for people, with all of them for programs.
    fn number(self, x: f64) -> String {
        match self {
            Language::Text => few_digits(x),
            Language::Rust if x.is_nan() => "f64::NAN".into(),
            Language::Rust if x.is_infinite() => if x > 0.0 { "f64::INFINITY" } else { "f64::NEG_INFINITY" }.into(),
            Language::C if x.is_nan() => "NAN".into(),
            Language::C if x.is_infinite() => if x > 0.0 { "INFINITY" } else { "-INFINITY" }.into(),
            Language::Python if !x.is_finite() => format!("float(\"{x}\")").to_lowercase(),
            _ => format!("{x:?}"),
        }
    }

    fn put_power(self, base: &Expression, exponent: f64, out: &mut String) {
        let _ = match (self, exponent) {
            (Language::Rust, 0.5) => write!(out, "f64::sqrt({})", base.write(self)),
            (_, 0.5) => write!(out, "sqrt({})", base.write(self)),
            (Language::Text, _) => {
                base.put(out, self, Binding::Atom);
                write!(out, "^{}", few_digits(exponent))
            }
            (Language::Rust, _) => write!(out, "f64::powf({}, {exponent:?})", base.write(self)),
            _ => write!(out, "pow({}, {exponent:?})", base.write(self)),
        };
    }

    fn put_call(self, function: Function, inner: &Expression, out: &mut String) {
        let z = inner.write(self);
        let _ = match (self, function) {
            (Language::Text, Function::Abs) => write!(out, "|{z}|"),
            (Language::Text, Function::Sign) => write!(out, "sign({z})"),
            (Language::Text, Function::IsNegative) => write!(out, "[{z} < 0]"),
            (Language::Text, Function::Sigmoid) => write!(out, "sigmoid({z})"),
            (Language::Text, Function::Ln) => write!(out, "ln({z})"),
            (Language::Rust, Function::Abs) => write!(out, "f64::abs({z})"),
            (Language::Rust, Function::Sign) => write!(out, "(|z: f64| f64::from(z > 0.0) - f64::from(z < 0.0))({z})"),
            (Language::Rust, Function::IsNegative) => write!(out, "f64::from({z} < 0.0)"),
            (Language::Rust, Function::Exp) => write!(out, "f64::exp({z})"),
            (Language::Rust, Function::Ln) => write!(out, "f64::ln({z})"),
            (Language::Rust, Function::Cos) => write!(out, "f64::cos({z})"),
            (Language::Rust, Function::Sigmoid) => write!(out, "(1.0 / (1.0 + f64::exp(-({z}))))"),
            (Language::C | Language::Python, Function::Sign) => write!(out, "sign({z})"),
            (Language::C, Function::IsNegative) => write!(out, "(double)({z} < 0.0)"),
            (Language::C, Function::Sigmoid) => write!(out, "(1.0 / (1.0 + exp(-({z}))))"),
            (Language::C, Function::Abs) => write!(out, "fabs({z})"),
            (Language::Python, Function::IsNegative) => write!(out, "({z} < 0)"),
            // Its exponential raises an error where others become infinite.
            (Language::Python, Function::Sigmoid) => write!(out, "(1.0 / (1.0 + exp(min(-({z}), 709.0))))"),
            (Language::Python, Function::Abs) => write!(out, "abs({z})"),
            (_, Function::Exp) => write!(out, "exp({z})"),
            (_, Function::Ln) => write!(out, "log({z})"),
            (_, Function::Cos) => write!(out, "cos({z})"),
        };
    }

    fn put_bound(self, name: &str, inner: &Expression, bound: f64, out: &mut String) {
        let (z, number) = (inner.write(self), self.number(bound));
        let _ = match (self, name) {
            // The usual functions lose a NaN, except in Python.
            (Language::Rust, "max") => write!(out, "f64::clamp({z}, {number}, f64::INFINITY)"),
            (Language::Rust, _) => write!(out, "f64::clamp({z}, f64::NEG_INFINITY, {number})"),
            (Language::C, "max") => write!(out, "at_least({z}, {number})"),
            (Language::C, _) => write!(out, "at_most({z}, {number})"),
            (Language::Text | Language::Python, _) => write!(out, "{name}({z}, {number})"),
        };
    }

    /// Functions that expressions in this language may call and the language lacks, each by the name under which it is called.
    pub(crate) fn helpers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Language::C => &[
                ("sign(", "static double sign(double z) { return (double)((z > 0.0) - (z < 0.0)); }\n"),
                ("at_least(", "static double at_least(double z, double bound) { return z < bound ? bound : z; }\n"),
                ("at_most(", "static double at_most(double z, double bound) { return z > bound ? bound : z; }\n"),
            ],
            Language::Python => &[("sign(", "def sign(z):\n    return (z > 0) - (z < 0)\n\n\n")],
            Language::Rust | Language::Text => &[],
        }
    }
}

/// Four digits that count, without zeros at the end; all digits of whole numbers.
fn few_digits(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    if x.fract() == 0.0 && x.abs() < 1e15 {
        return format!("{x}");
    }
    let rounded: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    if plain.len() <= scientific.len().max(6) { plain } else { scientific }
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
        assert_eq!(x("a").power(2.0).write(Language::Python), "pow(a, 2.0)");
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

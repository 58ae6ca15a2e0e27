//! Formulas read from text.

use super::{Expression, Function};
use crate::Error;
use std::iter::Peekable;
use std::str::{CharIndices, FromStr};

/// Deeper formulas than this are refused, so that none overflows the stack.
const MOST_DEPTH: usize = 120;
/// Nobody writes longer formulas.
const MOST_BYTES: usize = 1 << 20;

/// Reads what [`Language::Plain`](super::Language::Plain) writes, and formulas as people and Python write them: `+ - * / ^ **`, parentheses, functions, `pi`, and names, in
/// backquotes where they are no words.
///
/// ```
/// use nalm::expression::Expression;
///
/// let law: Expression = "m * v^2 / 2 + `rest energy`".parse()?;
/// let value = |name: &str| if name == "v" { 3.0 } else { 2.0 };
/// assert_eq!(law.evaluate(&value), 11.0);
/// assert!("m * (v".parse::<Expression>().is_err());
/// # Ok::<(), nalm::Error>(())
/// ```
impl FromStr for Expression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fault = |at: &str| Error::Syntax {
            what: "a formula",
            got: if at.is_empty() { text.chars().take(200).collect() } else { at.chars().take(200).collect() },
            example: "2 * a^2 / (b + 1)",
        };
        if text.len() > MOST_BYTES {
            return Err(fault(""));
        }
        let mut reader = Reader { text, chars: text.char_indices().peekable(), depth: 0 };
        match (reader.sum(), reader.peek()) {
            (Some(expression), None) => Ok(expression),
            (_, Some(_)) => Err(fault(reader.rest())),
            (None, None) => Err(fault("")),
        }
    }
}

/// Whether a name can stand in a formula without backquotes.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(is_first) && name.chars().all(is_part)
}

fn is_first(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_part(c: char) -> bool {
    is_first(c) || c.is_numeric()
}

struct Reader<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    depth: usize,
}

/// Nothing stands for text that is no formula.
impl<'a> Reader<'a> {
    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        self.chars.peek().map(|(_, c)| *c)
    }

    fn rest(&mut self) -> &'a str {
        let start = self.chars.peek().map_or(self.text.len(), |(k, _)| *k);
        &self.text[start..]
    }

    fn skip(&mut self, characters: usize) {
        for _ in 0..characters {
            self.chars.next();
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        self.peek() == Some(wanted) && self.chars.next().is_some()
    }

    fn sum(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        let mut terms = vec![self.product()?];
        loop {
            match self.peek() {
                Some('+') => {
                    self.chars.next();
                    terms.push(self.product()?);
                }
                Some('-') => {
                    self.chars.next();
                    terms.push(self.product()?.times(-1.0));
                }
                _ => break,
            }
        }
        self.depth -= 1;
        Some(Expression::sum(terms))
    }

    fn product(&mut self) -> Option<Expression> {
        let mut factors = vec![self.signed()?];
        loop {
            match self.peek() {
                Some('*') => {
                    self.chars.next();
                    factors.push(self.signed()?);
                }
                Some('/') => {
                    self.chars.next();
                    let under = self.signed()?;
                    factors.push(match under {
                        // Whole numbers stay below the line, so that a third stays one.
                        Expression::Number(x) if x.fract() != 0.0 || x == 0.0 => Expression::Number(1.0 / x),
                        // What stands below the line has no number in front, so that it is not taken for the product's.
                        under => inverse(under),
                    });
                }
                _ => break,
            }
        }
        Some(Expression::product(factors))
    }

    fn signed(&mut self) -> Option<Expression> {
        let mut negative = false;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.chars.next();
            negative ^= sign == '-';
        }
        let power = self.power()?;
        Some(if negative { power.times(-1.0) } else { power })
    }

    fn power(&mut self) -> Option<Expression> {
        let base = self.atom()?;
        let again = match self.peek() {
            Some('^') => self.take('^'),
            Some('*') if self.rest().starts_with("**") => self.take('*') && self.take('*'),
            _ => false,
        };
        if !again {
            return Some(base);
        }
        self.depth += 1;
        let exponent = if self.depth > MOST_DEPTH { None } else { self.signed() }?;
        self.depth -= 1;
        let mut constant = true;
        exponent.variables(&mut |_| constant = false);
        if !constant {
            return Some(Expression::product([exponent, base.call(Function::Ln)]).call(Function::Exp));
        }
        let exponent = exponent.evaluate(&|_| f64::NAN);
        Some(match base {
            // A root or a fraction stays one.
            base @ Expression::Number(_) if exponent != 0.0 && exponent != 1.0 => {
                Expression::Power(Box::new(base), exponent)
            }
            base => base.power(exponent),
        })
    }

    fn atom(&mut self) -> Option<Expression> {
        match self.peek()? {
            '(' => {
                self.chars.next();
                let inner = self.sum()?;
                self.take(')').then_some(inner)
            }
            '`' => {
                self.chars.next();
                let mut name = String::new();
                loop {
                    match self.chars.next()?.1 {
                        '`' if self.chars.next_if(|(_, c)| *c == '`').is_some() => name.push('`'),
                        '`' => return (!name.is_empty()).then_some(Expression::Variable(name)),
                        c => name.push(c),
                    }
                }
            }
            c if c.is_ascii_digit() || c == '.' => self.number(),
            c if is_first(c) => {
                let rest = self.rest();
                let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
                self.skip(name.chars().count());
                if self.peek() == Some('(') { self.call(name) } else { Some(constant(name)) }
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Expression> {
        let rest = self.rest();
        let mut end = 0;
        let mut before = ' ';
        for c in rest.chars() {
            let exponent = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            let marks = matches!(c, 'e' | 'E') && !rest[..end].contains(['e', 'E']);
            if !(c.is_ascii_digit() || c == '.' || exponent || marks) {
                break;
            }
            (before, end) = (c, end + 1);
        }
        let number: f64 = rest[..end].parse().ok()?;
        self.skip(end);
        number.is_finite().then_some(Expression::Number(number))
    }

    fn call(&mut self, name: &str) -> Option<Expression> {
        self.take('(');
        let inner = self.sum()?;
        if self.take(',') {
            let bound = self.sum()?.evaluate(&|_| f64::NAN);
            let closed = self.take(')') && bound.is_finite();
            return match name {
                "max" if closed => Some(inner.at_least(bound)),
                "min" if closed => Some(inner.at_most(bound)),
                _ => None,
            };
        }
        if !self.take(')') {
            return None;
        }
        let name = match name {
            "sqrt" => return Some(Expression::root(inner)),
            "log" => "ln",
            "arcsin" => "asin",
            "arccos" => "acos",
            "arctan" => "atan",
            name => name,
        };
        let function = Function::ALL.into_iter().find(|function| function.name() == name)?;
        // As it stands, so that exp(1) stays one.
        Some(Expression::Call(function, Box::new(inner)))
    }
}

fn constant(name: &str) -> Expression {
    if name == "pi" { Expression::Pi } else { Expression::variable(name) }
}

/// One over this. Numbers in a product go below the line one by one.
fn inverse(under: Expression) -> Expression {
    match under {
        Expression::Power(base, -1.0) => *base,
        Expression::Power(base, exponent) => Expression::Power(base, -exponent),
        Expression::Product(factors) => Expression::product(factors.into_iter().map(inverse)),
        under => Expression::Power(Box::new(under), -1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Language;

    fn value(text: &str) -> f64 {
        let formula: Expression = text.parse().unwrap_or_else(|error| panic!("{error}"));
        formula.evaluate(&|name| match name {
            "a" => 3.0,
            "b" => -2.0,
            "net price" => 10.0,
            "x`y" => 7.0,
            _ => f64::NAN,
        })
    }

    #[test]
    fn values_are_those_of_the_usual_rules() {
        for (text, want) in [
            ("1 + 2 * 3", 7.0),
            ("-a^2", -9.0),
            ("(-a)**2", 9.0),
            ("2^-1", 0.5),
            ("2^3^2", 512.0),
            ("a - b - 1", 4.0),
            ("12 / a / b", -2.0),
            ("12/(a*b)", -2.0),
            ("--a", 3.0),
            ("2e-1*a + 1E1", 10.6),
            ("`net price` / 4 + `x``y`", 9.5),
            ("sqrt(a + 1) * abs(b)", 4.0),
            ("max(b, -1) + min(a, 2.5)", 1.5),
            ("a^b", 1.0 / 9.0),
            ("arccos(b + 1) / pi", 1.0),
            ("log(exp(a))", 3.0),
            (".5a".strip_suffix('a').unwrap(), 0.5),
        ] {
            assert!((value(text) - want).abs() < 1e-14, "{text}: {}", value(text));
        }
    }

    #[test]
    fn what_is_no_formula_is_refused_where_it_goes_wrong() {
        for text in ["", "a +", "a b", "(a", "a)", "f(a)", "1.2.3", "max(a, b)", "1e999", "``", "`a", "a,b", "|a|", "²"]
        {
            let error = text.parse::<Expression>();
            assert!(matches!(error, Err(Error::Syntax { what: "a formula", .. })), "{text}: {error:?}");
        }
        for deep in ["(", "-(", "sqrt(", "2^"] {
            assert!(deep.repeat(100_000).parse::<Expression>().is_err());
        }
        assert_eq!("-".repeat(1001).parse::<Expression>().ok(), None);
        assert_eq!(value(&format!("{}a", "-".repeat(100_001))), -3.0);
    }

    #[test]
    fn what_is_written_plainly_reads_as_itself() {
        for text in [
            "a / 3",
            "2 * a / 3",
            "a / (4 * pi * b^2)",
            "`net price`^(3/2) - a",
            "1 / (a + 1)",
            "sqrt(2) * a",
            "exp(1) * a - 0.1 * (b - 2)^2",
            "-a * b / sqrt(1 - a^2 / b^2)",
            "0.30000000000000004 * ln(a)",
            "(a + b) / (a - b)",
            "-3",
        ] {
            let formula: Expression = text.parse().unwrap();
            assert_eq!(formula.write_for(Language::Plain, &["a", "b", "net price"]), text);
        }
    }
}

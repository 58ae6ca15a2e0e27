//! Units of measurement: which terms can be added, and what a formula's result is measured in.

use crate::Error;
use nalm::expression::{Expression, Function};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A product of powers of base units, such as kg m²/s². What is not a unit of the SI, such as EUR, is a base unit of its own.
///
/// Only the kind of quantity counts, not its size: km and m are both lengths.
///
/// ```
/// use nalm_fit::Unit;
///
/// assert_eq!("N*m".parse::<Unit>()?, "kg m^2/s^2".parse()?);
/// assert_eq!("1".parse::<Unit>()?, Unit::default());
/// assert_eq!("EUR/h".parse::<Unit>()?.to_string(), "EUR/s");
/// # Ok::<(), nalm_fit::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    powers: BTreeMap<String, f64>,
}

/// Units of the SI, others that mean one thing only, and what they consist of.
const KNOWN: [(&str, &str); 43] = [
    ("m", ""),
    ("kg", ""),
    ("s", ""),
    ("A", ""),
    ("K", ""),
    ("mol", ""),
    ("cd", ""),
    ("g", "kg"),
    ("t", "kg"),
    ("l", "m^3"),
    ("L", "m^3"),
    ("min", "s"),
    ("h", "s"),
    ("d", "s"),
    ("rad", "1"),
    ("sr", "1"),
    ("deg", "1"),
    ("%", "1"),
    ("Hz", "s^-1"),
    ("N", "kg m s^-2"),
    ("Pa", "kg m^-1 s^-2"),
    ("bar", "kg m^-1 s^-2"),
    ("J", "kg m^2 s^-2"),
    ("eV", "kg m^2 s^-2"),
    ("W", "kg m^2 s^-3"),
    ("Wh", "kg m^2 s^-2"),
    ("C", "A s"),
    ("V", "kg m^2 s^-3 A^-1"),
    ("F", "kg^-1 m^-2 s^4 A^2"),
    ("Ohm", "kg m^2 s^-3 A^-2"),
    ("Ω", "kg m^2 s^-3 A^-2"),
    ("S", "kg^-1 m^-2 s^3 A^2"),
    ("Wb", "kg m^2 s^-2 A^-1"),
    ("T", "kg s^-2 A^-1"),
    ("H", "kg m^2 s^-2 A^-2"),
    ("lm", "cd"),
    ("lx", "cd m^-2"),
    ("in", "m"),
    ("ft", "m"),
    ("yd", "m"),
    ("mi", "m"),
    ("lb", "kg"),
    ("pH", "1"),
];

/// Prefixes of the SI. They change the size of a unit, not its kind.
const PREFIXES: [&str; 15] = ["da", "k", "M", "G", "T", "P", "h", "d", "c", "m", "µ", "u", "n", "p", "f"];

/// Whether a unit is used with a prefix. `ft` is no femtotonne, `PS` no petasiemens and `TL` no teralitre.
fn takes(unit: &str, prefix: &str) -> bool {
    match unit {
        "kg" | "%" | "min" | "h" | "d" | "deg" | "in" | "ft" | "yd" | "mi" | "lb" | "pH" => false,
        "t" => ["k", "M", "G"].contains(&prefix),
        "S" | "l" | "L" => !["T", "P"].contains(&prefix),
        _ => true,
    }
}

impl Unit {
    /// A power of it.
    pub fn power(&self, exponent: f64) -> Self {
        self.clone().times_power(&Self::default(), 0.0, exponent)
    }

    /// The product of two.
    pub fn times(&self, other: &Self) -> Self {
        self.clone().times_power(other, 1.0, 1.0)
    }

    fn times_power(mut self, other: &Self, exponent: f64, own: f64) -> Self {
        self.powers.values_mut().for_each(|e| *e *= own);
        for (name, e) in &other.powers {
            *self.powers.entry(name.clone()).or_insert(0.0) += e * exponent;
        }
        self.powers.retain(|_, e| e.abs() > 1e-9);
        self
    }

    /// Whether it is that of a pure number.
    pub fn is_one(&self) -> bool {
        self.powers.is_empty()
    }

    /// Whether two quantities can be added.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        self.clone().times_power(other, -1.0, 1.0).is_one()
    }

    fn named(name: &str) -> Self {
        let known = |name: &str| KNOWN.iter().find(|(own, _)| *own == name);
        let found = known(name).or_else(|| {
            let rest = PREFIXES.iter().filter_map(|prefix| Some((prefix, name.strip_prefix(prefix)?)));
            rest.filter(|(prefix, rest)| takes(rest, prefix)).find_map(|(_, rest)| known(rest))
        });
        let mut unit = Self::default();
        match found {
            Some((_, "1")) => {}
            Some((base, "")) => {
                unit.powers.insert((*base).into(), 1.0);
            }
            Some((_, parts)) => {
                for part in parts.split(' ') {
                    let (base, e) = part.split_once('^').unwrap_or((part, "1"));
                    unit.powers.insert(base.into(), e.parse().unwrap_or(1.0));
                }
            }
            None => {
                unit.powers.insert(name.into(), 1.0);
            }
        }
        unit
    }
}

/// The unit of an expression, or what cannot be added, or be the argument of a function. Numbers have none.
pub(crate) fn unit_of(expression: &Expression, of: &dyn Fn(&str) -> Unit) -> Result<Unit, String> {
    match expression {
        Expression::Variable(name) => Ok(of(name)),
        Expression::Sum(terms) => {
            let mut units = terms.iter().map(|term| unit_of(term, of));
            let first = units.next().unwrap_or_else(|| Ok(Unit::default()))?;
            for unit in units {
                let unit = unit?;
                if !unit.fits(&first) {
                    return Err(format!("the formula adds {first} and {unit}"));
                }
            }
            Ok(first)
        }
        Expression::Product(factors) => {
            factors.iter().try_fold(Unit::default(), |product, factor| Ok(product.times(&unit_of(factor, of)?)))
        }
        Expression::Power(base, exponent) => Ok(unit_of(base, of)?.power(*exponent)),
        Expression::Call(Function::Abs, inner) | Expression::AtLeast(inner, _) | Expression::AtMost(inner, _) => {
            unit_of(inner, of)
        }
        Expression::Call(_, inner) => {
            let unit = unit_of(inner, of)?;
            if unit.is_one() { Ok(unit) } else { Err(format!("the formula takes a function of {unit}")) }
        }
        _ => Ok(Unit::default()),
    }
}

/// What is wrong with the units of a formula, if anything is.
pub(crate) fn fault(expression: &Expression, of: &dyn Fn(&str) -> Unit, target: &Unit) -> Option<String> {
    match unit_of(expression, of) {
        Err(fault) => Some(format!("{fault}; a constant may have a unit")),
        Ok(unit) if unit.fits(target) => None,
        Ok(unit) => Some(format!("the formula is in {unit} and the target in {target}; a constant may have a unit")),
    }
}

impl FromStr for Unit {
    type Err = Error;

    /// Reads `kg*m^2/s^2`, `kg m² s⁻²`, `m/s/s`, `1` or nothing for a pure number. Only the unit right behind a slash is below it: kg/m s is
    /// kg s/m.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |fault: &str| Error::Unit { got: text.into(), fault: fault.into() };
        let mut plain = String::new();
        for c in text.trim().chars() {
            match "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|high| high == c) {
                Some(digit) => {
                    if !plain.ends_with(|c: char| c.is_ascii_digit() || c == '^' || c == '-') {
                        plain.push('^');
                    }
                    plain.push(char::from_digit(digit as u32, 10).unwrap_or('0'));
                }
                None if c == '⁻' => plain.push_str("^-"),
                None if c == '·' || c == '⋅' => plain.push('*'),
                None => plain.push(c),
            }
        }
        let plain = plain.replace("**", "^").replace(['[', ']'], "");
        let (mut unit, mut below) = (Self::default(), false);
        for part in plain.split_inclusive(['*', '/', ' ']) {
            let (symbol, sign) = match part.strip_suffix(['*', '/', ' ']) {
                Some(symbol) => (symbol, part.chars().next_back()),
                None => (part, None),
            };
            if !symbol.is_empty() {
                let (name, exponent) = symbol.split_once('^').unwrap_or((symbol, "1"));
                let exponent = exponent.trim_matches(['(', ')']);
                let exponent: f64 = exponent.parse().map_err(|_| wrong("an exponent is a number"))?;
                if !exponent.is_finite() || exponent.abs() > 100.0 {
                    return Err(wrong("an exponent is too large"));
                }
                if name.is_empty() {
                    return Err(wrong("an exponent has no unit before it"));
                }
                if name.contains(['(', ')']) {
                    return Err(wrong("parentheses are not known"));
                }
                if name.parse::<f64>().is_err() {
                    unit = unit.times_power(&Self::named(name), if below { -exponent } else { exponent }, 1.0);
                }
                below = false;
            }
            if sign == Some('/') {
                below = true;
            }
        }
        Ok(unit)
    }
}

impl Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_one() {
            return f.write_str("1");
        }
        let (above, below): (Vec<_>, Vec<_>) = self.powers.iter().partition(|(_, e)| **e > 0.0);
        let part = |(name, e): &(&String, &f64)| {
            let e = e.abs();
            if e == 1.0 { (*name).clone() } else { format!("{name}^{e}") }
        };
        let top: Vec<String> = above.iter().map(part).collect();
        f.write_str(if top.is_empty() { "1" } else { "" })?;
        f.write_str(&top.join("*"))?;
        below.iter().try_for_each(|entry| write!(f, "/{}", part(entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_in_the_usual_spellings() {
        let force: Unit = "kg*m/s^2".parse().unwrap();
        for same in ["N", "kg m s^-2", "kg m s⁻²", "kg·m/s²", "kg*m/s/s", "kN", "[N]", "kg * m / s**2"] {
            assert_eq!(same.parse::<Unit>().unwrap(), force, "{same}");
        }
        for one in ["", "1", "rad", "m/m", "%"] {
            assert!(one.parse::<Unit>().unwrap().is_one(), "{one}");
        }
        assert!("m^x".parse::<Unit>().is_err() && "(m/s)^2".parse::<Unit>().is_err());
        assert_eq!("EUR/piece".parse::<Unit>().unwrap().to_string(), "EUR/piece");
        assert_eq!("m^0.5".parse::<Unit>().unwrap().to_string(), "m^0.5");
    }

    #[test]
    fn letters_before_a_unit_are_prefixes_only_where_people_use_them() {
        let unit = |text: &str| text.parse::<Unit>().unwrap();
        for (text, kind) in [
            ("ft", "m"),
            ("in^2", "m^2"),
            ("mi/h", "m/s"),
            ("yd", "m"),
            ("lb", "kg"),
            ("kt", "kg"),
            ("Mt", "kg"),
            ("Gt", "kg"),
            ("t", "kg"),
            ("ml", "m^3"),
            ("mS", "S"),
            ("kΩ", "Ohm"),
            ("min", "s"),
            ("pH", "1"),
        ] {
            assert_eq!(unit(text), unit(kind), "{text}");
        }
        for own in ["pt", "ct", "PS", "TL", "kft", "min2"] {
            assert_eq!(unit(own).to_string(), own);
        }
        assert!("^2".parse::<Unit>().unwrap_err().to_string().contains("no unit before it"));
    }

    #[test]
    fn products_and_powers_follow_the_rules() {
        let [m, s]: [Unit; 2] = ["m", "s"].map(|u| u.parse().unwrap());
        assert_eq!(m.times(&s.power(-2.0)), "m/s^2".parse().unwrap());
        let of = |name: &str| if name == "t" { s.clone() } else { m.clone() };
        let x = Expression::variable;
        let speed = Expression::product([x("a"), x("t").power(-1.0)]);
        assert_eq!(unit_of(&speed, &of), Ok("m/s".parse().unwrap()));
        assert_eq!(fault(&speed, &of, &"m/s".parse().unwrap()), None);
        assert!(fault(&speed, &of, &m).unwrap().contains("in m/s and the target in m"));
        assert!(fault(&Expression::sum([x("a"), x("t")]), &of, &m).unwrap().contains("adds m and s"));
        assert!(fault(&x("a").call(Function::Exp), &of, &m).unwrap().contains("function of m"));
        assert!(m.fits(&m) && !m.fits(&s));
        assert!(m.times(&m.power(-1.0)).is_one());
    }
}

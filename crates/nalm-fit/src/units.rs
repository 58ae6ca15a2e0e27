//! Units of measurement: which terms can be added, and what a formula's result is measured in.

use crate::Error;
use nalm::expression::{Expression, Function};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A product of powers of base units, such as kg m²/s². What is not a unit of the SI, such as EUR, is a base unit of its own.
///
/// Only the kind of quantity counts, not its size: km and m are both lengths, and equal. What they differ by is known, and is in notes about formulas.
///
/// ```
/// use nalm_fit::Unit;
///
/// assert_eq!("N*m".parse::<Unit>()?, "kg m^2/s^2".parse()?);
/// assert_eq!("1".parse::<Unit>()?, Unit::default());
/// assert_eq!("EUR/h".parse::<Unit>()?.to_string(), "EUR/s");
/// # Ok::<(), nalm_fit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Unit {
    powers: BTreeMap<String, f64>,
    /// How large it is in base units.
    size: f64,
    /// As it was written, and to which power that is taken; nothing where nobody gave a unit.
    written: BTreeMap<String, f64>,
    /// Names in it that are not known.
    strange: Vec<String>,
}

impl Default for Unit {
    fn default() -> Self {
        Self { powers: BTreeMap::new(), size: 1.0, written: BTreeMap::new(), strange: Vec::new() }
    }
}

impl PartialEq for Unit {
    fn eq(&self, other: &Self) -> bool {
        self.powers == other.powers
    }
}

/// Units of the SI, others that mean one thing only, what they consist of, and how large they are in units of the SI.
const KNOWN: [(&str, &str, f64); 43] = [
    ("m", "", 1.0),
    ("kg", "", 1.0),
    ("s", "", 1.0),
    ("A", "", 1.0),
    ("K", "", 1.0),
    ("mol", "", 1.0),
    ("cd", "", 1.0),
    ("g", "kg", 1e-3),
    ("t", "kg", 1e3),
    ("l", "m^3", 1e-3),
    ("L", "m^3", 1e-3),
    ("min", "s", 60.0),
    ("h", "s", 3_600.0),
    ("d", "s", 86_400.0),
    ("rad", "1", 1.0),
    ("sr", "1", 1.0),
    ("deg", "1", std::f64::consts::PI / 180.0),
    ("%", "1", 0.01),
    ("Hz", "s^-1", 1.0),
    ("N", "kg m s^-2", 1.0),
    ("Pa", "kg m^-1 s^-2", 1.0),
    ("bar", "kg m^-1 s^-2", 1e5),
    ("J", "kg m^2 s^-2", 1.0),
    ("eV", "kg m^2 s^-2", 1.602_176_634e-19),
    ("W", "kg m^2 s^-3", 1.0),
    ("Wh", "kg m^2 s^-2", 3_600.0),
    ("C", "A s", 1.0),
    ("V", "kg m^2 s^-3 A^-1", 1.0),
    ("F", "kg^-1 m^-2 s^4 A^2", 1.0),
    ("Ohm", "kg m^2 s^-3 A^-2", 1.0),
    ("Ω", "kg m^2 s^-3 A^-2", 1.0),
    ("S", "kg^-1 m^-2 s^3 A^2", 1.0),
    ("Wb", "kg m^2 s^-2 A^-1", 1.0),
    ("T", "kg s^-2 A^-1", 1.0),
    ("H", "kg m^2 s^-2 A^-2", 1.0),
    ("lm", "cd", 1.0),
    ("lx", "cd m^-2", 1.0),
    ("in", "m", 0.0254),
    ("ft", "m", 0.3048),
    ("yd", "m", 0.9144),
    ("mi", "m", 1_609.344),
    ("lb", "kg", 0.453_592_37),
    ("pH", "1", 1.0),
];

/// Prefixes of the SI. They change the size of a unit, not its kind.
const PREFIXES: [(&str, f64); 15] = [
    ("da", 1e1),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("h", 1e2),
    ("d", 1e-1),
    ("c", 1e-2),
    ("m", 1e-3),
    ("µ", 1e-6),
    ("u", 1e-6),
    ("n", 1e-9),
    ("p", 1e-12),
    ("f", 1e-15),
];

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
        for (mine, others) in [(&mut self.powers, &other.powers), (&mut self.written, &other.written)] {
            mine.values_mut().for_each(|e| *e *= own);
            for (name, e) in others {
                *mine.entry(name.clone()).or_insert(0.0) += e * exponent;
            }
            mine.retain(|_, e| e.abs() > 1e-9);
        }
        self.size = libm::pow(self.size, own) * libm::pow(other.size, exponent);
        self.strange.extend(other.strange.iter().cloned());
        self
    }

    /// Whether somebody gave it: `1` is a unit, and nothing is none.
    pub fn is_given(&self) -> bool {
        !self.written.is_empty()
    }

    /// Names in it that are not known, each of which is taken for a unit of its own.
    pub fn strange(&self) -> &[String] {
        &self.strange
    }

    /// As it was written.
    fn shown(&self) -> String {
        if self.written.is_empty() { self.to_string() } else { shown(&self.written) }
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
        let known = |name: &str, size: f64| {
            let found = KNOWN.iter().find(|(own, ..)| *own == name);
            found.map(|(own, parts, of)| (*own, *parts, of * size))
        };
        let found = known(name, 1.0).or_else(|| {
            let rest = PREFIXES.iter().filter_map(|(prefix, size)| Some((*prefix, name.strip_prefix(prefix)?, *size)));
            rest.filter(|(prefix, rest, _)| takes(rest, prefix)).find_map(|(_, rest, size)| known(rest, size))
        });
        let mut unit = Self { size: found.map_or(1.0, |(.., size)| size), ..Self::default() };
        match found {
            Some((_, "1", _)) => {}
            Some((base, "", _)) => {
                unit.powers.insert(base.into(), 1.0);
            }
            Some((_, parts, _)) => {
                for part in parts.split(' ') {
                    let (base, e) = part.split_once('^').unwrap_or((part, "1"));
                    unit.powers.insert(base.into(), e.parse().unwrap_or(1.0));
                }
            }
            None => {
                unit.powers.insert(name.into(), 1.0);
                unit.strange.push(name.into());
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
pub(crate) fn fault(expression: &Expression, of: &dyn Fn(&str) -> Unit, name: &str, target: &Unit) -> Option<String> {
    let found = unit_of(expression, of);
    if found.as_ref().is_ok_and(|unit| unit.fits(target)) {
        return None;
    }
    let mut without = None;
    expression.variables(&mut |name| {
        if !of(name).is_given() {
            without.get_or_insert_with(|| name.to_string());
        }
    });
    Some(match (without, found) {
        (Some(column), _) => format!("no unit is given for '{column}', so that the units of the formula are not known"),
        (None, Ok(unit)) if !target.is_given() => format!("no unit is given for '{name}'; the formula is in {unit}"),
        (None, Err(fault)) => format!("{fault}; a constant may have a unit"),
        (None, Ok(unit)) => format!("the formula is in {unit} and the target in {target}; a constant may have a unit"),
    })
}

/// How near a constant must be to what one unit is in another one.
const NEAR: f64 = 1e-6;

/// Where a formula of the right kind has units of different sizes: what is added or equated without converting, and constants that convert.
pub(crate) fn sizes(expression: &Expression, of: &dyn Fn(&str) -> Unit, target: &Unit) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |text: Option<String>| notes.extend(text.filter(|text| !notes.contains(text)));
    sums(expression, of, target, &mut |a, b| note(compared(a, b, "adds", "and")));
    if target.is_given()
        && let Some((factor, unit)) = scaled(expression, of)
    {
        note(compared((1.0, target.clone()), (factor, unit), "gives", "from"));
    }
    notes
}

/// What there is to say about two quantities, each a number times a unit, that are added or equal.
fn compared((a, one): (f64, Unit), (b, other): (f64, Unit), verb: &str, and: &str) -> Option<String> {
    if !one.is_given() || !other.is_given() || !one.fits(&other) || (one.size / other.size - 1.0).abs() < NEAR {
        return None;
    }
    let (is, have) = (other.size / one.size, b / a);
    let near = |x: f64, y: f64| (x / y - 1.0).abs() < NEAR;
    let [first, second] = [one.shown(), other.shown()];
    if near(have, is) {
        return Some(format!("{} is {first} per {second}", digits(have)));
    }
    // Another constant may be anything.
    near(have.abs(), 1.0).then(|| {
        format!("the formula {verb} {first} {and} {second} without converting; 1 {second} is {} {first}", digits(is))
    })
}

/// A number with six digits at most.
fn digits(x: f64) -> String {
    let short: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    short.to_string()
}

/// A number times something that has a unit; nothing for sums of several sizes.
fn scaled(expression: &Expression, of: &dyn Fn(&str) -> Unit) -> Option<(f64, Unit)> {
    match expression {
        Expression::Number(number) => Some((*number, Unit::default())),
        Expression::Pi => Some((std::f64::consts::PI, Unit::default())),
        Expression::Variable(name) => Some((1.0, of(name))),
        Expression::Product(factors) => factors.iter().try_fold((1.0, Unit::default()), |(number, unit), factor| {
            let (more, other) = scaled(factor, of)?;
            Some((number * more, unit.times(&other)))
        }),
        Expression::Power(base, exponent) => {
            let (number, unit) = scaled(base, of)?;
            Some((libm::pow(number, *exponent), unit.power(*exponent)))
        }
        _ => None,
    }
}

/// Hands on the first term of every sum with each of the others.
fn sums(
    expression: &Expression,
    of: &dyn Fn(&str) -> Unit,
    target: &Unit,
    pair: &mut dyn FnMut((f64, Unit), (f64, Unit)),
) {
    match expression {
        Expression::Sum(terms) => {
            let known: Vec<(f64, Unit)> = terms.iter().filter_map(|term| scaled(term, of)).collect();
            // Constants convert into the unit that stands without one, the target's if that is there.
            let plain = |unit: &Unit, number: f64| number.abs() == 1.0 && unit.is_given();
            let place =
                |of: &dyn Fn(&Unit) -> bool| known.iter().position(|(number, unit)| plain(unit, *number) && of(unit));
            let plain = place(&|unit| unit.size == target.size).or_else(|| place(&|_| true)).unwrap_or(0);
            if let Some(first) = known.get(plain) {
                let others = known.iter().enumerate().filter(|(k, _)| *k != plain);
                others.for_each(|(_, other)| pair(first.clone(), other.clone()));
            }
            terms.iter().for_each(|term| sums(term, of, target, pair));
        }
        Expression::Product(all) => all.iter().for_each(|one| sums(one, of, target, pair)),
        Expression::Power(inner, _)
        | Expression::Call(_, inner)
        | Expression::AtLeast(inner, _)
        | Expression::AtMost(inner, _) => sums(inner, of, target, pair),
        _ => {}
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
        let text = text.trim().trim_matches(['[', ']']);
        unit.written = if text.is_empty() { BTreeMap::new() } else { BTreeMap::from([(text.into(), 1.0)]) };
        Ok(unit)
    }
}

impl Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.powers))
    }
}

/// A product of powers.
fn shown(powers: &BTreeMap<String, f64>) -> String {
    if powers.is_empty() {
        return "1".into();
    }
    let (above, below): (Vec<_>, Vec<_>) = powers.iter().partition(|(_, e)| **e > 0.0);
    let part = |(name, e): &(&String, &f64)| {
        let e = e.abs();
        if e == 1.0 { (*name).clone() } else { format!("{name}^{e}") }
    };
    let top: Vec<String> = above.iter().map(part).collect();
    let top = if top.is_empty() { "1".into() } else { top.join("*") };
    top + &below.iter().map(|entry| format!("/{}", part(entry))).collect::<String>()
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
        assert_eq!(fault(&speed, &of, "v", &"m/s".parse().unwrap()), None);
        assert!(fault(&speed, &of, "v", &m).unwrap().contains("in m/s and the target in m"));
        assert!(fault(&Expression::sum([x("a"), x("t")]), &of, "v", &m).unwrap().contains("adds m and s"));
        assert!(fault(&x("a").call(Function::Exp), &of, "v", &m).unwrap().contains("function of m"));
        assert!(m.fits(&m) && !m.fits(&s));
        assert!(m.times(&m.power(-1.0)).is_one());
    }

    /// What is added in different units is said, and so is the number that converts them.
    #[test]
    fn sizes_of_units_are_compared() {
        let x = Expression::variable;
        let of = |name: &str| match name {
            "b" => "ft".parse().unwrap(),
            "v" => "km/h".parse().unwrap(),
            "none" => Unit::default(),
            _ => "m".parse::<Unit>().unwrap(),
        };
        let (m, speed): (Unit, Unit) = ("m".parse().unwrap(), "m/s".parse().unwrap());
        let sum = |factor: f64| Expression::sum([x("a"), x("b").times(factor)]);
        assert_eq!(
            sizes(&sum(1.0), &of, &m),
            ["the formula adds m and ft without converting; 1 ft is 0.3048 m".to_string()]
        );
        let turned = Expression::sum([x("b"), x("a")]);
        assert_eq!(sizes(&turned, &of, &m), sizes(&sum(1.0), &of, &m), "into the target's unit");
        assert_eq!(sizes(&sum(0.3048), &of, &m), ["0.3048 is m per ft".to_string()]);
        assert!(sizes(&sum(2.0), &of, &m).is_empty() && sizes(&x("a"), &of, &m).is_empty());
        assert_eq!(sizes(&x("v").times(1.0 / 3.6), &of, &speed), ["0.277778 is m/s per km/h".to_string()]);
        assert!(sizes(&x("v"), &of, &speed)[0].contains("gives m/s from km/h without converting"));
        assert!(
            fault(&x("a"), &of, "s", &Unit::default())
                .unwrap()
                .contains("no unit is given for 's'; the formula is in m")
        );
        assert!(fault(&x("none"), &of, "s", &m).unwrap().contains("no unit is given for 'none'"));
        assert_eq!("blorp/s".parse::<Unit>().unwrap().strange(), ["blorp"]);
    }
}

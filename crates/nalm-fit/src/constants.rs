//! Numbers that are meant: fractions, multiples of pi and of a few roots, short decimals and what is made of them, and sizes of units.

use nalm::expression::Expression;
use std::f64::consts::{E, PI, SQRT_2};

/// What a fraction may be a multiple of, and how many bits saying so takes.
const FAMILIES: [(Family, f64, f64); 11] = [
    (Family::One, 1.0, 0.0),
    (Family::Pi(1.0), PI, 3.4),
    (Family::Pi(-1.0), 1.0 / PI, 3.8),
    (Family::Pi(2.0), PI * PI, 4.2),
    (Family::Pi(-2.0), 1.0 / (PI * PI), 4.6),
    (Family::Pi(0.5), 1.772_453_850_905_516, 5.0),
    (Family::Pi(-0.5), 0.564_189_583_547_756_3, 5.4),
    (Family::Root(2), SQRT_2, 5.8),
    (Family::Root(3), 1.732_050_807_568_877_2, 6.2),
    (Family::E(1.0), E, 6.6),
    (Family::E(-1.0), 1.0 / E, 7.0),
];

/// Bits that a constant must stay below the precision with which it is known; else it is a coincidence.
const MARGIN: f64 = 4.0;
/// The same where a constant is known with an error, whose size counts by itself.
const MARGIN_OF_FITTED: f64 = 3.0;
/// Bits for a number with a large prime factor: few people mean 17/23.
const LARGE_FACTOR: f64 = 3.0;
/// Bits that a constant must stay below the precision with which the printed digits of all rows know it, before it is called exact: of
/// some hundred numbers without meaning one is so near to a short one.
const MARGIN_OF_PRINTED: f64 = 6.5;
/// How closely the digits of all rows must know a constant so that the usual margin will do: who takes it for another one is off by no more.
const CLOSE: f64 = 1e-6;
/// Bits of saying that a decimal is divided by, or that it is added to 1 and divided by the sum.
const DIVIDED: f64 = 1.0;
const INCLUDED: f64 = 3.0;
/// Bits beyond which a fraction is written as a decimal: it would be a coincidence of its last digits.
const MOST_WRITTEN: f64 = 30.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Family {
    One,
    Pi(f64),
    Root(u32),
    E(f64),
}

/// How a constant is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Fraction(i64, i64, Family),
    Decimal,
    /// One over a decimal.
    OverDecimal(f64),
    /// p / (1 + p) of a decimal p, what was added as a share of the total: the tax that a price includes.
    Included(f64),
    /// A unit of measurement in another one, or the other way round if the number is given.
    Conversion(Option<f64>),
    RootOfFraction(i64, i64),
}

/// A number that was recognised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meant {
    pub(crate) value: f64,
    pub(crate) bits: f64,
    pub(crate) kind: Kind,
}

/// Constants of nature (CODATA 2022; those without a digit to spare are exact by definition) and the standard gravity, in units of the SI.
const NATURE: [(&str, f64); 14] = [
    ("speed of light", 299_792_458.0),
    ("Planck constant", 6.626_070_15e-34),
    ("reduced Planck constant", 1.054_571_817e-34),
    ("elementary charge", 1.602_176_634e-19),
    ("Boltzmann constant", 1.380_649e-23),
    ("Avogadro constant", 6.022_140_76e23),
    ("gas constant", 8.314_462_618),
    ("gravitational constant", 6.674_30e-11),
    ("electric constant", 8.854_187_818_8e-12),
    ("magnetic constant", 1.256_637_061_27e-6),
    ("electron mass", 9.109_383_713_9e-31),
    ("proton mass", 1.672_621_925_95e-27),
    ("Stefan-Boltzmann constant", 5.670_374_419e-8),
    ("standard gravity", 9.806_65),
];

/// Sizes of units that are no SI units in those that are, all exact by definition, but for powers of ten: mile, pound, foot, inch, ounce, gallons of both kinds, nautical mile,
/// horsepower of both kinds, calories of both kinds, pound per square inch, atmosphere, acre, square and cubic foot, mile per hour, fluid ounce, and the unit of heat.
const CONVERSIONS: [f64; 19] = [
    1.609_344,
    4.535_923_7,
    3.048,
    2.54,
    2.834_952_312_5,
    3.785_411_784,
    4.546_09,
    1.852,
    7.456_998_715_822_702,
    7.354_987_5,
    4.184,
    4.186_8,
    6.894_757_293_168_361,
    1.013_25,
    4.046_856_422_4,
    9.290_304,
    2.831_684_659_2,
    4.470_4,
    2.957_352_956_25,
];
/// Bits of saying which of them, and which way round.
const CONVERTED: f64 = 6.0;

/// The constant of nature between two bounds, if there is one and the bounds are close enough to mean it.
pub(crate) fn of_nature(low: f64, high: f64) -> Option<&'static str> {
    let (low, high) = if low <= 0.0 && high <= 0.0 { (-high, -low) } else { (low, high) };
    let close = |value: f64| (high - low) < 1e-2 * value;
    NATURE.iter().find(|(_, value)| (low..=high).contains(value) && close(*value)).map(|(name, _)| *name)
}

/// The fraction with the smallest numbers between two bounds (Stern and Brocot).
fn simplest(low: f64, high: f64) -> Option<(i64, i64)> {
    fn between(low: f64, high: f64, depth: u32) -> Option<(i64, i64)> {
        let whole = low.floor();
        if whole.abs() > 1e15 || depth > 25 {
            return None;
        }
        if whole == low {
            return Some((whole as i64, 1));
        }
        if whole + 1.0 <= high {
            return Some((whole as i64 + 1, 1));
        }
        let (n, d) = between(1.0 / (high - whole), 1.0 / (low - whole), depth + 1)?;
        // whole + d / n
        let top = (whole as i64).checked_mul(n)?.checked_add(d)?;
        Some((top, n))
    }
    between(low, high, 0).filter(|(n, d)| *n > 0 && *d > 0)
}

fn bits_of(n: i64, d: i64) -> f64 {
    let large = |k: i64, primes: &[i64]| {
        let left = primes.iter().fold(k.max(1), |mut k, p| {
            while k % p == 0 {
                k /= p;
            }
            k
        });
        if left > 1 { LARGE_FACTOR } else { 0.0 }
    };
    libm::log2(n as f64 + 1.0) + libm::log2(d as f64) + large(n, &[2, 3, 5, 7]) + large(d, &[2, 3, 5])
}

/// The simplest number within a relative distance, if it is much simpler than the distance is small.
pub(crate) fn meant(c: f64, relative: f64) -> Option<Meant> {
    if c == 0.0 {
        return Some(Meant { value: 0.0, bits: 0.0, kind: Kind::Fraction(0, 1, Family::One) });
    }
    let best = shortest_of(c, relative, &|_| true);
    best.filter(|best| best.bits + MARGIN <= -libm::log2(relative.max(1e-17)))
}

/// The number with the fewest bits of all that are within a relative distance and allowed.
fn shortest_of(c: f64, relative: f64, is_allowed: &dyn Fn(f64) -> bool) -> Option<Meant> {
    let mut best: Option<Meant> = None;
    let mut offer = |meant: Meant| {
        if is_allowed(meant.value) && best.is_none_or(|best| meant.bits < best.bits - 1e-9) {
            best = Some(meant);
        }
    };
    within(c, relative, &mut offer);
    derived(c, relative, &mut offer);
    best
}

/// The simplest number between two bounds that the printed digits of all rows leave, if it is much simpler than the bounds are close.
pub(crate) fn between(low: f64, high: f64) -> Option<Meant> {
    let middle = low + 0.5 * (high - low);
    let relative = 0.5 * (high - low) / middle;
    let best = shortest_of(middle, relative.abs().max(1e-16), &|c| (low..=high).contains(&c));
    best.filter(|best| spare(best.value, relative, true) >= 0.0)
}

/// Bits by which a number is simpler than it must be to be no coincidence, where printed digits leave it so much room on either side. The first of a formula
/// says whether its numbers are meant at all.
pub(crate) fn spare(c: f64, relative: f64, is_first: bool) -> f64 {
    let margin = if is_first && relative.abs() >= CLOSE { MARGIN_OF_PRINTED } else { MARGIN };
    -libm::log2(relative.abs().max(1e-17)) - margin - bits(c, 1e-11)
}

/// The decimal with the fewest digits between two bounds.
pub(crate) fn shortest(low: f64, high: f64) -> f64 {
    let middle = low + 0.5 * (high - low);
    let rounded = (0..17).filter_map(|digits| format!("{middle:.digits$e}").parse::<f64>().ok());
    rounded.into_iter().find(|c| (low..=high).contains(c)).unwrap_or(middle)
}

/// The number that somebody who fitted `c` with a relative standard error most likely means, if that explains the fit better than a
/// number without meaning does: bits of the number and of the deviation from it against the digits that are known.
pub(crate) fn likely(c: f64, error: f64) -> Option<Meant> {
    let error = error.max(1e-14);
    let mut best: Option<(f64, Meant)> = None;
    for window in [1.0, 2.0, 3.2] {
        within(c, window * error, &mut |meant| {
            let z = (meant.value / c - 1.0) / error;
            let cost = meant.bits + std::f64::consts::LOG2_E / 2.0 * z * z;
            if best.is_none_or(|best| cost < best.0 - 1e-9) {
                best = Some((cost, meant));
            }
        });
    }
    best.filter(|(cost, _)| *cost <= bits_of_fitted(error)).map(|(_, meant)| meant)
}

/// Bits of a constant that is known with a relative standard error and has no meaning.
pub(crate) fn bits_of_fitted(error: f64) -> f64 {
    -libm::log2(error.max(1e-14)) - MARGIN_OF_FITTED
}

/// The simplest numbers of every kind within a relative distance.
fn within(c: f64, relative: f64, found: &mut dyn FnMut(Meant)) {
    if !(c.is_finite() && c != 0.0 && relative > 0.0 && relative < 0.3) {
        return;
    }
    let (a, sign) = (c.abs(), c.signum());
    let mut offer = |value: f64, bits: f64, kind: Kind| found(Meant { value: sign * value, bits, kind });
    for (family, unit, extra) in FAMILIES {
        let v = a / unit;
        if !(1e-9..=1e9).contains(&v) {
            continue;
        }
        if let Some((n, d)) = simplest(v * (1.0 - relative), v * (1.0 + relative)) {
            let value = match family {
                Family::Pi(-1.0) => n as f64 / (d as f64 * PI),
                _ => n as f64 / d as f64 * unit,
            };
            offer(value, bits_of(n, d) + extra, Kind::Fraction(n, d, family));
        }
    }
    if let Some((rounded, bits)) = decimal(a, relative) {
        offer(rounded, bits, Kind::Decimal);
    }
    let square = a * a;
    if (1e-12..1e12).contains(&square)
        && let Some((n, d)) = simplest(square * (1.0 - 2.0 * relative), square * (1.0 + 2.0 * relative))
    {
        offer((n as f64 / d as f64).sqrt(), bits_of(n, d) + 6.0, Kind::RootOfFraction(n, d));
    }
}

/// The same of what a decimal or a unit can be behind. Where a constant has an error they would be a coincidence too often.
fn derived(c: f64, relative: f64, found: &mut dyn FnMut(Meant)) {
    if !(c.is_finite() && c != 0.0 && relative > 0.0 && relative < 0.3) {
        return;
    }
    let (a, sign) = (c.abs(), c.signum());
    let mut offer = |value: f64, bits: f64, kind: Kind| found(Meant { value: sign * value, bits, kind });
    if let Some((rounded, bits)) = decimal(1.0 / a, relative) {
        offer(1.0 / rounded, bits + DIVIDED, Kind::OverDecimal(rounded));
    }
    // The share of p is known worse than p / (1 + p) is.
    if a < 1.0
        && let Some((p, bits)) = decimal(a / (1.0 - a), relative / (1.0 - a)).filter(|(p, _)| *p < 1.0)
    {
        offer(p / (1.0 + p), bits + INCLUDED, Kind::Included(p));
    }
    for (target, over) in [(a, false), (1.0 / a, true)] {
        let tens = libm::floor(libm::log10(target));
        let mantissa = target / libm::pow(10.0, tens);
        for size in CONVERSIONS.into_iter().filter(|size| (size / mantissa - 1.0).abs() <= relative) {
            let Ok(value) = format!("{size:?}e{tens}").parse::<f64>() else { continue };
            let value_of = if over { 1.0 / value } else { value };
            offer(value_of, CONVERTED + 0.3 * tens.abs(), Kind::Conversion(over.then_some(value)));
        }
    }
}

/// The decimal with the fewest digits within a relative distance of a positive number, and its bits.
fn decimal(a: f64, relative: f64) -> Option<(f64, f64)> {
    let place = libm::floor(libm::log10(a));
    for digits in 1..=12 {
        let rounded = format!("{a:.*e}", digits - 1).parse::<f64>().ok()?;
        if (rounded - a).abs() <= a * relative {
            let mantissa = rounded / libm::pow(10.0, place - (digits - 1) as f64);
            return Some((rounded, libm::log2(mantissa + 1.0) + 2.0 + 0.3 * place.abs()));
        }
    }
    None
}

/// Bits of a constant that need not be known better than `relative`; many if it means nothing.
pub(crate) fn bits(c: f64, relative: f64) -> f64 {
    if c.abs() == 1.0 { 0.0 } else { meant(c, relative).map_or(45.0, |m| m.bits) }
}

/// The absolute value of a constant as factors of a product, written as it is meant.
pub(crate) fn factors(c: f64) -> Vec<Expression> {
    let number = |n: i64| Expression::Number(n as f64);
    let over = |e: Expression| Expression::Power(Box::new(e), -1.0);
    let mut list = Vec::new();
    let mut fraction = |n: i64, d: i64, family: Option<Expression>| {
        // Halves, quarters and tenths read best as decimals.
        let short = family.is_none() && (1000 % d == 0);
        if short {
            list.push(Expression::Number(n as f64 / d as f64));
        } else if n != 1 {
            list.push(number(n));
        }
        list.extend(family);
        if !short && d != 1 {
            list.push(over(number(d)));
        }
    };
    match meant(c.abs(), 1e-14).filter(|m| m.bits <= MOST_WRITTEN).map(|m| m.kind) {
        Some(Kind::Fraction(n, d, Family::One)) => fraction(n, d, None),
        Some(Kind::Fraction(n, d, Family::Pi(p))) => fraction(n, d, Some(pi(p))),
        Some(Kind::Fraction(n, d, Family::Root(r))) => {
            fraction(n, d, Some(Expression::Power(Box::new(number(r.into())), 0.5)));
        }
        Some(Kind::OverDecimal(under) | Kind::Conversion(Some(under))) => list.push(over(Expression::Number(under))),
        Some(Kind::Included(p)) => {
            list.extend([Expression::Number(p), over(Expression::Number(rounded_sum(1.0, p)))]);
        }
        _ => list.push(Expression::Number(c.abs())),
    }
    list.retain(|e| *e != Expression::Number(1.0));
    list
}

/// 1.19 for 1 and 0.19, without the error of adding them.
fn rounded_sum(a: f64, b: f64) -> f64 {
    format!("{:.14e}", a + b).parse().unwrap_or(a + b)
}

/// A power of pi.
fn pi(p: f64) -> Expression {
    Expression::Pi.power(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_meant_are_recognised() {
        for (value, kind) in [
            (0.5, Kind::Fraction(1, 2, Family::One)),
            (1.0 / 3.0, Kind::Fraction(1, 3, Family::One)),
            (4.0 * PI / 3.0, Kind::Fraction(4, 3, Family::Pi(1.0))),
            (1.0 / (4.0 * PI), Kind::Fraction(1, 4, Family::Pi(-1.0))),
            (6.67e-11, Kind::Decimal),
            ((2.0f64 / 7.0).sqrt(), Kind::RootOfFraction(2, 7)),
        ] {
            let found = meant(value * (1.0 + 3e-13), 1e-11).unwrap();
            assert_eq!(found.kind, kind);
            assert!((found.value / value - 1.0).abs() < 4e-16, "{value}");
            assert_eq!(meant(-value, 1e-11).unwrap().value, -found.value);
        }
    }

    #[test]
    fn constants_of_nature_are_named_where_the_bounds_are_close() {
        assert_eq!(of_nature(9.8, 9.81), Some("standard gravity"));
        assert_eq!(of_nature(-299_792_458.0, -299_792_458.0), Some("speed of light"));
        assert_eq!(of_nature(9.0, 11.0), None);
        assert_eq!(of_nature(9.9, 9.91), None);
    }

    /// Numbers of every size, with errors of every size: one of twelve at most is taken for something that it is not.
    #[test]
    fn fitted_numbers_are_seldom_mistaken_and_often_recognised() {
        let mut draws = crate::columns::Draws::new("constants");
        for error in [1e-2, 1e-3, 1e-4, 1e-6] {
            let mut mistaken = 0;
            for _ in 0..600 {
                let c = libm::exp(7.0 * draws.uniform() - 3.0);
                mistaken += usize::from(likely(c * (1.0 + error * draws.normal()), error).is_some());
            }
            assert!(mistaken <= 50, "{error}: {mistaken} of 600");
            let mut recognised = 0;
            for _ in 0..20 {
                for c in [0.5, 3.0, 1.0 / (4.0 * PI), 1.19, 2.0 / 3.0] {
                    let found = likely(c * (1.0 + error * draws.normal()), error);
                    recognised += usize::from(found.is_some_and(|found| (found.value / c - 1.0).abs() < 1e-9));
                }
            }
            assert!(error > 5e-4 || recognised >= 75, "{error}: {recognised} of 100");
        }
    }

    #[test]
    fn last_digits_make_no_fraction() {
        let mut draws = crate::columns::Draws::new("digits");
        for _ in 0..2000 {
            let c = draws.uniform();
            assert_eq!(factors(c), [Expression::Number(c)]);
        }
    }

    #[test]
    fn a_number_that_is_nothing_stays_one() {
        assert_eq!(meant(0.738_905_609_893_065_1, 1e-11), None);
        // Known to three digits only, 0.739 could be anything.
        assert_eq!(meant(0.739, 1e-3), None);
        assert_eq!(meant(f64::NAN, 1e-11), None);
    }
}

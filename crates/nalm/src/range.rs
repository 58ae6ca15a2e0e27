//! Where inputs come from: intervals, unions of intervals and other distributions.

use crate::Error;
use crate::error::short;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A half-open interval [low, high).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Interval {
    /// An interval that is not empty.
    pub fn new(low: f64, high: f64) -> Result<Self, Error> {
        Error::check(low.is_finite(), "lower bound of a range", low, "finite")?;
        Error::check(high.is_finite(), "upper bound of a range", high, "finite")?;
        Error::check(low < high, "upper bound of a range", high, "above the lower bound")?;
        Error::check((high - low).is_finite(), "width of a range", high - low, "finite")?;
        Ok(Self { low, high })
    }

    /// The smallest number inside.
    pub fn low(self) -> f64 {
        self.low
    }

    /// The smallest number above.
    pub fn high(self) -> f64 {
        self.high
    }

    /// high - low
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// The mean of |x|.
    fn mean_size(self) -> f64 {
        let half_square = |x: f64| 0.5 * x * x.abs();
        (half_square(self.high) - half_square(self.low)) / self.width()
    }

    /// The mean of x^2.
    fn mean_square(self) -> f64 {
        let cube = |x: f64| x * x * x;
        (cube(self.high) - cube(self.low)) / (3.0 * self.width())
    }
}

/// One interval or a union of several; numbers are uniform over all of it. Written `U[-6,-2)∪U[2,6)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Uniform(Vec<Interval>);

impl Uniform {
    /// The interval [low, high).
    pub fn new(low: f64, high: f64) -> Result<Self, Error> {
        Ok(Self(vec![Interval::new(low, high)?]))
    }

    /// A union of disjoint intervals.
    pub fn union(mut intervals: Vec<Interval>) -> Result<Self, Error> {
        Error::check(!intervals.is_empty(), "number of intervals", 0.0, "at least 1")?;
        intervals.sort_by(|a, b| a.low.total_cmp(&b.low));
        for pair in intervals.windows(2) {
            Error::check(
                pair[0].high <= pair[1].low,
                "start of an interval",
                pair[1].low,
                "outside the one before it",
            )?;
        }
        Ok(Self(intervals))
    }

    /// The intervals, in ascending order.
    pub fn intervals(&self) -> &[Interval] {
        &self.0
    }

    /// Whether `x` is inside.
    pub fn contains(&self, x: f64) -> bool {
        self.0.iter().any(|i| i.low <= x && x < i.high)
    }

    fn mean(&self, of: impl Fn(Interval) -> f64) -> f64 {
        let total: f64 = self.0.iter().map(|i| i.width()).sum();
        self.0.iter().map(|&i| i.width() / total * of(i)).sum()
    }

    /// The mean of |x|.
    pub fn mean_size(&self) -> f64 {
        self.mean(Interval::mean_size)
    }

    /// The mean of x^2.
    pub fn mean_square(&self) -> f64 {
        self.mean(Interval::mean_square)
    }
}

impl Display for Uniform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, Interval { low, high }) in self.0.iter().enumerate() {
            write!(f, "{}U[{},{})", if k > 0 { "∪" } else { "" }, short(*low), short(*high))?;
        }
        Ok(())
    }
}

impl FromStr for Uniform {
    type Err = Error;

    /// Reads `U[1,2)` and unions written with `∪` or `|`; the leading `U` may be left out. A closed upper end is refused, because none is
    /// ever drawn.
    fn from_str(text: &str) -> Result<Self, Error> {
        let syntax = || Error::Syntax { what: "range", got: text.into(), example: "U[-2,-1) or U[-6,-2)∪U[2,6)" };
        let intervals = text.split(['∪', '|']).map(|part| {
            let part = part.trim();
            let part = part.strip_prefix('U').unwrap_or(part);
            let closed = part.ends_with(']');
            let inner = part.strip_prefix('[').and_then(|p| p.strip_suffix([')', ']'])).ok_or_else(syntax)?;
            let (low, high) = inner.split_once(',').ok_or_else(syntax)?;
            let number = |s: &str| s.trim().parse::<f64>().map_err(|_| syntax());
            let interval = Interval::new(number(low)?, number(high)?)?;
            if closed {
                let open = Uniform(vec![interval]);
                let instead = format!("write {open}: the upper end of a range is never drawn");
                return Err(Error::Unsupported { what: text.into(), when: "as a range".into(), instead });
            }
            Ok(interval)
        });
        Uniform::union(intervals.collect::<Result<_, _>>()?)
    }
}

/// How every element of an input is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform over a range; the one used in the paper. Written like the range.
    Uniform(Uniform),
    /// Uniform over one range for the first half of the inputs and over another for the second. Written
    /// `halves(U[1,2);U[5,6))`.
    Halves(Uniform, Uniform),
    /// Normal, drawn again until it is inside an interval. Written `N(0,1)[-2,2)`.
    TruncatedNormal {
        /// Mean before truncation.
        mean: f64,
        /// Standard deviation before truncation.
        deviation: f64,
        /// Where the numbers lie.
        inside: Interval,
    },
    /// Exponential with this mean. Written `Exp(0.5)`.
    Exponential {
        /// The mean.
        scale: f64,
    },
    /// Whole numbers whose leading digit follows Benford's law and whose further digits are those of a uniform whole
    /// number in [low/10, high/10). Written `Benford[10,100)`.
    Benford(Interval),
}

impl From<Uniform> for Distribution {
    fn from(range: Uniform) -> Self {
        Distribution::Uniform(range)
    }
}

impl Distribution {
    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        match *self {
            Distribution::Uniform(_) | Distribution::Halves(..) => Ok(()),
            Distribution::TruncatedNormal { mean, deviation, inside } => {
                Error::check(mean.is_finite(), "mean of a normal", mean, "finite")?;
                let ok = deviation > 0.0 && deviation.is_finite();
                Error::check(ok, "standard deviation of a normal", deviation, "positive and finite")?;
                let below = |x: f64| 0.5 * libm::erfc((mean - x) / deviation * std::f64::consts::FRAC_1_SQRT_2);
                let share = below(inside.high) - below(inside.low);
                Error::check(share >= 1e-3, "share of a normal inside its interval", share, "at least 0.001")
            }
            Distribution::Exponential { scale } => {
                Error::check(scale > 0.0 && scale.is_finite(), "mean of an exponential", scale, "positive and finite")
            }
            Distribution::Benford(inside) => {
                let (low, high) = (inside.low / 10.0, inside.high / 10.0);
                Error::check(low >= 0.0, "lower bound of Benford numbers", inside.low, "at least 0")?;
                Error::check(high < 1e14, "upper bound of Benford numbers", inside.high, "below 1e15")?;
                Error::check(high.ceil() > low.ceil(), "upper bound of Benford numbers", inside.high, "10 more")
            }
        }
    }

    /// Intervals outside of which no number lies, and that each have some.
    pub(crate) fn support(&self) -> Vec<Interval> {
        match self {
            Distribution::Uniform(range) => range.0.clone(),
            Distribution::Halves(first, second) => [&first.0[..], &second.0].concat(),
            Distribution::TruncatedNormal { inside, .. } => vec![*inside],
            Distribution::Exponential { .. } => vec![Interval { low: 0.0, high: f64::INFINITY }],
            // Their leading digit is 1 or more.
            Distribution::Benford(inside) => vec![Interval { low: inside.low.max(1.0), high: inside.high }],
        }
    }

    /// The range, if the distribution is uniform over one.
    pub fn as_range(&self) -> Option<&Uniform> {
        match self {
            Distribution::Uniform(range) => Some(range),
            _ => None,
        }
    }
}

impl Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform(range) => write!(f, "{range}"),
            Distribution::Halves(first, second) => write!(f, "halves({first};{second})"),
            Distribution::TruncatedNormal { mean, deviation, inside: Interval { low, high } } => {
                write!(f, "N({},{})[{},{})", short(*mean), short(*deviation), short(*low), short(*high))
            }
            Distribution::Exponential { scale } => write!(f, "Exp({})", short(*scale)),
            Distribution::Benford(Interval { low, high }) => write!(f, "Benford[{},{})", short(*low), short(*high)),
        }
    }
}

impl FromStr for Distribution {
    type Err = Error;

    /// Reads what [`Display`] prints.
    fn from_str(text: &str) -> Result<Self, Error> {
        let syntax = || Error::Syntax {
            what: "distribution",
            got: text.into(),
            example: "U[-2,-1), halves(U[1,2);U[5,6)), N(0,1)[-2,2), Exp(0.5) or Benford[10,100)",
        };
        let text = text.trim();
        let number = |s: &str| s.trim().parse::<f64>().map_err(|_| syntax());
        let interval = |s: &str| match s.parse::<Uniform>()?.intervals() {
            &[one] => Ok(one),
            _ => Err(syntax()),
        };
        let distribution = if let Some(inner) = text.strip_prefix("halves(").and_then(|t| t.strip_suffix(')')) {
            let (first, second) = inner.split_once(';').ok_or_else(syntax)?;
            Distribution::Halves(first.parse()?, second.parse()?)
        } else if let Some((parameters, inside)) = text.strip_prefix("N(").and_then(|t| t.split_once(')')) {
            let (mean, deviation) = parameters.split_once(',').ok_or_else(syntax)?;
            Distribution::TruncatedNormal {
                mean: number(mean)?,
                deviation: number(deviation)?,
                inside: interval(inside)?,
            }
        } else if let Some(scale) = text.strip_prefix("Exp(").and_then(|t| t.strip_suffix(')')) {
            Distribution::Exponential { scale: number(scale)? }
        } else if let Some(inside) = text.strip_prefix("Benford") {
            Distribution::Benford(interval(inside)?)
        } else {
            Distribution::Uniform(text.parse()?)
        };
        distribution.check()?;
        Ok(distribution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Further digits come from the whole numbers in [low/10, high/10), of which there must be one.
    #[test]
    fn benford_numbers_need_a_whole_number_to_come_from() {
        for (text, fits) in
            [("Benford[12,18)", false), ("Benford[12,21)", true), ("Benford[0,10)", true), ("Benford[-1,10)", false)]
        {
            let distribution: Result<Distribution, Error> = text.parse();
            assert_eq!(distribution.and_then(|d| d.check()).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn ranges_print_as_they_parse() {
        for text in ["U[-2,-1)", "U[-6,-2)∪U[2,6)", "U[0.1,0.2)"] {
            assert_eq!(text.parse::<Uniform>().unwrap().to_string(), text);
        }
        assert_eq!("[2,6) | [-6,-2)".parse::<Uniform>().unwrap().to_string(), "U[-6,-2)∪U[2,6)");
        // Nobody reads three hundred digits.
        for text in ["U[1e300,2e300)", "U[-1e-7,1e-7)", "U[0,1000000)"] {
            assert_eq!(text.parse::<Uniform>().unwrap().to_string(), text);
        }
        for text in ["halves(U[1,2);U[5,6))", "N(0,1)[-2,2)", "Exp(0.5)", "Benford[10,100)"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (text, hint) in [
            ("U[2,1)", "upper bound of a range is 1"),
            ("U[1,1)", "upper bound"),
            ("U[1,inf)", "upper bound of a range is inf"),
            ("U[1;2)", "cannot read range from 'U[1;2)'"),
            ("U[1,2]", "U[1,2] is not available as a range; write U[1,2): the upper end of a range is never drawn"),
            ("U[1,1e300]", "write U[1,1e300)"),
            ("U[0,2)∪U[1,3)", "start of an interval is 1"),
            ("N(0,1)[50,51)", "share of a normal"),
            ("Exp(-1)", "-1"),
        ] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}

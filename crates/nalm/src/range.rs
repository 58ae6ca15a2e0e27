//! Where inputs come from: intervals, unions of intervals and other distributions.

use crate::rng::{Fast, Rng};
use crate::{Error, Lane, Real};
use std::fmt::{self, Display};
use std::str::FromStr;

/// A half-open interval [low, high).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    low: f64,
    high: f64,
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
        (self.high.powi(3) - self.low.powi(3)) / (3.0 * self.width())
    }
}

/// One interval or a union of several; numbers are uniform over all of it. Written `U[-6,-2)∪U[2,6)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range(Vec<Interval>);

impl Range {
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

impl Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, Interval { low, high }) in self.0.iter().enumerate() {
            write!(f, "{}U[{low},{high})", if k > 0 { "∪" } else { "" })?;
        }
        Ok(())
    }
}

impl FromStr for Range {
    type Err = Error;

    /// Reads `U[1,2)` and unions written with `∪` or `|`; the leading `U` may be left out.
    fn from_str(text: &str) -> Result<Self, Error> {
        let syntax = || Error::Syntax { what: "range", got: text.into(), example: "U[-2,-1) or U[-6,-2)∪U[2,6)" };
        let intervals = text.split(['∪', '|']).map(|part| {
            let part = part.trim();
            let part = part.strip_prefix('U').unwrap_or(part);
            let inner = part.strip_prefix('[').and_then(|p| p.strip_suffix([')', ']'])).ok_or_else(syntax)?;
            let (low, high) = inner.split_once(',').ok_or_else(syntax)?;
            let number = |s: &str| s.trim().parse::<f64>().map_err(|_| syntax());
            Interval::new(number(low)?, number(high)?)
        });
        Range::union(intervals.collect::<Result<_, _>>()?)
    }
}

/// How every element of an input is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform over a range; the one used in the paper. Written like the range.
    Uniform(Range),
    /// Uniform over one range for the first half of the inputs and over another for the second. Written
    /// `halves(U[1,2);U[5,6))`.
    Halves(Range, Range),
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

/// Probabilities of the leading digits 1 to 9, in thousandths.
const BENFORD: [f64; 9] = [301.0, 176.0, 125.0, 97.0, 79.0, 67.0, 58.0, 51.0, 46.0];

impl From<Range> for Distribution {
    fn from(range: Range) -> Self {
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

    /// The range, if the distribution is uniform over one.
    pub fn as_range(&self) -> Option<&Range> {
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
                write!(f, "N({mean},{deviation})[{low},{high})")
            }
            Distribution::Exponential { scale } => write!(f, "Exp({scale})"),
            Distribution::Benford(Interval { low, high }) => write!(f, "Benford[{low},{high})"),
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
        let interval = |s: &str| match s.parse::<Range>()?.intervals() {
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

/// A distribution made ready for a number type.
#[derive(Clone, Debug)]
pub(crate) enum Sampler<R> {
    Uniform(Pieces<R>),
    Halves(Pieces<R>, Pieces<R>),
    Other(Distribution),
}

/// A range made ready: the hot case of one interval, and unions.
#[derive(Clone, Debug)]
pub(crate) enum Pieces<R> {
    /// middle + [`Real::centred`] * scale
    One { middle: R, scale: R },
    /// By [`Real::count`].
    Many(Vec<Piece<R>>),
}

/// One interval of a union: numbers of [`Real::count`] from `from` on are mapped to low + (count - from) * scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<R> {
    from: R,
    low: R,
    scale: R,
}

impl<R: Real> Sampler<R> {
    pub(crate) fn new(distribution: &Distribution) -> Result<Self, Error> {
        Ok(match distribution {
            Distribution::Uniform(range) => Sampler::Uniform(pieces(range)?),
            Distribution::Halves(first, second) => Sampler::Halves(pieces(first)?, pieces(second)?),
            other => Sampler::Other(other.clone()),
        })
    }

    /// Draws a whole tensor of `lanes` lanes a feature, feature after feature.
    #[inline(always)]
    pub(crate) fn fill(&self, fast: &mut Fast, x: &mut [Lane<R>], lanes: usize) {
        match self {
            Sampler::Uniform(pieces) => fill(fast, x, pieces),
            Sampler::Halves(first, second) => {
                let (a, b) = x.split_at_mut(x.len() / lanes / 2 * lanes);
                fill(fast, a, first);
                fill(fast, b, second);
            }
            Sampler::Other(distribution) => fill_other(distribution, fast, x),
        }
    }
}

#[inline(always)]
fn fill<R: Real>(fast: &mut Fast, x: &mut [Lane<R>], pieces: &Pieces<R>) {
    match pieces {
        Pieces::One { middle, scale } => fast.fill_centred(x, *middle, *scale),
        Pieces::Many(pieces) => fast.fill(x, |count| {
            count.map(|count| {
                let mut value = R::ZERO;
                for piece in pieces {
                    if count >= piece.from {
                        value = (count - piece.from) * piece.scale + piece.low;
                    }
                }
                value
            })
        }),
    }
}

/// The largest scale, to a few units in its last place, at which rounding does not leave the interval; nothing if the
/// number type is too coarse for the interval.
fn shrink<R: Real>(scale: f64, inside: impl Fn(R) -> bool) -> Option<R> {
    let mut less = R::STEP.to_f64();
    let mut now = R::of(scale);
    while !inside(now) {
        if less > 0.5 {
            return None;
        }
        now = R::of(scale * (1.0 - less));
        less *= 2.0;
    }
    Some(now)
}

fn pieces<R: Real>(range: &Range) -> Result<Pieces<R>, Error> {
    let coarse = || Error::Unsupported {
        what: format!("the range {range}"),
        when: format!("in {}", R::NAME),
        instead: "widen it or move it closer to 0".into(),
    };
    if let [Interval { low, high }] = *range.intervals() {
        let (first, middle) = (R::of(low), R::of(0.5 * low + 0.5 * high));
        let scale = shrink(0.5 * (high - low) / R::CENTRED.to_f64(), |scale| {
            let last = R::CENTRED * scale + middle;
            -R::CENTRED * scale + middle >= first && last.to_f64() < high
        });
        return Ok(Pieces::One { middle, scale: scale.ok_or_else(coarse)? });
    }
    // The whole numbers below 1 / STEP are shared among the intervals by their widths.
    let total: f64 = range.intervals().iter().map(|i| i.width()).sum();
    let count = 1.0 / R::STEP.to_f64();
    let mut from = 0.0;
    let piece = |&Interval { low, high }: &Interval| {
        let next = (from + count * ((high - low) / total)).round();
        let (first, last) = (R::of(low), R::of(next - from - 1.0));
        let scale = shrink((high - low) / (next - from), |scale| (last * scale + first).to_f64() < high);
        let piece = Piece { from: R::of(from), low: first, scale: scale.ok_or_else(coarse)? };
        from = next;
        Ok(piece)
    };
    Ok(Pieces::Many(range.intervals().iter().map(piece).collect::<Result<_, Error>>()?))
}

/// The distributions that are not hot.
#[inline(never)]
fn fill_other<R: Real>(distribution: &Distribution, fast: &mut Fast, x: &mut [Lane<R>]) {
    let mut rng = Rng::Fast(fast.clone());
    for value in crate::lane::flat_mut(x) {
        *value = R::of(match *distribution {
            Distribution::TruncatedNormal { mean, deviation, inside } => loop {
                let z = mean + deviation * rng.normal::<f64>();
                if inside.low <= z && z < inside.high {
                    break z;
                }
            },
            Distribution::Exponential { scale } => -scale * libm::log(1.0 - rng.uniform(0.0, 1.0)),
            Distribution::Benford(inside) => {
                let mut u = rng.uniform(0.0, 1000.0);
                let mut digit = 1.0;
                for share in &BENFORD[..8] {
                    if u < *share {
                        break;
                    }
                    u -= share;
                    digit += 1.0;
                }
                let (low, high) = ((inside.low / 10.0).ceil(), (inside.high / 10.0).ceil());
                let rest: f64 = rng.uniform(low, high).floor().min(high - 1.0);
                let mut power = 10.0;
                while power <= rest {
                    power *= 10.0;
                }
                digit * power + rest
            }
            Distribution::Uniform(_) | Distribution::Halves(..) => {
                unreachable!("sampled by the kernel")
            }
        });
    }
    if let Rng::Fast(used) = rng {
        *fast = used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw<R: Real>(text: &str, lanes: usize) -> Vec<f64> {
        let mut x = vec![Lane::<R>::ZERO; lanes];
        Sampler::new(&text.parse().unwrap()).unwrap().fill(&mut Fast::new(text), &mut x, lanes / 2);
        x.iter().flat_map(|l| l.0).map(R::to_f64).collect()
    }

    #[test]
    fn ranges_print_as_they_parse() {
        for text in ["U[-2,-1)", "U[-6,-2)∪U[2,6)", "U[0.1,0.2)"] {
            assert_eq!(text.parse::<Range>().unwrap().to_string(), text);
        }
        assert_eq!("[2,6) | [-6,-2)".parse::<Range>().unwrap().to_string(), "U[-6,-2)∪U[2,6)");
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
            ("U[0,2)∪U[1,3)", "start of an interval is 1"),
            ("N(0,1)[50,51)", "share of a normal"),
            ("Exp(-1)", "-1"),
        ] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    #[test]
    fn ranges_that_the_number_type_cannot_resolve_are_refused() {
        for text in ["U[1e39,2e39)", "U[16777217,16777218)", "U[1e38,1e38.1)∪U[2e38,3e38)"] {
            if let Ok(range) = text.parse::<Range>() {
                assert!(pieces::<f32>(&range).is_err(), "{text}");
            }
        }
        assert!(pieces::<f64>(&"U[1e308,1.7e308)".parse().unwrap()).is_ok());
        assert!("U[-1.7e308,1.7e308)".parse::<Range>().is_err());
    }

    /// With an odd number of inputs the middle one belongs to the second half, with all its rows.
    #[test]
    fn halves_split_between_features() {
        let halves: Distribution = "halves(U[1,2);U[5,6))".parse().unwrap();
        let mut x = vec![Lane::<f32>::ZERO; 3 * 5];
        Sampler::new(&halves).unwrap().fill(&mut Fast::new("halves"), &mut x, 5);
        assert!(x[..5].iter().flat_map(|l| l.0).all(|x| x < 2.0));
        assert!(x[5..].iter().flat_map(|l| l.0).all(|x| x >= 5.0));
    }

    #[test]
    fn the_extreme_draws_stay_inside() {
        for text in
            ["U[1,2)", "U[1.1,1.2)", "U[-20,-10)", "U[-6,-2)∪U[2,6)", "U[1000,1000.001)", "U[-1,0)", "U[0,1e-9)"]
        {
            let range: Range = text.parse().unwrap();
            match pieces::<f32>(&range).unwrap() {
                Pieces::One { middle, scale } => {
                    let Interval { low, high } = range.intervals()[0];
                    let (least, most) = (middle - f32::CENTRED * scale, middle + f32::CENTRED * scale);
                    assert!(least >= low as f32 && f64::from(most) < high, "{text}: {least} {most}");
                    let used = f64::from(most) - f64::from(least);
                    assert!(used > 0.8 * (high - low), "{text}: {used}");
                }
                Pieces::Many(pieces) => {
                    for (k, p) in pieces.iter().enumerate() {
                        let last = (16_777_216.0 / pieces.len() as f32) - 1.0;
                        let x = f64::from(last * p.scale + p.low);
                        assert!(x < range.intervals()[k].high, "{text}: {x}");
                    }
                }
            }
        }
    }

    #[test]
    fn uniform_draws_fill_the_range() {
        for text in ["U[1,2)", "U[-1.2,-1.1)", "U[-6,-2)∪U[2,6)", "U[0,1)∪U[10,13)"] {
            let range: Range = text.parse().unwrap();
            let x = draw::<f32>(text, 10_000);
            assert!(x.iter().all(|&x| range.contains(x)), "{text}");
            let n = x.len() as f64;
            let square = x.iter().map(|x| x * x).sum::<f64>() / n;
            assert!((square / range.mean_square() - 1.0).abs() < 0.02, "{text}");
            let size = x.iter().map(|x| x.abs()).sum::<f64>() / n;
            assert!((size / range.mean_size() - 1.0).abs() < 0.02, "{text}");
        }
    }

    #[test]
    fn other_distributions_have_their_moments() {
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        assert!((mean(&draw::<f64>("Exp(0.5)", 10_000)) - 0.5).abs() < 0.01);
        let normal = draw::<f64>("N(1,2)[0,2)", 10_000);
        assert!((mean(&normal) - 1.0).abs() < 0.01 && normal.iter().all(|x| (0.0..2.0).contains(x)));
        let halves = draw::<f64>("halves(U[1,2);U[5,6))", 100);
        assert!(halves[..800].iter().all(|x| (1.0..2.0).contains(x)));
        assert!(halves[800..].iter().all(|x| (5.0..6.0).contains(x)));
        let benford = draw::<f64>("Benford[10,100)", 10_000);
        assert!(benford.iter().all(|x| x.fract() == 0.0 && (11.0..100.0).contains(x)));
        let ones = benford.iter().filter(|&&x| x < 20.0).count() as f64 / benford.len() as f64;
        assert!((ones - 0.301).abs() < 0.01, "{ones}");
    }
}

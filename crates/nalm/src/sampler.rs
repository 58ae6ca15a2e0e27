//! Drawing numbers from a distribution, for the fast streams.

use crate::rng::{Fast, Rng};
use crate::{Distribution, Error, Interval, Lane, Real, Uniform};

/// Probabilities of the leading digits 1 to 9, in thousandths.
const BENFORD: [f64; 9] = [301.0, 176.0, 125.0, 97.0, 79.0, 67.0, 58.0, 51.0, 46.0];

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

fn pieces<R: Real>(range: &Uniform) -> Result<Pieces<R>, Error> {
    let coarse = || Error::Unsupported {
        what: format!("the range {range}"),
        when: format!("in {}", R::NAME),
        instead: "widen it or move it closer to 0".into(),
    };
    // A number that is there in this type.
    let known = |x: f64| Some(R::of(x)).filter(|x| x.is_finite()).ok_or_else(coarse);
    if let [Interval { low, high }] = *range.intervals() {
        let (first, middle) = (known(low)?, R::of(0.5 * low + 0.5 * high));
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
        let (first, last) = (known(low)?, R::of(next - from - 1.0));
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
    fn ranges_that_the_number_type_cannot_resolve_are_refused() {
        for text in ["U[1e39,2e39)", "U[16777217,16777218)", "U[1e38,1e38.1)∪U[2e38,3e38)"] {
            if let Ok(range) = text.parse::<Uniform>() {
                assert!(pieces::<f32>(&range).is_err(), "{text}");
            }
        }
        // Ends that are infinite in f32 lie below every number, and must not pass for one.
        for text in ["U[-1e39,-1)", "U[-2e39,-1e39)", "U[-1e39,-1)∪U[1,2)", "U[-2,-1)∪U[1,1e39)"] {
            let range: Uniform = text.parse().unwrap();
            assert!(pieces::<f32>(&range).is_err() && pieces::<f64>(&range).is_ok(), "{text}");
        }
        assert!(pieces::<f64>(&"U[1e308,1.7e308)".parse().unwrap()).is_ok());
        assert!("U[-1.7e308,1.7e308)".parse::<Uniform>().is_err());
    }

    /// Two lanes of each, computed by another program from the published generators and the sentence about [`Piece`].
    #[test]
    fn draws_from_unions_have_known_bits() {
        fn found<R: Real>(text: &str) -> ([f64; 5], u64) {
            let mut x = vec![Lane::<R>::ZERO; 2];
            Sampler::new(&text.parse().unwrap()).unwrap().fill(&mut Fast::new(text), &mut x, 1);
            let all = crate::lane::flat(&x);
            let bits = all.iter().fold(0u64, |hash, x| hash.rotate_left(5) ^ x.bits());
            ([0, 1, 2, 16, 17].map(|k| all[k].to_f64()), bits)
        }
        let (two, three) = ("U[-6,-2)∪U[2,6)", "U[-1,0)∪U[1,1.5)∪U[4,8)");
        let single = |known: [f32; 5]| known.map(f64::from);
        let known = single([-4.924_004, -3.397_061_8, 5.018_498, 5.144_434_5, -3.508_402_8]);
        assert_eq!(found::<f32>(two), (known, 0x7f44_3747_63c6_632e));
        let known = [-4.924003905471902, -3.397061448606867, 5.018498081436773, 5.344991627367581, -2.367176979772606];
        assert_eq!(found::<f64>(two), (known, 0xaa9d_d543_8983_4fbe));
        let known = single([6.474_474_4, -0.896_109_1, 6.406_346_3, 7.365_097, 5.892_971_5]);
        assert_eq!(found::<f32>(three), (known, 0x4953_bf22_b656_b387));
        let known = [6.474474715926478, -0.8961089857446294, 6.406346322624215, 4.199870496739814, 1.0787079777592101];
        assert_eq!(found::<f64>(three), (known, 0x25b1_7791_3990_9cd6));
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
            let range: Uniform = text.parse().unwrap();
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
            let range: Uniform = text.parse().unwrap();
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

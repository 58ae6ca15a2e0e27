//! exp, ln, sine and cosine in `f32` without branches, so that they vectorise and give the same bits everywhere.
//!
//! The polynomials are minimax fits made for this file (Lawson's iteration in 50-digit arithmetic); the tests compare
//! every function with `libm` in double precision over its whole range.

use std::f64::consts::FRAC_2_PI;

/// ln 2 split so that an exponent times the first part is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low mantissa bits.
const ROUND: f32 = 12_582_912.0;
/// The same for f64, 1.5 * 2^52.
const ROUND64: f64 = 6_755_399_441_055_744.0;

/// How many numbers go through a function together. A polynomial is a chain of operations that wait for each other; several chains step by step
/// fill that time, which takes two thirds of the time of one number, or one register, after the other.
pub(crate) const TOGETHER: usize = 32;

/// One step of a function, for all numbers that go through it together.
#[inline(always)]
fn step<T: Copy + Default, const N: usize>(f: impl Fn(usize) -> T) -> [T; N] {
    let mut out = [T::default(); N];
    for k in 0..N {
        out[k] = f(k);
    }
    out
}

/// e to the x, to 1.1 units in the last place; overflows to infinity and underflows through the subnormals to zero.
#[inline(always)]
pub(crate) fn exp<const N: usize>(x: [f32; N]) -> [f32; N] {
    // Written so that a NaN passes through.
    let x: [f32; N] = step(|k| if x[k] > 89.0 { 89.0 } else { x[k] });
    let x: [f32; N] = step(|k| if x[k] < -104.0 { -104.0 } else { x[k] });
    let shifted: [f32; N] = step(|k| x[k] * std::f32::consts::LOG2_E + ROUND);
    let n: [f32; N] = step(|k| shifted[k] - ROUND);
    let r: [f32; N] = step(|k| (x[k] - n[k] * LN2_HIGH) - n[k] * LN2_LOW);
    let p: [f32; N] = step(|k| 1.381461e-3 * r[k] + 8.368_71e-3);
    let p: [f32; N] = step(|k| p[k] * r[k] + 4.166_838_7e-2);
    let p: [f32; N] = step(|k| p[k] * r[k] + 1.666_652e-1);
    let p: [f32; N] = step(|k| p[k] * r[k] + 4.999_999_3e-1);
    let y: [f32; N] = step(|k| (p[k] * (r[k] * r[k]) + r[k]) + 1.0);
    // 2^n in two halves, because 2^128 and 2^-149 have no normal representation of their own.
    let n: [i32; N] = step(|k| (shifted[k].to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32));
    let power = |e: i32| f32::from_bits((e.wrapping_add(127) as u32) << 23);
    step(|k| (y[k] * power(n[k] >> 1)) * power(n[k].wrapping_sub(n[k] >> 1)))
}

/// The natural logarithm, to 1 unit in the last place; -inf at 0 and NaN below.
#[inline(always)]
pub(crate) fn ln<const N: usize>(x: [f32; N]) -> [f32; N] {
    let subnormal = |k: usize| x[k] < f32::MIN_POSITIVE;
    let scaled: [f32; N] = step(|k| if subnormal(k) { x[k] * 8_388_608.0 } else { x[k] });
    let bits: [i32; N] = step(|k| scaled[k].to_bits() as i32);
    // Mantissa into [sqrt(1/2), sqrt(2)).
    let e: [i32; N] = step(|k| bits[k].wrapping_sub(0x3f35_04f3) >> 23);
    let f: [f32; N] = step(|k| f32::from_bits(bits[k].wrapping_sub(e[k] << 23) as u32) - 1.0);
    let e: [f32; N] = step(|k| if subnormal(k) { e[k] - 23 } else { e[k] } as f32);
    let p: [f32; N] = step(|k| -7.634_43e-2 * f[k] + 1.276_155e-1);
    let p: [f32; N] = step(|k| p[k] * f[k] - 1.316_019_5e-1);
    let p: [f32; N] = step(|k| p[k] * f[k] + 1.420_176_2e-1);
    let p: [f32; N] = step(|k| p[k] * f[k] - 1.662_335_6e-1);
    let p: [f32; N] = step(|k| p[k] * f[k] + 2.000_122_7e-1);
    let p: [f32; N] = step(|k| p[k] * f[k] - 2.500082e-1);
    let p: [f32; N] = step(|k| p[k] * f[k] + 3.333_333e-1);
    let square: [f32; N] = step(|k| f[k] * f[k]);
    let y: [f32; N] = step(|k| (p[k] * f[k]) * square[k] + e[k] * LN2_LOW);
    let y: [f32; N] = step(|k| (f[k] + (y[k] - 0.5 * square[k])) + e[k] * LN2_HIGH);
    let y: [f32; N] = step(|k| if x[k] == f32::INFINITY { x[k] } else { y[k] });
    let y: [f32; N] = step(|k| if x[k] == 0.0 { f32::NEG_INFINITY } else { y[k] });
    step(|k| if x[k] >= 0.0 { y[k] } else { f32::NAN })
}

/// [`exp`] of every number.
#[inline(always)]
pub(crate) fn exp_each(values: &mut [f32]) {
    let (together, rest) = values.as_chunks_mut::<TOGETHER>();
    for values in together {
        *values = exp(*values);
    }
    for value in rest {
        [*value] = exp([*value]);
    }
}

/// [`ln`] of every number.
#[inline(always)]
pub(crate) fn ln_each(values: &mut [f32]) {
    let (together, rest) = values.as_chunks_mut::<TOGETHER>();
    for values in together {
        *values = ln(*values);
    }
    for value in rest {
        [*value] = ln([*value]);
    }
}

/// Sine and cosine, to 1.1e-7 absolute for arguments up to 1e9.
#[inline(always)]
pub(crate) fn sin_cos(x: f32) -> (f32, f32) {
    // Reduced in f64: a weight times a multiple of pi is large enough to lose an f32 reduction.
    const PI_2_HIGH: f64 = 1.570_796_326_734_125_6;
    const PI_2_LOW: f64 = 6.077_100_506_506_192e-11;
    let wide = f64::from(x);
    let shifted = wide * FRAC_2_PI + ROUND64;
    let q = shifted - ROUND64;
    let r = ((wide - q * PI_2_HIGH) - q * PI_2_LOW) as f32;
    let quadrant = shifted.to_bits() as u32;
    let z = r * r;
    let s = ((-1.951_729_8e-4 * z + 8.332_178e-3) * z - 1.666_665_5e-1) * z * r + r;
    let c = ((2.443_845e-5 * z - 1.388_736_8e-3) * z + 4.166_664_7e-2) * (z * z) + (1.0 - 0.5 * z);
    let swap = quadrant & 1 == 1;
    let sine = if swap { c } else { s };
    let cosine = if swap { s } else { c };
    let sine = if quadrant & 2 == 2 { -sine } else { sine };
    let cosine = if quadrant.wrapping_add(1) & 2 == 2 { -cosine } else { cosine };
    (sine, cosine)
}

#[cfg(test)]
mod tests {
    use super::{TOGETHER, sin_cos};

    fn exp(x: f32) -> f32 {
        super::exp([x])[0]
    }

    fn ln(x: f32) -> f32 {
        super::ln([x])[0]
    }

    /// Distance in units in the last place of the correctly rounded answer.
    fn ulps(got: f32, exact: f64) -> f64 {
        let rounded = exact as f32;
        let unit = f64::from(f32::from_bits(rounded.abs().to_bits() + 1)) - f64::from(rounded.abs());
        (f64::from(got) - exact).abs() / unit
    }

    /// Every 9,973rd bit pattern of `f32`, both signs.
    fn patterns() -> impl Iterator<Item = f32> {
        (0..u32::MAX).step_by(9_973).map(f32::from_bits).filter(|x| x.is_finite())
    }

    #[test]
    fn exp_is_accurate_over_its_whole_range() {
        let worst = patterns()
            .filter(|x| (-87.0..88.7).contains(x))
            .map(|x| ulps(exp(x), libm::exp(f64::from(x))))
            .fold(0.0, f64::max);
        assert!(worst < 1.1, "{worst}");
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(100.0), f32::INFINITY);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(-100.0) > 0.0, "subnormal results are kept");
    }

    #[test]
    fn ln_is_accurate_over_its_whole_range() {
        let worst = patterns().filter(|x| *x > 0.0).map(|x| ulps(ln(x), libm::log(f64::from(x)))).fold(0.0, f64::max);
        assert!(worst < 1.0, "{worst}");
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(0.0), f32::NEG_INFINITY);
        assert_eq!(ln(f32::INFINITY), f32::INFINITY);
        assert!(ln(-1.0).is_nan() && ln(f32::NAN).is_nan());
    }

    #[test]
    fn sine_and_cosine_are_accurate() {
        let worst = patterns()
            .filter(|x| x.abs() < 1e9)
            .map(|x| {
                let (s, c) = sin_cos(x);
                let (es, ec) = libm::sincos(f64::from(x));
                (f64::from(s) - es).abs().max((f64::from(c) - ec).abs())
            })
            .fold(0.0, f64::max);
        assert!(worst < 1.1e-7, "{worst:e}");
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        assert!(sin_cos(f32::INFINITY).0.is_nan());
    }

    #[test]
    fn numbers_that_go_together_have_the_bits_of_one_by_one() {
        let all: Vec<f32> = (0..u32::MAX).step_by(99_991).map(f32::from_bits).collect();
        let (chunks, _) = all.as_chunks::<TOGETHER>();
        for chunk in chunks {
            let same = |together: [f32; TOGETHER], alone: fn(f32) -> f32| {
                together
                    .iter()
                    .zip(chunk)
                    .all(|(y, &x)| y.to_bits() == alone(x).to_bits() || y.is_nan() && alone(x).is_nan())
            };
            assert!(same(super::exp(*chunk), exp) && same(super::ln(*chunk), ln), "{chunk:?}");
        }
    }
}

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

/// e to the x, to 1.1 units in the last place; overflows to infinity and underflows through the subnormals to zero.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // Written so that a NaN passes through.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let p = 1.381461e-3;
    let p = p * r + 8.368_71e-3;
    let p = p * r + 4.166_838_7e-2;
    let p = p * r + 1.666_652e-1;
    let p = p * r + 4.999_999_3e-1;
    let y = (p * (r * r) + r) + 1.0;
    // 2^n in two halves, because 2^128 and 2^-149 have no normal representation of their own.
    let n = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let half = n >> 1;
    let power = |e: i32| f32::from_bits((e.wrapping_add(127) as u32) << 23);
    (y * power(half)) * power(n.wrapping_sub(half))
}

/// The natural logarithm, to 1 unit in the last place; -inf at 0 and NaN below.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    let subnormal = x < f32::MIN_POSITIVE;
    let scaled = if subnormal { x * 8_388_608.0 } else { x };
    let bits = scaled.to_bits() as i32;
    // Mantissa into [sqrt(1/2), sqrt(2)).
    let e = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(e << 23) as u32) - 1.0;
    let e = if subnormal { e - 23 } else { e } as f32;
    let p = -7.634_43e-2;
    let p = p * f + 1.276_155e-1;
    let p = p * f - 1.316_019_5e-1;
    let p = p * f + 1.420_176_2e-1;
    let p = p * f - 1.662_335_6e-1;
    let p = p * f + 2.000_122_7e-1;
    let p = p * f - 2.500082e-1;
    let p = p * f + 3.333_333e-1;
    let square = f * f;
    let y = (p * f) * square + e * LN2_LOW;
    let y = (f + (y - 0.5 * square)) + e * LN2_HIGH;
    let y = if x == f32::INFINITY { x } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f32::NAN }
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
    use super::*;

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
}

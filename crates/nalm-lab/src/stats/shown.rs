//! Numbers as people read them.

pub use nalm::digits::{plain, signed, significant, two};

/// The ends of an interval around a value, with so many digits that they are apart, and the value is between them.
pub fn interval(low: f64, value: f64, high: f64) -> [String; 2] {
    const FEWEST: usize = 6;
    let size = low.abs().max(high.abs());
    let beyond = libm::ceil(libm::log10(size / (high - low))) + 2.0;
    let first = if beyond.is_finite() { (beyond.max(0.0) as usize).clamp(FEWEST, 17) } else { FEWEST };
    let ends = |digits: usize| [low, high].map(|end| significant(end, digits));
    let holds = |ends: &[String; 2]| {
        let [low, high] = [&ends[0], &ends[1]].map(|end| end.parse::<f64>().unwrap_or(f64::NAN));
        low <= value && value <= high
    };
    (first..=17).map(ends).find(holds).unwrap_or_else(|| [plain(low), plain(high)])
}

/// A p-value: two places, two digits of a small one, one of what is next to nothing.
pub fn p_value(p: f64) -> String {
    match p {
        p if p >= 0.0995 => format!("{p:.2}"),
        p if p >= 0.001 => two(p),
        p if p > 0.0 => significant(p, 1),
        // No test says that something cannot be; there is no smaller number.
        0.0 => "< 1e-300".into(),
        _ => "–".into(),
    }
}

/// A number beside a bound that decides about it: two places, and as many more as it takes to read on which side of the bound it is.
pub fn beside(x: f64, bound: f64) -> String {
    let hidden = |places: &usize| x != bound && format!("{x:.places$}") == format!("{bound:.places$}");
    let places = (2..9).find(|places| !hidden(places)).unwrap_or(2);
    format!("{x:.places$}")
}

/// The same with its sign, beside a bound on either side of 0.
pub fn signed_beside(x: f64, bound: f64) -> String {
    // Zeros have no sign of their own.
    let sign = if x < 0.0 { '-' } else { '+' };
    format!("{sign}{}", beside(x.abs(), bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval that was rounded holds its value, and has two ends.
    #[test]
    fn intervals_hold_their_values() {
        assert_eq!(interval(1.179_65, 1.183, 1.186_35), ["1.17965", "1.18635"]);
        assert_eq!(interval(f64::NEG_INFINITY, 2.0, f64::INFINITY), ["-inf", "inf"]);
        let mut value: f64 = 1.609_343_57;
        for k in 0..300 {
            value *= -1.37;
            let half = value.abs() * libm::pow(10.0, -f64::from(k % 15));
            let ends = interval(value - half, value, value + half);
            let [low, high] = [&ends[0], &ends[1]].map(|end| end.parse::<f64>().unwrap());
            assert!(low <= value && value <= high && low < high, "{value}: {ends:?}");
            assert!((high - low) / half > 1.8 && (high - low) / half < 2.2, "{value}: {ends:?}");
        }
    }

    /// 0.255 is no 0.25, and 0.2501 no 0.250.
    #[test]
    fn rounding_hides_no_reason() {
        let shown = [0.24, 0.25, 0.254, 0.2501, 0.249, 0.261].map(|x| beside(x, 0.25));
        assert_eq!(shown, ["0.24", "0.25", "0.254", "0.2501", "0.249", "0.26"]);
        assert_eq!([0.0, -0.0, -0.2504, 0.1].map(|x| signed_beside(x, 0.25)), ["+0.00", "+0.00", "-0.2504", "+0.10"]);
    }

    #[test]
    fn p_values_have_two_digits() {
        let shown = [1.0, 0.5, 0.453_125, 0.0999, 0.021_484_375, 0.042_968_75, 0.003_9, 0.000_97, 1.2e-7, 0.0];
        let want = ["1.00", "0.50", "0.45", "0.10", "0.021", "0.043", "0.0039", "0.001", "1e-7", "< 1e-300"];
        assert_eq!(shown.map(p_value), want);
    }
}

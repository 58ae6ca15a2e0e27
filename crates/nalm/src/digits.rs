//! Numbers as people read them, in one form everywhere: 0, 0.23, 190, 1.6e5, 4.6e-14.

/// So many digits that count, with an exponent only where there would be many zeros.
pub fn significant(v: f64, digits: usize) -> String {
    if v == 0.0 || !v.is_finite() {
        return if v == 0.0 { "0".into() } else { v.to_string() };
    }
    let more = digits.saturating_sub(1);
    let scientific = format!("{v:.more$e}");
    // What is rounded decides, so that 0.09996 is 0.10 and not 0.100.
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -3..=4 => {
            let places = (more as i32 - exponent).max(0) as usize;
            // Digits that do not count are zeros.
            let rounded: f64 = scientific.parse().unwrap_or(v);
            format!("{rounded:.places$}")
        }
        _ => format!("{mantissa}e{exponent}"),
    }
}

/// All digits, with an exponent where there would be many zeros.
pub fn plain(v: f64) -> String {
    let short = v == 0.0 || (1e-5..1e16).contains(&v.abs()) || !v.is_finite();
    if short { v.to_string() } else { format!("{v:e}") }
}

/// Two digits that count.
pub fn two(v: f64) -> String {
    significant(v, 2)
}

/// Two digits that count, with the sign, as differences have it.
pub fn signed(v: f64) -> String {
    if v > 0.0 { format!("+{}", two(v)) } else { two(v) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_only_where_there_would_be_many_zeros() {
        let shown = [0.0, -0.0, 0.23, 1.983, 46.2, 186.0, 12_345.0, 99_960.0, 160_000.0, 4.6e-14, 0.001, 0.000_999_6];
        let want = ["0", "0", "0.23", "2.0", "46", "190", "12000", "1.0e5", "1.6e5", "4.6e-14", "0.0010", "0.0010"];
        assert_eq!(shown.map(two), want);
        assert_eq!([1.0, 0.099_96, -1.5, f64::INFINITY].map(two), ["1.0", "0.10", "-1.5", "inf"]);
        assert_eq!([267.5, 1.983, 3.0e-4].map(|v| significant(v, 3)), ["268", "1.98", "3.00e-4"]);
        assert_eq!([0.48, -1.3, 0.0, -6.1e-8].map(signed), ["+0.48", "-1.3", "0", "-6.1e-8"]);
        // Whatever is shown is near what it stands for.
        for k in -400..400 {
            let v = 1.37 * libm::exp(0.09 * f64::from(k));
            let read: f64 = two(v).parse().unwrap();
            assert!((read / v - 1.0).abs() <= 0.05, "{v} is shown as {}", two(v));
        }
    }
}

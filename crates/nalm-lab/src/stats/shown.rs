//! Numbers as people read them.

pub use nalm::digits::{plain, signed, significant, two};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_have_two_digits() {
        let shown = [1.0, 0.5, 0.453_125, 0.0999, 0.021_484_375, 0.042_968_75, 0.003_9, 0.000_97, 1.2e-7, 0.0];
        let want = ["1.00", "0.50", "0.45", "0.10", "0.021", "0.043", "0.0039", "0.001", "1e-7", "< 1e-300"];
        assert_eq!(shown.map(p_value), want);
    }
}

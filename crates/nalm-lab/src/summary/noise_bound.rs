//! The upper end of the batch noise, 1 + 1/s, s the standard deviation of the unit's input.

use nalm::Distribution;

/// The standard deviation of a uniform range.
pub fn deviation(range: &str) -> Option<f64> {
    let range = range.parse::<Distribution>().ok()?;
    match range.as_range()?.intervals() {
        [interval] => Some(interval.width() / 12f64.sqrt()),
        _ => None,
    }
}

/// The upper end of the batch noise for inputs from a range.
pub fn bound(range: &str) -> Option<f64> {
    deviation(range).map(|s| 1.0 + 1.0 / s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_the_published_ranges() {
        for (range, want) in [("U[0.1,0.2)", 35.641), ("U[1,2)", 4.4641), ("U[10,20)", 1.34641), ("U[-2,2)", 1.86603)] {
            assert!((bound(range).unwrap() - want).abs() < 1e-3, "{range}");
        }
        assert_eq!(bound("U[-6,-2)∪U[2,6)"), None);
    }
}

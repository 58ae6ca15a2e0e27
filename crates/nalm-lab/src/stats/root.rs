//! Roots of monotone functions.

/// The place between `low` and `high` where `f` changes sign, by bisection to the last bit. `f(low)` and `f(high)` have
/// different signs.
pub(super) fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let rising = f(high) > 0.0;
    for _ in 0..300 {
        let middle = 0.5 * (low + high);
        if middle <= low.min(high) || middle >= low.max(high) {
            break;
        }
        if (f(middle) > 0.0) == rising {
            high = middle;
        } else {
            low = middle;
        }
    }
    0.5 * (low + high)
}

/// The first of `start`, `next(start)`, ... at which `reached` holds.
pub(super) fn expand(start: f64, next: impl Fn(f64) -> f64, reached: impl Fn(f64) -> bool) -> f64 {
    let mut at = start;
    for _ in 0..2_000 {
        if reached(at) {
            break;
        }
        at = next(at);
    }
    at
}

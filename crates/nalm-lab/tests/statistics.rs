//! Intervals against other ways to compute them.

use nalm_lab::stats::gamma;

/// The largest value of a function with one peak, by golden sections.
fn peak(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let share = 0.5 * (5f64.sqrt() - 1.0);
    let mut inner = [high - share * (high - low), low + share * (high - low)];
    let mut values = inner.map(&f);
    for _ in 0..200 {
        if values[0] > values[1] {
            (high, inner[1], values[1]) = (inner[1], inner[0], values[0]);
            inner[0] = high - share * (high - low);
            values[0] = f(inner[0]);
        } else {
            (low, inner[0], values[0]) = (inner[0], inner[1], values[1]);
            inner[1] = low + share * (high - low);
            values[1] = f(inner[1]);
        }
    }
    values[0].max(values[1])
}

/// ln Gamma by Stirling's series, far out where it is exact.
fn ln_gamma(mut a: f64) -> f64 {
    let mut shift = 0.0;
    while a < 20.0 {
        shift += a.ln();
        a += 1.0;
    }
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1_260.0, -1.0 / 1_680.0, 1.0 / 1_188.0, -691.0 / 360_360.0];
    let rest: f64 = series.iter().enumerate().map(|(k, c)| c * a.powi(-(2 * k as i32 + 1))).sum();
    (a - 0.5) * a.ln() - a + 0.5 * std::f64::consts::TAU.ln() + rest - shift
}

/// The means at which the logarithm of the likelihood, at its best shape, is 1.92 below the best there is: densities summed up, the best
/// shape searched for, and the bounds walked to by halving steps of the logarithm.
fn walked(x: &[f64]) -> [f64; 2] {
    let likelihood = |mean: f64, shape: f64| -> f64 {
        let scale = mean / shape;
        x.iter().map(|x| (shape - 1.0) * x.ln() - x / scale - ln_gamma(shape) - shape * scale.ln()).sum()
    };
    let best_at = |mean: f64| peak(-8.0, 8.0, |log| likelihood(mean, log.exp()));
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let least = best_at(mean) - 0.5 * 3.841_458_820_694_124;
    [-1.0, 1.0].map(|sign: f64| {
        let (mut at, mut step) = (mean.ln(), 1.0);
        while step > 1e-13 {
            if best_at((at + sign * step).exp()) > least {
                at += sign * step;
            } else {
                step *= 0.5;
            }
        }
        at.exp()
    })
}

#[test]
fn gamma_intervals_are_where_the_likelihood_has_fallen_however_wide() {
    let spread = [1.0, 2.0, 700.0];
    let wide = [3.0, 30.0, 40_000.0, 41_000.0];
    let usual = [1_000.0, 2_000.0, 2_000.0, 3_000.0, 5_000.0, 4_000.0, 2_000.0];
    let narrow = [9_000.0, 9_900.0, 8_500.0, 8_000.0];
    for (x, below_half, above_twice) in
        [(&spread[..], true, true), (&wide, true, true), (&usual, false, false), (&narrow, false, false)]
    {
        let found = gamma::interval(x);
        let (mean, lower, upper) = (found.mean.unwrap(), found.lower.unwrap(), found.upper.unwrap());
        assert_eq!((lower < 0.5 * mean, upper > 2.0 * mean), (below_half, above_twice), "{x:?}: {found:?}");
        let [low, high] = walked(x);
        assert!((lower / low - 1.0).abs() < 1e-6, "{x:?}: {lower} instead of {low}");
        assert!((upper / high - 1.0).abs() < 1e-6, "{x:?}: {upper} instead of {high}");
    }
}

//! Several tests at once: Holm's step-down adjustment (Holm 1979).

/// p-values adjusted for their number, in the same order.
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let (mut adjusted, mut least) = (vec![1.0; p.len()], 0.0f64);
    for (rank, &k) in order.iter().enumerate() {
        least = least.max(((p.len() - rank) as f64 * p[k]).min(1.0));
        adjusted[k] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: p.adjust(c(0.01, 0.02, 0.03, 0.005), "holm") and p.adjust(c(0.4, 0.01, 0.9), "holm").
    #[test]
    fn adjusted_values_are_those_of_r() {
        let close = |p: &[f64], want: &[f64]| {
            let got = adjust(p);
            assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?}");
        };
        close(&[0.01, 0.02, 0.03, 0.005], &[0.03, 0.04, 0.04, 0.02]);
        close(&[0.4, 0.01, 0.9], &[0.8, 0.03, 0.9]);
        close(&[], &[]);
        close(&[0.7], &[0.7]);
    }
}

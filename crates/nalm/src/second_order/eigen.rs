//! Eigenvalues and eigenvectors of a symmetric matrix by Jacobi's rotations.

/// Sweeps over all pairs, at most; a handful is enough.
const SWEEPS: usize = 50;

/// All pairs of eigenvalue and unit eigenvector of a symmetric `n` by `n` matrix, in no particular order.
pub(super) fn eigen(mut a: Vec<f64>, n: usize) -> Vec<(f64, Vec<f64>)> {
    // Row k is the k-th eigenvector to be.
    let mut vectors: Vec<f64> = (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect();
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let (app, aqq, apq) = (a[p * n + p], a[q * n + q], a[p * n + q]);
                // Small against both diagonal elements is as good as zero, even for the smaller of the two eigenvalues.
                if apq.abs() <= f64::EPSILON * (app * aqq).abs().sqrt() || apq.abs() < f64::MIN_POSITIVE {
                    continue;
                }
                turned = true;
                let theta = (aqq - app) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + libm::hypot(theta, 1.0));
                let c = 1.0 / libm::hypot(t, 1.0);
                rotate_rows(&mut a, n, p, q, c, t * c);
                for k in 0..n {
                    let (akp, akq) = (a[k * n + p], a[k * n + q]);
                    a[k * n + p] = c * akp - t * c * akq;
                    a[k * n + q] = t * c * akp + c * akq;
                }
                rotate_rows(&mut vectors, n, p, q, c, t * c);
            }
        }
        if !turned {
            break;
        }
    }
    // Nothing has no rows.
    vectors.chunks_exact(n.max(1)).enumerate().map(|(k, vector)| (a[k * n + k], vector.to_vec())).collect()
}

fn rotate_rows(m: &mut [f64], n: usize, p: usize, q: usize, c: f64, s: f64) {
    let (head, tail) = m.split_at_mut(q * n);
    for (x, y) in head[p * n..][..n].iter_mut().zip(&mut tail[..n]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second difference of n points has the eigenvalues 4 sin²(k pi / (2 n + 2)).
    #[test]
    fn second_differences_have_their_known_eigenvalues() {
        let n = 31;
        let cell = |i: usize, j: usize| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let matrix: Vec<f64> = (0..n * n).map(|k| cell(k / n, k % n)).collect();
        let mut found = eigen(matrix.clone(), n);
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (k, (value, vector)) in found.iter().enumerate() {
            let angle = (k + 1) as f64 * std::f64::consts::PI / (2 * n + 2) as f64;
            assert!((value - 4.0 * angle.sin().powi(2)).abs() < 1e-13, "{k}");
            for i in 0..n {
                let image: f64 = (0..n).map(|j| matrix[i * n + j] * vector[j]).sum();
                assert!((image - value * vector[i]).abs() < 1e-12, "{k} {i}");
            }
        }
    }
}

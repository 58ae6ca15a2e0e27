//! Eigenvalues of the Gauss-Newton matrix: how much the data say about each direction in which the parameters could move.

use super::eigen::eigen;
use super::jacobian::Jacobian;
use crate::batch::Batch;
use crate::{Error, Network, Real};

/// Eigenvalues and unit eigenvectors of JᵀJ, largest first, where J has the gradient of every output of every sample, without noise.
///
/// The targets of the batch do not matter. Time grows with the cube of the number of parameters: a few hundred take a second.
pub fn gauss_newton<R: Real>(
    network: &Network<R>,
    params: &[R],
    batch: &Batch<R>,
) -> Result<Vec<(f64, Vec<f64>)>, Error> {
    let n = params.len();
    let (mut matrix, mut wide) = (vec![0.0; n * n], vec![0.0; n]);
    Jacobian::new(network, batch.at)?.each_row(network, params, batch, |_, gradient| {
        wide.iter_mut().zip(gradient).for_each(|(wide, g)| *wide = g.to_f64());
        add_square(&mut matrix, &wide);
    })?;
    let mut all = eigen(matrix, n);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(all)
}

/// Adds g gᵀ. Not generic, so that it is compiled here and not in the crate that asks for a spectrum.
fn add_square(matrix: &mut [f64], gradient: &[f64]) {
    // A network without parameters has no rows.
    for (row, a) in matrix.chunks_exact_mut(gradient.len().max(1)).zip(gradient) {
        row.iter_mut().zip(gradient).for_each(|(cell, b)| *cell += a * b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchLayout, Linear, Nau, Product};

    fn batch(rows: &[[f64; 2]]) -> Batch<f64> {
        let mut batch = Batch::zeros(2, 1, BatchLayout::new(rows.len()).unwrap());
        for (k, row) in rows.iter().enumerate() {
            (batch.x[0][k], batch.x[1][k]) = (row[0], row[1]);
        }
        batch
    }

    /// A sum's gradient is its input, so the matrix is that of the inputs' second moments.
    #[test]
    fn sums_have_the_moments_of_their_inputs() {
        let network = Network::single(Nau::new(2, 1).unwrap());
        let found = gauss_newton(&network, &[0.3, -0.7], &batch(&[[1.0, 1.0], [3.0, 3.0], [0.5, -0.5]])).unwrap();
        let half = 0.5f64.sqrt();
        for ((value, vector), (want, sign)) in found.iter().zip([(20.0, 1.0), (0.5, -1.0)]) {
            assert!((value - want).abs() < 1e-13, "{value}");
            assert!((vector[0].abs() - half).abs() < 1e-15 && (vector[0] * vector[1] - 0.5 * sign).abs() < 1e-15);
        }
    }

    #[test]
    fn ends_are_met() {
        let rows = batch(&[[1.0, 2.0]]);
        assert_eq!(gauss_newton(&Network::single(Product::new(2, 1).unwrap()), &[], &rows).unwrap(), []);
        let linear = Network::single(Linear::new(2, 1).unwrap());
        assert!(matches!(gauss_newton(&linear, &[1.0], &rows), Err(Error::Shape { .. })));
    }
}

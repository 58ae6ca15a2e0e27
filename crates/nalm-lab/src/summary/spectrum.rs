//! Eigenvalues of the Gauss-Newton matrix of the arithmetic task at its solution: how much the data say about each direction in which
//! the weights could move.

use nalm::batch::{Batch, BatchLayout};
use nalm::second_order::gauss_newton;
use nalm::{Arithmetic, Distribution, Error, Nau, Network, Nmu, Operation, Stream, Task};

/// Samples behind the matrix: as many as the recipe fits.
const SAMPLES: usize = 1_024;
const INPUTS: usize = 100;

/// One direction: its eigenvalue over the largest one, and its share in moving weight from one sum to the other.
pub struct Direction {
    /// The eigenvalue over the largest one.
    pub value: f64,
    /// The share.
    pub exchange: f64,
}

/// All directions at the solution of seed 0, largest first.
pub fn spectrum(train: &str, test: &str) -> Result<Vec<Direction>, Error> {
    let network: Network<f64> = Network::new(vec![Box::new(Nau::new(INPUTS, 2)?), Box::new(Nmu::new(2, 1)?)])?;
    let (train, test) = (train.parse::<Distribution>()?, test.parse::<Distribution>()?);
    let task = Arithmetic::new(Operation::Mul, INPUTS, 0.25, 0.5, train, test)?;
    let mut samples = Task::<f64>::open(&task, Stream::Fast, 0)?;
    let mut batch = Batch::zeros(INPUTS, 1, BatchLayout::new(SAMPLES)?);
    samples.train(&mut batch);
    let mut params = vec![0.0; network.param_len()];
    for (k, subset) in samples.subsets().into_iter().flatten().enumerate() {
        params[k * INPUTS..][subset].fill(1.0);
    }
    params[2 * INPUTS..].fill(1.0);
    let all = gauss_newton(&network, &params, &batch)?;
    let largest = all[0].0;
    let direction = |(value, vector): (f64, Vec<f64>)| {
        let (first, rest) = vector.split_at(INPUTS);
        let exchange = first.iter().zip(rest).map(|(a, b)| 0.5 * (a - b) * (a - b)).sum();
        Direction { value: value / largest, exchange }
    };
    Ok(all.into_iter().map(direction).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One direction is free (the scale between the two sums), and narrow ranges have small eigenvalues for all exchanges.
    #[test]
    fn a_narrow_range_has_a_long_end_of_small_eigenvalues() {
        let wide = spectrum("U[-2,2)", "U[-6,-2)∪U[2,6)").unwrap();
        let narrow = spectrum("U[1.1,1.2)", "U[1.2,6)").unwrap();
        for all in [&wide, &narrow] {
            assert!(all[201].value.abs() < 1e-12, "{:e}", all[201].value);
        }
        assert!(wide[190].value > 1e-3, "{:e}", wide[190].value);
        assert!(narrow[120].value < 1e-8 && narrow[120].value > 1e-13, "{:e}", narrow[120].value);
        let small: f64 = narrow[110..200].iter().map(|d| d.exchange).sum::<f64>() / 90.0;
        assert!(small > 0.9, "{small}");
    }
}

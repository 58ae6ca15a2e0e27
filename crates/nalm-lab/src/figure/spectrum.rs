//! Eigenvalues of the Gauss-Newton matrix of the arithmetic task at its solution, range by range: how much the data say about each
//! direction in which the weights could move.

use super::svg::{Axis, Svg};
use super::{Figure, record};
use crate::stats::symmetric;
use nalm::batch::{Batch, BatchLayout};
use nalm::second_order::Jacobian;
use nalm::task::PAPER_RANGES;
use nalm::{Arithmetic, Distribution, Error, Nau, Network, Nmu, Operation, Stream, Task};

/// Samples behind the matrix: as many as the recipe fits.
const SAMPLES: usize = 1_024;
const INPUTS: usize = 100;
/// What rounding leaves of a zero.
const FLOOR: f64 = 1e-16;

/// One direction: its eigenvalue over the largest one, and its share in moving weight from one sum to the other.
struct Direction {
    value: f64,
    exchange: f64,
}

/// All directions at the solution of seed 0, loudest first.
fn spectrum(train: &str, test: &str) -> Result<Vec<Direction>, Error> {
    let network: Network<f64> = Network::new(vec![Box::new(Nau::new(INPUTS, 2)?), Box::new(Nmu::new(2, 1)?)])?;
    let (train, test) = (train.parse::<Distribution>()?, test.parse::<Distribution>()?);
    let task = Arithmetic::new(Operation::Mul, INPUTS, 0.25, 0.5, train, test)?;
    let mut samples = Task::<f64>::open(&task, Stream::Fast, 0)?;
    let at = BatchLayout::new(SAMPLES)?;
    let mut batch = Batch::zeros(INPUTS, 1, at);
    samples.train(&mut batch);
    let mut params = vec![0.0; network.param_len()];
    for (k, subset) in samples.subsets().into_iter().flatten().enumerate() {
        params[k * INPUTS..][subset].fill(1.0);
    }
    params[2 * INPUTS..].fill(1.0);

    let n = params.len();
    let mut matrix = vec![0.0; n * n];
    let mut jacobian = Jacobian::new(&network, at)?;
    jacobian.each_row(&network, &params, &batch, |_, gradient| {
        for (row, &a) in matrix.chunks_exact_mut(n).zip(gradient) {
            row.iter_mut().zip(gradient).for_each(|(cell, &b)| *cell += a * b);
        }
    })?;
    let mut all: Vec<Direction> = symmetric::eigen(matrix, n)
        .into_iter()
        .map(|(value, vector)| {
            let (first, rest) = vector.split_at(INPUTS);
            let exchange = first.iter().zip(rest).map(|(a, b)| 0.5 * (a - b) * (a - b)).sum();
            Direction { value, exchange }
        })
        .collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    let largest = all[0].value;
    all.iter_mut().for_each(|direction| direction.value /= largest);
    Ok(all)
}

pub(super) fn draw() -> Option<Figure> {
    let spectra: Vec<(&str, Vec<Direction>)> = PAPER_RANGES
        .iter()
        .map(|(train, test)| Ok((*train, spectrum(train, test)?)))
        .collect::<Result<_, Error>>()
        .ok()?;
    let caption = "Eigenvalues of the Gauss-Newton matrix at the solution (left, over the largest), and each direction's share in \
                   moving weight from one sum to the other (right)";
    let mut svg = Svg::new(caption, 860.0);
    let most = spectra.iter().map(|(_, all)| all.len()).max().unwrap_or(1) as f64;
    let x = Axis::linear(1.0, most, 68.0, 450.0);
    let y = Axis::logarithmic([FLOOR, 1.0].into_iter(), 330.0, 30.0);
    let (x2, y2) = (Axis::linear(1.0, most, 520.0, 840.0), Axis::linear(0.0, 1.0, 330.0, 30.0));
    let mut data = vec![record(&[&"range", &"direction", &"eigenvalue", &"exchange"])];
    let mut names = Vec::new();
    for (k, (range, all)) in spectra.iter().enumerate() {
        let colour = super::svg::colour(k);
        let place = |i: usize| (i + 1) as f64;
        let values: Vec<(f64, f64)> =
            all.iter().enumerate().map(|(i, d)| (x.at(place(i)), y.at(d.value.max(FLOOR)))).collect();
        svg.polyline(&values, colour, 1.5);
        // Averaged over a few neighbours: single directions mix by chance.
        let shares: Vec<(f64, f64)> = all
            .windows(9)
            .enumerate()
            .map(|(i, few)| {
                (x2.at(place(i + 4)), y2.at(few.iter().map(|d| d.exchange).sum::<f64>() / few.len() as f64))
            })
            .collect();
        svg.polyline(&shares, colour, 1.5);
        for at in [0, all.len() / 4, all.len() / 2, 3 * all.len() / 4] {
            svg.mark(k, values[at].0, values[at].1, range);
        }
        names.push((k, *range));
        data.extend(all.iter().enumerate().map(|(i, d)| record(&[range, &(i + 1), &d.value, &d.exchange])));
    }
    svg.frame(&x, &y, "direction, loudest first", "eigenvalue over the largest");
    svg.frame(&x2, &y2, "direction, loudest first", "share of exchange");
    let end = svg.legend(&names, 68.0, 392.0);
    Some(Figure { suffix: "-spectrum".into(), caption: caption.into(), svg: svg.finish(end + 12.0), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One direction is free (the scale between the two sums), and narrow ranges whisper about all exchanges.
    #[test]
    fn a_narrow_range_has_a_long_quiet_end() {
        let wide = spectrum("U[-2,2)", "U[-6,-2)∪U[2,6)").unwrap();
        let narrow = spectrum("U[1.1,1.2)", "U[1.2,6)").unwrap();
        for all in [&wide, &narrow] {
            assert!(all[201].value.abs() < 1e-12, "{:e}", all[201].value);
        }
        assert!(wide[190].value > 1e-3, "{:e}", wide[190].value);
        assert!(narrow[120].value < 1e-8 && narrow[120].value > 1e-13, "{:e}", narrow[120].value);
        let quiet: f64 = narrow[110..200].iter().map(|d| d.exchange).sum::<f64>() / 90.0;
        assert!(quiet > 0.9, "{quiet}");
    }
}

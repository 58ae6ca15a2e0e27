//! From fitted weights to arithmetic: fix the scales that the data leave open, then round.

use crate::{Error, Network, Real};

/// What the box of a parameter says about its discrete values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grid {
    /// Kept in [0, 1]: a factor is selected or not.
    Product,
    /// Kept in [-1, 1]: a summand is added, left out or subtracted.
    Sum,
    /// Anything.
    Free,
}

fn grid<R: Real>(network: &Network<R>, layer: usize, index: usize) -> Grid {
    let (low, high) = network.layers()[layer].bounds(index);
    match (low.to_f64(), high.to_f64()) {
        (0.0, 1.0) => Grid::Product,
        (-1.0, 1.0) => Grid::Sum,
        _ => Grid::Free,
    }
}

/// The whole number between `low` and 1 that is nearest to a weight.
pub(super) fn nearest(w: f64, low: f64) -> f64 {
    // Adding 0 turns -0 into 0.
    w.round().clamp(low, 1.0) + 0.0
}

/// Places in the flat vector of all weights that select factors.
pub(super) fn products<R: Real>(network: &Network<R>) -> Vec<usize> {
    let mut places = Vec::new();
    let mut start = 0;
    for (k, layer) in network.layers().iter().enumerate() {
        let own = layer.param_len();
        places.extend((0..own).filter(|&i| grid(network, k, i) == Grid::Product).map(|i| start + i));
        start += own;
    }
    places
}

/// Rounds the weights of sums to {-1, 0, 1} and of products to {0, 1}; all others stay as they are.
///
/// A product does not care whether one factor is twice as large and another half as large. So where a layer of sums feeds a layer of
/// products, every row of sums is first divided by its own scale: the median size of its large entries, those above half of the
/// largest. `scratch` is emptied and used.
pub fn discretise<R: Real>(network: &Network<R>, params: &mut [R], scratch: &mut Vec<f64>) -> Result<(), Error> {
    if params.len() != network.param_len() {
        let what = "parameters to round".into();
        return Err(Error::Shape { what, got: params.len(), want: network.param_len() });
    }
    let layers = network.layers();
    let mut start = 0;
    for (k, layer) in layers.iter().enumerate() {
        let own = &mut params[start..start + layer.param_len()];
        start += own.len();
        let feeds_product =
            layers.get(k + 1).is_some_and(|next| next.param_len() > 0 && grid(network, k + 1, 0) == Grid::Product);
        let rows = layer.shape().outputs;
        if feeds_product && own.len() == layer.shape().weights() && grid(network, k, 0) == Grid::Sum {
            for row in own.chunks_exact_mut(own.len() / rows) {
                let scale = R::of(scale(row, scratch));
                row.iter_mut().for_each(|w| *w = *w / scale);
            }
        }
        for (i, w) in own.iter_mut().enumerate() {
            match grid(network, k, i) {
                Grid::Product => *w = R::of(nearest(w.to_f64(), 0.0)),
                Grid::Sum => *w = R::of(nearest(w.to_f64(), -1.0)),
                Grid::Free => {}
            }
        }
    }
    Ok(())
}

/// The median size of the entries above half of the largest; 1 for a row of zeros.
fn scale<R: Real>(row: &[R], scratch: &mut Vec<f64>) -> f64 {
    let largest = row.iter().map(|w| w.to_f64().abs()).fold(0.0, f64::max);
    if !(largest > 0.0 && largest.is_finite()) {
        return 1.0;
    }
    scratch.clear();
    scratch.extend(row.iter().map(|w| w.to_f64().abs()).filter(|w| *w > 0.5 * largest));
    let middle = scratch.len() / 2;
    *scratch.select_nth_unstable_by(middle, f64::total_cmp).1
}

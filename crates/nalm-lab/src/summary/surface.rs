//! What a trained network predicts over the plane.

use super::Results;
use crate::run::Row;

/// Grid points along a side: -6 to 6 in steps of 0.1.
pub const SIDE: usize = 121;

/// The coordinate of a grid point.
pub fn coordinate(k: usize) -> f64 {
    (k as f64 - 60.0) / 10.0
}

/// The published seed's row of a model, or the first there is, and its predictions, row by row.
pub fn predictions<'a>(results: &Results<'a>, model: usize) -> Option<(&'a Row, Vec<f64>)> {
    let group = results.experiment.groups.iter().find(|group| group.model == model)?;
    let rows = results.of(group);
    let wanted = if results.experiment.runs[group.runs.start].module() == "mlp-100" { 8 } else { 0 };
    let row = *rows.iter().find(|row| row.spec.seed() == wanted).or(rows.first())?;
    let points: Vec<f32> =
        (0..SIDE * SIDE).flat_map(|k| [coordinate(k % SIDE) as f32, coordinate(k / SIDE) as f32]).collect();
    Some((row, predicted(results, row, &points)?))
}

/// What the network of a row makes of some inputs, if its weights are in the row.
pub fn predicted(results: &Results<'_>, row: &Row, inputs: &[f32]) -> Option<Vec<f64>> {
    let weights: Vec<f32> = row.weights().into_iter().collect::<Option<_>>()?;
    let task = results.catalogue.task(row.spec.task()).ok()?;
    let network = task.built(results.catalogue, &row.spec).ok()??.network;
    let values = network.predict(&weights, inputs).ok()?;
    Some(values.into_iter().map(f64::from).collect())
}

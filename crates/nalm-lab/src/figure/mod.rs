//! Figures as SVG text, one kind per file, each with its data. Written by hand: a few kinds of mark and an axis need less code than
//! a plotting crate needs configuration, and the bytes depend on nothing but the data.

#[cfg(feature = "images")]
mod accuracy;
mod basins;
#[cfg(feature = "images")]
mod classes;
mod contour;
mod curves;
#[cfg(feature = "images")]
mod epochs;
mod facets;
mod landscape;
#[cfg(feature = "images")]
mod lengths;
mod noise_bound;
#[cfg(feature = "images")]
mod pictures;
pub mod png;
mod spectrum;
mod surfaces;
pub mod svg;
mod trajectories;
#[cfg(feature = "images")]
mod weights;

use crate::summary::Results;

/// A kind of figure.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The name in experiment files.
    pub name: &'static str,
    /// What it shows.
    pub meaning: &'static str,
    /// Draws it as often as the rows allow.
    pub draw: fn(&Results<'_>) -> Vec<Figure>,
}

const fn kind(name: &'static str, meaning: &'static str, draw: fn(&Results<'_>) -> Vec<Figure>) -> Kind {
    Kind { name, meaning, draw }
}

/// The kinds of this project.
pub fn list() -> Vec<Kind> {
    vec![
        kind("facets", "success, solved-at and sparsity error over the ranges", facets::points),
        kind("bars", "the same with success as bars", facets::bars),
        kind("surfaces", "predictions over the plane", |results| surfaces::draw(results).into_iter().collect()),
        kind("landscape", "the loss over two weights", |_| vec![landscape::draw()]),
        kind("basins", "where training ends, by where it starts", |results| {
            basins::draw(results).into_iter().collect()
        }),
        kind("trajectories", "the way of the weights", |results| trajectories::draw(results).into_iter().collect()),
        kind("curves", "errors over steps", |results| curves::draw(results).into_iter().collect()),
        kind("noise-bound", "the upper end of the batch noise", |_| vec![noise_bound::draw()]),
        kind("spectrum", "eigenvalues of the Gauss-Newton matrix", |_| spectrum::draw().into_iter().collect()),
        #[cfg(feature = "images")]
        kind("accuracy", "accuracy of product and digits, by model", |results| {
            accuracy::draw(results).into_iter().collect()
        }),
        #[cfg(feature = "images")]
        kind("weights", "the way of the head's weights", |results| weights::draw(results).into_iter().collect()),
        #[cfg(feature = "images")]
        kind("classes", "accuracy by digit, and what was taken for what", classes::draw),
        #[cfg(feature = "images")]
        kind("epochs", "accuracy of the digits over epochs", |results| epochs::draw(results).into_iter().collect()),
        #[cfg(feature = "images")]
        kind("lengths", "success, solved-at and sparsity over the length of sequences", |results| {
            lengths::draw(results).into_iter().collect()
        }),
        #[cfg(feature = "images")]
        kind("pictures", "samples, and what is looked at", |results| pictures::draw(results).into_iter().collect()),
    ]
}

/// A figure and the numbers in it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What follows the experiment's name in file names; empty for the first figure.
    pub suffix: String,
    /// What stands below it.
    pub caption: String,
    /// The drawing.
    pub svg: String,
    /// Records, the first of them the names of the columns.
    pub data: Vec<Vec<String>>,
}

/// The figures of an experiment that its rows allow.
pub fn all(results: &Results<'_>, kinds: &[Kind]) -> Vec<Figure> {
    let wanted = results.experiment.figures.iter();
    let kinds = wanted.filter_map(|name| kinds.iter().find(|kind| kind.name == name));
    let mut figures: Vec<Figure> = kinds.flat_map(|kind| (kind.draw)(results)).collect();
    if let Some(first) = figures.first_mut() {
        first.suffix.clear();
    }
    figures
}

/// A record of a figure's data.
pub fn record(cells: &[&dyn std::fmt::Display]) -> Vec<String> {
    cells.iter().map(|cell| cell.to_string()).collect()
}

/// A number of a figure's data, or NA.
pub fn number(value: Option<f64>) -> String {
    value.map_or("NA".into(), |v| v.to_string())
}

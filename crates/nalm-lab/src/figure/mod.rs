//! Figures as SVG text, one kind per file, each with its data. Written by hand: a few kinds of mark and an axis need less code than
//! a plotting crate needs configuration, and the bytes depend on nothing but the data.

mod basins;
mod contour;
mod curves;
mod facets;
pub(crate) mod images;
mod landscape;
pub(crate) mod noise_bound;
pub(crate) mod png;
mod spectrum;
mod surfaces;
mod svg;
mod trajectories;

pub(crate) use svg::escape;

use crate::suite::Experiment;
use crate::summary::Results;
use std::str::FromStr;

/// A kind of figure, as experiment files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Success, solved-at and sparsity error over the ranges.
    Facets,
    /// The same with success as bars.
    Bars,
    /// Predictions over the plane.
    Surfaces,
    /// The loss over two weights.
    Landscape,
    /// Where training ends, by where it starts.
    Basins,
    /// The way of the weights.
    Trajectories,
    /// Errors over steps.
    Curves,
    /// The upper end of the batch noise.
    NoiseBound,
    /// Eigenvalues of the Gauss-Newton matrix.
    Spectrum,
}

const KINDS: [(&str, Kind); 9] = [
    ("facets", Kind::Facets),
    ("bars", Kind::Bars),
    ("surfaces", Kind::Surfaces),
    ("landscape", Kind::Landscape),
    ("basins", Kind::Basins),
    ("trajectories", Kind::Trajectories),
    ("curves", Kind::Curves),
    ("noise-bound", Kind::NoiseBound),
    ("spectrum", Kind::Spectrum),
];

impl FromStr for Kind {
    type Err = nalm::Error;
    fn from_str(text: &str) -> Result<Self, nalm::Error> {
        let names = KINDS.map(|(name, _)| name);
        let found = KINDS.iter().find(|(name, _)| *name == text);
        found.map(|(_, kind)| *kind).ok_or_else(|| nalm::Error::unknown("figure", text, &names))
    }
}

/// A figure and the numbers in it.
#[derive(Debug)]
pub(crate) struct Figure {
    /// What follows the experiment's name in file names; empty for the first figure.
    pub(crate) suffix: String,
    pub(crate) caption: String,
    pub(crate) svg: String,
    /// Records, the first of them the names of the columns.
    pub(crate) data: Vec<Vec<String>>,
}

/// The figures of an experiment that its rows allow.
pub(crate) fn all(experiment: &Experiment, results: &Results<'_>) -> Vec<Figure> {
    let mut figures = Vec::new();
    for kind in &experiment.figures {
        match kind {
            Kind::Facets => figures.extend(facets::draw(experiment, results, facets::Style::Points)),
            Kind::Bars => figures.extend(facets::draw(experiment, results, facets::Style::Bars)),
            Kind::Surfaces => figures.extend(surfaces::draw(experiment, results)),
            Kind::Landscape => figures.push(landscape::draw()),
            Kind::Basins => figures.extend(basins::draw(experiment, results)),
            Kind::Trajectories => figures.extend(trajectories::draw(experiment, results)),
            Kind::Curves => figures.extend(curves::draw(experiment, results)),
            Kind::NoiseBound => figures.push(noise_bound::draw()),
            Kind::Spectrum => figures.extend(spectrum::draw()),
        }
    }
    if let Some(first) = figures.first_mut() {
        first.suffix.clear();
    }
    figures
}

/// A record of a figure's data.
fn record(cells: &[&dyn std::fmt::Display]) -> Vec<String> {
    cells.iter().map(|cell| cell.to_string()).collect()
}

/// A number of a figure's data, or NA.
fn number(value: Option<f64>) -> String {
    value.map_or("NA".into(), |v| v.to_string())
}

//! Figures as SVG text, one kind per file, each with its data. Written by hand: a few kinds of mark and an axis need less code than
//! a plotting crate needs configuration, and the bytes depend on nothing but the data.

mod basins;
mod beyond;
mod contour;
mod curves;
pub mod diagram;
mod facets;
mod grid;
pub mod growth;
#[cfg(feature = "images")]
mod images;
mod landscape;
mod mosaic;
mod noise_bound;
pub mod png;
mod slots;
mod solved;
mod spectrum;
pub mod style;
mod surfaces;
pub mod svg;
mod trajectories;

use crate::stats::Estimate;
use crate::summary::Results;
use std::collections::BTreeMap;
use std::fmt::Display;
use svg::{Paper, Svg};

/// A kind of figure.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The name in experiment files.
    pub name: &'static str,
    /// What it shows.
    pub meaning: &'static str,
    /// What an experiment needs for it, for who asks for it in vain.
    pub needs: &'static str,
    /// Draws it on such a paper, as often as the rows allow.
    pub draw: fn(&Results<'_>, Paper) -> Vec<Figure>,
}

impl Kind {
    const fn new(name: &'static str, meaning: &'static str, draw: fn(&Results<'_>, Paper) -> Vec<Figure>) -> Self {
        Self { name, meaning, needs: "rows", draw }
    }

    const fn needs(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }
}

const SEEDS: &str = "runs that differ by seed";
const PLANE: &str = "runs of two inputs";

/// The kinds of this project.
pub fn list() -> Vec<Kind> {
    let kinds = vec![
        Kind::new("facets", "success, solved-at and sparsity error over the ranges", |r, p| facets::draw(r, p, false))
            .needs(SEEDS),
        Kind::new("bars", "the same with success as bars", |r, p| facets::draw(r, p, true)).needs(SEEDS),
        Kind::new("solved", "the share of seeds that are solved over the steps", solved::draw)
            .needs("runs that differ by seed, some of them solved"),
        Kind::new("surfaces", "predictions over the plane", |r, p| one(surfaces::draw(r, p))).needs(PLANE),
        Kind::new("beyond", "predictions in the training range and beyond", |r, p| one(beyond::draw(r, p)))
            .needs(PLANE),
        Kind::new("landscape", "the loss over two weights", |_, p| vec![landscape::draw(p)]),
        Kind::new("basins", "where training ends, by where it starts", |r, p| one(basins::draw(r, p)))
            .needs("starting weights on a grid, such as `grid = 32` in a [[section]]"),
        Kind::new("trajectories", "the way of the weights", |r, p| one(trajectories::draw(r, p)))
            .needs("`curve = true`, and units with two weights"),
        Kind::new("curves", "errors over steps", |r, p| one(curves::draw(r, p))).needs("`curve = true`"),
        Kind::new("noise-bound", "the upper end of the batch noise", |_, p| vec![noise_bound::draw(p)]),
        Kind::new("spectrum", "eigenvalues of the Gauss-Newton matrix", |_, p| one(spectrum::draw(p))),
    ];
    #[cfg(feature = "images")]
    let kinds = [&kinds[..], &images::list()].concat();
    kinds
}

fn one(figure: Option<Figure>) -> Vec<Figure> {
    figure.into_iter().collect()
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
    /// The same for a narrow screen.
    pub narrow: String,
    /// Records, the first of them the names of the columns.
    pub data: Vec<Vec<String>>,
}

impl Figure {
    /// A finished drawing, whose title is the caption.
    fn new(suffix: &str, svg: Svg, height: f64, data: Vec<Vec<String>>) -> Self {
        Self { suffix: suffix.into(), caption: svg.title.clone(), svg: svg.finish(height), narrow: String::new(), data }
    }
}

/// The figures of an experiment that its rows allow, and the kinds that they do not.
pub fn all<'k>(results: &Results<'_>, kinds: &'k [Kind]) -> (Vec<Figure>, Vec<&'k Kind>) {
    let wanted = results.experiment.figures.iter();
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for kind in wanted.filter_map(|name| kinds.iter().find(|kind| kind.name == name)) {
        let narrow = (kind.draw)(results, Paper::Phone);
        let wide = (kind.draw)(results, Paper::Page).into_iter();
        let before = figures.len();
        figures.extend(wide.zip(narrow).map(|(wide, narrow)| Figure { narrow: narrow.svg, ..wide }));
        if figures.len() == before {
            missing.push(kind);
        }
    }
    if let Some(first) = figures.first_mut() {
        first.suffix.clear();
    }
    // Sections whose names differ in signs only would share a file.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for figure in &mut figures {
        let times = seen.entry(figure.suffix.clone()).and_modify(|times| *times += 1).or_insert(1);
        if *times > 1 {
            figure.suffix += &format!("-{times}");
        }
    }
    (figures, missing)
}

/// A record of a figure's data.
pub fn record(cells: &[&dyn Display]) -> Vec<String> {
    cells.iter().map(|cell| cell.to_string()).collect()
}

/// A number of a figure's data, or NA.
pub fn number(value: Option<f64>) -> String {
    value.map_or("NA".into(), |v| v.to_string())
}

/// The names of a record's columns, with three columns for each estimate.
pub fn columns<'a>(mut head: Vec<String>, estimates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let parts = |name: &str| ["mean", "lower", "upper"].map(|part| format!("{name}_{part}"));
    head.extend(estimates.into_iter().flat_map(parts));
    head
}

/// A record that ends with estimates.
pub fn estimates(mut head: Vec<String>, estimates: impl IntoIterator<Item = Estimate>) -> Vec<String> {
    head.extend(estimates.into_iter().flat_map(parts).map(number));
    head
}

/// Mean and ends of an estimate, as far as they are there.
fn parts(e: Estimate) -> [Option<f64>; 3] {
    [e.mean, e.lower, e.upper]
}

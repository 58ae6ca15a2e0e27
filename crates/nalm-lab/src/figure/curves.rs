//! Test errors over steps, one line a seed, one panel a model and range.

use super::grid::Grid;
use super::svg::{Axis, Svg};
use super::{Figure, number, record};
use crate::run::{Curve, Row};
use crate::summary::Results;

/// Rows that kept such a curve, by model and range.
pub(super) fn followed<'a>(results: &Results<'a>, wanted: fn(&Curve) -> bool) -> Vec<(String, Vec<(&'a Row, Curve)>)> {
    let experiment = results.experiment;
    let groups = experiment.groups.iter().filter(|group| experiment.is_sampled(group)).map(|group| {
        let rows = results.of(group).into_iter().filter_map(|row| Some((row, row.curve().filter(wanted)?)));
        (format!("{} on {}", experiment.models[group.model], group.place), rows.collect::<Vec<_>>())
    });
    groups.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// The colour of a run's line: blue if it is solved.
pub(super) fn line_colour(row: &Row) -> &'static str {
    if row.is_solved() { "#0072b2" } else { "#d55e00" }
}

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let panels = followed(results, |_| true);
    let points = || panels.iter().flat_map(|(_, rows)| rows).flat_map(|(_, curve)| &curve.errors);
    let last = points().map(|p| p.step).max().unwrap_or(1).max(1);
    let grid = Grid::new(2, 68.0, (250.0, 190.0), 74.0);
    let caption = "Test errors over steps, one line a seed (blue: solved, orange: failed)";
    let mut svg = Svg::new(caption, 24.0 + 2.0 * grid.step.0);
    let mut data = vec![record(&[&"panel", &"seed", &"step", &"validation_error", &"test_error", &"sparsity_error"])];
    for (k, (title, rows)) in panels.iter().enumerate() {
        let (x, y) = grid.axes(k, (0.0, last as f64), (0.0, 1.0));
        let y = Axis::logarithmic(points().filter_map(|p| p.test), y.start, y.end);
        for (row, curve) in rows {
            let errors = curve.errors.iter();
            let line: Vec<_> = errors.clone().filter_map(|p| Some((x.at(p.step as f64), y.at(p.test?)))).collect();
            svg.polyline(&line, line_colour(row), 1.0);
            for p in errors {
                let [validation, test, sparsity] = [p.validation, p.test, p.sparsity].map(number);
                data.push(record(&[title, &row.spec.seed(), &p.step, &validation, &test, &sparsity]));
            }
        }
        svg.panel(title, &x, &y, "step", "test error");
    }
    (!panels.is_empty()).then(|| Figure::new("-curves", svg, grid.height(panels.len()), data))
}

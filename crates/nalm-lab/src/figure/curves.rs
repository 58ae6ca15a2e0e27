//! Test errors over steps, one line a seed, one panel a model and range.

use super::grid::Grid;
use super::style;
use super::svg::{Axis, Paper, Svg};
use super::{Figure, number, record};
use crate::run::{Curve, Row};
use crate::summary::Results;

/// What a panel is called, its model, and the rows that kept such a curve.
pub(super) type Followed<'a> = (String, usize, Vec<(&'a Row, Curve)>);

/// Rows that kept such a curve, by model and range.
pub(super) fn followed<'a>(results: &Results<'a>, wanted: fn(&Curve) -> bool) -> Vec<Followed<'a>> {
    let experiment = results.experiment;
    let groups = experiment.groups.iter().filter(|group| experiment.is_sampled(group)).map(|group| {
        let rows = results.of(group).into_iter().filter_map(|row| Some((row, row.curve().filter(wanted)?)));
        (format!("{} on {}", experiment.models[group.model], group.place), group.model, rows.collect::<Vec<_>>())
    });
    groups.filter(|(.., rows)| !rows.is_empty()).collect()
}

/// A run's line: in the model's colour if it is solved, otherwise of dashes.
pub(super) fn line(svg: &mut Svg, points: &[(f64, f64)], is_solved: bool, colour: &str) {
    match is_solved {
        true => svg.polyline(points, colour, 1.2),
        false => svg.dashed(points, "#333333", 1.2),
    }
}

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let mut panels = followed(results, |_| true);
    // A panel needs a line.
    panels.retain(|(.., rows)| rows.iter().any(|(_, c)| c.errors.iter().filter(|p| p.test.is_some()).count() > 1));
    let points = || panels.iter().flat_map(|(.., rows)| rows).flat_map(|(_, curve)| &curve.errors);
    let last = points().map(|p| p.step).max().unwrap_or(1).max(1);
    let grid = Grid::new(paper, 2, 68.0, (paper.choose(330.0, 300.0), 190.0), 74.0);
    let caption = "Test errors over steps, one line a seed (in the model's colour: solved, dashed: failed)";
    let mut svg = Svg::new(caption, grid.width);
    let styles = style::of(&results.experiment.models);
    let mut data = vec![record(&[&"panel", &"seed", &"step", &"validation_error", &"test_error", &"sparsity_error"])];
    for (k, (title, model, rows)) in panels.iter().enumerate() {
        let (x, y) = grid.axes(k, (0.0, last as f64), (0.0, 1.0));
        let y = Axis::logarithmic(points().filter_map(|p| p.test), y.start, y.end);
        for (row, curve) in rows {
            let errors = curve.errors.iter();
            let drawn: Vec<_> = errors.clone().filter_map(|p| Some((x.at(p.step as f64), y.at(p.test?)))).collect();
            line(&mut svg, &drawn, row.is_solved(), &styles[*model].colour());
            for p in errors {
                let [validation, test, sparsity] = [p.validation, p.test, p.sparsity].map(number);
                data.push(record(&[title, &row.spec.seed(), &p.step, &validation, &test, &sparsity]));
            }
        }
        svg.panel(title, &x, &y, "step", "test error");
    }
    (!panels.is_empty()).then(|| Figure::new("-curves", svg, grid.bottom(panels.len()), data))
}

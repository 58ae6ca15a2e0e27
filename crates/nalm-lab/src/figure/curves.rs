//! Test errors over steps, one line a seed, one panel a model and range.

use super::svg::{Axis, Svg};
use super::{Figure, number, record};
use crate::run::{Curve, Row};
use crate::summary::Results;

const WIDE: f64 = 250.0;
const HIGH: f64 = 190.0;

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let experiment = results.experiment;
    let mut panels: Vec<(String, Vec<(&Row, Curve)>)> = Vec::new();
    for group in experiment.groups.iter().filter(|group| experiment.is_sampled(group)) {
        let rows = results.rows[group.runs.clone()].iter().copied().flatten();
        let rows: Vec<(&Row, Curve)> = rows.filter_map(|row| Some((row, row.curve()?))).collect();
        if !rows.is_empty() {
            panels.push((format!("{} on {}", experiment.models[group.model], group.place), rows));
        }
    }
    if panels.is_empty() {
        return None;
    }
    let points = || {
        let rows = panels.iter().flat_map(|(_, rows)| rows);
        rows.flat_map(|(_, curve)| &curve.errors)
    };
    let last = points().map(|p| p.step).max().unwrap_or(1).max(1);
    let caption = "Test errors over steps, one line a seed (blue: solved, orange: failed)";
    let mut svg = Svg::new(caption, 24.0 + 2.0 * (WIDE + 74.0));
    let mut data = vec![record(&[&"panel", &"seed", &"step", &"validation_error", &"test_error", &"sparsity_error"])];
    for (k, (title, rows)) in panels.iter().enumerate() {
        let (left, top) = (68.0 + (k % 2) as f64 * (WIDE + 74.0), 30.0 + (k / 2) as f64 * (HIGH + 78.0));
        let x = Axis::linear(0.0, last as f64, left, left + WIDE);
        let y = Axis::logarithmic(points().filter_map(|p| p.test), top + HIGH, top);
        for (row, curve) in rows {
            let errors = curve.errors.iter();
            let line: Vec<(f64, f64)> =
                errors.clone().filter_map(|p| Some((x.at(p.step as f64), y.at(p.test?)))).collect();
            svg.polyline(&line, if row.is_solved() { "#0072b2" } else { "#d55e00" }, 1.0);
            for p in errors {
                let [validation, test, sparsity] = [p.validation, p.test, p.sparsity].map(number);
                data.push(record(&[title, &row.spec.seed(), &p.step, &validation, &test, &sparsity]));
            }
        }
        svg.bold(left, top - 8.0, title);
        svg.frame(&x, &y, "step", "test error");
    }
    let height = 30.0 + panels.len().div_ceil(2) as f64 * (HIGH + 78.0);
    Some(Figure { suffix: "-curves".into(), caption: caption.into(), svg: svg.finish(height), data })
}

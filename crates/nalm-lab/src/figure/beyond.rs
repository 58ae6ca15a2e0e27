//! The square of a number as trained networks have it, over the training range and beyond, beside the truth.

use super::grid::Grid;
use super::style::{self, Style};
use super::svg::{Paper, Svg};
use super::{Figure, record};
use crate::run::Spec;
use crate::summary::Results;
use crate::summary::surface::predicted;
use nalm::{Distribution, Interval};

/// Points of a line.
const POINTS: usize = 121;

/// The hull of a range.
fn hull(text: &str) -> Option<(f64, f64)> {
    let range: Distribution = text.parse().ok()?;
    let intervals: &[Interval] = range.as_range()?.intervals();
    Some((intervals.first()?.low(), intervals.last()?.high()))
}

/// Training and test range of a run that multiplies two numbers.
fn ranges(run: &Spec) -> Option<((f64, f64), (f64, f64))> {
    let is_it =
        run.task() == "single-module" && run.text("operation") == "mul" && run.whole("inputs").unwrap_or(2) == 2;
    if is_it { Some((hull(run.text("range"))?, hull(run.text("test_range"))?)) } else { None }
}

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let experiment = results.experiment;
    let (train, test) = ranges(experiment.runs.first()?)?;
    let (low, high) = (train.0.min(test.0), train.1.max(test.1));
    let at = |k: usize| low + (high - low) * k as f64 / (POINTS - 1) as f64;
    let points: Vec<f32> = (0..POINTS).flat_map(|k| [at(k) as f32; 2]).collect();
    let styles = style::of(&experiment.models);
    let mut lines: Vec<(Style, String, Vec<f64>)> = Vec::new();
    for (model, label) in experiment.models.iter().enumerate() {
        let group = experiment.groups.iter().find(|group| group.model == model && experiment.is_sampled(group))?;
        if ranges(&experiment.runs[group.runs.start]) != Some((train, test)) {
            continue;
        }
        if let Some((row, values)) =
            results.of(group).first().and_then(|row| Some((*row, predicted(results, row, &points)?)))
        {
            lines.push((styles[model], format!("{label}, seed {}", row.spec.seed()), values));
        }
    }
    if lines.is_empty() {
        return None;
    }
    let most = low.abs().max(high.abs());
    let grid = Grid::new(paper, 1, 60.0, (paper.choose(560.0, 316.0), 230.0), 60.0);
    let caption =
        "The square of a number as each unit has it, in the training range (shaded) and beyond; dashed: the truth";
    let mut svg = Svg::new(caption, grid.width);
    // Above and below the truth there is some room for what is wrong.
    let (x, y) = grid.axes(0, (low, high), (-0.1 * most * most, 1.1 * most * most));
    svg.fill(&super::svg::rectangle(x.at(train.0), y.end, x.at(train.1) - x.at(train.0), y.start - y.end), "#eeeeee");
    let mut data = vec![record(&[&"model", &"number", &"square", &"predicted"])];
    for (style, label, values) in &lines {
        let drawn: Vec<(f64, f64)> = values.iter().enumerate().map(|(k, v)| (x.at(at(k)), y.at(*v))).collect();
        svg.marked_line(*style, &drawn, 1.6, 4, label);
        data.extend(values.iter().enumerate().map(|(k, v)| record(&[label, &at(k), &(at(k) * at(k)), v])));
    }
    let truth: Vec<(f64, f64)> = (0..POINTS).map(|k| (x.at(at(k)), y.at(at(k) * at(k)))).collect();
    svg.dashed(&truth, "#333333", 1.2);
    svg.panel("a * a", &x, &y, "a", "prediction");
    let names: Vec<(Style, &str)> = lines.iter().map(|(style, label, _)| (*style, label.as_str())).collect();
    let end = svg.legend_of_lines(&names, (grid.corner.0, grid.bottom(1) + 10.0));
    Some(Figure::new("-beyond", svg, end + 12.0, data))
}

//! Where training ends, by where it starts: the unit square of starting weights, failed seeds on top.

use super::grid::Grid;
use super::svg::{Anchor, Svg, circle, rectangle, square, text_width};
use super::{Figure, number, record, trajectories};
use crate::run::Row;
use crate::summary::Results;

/// Solved, both weights at 0, anything else.
const ENDS: [(&str, &str); 3] =
    [("solved", "#a6cbe3"), ("ends with both weights at 0", "#f2c19e"), ("ends elsewhere", "#cccccc")];

fn end(row: &Row) -> usize {
    let zero = |w: &Option<f32>| w.is_some_and(|w| w.abs() < 0.01);
    match row.is_solved() {
        true => 0,
        false if row.weights().iter().all(zero) => 1,
        false => 2,
    }
}

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let experiment = results.experiment;
    let seeds = trajectories::groups(results);
    let gridded = experiment.groups.iter().filter_map(|group| Some((group, experiment.sections[group.section].grid?)));
    // Few and large panels, or many and small ones.
    let (columns, side) = if gridded.clone().count() > 4 { (4, 150.0) } else { (2, 250.0) };
    let grid = Grid::new(columns, 60.0, (side, side), 66.0);
    let caption = "Where training ends, by its starting weights; crosses are seeds that fail, the dashed square is where seeds start";
    let mut svg = Svg::new(caption, 10.0 + columns as f64 * grid.step.0);
    let mut data = vec![record(&[&"panel", &"w1", &"w2", &"end", &"final_w1", &"final_w2"])];
    let panels = gridded.map(|(group, starts)| (group, side / starts as f64, results.of(group)));
    let panels: Vec<_> = panels.filter(|(.., rows)| !rows.is_empty()).collect();
    for (k, (group, cell, rows)) in panels.iter().enumerate() {
        let title = format!("{} on {}", experiment.models[group.model], group.place);
        let (x, y) = grid.axes(k, (0.0, 1.0), (0.0, 1.0));
        let mut paths = vec![String::new(); ENDS.len()];
        for row in rows {
            let Some([a, b]) = row.spec.numbers("weights").and_then(|w| <[f64; 2]>::try_from(w).ok()) else { continue };
            paths[end(row)] += &rectangle(x.at(a) - cell / 2.0, y.at(b) - cell / 2.0, cell + 0.2, cell + 0.2);
            let last = |k: usize| number(row.weights().get(k).copied().flatten().map(f64::from));
            data.push(record(&[&title, &a, &b, &ENDS[end(row)].0, &last(0), &last(1)]));
        }
        for (d, (_, colour)) in paths.iter().zip(ENDS).filter(|(d, _)| !d.is_empty()) {
            svg.fill(d, colour);
        }
        let d = square(&x, &y, 0.25, 0.75);
        svg.put(format!("<path d=\"{d}\" fill=\"none\" stroke=\"#333333\" stroke-dasharray=\"4 3\"/>"));
        for (row, curve) in seeds.iter().filter(|(name, _)| *name == title).flat_map(|(_, rows)| rows) {
            let Some([Some(a), Some(b)]) = curve.weights.first().map(|(_, w)| [w[0], w[1]]) else { continue };
            let (px, py) = (x.at(f64::from(a)), y.at(f64::from(b)));
            match row.is_solved() {
                true => svg.fill(&circle(px, py, 2.0), "#0072b2"),
                false => svg.cross(px, py, 4.0, "#b03000"),
            }
        }
        svg.panel(&title, &x, &y, "w1 at the start", "w2 at the start");
    }
    let bottom = grid.height(panels.len());
    let mut at = 60.0;
    for (name, colour) in ENDS {
        svg.fill(&format!("M{at:.1} {:.1}h12v12h-12Z", bottom - 10.0), colour);
        svg.text(at + 18.0, bottom, Anchor::Start, name);
        at += 40.0 + text_width(name);
    }
    (!panels.is_empty()).then(|| Figure::new("-basins", svg, bottom + 14.0, data))
}

//! Where training ends, by where it starts: the unit square of starting weights, failed seeds on top.

use super::grid::Grid;
use super::svg::{Anchor, Paper, Svg, circle, rectangle, square, text_width};
use super::{Figure, number, record, style, trajectories};
use crate::experiment::Group;
use crate::run::Row;
use crate::summary::Results;

/// Solved, in the model's colour; both weights at 0, anything else.
const ENDS: [(&str, &str); 3] =
    [("solved (the model's colour)", ""), ("ends with both weights at 0", "#dddddd"), ("ends elsewhere", "#999999")];

fn end(row: &Row) -> usize {
    let zero = |w: &Option<f32>| w.is_some_and(|w| w.abs() < 0.01);
    match row.is_solved() {
        true => 0,
        false if row.weights().iter().all(zero) => 1,
        false => 2,
    }
}

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let experiment = results.experiment;
    let seeds = trajectories::groups(results);
    let gridded = experiment.groups.iter().filter_map(|group| Some((group, experiment.sections[group.section].grid?)));
    // Few and large panels, or many and small ones.
    let (columns, side) = if gridded.clone().count() > 4 { (4, paper.choose(150.0, 270.0)) } else { (2, 270.0) };
    let grid = Grid::new(paper, columns, 56.0, (side, side), 58.0);
    let mut data = vec![record(&[&"panel", &"w1", &"w2", &"end", &"final_w1", &"final_w2"])];
    let panels = gridded.map(|(group, starts)| (group, side / starts as f64, results.of(group)));
    let panels: Vec<_> = panels.filter(|(.., rows)| !rows.is_empty()).collect();
    let title = |group: &Group| format!("{} on {}", experiment.models[group.model], group.place);
    // Seeds are drawn where their curves were kept.
    let has_seeds = panels.iter().any(|(group, ..)| seeds.iter().any(|(name, ..)| *name == title(group)));
    let marks = if has_seeds { "; dots are seeds that are solved, crosses seeds that fail" } else { "" };
    let caption = format!("Where training ends, by its starting weights{marks}; seeds start in the dashed square");
    let mut svg = Svg::new(&caption, grid.width);
    let styles = style::of(&experiment.models);
    for (k, (group, cell, rows)) in panels.iter().enumerate() {
        let (title, colour) = (title(group), styles[group.model].colour());
        let (x, y) = grid.axes(k, (0.0, 1.0), (0.0, 1.0));
        let mut paths = vec![String::new(); ENDS.len()];
        for row in rows {
            let Some([a, b]) = row.spec.numbers("weights").and_then(|w| <[f64; 2]>::try_from(w).ok()) else { continue };
            paths[end(row)] += &rectangle(x.at(a) - cell / 2.0, y.at(b) - cell / 2.0, cell + 0.2, cell + 0.2);
            let last = |k: usize| number(row.weights().get(k).copied().flatten().map(f64::from));
            data.push(record(&[&title, &a, &b, &ENDS[end(row)].0, &last(0), &last(1)]));
        }
        for (d, (_, grey)) in paths.iter().zip(ENDS).filter(|(d, _)| !d.is_empty()) {
            if grey.is_empty() { svg.fill_lightly(d, &colour, 0.5) } else { svg.fill(d, grey) }
        }
        let d = square(&x, &y, 0.25, 0.75);
        svg.put(format!("<path d=\"{d}\" fill=\"none\" stroke=\"#333333\" stroke-dasharray=\"4 3\"/>"));
        for (row, curve) in seeds.iter().filter(|(name, ..)| *name == title).flat_map(|(.., rows)| rows) {
            let Some([Some(a), Some(b)]) = curve.weights.first().map(|(_, w)| [w[0], w[1]]) else { continue };
            let (px, py) = (x.at(f64::from(a)), y.at(f64::from(b)));
            match row.is_solved() {
                true => svg.fill(&circle(px, py, 2.0), &colour),
                false => svg.cross(px, py, 4.0, "#000000"),
            }
        }
        svg.panel(&title, &x, &y, "w1 at the start", "w2 at the start");
    }
    let bottom = grid.height(panels.len());
    let (mut at, mut down) = (56.0, bottom);
    let found = |k: usize| panels.iter().flat_map(|(.., rows)| rows).any(|row| end(row) == k);
    for (name, grey) in ENDS.into_iter().enumerate().filter(|(k, _)| found(*k)).map(|(_, end)| end) {
        if at + 20.0 + text_width(name) > grid.width && at > 56.0 {
            (at, down) = (56.0, down + 20.0);
        }
        let d = format!("M{at:.1} {:.1}h12v12h-12Z", down - 10.0);
        let own = panels.first().map_or(String::new(), |(group, ..)| styles[group.model].colour());
        if grey.is_empty() {
            svg.fill_lightly(&d, &own, 0.5)
        } else {
            svg.fill(&d, grey)
        }
        svg.text(at + 18.0, down, Anchor::Start, name);
        at += 36.0 + text_width(name);
    }
    (!panels.is_empty()).then(|| Figure::new("-basins", svg, down + 14.0, data))
}

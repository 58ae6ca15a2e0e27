//! What trained networks predict over the plane, beside the exact product: twenty bins, the training square and the test square.

use super::grid::Grid;
use super::mosaic::mosaic;
use super::svg::{Anchor, Axis, Paper, Svg, mix, rectangle, square};
use super::{Figure, record};
use crate::summary::Results;
use crate::summary::surface::{SIDE, coordinate, predictions};

const BINS: usize = 20;
const PANEL: f64 = 270.0;
/// Stops of the published ramp.
const RAMP: [[f64; 3]; 4] = [[53.0, 151.0, 143.0], [199.0, 234.0, 229.0], [191.0, 129.0, 45.0], [51.0, 0.0, 0.0]];

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let exact: Vec<f64> = (0..SIDE * SIDE).map(|k| coordinate(k % SIDE) * coordinate(k / SIDE)).collect();
    let mut panels = vec![("exact product (TT)".to_string(), exact)];
    for (model, label) in results.experiment.models.iter().enumerate() {
        if let Some((row, values)) = predictions(results, model) {
            let flag = |yes: bool| if yes { 'T' } else { 'F' };
            let inside = flag(row.number("validation_error").is_some_and(|e| e < 1e-5));
            panels.push((format!("{label}, seed {} ({inside}{})", row.spec.seed(), flag(row.is_solved())), values));
        }
    }
    if panels.len() == 1 {
        return None;
    }
    let all = panels.iter().flat_map(|(_, values)| values).copied().filter(|v| v.is_finite());
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let bin = |v: f64| (((v - low) / (high - low) * BINS as f64) as usize).min(BINS - 1);
    let grid = Grid::new(paper, 2, 60.0, (PANEL, PANEL), 60.0);
    let scale_left = grid.corner.0 + grid.columns as f64 * grid.step.0 - 36.0;
    let caption =
        "Predictions over the plane after training on the blue square; T or F: solved inside and outside (red square)";
    let mut svg = Svg::new(caption, paper.choose(scale_left + 56.0, paper.width()));
    let mut data = vec![record(&[&"panel", &"x1", &"x2", &"prediction"])];
    for (k, (title, values)) in panels.iter().enumerate() {
        let (x, y) = grid.axes(k, (-6.05, 6.05), (-6.05, 6.05));
        let bins: Vec<usize> = values.iter().map(|&v| bin(v)).collect();
        plane(&mut svg, &bins, &x, &y);
        svg.panel(title, &x, &y, "x1", "x2");
        // Every fifth point of each side; the whole surface follows from the weights in the rows.
        for k in (0..SIDE * SIDE).filter(|k| (k % SIDE).is_multiple_of(5) && (k / SIDE).is_multiple_of(5)) {
            data.push(record(&[title, &coordinate(k % SIDE), &coordinate(k / SIDE), &values[k]]));
        }
    }
    scale(&mut svg, low, high, (scale_left, grid.corner.1));
    Some(Figure::new("-surfaces", svg, grid.bottom(panels.len()), data))
}

/// The bins of all points, neighbours of the same bin in one rectangle, and the two squares.
fn plane(svg: &mut Svg, bins: &[usize], x: &Axis, y: &Axis) {
    let cell = PANEL / SIDE as f64;
    let paths = mosaic(bins, SIDE, |j, i, length| {
        let (left, top) = (x.start + i as f64 * cell, y.end + (SIDE - 1 - j) as f64 * cell);
        // A little taller than a cell, so that no seams show.
        rectangle(left, top, length as f64 * cell, cell + 0.3)
    });
    for (bin, d) in paths {
        svg.fill(&d, &ramp((bin as f64 + 0.5) / BINS as f64));
    }
    for (low, high, colour) in [(1.0, 2.0, "#0000ff"), (2.0, 6.0, "#ff0000")] {
        svg.stroke(&square(x, y, low, high), colour, 2.0);
    }
}

fn scale(svg: &mut Svg, low: f64, high: f64, (left, top): (f64, f64)) {
    for k in 0..BINS {
        let at = top + PANEL - (k as f64 + 1.0) * PANEL / BINS as f64;
        let d = format!("M{left:.1} {at:.1}h14v{:.1}h-14Z", PANEL / BINS as f64 + 0.3);
        svg.fill(&d, &ramp((k as f64 + 0.5) / BINS as f64));
        if k % 5 == 0 {
            let value = low + (high - low) * k as f64 / BINS as f64;
            svg.text(left + 20.0, at + PANEL / BINS as f64 + 4.0, Anchor::Start, &format!("{value:.0}"));
        }
    }
    svg.text(left + 20.0, top + 4.0, Anchor::Start, &format!("{high:.0}"));
}

/// The published colours, from 0 to 1.
fn ramp(t: f64) -> String {
    let k = ((t * 3.0) as usize).min(2);
    mix(RAMP[k], RAMP[k + 1], t * 3.0 - k as f64)
}

//! What trained networks predict over the plane, beside the exact product: twenty bins, the training square and the test square.

use super::svg::{Anchor, Axis, Svg};
use super::{Figure, record};
use crate::summary::Results;
use crate::summary::surface::{SIDE, coordinate, predictions};
use std::fmt::Write;

const BINS: usize = 20;
const PANEL: f64 = 230.0;
/// Stops of the published ramp.
const RAMP: [[f64; 3]; 4] = [[53.0, 151.0, 143.0], [199.0, 234.0, 229.0], [191.0, 129.0, 45.0], [51.0, 0.0, 0.0]];

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
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
    let caption =
        "Predictions over the plane after training on the blue square; T or F: solved inside and outside (red square)";
    let mut svg = Svg::new(caption, 40.0 + 2.0 * (PANEL + 60.0) + 70.0);
    for (k, (title, values)) in panels.iter().enumerate() {
        let (left, top) = (60.0 + (k % 2) as f64 * (PANEL + 60.0), 30.0 + (k / 2) as f64 * (PANEL + 78.0));
        panel(&mut svg, title, values, left, top, bin);
    }
    let rows = panels.len().div_ceil(2) as f64;
    scale(&mut svg, low, high, 60.0 + 2.0 * (PANEL + 60.0) - 30.0);
    let mut data = vec![record(&[&"panel", &"x1", &"x2", &"prediction"])];
    for (title, values) in &panels {
        // Every fifth point of each side; the whole surface follows from the weights in the rows.
        for k in (0..SIDE * SIDE).filter(|k| (k % SIDE).is_multiple_of(5) && (k / SIDE).is_multiple_of(5)) {
            data.push(record(&[title, &coordinate(k % SIDE), &coordinate(k / SIDE), &values[k]]));
        }
    }
    Some(Figure {
        suffix: "-surfaces".into(),
        caption: caption.into(),
        svg: svg.finish(30.0 + rows * (PANEL + 78.0)),
        data,
    })
}

fn panel(svg: &mut Svg, title: &str, values: &[f64], left: f64, top: f64, bin: impl Fn(f64) -> usize) {
    let (x, y) = (Axis::linear(-6.05, 6.05, left, left + PANEL), Axis::linear(-6.05, 6.05, top + PANEL, top));
    let cell = PANEL / SIDE as f64;
    let mut paths = vec![String::new(); BINS];
    for j in 0..SIDE {
        let mut i = 0;
        while i < SIDE {
            let own = bin(values[j * SIDE + i]);
            let start = i;
            while i < SIDE && bin(values[j * SIDE + i]) == own {
                i += 1;
            }
            let (at, up, wide) = (x.start + start as f64 * cell, top + (SIDE - 1 - j) as f64 * cell, i - start);
            // A little taller than a cell, so that no seams show.
            write!(
                paths[own],
                "M{at:.1} {up:.1}h{:.1}v{:.1}h-{:.1}Z",
                wide as f64 * cell,
                cell + 0.3,
                wide as f64 * cell
            )
            .expect("a string takes everything");
        }
    }
    for (own, d) in paths.iter().enumerate().filter(|(_, d)| !d.is_empty()) {
        svg.fill(d, &ramp((own as f64 + 0.5) / BINS as f64));
    }
    for (low, high, colour) in [(1.0, 2.0, "#0000ff"), (2.0, 6.0, "#ff0000")] {
        let d = format!("M{:.1} {:.1}H{:.1}V{:.1}H{:.1}Z", x.at(low), y.at(low), x.at(high), y.at(high), x.at(low));
        svg.stroke(&d, colour, 2.0);
    }
    svg.bold(left, top - 8.0, title);
    svg.frame(&x, &y, "x1", "x2");
}

fn scale(svg: &mut Svg, low: f64, high: f64, left: f64) {
    for k in 0..BINS {
        let at = 30.0 + PANEL - (k as f64 + 1.0) * PANEL / BINS as f64;
        let d = format!("M{left:.1} {at:.1}h14v{:.1}h-14Z", PANEL / BINS as f64 + 0.3);
        svg.fill(&d, &ramp((k as f64 + 0.5) / BINS as f64));
        if k % 5 == 0 {
            let value = low + (high - low) * k as f64 / BINS as f64;
            svg.text(left + 20.0, at + PANEL / BINS as f64 + 4.0, Anchor::Start, &format!("{value:.0}"));
        }
    }
    svg.text(left + 20.0, 34.0, Anchor::Start, &format!("{high:.0}"));
}

/// The published colours, from 0 to 1.
fn ramp(t: f64) -> String {
    let (k, part) = (((t * 3.0) as usize).min(2), (t * 3.0).min(3.0));
    let mix = |c: usize| RAMP[k][c] + (RAMP[k + 1][c] - RAMP[k][c]) * (part - k as f64);
    format!("#{:02x}{:02x}{:02x}", mix(0).round() as u8, mix(1).round() as u8, mix(2).round() as u8)
}

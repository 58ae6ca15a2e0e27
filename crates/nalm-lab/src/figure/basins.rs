//! Where training ends, by where it starts: the unit square of starting weights, failed seeds on top.

use super::svg::{Anchor, Axis, Svg};
use super::{Figure, number, record, trajectories};
use crate::experiment::Group;
use crate::run::Row;
use crate::summary::Results;
use std::fmt::Write;

/// Panels in a line and their side: few and large, or many and small.
fn layout(panels: usize) -> (u32, f64) {
    if panels > 4 { (4, 150.0) } else { (2, 250.0) }
}

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
    let caption = "Where training ends, by its starting weights; crosses are seeds that fail, the dashed square is where seeds start";
    let gridded = |group: &&Group| experiment.sections[group.section].grid.is_some();
    let (columns, side_length) = layout(experiment.groups.iter().filter(gridded).count());
    let step = (side_length + 66.0, side_length + 78.0);
    let mut svg = Svg::new(caption, 10.0 + f64::from(columns) * step.0);
    let mut data = vec![record(&[&"panel", &"w1", &"w2", &"end", &"final_w1", &"final_w2"])];
    let mut panels = 0u32;
    for group in &experiment.groups {
        let Some(side) = experiment.sections[group.section].grid else { continue };
        let rows: Vec<&Row> = results.rows[group.runs.clone()].iter().copied().flatten().collect();
        if rows.is_empty() {
            continue;
        }
        let title = format!("{} on {}", experiment.models[group.model], group.place);
        let (left, top) = (60.0 + f64::from(panels % columns) * step.0, 30.0 + f64::from(panels / columns) * step.1);
        panels += 1;
        let (x, y) = (Axis::linear(0.0, 1.0, left, left + side_length), Axis::linear(0.0, 1.0, top + side_length, top));
        let cell = side_length / side as f64;
        let mut paths = vec![String::new(); ENDS.len()];
        for row in &rows {
            let Some([a, b]) = row.spec.numbers("weights").and_then(|w| <[f64; 2]>::try_from(w).ok()) else { continue };
            write!(
                paths[end(row)],
                "M{:.1} {:.1}h{:.1}v{:.1}h-{:.1}Z",
                x.at(a) - cell / 2.0,
                y.at(b) - cell / 2.0,
                cell + 0.2,
                cell + 0.2,
                cell + 0.2
            )
            .expect("a string takes everything");
            let last = |k: usize| number(row.weights().get(k).copied().flatten().map(f64::from));
            data.push(record(&[&title, &a, &b, &ENDS[end(row)].0, &last(0), &last(1)]));
        }
        for (d, (_, colour)) in paths.iter().zip(ENDS).filter(|(d, _)| !d.is_empty()) {
            svg.fill(d, colour);
        }
        let (low, high) = (0.25, 0.75);
        let d = format!("M{:.1} {:.1}H{:.1}V{:.1}H{:.1}Z", x.at(low), y.at(low), x.at(high), y.at(high), x.at(low));
        svg.put(format!("<path d=\"{d}\" fill=\"none\" stroke=\"#333333\" stroke-dasharray=\"4 3\"/>"));
        for row in seeds.iter().filter(|(name, _)| *name == title).flat_map(|(_, rows)| rows) {
            let Some((_, w)) = row.curve().and_then(|curve| curve.weights.into_iter().next()) else { continue };
            let (Some(a), Some(b)) = (w[0], w[1]) else { continue };
            let (px, py) = (x.at(f64::from(a)), y.at(f64::from(b)));
            match row.is_solved() {
                true => svg.fill(&format!("M{:.1} {py:.1}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0Z", px - 2.0), "#0072b2"),
                false => svg.cross(px, py, 4.0, "#b03000"),
            }
        }
        svg.bold(left, top - 8.0, &title);
        svg.frame(&x, &y, "w1 at the start", "w2 at the start");
    }
    if panels == 0 {
        return None;
    }
    let bottom = 30.0 + f64::from(panels.div_ceil(columns)) * step.1;
    let mut at = 60.0;
    for (name, colour) in ENDS {
        svg.fill(&format!("M{at:.1} {:.1}h12v12h-12Z", bottom - 10.0), colour);
        svg.text(at + 18.0, bottom, Anchor::Start, name);
        at += 40.0 + super::svg::text_width(name);
    }
    Some(Figure { suffix: "-basins".into(), caption: caption.into(), svg: svg.finish(bottom + 14.0), data })
}

//! The way of the head's two weights over the epochs, one panel a model, one line a fold or seed.

use super::svg::{Axis, Svg};
use super::{Figure, record};
use crate::summary::Results;
use crate::summary::histories::{Model, models};

const PANEL: f64 = 240.0;
const MOST: f64 = 1.5;

/// From blue to red.
fn shade(share: f64) -> String {
    let mix = |from: f64, to: f64| (from + (to - from) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0.0, 213.0), mix(90.0, 60.0), mix(190.0, 30.0))
}

/// A seed, and its weights by epoch.
type Way = (u64, Vec<(u64, [f64; 2])>);

/// The ways of every run of a model that has two weights.
fn paths(model: &Model<'_>) -> Vec<Way> {
    let two = |weights: &[f32]| <[f32; 2]>::try_from(weights).ok().map(|w| w.map(f64::from));
    let products = model.products().into_iter().map(|(seed, rows)| {
        (seed, rows.iter().filter_map(|row| Some((row.epoch, two(&row.weights)?))).collect::<Vec<_>>())
    });
    let sequences = model
        .sequences()
        .into_iter()
        .map(|(seed, rows)| (seed, rows.iter().filter_map(|row| Some((row.epoch, two(&row.weights)?))).collect()));
    products.chain(sequences).filter(|(_, path)| !path.is_empty()).collect()
}

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let models = models(results);
    let panels: Vec<_> = models.iter().map(|m| (m.label, paths(m))).filter(|(_, paths)| !paths.is_empty()).collect();
    if panels.is_empty() {
        return None;
    }
    let caption =
        "The head's weights over the epochs, from blue to red; crosses where they start and end, the ring is (1, 1)";
    let mut svg = Svg::new(caption, 16.0 + 3.0 * (PANEL + 64.0));
    let mut data = vec![record(&[&"model", &"seed", &"epoch", &"w1", &"w2"])];
    for (k, (label, paths)) in panels.iter().enumerate() {
        let (left, top) = (62.0 + (k % 3) as f64 * (PANEL + 64.0), 30.0 + (k / 3) as f64 * (PANEL + 78.0));
        let (x, y) = (Axis::linear(0.0, MOST, left, left + PANEL), Axis::linear(0.0, MOST, top + PANEL, top));
        let (cx, cy) = (x.at(1.0), y.at(1.0));
        svg.stroke(&format!("M{:.1} {cy:.1}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0Z", cx - 6.0), "#333333", 1.0);
        for (seed, path) in paths {
            let last = path.last().map_or(1, |(epoch, _)| *epoch).max(1) as f64;
            for pair in path.windows(2) {
                let [(_, [a, b]), (epoch, [c, d])] = [pair[0], pair[1]];
                let line = [(x.at(a), y.at(b)), (x.at(c), y.at(d))];
                svg.polyline(&line, &shade(epoch as f64 / last), 1.2);
            }
            for ((_, [a, b]), share) in [path.first(), path.last()].into_iter().flatten().zip([0.0, 1.0]) {
                svg.cross(x.at(*a), y.at(*b), 3.0, &shade(share));
            }
            for (epoch, [a, b]) in path {
                data.push(record(&[label, seed, epoch, a, b]));
            }
        }
        svg.bold(left, top - 8.0, label);
        svg.frame(&x, &y, "w1", "w2");
    }
    let height = 30.0 + panels.len().div_ceil(3) as f64 * (PANEL + 78.0);
    Some(Figure { suffix: "-weights".into(), caption: caption.into(), svg: svg.finish(height), data })
}

//! The way of the head's two weights over the epochs, one panel a model, one line a fold or seed.

use crate::figure::grid::Grid;
use crate::figure::svg::{Svg, circle, mix};
use crate::figure::{Figure, record};
use crate::summary::Results;
use crate::summary::histories::{Model, models};

const MOST: f64 = 1.5;

/// From blue to red.
fn shade(share: f64) -> String {
    mix([0.0, 90.0, 190.0], [213.0, 60.0, 30.0], share)
}

/// A seed, and its weights by epoch.
type Way = (u64, Vec<(u64, [f64; 2])>);

/// The ways of every run of a model that has two weights.
fn ways(model: &Model<'_>) -> Vec<Way> {
    let two = |(epoch, w): (u64, &[f32])| Some((epoch, <[f32; 2]>::try_from(w).ok()?.map(f64::from)));
    let ways = model.weights().into_iter().map(|(seed, way)| (seed, way.into_iter().filter_map(two).collect()));
    ways.filter(|(_, way): &Way| !way.is_empty()).collect()
}

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let models = models(results, 0);
    let panels: Vec<_> =
        models.iter().map(|m| (m.label.as_str(), ways(m))).filter(|(_, ways)| !ways.is_empty()).collect();
    let grid = Grid::new(3, 62.0, (240.0, 240.0), 64.0);
    let caption =
        "The head's weights over the epochs, from blue to red; crosses where they start and end, the ring is (1, 1)";
    let mut svg = Svg::new(caption, 16.0 + 3.0 * grid.step.0);
    let mut data = vec![record(&[&"model", &"seed", &"epoch", &"w1", &"w2"])];
    for (k, (label, ways)) in panels.iter().enumerate() {
        let (x, y) = grid.axes(k, (0.0, MOST), (0.0, MOST));
        svg.stroke(&circle(x.at(1.0), y.at(1.0), 6.0), "#333333", 1.0);
        for (seed, way) in ways {
            let last = way.last().map_or(1, |(epoch, _)| *epoch).max(1) as f64;
            // A run that diverged ends where its weights are no numbers.
            let drawn: Vec<_> = way.iter().copied().filter(|(_, w)| w.iter().all(|w| w.is_finite())).collect();
            for pair in drawn.windows(2) {
                let line = [pair[0], pair[1]].map(|(_, [a, b])| (x.at(a), y.at(b)));
                svg.polyline(&line, &shade(pair[1].0 as f64 / last), 1.2);
            }
            for ((_, [a, b]), share) in [drawn.first(), drawn.last()].into_iter().flatten().zip([0.0, 1.0]) {
                svg.cross(x.at(*a), y.at(*b), 3.0, &shade(share));
            }
            data.extend(way.iter().map(|(epoch, [a, b])| record(&[label, seed, epoch, a, b])));
        }
        svg.panel(label, &x, &y, "w1", "w2");
    }
    (!panels.is_empty()).then(|| Figure::new("-weights", svg, grid.height(panels.len()), data))
}

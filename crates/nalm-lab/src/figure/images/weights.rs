//! The way of the head's two weights over the epochs, one panel a model, one line a fold or seed.

use super::scale;
use crate::figure::grid::Grid;
use crate::figure::svg::{Paper, Svg, circle, polyline};
use crate::figure::{Figure, record, style};
use crate::summary::Results;
use crate::summary::histories::{Model, models};

const MOST: f64 = 1.5;

/// A seed, and its weights by epoch.
type Way = (u64, Vec<(u64, [f64; 2])>);

/// The ways of every run of a model that has two weights.
fn ways(model: &Model<'_>) -> Vec<Way> {
    let two = |(epoch, w): (u64, &[f32])| Some((epoch, <[f32; 2]>::try_from(w).ok()?.map(f64::from)));
    let ways = model.weights().into_iter().map(|(seed, way)| (seed, way.into_iter().filter_map(two).collect()));
    ways.filter(|(_, way): &Way| !way.is_empty()).collect()
}

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let models = models(results, 0);
    let panels: Vec<_> =
        models.iter().map(|m| (m.label.as_str(), m.index, ways(m))).filter(|(.., ways)| !ways.is_empty()).collect();
    let side = paper.choose(208.0, 128.0);
    let grid = Grid::new(paper, 3, 56.0, (side, side), 58.0);
    let caption = format!(
        "The head's weights over the epochs, from faint to strong; a mark where they end, the ring is (1, 1); {}",
        scale(&models)
    );
    let mut svg = Svg::new(&caption, grid.width);
    let styles = style::of(&results.experiment.models);
    let mut data = vec![record(&[&"model", &"seed", &"epoch", &"w1", &"w2"])];
    for (k, (label, model, ways)) in panels.iter().enumerate() {
        let style = styles[*model];
        let (x, y) = grid.axes(k, (0.0, MOST), (0.0, MOST));
        svg.stroke(&circle(x.at(1.0), y.at(1.0), 6.0), "#333333", 1.0);
        for (seed, way) in ways {
            let last = way.last().map_or(1, |(epoch, _)| *epoch).max(1) as f64;
            // A run that diverged ends where its weights are no numbers.
            let drawn: Vec<_> = way.iter().copied().filter(|(_, w)| w.iter().all(|w| w.is_finite())).collect();
            for pair in drawn.windows(2) {
                let line = [pair[0], pair[1]].map(|(_, [a, b])| (x.at(a), y.at(b)));
                let strength = 0.25 + 0.75 * pair[1].0 as f64 / last;
                let colour = format!("stroke=\"{}\" stroke-opacity=\"{strength:.2}\"", style.colour());
                svg.put(format!("<path d=\"{}\" fill=\"none\" {colour} stroke-width=\"1.4\"/>", polyline(&line)));
            }
            if let Some((_, [a, b])) = drawn.first() {
                svg.stroke(&circle(x.at(*a), y.at(*b), 2.0), &style.colour(), 1.0);
            }
            if let Some((_, [a, b])) = drawn.last() {
                svg.mark(style, x.at(*a), y.at(*b), &format!("{label}, seed {seed}: ({a:.3}, {b:.3})"));
            }
            data.extend(way.iter().map(|(epoch, [a, b])| record(&[label, seed, epoch, a, b])));
        }
        svg.panel(label, &x, &y, "w1", "w2");
    }
    (!panels.is_empty()).then(|| Figure::new("-weights", svg, grid.bottom(panels.len()), data))
}

//! The way of two weights from where they start to where they end, one panel a model.

use super::curves::{followed, line_colour};
use super::grid::Grid;
use super::svg::{Svg, circle};
use super::{Figure, number, record};
use crate::run::{Curve, Row};
use crate::summary::Results;

/// Rows that kept the way of two weights, by group.
pub(super) fn groups<'a>(results: &Results<'a>) -> Vec<(String, Vec<(&'a Row, Curve)>)> {
    followed(results, |curve| curve.weights.iter().all(|(_, w)| w.len() == 2))
}

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let groups = groups(results);
    let grid = Grid::new(2, 60.0, (250.0, 250.0), 66.0);
    let caption =
        "Weights on their way (blue: solved, orange: failed; dots: where they start), the same seeds in every panel";
    let mut svg = Svg::new(caption, 10.0 + 2.0 * grid.step.0);
    let mut data = vec![record(&[&"panel", &"seed", &"solved", &"updates", &"w1", &"w2"])];
    for (k, (title, rows)) in groups.iter().enumerate() {
        let (x, y) = grid.axes(k, (0.0, 1.0), (0.0, 1.0));
        // Failed ones last, so that they are on top.
        let mut rows: Vec<_> = rows.iter().collect();
        rows.sort_by_key(|(row, _)| (!row.is_solved(), row.spec.seed()));
        for (row, Curve { weights, .. }) in rows {
            let at = |w: &[Option<f32>]| Some((x.at(f64::from(w[0]?)), y.at(f64::from(w[1]?))));
            let points: Vec<(f64, f64)> = weights.iter().filter_map(|(_, w)| at(w)).collect();
            svg.polyline(&points, line_colour(row), 1.2);
            if let Some(&(px, py)) = points.first() {
                svg.fill(&circle(px, py, 2.5), line_colour(row));
            }
            for (updates, w) in weights {
                let [a, b] = [w[0], w[1]].map(|w| number(w.map(f64::from)));
                data.push(record(&[title, &row.spec.seed(), &row.is_solved(), updates, &a, &b]));
            }
        }
        svg.panel(title, &x, &y, "w1", "w2");
    }
    (!groups.is_empty()).then(|| Figure::new("-trajectories", svg, grid.height(groups.len()), data))
}

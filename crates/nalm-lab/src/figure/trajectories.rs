//! The way of two weights from where they start to where they end, one panel a model.

use super::curves::{Followed, followed, line};
use super::grid::Grid;
use super::landscape;
use super::style;
use super::svg::{Paper, Svg, circle};
use super::{Figure, number, record};
use crate::run::Curve;
use crate::summary::Results;

/// Rows that kept the way of two weights, by group.
pub(super) fn groups<'a>(results: &Results<'a>) -> Vec<Followed<'a>> {
    followed(results, |curve| curve.weights.iter().all(|(_, w)| w.len() == 2))
}

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let mut groups = groups(results);
    groups.retain(|(.., rows)| rows.iter().any(|(_, curve)| !curve.weights.is_empty()));
    let grid = Grid::new(paper, 2, 60.0, (paper.choose(330.0, 320.0), paper.choose(330.0, 320.0)), 66.0);
    let losses: Vec<_> =
        groups.iter().map(|(.., rows)| rows.first().and_then(|(row, _)| landscape::loss_of(&row.spec))).collect();
    let thin = if losses.iter().any(Option::is_some) { "; thin lines: equal mean losses" } else { "" };
    let caption = format!(
        "Weights on their way (in the model's colour: solved, dashed: failed; dots: where they start), the same seeds in every panel{thin}"
    );
    let mut svg = Svg::new(&caption, grid.width);
    let styles = style::of(&results.experiment.models);
    let mut data = vec![record(&[&"panel", &"seed", &"solved", &"updates", &"w1", &"w2"])];
    for (k, (title, model, rows)) in groups.iter().enumerate() {
        let (x, y) = grid.axes(k, (0.0, 1.0), (0.0, 1.0));
        if let Some(loss) = losses[k] {
            landscape::contours(&mut svg, loss, &x, &y);
        }
        // Failed ones last, so that they are on top.
        let mut rows: Vec<_> = rows.iter().collect();
        rows.sort_by_key(|(row, _)| (!row.is_solved(), row.spec.seed()));
        for (row, Curve { weights, .. }) in rows {
            let at = |w: &[Option<f32>]| Some((x.at(f64::from(w[0]?)), y.at(f64::from(w[1]?))));
            let points: Vec<(f64, f64)> = weights.iter().filter_map(|(_, w)| at(w)).collect();
            let colour = if row.is_solved() { styles[*model].colour() } else { "#333333".into() };
            line(&mut svg, &points, row.is_solved(), &colour);
            if let Some(&(px, py)) = points.first() {
                svg.fill(&circle(px, py, 2.5), &colour);
            }
            for (updates, w) in weights {
                let [a, b] = [w[0], w[1]].map(|w| number(w.map(f64::from)));
                data.push(record(&[title, &row.spec.seed(), &row.is_solved(), updates, &a, &b]));
            }
        }
        svg.panel(title, &x, &y, "w1", "w2");
    }
    (!groups.is_empty()).then(|| Figure::new("-trajectories", svg, grid.bottom(groups.len()), data))
}

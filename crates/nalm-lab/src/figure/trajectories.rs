//! The way of two weights from where they start to where they end, one panel a model.

use super::svg::{Axis, Svg};
use super::{Figure, number, record};
use crate::run::{Curve, Row};
use crate::summary::Results;

const PANEL: f64 = 250.0;
const SOLVED: &str = "#0072b2";
const FAILED: &str = "#d55e00";

/// Rows that kept the way of two weights, by group.
pub(super) fn groups<'a>(results: &Results<'a>) -> Vec<(String, Vec<&'a Row>)> {
    let experiment = results.experiment;
    let followed = |row: &&Row| row.curve().is_some_and(|c| c.weights.iter().all(|(_, w)| w.len() == 2));
    let mut groups = Vec::new();
    for group in experiment.groups.iter().filter(|group| experiment.is_sampled(group)) {
        let rows: Vec<&Row> = results.rows[group.runs.clone()].iter().copied().flatten().filter(followed).collect();
        if !rows.is_empty() {
            groups.push((format!("{} on {}", experiment.models[group.model], group.place), rows));
        }
    }
    groups
}

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let groups = groups(results);
    if groups.is_empty() {
        return None;
    }
    let caption =
        "Weights on their way (blue: solved, orange: failed; dots: where they start), the same seeds in every panel";
    let mut svg = Svg::new(caption, 10.0 + 2.0 * (PANEL + 66.0));
    let mut data = vec![record(&[&"panel", &"seed", &"solved", &"updates", &"w1", &"w2"])];
    for (k, (title, rows)) in groups.iter().enumerate() {
        let (left, top) = (60.0 + (k % 2) as f64 * (PANEL + 66.0), 30.0 + (k / 2) as f64 * (PANEL + 78.0));
        let (x, y) = (Axis::linear(0.0, 1.0, left, left + PANEL), Axis::linear(0.0, 1.0, top + PANEL, top));
        // Failed ones last, so that they are on top.
        let mut rows = rows.clone();
        rows.sort_by_key(|row| (!row.is_solved(), row.spec.seed()));
        for row in rows {
            let Curve { weights, .. } = row.curve().unwrap_or_default();
            let points: Vec<(f64, f64)> =
                weights.iter().filter_map(|(_, w)| Some((x.at(f64::from(w[0]?)), y.at(f64::from(w[1]?))))).collect();
            let colour = if row.is_solved() { SOLVED } else { FAILED };
            svg.polyline(&points, colour, 1.2);
            if let Some((px, py)) = points.first() {
                svg.fill(&format!("M{:.1} {py:.1}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0Z", px - 2.5), colour);
            }
            for (updates, w) in &weights {
                let [a, b] = [w[0], w[1]].map(|w| number(w.map(f64::from)));
                data.push(record(&[title, &row.spec.seed(), &row.is_solved(), updates, &a, &b]));
            }
        }
        svg.bold(left, top - 8.0, title);
        svg.frame(&x, &y, "w1", "w2");
    }
    let height = 30.0 + groups.len().div_ceil(2) as f64 * (PANEL + 78.0);
    Some(Figure { suffix: "-trajectories".into(), caption: caption.into(), svg: svg.finish(height), data })
}

//! The sequential task: success, solved-at and sparsity error over the length of the sequence.

use super::svg::{Anchor, Axis, Svg, colour};
use super::{Figure, number, record};
use crate::stats::Estimate;
use crate::summary::Results;
use crate::summary::histories::{Model, models};
use crate::summary::sequences::{ByLength, by_length, thresholds};
use nalm_vision::sequential::LENGTHS;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 60.0;
const PANEL: f64 = 160.0;

type Facet = (&'static str, fn(&ByLength) -> Estimate, bool);

const FACETS: [Facet; 3] = [
    ("Success rate", |cell| cell.success, false),
    ("Solved at update", |cell| cell.solved_at, true),
    ("Sparsity error (1e-16 stands for 0)", |cell| cell.sparsity, true),
];

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let models = models(results);
    let limits = models.iter().find(|model| model.is_reference()).and_then(thresholds)?;
    let others: Vec<(&Model<'_>, Vec<ByLength>)> =
        models.iter().filter(|model| !model.is_reference()).map(|model| (model, by_length(model, &limits))).collect();
    if others.is_empty() {
        return None;
    }
    let caption =
        "Sequences of one to twenty digits: how many runs solve them, when, and how far their weights are from 0 or 1";
    let mut svg = Svg::new(caption, WIDTH);
    let slot = (WIDTH - LEFT - 12.0) / LENGTHS as f64;
    for (k, (title, value, logarithmic)) in FACETS.iter().enumerate() {
        let top = 30.0 + k as f64 * (PANEL + 38.0);
        let values = others.iter().flat_map(|(_, cells)| cells).flat_map(|cell| {
            let e = value(cell);
            [e.mean, e.lower, e.upper].into_iter().flatten()
        });
        let y = match logarithmic {
            true => Axis::logarithmic(values, top + PANEL, top),
            false => Axis::linear(0.0, 1.0, top + PANEL, top),
        };
        svg.bold(LEFT, top - 10.0, title);
        for (tick, text) in y.ticks() {
            svg.stroke(&format!("M{LEFT} {:.1}H{}", y.at(tick), WIDTH - 12.0), "#dddddd", 1.0);
            svg.text(LEFT - 6.0, y.at(tick) + 4.0, Anchor::End, &text);
        }
        let wide = 0.7 * slot / others.len() as f64;
        for (place, (model, cells)) in others.iter().enumerate() {
            let x = |length: usize| LEFT + slot * (length as f64 + 0.15) + (place as f64 + 0.5) * wide;
            let points: Vec<(f64, f64)> = cells
                .iter()
                .enumerate()
                .filter_map(|(length, cell)| Some((x(length), y.at(value(cell).mean?))))
                .collect();
            svg.polyline(&points, colour(model.index), 0.8);
            for (length, cell) in cells.iter().enumerate() {
                let e = value(cell);
                let Some(mean) = e.mean else { continue };
                if let (Some(lower), Some(upper)) = (e.lower, e.upper) {
                    let d = format!("M{:.1} {:.1}V{:.1}", x(length), y.at(lower), y.at(upper));
                    svg.stroke(&d, colour(model.index), 1.2);
                }
                let hint = format!("{}, length {}: {mean:.4} (n = {})", model.label, length + 1, cell.n);
                svg.mark(model.index, x(length), y.at(mean), &hint);
            }
        }
        svg.stroke(&format!("M{LEFT} {top}v{PANEL}H{}", WIDTH - 12.0), "#333333", 1.0);
    }
    let floor = 30.0 + 3.0 * PANEL + 76.0;
    for length in 0..LENGTHS {
        svg.text(LEFT + slot * (length as f64 + 0.5), floor + 17.0, Anchor::Middle, &(length + 1).to_string());
    }
    svg.text(0.5 * (LEFT + WIDTH), floor + 35.0, Anchor::Middle, "Digits in a sequence");
    let names: Vec<(usize, &str)> = others.iter().map(|(model, _)| (model.index, model.label)).collect();
    let end = svg.legend(&names, LEFT, floor + 60.0);
    Some(Figure {
        suffix: "-lengths".into(),
        caption: caption.into(),
        svg: svg.finish(end + 12.0),
        data: data(&others),
    })
}

fn data(others: &[(&Model<'_>, Vec<ByLength>)]) -> Vec<Vec<String>> {
    let kinds = ["success", "solved_at", "sparsity_error"];
    let columns = kinds.iter().flat_map(|kind| ["mean", "lower", "upper"].map(|part| format!("{kind}_{part}")));
    let mut data = vec![["model", "length", "n", "solved"].map(String::from).into_iter().chain(columns).collect()];
    for (model, cells) in others {
        for (length, cell) in cells.iter().enumerate() {
            let estimates = [cell.success, cell.solved_at, cell.sparsity];
            let numbers = estimates.into_iter().flat_map(|e| [e.mean, e.lower, e.upper]).map(number);
            let head = record(&[&model.label, &(length + 1), &cell.n, &cell.solved]);
            data.push(head.into_iter().chain(numbers).collect());
        }
    }
    data
}

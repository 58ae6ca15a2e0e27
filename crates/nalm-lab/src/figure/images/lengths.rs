//! The sequential task: success, solved-at and sparsity error over the length of the sequence.

use crate::figure::slots::{LEFT, Slots, WIDTH};
use crate::figure::svg::{Anchor, Svg, colour};
use crate::figure::{Figure, columns, estimates, record};
use crate::stats::Estimate;
use crate::summary::Results;
use crate::summary::histories::{Model, models};
use crate::summary::sequences::{ByLength, by_length, thresholds};
use nalm_vision::sequential::LENGTHS;

/// The titles of the panels, and whether their axes are logarithmic.
const FACETS: [(&str, bool); 3] =
    [("Success rate", false), ("Solved at update", true), ("Sparsity error (1e-16 stands for 0)", true)];

fn facets(cell: &ByLength) -> [Estimate; 3] {
    [cell.success, cell.solved_at, cell.sparsity]
}

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let models = models(results, 0);
    let limits = models.iter().find(|model| model.is_reference()).and_then(thresholds)?;
    let others: Vec<(&Model<'_>, Vec<ByLength>)> =
        models.iter().filter(|model| !model.is_reference()).map(|model| (model, by_length(model, &limits))).collect();
    if others.is_empty() {
        return None;
    }
    let caption =
        "Sequences of one to twenty digits: how many runs solve them, when, and how far their weights are from 0 or 1";
    let svg = Svg::new(caption, WIDTH);
    let mut slots = Slots { svg, count: LENGTHS, marks: others.len(), margin: 0.15, high: 160.0, gap: 38.0 };
    for (k, (title, logarithmic)) in FACETS.into_iter().enumerate() {
        let all = others.iter().flat_map(|(_, cells)| cells);
        let y = slots.axis(k, logarithmic, all.map(|cell| facets(cell)[k]));
        slots.head(title, 10.0, &y);
        for (place, (model, cells)) in others.iter().enumerate() {
            let means = cells.iter().enumerate().filter_map(|(length, cell)| Some((length, facets(cell)[k].mean?)));
            let line: Vec<_> = means.clone().map(|(length, mean)| (slots.x(length, place), y.at(mean))).collect();
            slots.svg.polyline(&line, colour(model.index), 0.8);
            for (length, mean) in means {
                let cell = &cells[length];
                let hint = format!("{}, length {}: {mean:.4} (n = {})", model.label, length + 1, cell.n);
                slots.estimate(model.index, slots.x(length, place), &y, facets(cell)[k], 1.2, &hint);
            }
        }
        slots.edges(&y);
    }
    let lengths: Vec<String> = (1..=LENGTHS).map(|length| length.to_string()).collect();
    let floor = slots.labels(FACETS.len(), &lengths, 0.0);
    slots.svg.text(460.0, floor + 35.0, Anchor::Middle, "Digits in a sequence");
    let head = record(&[&"model", &"length", &"n", &"solved"]);
    let mut data = vec![columns(head, ["success", "solved_at", "sparsity_error"])];
    for (model, cells) in &others {
        let row = |(k, c): (usize, &ByLength)| estimates(record(&[&model.label, &(k + 1), &c.n, &c.solved]), facets(c));
        data.extend(cells.iter().enumerate().map(row));
    }
    let names: Vec<_> = others.iter().map(|(model, _)| (model.index, model.label.as_str())).collect();
    let end = slots.svg.legend(&names, (LEFT, floor + 60.0));
    Some(Figure::new("-lengths", slots.svg, end + 12.0, data))
}

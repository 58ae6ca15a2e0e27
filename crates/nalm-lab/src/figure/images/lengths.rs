//! The sequential task: success, solved-at and sparsity error over the length of the sequence.

use crate::figure::facets::ZERO;
use crate::figure::slots::{LEFT, Slots};
use crate::figure::svg::Paper;
use crate::figure::{Figure, columns, estimates, record, style};
use crate::stats::Estimate;
use crate::summary::Results;
use crate::summary::histories::{Model, models};
use crate::summary::sequences::{ByLength, by_length, thresholds};
use nalm_vision::sequential::LENGTHS;
use std::collections::BTreeSet;

/// The titles of the panels, and whether their axes are logarithmic.
const FACETS: [(&str, bool); 3] =
    [("Success rate", false), ("Solved at update", true), ("Sparsity error (0 at the lower edge)", true)];

fn facets(cell: &ByLength) -> [Estimate; 3] {
    [cell.success, cell.solved_at, cell.sparsity]
}

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let models = models(results, 0);
    let limits = thresholds(models.iter().find(|model| model.is_reference())?);
    let mut others: Vec<(&Model<'_>, Vec<ByLength>)> =
        models.iter().filter(|model| !model.is_reference()).map(|model| (model, by_length(model, &limits))).collect();
    others.retain(|(_, cells)| cells.iter().any(|cell| cell.n > 0));
    if others.is_empty() {
        return None;
    }
    let counts: BTreeSet<usize> = others.iter().flat_map(|(_, cells)| cells).map(|cell| cell.n).collect();
    let counts = counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
    let caption = format!(
        "Sequences of one to twenty digits: how many runs solve them, when, and how far their weights are from 0 or 1 (n = {counts})"
    );
    let labels = (1..=LENGTHS).map(|length| [length.to_string(), String::new()]).collect();
    let mut slots = Slots::new(paper, &caption, labels, others.len(), 0.15);
    let styles = style::of(&results.experiment.models);
    for line in slots.lines() {
        slots.begin(&line);
        for (k, (title, logarithmic)) in FACETS.into_iter().enumerate() {
            let all = || others.iter().flat_map(|(_, cells)| cells).map(|cell| facets(cell)[k]);
            // A panel without numbers says nothing, and neither does one of zeros.
            if all().all(|e| e.mean.is_none_or(|mean| logarithmic && mean <= ZERO)) {
                continue;
            }
            let y = slots.axis(logarithmic, all());
            slots.head(title, &y);
            for (place, (model, cells)) in others.iter().enumerate() {
                let style = styles[model.index];
                let means = line.clone().filter_map(|length| Some((length, facets(cells.get(length)?)[k].mean?)));
                let path: Vec<_> = means.clone().map(|(length, mean)| (slots.x(length, place), y.at(mean))).collect();
                slots.svg.polyline(&path, &style.colour(), 0.8);
                for (length, mean) in means {
                    let cell = &cells[length];
                    let hint = format!("{}, length {}: {mean:.4} (n = {})", model.label, length + 1, cell.n);
                    slots.estimate(style, slots.x(length, place), &y, facets(cell)[k], 1.2, &hint);
                }
            }
            slots.end(&y);
        }
        slots.labels("Digits in a sequence");
    }
    let head = record(&[&"model", &"length", &"n", &"solved"]);
    let mut data = vec![columns(head, ["success", "solved_at", "sparsity_error"])];
    for (model, cells) in &others {
        let row = |(k, c): (usize, &ByLength)| estimates(record(&[&model.label, &(k + 1), &c.n, &c.solved]), facets(c));
        data.extend(cells.iter().enumerate().map(row));
    }
    let names: Vec<_> = others.iter().map(|(model, _)| (styles[model.index], model.label.as_str())).collect();
    let end = slots.svg.legend_of_lines(&names, (LEFT - 30.0, slots.below()));
    let solved = || others.iter().flat_map(|(_, cells)| cells).filter_map(|cell| cell.sparsity.mean);
    let end = match solved().next().is_some() && solved().all(|mean| mean <= ZERO) {
        true => slots.svg.paragraph((LEFT - 30.0, end + 22.0), "Every sparsity error is 0.") - 16.0,
        false => end,
    };
    Some(Figure::new("-lengths", slots.svg, end + 12.0, data))
}

//! Accuracy by digit, and what was taken for what, on one fold.

use super::scale;
use crate::figure::grid::Grid;
use crate::figure::slots::{LEFT, Slots, bar};
use crate::figure::style::{self, Style};
use crate::figure::svg::{Anchor, Axis, Paper, Svg, mix};
use crate::figure::{Figure, record};
use crate::summary::Results;
use crate::summary::histories::{Model, is_strict, models};
use nalm_vision::score::Confusion;

/// The fold whose classes were published.
const FOLD: u64 = 2;
const CELL: f64 = 32.0;

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Vec<Figure> {
    let models = models(results, 0);
    // The published figures cut fractions off for isolated digits, and round for colours.
    let truncated = is_strict(results);
    let read = models.iter().filter_map(|model| {
        let (_, rows) = model.products().into_iter().find(|(seed, _)| *seed == FOLD)?;
        Some((model, rows.last()?.confusion.as_ref()?))
    });
    let found: Vec<Found<'_>> = read.collect();
    if found.is_empty() {
        return Vec::new();
    }
    let styles = style::of(&results.experiment.models);
    vec![bars(paper, truncated, &found, &styles), matrices(paper, truncated, &found)]
}

/// A model, and what it took for what.
type Found<'a> = (&'a Model<'a>, &'a Confusion);

/// What the runs of the fold are.
fn about(found: &[Found<'_>]) -> String {
    let own = found.iter().map(|(model, _)| {
        let rows = model.rows.iter().copied().filter(|row| row.spec.seed() == FOLD).collect();
        Model::new(model.label.clone(), model.place, model.index, rows)
    });
    scale(&own.collect::<Vec<_>>())
}

fn bars(paper: Paper, truncated: bool, found: &[Found<'_>], styles: &[Style]) -> Figure {
    let caption = format!("Test digits of fold {FOLD} that are read right; {}", about(found));
    let labels = (0..10).map(|digit| [digit.to_string(), String::new()]).collect();
    let mut slots = Slots::new(paper, &caption, labels, found.len(), 0.07);
    slots.high = 150.0;
    // Cutting off takes 2.9999 for a 2, so the rounded ones stand below.
    let panels: &[(&str, bool, f64)] = match truncated {
        true => &[
            ("Fractions cut off, as published", true, 0.0),
            ("The last twentieth of it", true, 0.95),
            ("Rounded", false, 0.0),
        ],
        false => &[("Rounded", false, 0.0), ("The last twentieth of it", false, 0.95)],
    };
    // A panel without a bar says nothing.
    let shown = |&&(_, cut, low): &&(&str, bool, f64)| {
        found.iter().any(|(_, confusion)| (0..10).any(|digit| confusion.share(cut, digit) > low))
    };
    for line in slots.lines() {
        slots.begin(&line);
        for &(title, cut, low) in panels.iter().filter(shown) {
            let (bottom, top) = slots.ends();
            let (y, wide) = (Axis::linear(low, 1.0, bottom, top), slots.wide());
            slots.head(title, &y);
            for digit in line.clone() {
                for (place, (model, confusion)) in found.iter().enumerate() {
                    let left = slots.x(digit, place) - 0.5 * wide;
                    let d = bar(left, 0.9 * wide, bottom, y.at(confusion.share(cut, digit)));
                    slots.svg.fill(&d, &styles[model.index].colour());
                }
            }
            slots.end(&y);
        }
        slots.labels("digit");
    }
    let mut data = vec![record(&[&"model", &"digit", &"fractions_cut_off", &"rounded"])];
    for (model, confusion) in found {
        for digit in 0..10 {
            let [cut, rounded] = [true, false].map(|truncated| confusion.share(truncated, digit));
            data.push(record(&[&model.label, &digit, &cut, &rounded]));
        }
    }
    let names: Vec<_> = found.iter().map(|(model, _)| (styles[model.index], model.label.as_str())).collect();
    let end = slots.svg.legend(&names, (LEFT, slots.below()));
    Figure::new("-classes", slots.svg, end + 12.0, data)
}

fn matrices(paper: Paper, truncated: bool, found: &[Found<'_>]) -> Figure {
    let how = if truncated { "fractions cut off" } else { "rounded" };
    let caption = format!(
        "What was taken for what in the test digits of fold {FOLD} ({how}): true digits down, read digits across; {}",
        about(found)
    );
    let side = 10.0 * CELL;
    let grid = Grid::new(paper, 2, 34.0, (side, side), 50.0);
    let grid = Grid { corner: (34.0, 44.0), step: (grid.step.0, side + 66.0), ..grid };
    let mut svg = Svg::new(&caption, grid.width);
    let mut data = vec![record(&[&"model", &"true", &"read", &"count"])];
    for (k, (model, confusion)) in found.iter().enumerate() {
        let (left, top) = grid.place(k);
        svg.bold(left, top - 24.0, &model.label);
        for (truth, row) in confusion.counts(truncated).iter().enumerate() {
            let y = top + truth as f64 * CELL;
            svg.text(left - 6.0, y + 20.0, Anchor::End, &truth.to_string());
            svg.text(left + (truth as f64 + 0.5) * CELL, top - 6.0, Anchor::Middle, &truth.to_string());
            for (read, &count) in row.iter().enumerate() {
                data.push(record(&[&model.label, &truth, &read, &count]));
                let share = f64::from(count) / confusion.seen(truth);
                let x = left + read as f64 * CELL;
                let fill = mix([255.0; 3], [0.0, 90.0, 160.0], share.sqrt());
                svg.fill(&format!("M{x:.1} {y:.1}h{CELL}v{CELL}h-{CELL}Z"), &fill);
                if count > 0 {
                    let ink = if share > 0.3 { "#ffffff" } else { "#222222" };
                    let style = format!(" fill=\"{ink}\"");
                    svg.styled_text(x + 0.5 * CELL, y + 20.0, Anchor::Middle, &style, &count.to_string());
                }
            }
        }
        svg.stroke(&format!("M{left:.1} {top:.1}h{side}v{side}h-{side}Z"), "#333333", 1.0);
    }
    Figure::new("-confusion", svg, grid.bottom(found.len()), data)
}

//! Accuracy by digit, and what was taken for what, on one fold.

use super::svg::{Anchor, Axis, Svg, colour};
use super::{Figure, record};
use crate::summary::Results;
use crate::summary::histories::models;
use nalm_vision::score::Confusion;

/// The fold whose classes were published.
const FOLD: u64 = 2;
const CELL: f64 = 25.0;

type Counts = [[u32; 10]; 10];

pub(super) fn draw(results: &Results<'_>) -> Vec<Figure> {
    let models = models(results);
    // The published figures cut fractions off for isolated digits, and round for colours.
    let truncated = results.experiment.sections[0].task == "mnist-isolated";
    let mut found: Vec<Found<'_>> = Vec::new();
    for model in &models {
        let runs = model.products();
        let of = runs.iter().find(|(seed, _)| *seed == FOLD);
        if let Some(confusion) = of.and_then(|(_, rows)| rows.last()?.confusion.as_ref()) {
            found.push(Found { index: model.index, label: model.label, confusion });
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    vec![bars(truncated, &found), matrices(truncated, &found)]
}

/// What one model took for what.
struct Found<'a> {
    index: usize,
    label: &'a str,
    confusion: &'a Confusion,
}

impl Found<'_> {
    fn counts(&self, truncated: bool) -> &Counts {
        if truncated { &self.confusion.truncated } else { &self.confusion.rounded }
    }

    /// How often a digit was there, what was not read as a number included.
    fn all(&self, digit: usize) -> f64 {
        f64::from((self.confusion.rounded[digit].iter().sum::<u32>() + self.confusion.unread[digit]).max(1))
    }

    fn share(&self, truncated: bool, digit: usize) -> f64 {
        f64::from(self.counts(truncated)[digit][digit]) / self.all(digit)
    }
}

fn bars(truncated: bool, found: &[Found<'_>]) -> Figure {
    let (width, left, panel) = (860.0, 60.0, 150.0);
    let caption = format!("Test digits of fold {FOLD} that are read right");
    let mut svg = Svg::new(&caption, width);
    let mut data = vec![record(&[&"model", &"digit", &"fractions_cut_off", &"rounded"])];
    let slot = (width - left - 12.0) / 10.0;
    // Cutting off takes 2.9999 for a 2, so the rounded ones stand below.
    let panels: &[(&str, bool, f64)] = match truncated {
        true => &[
            ("Fractions cut off, as published", true, 0.0),
            ("The last twentieth of it", true, 0.95),
            ("Rounded", false, 0.0),
        ],
        false => &[("Rounded", false, 0.0), ("The last twentieth of it", false, 0.95)],
    };
    for (k, &(title, cut, low)) in panels.iter().enumerate() {
        let top = 30.0 + k as f64 * (panel + 36.0);
        let y = Axis::linear(low, 1.0, top + panel, top);
        svg.bold(left, top - 9.0, title);
        for (tick, text) in y.ticks() {
            svg.stroke(&format!("M{left} {:.1}H{}", y.at(tick), width - 12.0), "#dddddd", 1.0);
            svg.text(left - 6.0, y.at(tick) + 4.0, Anchor::End, &text);
        }
        let wide = 0.86 * slot / found.len() as f64;
        for digit in 0..10 {
            for (place, of) in found.iter().enumerate() {
                let x = left + slot * (digit as f64 + 0.07) + place as f64 * wide;
                let (floor, high) = (y.at(low), y.at(of.share(cut, digit)));
                let d = format!("M{x:.1} {floor:.1}V{high:.1}h{:.1}V{floor:.1}Z", 0.9 * wide);
                svg.fill(&d, colour(of.index));
            }
        }
        svg.stroke(&format!("M{left} {top}v{panel}H{}", width - 12.0), "#333333", 1.0);
    }
    for (of, digit) in found.iter().flat_map(|of| (0..10).map(move |digit| (of, digit))) {
        data.push(record(&[&of.label, &digit, &of.share(true, digit), &of.share(false, digit)]));
    }
    let floor = 30.0 + panels.len() as f64 * (panel + 36.0) - 36.0;
    for digit in 0..10 {
        svg.text(left + slot * (digit as f64 + 0.5), floor + 17.0, Anchor::Middle, &digit.to_string());
    }
    let names: Vec<(usize, &str)> = found.iter().map(|of| (of.index, of.label)).collect();
    let end = svg.legend(&names, left, floor + 44.0);
    Figure { suffix: "-classes".into(), caption, svg: svg.finish(end + 12.0), data }
}

fn matrices(truncated: bool, found: &[Found<'_>]) -> Figure {
    let how = if truncated { "fractions cut off" } else { "rounded" };
    let caption = format!(
        "What was taken for what in the test digits of fold {FOLD} ({how}): true digits down, read digits across"
    );
    let side = 10.0 * CELL;
    let mut svg = Svg::new(&caption, 24.0 + 3.0 * (side + 34.0));
    let mut data = vec![record(&[&"model", &"true", &"read", &"count"])];
    for (k, of) in found.iter().enumerate() {
        let (label, counts) = (&of.label, of.counts(truncated));
        let (left, top) = (34.0 + (k % 3) as f64 * (side + 34.0), 44.0 + (k / 3) as f64 * (side + 66.0));
        svg.bold(left, top - 24.0, label);
        for (truth, row) in counts.iter().enumerate() {
            let all = of.all(truth);
            let y = top + truth as f64 * CELL;
            svg.text(left - 6.0, y + 17.0, Anchor::End, &truth.to_string());
            svg.text(left + (truth as f64 + 0.5) * CELL, top - 6.0, Anchor::Middle, &truth.to_string());
            for (read, &count) in row.iter().enumerate() {
                data.push(record(&[label, &truth, &read, &count]));
                let share = f64::from(count) / all;
                let mix = |to: f64| (255.0 + (to - 255.0) * share.sqrt()).round() as u8;
                let fill = format!("#{:02x}{:02x}{:02x}", mix(0.0), mix(90.0), mix(160.0));
                let x = left + read as f64 * CELL;
                svg.fill(&format!("M{x:.1} {y:.1}h{CELL}v{CELL}h-{CELL}Z"), &fill);
                if count > 0 {
                    let ink = if share > 0.3 { "#ffffff" } else { "#333333" };
                    let style = format!(" font-size=\"9\" fill=\"{ink}\"");
                    svg.styled_text(x + 0.5 * CELL, y + 16.0, Anchor::Middle, &style, &count.to_string());
                }
            }
        }
        svg.stroke(&format!("M{left:.1} {top:.1}h{side}v{side}h-{side}Z"), "#333333", 1.0);
    }
    let height = 30.0 + found.len().div_ceil(3) as f64 * (side + 66.0);
    Figure { suffix: "-confusion".into(), caption, svg: svg.finish(height), data }
}

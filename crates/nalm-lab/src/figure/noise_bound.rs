//! Batch noise is U[1, 1 + 1/s], s the standard deviation of the unit's input: its upper end over s, each range marked.

use super::style::Style;
use super::svg::{Anchor, Axis, Paper, Svg};
use super::{Figure, record};
use crate::summary::noise_bound::deviation;
use nalm::task::PAPER_RANGES;

pub(super) fn draw(paper: Paper) -> Figure {
    let caption = "The upper end of the batch noise, 1 + 1/s, over the standard deviation s of the input";
    let x = Axis::logarithmic([0.011, 9.0].into_iter(), 70.0, paper.width() - 20.0);
    let y = Axis::logarithmic([1.0, 99.0].into_iter(), 330.0, 30.0);
    let mut svg = Svg::new(caption, paper.width());
    let at = |s: f64| (x.at(s), y.at(1.0 + 1.0 / s));
    let line: Vec<(f64, f64)> = (0..=120).map(|k| at(0.01 * libm::pow(10.0, f64::from(k) / 40.0))).collect();
    svg.polyline(&line, "#333333", 1.5);
    let mut data = vec![record(&[&"range", &"standard_deviation", &"upper_end"])];
    // Ranges of equal width share a point, and so a label.
    let mut marks: Vec<(f64, Vec<&str>)> = Vec::new();
    for (range, _) in PAPER_RANGES {
        let Some(s) = deviation(range) else { continue };
        data.push(record(&[&range, &s, &(1.0 + 1.0 / s)]));
        match marks.iter_mut().find(|(known, _)| (known / s - 1.0).abs() < 1e-9) {
            Some((_, ranges)) => ranges.push(range),
            None => marks.push((s, vec![range])),
        }
    }
    let label = |(s, ranges): &(f64, Vec<&str>)| format!("{:.3}: {}", 1.0 + 1.0 / s, ranges.join("  "));
    let labels: Vec<String> = marks.iter().map(label).collect();
    for (k, (s, ranges)) in marks.iter().enumerate() {
        let (px, py) = at(*s);
        svg.mark(Style::series(k), px, py, &ranges.join(" "));
        // The last ones would leave the frame on the right; where there is little room, all stand below.
        match paper {
            Paper::Page if px < 500.0 => svg.text(px + 10.0, py - 8.0, Anchor::Start, &labels[k]),
            Paper::Page => svg.text(px - 6.0, py + 15.0, Anchor::End, &labels[k]),
            Paper::Phone => {}
        }
    }
    svg.frame(&x, &y, "standard deviation of the input", "upper end of the noise");
    let names: Vec<_> = labels.iter().enumerate().map(|(k, label)| (Style::series(k), label.as_str())).collect();
    let end = match paper {
        Paper::Page => 364.0,
        Paper::Phone => svg.legend(&names, (40.0, 390.0)),
    };
    Figure::new("-noise-bound", svg, end + 12.0, data)
}

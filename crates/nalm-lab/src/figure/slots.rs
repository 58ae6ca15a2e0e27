//! Panels one below the other over the same slots, each with room for several marks. Slots that do not fit beside each other go on in
//! further lines of panels.

use super::facets::ZERO;
use super::parts;
use super::style::Style;
use super::svg::{Anchor, Axis, Paper, Svg, text_width, wrapped};
use crate::stats::Estimate;
use std::ops::Range;

/// Where slots begin.
pub(super) const LEFT: f64 = 60.0;
/// What stays free behind them.
const BEHIND: f64 = 12.0;
/// The least room for a mark.
const MARK: f64 = 6.0;

/// A drawing of such panels, and its measures.
pub(super) struct Slots {
    /// The drawing.
    pub(super) svg: Svg,
    /// The height of a panel.
    pub(super) high: f64,
    /// What stands below each slot, in one line or two.
    labels: Vec<[String; 2]>,
    right: f64,
    marks: usize,
    /// The part of a slot that stays free on either side.
    margin: f64,
    /// Slots of the present line of panels.
    line: Range<usize>,
    /// Where the present panel begins.
    top: f64,
}

/// The room between panels.
const GAP: f64 = 38.0;

impl Slots {
    /// Slots with so many marks and these labels.
    pub(super) fn new(paper: Paper, title: &str, labels: Vec<[String; 2]>, marks: usize, margin: f64) -> Self {
        let (svg, right) = (Svg::new(title, paper.width()), paper.width() - BEHIND);
        Self { svg, high: 160.0, line: 0..labels.len(), labels, right, marks, margin, top: 30.0 }
    }

    /// The slots of each line of panels: as few lines as marks and labels allow.
    pub(super) fn lines(&self) -> Vec<Range<usize>> {
        let count = self.labels.len().max(1);
        let widest = self.labels.iter().flatten().map(|label| text_width(label)).fold(0.0, f64::max);
        // Neighbours take turns on two lines if they must; the last one must not leave the paper.
        let labels = (0.5 * widest + 4.0).max(1.1 * widest - 1.6 * BEHIND);
        let needed = (MARK * self.marks as f64 / (1.0 - 2.0 * self.margin)).max(labels);
        let most = (((self.right - LEFT) / needed) as usize).max(1);
        let each = count.div_ceil(count.div_ceil(most));
        (0..count).step_by(each).map(|first| first..(first + each).min(count)).collect()
    }

    /// Goes to a line of panels.
    pub(super) fn begin(&mut self, line: &Range<usize>) {
        self.line = line.clone();
    }

    /// Whether a slot is in the present line.
    pub(super) fn has(&self, slot: usize) -> bool {
        self.line.contains(&slot)
    }

    /// The width of a slot.
    pub(super) fn slot(&self) -> f64 {
        (self.right - LEFT) / self.line.len().max(1) as f64
    }

    /// The width of a mark's share of a slot.
    pub(super) fn wide(&self) -> f64 {
        (1.0 - 2.0 * self.margin) * self.slot() / self.marks.max(1) as f64
    }

    /// The middle of a mark.
    pub(super) fn x(&self, slot: usize, mark: usize) -> f64 {
        LEFT + self.slot() * ((slot - self.line.start) as f64 + self.margin) + (mark as f64 + 0.5) * self.wide()
    }

    /// The middle of a slot.
    pub(super) fn middle(&self, slot: usize) -> f64 {
        LEFT + self.slot() * ((slot - self.line.start) as f64 + 0.5)
    }

    /// The lower and the upper end of the present panel.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.top + self.high, self.top)
    }

    /// The axis of a panel of rates, or of what needs powers of ten.
    pub(super) fn axis(&self, logarithmic: bool, estimates: impl Iterator<Item = Estimate>) -> Axis {
        let (bottom, top) = self.ends();
        match logarithmic {
            true => {
                // What is 0, or an interval that almost reaches it, is on the edge: the others need the room.
                let all: Vec<[Option<f64>; 3]> = estimates.map(parts).collect();
                let means = all.iter().filter_map(|[mean, ..]| *mean).filter(|mean| *mean > ZERO);
                let least = 0.01 * means.fold(f64::INFINITY, f64::min);
                let shown = |v: &f64| !least.is_finite() || *v >= least;
                Axis::logarithmic(all.into_iter().flatten().flatten().filter(shown), bottom, top)
            }
            false => Axis::linear(0.0, 1.0, bottom, top),
        }
    }

    /// The title above a panel, the lines behind it with their numbers, and the borders between slots.
    pub(super) fn head(&mut self, title: &str, y: &Axis) {
        let right = self.right;
        self.svg.bold(LEFT, y.end - 10.0, title);
        for (tick, text) in y.ticks() {
            self.svg.stroke(&format!("M{LEFT} {:.1}H{right}", y.at(tick)), "#dddddd", 1.0);
            self.svg.text(LEFT - 6.0, y.at(tick) + 4.0, Anchor::End, &text);
        }
        for k in 1..self.line.len() {
            let x = LEFT + k as f64 * self.slot();
            self.svg.stroke(&format!("M{x:.1} {:.1}v{:.1}", y.end, self.high), "#eeeeee", 1.0);
        }
    }

    /// The mark of a style, with its interval.
    pub(super) fn estimate(&mut self, style: Style, x: f64, y: &Axis, e: Estimate, line: f64, hint: &str) {
        if let (Some(lower), Some(upper)) = (e.lower, e.upper) {
            self.svg.stroke(&format!("M{x:.1} {:.1}V{:.1}", y.at(lower), y.at(upper)), &style.colour(), line);
        }
        if let Some(mean) = e.mean {
            self.svg.mark(style, x, y.at(mean), hint);
        }
    }

    /// The two edges of a panel, which ends here.
    pub(super) fn end(&mut self, y: &Axis) {
        self.svg.stroke(&format!("M{LEFT} {:.1}v{:.1}H{}", y.end, self.high, self.right), "#333333", 1.0);
        self.top += self.high + GAP;
    }

    /// What stands below a line of panels: the labels of its slots, long ones by turns on two lines, and what they are.
    pub(super) fn labels(&mut self, what: &str) {
        let floor = self.top - GAP;
        let own: Vec<[String; 2]> = self.labels[self.line.clone()].to_vec();
        let lines = if own.iter().any(|[_, second]| !second.is_empty()) { 2.0 } else { 1.0 };
        let crowded = own.iter().flatten().any(|label| text_width(label) + 6.0 > self.slot());
        let down = if crowded { 15.0 * lines } else { 0.0 };
        for (slot, label) in self.line.clone().zip(&own) {
            let y = floor + 17.0 + down * ((slot - self.line.start) % 2) as f64;
            for (k, text) in label.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
                self.svg.text(self.middle(slot), y + 15.0 * k as f64, Anchor::Middle, text);
            }
        }
        let below = floor + 17.0 + 15.0 * (lines - 1.0) + down + 19.0;
        let what = wrapped(what, 0.9 * (self.right - LEFT));
        for (k, line) in what.iter().enumerate() {
            self.svg.text(0.5 * (LEFT + self.right), below + 15.0 * k as f64, Anchor::Middle, line);
        }
        self.top = below + 15.0 * (what.len() - 1) as f64 + 34.0;
    }

    /// Where a legend below everything begins.
    pub(super) fn below(&self) -> f64 {
        self.top - 8.0
    }
}

/// The path of a bar.
pub(super) fn bar(left: f64, wide: f64, low: f64, high: f64) -> String {
    format!("M{left:.1} {low:.1}V{high:.1}h{wide:.1}V{low:.1}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is 0 lies on the edge, and leaves the room to the others.
    #[test]
    fn a_zero_does_not_stretch_an_axis() {
        let slots = Slots::new(Paper::Page, "title", vec![[String::new(), String::new()]], 1, 0.1);
        let estimate = |mean, lower, upper| Estimate { mean: Some(mean), lower: Some(lower), upper: Some(upper) };
        let zero = estimate(ZERO, ZERO, ZERO);
        let some = [estimate(2e-6, 1e-6, 4e-6), estimate(5e-6, 1e-13, 8e-6)];
        let alone = slots.axis(true, some.into_iter());
        let axis = slots.axis(true, some.into_iter().chain([zero]));
        assert_eq!(axis.ticks(), alone.ticks());
        assert!(axis.ticks().iter().all(|(tick, _)| *tick >= 1e-8), "{:?}", axis.ticks());
        assert_eq!(axis.at(ZERO), axis.start);
        // Of zeros alone, there is an axis, too.
        assert!(slots.axis(true, [zero].into_iter()).ticks().len() > 1);
    }
}

//! Panels one below the other over the same slots, each with room for several marks.

use super::parts;
use super::svg::{Anchor, Axis, Svg, colour};
use crate::stats::Estimate;

/// Where slots begin.
pub(super) const LEFT: f64 = 60.0;
/// Where they end.
const RIGHT: f64 = 848.0;
/// The width of the drawing.
pub(super) const WIDTH: f64 = 860.0;

/// A drawing of such panels, and its measures.
pub(super) struct Slots {
    /// The drawing.
    pub(super) svg: Svg,
    /// Slots in a panel.
    pub(super) count: usize,
    /// Marks in a slot.
    pub(super) marks: usize,
    /// The part of a slot that stays free on either side.
    pub(super) margin: f64,
    /// The height of a panel.
    pub(super) high: f64,
    /// The room between panels.
    pub(super) gap: f64,
}

impl Slots {
    /// The width of a slot.
    pub(super) fn slot(&self) -> f64 {
        (RIGHT - LEFT) / self.count as f64
    }

    /// The width of a mark's share of a slot.
    pub(super) fn wide(&self) -> f64 {
        (1.0 - 2.0 * self.margin) * self.slot() / self.marks as f64
    }

    /// The middle of a mark.
    pub(super) fn x(&self, slot: usize, mark: usize) -> f64 {
        LEFT + self.slot() * (slot as f64 + self.margin) + (mark as f64 + 0.5) * self.wide()
    }

    /// The lower and the upper end of a panel.
    pub(super) fn ends(&self, k: usize) -> (f64, f64) {
        let top = 30.0 + k as f64 * (self.high + self.gap);
        (top + self.high, top)
    }

    /// The axis of a panel of rates, or of what needs powers of ten.
    pub(super) fn axis(&self, k: usize, logarithmic: bool, estimates: impl Iterator<Item = Estimate>) -> Axis {
        let (bottom, top) = self.ends(k);
        match logarithmic {
            true => Axis::logarithmic(estimates.flat_map(parts).flatten(), bottom, top),
            false => Axis::linear(0.0, 1.0, bottom, top),
        }
    }

    /// The title so far above a panel, and the lines behind it with their numbers.
    pub(super) fn head(&mut self, title: &str, above: f64, y: &Axis) {
        self.svg.bold(LEFT, y.end - above, title);
        for (tick, text) in y.ticks() {
            self.svg.stroke(&format!("M{LEFT} {:.1}H{RIGHT}", y.at(tick)), "#dddddd", 1.0);
            self.svg.text(LEFT - 6.0, y.at(tick) + 4.0, Anchor::End, &text);
        }
    }

    /// The mark of a group, with its interval.
    pub(super) fn estimate(&mut self, group: usize, x: f64, y: &Axis, e: Estimate, line: f64, hint: &str) {
        if let (Some(lower), Some(upper)) = (e.lower, e.upper) {
            self.svg.stroke(&format!("M{x:.1} {:.1}V{:.1}", y.at(lower), y.at(upper)), colour(group), line);
        }
        if let Some(mean) = e.mean {
            self.svg.mark(group, x, y.at(mean), hint);
        }
    }

    /// The two edges of a panel.
    pub(super) fn edges(&mut self, y: &Axis) {
        self.svg.stroke(&format!("M{LEFT} {}v{}H{RIGHT}", y.end, self.high), "#333333", 1.0);
    }

    /// What stands below the slots of so many panels, every second one further down; returns where the panels end.
    pub(super) fn labels<T: AsRef<str>>(&mut self, panels: usize, labels: &[T], down: f64) -> f64 {
        let floor = self.ends(panels).1 - self.gap;
        for (k, label) in labels.iter().enumerate() {
            let (x, y) = (LEFT + self.slot() * (k as f64 + 0.5), floor + 17.0 + down * (k % 2) as f64);
            self.svg.text(x, y, Anchor::Middle, label.as_ref());
        }
        floor
    }
}

/// The path of a bar.
pub(super) fn bar(left: f64, wide: f64, low: f64, high: f64) -> String {
    format!("M{left:.1} {low:.1}V{high:.1}h{wide:.1}V{low:.1}Z")
}

//! Panels of equal size, line by line.

use super::svg::{Axis, Paper};

/// What stays free behind the last panel: half a label.
const RIGHT: f64 = 24.0;

/// Where panels are.
pub(super) struct Grid {
    /// The width of the drawing.
    pub(super) width: f64,
    /// Panels in a line.
    pub(super) columns: usize,
    /// The upper left corner of the first panel.
    pub(super) corner: (f64, f64),
    /// Width and height of a panel.
    pub(super) size: (f64, f64),
    /// From a panel to the next one, across and down.
    pub(super) step: (f64, f64),
}

impl Grid {
    /// Panels with room for a title above and for labels below: as many in a line as the paper has room for, and no more than wanted.
    pub(super) fn new(paper: Paper, most: usize, left: f64, size: (f64, f64), gap: f64) -> Self {
        let step = (size.0 + gap, size.1 + 78.0);
        let columns = (((paper.width() - RIGHT - left + gap) / step.0) as usize).clamp(1, most.max(1));
        let width = paper.choose(left + columns as f64 * step.0 - gap + RIGHT, paper.width());
        Self { width, columns, corner: (left, 34.0), size, step }
    }

    /// The upper left corner of a panel.
    pub(super) fn place(&self, k: usize) -> (f64, f64) {
        let (column, row) = ((k % self.columns) as f64, (k / self.columns) as f64);
        (self.corner.0 + column * self.step.0, self.corner.1 + row * self.step.1)
    }

    /// Linear axes of a panel, each from a number to another.
    pub(super) fn axes(&self, k: usize, x: (f64, f64), y: (f64, f64)) -> (Axis, Axis) {
        let (left, top) = self.place(k);
        (Axis::linear(x.0, x.1, left, left + self.size.0), Axis::linear(y.0, y.1, top + self.size.1, top))
    }

    /// Where so many panels end with their labels.
    pub(super) fn bottom(&self, panels: usize) -> f64 {
        self.height(panels) - 32.0
    }

    /// Where the panel after so many would begin.
    pub(super) fn height(&self, panels: usize) -> f64 {
        self.corner.1 + panels.div_ceil(self.columns) as f64 * self.step.1
    }
}

//! Where gradient is: behind max-pooling, ReLU and dropout, few positions of an image carry any.

use super::Geometry;
use crate::layer::pool::NONE;
use crate::vector::Scalar;

/// Positions of an output image that carry gradient, channel by channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live<R> {
    /// Offsets of the patches in the input image, and gradients.
    pub(super) entries: Vec<Vec<(u32, R)>>,
}

impl<R: Scalar> Live<R> {
    pub(crate) fn new(g: &Geometry) -> Self {
        Self { entries: vec![Vec::with_capacity(g.rows() * g.columns()); g.outputs] }
    }

    /// Collects the gradients of pooled cells, each at the position that won.
    pub(crate) fn of_pooled(&mut self, g: &Geometry, dy: &[R], which: &[u8], scale: R) {
        self.entries.iter_mut().for_each(Vec::clear);
        let columns = g.columns() / 2;
        for (cell, (dy, which)) in dy.chunks_exact(g.outputs).zip(which.chunks_exact(g.outputs)).enumerate() {
            let (row, column) = (2 * (cell / columns), 2 * (cell % columns));
            for (o, (&dy, &which)) in dy.iter().zip(which).enumerate() {
                if which < NONE && dy != R::ZERO {
                    let (row, column) = (row + usize::from(which / 2), column + usize::from(which % 2));
                    self.entries[o].push((((row * g.width + column) * g.inputs) as u32, dy * scale));
                }
            }
        }
    }

    /// Collects the gradients of positions that ReLU let through.
    pub(crate) fn of_relu(&mut self, g: &Geometry, dy: &[R], y: &[R]) {
        self.entries.iter_mut().for_each(Vec::clear);
        let columns = g.columns();
        for (cell, (dy, y)) in dy.chunks_exact(g.outputs).zip(y.chunks_exact(g.outputs)).enumerate() {
            let at = ((cell / columns * g.width + cell % columns) * g.inputs) as u32;
            for (o, (&dy, &y)) in dy.iter().zip(y).enumerate() {
                if y > R::ZERO && dy != R::ZERO {
                    self.entries[o].push((at, dy));
                }
            }
        }
    }
}

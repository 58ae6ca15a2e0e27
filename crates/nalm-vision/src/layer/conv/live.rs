//! Where gradient is: behind max-pooling, ReLU and dropout, few positions of an image carry any.

use super::Geometry;
use crate::layer::pool::NONE;
use crate::vector::{Kernel, Scalar, run};
use nalm::InstructionSet;

/// Positions of an output image that carry gradient, channel by channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live<R> {
    /// Offsets of the patches in the input image, and gradients: room for every position of a channel and one more.
    entries: Vec<(u32, R)>,
    /// How many of a channel's entries count.
    counts: Vec<u32>,
    room: usize,
}

impl<R: Scalar> Live<R> {
    pub(crate) fn new(g: &Geometry) -> Self {
        let room = g.rows() * g.columns() + 1;
        Self { entries: vec![(0, R::ZERO); room * g.outputs], counts: vec![0; g.outputs], room }
    }

    /// The entries of every channel.
    pub(super) fn channels(&self) -> impl Iterator<Item = &[(u32, R)]> {
        self.entries.chunks_exact(self.room).zip(&self.counts).map(|(entries, &count)| &entries[..count as usize])
    }

    /// Collects the gradients of pooled cells, each at the position that won.
    pub(crate) fn of_pooled(&mut self, g: &Geometry, set: InstructionSet, dy: &[R], which: &[u8], scale: R) {
        run(set, Pooled { live: self, g: *g, dy, which, scale });
    }

    /// Collects the gradients of positions that ReLU let through.
    pub(crate) fn of_relu(&mut self, g: &Geometry, set: InstructionSet, dy: &[R], y: &[R]) {
        run(set, Relu { live: self, g: *g, dy, y });
    }

    /// The entries of every channel, and how many count.
    #[inline(always)]
    fn slots(&mut self) -> impl Iterator<Item = (&mut [(u32, R)], &mut u32)> {
        self.entries.chunks_exact_mut(self.room).zip(&mut self.counts)
    }
}

/// Writes an entry always, and counts it only if it is live: whether it is cannot be predicted, and a wrong guess costs more than a write.
#[inline(always)]
fn put<R>((entries, count): (&mut [(u32, R)], &mut u32), offset: u32, value: R, live: bool) {
    entries[*count as usize] = (offset, value);
    *count += u32::from(live);
}

struct Pooled<'a, R> {
    live: &'a mut Live<R>,
    g: Geometry,
    dy: &'a [R],
    which: &'a [u8],
    scale: R,
}

impl<R: Scalar> Kernel for Pooled<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { live, g, dy, which, scale } = self;
        live.counts.fill(0);
        let columns = g.columns() / 2;
        let steps = [0, g.inputs, g.width * g.inputs, (g.width + 1) * g.inputs].map(|step| step as u32);
        for (cell, (dy, which)) in dy.chunks_exact(g.outputs).zip(which.chunks_exact(g.outputs)).enumerate() {
            let at = ((2 * (cell / columns) * g.width + 2 * (cell % columns)) * g.inputs) as u32;
            for (slot, (&dy, &which)) in live.slots().zip(dy.iter().zip(which)) {
                let offset = at + steps[usize::from(which & 3)];
                put(slot, offset, dy * scale, (which < NONE) & (dy != R::ZERO));
            }
        }
    }
}

struct Relu<'a, R> {
    live: &'a mut Live<R>,
    g: Geometry,
    dy: &'a [R],
    y: &'a [R],
}

impl<R: Scalar> Kernel for Relu<'_, R> {
    type Output = ();
    type Number = R;
    #[inline(always)]
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
        let Self { live, g, dy, y } = self;
        live.counts.fill(0);
        let columns = g.columns();
        for (cell, (dy, y)) in dy.chunks_exact(g.outputs).zip(y.chunks_exact(g.outputs)).enumerate() {
            let at = ((cell / columns * g.width + cell % columns) * g.inputs) as u32;
            for (slot, (&dy, &y)) in live.slots().zip(dy.iter().zip(y)) {
                put(slot, at, dy, (y > R::ZERO) & (dy != R::ZERO));
            }
        }
    }
}

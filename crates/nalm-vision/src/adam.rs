//! Adam over many parameters, in pieces that threads share out.

use crate::team;
use nalm::optim::Optimisation;
use nalm::{Error, Optimiser};

/// Parameters of a piece.
const PIECE: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Adam(Vec<Optimisation<f32>>);

impl Adam {
    /// PyTorch's settings at the learning rate of all three tasks, 1e-3.
    pub(crate) fn new(len: usize) -> Result<Self, Error> {
        let lens = (0..len).step_by(PIECE).map(|start| PIECE.min(len - start));
        let adam = |len| Optimisation::new(Optimiser::adam(1e-3), len);
        Ok(Self(lens.map(adam).collect::<Result<_, _>>()?))
    }

    pub(crate) fn step(&mut self, p: &mut [f32], gradient: &[f32], threads: usize) {
        let pieces = p.chunks_mut(PIECE).zip(gradient.chunks(PIECE)).zip(&mut self.0);
        team::each(threads, pieces.collect(), |((p, g), adam)| adam.step(p, g).expect("pieces of equal lengths"));
    }

    /// Mean gradients, mean squares, and the powers of both decays.
    pub(crate) fn memory(&self) -> (Vec<f32>, Vec<f32>, [f64; 2]) {
        let (mut means, mut squares, mut powers) = (Vec::new(), Vec::new(), [1.0; 2]);
        for (mean, square, (first, second)) in self.0.iter().map(Optimisation::memory) {
            means.extend_from_slice(mean);
            squares.extend_from_slice(square);
            powers = [first, second];
        }
        (means, squares, powers)
    }

    pub(crate) fn remember(&mut self, means: &[f32], squares: &[f32], powers: [f64; 2]) -> Result<(), Error> {
        let len: usize = self.0.iter().map(|adam| adam.memory().0.len()).sum();
        for got in [means.len(), squares.len()] {
            if got != len {
                return Err(Error::Shape { what: "moments to remember".into(), got, want: len });
            }
        }
        let pieces = means.chunks(PIECE).zip(squares.chunks(PIECE)).zip(&mut self.0);
        pieces.into_iter().try_for_each(|((mean, square), adam)| adam.remember(mean, square, powers.into()))
    }
}

//! Adam over many parameters, in pieces that threads share out.

use crate::team;
use nalm::optim::Optimisation;
use nalm::{Error, Optimiser};

/// Parameters of a piece.
const PIECE: usize = 1 << 16;

/// The core's Adam for networks with many parameters.
#[derive(Debug)]
pub struct Adam(Vec<Optimisation<f32>>);

impl Adam {
    /// PyTorch's settings at the learning rate of all three tasks, 1e-3.
    pub fn new(len: usize) -> Result<Self, Error> {
        let lens = (0..len).step_by(PIECE).map(|start| PIECE.min(len - start));
        let adam = |len| Optimisation::new(Optimiser::adam(1e-3), len);
        Ok(Self(lens.map(adam).collect::<Result<_, _>>()?))
    }

    /// Moves the parameters along their gradient. Results do not depend on the number of threads.
    pub fn step(&mut self, p: &mut [f32], gradient: &[f32], threads: usize) -> Result<(), Error> {
        self.check("parameters to move", p.len())?;
        self.check("gradients to move along", gradient.len())?;
        let pieces = p.chunks_mut(PIECE).zip(gradient.chunks(PIECE)).zip(&mut self.0);
        team::each(threads, pieces.collect(), |((p, g), adam)| adam.step(p, g).expect("pieces of equal lengths"));
        Ok(())
    }

    /// Refuses another number of parameters than it was made for.
    fn check(&self, what: &str, got: usize) -> Result<(), Error> {
        let want = self.0.iter().map(|adam| adam.memory().0.len()).sum();
        if got == want { Ok(()) } else { Err(Error::Shape { what: what.into(), got, want }) }
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
        self.check("moments to remember", means.len())?;
        self.check("moments to remember", squares.len())?;
        let pieces = means.chunks(PIECE).zip(squares.chunks(PIECE)).zip(&mut self.0);
        pieces.into_iter().try_for_each(|((mean, square), adam)| adam.remember(mean, square, powers.into()))
    }
}

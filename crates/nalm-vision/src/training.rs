//! A long run, epoch by epoch: what the three tasks have in common for whoever carries them out.

use crate::encoder::Picture;
use crate::error::Error;
use crate::history::History;
use nalm::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The version of the numerics of static tasks, raised with every change that alters the bits of these runs. In version 1 they depended on the instruction
/// set, too; since version 3 pooled 3x3 convolutions are computed with fewer multiplications.
pub const NUMERICS: u32 = 3;

/// That of the sequential task, which is the only one with pooled 5x5 convolutions: since version 4 they have fewer multiplications, too.
pub const SEQUENTIAL_NUMERICS: u32 = 4;

// Heads, Adam, noise and streams are the core's: when its numerics change, those of these runs do.
const _: () =
    assert!(nalm::NUMERICS == 1, "raise the versions of nalm_vision with nalm::NUMERICS, and then this number");

/// Everything that a run needs to go on as if it had never stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Epochs done and numbers that are few.
    pub progress: Progress,
    /// Parameters and the optimiser's memory.
    pub tensors: Vec<Tensor>,
}

/// The part of a checkpoint that is not tensors.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Progress {
    /// Epochs done.
    pub epoch: u64,
    /// Powers of Adam's decays.
    pub powers: [f64; 2],
    /// Share of the last epoch's updates after which the head's weights were not all exactly 1.
    pub off_one: f64,
    /// Rows so far.
    pub history: History,
}

impl Checkpoint {
    /// The tensor with this name, which must have this length.
    pub(crate) fn tensor(&self, name: &str, len: usize) -> Result<&[f32], Error> {
        let found = self.tensors.iter().find(|tensor| tensor.name == name);
        let data = found.map_or(&[][..], |tensor| &tensor.data);
        if data.len() != len {
            let what = format!("numbers in {name} of a checkpoint");
            return Err(nalm::Error::Shape { what, got: data.len(), want: len }.into());
        }
        Ok(data)
    }
}

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// One epoch further.
    Trained,
    /// The last row is there.
    Done,
    /// Told to stop amid an epoch; the run is of no use any more, its last checkpoint is.
    Stopped,
}

/// A run under way. Randomness follows from its settings and the epoch alone, so that a checkpoint needs no generator.
pub trait Training: Send {
    /// Epochs done.
    fn epoch(&self) -> u64;

    /// Epochs to do.
    fn epochs(&self) -> u64;

    /// Images that an epoch trains.
    fn images(&self) -> u64;

    /// Epochs between two rows.
    fn row_every(&self) -> u64;

    /// Adds a row with the current state to the history.
    fn measure(&mut self) -> Result<(), Error>;

    /// Trains for one epoch, and says whether it came to its end; `stop` is asked before every update.
    fn train_epoch(&mut self, stop: &dyn Fn() -> bool) -> Result<bool, Error>;

    /// Measures where a row is due, and then trains for one epoch.
    fn advance(&mut self, stop: &dyn Fn() -> bool) -> Result<Advance, Error> {
        let last = self.epoch() >= self.epochs();
        if self.epoch().is_multiple_of(self.row_every()) || last {
            self.measure()?;
        }
        if last {
            return Ok(Advance::Done);
        }
        Ok(if self.train_epoch(stop)? { Advance::Trained } else { Advance::Stopped })
    }

    /// The rows so far.
    fn history(&self) -> &History;

    /// The state between two epochs.
    fn checkpoint(&self) -> Checkpoint;

    /// Goes on from a state.
    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Error>;

    /// The parameters as PyTorch lays them out.
    fn tensors(&self) -> Vec<Tensor>;

    /// Pictures of some samples and of what is looked at.
    fn pictures(&mut self, samples: usize) -> Vec<Vec<Picture>>;
}

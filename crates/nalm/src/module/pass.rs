//! The kinds of forward pass.

use crate::rng::Rng;

/// How a module is used in a forward pass.
#[derive(Debug)]
pub enum Pass<'a> {
    /// Training: a module may be noisy with numbers from this generator.
    Train(&'a mut Rng),
    /// Training without noise: the outputs of [`Pass::Eval`], and a tape from which their gradient follows.
    Noiseless,
    /// Training once more with the noise that the last [`Pass::Train`] left on the tape; for gradient checks.
    Replay,
    /// Evaluation: deterministic.
    Eval,
}

impl Pass<'_> {
    /// The same pass, to be lent to one layer after the other.
    pub fn reborrow(&mut self) -> Pass<'_> {
        match self {
            Pass::Train(rng) => Pass::Train(rng),
            Pass::Noiseless => Pass::Noiseless,
            Pass::Replay => Pass::Replay,
            Pass::Eval => Pass::Eval,
        }
    }
}

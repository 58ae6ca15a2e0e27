//! Checkpoints and trained networks as the bytes of safetensors files. Equal ones have equal bytes.

use crate::error::Error;
use crate::training::{Checkpoint, Progress};
use nalm::tensor::{self, Tensor};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Tensors and a text about them as a safetensors file.
pub fn to_bytes(tensors: &[Tensor], text: &str) -> Result<Vec<u8>, Error> {
    tensor::to_bytes(tensors, Some(text)).map_err(unusable)
}

/// A file back: its tensors in the order of their names, and its text.
pub fn from_bytes(bytes: &[u8]) -> Result<(Vec<Tensor>, String), Error> {
    tensor::from_bytes(bytes).map_err(unusable)
}

fn unusable(error: nalm::Error) -> Error {
    match error {
        nalm::Error::Tensors(fault) => Error::Tensors(fault),
        other => other.into(),
    }
}

/// What a checkpoint says besides its tensors.
#[derive(Deserialize, Serialize)]
struct About {
    run: String,
    /// As text, so that the checksum is over the very bytes.
    progress: String,
    sha256: String,
}

/// Over everything that a checkpoint holds.
fn checksum(run: &str, progress: &str, tensors: &[Tensor]) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        // With their lengths, so that nothing can move from one part to the next.
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(run.as_bytes());
    part(progress.as_bytes());
    let mut sorted: Vec<&Tensor> = tensors.iter().collect();
    sorted.sort_by_key(|tensor| &tensor.name);
    for tensor in sorted {
        part(tensor.name.as_bytes());
        part(&tensor.shape.iter().flat_map(|n| (*n as u64).to_le_bytes()).collect::<Vec<_>>());
        part(&tensor.data.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Checkpoint {
    /// As the bytes of a file; `run` says whose it is.
    pub fn to_bytes(&self, run: &str) -> Result<Vec<u8>, Error> {
        let wrong = |error: serde_json::Error| Error::Tensors(error.to_string());
        let progress = serde_json::to_string(&self.progress).map_err(wrong)?;
        let about = About { run: run.into(), sha256: checksum(run, &progress, &self.tensors), progress };
        to_bytes(&self.tensors, &serde_json::to_string(&about).map_err(wrong)?)
    }

    /// The checkpoint of a run back. Bytes of which any has changed are refused, unless nothing depends on it.
    pub fn from_bytes(bytes: &[u8], run: &str) -> Result<Self, Error> {
        let (tensors, text) = from_bytes(bytes)?;
        let wrong = |error: serde_json::Error| Error::Tensors(error.to_string());
        let about: About = serde_json::from_str(&text).map_err(wrong)?;
        if about.sha256 != checksum(&about.run, &about.progress, &tensors) {
            return Err(Error::Tensors("it does not have the SHA-256 that it names; it is damaged".into()));
        }
        if about.run != run {
            return Err(Error::Tensors(format!("it is of run {}; run {run} was expected", about.run)));
        }
        let progress: Progress = serde_json::from_str(&about.progress).map_err(wrong)?;
        Ok(Self { progress, tensors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;

    fn checkpoint() -> Checkpoint {
        let progress =
            Progress { epoch: 3, powers: [0.5, 0.25], off_one: 0.125, history: History::Product(Vec::new()) };
        let tensors = vec![Tensor::flat("params", &[1.0, -2.0, 3.5]), Tensor::flat("means", &[0.25])];
        Checkpoint { progress, tensors }
    }

    /// Whichever bit is flipped: the state is refused, or it is the same.
    #[test]
    fn no_flipped_bit_gives_another_state() {
        let bytes = checkpoint().to_bytes("run").unwrap();
        assert_eq!(bytes, checkpoint().to_bytes("run").unwrap());
        let sorted = Checkpoint::from_bytes(&bytes, "run").unwrap();
        assert_eq!((&sorted.progress, sorted.tensors.len()), (&checkpoint().progress, 2));
        let mut refused = 0;
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match Checkpoint::from_bytes(&flipped, "run") {
                Err(_) => refused += 1,
                Ok(state) => assert_eq!(state, sorted, "bit {bit}"),
            }
        }
        // Only padding and white space may change unnoticed.
        assert!(refused > 7 * bytes.len(), "{refused} of {}", 8 * bytes.len());
        assert!((0..bytes.len()).all(|cut| Checkpoint::from_bytes(&bytes[..cut], "run").is_err()));
        let other = Checkpoint::from_bytes(&bytes, "another").unwrap_err().to_string();
        assert!(other.contains("it is of run run; run another was expected"), "{other}");
    }
}

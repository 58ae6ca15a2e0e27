//! Networks that are too large for a row, as safetensors files beside the segments.

use super::Store;
use crate::error::Result;
use crate::files;

/// Writes `STORE/weights/<id>.safetensors`: a file with this name is whole. Equal networks have equal bytes.
pub(super) fn save(tensors: &[u8], store: &Store, id: &str) -> Result<()> {
    files::replace(store.files(), &store.root().join("weights").join(format!("{id}.safetensors")), tensors)
}

/// What is wrong with the file of a network, if anything is.
pub(super) fn fault(bytes: &[u8]) -> Option<String> {
    nalm::tensor::from_bytes::<f32>(bytes)
        .err()
        .map(|error| format!("is no network any more; it was damaged or cut: {error}"))
}

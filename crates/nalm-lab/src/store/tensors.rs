//! Networks that are too large for a row, as safetensors files beside the segments.

use super::Store;
use crate::error::Result;
use crate::files;

/// Writes `STORE/weights/<id>.safetensors`: a file with this name is whole. Equal networks have equal bytes.
pub(super) fn save(tensors: &[u8], store: &Store, id: &str) -> Result<()> {
    files::replace(store.files(), &store.root().join("weights").join(format!("{id}.safetensors")), tensors)
}

//! Networks that are too large for a row, as safetensors files beside the segments.

use super::Store;
use crate::error::{Error, Result};
use crate::files;
use crate::task::Tensors;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;

/// Writes `STORE/weights/<id>.safetensors`: a file with this name is whole. Equal networks have equal bytes.
pub(super) fn save(tensors: &Tensors, store: &Store, id: &str) -> Result<()> {
    let path = store.root().join("weights").join(format!("{id}.safetensors"));
    let wrong =
        |error: safetensors::SafeTensorError| Error::Request(format!("cannot write {}: {error}", path.display()));
    let bytes: Vec<Vec<u8>> =
        tensors.tensors.iter().map(|(.., numbers)| numbers.iter().flat_map(|w| w.to_le_bytes()).collect()).collect();
    let views = tensors.tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        Ok((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(wrong)?))
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    // One text only: several would stand in the order of a hash, which differs from process to process.
    let about = tensors.about.as_ref().map(|text| HashMap::from([("nalm".to_string(), text.clone())]));
    files::replace(store.files(), &path, &safetensors::serialize(views, about).map_err(wrong)?)
}

/// What is wrong with the file of a network, if anything is.
pub(super) fn fault(bytes: &[u8]) -> Option<String> {
    SafeTensors::deserialize(bytes).err().map(|error| format!("is no network any more; it was damaged or cut: {error}"))
}

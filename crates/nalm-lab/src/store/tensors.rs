//! Networks that are too large for a row, as safetensors files beside the segments.

use crate::error::{Error, Result};
use crate::task::Tensors;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;
use std::path::Path;

/// Writes `STORE/weights/<id>.safetensors`, aside first: a file with this name is whole.
pub(super) fn save(tensors: &Tensors, store: &Path, id: &str) -> Result<()> {
    let folder = store.join("weights");
    std::fs::create_dir_all(&folder).map_err(Error::file("cannot make the folder", &folder))?;
    let (aside, path) = (folder.join(format!("{id}.new")), folder.join(format!("{id}.safetensors")));
    let wrong =
        |error: safetensors::SafeTensorError| Error::Request(format!("cannot write {}: {error}", path.display()));
    let bytes: Vec<Vec<u8>> =
        tensors.tensors.iter().map(|(.., numbers)| numbers.iter().flat_map(|w| w.to_le_bytes()).collect()).collect();
    let views = tensors.tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        Ok((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(wrong)?))
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    let about = tensors.about.as_ref().map(|text| HashMap::from([("nalm".to_string(), text.clone())]));
    let bytes = safetensors::serialize(views, about).map_err(wrong)?;
    std::fs::write(&aside, bytes).map_err(Error::file("cannot write", &aside))?;
    std::fs::rename(&aside, &path).map_err(Error::file("cannot write", &path))
}

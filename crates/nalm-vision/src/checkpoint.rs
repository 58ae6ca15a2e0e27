//! Checkpoints and trained networks as safetensors files, each there as a whole or not at all.

use crate::error::Error;
use crate::export::Tensor;
use crate::training::{Checkpoint, Progress};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes tensors and a text beside the file first, and then renames it, so that the name never stands for half of it.
pub fn save(path: &Path, tensors: &[Tensor], text: &str) -> Result<(), Error> {
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|tensor| tensor.data.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let wrong = |error: safetensors::SafeTensorError| Error::File { file: path.into(), why: error.to_string() };
    let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
        Ok((tensor.name.as_str(), TensorView::new(Dtype::F32, tensor.shape.clone(), bytes).map_err(wrong)?))
    });
    let views = views.collect::<Result<Vec<_>, Error>>()?;
    let text = HashMap::from([("nalm".to_string(), text.to_string())]);
    let bytes = safetensors::serialize(views, Some(text)).map_err(wrong)?;
    let write = || {
        let aside = path.with_extension("new");
        let mut file = File::create(&aside)?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        fs::rename(&aside, path)
    };
    write().map_err(|source| Error::Write { file: path.into(), source })
}

/// Reads a file back: its tensors in the order of their names, and its text.
pub fn load(path: &Path) -> Result<(Vec<Tensor>, String), Error> {
    let bytes = fs::read(path).map_err(|source| Error::Read { file: path.into(), source })?;
    let wrong = |why: String| Error::File { file: path.into(), why };
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| wrong(error.to_string()))?;
    let text = header.metadata().as_ref().and_then(|texts| texts.get("nalm").cloned()).unwrap_or_default();
    let file = SafeTensors::deserialize(&bytes).map_err(|error| wrong(error.to_string()))?;
    let mut tensors = Vec::new();
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(wrong(format!("{name} is {:?}; F32 was expected", view.dtype())));
        }
        let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let data = view.data().chunks_exact(4).map(number).collect();
        tensors.push(Tensor { name: name.into(), shape: view.shape().to_vec(), data });
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((tensors, text))
}

impl Checkpoint {
    /// Writes it; `run` says whose it is.
    pub fn save(&self, path: &Path, run: &str) -> Result<(), Error> {
        let text = serde_json::json!({ "run": run, "progress": self.progress }).to_string();
        save(path, &self.tensors, &text)
    }

    /// Reads the checkpoint of a run back.
    pub fn load(path: &Path, run: &str) -> Result<Self, Error> {
        let (tensors, text) = load(path)?;
        let wrong = |why: String| Error::File { file: path.into(), why };
        let mut value: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if value["run"] != run {
            return Err(wrong(format!("it is of run {}; run {run} was expected", value["run"])));
        }
        let progress: Progress =
            serde_json::from_value(value["progress"].take()).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { progress, tensors })
    }
}

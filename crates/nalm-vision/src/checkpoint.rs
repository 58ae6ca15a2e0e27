//! Checkpoints and trained networks as safetensors files, each there as a whole or not at all.

use crate::error::Error;
use crate::tensor::Tensor;
use crate::training::{Checkpoint, Progress};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
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
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|&k| &tensors[k].name);
    let sum = sum_of(order.iter().map(|&k| bytes[k].as_slice()));
    let text = HashMap::from([("nalm".to_string(), text.to_string()), ("sha256".to_string(), sum)]);
    let bytes = safetensors::serialize(views, Some(text)).map_err(wrong)?;
    let write = || {
        // A name of its own, because another process may be saving the same run.
        let random = RandomState::new().build_hasher().finish();
        let aside = path.with_extension(format!("{}-{random:016x}.new", std::process::id()));
        let mut file = File::create(&aside)?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        fs::rename(&aside, path)
    };
    write().map_err(|source| Error::Write { file: path.into(), source })
}

/// Over the bytes of tensors in the order of their names.
fn sum_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    parts.for_each(|part| hash.update(part));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a file back: its tensors in the order of their names, and its text.
pub fn load(path: &Path) -> Result<(Vec<Tensor>, String), Error> {
    let bytes = fs::read(path).map_err(|source| Error::Read { file: path.into(), source })?;
    let wrong = |why: String| Error::File { file: path.into(), why };
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| wrong(error.to_string()))?;
    let text = header.metadata().as_ref().and_then(|texts| texts.get("nalm").cloned()).unwrap_or_default();
    let file = SafeTensors::deserialize(&bytes).map_err(|error| wrong(error.to_string()))?;
    let mut tensors = Vec::new();
    let mut views: Vec<_> = file.iter().collect();
    views.sort_by_key(|(name, _)| name.to_string());
    let known = header.metadata().as_ref().and_then(|texts| texts.get("sha256"));
    if known.is_some_and(|known| *known != sum_of(views.iter().map(|(_, view)| view.data()))) {
        return Err(wrong("its tensors do not have the SHA-256 that it names; it is damaged".into()));
    }
    for (name, view) in views {
        if view.dtype() != Dtype::F32 {
            return Err(wrong(format!("{name} is {:?}; F32 was expected", view.dtype())));
        }
        let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let data = view.data().chunks_exact(4).map(number).collect();
        tensors.push(Tensor { name: name.into(), shape: view.shape().to_vec(), data });
    }
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

//! Where MNIST is.

use anyhow::{Context, Result, bail};
use nalm_vision::Mnist;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Loads MNIST from the folder that was given, from the one that NALM_MNIST names, or from data/mnist in the project around the working
/// folder or around the binary.
pub(crate) fn find(given: Option<&Path>) -> Result<Arc<Mnist>> {
    let named = given.map(Path::to_path_buf).or_else(|| std::env::var_os("NALM_MNIST").map(PathBuf::from));
    if let Some(folder) = named {
        let hint = "the folder of --mnist or NALM_MNIST must hold the four MNIST files";
        return Ok(Arc::new(Mnist::load(&folder).context(hint)?));
    }
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    for start in starts.iter().flatten() {
        for folder in start.ancestors().map(|folder| folder.join("data/mnist")) {
            if folder.is_dir() {
                return Ok(Arc::new(Mnist::load(&folder)?));
            }
        }
    }
    bail!(
        "MNIST is not here: no folder data/mnist in or above the working folder or the binary's; say where its four IDX files are with --mnist DIR or \
         NALM_MNIST"
    )
}

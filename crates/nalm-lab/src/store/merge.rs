//! Several stores into one: their segments have unique names, so copying those that are not there yet is all there is to it.

use super::{ensure_store, segments};
use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Copies the segments of several stores into one.
pub fn merge(stores: &[PathBuf], into: &Path) -> Result<()> {
    // All of them first, so that a mistyped one leaves nothing behind.
    stores.iter().try_for_each(|store| ensure_store(store))?;
    let folder = into.join("seg");
    fs::create_dir_all(&folder).map_err(Error::file("cannot make the store", &folder))?;
    for from in stores.iter().map(|store| segments(store)).collect::<Result<Vec<_>>>()?.concat() {
        let Some(name) = from.file_name() else { continue };
        let to = folder.join(name);
        if !to.exists() {
            // Under another name until it is complete, so that no reader takes a part for the whole.
            let part = folder.join(format!("{}.part", name.to_string_lossy()));
            fs::copy(&from, &part).map_err(Error::file("cannot copy to", &part))?;
            fs::rename(&part, &to).map_err(Error::file("cannot rename", &part))?;
        }
    }
    Ok(())
}

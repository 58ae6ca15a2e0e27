//! Several stores into one: their segments have unique names, so copying those that are not there yet is all there is to it.

use super::Store;
use crate::error::{Error, Result, ensure};
use crate::files;
use std::io::Read;
use std::path::Path;

/// Copies the segments and networks of several stores into one. A segment that has grown since it was copied is copied again.
pub fn merge(stores: &[Store], into: &Store) -> Result<()> {
    // All of them first, so that a mistyped one leaves nothing behind.
    stores.iter().try_for_each(Store::ensure_exists)?;
    for store in stores {
        // Networks first: a row must not speak of a file that is not there yet.
        for (folder, names) in [("weights", store.weights()?), ("seg", store.segments()?)] {
            for from in names {
                let Some(name) = from.file_name() else { continue };
                copy(store, &from, into, &into.root().join(folder).join(name))?;
            }
        }
    }
    // An empty store is one, too.
    std::fs::create_dir_all(into.root().join("seg")).map_err(Error::file("cannot make the store", into.root()))
}

fn copy(store: &Store, from: &Path, into: &Store, to: &Path) -> Result<()> {
    if to.exists() {
        ensure!(to.is_file(), "{} is in the way: it is no file", to.display());
        if !has_grown(store, from, into, to)? {
            return Ok(());
        }
    }
    let mut source = store.files().open(from).map_err(Error::file("cannot read", from))?;
    files::write(into.files(), to, |out| std::io::copy(&mut source, out).map(drop))
}

/// Whether a file has grown since it was copied. One that is neither the copy nor an earlier or later state of it is refused.
fn has_grown(store: &Store, from: &Path, into: &Store, to: &Path) -> Result<bool> {
    let mut there = into.files().open(to).map_err(Error::file("cannot read", to))?;
    let mut here = store.files().open(from).map_err(Error::file("cannot read", from))?;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.clear();
        b.clear();
        there.by_ref().take(1 << 16).read_to_end(&mut a).map_err(Error::file("cannot read", to))?;
        here.by_ref().take(1 << 16).read_to_end(&mut b).map_err(Error::file("cannot read", from))?;
        let common = a.len().min(b.len());
        if a[..common] != b[..common] {
            let how = match to.extension().is_some_and(|extension| extension == "safetensors") {
                true => "are networks of the same run, and differ",
                false => "have the same name, and neither is the beginning of the other",
            };
            let (from, to) = (from.display(), to.display());
            return Err(Error::Unsound(format!(
                "{from} and {to} {how}; one is damaged: nalm store check says which store, and without that file it can be merged"
            )));
        }
        if a.len() != b.len() || a.is_empty() {
            return Ok(a.len() < b.len());
        }
    }
}

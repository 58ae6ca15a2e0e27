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

/// How a file that is there relates to the one that is to be copied.
enum Relation {
    Same,
    /// It is the beginning of the other.
    Prefix,
    /// The other is its beginning.
    Longer,
    Different,
}

fn copy(store: &Store, from: &Path, into: &Store, to: &Path) -> Result<()> {
    if to.exists() {
        ensure!(to.is_file(), "{} is in the way: it is no file", to.display());
        match relation(store, from, into, to)? {
            Relation::Same | Relation::Longer => return Ok(()),
            Relation::Prefix => {}
            Relation::Different => bail_different(from, to)?,
        }
    }
    let mut source = store.files().open(from).map_err(Error::file("cannot read", from))?;
    files::write(into.files(), to, |out| std::io::copy(&mut source, out).map(drop))
}

fn bail_different(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (from.display(), to.display());
    if to.to_string().ends_with(".safetensors") {
        return Err(Error::Unsound(format!(
            "{from} and {to} are networks of the same run, and differ; one is damaged"
        )));
    }
    Err(Error::Unsound(format!(
        "{from} and {to} have the same name, and neither is the beginning of the other; one is damaged"
    )))
}

fn relation(store: &Store, from: &Path, into: &Store, to: &Path) -> Result<Relation> {
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
            return Ok(Relation::Different);
        }
        match (a.len(), b.len()) {
            (0, 0) => return Ok(Relation::Same),
            (x, y) if x < y => return Ok(Relation::Prefix),
            (x, y) if x > y => return Ok(Relation::Longer),
            _ => {}
        }
    }
}

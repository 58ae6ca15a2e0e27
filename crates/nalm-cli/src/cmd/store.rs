//! `nalm store`: look after a store.

use crate::cli::{Store, StoreAction};
use crate::images::ImageRow;
use crate::row::Row;
use crate::runspec::hex;
use crate::store::{self, Contents};
use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &Store) -> Result<()> {
    match &arguments.action {
        StoreAction::Check { store } => check(store),
        StoreAction::Merge { stores, into } => merge(stores, into),
        StoreAction::Compact { store } => compact(store),
        StoreAction::Pack { stores, into } => pack(stores, into),
    }
}

fn check(path: &Path) -> Result<()> {
    let contents = store::read_existing(path)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "segments   {}", contents.segments)?;
    writeln!(out, "rows       {}", contents.len())?;
    writeln!(out, "torn lines {}", contents.torn)?;
    writeln!(out, "duplicates {}", contents.duplicates)?;
    writeln!(out, "conflicts  {}", contents.conflicts.len())?;
    for id in &contents.conflicts {
        writeln!(out, "conflict   run {id} is there twice with different results")?;
    }
    ensure!(contents.conflicts.is_empty(), "{} holds conflicts; equal runs must have equal results", path.display());
    Ok(())
}

/// Segments have unique names, so copying those that are not there yet is all there is to it.
fn merge(stores: &[PathBuf], into: &Path) -> Result<()> {
    // All of them first, so that a mistyped one leaves nothing behind.
    stores.iter().try_for_each(|store| store::read_existing(store).map(drop))?;
    let folder = into.join("seg");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the store {}", folder.display()))?;
    for store in stores {
        for entry in std::fs::read_dir(store.join("seg"))? {
            let from = entry?.path();
            let Some(name) = from.file_name() else { continue };
            let to = folder.join(name);
            if !to.exists() {
                // Under another name until it is complete, so that no reader takes a part for the whole.
                let part = folder.join(format!("{}.part", name.to_string_lossy()));
                std::fs::copy(&from, &part)
                    .with_context(|| format!("cannot copy {} to {}", from.display(), part.display()))?;
                std::fs::rename(&part, &to).with_context(|| format!("cannot rename {}", part.display()))?;
            }
        }
    }
    check(into)
}

/// Only rows that the target lacks: a record grows by files, none of which ever changes.
fn pack(stores: &[PathBuf], into: &Path) -> Result<()> {
    let kept = store::read(into)?;
    let mut contents = Contents::default();
    for store in stores {
        ensure!(store.join("seg").is_dir(), "{} is no store: it has no folder seg", store.display());
        contents.read(store)?;
    }
    let differs = |row: &&Row| kept.rows.get(&row.id).is_some_and(|known| known.result_hash != row.result_hash);
    let image_differs = |row: &&ImageRow| {
        kept.images.get(&row.id).is_some_and(|known| known.set == row.set && known.result_hash != row.result_hash)
    };
    let different =
        contents.rows.values().filter(differs).count() + contents.images.values().filter(image_differs).count();
    let conflicts = kept.conflicts.len() + contents.conflicts.len() + different;
    ensure!(conflicts == 0, "there are {conflicts} conflicts; equal runs must have equal results");
    contents.rows.retain(|id, _| !kept.has(id));
    contents.images.retain(|id, _| !kept.has(id));
    if contents.len() == 0 {
        say!("{} holds all of these rows already", into.display());
        return Ok(());
    }
    let path = store::pack(&contents, into)?;
    say!("{} rows in {}, {} before", contents.len(), path.display(), kept.len());
    Ok(())
}

fn compact(path: &Path) -> Result<()> {
    let contents = store::read_existing(path)?;
    let mut out = std::io::stdout().lock();
    let mut hash = Sha256::new();
    let rows = contents.rows.values().map(serde_json::to_value);
    for row in rows.chain(contents.images.values().map(serde_json::to_value)) {
        let line = format!("{}\n", row?);
        hash.update(line.as_bytes());
        out.write_all(line.as_bytes())?;
    }
    out.flush()?;
    say!("{} rows, sha256 {}", contents.len(), hex(&hash.finalize()));
    Ok(())
}

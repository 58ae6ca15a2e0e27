//! `nalm store`: look after a store.

use crate::arguments::{Store, StoreAction};
use anyhow::{Result, ensure};
use nalm_lab::store;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(arguments: &Store) -> Result<()> {
    match &arguments.action {
        StoreAction::Check { store } => check(store),
        StoreAction::Merge { stores, into } => {
            store::merge(stores, into)?;
            check(into)
        }
        StoreAction::Compact { store } => {
            let contents = store::read_existing(store)?;
            let hash = store::compact(&contents, &mut std::io::stdout().lock())?;
            say!("{} rows, sha256 {hash}", contents.rows.len());
            Ok(())
        }
        StoreAction::Pack { stores, into } => {
            match store::pack(stores, into)? {
                (Some(path), rows) => say!("{rows} rows in {}", path.display()),
                (None, _) => say!("{} holds all of these rows already", into.display()),
            }
            Ok(())
        }
    }
}

fn check(path: &Path) -> Result<()> {
    let contents = store::read_existing(path)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "segments   {}", contents.segments)?;
    writeln!(out, "rows       {}", contents.rows.len())?;
    writeln!(out, "torn lines {}", contents.torn)?;
    writeln!(out, "duplicates {}", contents.duplicates)?;
    writeln!(out, "conflicts  {}", contents.conflicts.len())?;
    for id in &contents.conflicts {
        writeln!(out, "conflict   run {id} is there twice with different results")?;
    }
    ensure!(contents.conflicts.is_empty(), "{} holds conflicts; equal runs must have equal results", path.display());
    Ok(())
}

//! `nalm store`: look after a store.

use super::{complain, recorded, sound};
use crate::arguments::Store as Action;
use crate::terminal::counted;
use anyhow::Result;
use nalm_lab::Registry;
use nalm_lab::store::{self, Index, Packed, Store};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

pub(crate) fn run(registry: &Registry, action: &Action) -> Result<()> {
    let all = |paths: &[PathBuf]| -> Vec<Store> { paths.iter().map(|path| registry.store(path)).collect() };
    match action {
        Action::Check { store, named } => {
            let path = named.as_ref().unwrap_or(store);
            check(&registry.store(path), recorded(registry, path)?)
        }
        Action::Merge { stores, into } => {
            let into = registry.store(into);
            store::merge(&all(stores), &into)?;
            let index = into.existing()?;
            check(&into, index)
        }
        Action::Compact { store, named } => {
            let index = recorded(registry, named.as_ref().unwrap_or(store))?;
            let hash = store::compact(&index, &mut BufWriter::new(std::io::stdout().lock()))?;
            say!("{}, sha256 {hash}", counted(index.entries().len(), "row"));
            Ok(())
        }
        Action::Pack { stores, into, leave_out_damaged } => {
            let Packed { file, rows, left_out, problems } =
                store::pack(&all(stores), &registry.store(into), *leave_out_damaged)?;
            complain(&problems);
            match file {
                Some(path) => say!("{} in {}", counted(rows, "row"), path.display()),
                None => say!("{} holds all of these rows already", into.display()),
            }
            if left_out > 0 {
                say!("{} left out", counted(left_out, "line"));
            }
            Ok(())
        }
    }
}

/// Reads every row, holds it against itself, and says what is wrong.
fn check(store: &Store, mut index: Index) -> Result<()> {
    index.audit()?;
    let failed = index.failed()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "segments   {}", index.segments())?;
    writeln!(out, "rows       {}", index.entries().len())?;
    writeln!(out, "torn lines {}", index.torn)?;
    writeln!(out, "duplicates {}", index.duplicates)?;
    writeln!(out, "failed     {}", failed.len())?;
    writeln!(out, "problems   {}", index.problems.len())?;
    for row in &failed {
        writeln!(out, "failed: run {}: {}", row.id, row.reason.as_deref().unwrap_or_default())?;
    }
    drop(out);
    for file in store.passed_over()? {
        say!("{} is not read: names of segments end in .jsonl or .gz", file.display());
    }
    sound(&index)
}

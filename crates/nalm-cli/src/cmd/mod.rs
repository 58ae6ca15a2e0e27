//! One verb, one file.

pub(crate) mod bench;
pub(crate) mod bench_fit;
pub(crate) mod bench_growth;
pub(crate) mod check;
pub(crate) mod claims;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod gradcheck;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod submit;
pub(crate) mod train;
pub(crate) mod verify;

use crate::terminal::counted;
use anyhow::{Result, bail, ensure};
use nalm_lab::store::{Index, Problem};
use nalm_lab::{Error, Registry, files};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// More problems than this are not listed one by one.
const MOST_LISTED: usize = 20;

/// Names what is wrong, as far as anybody reads it.
fn complain(problems: &[Problem]) {
    problems.iter().take(MOST_LISTED).for_each(|problem| say!("{problem}"));
}

/// Names what is wrong with a store, and fails if anything is.
fn sound(index: &Index) -> Result<()> {
    complain(&index.problems);
    let Some(repair) = index.repair() else { return Ok(()) };
    let problems = counted(index.problems.len(), "problem");
    Err(Error::Unsound(format!("{problems} in the store; rows that cannot be trusted are not used; {repair}")).into())
}

/// The index of a store that somebody names, such as a record: what is not there was mistyped, and nothing here would make it.
fn recorded(registry: &Registry, path: &Path) -> Result<Index> {
    ensure!(path.exists(), Error::Request(format!("there is no folder {} here", path.display())));
    Ok(registry.store(path).existing()?)
}

/// Refuses a file that cannot be written, before anybody waits for what goes there. Folders that are missing are made later.
fn ensure_place(file: &Path) -> Result<()> {
    let name = file.display();
    ensure!(!file.is_dir(), Error::Request(format!("{name} is a folder; give the name of a file in it")));
    let above = file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let first = above.into_iter().find(|folder| folder.exists());
    let wrong = |folder: &Path| Error::Request(format!("{name} cannot be written: {} is no folder", folder.display()));
    first.filter(|folder| !folder.is_dir()).map_or(Ok(()), |folder| Err(wrong(folder).into()))
}

/// Refuses a file to be written that the command reads, or writes for another option, too.
fn ensure_apart<'a>(
    outputs: impl IntoIterator<Item = (&'a str, Option<&'a PathBuf>)>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<()> {
    let outputs: Vec<(&str, &Path)> = outputs.into_iter().filter_map(|(o, path)| Some((o, path?.as_path()))).collect();
    for input in inputs {
        if let Some((option, path)) = outputs.iter().find(|(_, path)| files::is_same(path, input)) {
            let path = path.display();
            bail!(Error::Request(format!("{option} {path} is a file that this command reads; give another name")));
        }
    }
    for (k, (option, path)) in outputs.iter().enumerate() {
        let same = |other: &Path| other == *path || files::is_same(other, path);
        // The standard output and devices take several.
        let is_device = *path == Path::new("-") || path.exists() && !path.is_file();
        if let Some((other, _)) = outputs[..k].iter().find(|(_, other)| !is_device && same(other)) {
            let path = path.display();
            bail!(Error::Request(format!(
                "{other} and {option} would both be written to {path}; give one another name"
            )));
        }
    }
    Ok(())
}

/// Prints a value as one line of JSON to the standard output.
fn print_json_line(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value)?;
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints a value as JSON to the standard output.
fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

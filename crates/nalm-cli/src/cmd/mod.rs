//! One verb, one file.

pub(crate) mod bench;
pub(crate) mod bench_fit;
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

use anyhow::{Result, ensure};
use nalm_lab::Error;
use nalm_lab::store::Index;
use serde::Serialize;
use std::io::Write;

/// More problems than this are not listed one by one.
const MOST_LISTED: usize = 20;

/// Names what is wrong with a store, and fails if anything is.
fn sound(index: &Index) -> Result<()> {
    index.problems.iter().take(MOST_LISTED).for_each(|problem| say!("{problem}"));
    let n = index.problems.len();
    let text = format!("{n} problems in the store; rows that cannot be trusted are not used");
    ensure!(n == 0, Error::Unsound(text));
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

//! One verb, one file.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod export;
pub(crate) mod gradcheck;
pub(crate) mod list;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod train;
pub(crate) mod verify;

use anyhow::Result;
use serde::Serialize;
use std::io::Write;

/// Prints a value as JSON to the standard output.
fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

//! `nalm new`: an experiment file to start from.

use anyhow::{Result, ensure};
use nalm_lab::{Error, Registry, files};
use std::path::Path;

/// Runs in a few seconds as it stands, and says what can be changed.
const TEXT: &str = include_str!("new.toml");

pub(crate) fn run(registry: &Registry, file: &Path) -> Result<()> {
    let name = file.display();
    ensure!(!file.exists(), Error::Request(format!("{name} is there already; give another name")));
    let is_toml = file.extension().is_some_and(|ending| ending == "toml");
    ensure!(is_toml, Error::Request(format!("{name} must end in .toml, as experiment files do")));
    super::ensure_place(file)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let text = TEXT.replace("FILE", &name.to_string()).replace("NAME", &stem);
    files::replace(&*registry.files, file, text.as_bytes())?;
    say!("{name} is written; nalm reproduce {name} runs it and writes its page");
    Ok(())
}

//! The experiments that come with the library, and those in files.

use super::written::Written;
use super::{Experiment, Names, Overrides, check};
use crate::error::{Error, Result};
use crate::files::Disk;
use crate::task::Catalogue;
use std::io;
use std::path::{Path, PathBuf};

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../experiments/", $name, ".toml")))),*]
    };
}

/// The experiments that come with the library, so that it works wherever it is; in the order of the paper.
const BUILT_IN: &[(&str, &str)] = &built_in![
    "motivation",
    "loss-landscape",
    "noise-basins",
    "single-module",
    "single-module-snmu",
    "stochastic-gates",
    "gradient-noise",
    "arithmetic",
    "own-seeds",
    "small-ranges",
    "arithmetic-all-ranges",
    "second-order-limits",
    "second-order-ablation",
    "second-order-single-module",
    "noise-sweep",
    "stochastic-methods",
    "batch-noise-bound",
    "released-code",
    "operations",
    "controls",
    "mnist-isolated",
    "mnist-isolated-full",
    "mnist-colour",
    "mnist-sequential",
];

/// The presets of experiments in which nothing is run.
pub(super) const PRESETS: [&str; 4] = ["smoke", "quick", "laptop", "paper"];

/// Bytes of memory for each byte of an experiment file, as measured with long lists.
const BYTES_EACH: f64 = 100.0;

fn written(text: &str) -> Written {
    toml::from_str(text).expect("what comes with the library can be read")
}

/// The names of the experiments that come with the library and whose tasks are there.
pub fn names(catalogue: &Catalogue) -> Vec<&'static str> {
    let there = |text: &str| written(text).task.is_none_or(|task| catalogue.task(task.get_ref()).is_ok());
    BUILT_IN.iter().filter(|(_, text)| there(text)).map(|(name, _)| *name).collect()
}

/// The presets of an experiment that comes with the library.
pub fn presets(name: &str) -> Vec<String> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    let mut own: Vec<String> = found.map_or(Vec::new(), |(_, text)| written(text).preset.into_keys().collect());
    if own.is_empty() {
        own.extend(PRESETS.map(String::from));
    }
    own.sort_by_key(|preset| PRESETS.iter().position(|known| known == preset));
    own
}

/// Loads an experiment by its name, or from a file.
pub fn load(catalogue: &Catalogue, known: &Names, name: &str, overrides: &Overrides) -> Result<Experiment> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        let file = PathBuf::from(format!("{name}.toml"));
        let checked = check(catalogue, known, name, &file, text, overrides)?;
        let command = command(name, &checked.preset, overrides);
        return Ok(Experiment { command, built_in: true, ..checked });
    }
    let path = Path::new(name);
    if path.extension().is_none() && !path.exists() {
        let mut error = nalm::Error::unknown("experiment", name, &names(catalogue));
        let file = path.with_extension("toml");
        if let nalm::Error::Unknown { nearest, .. } = &mut error
            && file.is_file()
        {
            *nearest = Some(file.display().to_string());
        }
        return Err(error.into());
    }
    let bytes = catalogue.memory.read(&Disk, path, BYTES_EACH)?;
    let no_text = || io::Error::new(io::ErrorKind::InvalidData, "it is no text; experiments are TOML files in UTF-8");
    let text = String::from_utf8(bytes).map_err(|_| Error::file("cannot read", path)(no_text()))?;
    let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned());
    check(catalogue, known, &stem, path, &text, overrides)
}

/// What to type for an experiment of this name, or in this file.
fn command(name: &str, preset: &str, overrides: &Overrides) -> String {
    format!("nalm reproduce {name} --preset {preset}{}", overrides.typed())
}

/// What to type for an experiment in a file.
pub(super) fn command_of_file(path: &Path, preset: &str, overrides: &Overrides) -> String {
    // Pages are for others, who do not have this machine's folders.
    let shown = if path.is_absolute() { Path::new(path.file_name().unwrap_or_default()) } else { path };
    command(&shown.display().to_string(), preset, overrides)
}

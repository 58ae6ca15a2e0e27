//! A process that wrote rows, as the header and footer of its segment tell.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// A process that wrote rows.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Session {
    /// The version of the segment's form.
    pub schema: u32,
    /// The version of the program.
    pub version: String,
    /// The revision it was built from.
    pub revision: String,
    /// The version of the numerics.
    pub numerics: u32,
    /// The vector instructions in use.
    #[serde(rename = "path")]
    pub instructions: String,
    /// Processor, cores and system.
    pub machine: String,
    /// Seconds since 1970.
    pub started: u64,
    /// What was typed.
    pub arguments: Vec<String>,
    /// Seconds that it ran; absent if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Seconds of all its threads together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

/// An argument without the folders of an absolute path in it, which tell nothing about the runs.
pub(super) fn without_folders(argument: &str) -> String {
    let (option, value) = match argument.split_once('=') {
        Some((option, value)) if option.starts_with('-') => (format!("{option}="), value),
        _ => (String::new(), argument),
    };
    let path = Path::new(value);
    match path.file_name() {
        Some(name) if path.is_absolute() => option + &name.to_string_lossy(),
        _ => argument.into(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn folders_are_left_out() {
        assert_eq!(
            ["--store", "results", "/somewhere/results", "--store=/somewhere/results", "--set=a=/b/c", "noise=U[1,2]"]
                .map(super::without_folders),
            ["--store", "results", "results", "--store=results", "--set=a=/b/c", "noise=U[1,2]"]
        );
    }
}

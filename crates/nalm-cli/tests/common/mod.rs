//! The real binary, for all end-to-end tests.
#![allow(dead_code, reason = "every test file uses its own part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The binary in a folder, MNIST at hand.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nalm"));
    let mnist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist");
    command.args(arguments).current_dir(folder).env("NALM_MNIST", mnist);
    command
}

/// Runs it.
pub(crate) fn nalm(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the binary starts")
}

/// Its standard output; it must succeed.
pub(crate) fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = nalm(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What it prints as JSON.
pub(crate) fn json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&succeed(folder, arguments)).expect("JSON")
}

/// Its standard error; it must fail with this code and say this.
pub(crate) fn fails_with(folder: &Path, arguments: &[&str], code: i32, hint: &str) -> String {
    let output = nalm(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(text.contains(hint), "{arguments:?}: {text}");
    text
}

/// All rows of a store, in the order of their identity.
pub(crate) fn rows(folder: &Path, store: &str) -> String {
    succeed(folder, &["store", "compact", store])
}

/// The segments of a store.
pub(crate) fn segments(store: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(store.join("seg")).expect("a store").map(|entry| entry.expect("an entry").path()).collect()
}

//! The example's unit through every verb: listed, described, checked, run, killed, taken up, reported, exported and judged.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-unit"));
    command.args(arguments).current_dir(folder);
    command
}

fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = command(folder, arguments).output().expect("the binary starts");
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("UTF-8")
}

#[test]
fn the_unit_is_one_of_the_laboratory() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("own.toml"), here.join("own.toml")).expect("the file");
    assert!(succeed(here, &["list", "modules"]).contains("scaled product"));
    assert!(succeed(here, &["describe", "scaled"]).contains("y = scale x1 x2"));
    assert!(succeed(here, &["gradcheck", "scaled"]).starts_with("scaled"));
    assert!(succeed(here, &["train", "--module", "scaled", "--steps", "12000"]).starts_with("solved"));
    succeed(here, &["run", "own.toml", "--store", "whole"]);
    let rows = |store: &str| succeed(here, &["export", "--jsonl", "-", "--store", store]);
    let mut child = command(here, &["run", "own.toml"]).stderr(Stdio::null()).spawn().expect("the binary starts");
    std::thread::sleep(Duration::from_millis(120));
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let line = succeed(here, &["reproduce", "own.toml"]);
    assert!(line.contains("own: 1 inconclusive"), "{line}");
    assert_eq!(rows("results"), rows("whole"));
    let page = std::fs::read_to_string(here.join("report/own.md")).expect("a page");
    assert!(page.contains("| scaled product | 0.01 | 3 of 3") && page.contains("Seed by seed against NMU"), "{page}");
    assert!(succeed(here, &["export", "--csv", "-"]).contains("scaled,learning_rate=0.01,single-module"));
    assert!(succeed(here, &["verify", "--record", "results", "--sample", "5"]).contains("5 of 5 rows are identical"));
}

//! The table of exit codes in docs/json.md, with a real command for every line of it.

#![cfg(unix)]

mod common;

use common::{command, segments, succeed};
use std::path::Path;
use std::process::{Command, Stdio};

const FILE: &str = "title = \"T\"\ntask = \"single-module\"\n[preset.a]\nseeds = 2\nsteps = 50\nranges = [\"U[1,2)\"]\n[[model]]\nmodule = \"nmu\"\n";

/// The codes that the documentation lists.
fn documented() -> Vec<i32> {
    let text = include_str!("../../../docs/json.md");
    let table = text.split("## Exit codes").nth(1).expect("a chapter on exit codes");
    let table = table.split("\n\n").nth(1).expect("a table");
    table.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok()).collect()
}

fn code(mut command: Command) -> Option<i32> {
    let output = command.output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{command:?}: {text}");
    let lines = text.lines().filter(|line| line.starts_with("nalm: ")).count();
    // 3 and 75 are no failures, but are explained, too.
    assert!(output.status.code() == Some(0) || lines == 1 || text.contains("error: "), "{command:?}: {text}");
    output.status.code()
}

/// Runs a command that lasts, and stops it with a signal once its segment is there.
fn stopped(here: &Path) -> Option<i32> {
    let run = ["run", "t.toml", "--store", "stopped", "--steps", "100000000"];
    let mut child = command(here, &run).stderr(Stdio::null()).spawn().expect("the binary starts");
    while !here.join("stopped/seg").is_dir() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    child.wait().unwrap().code()
}

#[test]
fn every_code_of_the_table_is_that_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("t.toml"), FILE).unwrap();
    succeed(here, &["run", "t.toml", "--seeds", "1"]);
    succeed(here, &["run", "t.toml", "--store", "damaged"]);
    let file = segments(&here.join("damaged")).remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let plain = |arguments: &[&str]| command(here, arguments);
    let with = |arguments: &[&str], name: &str, value: &str| {
        let mut command = command(here, arguments);
        command.env(name, value);
        command
    };
    let full = |arguments: &[&str]| {
        let mut command = command(here, arguments);
        command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        command
    };
    // A stack of an exabyte: no thread can be had.
    let no_threads = ("RUST_MIN_STACK", "1152921504606846976");
    let cases = [
        (0, plain(&["list", "modules"])),
        (0, plain(&["status"])),
        (1, with(&["run", "t.toml"], no_threads.0, no_threads.1)),
        (2, plain(&["run"])),
        (2, plain(&["train", "--module", "nmuu"])),
        (2, plain(&["run", "t.toml", "--set", "learning_rate=-1.0"])),
        (2, plain(&["run", "missing.toml"])),
        (2, plain(&["export", "--csv", "-", "--store", "nowhere"])),
        (3, plain(&["status", "t.toml"])),
        (4, plain(&["store", "check", "damaged"])),
        (4, plain(&["report", "t.toml", "--store", "damaged"])),
        (4, plain(&["store", "pack", "damaged", "--into", "record"])),
        (74, full(&["export", "--csv", "-"])),
        (74, with(&["run", "t.toml"], "NALM_FAULT", "full:6")),
    ];
    let mut met: Vec<i32> = cases.iter().map(|(want, _)| *want).chain([75]).collect();
    for (want, command) in cases {
        let shown = format!("{command:?}");
        assert_eq!(code(command), Some(want), "{shown}");
    }
    assert_eq!(stopped(here), Some(75));
    met.dedup();
    assert_eq!(met, documented());
    // Nothing of this did any harm.
    succeed(here, &["run", "t.toml"]);
    succeed(here, &["status", "t.toml"]);
}

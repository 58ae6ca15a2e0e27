//! Every command of docs/tutorial.md, in order, in one new folder.

mod common;

use common::command;
use std::process::{Command, Stdio};

const TEXT: &str = include_str!("../../../docs/tutorial.md");

/// The commands of the text, line by line.
fn commands() -> Vec<&'static str> {
    let blocks = TEXT.split("```sh\n").skip(1).map(|rest| rest.split("```").next().expect("there is always a part"));
    blocks.flat_map(str::lines).collect()
}

#[cfg(unix)]
#[test]
fn every_command_does_what_the_text_says() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let commands = commands();
    assert!(commands.len() > 20 && commands.iter().all(|line| line.starts_with("nalm ")), "{commands:?}");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_nalm")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    for line in commands {
        // As a shell takes it, quotes, pipes and all.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line])
            .current_dir(here)
            .env("PATH", format!("{}:{path}", binary.display()))
            .stdin(Stdio::null());
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        assert!(!said.contains("panicked"), "{line}: {said}");
    }
    for file in [
        "demo.html",
        "compare.html",
        "report/mine.html",
        "sweep/mine.html",
        "report/motivation.html",
        "runs.csv",
        "nalm.bash",
        "nalm-train.1",
    ] {
        assert!(here.join(file).is_file(), "{file}");
    }
    // The store holds what was asked for; the same again trains nothing.
    let again = command(here, &["reproduce", "mine.toml", "--seeds", "5"]).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("all done"));
    // The numbers in the text are those of the program.
    for (module, verdict, formula) in [("nmu", "not solved\n", "y = 1\n"), ("snmu", "solved\n", "y = x1 * x2\n")] {
        let train = ["train", "--module", module, "--range", "U[-2,-1)", "--seed", "4", "--quiet"];
        let output = command(here, &train).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with(verdict) && text.contains(formula), "{text}");
    }
    assert!(TEXT.contains("1.00 [0.72, 1.00]"));
    let output =
        command(here, &["compare", "snmu", "--range", "U[1,2)", "--seeds", "10", "--steps", "10000"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("1.00 [0.72, 1.00]"));
}

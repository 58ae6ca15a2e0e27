//! Experiments with images through the real binary: the same rows however they came about, and errors that say what to do.

#![cfg(feature = "images")]

mod common;

use common::{command, nalm, rows, succeed};
use std::process::Stdio;
use std::time::Duration;

/// One run of a few seconds.
const RUN: [&str; 10] = [
    "run",
    "mnist-isolated-full",
    "--preset",
    "smoke",
    "--set",
    "halved=true",
    "--set",
    "epochs=12",
    "--checkpoint",
    "0",
];

#[test]
fn a_killed_run_goes_on_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    succeed(here, &[&RUN[..], &["--store", "whole", "--threads", "1"]].concat());
    let want = rows(here, "whole");
    assert_eq!(want.lines().count(), 1);
    let (mut kills, mut resumed) = (0, 0);
    for wait in (1..40).map(|k| 60 * k) {
        let more = ["--store", "killed", "--threads", "2"];
        let child = command(here, &[&RUN[..], &more].concat()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the binary starts");
        std::thread::sleep(Duration::from_millis(wait));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let saved = std::fs::read_dir(here.join("killed/checkpoints")).into_iter().flatten().flatten();
        resumed += usize::from(saved.filter(|f| f.path().extension().is_some_and(|e| e == "safetensors")).count() > 0);
    }
    assert!(kills > 0 && resumed > 0, "{kills} kills, {resumed} checkpoints: nothing was interrupted");
    succeed(here, &[&RUN[..], &["--store", "killed"]].concat());
    assert_eq!(rows(here, "killed"), want);
    let left = std::fs::read_dir(here.join("killed/checkpoints")).unwrap().flatten();
    assert_eq!(left.filter(|f| f.path().extension().is_some_and(|e| e == "safetensors")).count(), 0);
    let networks = std::fs::read_dir(here.join("killed/weights")).unwrap().flatten();
    assert_eq!(networks.filter(|f| f.path().extension().is_some_and(|e| e == "safetensors")).count(), 1);
}

#[test]
fn a_damaged_checkpoint_is_named_and_costs_nothing_but_time() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let run = ["run", "mnist-isolated-full", "--preset", "smoke", "--set", "halved=true"];
    succeed(here, &[&run[..], &["--store", "whole"]].concat());
    let want = rows(here, "whole");
    let id = want.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    std::fs::create_dir_all(here.join("store/checkpoints")).unwrap();
    std::fs::write(here.join(format!("store/checkpoints/{id}.safetensors")), b"half a checkp").unwrap();
    let output = nalm(here, &[&run[..], &["--store", "store"]].concat());
    assert!(output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains(id) && message.contains("the run starts anew"), "{message}");
    assert_eq!(rows(here, "store"), want);
    let left = here.join(format!("store/checkpoints/{id}.safetensors"));
    std::fs::write(&left, b"killed between its row and clearing up").unwrap();
    succeed(here, &[&run[..], &["--store", "store", "--dry-run"]].concat());
    assert!(left.exists(), "a dry run changes nothing");
    succeed(here, &[&run[..], &["--store", "store"]].concat());
    assert!(!left.exists());
    let again = succeed(here, &["verify", "--record", "store", "--images", "1"]);
    assert_eq!(again.trim(), "1 of 1 rows are identical");
    let none = nalm(here, &["verify", "--record", "store"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("--images N runs N of its rows with images again"));
}

#[test]
fn pages_have_figures_and_the_scale() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    succeed(here, &["reproduce", "mnist-colour", "--preset", "smoke", "--set", "epochs=0"]);
    let page = std::fs::read_to_string(here.join("report/mnist-colour.md")).unwrap();
    for hint in
        ["Scale: one fold, 1 sample a pair", "strict %", "with a zero", "up to a swap", "mnist-colour-pictures.svg"]
    {
        assert!(page.contains(hint), "{hint} in {page}");
    }
    let pictures = std::fs::read_to_string(here.join("report/mnist-colour-pictures.svg")).unwrap();
    assert!(pictures.contains("second transformer"));
    let status = succeed(here, &["status", "--all"]);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.lines().any(|line| words(line) == "mnist-colour smoke 0 of 2"), "{status}");
    assert!(status.lines().any(|line| words(line) == "mnist-colour --set epochs=0 smoke 2 of 2"), "{status}");
    assert!(succeed(here, &["store", "check", "results"]).contains("rows       2"));
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let fail = |arguments: &[&str]| {
        let output = nalm(here, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let smoke = ["run", "mnist-isolated", "--preset", "smoke"];
    let with = |more: &[&'static str]| [&smoke[..], more].concat();
    assert!(fail(&with(&["--mnist", "nowhere"])).contains("nowhere"));
    assert!(fail(&with(&["--steps", "5"])).contains("--set epochs"));
    assert!(fail(&with(&["--stream", "reference"])).contains("no reference streams"));
    assert!(fail(&with(&["--set", "rz=1.0"])).contains("rz is a setting of mnist-sequential, not of mnist-isolated"));
    assert!(fail(&["run", "mnist-isolated", "--preset", "smok"]).contains("did you mean 'smoke'"));
    let text = include_str!("../../nalm-lab/experiments/mnist-isolated.toml");
    for (from, to, hint) in [
        ("module = \"fc\"", "module = \"fcc\"", "did you mean 'fc'"),
        ("\"pictures\"]", "\"picture\"]", "did you mean 'pictures'"),
        ("above = \"NMU\"", "above = \"NMUU\"", "did you mean 'NMU'"),
        ("constant(3)", "constant(", "constant("),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(here.join("bad.toml"), text.replacen(from, to, 1)).unwrap();
        let message = fail(&["run", "bad.toml", "--preset", "quick"]);
        assert!(message.contains(hint) && message.contains("line"), "{message}");
    }
}

//! Nothing lost, nothing believed without proof: several processes at once, signals, rows that somebody changed.

mod common;

use common::{command, fails_with, nalm, segments, succeed};
use serde_json::{Value, json as value};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Runs that take a moment.
const FILE: &str = r#"
title = "Many"
task = "single-module"
analysis = "Enough runs to be interrupted."

[preset.a]
seeds = 60
steps = 3000
ranges = ["U[1,2)"]

[[model]]
module = "nmu"

[[model]]
module = "snmu"
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("many.toml"), FILE).unwrap();
    folder
}

fn start(here: &Path, arguments: &[&str]) -> Child {
    command(here, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
}

fn compacted(here: &Path, store: &str) -> String {
    succeed(here, &["store", "compact", store])
}

/// What `status` prints as JSON, whether or not runs are missing.
fn rows_of(here: &Path, store: &str) -> u64 {
    let output = nalm(here, &["status", "many.toml", "--store", store, "--json"]);
    serde_json::from_slice::<Value>(&output.stdout).ok().and_then(|v| v["rows"].as_u64()).unwrap_or(0)
}

#[test]
fn eight_processes_share_a_store_while_others_merge_and_pack_it() {
    let folder = folder();
    let here = folder.path();
    let run = ["run", "many.toml", "--steps", "20000"];
    succeed(here, &[&run[..], &["--store", "alone"]].concat());
    let want = compacted(here, "alone");
    let mut eight: Vec<Child> = (0..8).map(|_| start(here, &[&run[..], &["--threads", "1"]].concat())).collect();
    // Some of them die.
    std::thread::sleep(Duration::from_millis(300));
    for child in eight.iter_mut().take(3) {
        child.kill().unwrap();
    }
    let (mut copies, mut last) = (0, 0);
    while eight.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        if here.join("results/seg").is_dir() {
            succeed(here, &["store", "merge", "results", "--into", "merged"]);
            succeed(here, &["store", "pack", "results", "--into", "record"]);
            nalm(here, &["store", "compact", "results"]);
            let rows = rows_of(here, "merged");
            assert!(rows >= last, "{rows} after {last}");
            (copies, last) = (copies + 1, rows);
        }
    }
    eight.iter_mut().for_each(|child| _ = child.wait());
    succeed(here, &run);
    assert!(copies > 1, "nothing was copied meanwhile");
    // What was copied while it grew is copied again.
    succeed(here, &["store", "merge", "results", "--into", "merged"]);
    succeed(here, &["store", "pack", "results", "--into", "record"]);
    for store in ["results", "merged", "record"] {
        assert_eq!(compacted(here, store), want, "{store}");
    }
}

#[test]
fn segments_that_differ_are_not_merged() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "many.toml", "--seeds", "2"]);
    succeed(here, &["store", "merge", "results", "--into", "merged"]);
    let file = segments(&here.join("merged")).remove(0);
    let bytes = std::fs::read(&file).unwrap();
    // The beginning of a segment is replaced by the whole; the whole is not replaced by its beginning.
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    succeed(here, &["store", "merge", "results", "--into", "merged"]);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let source = segments(&here.join("results")).remove(0);
    std::fs::write(&source, &bytes[..bytes.len() / 2]).unwrap();
    succeed(here, &["store", "merge", "results", "--into", "merged"]);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let mut other = bytes.clone();
    other[30] ^= 1;
    std::fs::write(&source, &other).unwrap();
    fails_with(here, &["store", "merge", "results", "--into", "merged"], 4, "neither is the beginning of the other");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

/// Every field of a row is changed in turn, with a checksum that fits.
#[test]
fn every_forged_field_is_found() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "many.toml", "--seeds", "1", "--set", "curve=true"]);
    let file = segments(&here.join("results")).remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let rows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line.rsplit_once('\t').unwrap().0).unwrap()).collect();
    let row = rows[1].clone();
    let mut paths: Vec<String> = Vec::new();
    for (key, inner) in row.as_object().unwrap() {
        match inner.as_object() {
            Some(inner) => paths.extend(inner.keys().map(|name| format!("/{key}/{name}"))),
            None => paths.push(format!("/{key}")),
        }
    }
    assert!(paths.len() >= 30, "{paths:?}");
    paths.push("/reason".into());
    for path in &paths {
        let mut forged = row.clone();
        match forged.pointer_mut(path) {
            Some(place) => *place = changed(place),
            None => forged["reason"] = value!("step 3"),
        }
        let line = |row: &Value| format!("{row}\t{:08x}\n", crc32c::crc32c(row.to_string().as_bytes()));
        let lines: String = [&rows[0], &forged].into_iter().chain(&rows[2..]).map(line).collect();
        std::fs::write(&file, lines).unwrap();
        let check = nalm(here, &["store", "check", "results"]);
        let verify = nalm(here, &["verify", "--record", "results", "--sample", "5"]);
        let codes = (check.status.code(), verify.status.code());
        let found = codes.0 == Some(4) || codes.1 == Some(4);
        assert!(found, "{path} passed: {codes:?} {}", String::from_utf8_lossy(&verify.stdout));
        // What a row can be held against without running it again is found without that.
        let held = path.starts_with("/spec") || ["/id", "/version"].contains(&path.as_str());
        assert!(!held || codes.0 == Some(4), "{path} passed the check of the store");
    }
    std::fs::write(&file, text).unwrap();
    succeed(here, &["store", "check", "results"]);
    succeed(here, &["verify", "--record", "results", "--sample", "5"]);
}

/// A value like it, but another one.
fn changed(old: &Value) -> Value {
    match old {
        Value::Null => value!(1),
        Value::Bool(flag) => value!(!flag),
        Value::Number(n) => n.as_u64().map_or_else(|| value!(n.as_f64().unwrap() * 1.5 + 1e-3), |n| value!(n + 1)),
        Value::String(text) if text == "completed" => value!("diverged"),
        Value::String(text) => {
            let last = if text.ends_with('0') { '1' } else { '0' };
            value!(format!("{}{last}", &text[..text.len() - 1]))
        }
        Value::Array(all) => Value::Array(all.iter().map(changed).collect()),
        Value::Object(map) if map.is_empty() => value!({"noise": "U[1,2]"}),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), changed(value))).collect(),
    }
}

#[cfg(unix)]
mod signals {
    use super::*;

    fn send(child: &Child, signal: &str) {
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits until a program has begun to write rows.
    fn wait_for_rows(child: &mut Child, here: &Path) {
        while !here.join("results/seg").is_dir() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote a row");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A signal stops runs in order; a second one ends the program wherever it is.
    #[test]
    fn the_first_one_stops_and_the_second_one_ends() {
        let folder = folder();
        let here = folder.path();
        let long = ["run", "many.toml", "--steps", "100000000", "--threads", "1"];
        for signal in ["-INT", "-TERM", "-USR1"] {
            let mut child = start(here, &long);
            wait_for_rows(&mut child, here);
            std::thread::sleep(Duration::from_millis(100));
            send(&child, signal);
            assert_eq!(child.wait().unwrap().code(), Some(75), "{signal}");
            std::fs::remove_dir_all(here.join("results")).unwrap();
        }
        // Nobody listens while a training without checkpoints of its own is shown.
        let mut child = start(here, &["train", "--steps", "1000000000"]);
        std::thread::sleep(Duration::from_millis(200));
        send(&child, "-INT");
        let stopped = std::time::Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(stopped.elapsed() < Duration::from_secs(10), "a signal was not heard");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(child.wait().unwrap().code(), Some(75));
    }

    /// Images: what was trained until the signal is saved at the last whole epoch, however seldom checkpoints are due.
    #[cfg(feature = "images")]
    #[test]
    fn a_stopped_image_run_saves_its_state() {
        let folder = folder();
        let here = folder.path();
        let run = [
            "run",
            "mnist-isolated-full",
            "--preset",
            "smoke",
            "--set",
            "halved=true",
            "--set",
            "epochs=1000000",
            "--threads",
            "1",
        ];
        // Long enough for an epoch, which nobody knows of a machine that does much else.
        let saved = [4, 8, 16, 32, 64].into_iter().find_map(|seconds| {
            let mut child = start(here, &run);
            wait_for_rows(&mut child, here);
            std::thread::sleep(Duration::from_secs(seconds));
            send(&child, "-TERM");
            assert_eq!(child.wait().unwrap().code(), Some(75));
            std::fs::read_dir(here.join("results/checkpoints")).ok().map(Iterator::count)
        });
        assert_eq!(saved, Some(1));
    }
}

/// A shortage that passes leaves a run missing, and not a result.
#[test]
fn a_failed_run_is_named_tried_again_and_then_forgotten() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(
        here.join("data.csv"),
        "a,b,t\n1,2,2\n3,4,12\n2,5,10\n4,1,4\n2,2,4\n3,3,9\n1,5,5\n2,3,6\n4,4,16\n5,1,5\n5,2,10\n5,3,15\n",
    )
    .unwrap();
    let table = "title = \"T\"\ntask = \"table\"\ndata = \"data.csv\"\ntarget = \"t\"\n[preset.a]\nseeds = 1\nsteps = 100\n[[model]]\nmodule = \"nmu\"\n";
    std::fs::write(here.join("table.toml"), table).unwrap();
    succeed(here, &["run", "table.toml", "--store", "good"]);
    // The same row as a process writes it that could not carry the run out.
    std::fs::create_dir_all(here.join("results/seg")).unwrap();
    let text = std::fs::read_to_string(segments(&here.join("good")).remove(0)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut row: Value = serde_json::from_str(lines[1].rsplit_once('\t').unwrap().0).unwrap();
    row["status"] = value!("failed");
    row["reason"] = value!("no memory");
    row["metrics"] = value!({});
    let failed = format!("{row}\t{:08x}", crc32c::crc32c(row.to_string().as_bytes()));
    std::fs::write(here.join("results/seg/1.jsonl"), format!("{}\n{failed}\n{}\n", lines[0], lines[2])).unwrap();
    let check = succeed(here, &["store", "check", "results"]);
    assert!(check.contains("failed     1") && check.contains(": no memory"), "{check}");
    let status = nalm(here, &["status", "table.toml"]);
    assert_eq!(status.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&status.stdout).contains("no memory"));
    // Merged with a store that has it, it is no conflict.
    succeed(here, &["store", "merge", "good", "results", "--into", "both"]);
    assert!(succeed(here, &["status", "table.toml", "--store", "both"]).contains("1 of 1\n"));
    assert!(succeed(here, &["run", "table.toml"]).is_empty());
    assert_eq!(compacted(here, "results"), compacted(here, "good"));
    assert!(succeed(here, &["store", "check", "results"]).contains("failed     0"));
}

/// A task whose runs are saved on their way, and cannot be carried out while there is a shortage.
mod shortage {
    use super::folder;
    use nalm_lab::Registry;
    use nalm_lab::error::Result;
    use nalm_lab::run::{Row, Spec, Status};
    use nalm_lab::task::{Advance, Catalogue, Choices, Finished, Run, Task, Watch};
    use serde_json::json;
    use std::process::ExitCode;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

    #[derive(Default)]
    struct Scarce {
        is_short: AtomicBool,
        restored: AtomicUsize,
    }

    impl Task for Scarce {
        fn name(&self) -> &str {
            "scarce"
        }
        fn summary(&self) -> &str {
            "needs what is not always there"
        }
        fn settings(&self) -> Vec<nalm::Setting> {
            Vec::new()
        }
        fn numerics(&self) -> u64 {
            1
        }
        fn specify(&self, _: &Catalogue, choices: &Choices) -> Result<Spec> {
            let spec = json!({"task": "scarce", "module": choices.module, "seed": choices.seed, "numerics": 1});
            Ok(serde_json::from_value(spec)?)
        }
        fn check(&self, _: &Catalogue, _: &Spec) -> Result<usize> {
            Ok(1)
        }
        fn cost(&self, _: &Spec) -> f64 {
            1.0
        }
        fn is_long(&self) -> bool {
            true
        }
        fn start<'a>(&'a self, _: &'a Catalogue, job: &[&'a Spec], _: usize) -> Result<Box<dyn Run + 'a>> {
            Ok(Box::new(Half { task: self, spec: job[0], is_half_done: false }))
        }
    }

    struct Half<'a> {
        task: &'a Scarce,
        spec: &'a Spec,
        is_half_done: bool,
    }

    impl Run for Half<'_> {
        fn advance(&mut self, _: &dyn Watch) -> Result<Advance> {
            if !self.is_half_done {
                self.is_half_done = true;
                return Ok(Advance::Further);
            }
            assert!(!self.task.is_short.load(Relaxed), "no memory");
            let row = Row::new(self.spec, Status::Completed, None, "0".repeat(32));
            Ok(Advance::Done(vec![Finished { row, tensors: None }]))
        }
        fn save(&self) -> Result<Option<Vec<u8>>> {
            Ok(self.is_half_done.then(|| b"half".to_vec()))
        }
        fn restore(&mut self, bytes: &[u8]) -> Result<()> {
            assert_eq!(bytes, b"half");
            self.is_half_done = true;
            self.task.restored.fetch_add(1, Relaxed);
            Ok(())
        }
    }

    /// The command says so, keeps the state of the run, and carries it out from there the next time.
    #[test]
    fn a_run_that_fails_keeps_its_state_and_is_tried_again() {
        let folder = folder();
        let here = folder.path();
        let file = here.join("scarce.toml");
        let text = "title = \"S\"\ntask = \"scarce\"\n[preset.a]\nseeds = 1\n[[model]]\nmodule = \"nmu\"\n";
        std::fs::write(&file, text).unwrap();
        let task = Arc::new(Scarce { is_short: AtomicBool::new(true), ..Scarce::default() });
        let mut registry = Registry::default();
        registry.catalogue.add_task(task.clone()).unwrap();
        let (file, store) = (file.to_str().unwrap(), here.join("results"));
        let nalm = |verb: &str, more: &[&str]| {
            let words = [&["nalm", verb, file, "--store", store.to_str().unwrap()], more].concat();
            nalm_cli::run(&registry, words.into_iter().map(Into::into))
        };
        let states = || std::fs::read_dir(store.join("checkpoints")).map_or(0, Iterator::count);
        let run = || nalm("run", &["--checkpoint", "0", "--threads", "1"]);
        for restored in 0..3 {
            assert_eq!((run(), states()), (ExitCode::from(1), 1));
            assert_eq!((nalm("status", &[]), task.restored.load(Relaxed)), (ExitCode::from(3), restored));
        }
        task.is_short.store(false, Relaxed);
        assert_eq!((run(), states(), task.restored.load(Relaxed)), (ExitCode::SUCCESS, 0, 3));
        assert_eq!(nalm("status", &[]), ExitCode::SUCCESS);
    }
}

/// What no machine has is refused before anything is allocated, with what would have been needed.
#[test]
fn limits_are_checked_before_memory_is_taken() {
    let folder = folder();
    let here = folder.path();
    for (arguments, hint) in [
        (&["train", "--module", "mlp", "--hidden", "1000000000000"][..], "at most 2^31"),
        (&["train", "--module", "mlp", "--hidden", "500000000", "--memory", "8GB"], "needs about"),
        (&["train", "--task", "arithmetic", "--inputs", "100000", "--steps", "1", "--memory", "1GB"], "say --memory 8"),
        (&["train", "--task", "arithmetic", "--set", "factors=100000000"], "but 1300000012 is needed"),
        (&["train", "--task", "arithmetic", "--set", "factors=100000000000"], "but 1300000000012 is needed"),
        (
            &["train", "--task", "arithmetic", "--set", "factors=100000000000", "--set", "overlap=1"],
            "at most the number of inputs",
        ),
        (
            &["run", "many.toml", "--seeds", "1000000", "--dry-run", "--memory", "1GB"],
            "a plan of 2000000 runs needs about 5 GB",
        ),
        (&["run", "many.toml", "--memory", "lots"], "write it like 8GB"),
    ] {
        fails_with(here, arguments, 2, hint);
    }
    #[cfg(feature = "images")]
    for setting in ["batch=100000000", "samples=100000000000"] {
        let run = ["run", "mnist-isolated", "--preset", "smoke", "--set", setting, "--dry-run"];
        fails_with(here, &run, 2, "a run needs about");
    }
}

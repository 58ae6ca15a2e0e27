//! Experiments through the real binary: the same results however they came about.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn nalm(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nalm")).args(arguments).current_dir(folder).output().expect("the binary starts")
}

fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = nalm(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All rows of a store, in the order of their identity.
fn rows(folder: &Path, store: &str) -> String {
    succeed(folder, &["export", "--jsonl", "-", "--store", store])
}

const SMOKE: [&str; 4] = ["run", "single-module", "--preset", "smoke"];

fn run_smoke(folder: &Path, more: &[&str]) {
    succeed(folder, &[&SMOKE[..], more].concat());
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder.join("seg")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn results_depend_neither_on_threads_nor_on_splitting() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    run_smoke(here, &["--threads", "1", "--store", "one"]);
    let want = rows(here, "one");
    assert_eq!(want.lines().count(), 48);
    for threads in ["2", "7"] {
        run_smoke(here, &["--threads", threads, "--store", threads]);
        assert_eq!(rows(here, threads), want, "{threads} threads");
    }
    // One seed in one store, all seeds but with other segments in another; merging is copying.
    run_smoke(here, &["--seeds", "1", "--store", "part"]);
    std::fs::create_dir_all(here.join("merged/seg")).unwrap();
    for store in ["part", "2"] {
        for file in segments(&here.join(store)) {
            std::fs::copy(&file, here.join("merged/seg").join(file.file_name().unwrap())).unwrap();
        }
    }
    assert_eq!(rows(here, "merged"), want);
    assert!(succeed(here, &["status", "--store", "merged"]).contains("24 duplicates, 0 conflicts"));
    let checked = succeed(here, &["store", "merge", "part", "2", "--into", "again"]);
    assert!(checked.contains("rows       48") && checked.contains("duplicates 24"), "{checked}");
    let compact = |store: &str| succeed(here, &["store", "compact", store]);
    assert_eq!(compact("again"), compact("one"));
    assert!(!nalm(here, &["store", "check", "nowhere"]).status.success());
}

#[test]
fn nothing_is_done_twice() {
    let folder = tempfile::tempdir().unwrap();
    run_smoke(folder.path(), &[]);
    let again = nalm(folder.path(), &SMOKE);
    assert!(String::from_utf8_lossy(&again.stderr).contains("48 of them done, 0 to do"));
    assert_eq!(segments(&folder.path().join("results")).len(), 1, "no segment without a row");
    let dry = nalm(folder.path(), &["run", "single-module-snmu", "--preset", "smoke", "--dry-run"]);
    assert!(String::from_utf8_lossy(&dry.stderr).contains("9 runs, 6 of them done, 3 to do"), "shared runs are shared");
}

/// Long enough to be interrupted: 12 units on one range, 12 seeds.
fn start_long(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nalm"));
    command.args(["run", "single-module", "--preset", "smoke", "--seeds", "12", "--steps", "6000"]);
    command.current_dir(folder).stderr(Stdio::null()).spawn().unwrap()
}

fn wait_for_rows(folder: &Path, least: usize) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let written = folder.join("results/seg").exists()
            && segments(&folder.join("results")).iter().any(|f| std::fs::read(f).unwrap().len() > 700 * least);
        if written {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no rows after a minute");
}

fn long_rows(folder: &Path) -> String {
    succeed(folder, &["run", "single-module", "--preset", "smoke", "--seeds", "12", "--steps", "6000"]);
    rows(folder, "results")
}

#[test]
fn a_killed_run_continues_to_the_same_results() {
    let (undisturbed, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let want = long_rows(undisturbed.path());
    assert_eq!(want.lines().count(), 288);
    for least in [3, 10] {
        let mut child = start_long(killed.path());
        wait_for_rows(killed.path(), least);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(long_rows(killed.path()), want);
}

#[cfg(unix)]
#[test]
fn a_stopped_run_seals_its_segment_and_says_that_it_can_continue() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_long(folder.path());
    wait_for_rows(folder.path(), 3);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(75));
    let text = std::fs::read_to_string(&segments(&folder.path().join("results"))[0]).unwrap();
    assert!(text.lines().last().unwrap().contains("\"sealed\":true"));
    assert!(succeed(folder.path(), &["status"]).contains("0 torn lines"));
}

#[test]
fn a_report_is_complete_and_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let line = succeed(here, &["reproduce", "single-module-snmu", "--preset", "smoke"]);
    assert!(line.contains("published values agree; report/single-module-snmu.html"), "{line}");
    let read = |name: &str| std::fs::read_to_string(here.join("report").join(name)).unwrap();
    let names = ["html", "md", "svg", "csv"].map(|extension| format!("single-module-snmu.{extension}"));
    let first = names.clone().map(|name| read(&name));
    succeed(here, &["report", "single-module-snmu", "--preset", "smoke"]);
    assert_eq!(first, names.map(|name| read(&name)));
    let [html, markdown, svg, csv] = first;
    assert!(html.contains("<svg") && !html.contains("http://www.w3.org/1999") && !html.contains("src="));
    assert!(markdown.contains("| sNMU | U[-2,-1) |") && svg.contains("Training range"));
    assert_eq!(csv.lines().count(), 1 + 3);
}

#[test]
fn exported_rows_feed_the_statistics() {
    let folder = tempfile::tempdir().unwrap();
    run_smoke(folder.path(), &[]);
    succeed(folder.path(), &["export", "--csv", "rows.csv"]);
    let text = succeed(folder.path(), &["stats", "rows.csv", "--json"]);
    let groups: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(groups.as_array().unwrap().len(), 24);
    let row: serde_json::Value = serde_json::from_str(rows(folder.path(), "results").lines().next().unwrap()).unwrap();
    for key in
        ["id", "experiments", "task", "module", "options", "range", "seed", "stream", "steps", "status", "solved"]
    {
        assert!(row.get(key).is_some(), "{key}");
    }
}

#[test]
fn wrong_experiments_and_unwritable_places_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let fails = |arguments: &[&str], hint: &str| {
        let output = nalm(here, arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(hint), "{arguments:?}: {text}");
    };
    fails(&["run", "single-modul"], "did you mean 'single-module'");
    fails(&["run", "missing.toml"], "missing.toml");
    fails(&["run", "single-module", "--preset", "smok"], "did you mean 'smoke'");
    fails(&["run", "single-module", "--seeds", "0"], "0 seeds");
    std::fs::write(here.join("broken.toml"), "title = \"x\"\ntask = ").unwrap();
    fails(&["run", "broken.toml"], "broken.toml");
    std::fs::write(here.join("file"), "in the way").unwrap();
    fails(&["run", "single-module", "--preset", "smoke", "--store", "file"], "file");
    run_smoke(here, &[]);
    fails(&["report", "single-module", "--preset", "smoke", "--out", "file"], "file");
}

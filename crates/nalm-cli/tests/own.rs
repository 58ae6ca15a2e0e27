//! Everything of one's own: an experiment file with two ranges, a three-layer stack, a sweep and a table runs, is killed, resumes, reports,
//! exports and is judged.

mod common;

use common::{command, json, nalm, rows, succeed};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const RANGES: &str = r#"
title = "Ranges, a stack and a sweep of one's own"
task = "arithmetic"
inputs = 10
analysis = "Two ranges that no paper used, a stack of three layers, two learning rates."
baselines = ["NMU"]

[preset.small]
seeds = 4
steps = 20000
ranges = [{ train = "U[3,4)", test = "U[4,10)" }, { train = "U[0.5,1)", test = "U[1,3)" }]

[sweep]
learning_rate = [1e-3, 1e-2]

[[model]]
module = "nmu"
label = "NMU"

[[model]]
layers = ["nau 10->3", "nau 3->2", { module = "snmu", noise = "U[1,3]" }]

[[expect]]
model = "NMU"
section = "on U[3,4)"
range = "0.01"
below = 1.0
source = "a guess"
"#;

const TABLE: &str = r#"
title = "A table of one's own"
task = "table"
data = "measurements.csv"
target = "watts"
columns = "volts, amperes"
split = "extremes"
split_by = "volts"
analysis = "The power is the product of voltage and current."

[preset.small]
seeds = 3
steps = 20000

[[model]]
module = "nmu"

[[model]]
module = "snmu"

[[expect]]
model = "nmu"
is = 1.0
source = "physics"
"#;

/// 500 rows, a column of words among them.
fn write_files(here: &Path) {
    let mut table = String::from("\u{feff}name;volts;amperes;watts\r\n");
    for k in 0..500u32 {
        // Numbers without a pattern, from a multiplicative generator.
        let part = |n: u32| f64::from(n.wrapping_mul(2_654_435_761) >> 16) / 65_536.0;
        let (volts, amperes) = (1.0 + 2.0 * part(k + 1), 0.5 + part(7 * k + 3));
        table += &format!("device {k};{volts};{amperes};{}\r\n", volts * amperes);
    }
    std::fs::write(here.join("measurements.csv"), table).unwrap();
    std::fs::write(here.join("ranges.toml"), RANGES).unwrap();
    std::fs::write(here.join("table.toml"), TABLE).unwrap();
}

const RUN: [&str; 5] = ["run", "ranges.toml", "table.toml", "--threads", "2"];

#[test]
fn it_runs_is_killed_resumes_reports_exports_and_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    succeed(here, &[&RUN[..], &["--store", "whole"]].concat());
    let want = rows(here, "whole");
    assert_eq!(want.lines().count(), 2 * 2 * 2 * 4 + 2 * 3);
    let (start, mut kills) = (Instant::now(), 0);
    for wait in (1..).map(|k| 40 * k) {
        let child = command(here, &[&RUN[..], &["--store", "killed"]].concat()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the binary starts");
        std::thread::sleep(Duration::from_millis(wait));
        if child.try_wait().unwrap().is_some() || start.elapsed() > Duration::from_secs(60) {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills > 0);
    succeed(here, &[&RUN[..], &["--store", "killed"]].concat());
    assert_eq!(rows(here, "killed"), want);

    let found = json(here, &["report", "ranges.toml", "table.toml", "--store", "killed", "--json"]);
    let verdicts =
        |k: usize| found[k]["verdicts"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
    assert_eq!((&found[0]["rows"], verdicts(0)), (&32.into(), 1));
    assert_eq!((&found[1]["rows"], verdicts(1)), (&6.into(), 1));
    let page = std::fs::read_to_string(here.join("report/ranges.md")).unwrap();
    for hint in
        ["All results: on U[3,4)", "All results: on U[0.5,1)", "| NAU-NAU-sNMU | 0.01 |", "Seed by seed against NMU"]
    {
        assert!(page.contains(hint), "{hint} in {page}");
    }
    let page = std::fs::read_to_string(here.join("report/table.md")).unwrap();
    assert!(page.contains("| NMU | 3 of 3: 1.00 [0.44, 1.00] |"), "{page}");

    let csv = succeed(here, &["export", "--csv", "-", "--store", "killed"]);
    assert_eq!(csv.lines().count(), 1 + 38);
    assert!(csv.contains("\"\"module\"\":\"\"nau\"\"") && csv.contains(",table,"), "{csv}");
    // A record of it verifies, given the table's file.
    succeed(here, &["store", "pack", "killed", "--into", "record"]);
    let again = succeed(here, &["verify", "--record", "record", "--sample", "38", "--data", "measurements.csv"]);
    assert_eq!(again.trim(), "38 of 38 rows are identical");
    // Without it, its rows are not different: they cannot be run.
    let output = nalm(here, &["verify", "--record", "record", "--sample", "38"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.ends_with("32 of 38 rows are identical\n") && !text.contains("different"), "{text}");
    assert_eq!(text.matches("is not here; give its file with --data").count(), 6, "{text}");
}

#[test]
fn one_run_takes_the_same_choices() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    let row = json(
        here,
        &[
            "train",
            "--task",
            "table",
            "--data",
            "measurements.csv",
            "--target",
            "watts",
            "--set",
            "columns=volts,amperes",
            "--json",
        ],
    );
    assert_eq!((&row["metrics"]["solved"], &row["spec"]["inputs"]), (&true.into(), &2.into()));
    assert!(
        row["artefacts"]["weights"].as_array().unwrap().iter().all(|w| (w.as_f64().unwrap() - 1.0).abs() < 1e-5),
        "{row}"
    );
    let row = json(
        here,
        &[
            "train",
            "--task",
            "arithmetic",
            "--inputs",
            "10",
            "--layers",
            "nau 10->3, nau 3->2, snmu",
            "--steps",
            "1000",
            "--json",
        ],
    );
    assert_eq!(row["spec"]["layers"][1]["module"], "nau");
    assert_eq!(row["artefacts"]["weights"].as_array().unwrap().len(), 30 + 6 + 2);
    let changed = format!("{}\n", std::fs::read_to_string(here.join("measurements.csv")).unwrap());
    std::fs::write(here.join("measurements.csv"), changed).unwrap();
    let other = json(
        here,
        &[
            "train",
            "--task",
            "table",
            "--data",
            "measurements.csv",
            "--target",
            "watts",
            "--set",
            "columns=volts,amperes",
            "--steps",
            "10",
            "--json",
        ],
    );
    assert_ne!(other["spec"]["data"], serde_json::Value::Null);
}

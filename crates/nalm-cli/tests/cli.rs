//! The real binary, from the outside.

mod common;

use common::{fails_with as fails_in, json as json_in, nalm as nalm_in};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Output;

/// None of these verbs cares where it is.
fn nalm(arguments: &[&str]) -> Output {
    nalm_in(Path::new("."), arguments)
}

fn json(arguments: &[&str]) -> Value {
    json_in(Path::new("."), arguments)
}

fn fails_with(arguments: &[&str], code: i32, hint: &str) {
    fails_in(Path::new("."), arguments, code, hint);
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn every_verb_explains_itself_with_an_example() {
    for verb in [
        "demo",
        "compare",
        "new",
        "man",
        "list",
        "train",
        "run",
        "submit",
        "status",
        "report",
        "reproduce",
        "verify",
        "claims",
        "export",
        "store",
        "describe",
        "stats",
        "gradcheck",
        "fit",
        "predict",
        "check",
        "bench",
        "completions",
    ] {
        let output = nalm(&[verb, "--help"]);
        assert!(output.status.success() && stdout(&output).contains("Example"), "{verb}");
    }
}

#[test]
fn the_demo_shows_both_units_and_no_control_characters() {
    let text = stdout(&nalm(&["demo", "--seeds", "5"]));
    assert!(text.contains("FAIL 0.3,0.3") && text.contains("the sNMU 5 of 5"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_run_reports_what_the_library_finds() {
    let row =
        json(&["train", "--module", "nmu", "--range", "U[1,2)", "--stream", "reference", "--steps", "12000", "--json"]);
    assert_eq!(row["artefacts"]["weights"], serde_json::json!([1.0, 1.0]));
    let metrics = &row["metrics"];
    assert_eq!((&metrics["solved"], &metrics["solved_simulated"]), (&true.into(), &true.into()));
    assert_eq!(metrics["best_step"], 11000);
    assert!((metrics["test_error"].as_f64().unwrap() / 9.935_092_75e-13 - 1.0).abs() < 1e-6);
    assert_eq!(row["status"], "completed");
}

#[test]
fn curves_are_written_as_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("curve.csv");
    let file = path.to_str().unwrap();
    assert!(nalm(&["train", "--steps", "3000", "--curve", file]).status.success());
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().next(), Some("step,validation_error,test_error,sparsity_error"));
    assert_eq!(text.lines().count(), 1 + 4);
}

#[test]
fn wrong_requests_are_answered_with_the_repair() {
    fails_with(&["train", "--module", "smnu"], 2, "did you mean 'snmu'");
    fails_with(&["train", "--task", "aritmetic"], 2, "did you mean 'arithmetic'");
    fails_with(&["train", "--module", "nmu", "--noise", "batch"], 2, "has no option noise");
    fails_with(&["train", "--range", "U[2,1)"], 2, "above the lower bound");
    fails_with(&["train", "--range", "U[3,4)"], 2, "--test-range");
    fails_with(&["train", "--learning-rate", "NaN"], 2, "learning_rate is NaN");
    fails_with(&["train", "--curve", "/dev/null/all.csv", "--steps", "10", "--json"], 2, "/dev/null is no folder");
    fails_with(&["gradcheck", "nmuu"], 2, "did you mean 'nmu'");
    fails_with(&["demo", "--seeds", "0"], 2, "0");
    fails_with(&["stats", "missing.csv"], 2, "missing.csv");
}

#[test]
fn gradcheck_lists_every_module() {
    let rows = json(&["gradcheck", "--json"]);
    let modules = json(&["list", "modules", "--json"]);
    let modules = modules.as_array().unwrap().iter().filter(|module| module.get("stands_for").is_none());
    assert_eq!(rows.as_array().unwrap().len(), modules.count());
    assert!(rows.as_array().unwrap().iter().all(|r| r["worst_relative_error"].as_f64().unwrap() <= 1e-6));
}

fn table(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

const RUNS: &str = "model,seed,solved,solved_at,sparsity_error
A,0,true,1000,0.1
A,1,true,2000,0.2
A,2,false,NA,0.4
B,0,true,3000,0.01
B,1,true,4000,0.02
B,2,true,5000,0.03
";

#[test]
fn statistics_of_a_table() {
    let file = table(RUNS);
    let path = file.path().to_str().unwrap();
    let rows = json(&["stats", path, "--json"]);
    assert_eq!(rows[0]["group"]["model"], "A");
    assert_eq!(rows[0]["n"], 3);
    assert!((rows[0]["success"]["mean"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(rows[1]["success"]["upper"], 1.0);
    assert!((rows[1]["solved_at"]["mean"].as_f64().unwrap() - 4000.0).abs() < 1e-6);
    let csv = stdout(&nalm(&["stats", path, "--csv"]));
    assert!(csv.starts_with("model,n,success_mean,success_lower,success_upper,solved_at_mean"), "{csv}");
    // Values stand under their own headers, however the columns are ordered.
    let several = table("zeta,alpha,seed,solved,solved_at,sparsity_error\nz,a,0,true,1,0.1\nz,a,1,true,2,0.2\n");
    let csv = stdout(&nalm(&["stats", several.path().to_str().unwrap(), "--csv"]));
    assert!(csv.starts_with("zeta,alpha,n,") && csv.contains("\nz,a,2,1,"), "{csv}");
    // With its steps it counts with all of them: (1000 + 2000 + 6000) / 3.
    let known = table("seed,solved,solved_at,steps\n0,true,1000,6000\n1,true,2000,6000\n2,false,NA,6000\n");
    let mean = &json(&["stats", known.path().to_str().unwrap(), "--json"])[0]["unsolved"]["restricted_mean"]["mean"];
    assert!((mean.as_f64().unwrap() - 3000.0).abs() < 1e-9, "{mean}");
    // Names as pages write them, too.
    let pair = json(&["stats", path, "--paired", "a,B", "--json"]);
    assert_eq!(pair["pairs"], 3);
    assert_eq!(pair["success"]["only_b"], 1);
    assert_eq!(pair["solved_at"]["a_first"], 2);
    // How long the run that never solves was watched is not known, so there is no mean over all of them.
    let unsolved = &rows[0]["unsolved"];
    assert!(unsolved["restricted_mean"]["mean"].is_null(), "{unsolved}");
    assert_eq!((&unsolved["until"], &unsolved["median"]), (&5000.0.into(), &2000.0.into()));
    assert_eq!(unsolved["curve"].as_array().unwrap().len(), 2);
    assert!((pair["success"]["difference"]["mean"].as_f64().unwrap() + 1.0 / 3.0).abs() < 1e-12, "{pair}");
    assert!(pair["unsolved"]["log_rank_p"].as_f64().is_some_and(|p| p > 0.05), "{pair}");
    assert!(pair["success"]["seeds_to_decide"].as_u64().is_some_and(|n| n > 3), "{pair}");
    // The same numbers in a table.
    let csv = stdout(&nalm(&["stats", path, "--paired", "A,B", "--csv"]));
    let (head, row) = csv.trim().split_once('\n').unwrap();
    let cell = |name: &str| {
        let column = head.split(',').position(|column| column == name).unwrap_or_else(|| panic!("{name}: {head}"));
        row.split(',').nth(column).unwrap().parse::<f64>().unwrap()
    };
    for (name, value) in [
        ("difference_mean", &pair["success"]["difference"]["mean"]),
        ("difference_upper", &pair["success"]["difference"]["upper"]),
        ("seeds_to_decide_success", &pair["success"]["seeds_to_decide"]),
        ("log_rank_chi2", &pair["unsolved"]["log_rank_chi2"]),
        ("log_rank_p", &pair["unsolved"]["log_rank_p"]),
        ("seeds_to_decide_log_rank", &pair["unsolved"]["seeds_to_decide"]),
    ] {
        assert_eq!(Some(cell(name)), value.as_f64(), "{name}: {csv}");
    }
    let text = stdout(&nalm(&["stats", path, "--paired", "A,B"]));
    assert!(text.contains("\nlog-rank   chi2 = ") && text.contains("\nto decide  "), "{text}");
    // With a column of steps, it counts as long as that says.
    let watched = RUNS.replace("\n", ",9000\n").replacen(",9000", ",steps", 1);
    let watched = json(&["stats", table(&watched).path().to_str().unwrap(), "--json"]);
    assert!((watched[0]["unsolved"]["restricted_mean"]["mean"].as_f64().unwrap() - 4000.0).abs() < 1e-9, "{watched}");
    assert!(stdout(&nalm(&["stats", path])).contains("solved at"));
    assert!(!String::from_utf8_lossy(&nalm(&["stats", path]).stderr).contains("left out"));
    let unjudged = table(&format!("{RUNS}C,0,NA,1,0.1\n"));
    let output = nalm(&["stats", unjudged.path().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 run is left out, neither solved nor unsolved"), "{said}");
    // A name may be longer than a column can be wide.
    let long = table(&RUNS.replace("\nA,", &format!("\n{},", "A".repeat(70_000))));
    assert!(stdout(&nalm(&["stats", long.path().to_str().unwrap()])).contains("0.67 ["));
}

#[test]
fn broken_tables_are_named_by_line_and_column() {
    for (text, hint) in [
        ("model,seed,solved_at\nA,0,1\n", "no column 'solved'; it needs seed and solved"),
        ("seed,solved,solved_at,sparsity_error\n0,maybe,1,1\n", "line 2, column solved: 'maybe'"),
        ("seed,solved,solved_at,sparsity_error\n0,true,1,0.1\n1,true,x,0.1\n", "line 3, column solved_at: 'x'"),
        ("seed,solved,solved_at,sparsity_error\n0,true,1,NaN\n", "column sparsity_error: 'NaN'"),
        (
            "seed,solved,solved_at,sparsity_error\n0,true,-5,0.1\n",
            "column solved_at: '-5' is neither a finite number from 0",
        ),
        (
            "m,seed,solved,solved_at,sparsity_error\nA,0,true,1,0.1\nA,0,true,1,0.1\n",
            "line 3: a second run of A with seed 0",
        ),
        ("seed,solved,solved_at,sparsity_error\n", "no runs"),
        ("seed,solved,solved_at,sparsity_error\n0,true\n", "line 2"),
    ] {
        let file = table(text);
        fails_with(&["stats", file.path().to_str().unwrap()], 2, hint);
    }
    let file = table(RUNS);
    let path = file.path().to_str().unwrap();
    fails_with(&["stats", path, "--paired", "A"], 2, "comma");
    fails_with(&["stats", path, "--paired", "A,C"], 2, "no column has both 'A' and 'C'");
}

// Elsewhere, there is no device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn nobody_has_to_read_what_is_written() {
    let closed = |arguments: &[&str], full: bool| {
        let sink = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nalm"));
        command.args(arguments);
        if full {
            command.stdout(sink())
        } else {
            command.stderr(sink())
        };
        command.output().unwrap().status.code()
    };
    assert_eq!(closed(&["train", "--steps", "2000"], false), Some(0), "progress that cannot be shown");
    for arguments in [&["completions", "bash"][..], &["list", "modules"], &["train", "--steps", "100"]] {
        assert_eq!(closed(arguments, true), Some(74), "{arguments:?}");
    }
}

#[test]
fn nonsense_is_named_before_any_step() {
    fails_with(&["train", "--learning-rate", "-1"], 2, "learning rate is -1");
    fails_with(&["train", "--gradient-noise", "-1"], 2, "gradient noise is -1");
    fails_with(&["train", "--inputs", "100000000"], 2, "of memory, and may take");
    fails_with(&["train", "--curve", "/dev/null/all.csv"], 2, "/dev/null is no folder");
    fails_with(&["train", "--schedule", "second-order", "--learning-rate", "0.1"], 2, "the phases say it");
    fails_with(&["verify", "--record", "record", "single-module"], 2, "cannot be used with");
    fails_with(
        &["export", "--csv", "-", "--store", "/nowhere/at/all"],
        2,
        "there is no folder /nowhere/at/all here yet",
    );
}

#[test]
fn networks_are_drawn_as_diagrams() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("network.svg");
    let path = file.to_str().unwrap();
    assert_eq!(stdout(&nalm(&["describe", "nau-snmu", "--inputs", "100", "--svg", path])).trim(), path);
    let drawn = std::fs::read_to_string(&file).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("NAU 100 → 2") && drawn.contains("noise U[1,5]"), "{drawn}");
    fails_with(&["describe", "table", "--svg", path], 2, "describe the module or stack");
    fails_with(&["describe", "nau-smnu", "--svg", path], 2, "did you mean 'snmu'");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), drawn);
}

#[test]
fn stacks_are_described_with_their_parameters() {
    let text = stdout(&nalm(&["describe", "nau-snmu", "--inputs", "100"]));
    assert!(text.contains("NAU 100→2, 200 parameters") && text.contains("202 parameters in all"), "{text}");
    fails_with(&["describe", "nau-smnu"], 2, "did you mean 'snmu'");
}

#[test]
fn benchmarks_name_every_step_and_its_instructions() {
    let rows = json(&["bench", "--json"]);
    let rows = rows.as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["step"], &rows[10]["step"]), (11, &"nmu-2-1".into(), &"mlp-100".into()));
    let best = nalm::InstructionSet::best().name();
    // From a nanosecond to a millisecond a step, however busy the machine.
    assert!(
        rows.iter().all(|row| row["path"] == best && (1.0..1e6).contains(&row["ns"].as_f64().unwrap())),
        "{rows:?}"
    );
}

#[test]
fn instructions_are_chosen_by_name() {
    let rows = json(&["bench", "--json", "--instructions", "portable"]);
    let portable = nalm::InstructionSet::PORTABLE.name();
    assert!(rows.as_array().unwrap().iter().all(|row| row["path"] == portable), "{rows}");
    let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    fails_with(&["bench", "--instructions", foreign], 2, "instruction set of this machine");
    fails_with(&["demo", "--instructions", "avx3"], 2, "portable");
}

#[test]
fn completions_and_manual_are_made_from_the_definition() {
    assert!(stdout(&nalm(&["completions", "bash"])).contains("reproduce"));
    assert!(stdout(&nalm(&["man"])).contains(".TH"));
}

#[test]
fn a_schedule_solves_what_steps_do_not() {
    let narrow =
        ["train", "--task", "arithmetic", "--module", "snmu", "--inputs", "20", "--range", "U[1.1,1.2)", "--json"];
    let solved = |more: &[&str]| {
        let row = json(&[&narrow[..], more].concat());
        (row["metrics"]["solved"].as_bool().unwrap(), row)
    };
    let (yes, row) = solved(&["--schedule", "second-order"]);
    assert!(yes && row["metrics"]["sparsity_error"] == 0.0 && row["metrics"]["attempts"] == 1, "{row}");
    assert_eq!(row["spec"]["schedule"]["phase"][1]["optimiser"], "lm");
    let (yes, row) = solved(&["--steps", "20000"]);
    assert!(!yes && row["spec"].get("schedule").is_none() && row["metrics"].get("attempts").is_none(), "{row}");
    fails_with(&["train", "--schedule", "second-ordr"], 2, "did you mean 'second-order'");
    fails_with(&["train", "--schedule", "second-order", "--steps", "5"], 2, "--steps");
    let listed = json(&["list", "schedules", "--json"]);
    assert!(listed.as_array().unwrap().iter().any(|spec| spec["name"] == "pearson-then-mse"), "{listed}");
}

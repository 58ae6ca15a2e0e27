//! The first hour of a new user: whatever once stopped or misled one, with what is said and done instead.

mod common;

use common::{command, fails_with, json, nalm, succeed};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Output, errors and code of a command in a folder, at eighty columns.
fn screen(here: &Path, arguments: &[&str]) -> String {
    let output = command(here, arguments).env("COLUMNS", "80").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(here.to_str().unwrap(), "FOLDER");
    let code = output.status.code().unwrap_or(-1);
    format!("$ nalm {}\n{}{}[exit {code}]\n", arguments.join(" "), text(&output.stdout), text(&output.stderr))
}

fn screens(here: &Path, all: &[&[&str]]) -> String {
    all.iter().map(|arguments| screen(here, arguments)).collect::<Vec<_>>().join("\n")
}

/// What a command shows at a terminal of so many columns, which the program `script` makes; nothing where that is not installed.
fn terminal(here: &Path, columns: u32, arguments: &[&str]) -> Option<String> {
    at_terminal(here, (columns, 40), arguments)
}

/// The same with so many columns and rows.
fn at_terminal(here: &Path, size: (u32, u32), arguments: &[&str]) -> Option<String> {
    of_program(Path::new(env!("CARGO_BIN_EXE_nalm")), here, size, arguments)
}

/// The same with a program that may lie elsewhere.
fn of_program(program: &Path, here: &Path, (columns, rows): (u32, u32), arguments: &[&str]) -> Option<String> {
    let quoted: Vec<String> = arguments.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let typed = format!("stty cols {columns} rows {rows}; exec '{}' {}", program.display(), quoted.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &typed, "/dev/null"]).current_dir(here).stdin(Stdio::null());
    script.env("TERM", "xterm").env("SHELL", "/bin/sh").env_remove("COLUMNS").env_remove("NALM_MNIST");
    let output = script.output().ok()?;
    // Colours are seen as they are written, beginning with a sign for the escape.
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n").replace('\u{1b}', "␛");
    let code = output.status.code().unwrap_or(-1);
    Some(format!("$ nalm {}\n{}[exit {code}]\n", arguments.join(" "), text.replace(here.to_str().unwrap(), "FOLDER")))
}

/// Without what is different everywhere: who did how much, and how fast.
fn steady(text: &str) -> String {
    // A slow machine says how far it is.
    let is_progress = |line: &str| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" runs after ");
    let same = |line: &&str| !line.starts_with("  by ") && !line.starts_with("about ") && !is_progress(line);
    let lines: Vec<String> = text.lines().filter(same).map(without_times).collect();
    lines.join("\n")
}

/// A line with TIME for seconds that were measured, and without the hash of a file that says when it was made.
fn without_times(line: &str) -> String {
    if let Some((before, name)) = line.split_once("/seg/rows-") {
        return format!("{before}/seg/rows-{}", name.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    match line.split_once(" runs in ") {
        Some((n, _)) if line.ends_with(" s") => format!("{n} runs in TIME"),
        _ => line.into(),
    }
}

/// Two snapshots of the same commands at eighty columns: by way of a pipe and at a terminal.
fn look(name: &str, here: &Path, all: &[&[&str]]) -> String {
    let piped = screens(here, all);
    insta::assert_snapshot!(name, steady(&piped));
    let shown: Option<Vec<String>> = all.iter().map(|arguments| terminal(here, 80, arguments)).collect();
    match shown {
        Some(shown) => insta::assert_snapshot!(format!("{name}_at_a_terminal"), steady(&shown.join("\n"))),
        None => println!("SKIPPED: script is not installed, so nothing was seen at a terminal"),
    }
    piped
}

const FILE: &str = "title = \"Mine\"\ntask = \"single-module\"\n[preset.a]\nseeds = 2\nsteps = 1000\nranges = [\"U[1,2)\"]\n[[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n";

/// A folder with an experiment file.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine-with-a-name-of-some-length.toml"), FILE).unwrap();
    std::fs::write(folder.path().join("mine.toml"), FILE).unwrap();
    folder
}

/// `report` and `status` accept whatever `run` accepts, and `status` finds what was asked of the store by itself.
#[test]
fn rows_of_changed_experiments_are_found_again() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "mine.toml", "--set", "learning_rate=0.002", "--seeds", "1"]);
    succeed(here, &["run", "mine-with-a-name-of-some-length.toml"]);
    succeed(
        here,
        &["run", "single-module", "--preset", "smoke", "--seeds", "1", "--steps", "100", "--range", "U[1,2)"],
    );
    look(
        "report_and_status",
        here,
        &[
            &["status"],
            &["status", "mine.toml", "--set", "learning_rate=0.002", "--seeds", "1"],
            &["status", "mine.toml", "--set", "learning_rate=0.003"],
            &["status", "mine.toml", "--seeds", "3"],
            &["report", "mine.toml", "--set", "learning_rate=0.002", "--seeds", "1"],
            &["report", "mine.toml", "--set", "learning_rate=0.002", "--seeds", "3"],
            &["report", "mine.toml", "--set", "learning_rate=0.003"],
        ],
    );
    #[cfg(feature = "images")]
    look("status_of_all", here, &[&["status", "--all"]]);
    let all = succeed(here, &["status", "--all"]);
    assert!(all.lines().count() > 60 && all.contains("mnist-sequential"), "{all}");
    let list = json(here, &["status", "--json"]);
    assert_eq!(list["experiments"][0]["experiment"], "mine");
}

/// One sentence and one code, whoever misses it.
#[test]
fn a_missing_store_is_one_sentence_everywhere() {
    let folder = folder();
    let all: &[&[&str]] = &[
        &["status", "--store", "nowhere"],
        &["report", "mine.toml", "--store", "nowhere"],
        &["export", "--csv", "-", "--store", "nowhere"],
        &["store", "check", "nowhere"],
        &["store", "compact", "nowhere"],
        &["verify", "--record", "nowhere"],
        &["claims", "nowhere"],
    ];
    let text = look("missing_store", folder.path(), all);
    let sentence = "nalm: there is no folder nowhere here yet; nalm run makes it\n[exit 2]\n";
    assert_eq!(text.matches(sentence).count(), 3, "{text}");
    // Nobody makes what was given as a record.
    let sentence = "nalm: there is no folder nowhere here\n[exit 2]\n";
    assert_eq!(text.matches(sentence).count(), 4, "{text}");
}

/// One style, code 2, and the repair in the text.
#[test]
fn wrong_values() {
    let folder = folder();
    let all: &[&[&str]] = &[
        &["train", "--seed", "-1"],
        &["train", "--seed", "x"],
        &["train", "--steps", "-5"],
        &["train", "--inputs", "0"],
        &["train", "--inputs", "1"],
        &["train", "--inputs", "-2"],
        &["train", "--task", "arithmetic", "--inputs", "1"],
        &["train", "--noise", "[1,2]", "--module", "snmu"],
        &["train", "--noise", "bath", "--module", "snmu"],
        &["train", "--range", "U[1,2]"],
        &["train", "--noise", "1,2", "--module", "snmu"],
        &["train", "--module", "snmu", "--set", "noise=[1,2]"],
        &["train", "-r", "U[1e300,1e301)"],
        &["train", "-r", "U[1e-300,1e-299)"],
        &["train", "-r", "U[-5,-4)"],
        &["train", "--range", "U[1e300,1e301]"],
        &["train", "--range", "U[1e300,1e301)", "--test-range", "U[1e301,1e302)"],
        &["train", "--range", "U[2,1)"],
        &["train", "--range", "1..2"],
        &["train", "--learning-rate", "fast"],
        &["train", "--operation", "pow"],
        &["train", "--stream", "slow"],
        &["train", "--task", "table"],
        &["train", "--modul", "nmu"],
        &["train", "--module", "nmu", "--layers", "nmu"],
        &["trian"],
        &["list", "modulez"],
        &["list", "modules", "smnu"],
        &["run"],
        &["run", "mine.toml", "--threads", "0"],
        &["run", "mine.toml", "--seeds", "0"],
        &["run", "mine.toml", "--set", "learning_rate"],
        &["run", "mine.toml", "--range", "U[1,2)", "--range", "U[10,20)", "--test-range", "U[2,6)"],
        &["compare"],
        &["compare", "nmu", "smnu"],
        &["compare", "nmu", "snmu nose=U[1,2]"],
        &["compare", "nmu", "snmu noise=[1,2]"],
        &["compare", "nmu", "snmu", "--set", "noise=[1,2]"],
        &["compare", "nmu", "nmu"],
        &["compare", "nmu", "--range", "U[3,4)"],
        &["compare", "nmu", "--html", "page.pdf"],
        &["new", "mine.toml"],
        &["new", "mine.txt"],
        &["man", "trian"],
        &["help", "trian"],
        &["train", "--seed", "99999999999999999999"],
        &["check", "model.json", "table.csv", "--most", "x"],
        &["verify", "--record", "results", "--sample", "many"],
        &["verify", "--record", "results", "--most-steps", "-1"],
        &["fit", "table.csv", "--most-rows", "3"],
        &["bench", "fit", "--suite", "own", "--noise", "loud"],
        &["submit", "mine.toml", "--scheduler", "local", "--checkpoint", "soon"],
        &["describe", "snmu", "--inputs", "0"],
        &["describe", "arithmetc"],
        &["describe", "table", "--inputs", "5"],
        &["describe", "[nmu"],
        &["fit", "Table.csv", "Sales.csv"],
        &["run", "mine.toml", "-qj0"],
        &["run", "mine.toml", "--set", "inputs=1"],
        &["run", "mine.toml", "--steps", "1000", "--set", "learning_rate=0.01", "--set", "inputs=1"],
        &["compare", "nmu", "--task", "table"],
        &["compare", "nmu", "--task", "table", "--set", "data=mine.csv"],
        &["compare", "nmu", "--html", "mine.toml/page.html"],
        &["train", "--curve", "mine.toml/curve.csv"],
        &["report", "mine.toml", "--out", "mine.toml"],
        &["export", "--csv", "-", "--jsonl", "-", "--store", "made"],
        // No quotient of sums that can be 0 has a threshold, however the range was chosen.
        &["compare", "nmu", "snmu", "--task", "arithmetic", "--operation", "div", "--range", "U[-2,2)"],
        &["compare", "nmu", "--task", "arithmetic", "--operation", "reciprocal", "--range", "U[-2,2)"],
        &["train", "--task", "arithmetic", "--operation", "div", "--test-range", "U[-3,-1)∪U[3,5)"],
        &["train", "--steps", "5", "--set", "steps=7"],
        &["train", "--learning-rate", "0.1", "--set", "learning_rate=0.2"],
        &["train", "--module", "snmu", "--noise", "batch", "--set", "noise=U[1,2]"],
        &["train", "--range", "U[1,2)", "--set", "range=U[10,20)"],
        &["train", "--module", "snmu", "--set", "noise=batch", "--set", "noise=U[1,2]"],
        &["train", "--module", "snmu", "--noise", "shifted-gamma(2.5,0.5)"],
        &["train", "--gradient-noise", "-1"],
        &["train", "--set", "weights=[nan,1]"],
        &["train", "--module", "snmu", "--set", "noise=3"],
        &["compare", "nmu", "--steps", "5", "--set", "steps=7"],
        &["compare", "nmu", "--operation", "add", "--set", "operation=mul"],
        &["compare", "nmu", "--set", "learning_rate=0.1", "--set", "learning_rate=0.2"],
        &["compare", "nmu", "--range", "U[1,2)", "--range", "U[1,2)"],
        &["run", "mine.toml", "--stream", "fast", "--set", "stream=reference"],
        &["run", "mine.toml", "--sweep", "noise=U[1,2];U[1.0,2.0]"],
        &["run", "mine"],
        &["export", "--csv", "-", "--experiment", "mine", "--store", "made"],
        &["list", "stacks"],
        &["describe", "constant(3)", "--inputs", "5"],
        &["-q"],
        &["stats", "odd.csv"],
        &["stats", "late.csv"],
        &["stats", "runs.csv", "--paired", "a,a"],
    ];
    let head = "unit,seed,solved,solved_at,steps\n";
    for (file, row) in [("odd", "a,1,true,abc,400"), ("late", "a,1,true,500,400"), ("runs", "a,1,true,300,400")] {
        std::fs::write(folder.path().join(file).with_extension("csv"), format!("{head}{row}\n")).unwrap();
    }
    std::fs::create_dir_all(folder.path().join("made/seg")).unwrap();
    let text = look("wrong_values", folder.path(), all);
    // All alike: one line, the program's name before it.
    let blocks = text.split("$ nalm ").skip(1);
    blocks.for_each(|block| {
        assert!(block.trim_end().ends_with("[exit 2]"), "{block}");
        assert!(
            block.lines().nth(1).unwrap().starts_with("nalm: ") && block.trim_end().lines().count() == 3,
            "{block}"
        );
    });
}

/// Headings, the total, and quiet once nothing changes.
#[test]
fn training_on_the_screen() {
    let folder = folder();
    look(
        "training",
        folder.path(),
        &[
            &["train", "--steps", "999"],
            &["train", "--steps", "20000", "--seed", "1"],
            &[
                "train",
                "--module",
                "real-npu",
                "--operation",
                "div",
                "--range",
                "U[1,2)",
                "--test-range",
                "U[2,6)",
                "--steps",
                "8000",
            ],
            &["train", "--module", "nalu", "--steps", "2000"],
            &["train", "--module", "mlp", "--hidden", "3", "--steps", "1000"],
            &["train", "--module", "nmu", "--operation", "add", "--steps", "1000"],
            &["train", "--range", "U[1e30,1e31)", "--test-range", "U[1e31,1e32)", "--steps", "1000"],
            &["train", "--task", "arithmetic", "--inputs", "4", "--module", "snmu", "--steps", "2000"],
            &["train", "--steps", "2000", "--quiet"],
            &["train", "--steps", "500", "--json", "--quiet"],
            // The hint of train, whoever trains.
            &["run", "mine.toml", "--set", "operation=div", "--dry-run", "--threads", "2"],
            &["run", "single-module", "--preset", "smoke", "--dry-run", "--set", "operation=add", "--threads", "2"],
        ],
    );
}

/// A loop gives JSON lines.
#[test]
fn a_trained_row_is_one_line() {
    let text = succeed(Path::new("."), &["train", "--steps", "1000", "--json"]);
    assert_eq!(text.lines().count(), 1);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["status"], "completed");
    // The last step counts, whatever it is; nalm run stays as it was published.
    let row = json(Path::new("."), &["train", "--steps", "1999", "--json"]);
    assert_eq!(row["metrics"]["best_step"], 1999, "{row}");
}

/// Whoever stops a run sees what it was up to then.
#[cfg(unix)]
#[test]
fn a_stopped_run_has_a_summary() {
    let mut child = command(Path::new("."), &["train", "--steps", "1000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its first line says that it listens.
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut errors, &mut String::new()).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut errors, &mut said).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(75), "{said}");
    assert!(text.contains("best step") && text.contains("formula"), "{text}");
    assert!(said.contains("nalm: stopped at step ") && said.contains(" of 1000000000"), "{said}");
    // How far it came is different every time.
    let head = |line: &str| line.split_once("  ").map_or(line.to_string(), |(name, _)| format!("{name}  …"));
    // Whether it was solved by then, too, how its formula is called, and whether the last step is the best one.
    let same = |line: &&str| !["solved", "(weights near", "last step"].iter().any(|part| line.contains(part));
    let text = text.replace("nearest formula", "formula");
    insta::assert_snapshot!("stopped", text.lines().filter(same).map(head).collect::<Vec<_>>().join("\n"));
    let Some(shown) = stopped_at_terminal(Path::new("."), "INT", &["train", "--steps", "1000000000"]) else { return };
    // Whatever was said on the way is different every time, too.
    let shown = shown.replace("nearest formula", "formula");
    let last = shown[shown.find("best step").unwrap()..].lines().filter(same).map(head).collect::<Vec<_>>().join("\n");
    let (before, after) = last.split_once("stopped at step ").unwrap();
    let (_, after) = after.split_once(' ').unwrap();
    insta::assert_snapshot!("stopped_at_a_terminal", format!("{before}stopped at step … {after}"));
}

/// What a command shows at a terminal of eighty columns that was told to stop; nothing where there is no `script` or no `timeout`.
#[cfg(unix)]
fn stopped_at_terminal(here: &Path, signal: &str, arguments: &[&str]) -> Option<String> {
    // Until it listens, a signal ends it at once, with nothing said: then it gets more time.
    for seconds in [2, 8, 30] {
        let program = format!("{} {}", env!("CARGO_BIN_EXE_nalm"), arguments.join(" "));
        let typed = format!(
            "stty cols 80 rows 40; exec timeout --foreground --preserve-status -s {signal} {seconds} {program}"
        );
        let mut script = Command::new("script");
        script.args(["-qec", &typed, "/dev/null"]).current_dir(here).stdin(Stdio::null());
        let output = script.env("TERM", "xterm").env("SHELL", "/bin/sh").env_remove("COLUMNS").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n").replace('\u{1b}', "␛");
        if text.contains("timeout: not found") {
            println!("SKIPPED: timeout is not installed, so nothing was stopped at a terminal");
            return None;
        }
        if text.contains("nalm:␛[0m stopped") {
            return Some(format!("{text}[exit {}]\n", output.status.code().unwrap_or(-1)));
        }
    }
    panic!("it never listened");
}

/// Nothing is promised that is not kept.
#[cfg(unix)]
#[test]
fn a_stopped_verification_promises_nothing() {
    let folder = folder();
    let here = folder.path();
    // Until it listens, a signal ends it at once, with the same code and without a word.
    for pause in [300, 1_000, 3_000, 10_000, 30_000] {
        let mut child = command(here, &["verify", "arithmetic"]).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(pause));
        for tenth in 0..2_000 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            // A second one would end it in the middle of a word.
            if tenth % 200 == 0 {
                _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "{text}");
        if let Some(last) = text.lines().last() {
            assert_eq!(last, "nalm: stopped; nalm verify keeps no runs, so the same command starts anew");
            assert!(!text.contains("are kept"), "{text}");
            assert!(!here.join("results").exists());
            // At a terminal, the bar is gone and the sentence stands on lines of its own.
            if let Some(shown) = stopped_at_terminal(here, "TERM", &["verify", "arithmetic"]) {
                let last = shown.rfind("␛[1;31mnalm:").unwrap();
                insta::assert_snapshot!("stopped_verification_at_a_terminal", &shown[last..]);
            }
            return;
        }
    }
    panic!("it never listened");
}

/// Which folder, where it looked, how to give it; and nothing is promised before.
#[cfg(feature = "images")]
#[test]
fn missing_images_are_named_with_their_folder() {
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("empty")).unwrap();
    let run = ["run", "mnist-isolated", "--preset", "smoke", "--mnist"];
    let all: Vec<Vec<&str>> = ["nowhere", "empty"].iter().map(|folder| [&run[..], &[*folder]].concat()).collect();
    let all: Vec<&[&str]> = all.iter().map(Vec::as_slice).collect();
    let text = look("missing_images", here, &all);
    // Where nothing is given, it is looked for from here and from the program on upwards; a plan says so, too.
    std::fs::copy(env!("CARGO_BIN_EXE_nalm"), here.join("nalm")).unwrap();
    let said = |more: &[&str]| {
        let run = ["run", "mnist-isolated", "--preset", "smoke", "--threads", "2"];
        let mut command = Command::new(here.join("nalm"));
        let output =
            command.args([&run[..], more].concat()).current_dir(here).env_remove("NALM_MNIST").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).replace(here.to_str().unwrap(), "FOLDER");
        format!("$ nalm {}\n{text}[exit {}]\n", [&run[..], more].concat().join(" "), output.status.code().unwrap())
    };
    insta::assert_snapshot!("no_images", said(&[]) + "\n" + &said(&["--dry-run"]));
    let run = ["run", "mnist-isolated", "--preset", "smoke", "--threads", "2"];
    if let Some(shown) = of_program(&here.join("nalm"), here, (80, 40), &run) {
        // Where lines end depends on the name of the folder.
        insta::assert_snapshot!("no_images_at_a_terminal", shown.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    assert!(!text.contains("os error") && !text.contains("to do"), "{text}");
}

/// A table a listing, a line an entry, at eighty columns; details by name.
#[cfg(feature = "images")]
#[test]
fn listings_at_eighty_columns() {
    let folder = folder();
    let what = ["modules", "noise", "denoisers", "tasks", "ranges", "experiments", "schedules", "metrics", "figures"];
    let tables = what.map(|what| vec!["list", what]).into_iter().chain([vec!["list"]]);
    let details = [
        ["modules", "inalu"],
        ["noise", "batch"],
        ["tasks", "arithmetic"],
        ["experiments", "single-module"],
        ["schedules", "second-order"],
        ["metrics", "solved_at"],
    ];
    let all: Vec<Vec<&str>> = tables.chain(details.map(|[what, name]| vec!["list", what, name])).collect();
    let all: Vec<&[&str]> = all.iter().map(Vec::as_slice).collect();
    let text = look("listings", folder.path(), &all);
    let long = text.lines().filter(|line| line.chars().count() > 80).collect::<Vec<_>>();
    assert!(long.is_empty(), "{long:?}");
    // A wide terminal shows more, and a line an entry, too.
    for arguments in &all[..what.len()] {
        let (Some(narrow), Some(wide)) =
            (terminal(folder.path(), 80, arguments), terminal(folder.path(), 200, arguments))
        else {
            continue;
        };
        assert!(wide.lines().count() == narrow.lines().count() && wide.len() >= narrow.len(), "{wide}");
    }
}

/// Only what is there is said.
#[test]
fn empty_results() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "mine.toml"]);
    look(
        "empty_results",
        here,
        &[
            &["run", "mine.toml"],
            &["run", "mine.toml", "--dry-run"],
            &["run", "batch-noise-bound"],
            &["report", "mine.toml"],
            &["verify", "noise-basins"],
        ],
    );
    insta::assert_snapshot!("demo", screen(here, &["demo", "--seeds", "3"]));
    // At a terminal, it moves.
    if let Some(shown) = terminal(here, 80, &["demo", "--seeds", "3"]) {
        insta::assert_snapshot!("demo_at_a_terminal", shown.rsplit("␛[17A").next().unwrap());
    }
}

/// What is known beforehand is said, and no time before it is worth one.
#[test]
fn plans_and_estimates() {
    let folder = folder();
    let here = folder.path();
    let text = look(
        "plans",
        here,
        &[
            &["run", "mine.toml", "--dry-run", "--threads", "2"],
            &["run", "mine.toml", "--dry-run", "--threads", "1", "--steps", "1000000000"],
            &["describe", "nau-nau-nmu"],
            &["describe", "snmu"],
            &["describe", "arithmetic"],
            &["describe", "nau-nau-smnu"],
        ],
    );
    assert!(!text.contains("0 to do"), "{text}");
    let said = String::from_utf8(nalm(here, &["run", "mine.toml", "--threads", "2"]).stderr).unwrap();
    assert_eq!(steady(&said), "4 runs, 0 done, 4 to do on 2 threads\n4 runs in TIME");
}

/// A file with a slip of the pen: its line, and what was meant.
#[test]
fn wrong_files() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let whole = format!("baselines = [\"nmu\"]\n{FILE}");
    let slips = [
        ("a-unit", "module = \"nmu\"", "module = \"nmo\""),
        ("a-sign", "seeds = 2", "seeds : 2"),
        ("a-number", "seeds = 2", "seeds = \"ten\""),
        ("a-key", "task =", "taks ="),
        ("no-task", "task = \"single-module\"\n", ""),
        ("no-title", "title = \"Mine\"\n", ""),
        ("a-table", "[[model]]", "[[modle]]"),
        ("a-range", "U[1,2)", "U[1,2]"),
        ("a-quote", "\"nmu\"\n[[", "\"nmu\n[["),
        ("an-overlap", "\"U[1,2)\"", "{ train = \"U[1,2)\", test = \"U[1.5,3)\" }"),
        ("an-option", "\"snmu\"", "\"snmu\"\n\noptions = { nois = \"U[1,2]\" }"),
        ("an-option-by-table", "\"snmu\"", "\"snmu\"\n[model.options]\nhalf = 1\nnoise = \"U[5,1]\""),
        ("an-option-outside", "\"snmu\"", "\"snmu\"\nnoise = \"U[1,2]\""),
        ("a-noise", "\"snmu\"", "\"snmu\"\n\noptions = { noise = \"U[5,1]\" }"),
    ];
    let files: Vec<String> = slips.map(|(name, ..)| format!("{name}.toml")).into();
    for (file, (_, right, wrong)) in files.iter().zip(slips) {
        std::fs::write(here.join(file), whole.replace(right, wrong)).unwrap();
    }
    let all: Vec<[&str; 2]> = files.iter().map(|file| ["run", file.as_str()]).collect();
    let all: Vec<&[&str]> = all.iter().map(|arguments| &arguments[..]).collect();
    let text = look("wrong_files", here, &all);
    assert_eq!(text.matches("[exit 2]").count(), slips.len(), "{text}");
}

/// Whatever is piped ends with the end of a line.
#[test]
fn stores_are_looked_after_in_whole_lines() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "mine.toml", "--store", "a", "--seeds", "1"]);
    succeed(here, &["run", "mine.toml", "--store", "b"]);
    let text = look(
        "stores",
        here,
        &[
            &["store", "merge", "a", "b", "--into", "c"],
            &["store", "check", "c"],
            &["store", "pack", "a", "b", "--into", "packed"],
            &["store", "merge", "nowhere", "--into", "d"],
            &["store", "check"],
            &["store", "compact", "nowhere"],
        ],
    );
    succeed(here, &["run", "mine.toml", "--seeds", "1"]);
    assert_eq!(succeed(here, &["store", "check"]), succeed(here, &["store", "check", "results"]));
    assert!(text.lines().all(|line| !line.contains("[exit") || line.starts_with("[exit")), "{text}");
}

const RUNS: &str = "model,seed,solved,solved_at,sparsity_error
A,0,true,1000,0
A,1,true,2000,0
A,2,true,2000,0
B,0,true,3000,0.01
B,1,true,4000,0.02
B,2,false,NA,0.03
";

#[test]
fn statistics_from_a_pipe_and_as_csv() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("runs.csv"), RUNS).unwrap();
    let piped = |arguments: &[&str]| {
        let mut child = command(here, arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(RUNS.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(piped(&["stats", "-"]), succeed(here, &["stats", "runs.csv"]));
    // Whoever knows no more than whether runs were solved is told what follows from that.
    std::fs::write(here.join("brief.csv"), "unit,seed,solved\nA,0,true\nA,1,false\nB,0,true\nB,1,true\n").unwrap();
    let cut = |line: &str| line.rsplit_once(',').unwrap().0.to_string() + "\n";
    std::fs::write(here.join("no-sparsity.csv"), RUNS.lines().map(cut).collect::<String>()).unwrap();
    // Two ranges with the same seeds: A gains one of them with three seeds of four, and loses none.
    let two: String = (0..4)
        .flat_map(|seed| {
            [("\"U[1,2)\"", true, true), ("\"U[3,4)\"", true, seed == 3)].map(|(range, a, b)| {
                format!("{range},A,{seed},{a},1000\n{range},B,{seed},{b},{}\n", if b { "2000" } else { "" })
            })
        })
        .collect();
    std::fs::write(here.join("two.csv"), format!("range,unit,seed,solved,solved_at\n{two}")).unwrap();
    std::fs::write(here.join("no-seed.csv"), "unit,solved\nA,true\n").unwrap();
    look(
        "statistics",
        here,
        &[
            &["stats", "runs.csv"],
            &["stats", "runs.csv", "--csv"],
            &["stats", "runs.csv", "--paired", "A,B"],
            &["stats", "runs.csv", "--paired", "A,B", "--csv"],
            &["stats", "two.csv", "--paired", "A,B"],
            &["stats", "two.csv", "--paired", "U[1,2),U[3,4)"],
            &["stats", "brief.csv"],
            &["stats", "no-sparsity.csv"],
            &["stats", "no-sparsity.csv", "--csv"],
            &["stats", "brief.csv", "--csv"],
            &["stats", "brief.csv", "--json"],
            &["stats", "brief.csv", "--paired", "A,B"],
            &["stats", "no-seed.csv"],
            &["stats", "nowhere.csv"],
        ],
    );
}

#[test]
fn exports_have_all_columns_and_can_be_narrowed() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "mine.toml"]);
    succeed(
        here,
        &[
            "run",
            "single-module",
            "--preset",
            "smoke",
            "--seeds",
            "1",
            "--steps",
            "100",
            "--range",
            "U[1,2)",
            "--range",
            "U[10,20)",
        ],
    );
    let lines = |more: &[&str]| succeed(here, &[&["export", "--csv", "-"], more].concat()).lines().count() - 1;
    let all = lines(&[]);
    let head = succeed(here, &["export", "--csv", "-"]);
    let head = head.lines().next().unwrap();
    for column in ["experiment", "status", "test_error", "validation_error", "sparsity_error", "solved_at"] {
        assert!(head.split(',').any(|known| known == column), "{head}");
    }
    assert_eq!(lines(&["--module", "snmu", "--experiment", "mine.toml"]), 2);
    assert_eq!(lines(&["--experiment", "mine.toml"]), 4);
    assert_eq!(lines(&["--range", "U[10,20)"]), all - lines(&["--range", "U[1,2)"]));
    assert_eq!(lines(&["--status", "solved"]) + lines(&["--status", "unsolved"]), all);
    assert!((1..all).contains(&lines(&["--module", "nmu"])));
    let json = succeed(here, &["export", "--jsonl", "-", "--module", "snmu", "--experiment", "mine.toml"]);
    assert!(json.lines().count() == 2 && json.contains("\"experiments\":[\"mine\""), "{json}");
    // The same names, whatever is asked for and in whichever form; names may have blanks in them.
    succeed(here, &["compare", "snmu", "--seeds", "1", "--steps", "2000"]);
    succeed(here, &["run", "mine.toml", "--steps", "2000"]);
    let names = |more: &[&str]| -> Vec<String> {
        let table = succeed(here, &[&["export", "--csv", "-"], more].concat());
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        reader.records().map(|record| record.unwrap()[0].to_string()).collect()
    };
    let all = names(&["--module", "snmu"]);
    let both = "compare: sNMU on U[1,2), tested on U[2,6) (single-module, mul, 2000 steps); mine";
    assert!(all.iter().any(|own| own == both), "{all:?}");
    let some = names(&["--module", "snmu", "--experiment", "second-order-single-module"]);
    assert_eq!(some, [both], "by its runs, whatever they were asked for as");
    let rows = succeed(here, &["export", "--jsonl", "-", "--module", "snmu"]);
    let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    let joined = |row: serde_json::Value| {
        let names = row["experiments"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_string());
        names.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(rows.map(joined).collect::<Vec<_>>(), all);
    // By what the column of experiments shows, too; files need not be here any more.
    let title = "compare: sNMU on U[1,2), tested on U[2,6) (single-module, mul, 2000 steps)";
    assert_eq!(names(&["--experiment", title]), [both]);
    assert_eq!(names(&["--experiment", "mine"]), names(&["--experiment", "mine.toml"]));
    fails_with(here, &["export", "--csv", "-", "--experiment", "compare: nothing"], 2, "compare: nothing");
    // Rows that belong together stand together.
    let table = succeed(here, &["export", "--csv", "-"]);
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let head = reader.headers().unwrap().clone();
    let place = |name: &str| head.iter().position(|known| known == name).unwrap();
    let seed = place("seed");
    let key = |row: csv::StringRecord| {
        let before: Vec<String> = row.iter().take(seed).map(String::from).collect();
        (before, row[seed].parse::<u64>().unwrap())
    };
    let keys: Vec<_> = reader.records().map(|row| key(row.unwrap())).collect();
    assert!(keys.is_sorted() && keys.len() > 6, "{keys:?}");
    let own = [place("module"), place("range"), place("steps")];
    let differ = |a: &[String], b: &[String]| own.map(|k| a[k] == b[k]) == [true, true, false] && a[0] == b[0];
    assert!(keys.iter().any(|(a, _)| keys.iter().any(|(b, _)| differ(a, b))), "of several lengths: {keys:?}");
    let none = nalm(here, &["export", "--csv", "-", "--range", "U[1,2)", "--status", "diverged"]);
    assert_eq!(String::from_utf8_lossy(&none.stderr), "no row matches\n");
    assert!(none.status.success() && String::from_utf8_lossy(&none.stdout).lines().count() == 1);
    fails_with(here, &["export", "--csv", "-", "--module", "smnu"], 2, "did you mean 'snmu'");
    fails_with(here, &["export", "--csv", "-", "--status", "solvd"], 2, "did you mean 'solved'");
    look(
        "export",
        here,
        &[
            &["export", "--csv", "-", "--experiment", "mine.toml"],
            &["export", "--csv", "-", "--module", "nmu", "--status", "unsolved", "--range", "U[10,20)"],
            &["export", "--csv", "-", "--module", "smnu"],
        ],
    );
    // What is exported is what nalm stats reads.
    let mut child = command(here, &["stats", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(succeed(here, &["export", "--csv", "-"]).as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
}

/// One preset needs no default; a name with a bar in it is no new column.
#[test]
fn files_with_one_preset_and_labels_with_bars() {
    let folder = folder();
    let here = folder.path();
    let text = FILE.replace("module = \"snmu\"", "module = \"snmu\"\nlabel = \"noise | none\"");
    let expect = "[[expect]]\nmodel = \"noise | none\"\nrange = \"U[1,2)\"\nis = 0.0\nsource = \"here\"\n";
    std::fs::write(here.join("bars.toml"), text + expect).unwrap();
    succeed(here, &["reproduce", "bars.toml"]);
    let page = std::fs::read_to_string(here.join("report/bars.md")).unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| line.contains("none") && line.starts_with('|')).collect();
    insta::assert_snapshot!("labels_with_bars", lines.join("\n"));
    look(
        "bars",
        here,
        &[&["run", "bars.toml"], &["report", "bars.toml"], &["status", "bars.toml"], &["verify", "bars.toml"]],
    );
}

/// From nothing to intervals, tests and a page; asking again costs nothing.
#[test]
fn a_comparison_without_a_file() {
    let folder = folder();
    let here = folder.path();
    let asked = [
        "compare",
        "nmu",
        "snmu",
        "snmu noise=U[1,2]",
        "--range",
        "U[3,4)",
        "--test-range",
        "U[4,10)",
        "--seeds",
        "4",
        "--steps",
        "3000",
    ];
    let first = nalm(here, &asked);
    let said = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success() && said.contains("12 runs, 0 done, 12 to do"), "{said}");
    look("comparison", here, &[&asked]);
    let list = json(here, &[&asked[..], &["--json"]].concat());
    assert_eq!(list["models"].as_array().unwrap().len(), 3);
    assert_eq!((&list["models"][2]["model"], &list["models"][2]["n"]), (&"sNMU noise=U[1,2]".into(), &4.into()));
    assert_eq!((&list["paired"][0]["a"], &list["paired"][0]["pairs"]), (&"sNMU".into(), &4.into()));
    let again = list["command"].as_str().unwrap();
    assert_eq!(
        again,
        "nalm compare nmu snmu 'snmu noise=U[1,2]' --steps 3000 --range 'U[3,4)' --test-range 'U[4,10)' --seeds 4"
    );
    succeed(here, &[&asked[..], &["--html", "page.html"]].concat());
    let page = std::fs::read_to_string(here.join("page.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("sNMU noise=U[1,2]") && page.contains("Seed by seed against NMU"));
    assert!(here.join("page.csv").is_file() && here.join("page.svg").is_file());
    // A second range without its option is no unit.
    let text = fails_with(here, &["compare", "nmu", "--range", "U[1,2)", "U[-2,-1)"], 2, "--range 'U[-2,-1)'");
    assert!(!text.contains("one network"), "{text}");
    // Several ranges are several tests; all together are named as such, and count every seed once.
    let two = ["compare", "nmu", "snmu", "--range", "U[1,2)", "--range", "U[-2,-1)", "--seeds", "5", "--steps", "3000"];
    let both = json(here, &[&two[..], &["--json", "--store", "two"]].concat());
    let tested = both["paired"].as_array().unwrap().iter();
    let tested: Vec<(&str, u64, bool)> = tested
        .map(|p| (p["range"].as_str().unwrap(), p["pairs"].as_u64().unwrap(), p["success"]["holm_p"].is_number()))
        .collect();
    assert_eq!(tested, [("U[1,2)", 5, true), ("U[-2,-1)", 5, true), ("all 2 together", 5, false)]);
    let text = succeed(here, &[&two[..], &["--store", "two", "--html", "two.html"]].concat());
    assert!(text.contains("together") && text.contains("Holm p"), "{text}");
    let page = std::fs::read_to_string(here.join("two.html")).unwrap();
    assert!(page.contains("<td>all 2 together</td><td class=\"n\">5</td>") && page.contains("after Holm"), "{page}");
    // The store knows what it was asked for.
    let status = succeed(here, &["status"]);
    let line = status.lines().find(|line| line.starts_with("compare: NMU, sNMU and sNMU noise=U[1,2] on U[3,4)"));
    assert!(line.is_some_and(|line| line.ends_with("–       12 of 12")), "{status}");
    // What differs is said: here and in what the store was asked for.
    let other = [&asked[..7], &["U[5,6)"], &asked[8..]].concat();
    let heading = |arguments: &[&str]| succeed(here, arguments).lines().next().unwrap().to_string();
    let models = "NMU, sNMU and sNMU noise=U[1,2]";
    let first = format!("{models} on U[3,4), tested on U[4,10) (single-module, mul, 3000 steps)");
    let second = format!("{models} on U[3,4), tested on U[5,6) (single-module, mul, 3000 steps)");
    assert_eq!([heading(&asked), heading(&other)], [first.clone(), second.clone()]);
    let third = heading(&[
        "compare",
        "real-npu",
        "--seeds",
        "1",
        "--steps",
        "100",
        "--set",
        "operation=div",
        "--set",
        "inputs=3",
    ]);
    assert_eq!(third, "RealNPU on U[1,2), tested on U[2,6) (single-module, div, 100 steps, inputs=3)");
    let status = succeed(here, &["status"]);
    assert!([first, second].iter().all(|title| status.contains(&format!("compare: {title}"))), "{status}");
    assert_eq!(
        (&list["task"], &list["operation"], &list["steps"]),
        (&"single-module".into(), &"mul".into(), &3000.into())
    );
    assert_eq!(list["models"][0]["test_range"], "U[4,10)");
    // Stacks and other tasks, too.
    let stack = json(
        here,
        &[
            "compare",
            "nau 4->2, nmu",
            "nau-snmu",
            "--task",
            "arithmetic",
            "--set",
            "inputs=4",
            "--seeds",
            "2",
            "--steps",
            "500",
            "--range",
            "U[1,2)",
            "--json",
        ],
    );
    assert_eq!((&stack["models"][0]["model"], &stack["models"][1]["n"]), (&"nau 4->2, nmu".into(), &2.into()));
    let rows = common::rows(here, "results").lines().count();
    assert_eq!(rows, 29);
}

/// What is no number is counted, and units that cannot do it are named before.
#[test]
fn a_comparison_that_diverges_or_cannot_succeed() {
    let folder = folder();
    let here = folder.path();
    let large = ["compare", "nmu", "--range", "U[1e30,1e31)", "--test-range", "U[1e31,1e32)", "--seeds", "2"];
    let large = [&large[..], &["--steps", "1000"]].concat();
    succeed(here, &large);
    let text = look("diverged", here, &[&large]);
    assert!(text.contains("diverged") && text.contains("2 of 2"), "{text}");
    let list = json(here, &[&large[..], &["--json"]].concat());
    assert_eq!((&list["models"][0]["solved"], &list["models"][0]["diverged"]), (&0.into(), &2.into()));
    let train = nalm(here, &["train", "--range", "U[1e30,1e31)", "--test-range", "U[1e31,1e32)", "--steps", "1000"]);
    let text = String::from_utf8_lossy(&train.stdout);
    assert_eq!(text.contains("sparsity"), !text.contains("NaN"), "{text}");
    let stack = nalm(here, &["compare", "nau-nau", "nau-nmu", "--seeds", "1", "--steps", "100"]);
    let said = String::from_utf8_lossy(&stack.stderr);
    assert!(
        said.contains("nau-nau cannot represent mul exactly; these units can: ") && !said.contains("nau-nmu"),
        "{said}"
    );
    for (layers, operation) in [("nmu", "add"), ("nau,nau", "mul")] {
        let train = nalm(here, &["train", "--layers", layers, "--operation", operation, "--steps", "100"]);
        let want = format!("{} cannot represent {operation} exactly", layers.replace(',', "-"));
        assert!(String::from_utf8_lossy(&train.stderr).starts_with(&want), "{want}");
    }
    let square = ["train", "--layers", "nau 2->2, nmu", "--operation", "square", "--steps", "100"];
    assert!(!String::from_utf8_lossy(&nalm(here, &square).stderr).contains("cannot"));
}

/// Pages are written of what has rows; the others are named.
#[test]
fn a_report_of_several_writes_what_it_can() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(
        here.join("two.toml"),
        FILE.replace("[preset.a]", "[preset.b]\nseeds = 1\nsteps = 10\nranges = [\"U[1,2)\"]\n[preset.a]"),
    )
    .unwrap();
    fails_with(
        here,
        &["run", "two.toml"],
        2,
        "two.toml has several presets; say --preset a or b, or write default_preset = \"a\"",
    );
    std::fs::write(here.join("none.toml"), "title = \"Mine\"\ntask = \"single-module\"\n").unwrap();
    fails_with(here, &["run", "none.toml"], 2, "none.toml has no preset; write [preset.NAME]");
    std::fs::write(here.join("other.toml"), FILE.replace("steps = 1000", "steps = 900")).unwrap();
    succeed(here, &["run", "mine.toml"]);
    let asked = nalm(here, &["report", "other.toml", "mine.toml"]);
    let said = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.code() == Some(2) && said.contains("results has no row of other at preset a;"), "{said}");
    assert!(here.join("report/mine.html").is_file() && !here.join("report/other.html").exists());
    std::fs::write(here.join("third.toml"), FILE.replace("1000", "800").replace("preset.a", "preset.b")).unwrap();
    let each = "results has no row of other at preset a, or of third at preset b;";
    fails_with(here, &["report", "other.toml", "third.toml"], 2, each);
}

/// Two ranges and three models take eighty columns, and no line is broken.
#[test]
fn a_wide_comparison_fits_eighty_columns() {
    let folder = folder();
    let asked =
        ["compare", "nmu", "snmu", "snmu noise=U[1,2]", "--range", "U[-2,-1)", "--range", "U[1,2)", "--seeds", "2"];
    let asked = [&asked[..], &["--steps", "3000"]].concat();
    succeed(folder.path(), &asked);
    let text = look("wide_comparison", folder.path(), &[&asked]);
    let table = text.lines().skip(2);
    assert!(table.clone().all(|line| line.chars().count() <= 80), "{text}");
}

/// `all` means the same to every verb: each experiment at the preset of its file. Whoever has to wait for hours is told so.
#[test]
fn all_experiments_are_planned_at_their_own_presets() {
    let folder = folder();
    let here = folder.path();
    let said = |arguments: &[&str]| String::from_utf8(nalm(here, arguments).stderr).unwrap();
    let count = |text: &str, after: &str| -> usize {
        let rest = &text[text.find(after).unwrap() + after.len()..];
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    let plan = said(&["run", "all", "--dry-run", "--threads", "1"]);
    let last = plan.lines().last().unwrap();
    assert!(last.contains(" to do: roughly ") && last.contains(" h on 1 thread "), "{plan}");
    let listed = json(here, &["list", "experiments", "--json"]);
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let one_by_one = said(&[&["run", "--dry-run", "--threads", "1"], &names[..]].concat());
    assert_eq!(one_by_one.lines().last(), Some(last));
    let script = said(&["submit", "all", "--scheduler", "local", "--print", "--time", "10d"]);
    assert_eq!(count(&script, "nalm submit: "), count(last, ""), "{script}");
    std::fs::create_dir_all(here.join("results/seg")).unwrap();
    let status = String::from_utf8(nalm(here, &["status", "all", "--json"]).stdout).unwrap();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    for one in status["experiments"].as_array().unwrap() {
        let own = listed.as_array().unwrap().iter().find(|own| own["name"] == one["experiment"]).unwrap();
        assert_eq!((&own["preset"], &own["runs"]), (&one["preset"], &one["runs"]), "{one}");
    }
    // Before it starts, too; it is stopped by a folder that is in the way.
    std::fs::remove_dir_all(here.join("results")).unwrap();
    std::fs::write(here.join("results"), "").unwrap();
    let start = said(&["run", "single-module", "--steps", "1000000000", "--threads", "1"]);
    assert!(
        start.contains(" to do on 1 thread: roughly ") && start.contains(" h; stop it whenever you like"),
        "{start}"
    );
}

/// One damaged line costs its runs and nothing else: the table is there, and what repairs the store.
#[test]
fn a_damaged_line_is_repaired_by_the_command_that_is_named() {
    let folder = folder();
    let here = folder.path();
    let asked = ["compare", "nmu", "snmu", "--seeds", "2", "--steps", "1000"];
    let whole = succeed(here, &asked);
    succeed(here, &["run", "mine.toml", "--set", "learning_rate=0.002"]);
    let rows = common::rows(here, "results").lines().count();
    let damaged = common::segments(&here.join("results"))
        .into_iter()
        .find(|file| std::fs::read_to_string(file).unwrap().contains("mine.toml"));
    let damaged = damaged.unwrap();
    let text = std::fs::read_to_string(&damaged).unwrap();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    lines[2] = lines[2].replace("\"seed\"", "\"sead\"");
    // Without its footer, which would miss a row.
    lines.pop();
    std::fs::write(&damaged, lines.join("\n") + "\n").unwrap();
    let output = nalm(here, &asked);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()),
        (Some(4), whole),
        "{said}"
    );
    let repair = "nalm store pack results --into results-repaired --leave-out-damaged";
    assert!(said.contains("line 3: ") && said.contains("nalm: 1 problem in the store; "), "{said}");
    for arguments in [&asked[..], &["status"], &["export", "--csv", "-"], &["store", "compact"]] {
        fails_with(here, arguments, 4, repair);
    }
    succeed(here, &repair.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(common::rows(here, "results-repaired").lines().count(), rows - 1);
    succeed(here, &["run", "mine.toml", "--set", "learning_rate=0.002", "--store", "results-repaired"]);
    assert_eq!(common::rows(here, "results-repaired").lines().count(), rows);
}

/// No run of a store goes unmentioned, whatever became of the file that it was made from.
#[test]
fn runs_of_files_that_are_gone_are_counted() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "mine.toml", "--set", "learning_rate=0.002"]);
    std::fs::remove_file(here.join("mine.toml")).unwrap();
    succeed(
        here,
        &["run", "single-module", "--preset", "smoke", "--seeds", "1", "--range", "U[1,2)", "--threads", "1"],
    );
    look("other_runs", here, &[&["status"]]);
    let list = json(here, &["status", "--json"]);
    assert_eq!(list["other_runs"]["runs"], 4, "{list}");
    assert_eq!(list["other_runs"]["made_by"], "nalm run mine.toml --set learning_rate=0.002");
}

/// What comes with the program has a line if the store has runs of it, whoever asked for them.
#[test]
fn runs_count_for_the_experiments_that_have_them() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["compare", "nmu", "--seeds", "2"]);
    let text = look("shared_runs", here, &[&["status"]]);
    assert!(text.lines().any(|line| line.starts_with("single-module ") && line.ends_with("2 of 2700")), "{text}");
}

/// Folders that are missing are made, whoever writes into them.
#[test]
fn missing_folders_are_made() {
    let folder = folder();
    let here = folder.path();
    for (arguments, file) in [
        (&["compare", "nmu", "--seeds", "1", "--steps", "100", "--html"][..], "a/b/page.html"),
        (&["demo", "--seeds", "1", "--html"], "c/d/page.html"),
        (&["train", "--steps", "100", "--curve"], "e/f/curve.csv"),
        (&["export", "--csv"], "g/h/rows.csv"),
        (&["describe", "snmu", "--svg"], "i/j/snmu.svg"),
        (&["new"], "k/l/first.toml"),
        (&["report", "mine.toml", "--seeds", "1", "--out"], "m/n"),
    ] {
        if arguments[0] == "report" {
            succeed(here, &["run", "mine.toml", "--seeds", "1"]);
        }
        succeed(here, &[arguments, &[file]].concat());
        assert!(here.join(file).exists(), "{file}");
    }
    let text = std::fs::read_to_string(here.join("k/l/first.toml")).unwrap();
    assert!(text.contains("writes the page report/first.html"), "{text}");
}

/// The file that is written runs as it stands.
#[test]
fn a_new_file_runs_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    succeed(here, &["new", "first.toml"]);
    let text = std::fs::read_to_string(here.join("first.toml")).unwrap();
    assert!(text.contains("nalm reproduce first.toml") && !text.contains("FILE"), "{text}");
    succeed(here, &["reproduce", "first.toml", "--seeds", "2", "--steps", "1000"]);
    // What is commented out is right, too.
    let whole =
        text.replace("# [[expect]]", "[[expect]]").replace("# model =", "model =").replace("# range =", "range =");
    let whole = whole.replace("# is =", "is =").replace("# source =", "source =").replace("# operation", "operation");
    std::fs::write(here.join("whole.toml"), whole).unwrap();
    succeed(here, &["run", "whole.toml", "--dry-run"]);
}

/// Colour where it is wanted, and nowhere else.
#[test]
fn colours() {
    let folder = folder();
    let coloured = |variables: &[(&str, &str)], arguments: &[&str]| {
        let output = command(folder.path(), arguments).envs(variables.iter().copied()).output().unwrap();
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap().contains('\u{1b}'))
    };
    for arguments in [&["list", "modules"][..], &["train", "--steps", "100"], &["demo", "--seeds", "1"], &["trian"]] {
        assert_eq!(coloured(&[], arguments), [false, false], "{arguments:?}");
    }
    let forced = ("CLICOLOR_FORCE", "1");
    assert_eq!(coloured(&[forced], &["list", "modules"]), [true, false]);
    assert_eq!(coloured(&[forced], &["train", "--steps", "100"]), [true, false]);
    assert_eq!(coloured(&[forced], &["trian"]), [false, true]);
    assert_eq!(coloured(&[forced, ("NO_COLOR", "1")], &["trian"]), [false, false]);
}

/// Runs are counted once wherever they are counted: those of a model without what is varied, and those that two experiments share.
#[test]
fn runs_are_counted_once() {
    let folder = folder();
    let here = folder.path();
    let said = |arguments: &[&str]| String::from_utf8(nalm(here, arguments).stderr).unwrap();
    let swept = ["mine.toml", "--sweep", "noise=U[1,2];U[1,4]"];
    let started = said(&[&["run"], &swept[..]].concat());
    assert!(started.contains("6 runs, 0 done, 6 to do"), "{started}");
    let status = json(here, &[&["status"], &swept[..], &["--json"]].concat());
    assert_eq!((&status["experiments"][0]["runs"], &status["experiments"][0]["done"]), (&6.into(), &6.into()));
    let both = said(&["status", "mine.toml", "mine-with-a-name-of-some-length.toml", "--set", "learning_rate=0.3"]);
    assert!(both.contains("4 runs are missing"), "{both}");
    // A sweep that would be dropped is refused.
    let both = said(&[&["run"], &swept[..], &["--set", "noise=U[1,3]"]].concat());
    assert!(both.contains("noise is swept and set; leave one out"), "{both}");
}

/// What was published about images is not said to be nothing.
#[test]
fn statements_about_images_are_compared_elsewhere() {
    let folder = folder();
    let asked = nalm(folder.path(), &["verify", "mnist-isolated", "--preset", "paper"]);
    let said = String::from_utf8(asked.stderr).unwrap();
    assert!(said.contains("nalm reproduce mnist-isolated --preset paper") && !said.contains("nothing was"), "{said}");
}

/// Less, more, and shorter.
#[test]
fn quiet_verbose_and_short_options() {
    let folder = folder();
    let here = folder.path();
    let said = |arguments: &[&str]| String::from_utf8(nalm(here, arguments).stderr).unwrap();
    assert_eq!(said(&["run", "mine.toml", "-q", "--store", "a"]), "");
    let more = said(&["run", "mine.toml", "-v", "--store", "b"]);
    assert!(more.contains("snmu on U[1,2), seed 1: "), "{more}");
    let ends = |line: &str| [": solved at step ", ": not solved"].iter().any(|end| line.contains(end));
    assert!(more.lines().filter(|line| line.contains(", seed ")).all(ends), "{more}");
    // Every run has a line of its own, and every file.
    let more = said(&[
        "run",
        "mine.toml",
        "-v",
        "--store",
        "c",
        "--sweep",
        "inputs=2;3",
        "--sweep",
        "learning_rate=0.01;0.02",
    ]);
    let lines: std::collections::BTreeSet<&str> = more.lines().filter(|line| line.contains(", seed ")).collect();
    assert_eq!(lines.len(), 16, "{more}");
    let more = said(&["report", "mine.toml", "-v", "--store", "b"]);
    for name in ["mine.svg", "mine.csv", "mine.html", "mine.md"] {
        assert!(more.contains(&format!("report/{name} is written")), "{more}");
    }
    assert!(said(&["run", "mine.toml", "-q", "--set", "nonsense=1"]).starts_with("nalm: "), "errors are always said");
    let long = succeed(
        here,
        &[
            "train",
            "--module",
            "snmu",
            "--range",
            "U[-2,-1)",
            "--seed",
            "3",
            "--steps",
            "1000",
            "--task",
            "single-module",
        ],
    );
    assert_eq!(
        succeed(here, &["train", "-m", "snmu", "-r", "U[-2,-1)", "-s", "3", "-n", "1000", "-t", "single-module"]),
        long
    );
    succeed(here, &["run", "mine.toml", "-p", "a", "-s", "1", "-n", "10", "-j", "1"]);
    fails_with(here, &["run", "mine.toml", "-q", "-v"], 2, "cannot be used with");
}

/// The environment, a file, and what is typed, each before the one before.
#[test]
fn defaults_of_ones_own() {
    let folder = folder();
    let here = folder.path();
    let run = |variables: &[(&str, &str)], more: &[&str]| {
        let output = command(here, &[&["run", "mine.toml", "--dry-run"], more].concat())
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    succeed(here, &["run", "mine.toml", "--store", "full"]);
    assert!(run(&[], &[]).1.contains("4 to do"));
    assert!(run(&[("NALM_STORE", "full")], &[]).1.contains("all done"));
    assert!(run(&[("NALM_STORE", "full")], &["--store", "other"]).1.contains("4 to do"));
    assert!(run(&[("NALM_THREADS", "3")], &[]).1.contains("on 3 threads"));
    // What is empty is not there.
    assert!(run(&[("NALM_STORE", ""), ("NALM_THREADS", "")], &["--threads", "2"]).1.contains("4 to do"));
    assert_eq!(run(&[("NALM_THREADS", "")], &[]).0, Some(0));
    assert!(!here.join("seg").exists());
    let (code, said) = run(&[("NALM_THREADS", "none")], &[]);
    assert!(
        code == Some(2) && said.contains("NALM_THREADS is none; it must be") && !said.contains("--threads"),
        "{said}"
    );
    assert!(run(&[("NALM_THREADS", "2")], &["--threads", "none"]).1.contains("--threads is none; it must be"));
    std::fs::write(here.join("nalm.toml"), "store = \"full\"\nthreads = 5\n").unwrap();
    assert!(run(&[], &[]).1.contains("all done"));
    assert!(run(&[("NALM_STORE", "other")], &[]).1.contains("4 to do: roughly 1 s on 5 threads"));
    assert!(run(&[], &["--store", "other", "--threads", "2"]).1.contains("on 2 threads"));
    for (text, hint) in [
        ("stroe = 1\n", "nalm.toml: unknown key 'stroe'; did you mean 'store'?"),
        ("threads = [1]\n", "threads is [1]"),
        ("threads = 0\n", "nalm.toml: threads is 0; it must be"),
        (
            "threads = 2\nstore = results\n",
            "nalm: nalm.toml, line 2: text stands in quotes; write store = \"results\"\n",
        ),
        ("store\n", "nalm: nalm.toml, line 1: "),
        (&format!("store = {}", "{[]b=".repeat(300_000)), "nalm: nalm.toml, line 1: more than 80 brackets are open"),
    ] {
        std::fs::write(here.join("nalm.toml"), text).unwrap();
        let (code, said) = run(&[], &[]);
        assert!(code == Some(2) && said.contains(hint), "{said}");
    }
}

/// Every page that a page refers to is there.
#[test]
fn manual_pages_for_every_verb() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["man", "--out", "man"]);
    let main = std::fs::read_to_string(here.join("man/nalm.1")).unwrap();
    let listed: Vec<String> =
        main.lines().filter_map(|line| Some(line.strip_suffix("(1)")?.replace('\\', ""))).collect();
    assert!(listed.len() > 15, "{listed:?}");
    for page in listed.iter().filter(|page| *page != "nalm-help") {
        assert!(here.join(format!("man/{page}.1")).is_file(), "{page}");
    }
    assert!(!listed.contains(&"nalm-help".to_string()), "help is no page");
    assert!(succeed(here, &["man", "train"]).contains(".TH nalm-train 1"));
    assert!(here.join("man/nalm-store-check.1").is_file());
}

/// What a shell says to a line of its language, in a folder with the completions; nothing where it is not installed.
#[cfg(unix)]
fn asked(here: &Path, shell: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(shell).args(arguments).current_dir(here).env("HOME", here).output();
    let Ok(output) = output else {
        println!("SKIPPED: {shell} is not installed, so its completions were not tried");
        return None;
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{shell} {arguments:?}");
    Some(String::from_utf8(output.stdout).unwrap().trim().to_string())
}

/// Names are completed, not only options. The shell itself is asked.
#[cfg(unix)]
#[test]
fn names_are_completed() {
    let folder = folder();
    let here = folder.path();
    for shell in ["bash", "zsh", "fish"] {
        let script = succeed(here, &["completions", shell]);
        for name in ["real-npu", "single-module-snmu", "batch-running", "second-order-limits", "-20", "exponent"] {
            assert!(script.contains(name), "{name}");
        }
        std::fs::write(here.join(format!("nalm.{shell}")), script).unwrap();
    }
    // What was typed, with the word to be completed; all words that may come of it.
    let cases = [
        ("nalm train --module sn", "snmu snmu-exp snmu-batch"),
        ("nalm run motiv", "motivation"),
        ("nalm train --operation di", "div"),
        ("nalm train --schedule pear", "pearson-then-mse"),
        ("nalm train --denoiser wei", "weighted"),
        ("nalm man comp", "compare completions"),
        ("nalm describe real", "real-npu"),
        ("nalm list mod", "modules"),
        ("nalm list modules sn", "snmu snmu-exp snmu-batch"),
        ("nalm list denoisers wei", "weighted"),
        ("nalm list experiments motiv", "motivation"),
    ];
    let bash = |words: &str| {
        let count = words.split(' ').count() - 1;
        let text = format!(
            "source ./nalm.bash; COMP_WORDS=({words}); COMP_CWORD={count}; _nalm_words nalm \"${{COMP_WORDS[{count}]}}\" \"${{COMP_WORDS[{}]}}\"; echo \"${{COMPREPLY[@]}}\"",
            count - 1
        );
        asked(here, "bash", &["--norc", "-c", &text])
    };
    // Brackets are part of the shell's language: a word with them is quoted, unless it is within quotes already.
    let quoted = [
        ("nalm train --noise \"'two\"", "two-point(1,5)"),
        ("nalm train --noise two", r"two-point\(1\,5\)"),
        ("nalm train --noise shi", r"shifted-gamma\(3\,0.67\)"),
        ("nalm run motivation --range \"'U[-20\"", "U[-20,-10)"),
        ("nalm run motivation --range U\\\\[-20", r"U\[-20\,-10\)"),
    ];
    for (words, want) in cases.into_iter().chain(quoted) {
        if let Some(found) = bash(words) {
            assert_eq!(found, want, "bash: {words}");
        }
    }
    // What was quoted is one word again.
    if let Some(found) = asked(here, "bash", &["--norc", "-c", r"printf '<%s>' two-point\(1\,5\)"]) {
        assert_eq!(found, "<two-point(1,5)>");
    }
    let fish = |words: &str| {
        let text = format!("source ./nalm.fish; complete -C '{words}'");
        let lines = asked(here, "fish", &["--no-config", "-c", &text])?;
        let names: Vec<&str> = lines.lines().map(|line| line.split('\t').next().unwrap()).collect();
        Some(names.join(" "))
    };
    let quoted = [
        ("nalm train --noise two", "two-point(1,5)"),
        ("nalm train --noise batch-r", "batch-running(0.1)"),
        ("nalm train --range U[-20", "U[-20,-10)"),
        ("nalm list ranges U[-20", "U[-20,-10)"),
    ];
    for (words, want) in cases.into_iter().chain(quoted) {
        if let Some(found) = fish(words) {
            assert_eq!(found, want, "fish: {words}");
        }
    }
    // Files where they may be given, and nowhere else.
    assert!(fish("nalm run min").is_none_or(|found| found.contains("mine.toml")));
    assert!(fish("nalm train --operation ").is_none_or(|found| found.contains("mul") && !found.contains("mine.toml")));
    // There is no way to ask zsh without a terminal; it can read the file.
    asked(here, "zsh", &["-n", "nalm.zsh"]);
}

/// At a terminal, the picture moves. The program `script` makes one, where it is there.
#[cfg(target_os = "linux")]
#[test]
fn the_demo_moves_at_a_terminal() {
    let folder = folder();
    let Some(text) = terminal(folder.path(), 80, &["demo", "--seeds", "6"]) else { return };
    let text = text.replace('␛', "\u{1b}");
    // What is left to see: the last frame, and what it says.
    let last = text.rsplit("\u{1b}[17A").next().unwrap().replace('\u{1b}', "␛");
    let head: String = text.split_inclusive('\n').take(3).collect();
    insta::assert_snapshot!("moving_demo", head + "…\n" + &last);
    for (columns, rows) in [(79, 40), (120, 17)] {
        let small = at_terminal(folder.path(), (columns, rows), &["demo", "--seeds", "1"]).unwrap();
        assert!(!small.contains('┌') && small.contains("Their two weights after"), "{small}");
    }
    assert!(text.matches("\u{1b}[17A").count() == 100 && text.contains("step  5000"), "{text}");
    assert!(text.contains("The NMU solved ") && text.contains("MLP"), "{text}");
}

/// One page with the same as figures.
#[test]
fn the_demo_as_a_page() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["demo", "--seeds", "3", "--html", "demo.html"]);
    let page = std::fs::read_to_string(here.join("demo.html")).unwrap();
    assert!(
        page.matches("<svg").count() >= 3 && page.contains("Why reversible noise helps") && page.contains("MLP (100)")
    );
    assert!(!here.join("results").exists());
}

/// A table of products, with the columns volts, amperes and watts.
fn watts(here: &Path, name: &str) -> String {
    let row = |k: u32| (f64::from(k % 7) + 1.5, f64::from(k * k % 11) + 0.5);
    let rows = (0..60).map(row).map(|(a, b)| format!("{a},{b},{}\n", a * b));
    let text = format!("volts,amperes,watts\n{}", rows.collect::<String>());
    std::fs::write(here.join(name), &text).unwrap();
    text
}

/// Files beside a page take the place of those of an earlier page only.
#[test]
fn a_page_leaves_other_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let table = watts(here, "watts.csv");
    let file = "title = \"W\"\ntask = \"table\"\ndata = \"watts.csv\"\ntarget = \"watts\"\n[preset.a]\nseeds = 1\nsteps = 100\n[[model]]\nmodule = \"nmu\"\n";
    std::fs::write(here.join("watts.toml"), file).unwrap();
    let read = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    fails_with(here, &["reproduce", "watts.toml", "--out", "."], 2, "watts.csv is the table of this experiment");
    assert!(read("watts.csv") == table && !here.join("results").exists(), "before anything is run");
    for _ in 0..2 {
        succeed(here, &["reproduce", "watts.toml", "--out", "pages"]);
    }
    fails_with(here, &["report", "watts.toml", "--out", "."], 2, "give another --out");
    let (unnamed, unwritten) = ("no page here names it", "nalm did not write it");
    let compare = ["compare", "nmu", "--seeds", "1", "--steps", "10", "--html", "sales.html"];
    let demo = ["demo", "--seeds", "1", "--html", "demo.html"];
    for (name, arguments, why) in [
        ("sales.csv", &compare[..], unnamed),
        ("sales-curves.svg", &compare, unnamed),
        ("sales.html", &compare, unwritten),
        ("sales.md", &compare, unwritten),
        ("demo.csv", &demo, unnamed),
        ("demo.html", &demo, unwritten),
    ] {
        std::fs::write(here.join(name), "mine").unwrap();
        fails_with(here, arguments, 2, &format!("{name} is there, and {why}"));
        assert_eq!(read(name), "mine");
        std::fs::remove_file(here.join(name)).unwrap();
        for _ in 0..2 {
            succeed(here, arguments);
        }
        // What the program made is not in the way of the next one.
        for entry in std::fs::read_dir(here).unwrap().flatten() {
            let own = entry.file_name().to_string_lossy().into_owned();
            if own.starts_with("sales") || own.starts_with("demo") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    // A later page with fewer figures leaves none of the others behind.
    let pages = |figures: &str| {
        std::fs::write(here.join("watts.toml"), file.replacen("task", &format!("figures = {figures}\ntask"), 1))
            .unwrap();
        succeed(here, &["reproduce", "watts.toml", "--out", "pages"]);
        let entries = std::fs::read_dir(here.join("pages")).unwrap().flatten();
        let names: std::collections::BTreeSet<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names
    };
    let fewer = pages("[\"facets\"]");
    let more = pages("[\"facets\", \"landscape\"]");
    assert!(fewer.is_subset(&more) && fewer.len() == 4 && more.len() == 6, "{fewer:?} {more:?}");
    assert_eq!(pages("[\"facets\"]"), fewer);
    std::fs::write(here.join("pages/index.html"), "my site").unwrap();
    std::fs::write(here.join("other.toml"), file).unwrap();
    let several = ["reproduce", "watts.toml", "other.toml", "--out", "pages"];
    fails_with(here, &several, 2, "pages/index.html is there, and nalm did not write it");
    assert_eq!(read("pages/index.html"), "my site");
    let table = watts(here, "table.csv");
    let compare = ["compare", "nmu", "--task", "table", "--set", "data=table.csv", "--set", "target=watts", "--html"];
    fails_with(here, &[&compare[..], &["table.html"]].concat(), 2, "is the table of this experiment");
    assert_eq!(read("table.csv"), table);
}

/// No file is read and written by one command.
#[test]
fn no_output_takes_the_place_of_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let table = watts(here, "watts.csv");
    succeed(here, &["fit", "watts.csv", "--save", "m.json"]);
    let model = std::fs::read(here.join("m.json")).unwrap();
    std::fs::write(here.join("units.csv"), "column,unit\nvolts,V\n").unwrap();
    let train = ["train", "--task", "table", "--target", "watts", "--steps", "10"];
    for arguments in [
        &["fit", "watts.csv", "--save", "watts.csv"][..],
        &["fit", "watts.csv", "--save", "./watts.csv"],
        &["fit", "watts.csv", "--units", "units.csv", "--save", "units.csv"],
        &["predict", "m.json", "watts.csv", "--out", "m.json"],
        &["predict", "m.json", "watts.csv", "--out", "watts.csv"],
        &[&train[..], &["--data", "watts.csv", "--curve", "watts.csv"]].concat(),
        &[&train[..], &["--set", "data=watts.csv", "--curve", "watts.csv"]].concat(),
    ] {
        fails_with(here, arguments, 2, "is a file that this command reads; give another name");
    }
    fails_with(here, &["fit", "watts.csv", "--html", "watts.csv"], 2, "ends in .html");
    fails_with(here, &["fit", "watts.csv", "--html", "page"], 2, "ends in .html");
    fails_with(here, &["fit", "watts.csv", "--html", "a.html", "--save", "a.html"], 2, "would both be written");
    assert_eq!(std::fs::read_to_string(here.join("watts.csv")).unwrap(), table);
    assert_eq!(std::fs::read(here.join("m.json")).unwrap(), model);
}

/// What comes with the program is told by where it comes from, not by its name.
#[test]
fn a_name_makes_no_experiment_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("single-module.toml"), FILE).unwrap();
    succeed(here, &["compare", "nmu", "--seeds", "1", "--steps", "10", "--html", "single-module.html"]);
    succeed(here, &["reproduce", "single-module.toml", "--out", "own"]);
    for page in ["single-module.html", "own/single-module.html"] {
        let text = std::fs::read_to_string(here.join(page)).unwrap();
        assert!(!text.contains("Here it is shortened"), "{page}");
        assert_eq!(text.contains("nalm reproduce single-module.toml --preset a"), page.starts_with("own"), "{page}");
    }
    let status = succeed(here, &["status"]);
    assert!(status.lines().any(|line| line.starts_with("single-module ") && line.ends_with("4 of 4")), "{status}");
}

/// Wrong requests that were misunderstood once.
#[test]
fn what_was_meant_is_said() {
    let folder = folder();
    let here = folder.path();
    watts(here, "watts.csv");
    succeed(here, &["fit", "watts.csv", "--save", "m.json"]);
    succeed(here, &["fit", "watts.csv", "--save", "m.safetensors"]);
    std::fs::write(here.join("broken.json"), "[1]\n").unwrap();
    for (arguments, hint) in [
        (
            &["run", "all", "motivation"][..],
            "'all' is every experiment that comes with nalm; leave out the other names",
        ),
        (&["report", "mine.toml", "./mine.toml"], "./mine.toml is given twice; leave one out"),
        (&["verify", "mine.toml", "./mine.toml"], "./mine.toml is given twice; leave one out"),
        (&["verify", "all", "arithmetic"], "'all' is every experiment that comes with nalm; leave out the other names"),
        (&["run", "mine.toml", "--test-range", "U[2,3)"], "--test-range belongs to --range; give it, too"),
        (&["predict", "m.safetensors", "watts.csv"], "m.safetensors: this is a network, for the library"),
        (&["check", "watts.csv", "m.json"], "did you swap the two files?"),
        (&["predict", "broken.json", "watts.csv"], "broken.json: this is no file of formulas; nalm fit --save"),
        (&["train", "--curve", "c.svg"], "give a name that ends in .csv or .txt"),
        (&["train", "--layers", "nau 100->3, snmu"], "--layers begins with 100 inputs, and single-module has 2"),
        (&["export"], "say what to write: --csv FILE or --jsonl FILE"),
    ] {
        fails_with(here, arguments, 2, hint);
    }
    let predict = fails_with(here, &["predict", "m.json", "units.csv"], 2, "units.csv");
    assert!(!predict.contains("line 1 column"), "{predict}");
    std::fs::write(here.join("nalm.toml"), "store = 5\n").unwrap();
    fails_with(here, &["status"], 2, "nalm.toml: store is 5; it must be a path in quotes");
}

/// Every denoiser has a formula of its own.
#[test]
fn a_unit_is_described_with_the_denominator_that_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let formula = |denoiser: &str| {
        let text = succeed(folder.path(), &["describe", &format!("snmu denoiser={denoiser}")]);
        text.lines().find_map(|line| line.split_once("y_o = ").map(|(_, formula)| formula.to_string())).unwrap()
    };
    assert_eq!(formula("none"), "prod_i (n_i x_i w_oi + 1 - w_oi); the NMU in evaluation");
    let all = ["paper", "exponent", "noise", "weighted"].map(formula);
    let under = all.each_ref().map(|formula| formula.split_once(" / ").unwrap().1.split_once(';').unwrap().0);
    assert_eq!(under, ["prod_i (n_i w_oi + 1 - w_oi)", "prod_i n_i^w_oi", "prod_i n_i", "prod_i n_i w_oi"]);
}

/// Stores are named in one way.
#[test]
fn a_store_may_be_an_option_everywhere() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "mine.toml", "--store", "own"]);
    assert_eq!(succeed(here, &["store", "check", "--store", "own"]), succeed(here, &["store", "check", "own"]));
    let compact = |arguments: &[&str]| succeed(here, arguments);
    assert_eq!(compact(&["store", "compact", "--store", "own"]), compact(&["store", "compact", "own"]));
    assert_eq!(succeed(here, &["claims", "--store", "own"]), succeed(here, &["claims", "own"]));
    let listed = succeed(here, &["list", "modules"]);
    assert!(
        listed.lines().any(|line| line.starts_with("snmu-batch") && line.ends_with("snmu with noise=batch")),
        "{listed}"
    );
}

/// Errors are those of one step, formula and weights those of another; names are those of the file.
#[test]
fn training_says_of_which_step_and_column_it_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let table = watts(here, "watts.csv").replacen("volts,amperes,watts", "x,the y,p", 1);
    std::fs::write(here.join("p.csv"), table).unwrap();
    let train = ["train", "--task", "table", "--data", "p.csv", "--target", "p", "--steps", "5000"];
    let text = succeed(here, &[&train[..], &["--curve", "c.csv"]].concat());
    assert!(text.contains("formula           p = x * `the y`\n"), "{text}");
    for name in ["c.csv", "C.CSV", "c.Txt"] {
        let output = nalm(here, &[&train[..], &["--curve", name]].concat());
        assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("{name} is written")));
    }
    let both = text.contains("(errors are of this step)") && text.contains("(formula and weights are of this step)");
    assert_eq!(both, text.contains("last step"), "{text}");
}

/// Seeds are a number, a list, or a span without its end; the page says which, and whether all are there.
#[test]
fn seeds_may_be_chosen() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "mine.toml", "--seeds", "5,6"]);
    let csv = succeed(here, &["export", "--csv", "-"]);
    let seeds: std::collections::BTreeSet<&str> =
        csv.lines().skip(1).filter_map(|line| line.split(",completed").next()?.rsplit(',').next()).collect();
    assert_eq!(seeds, ["5", "6"].into(), "{csv}");
    let status = succeed(here, &["status", "mine.toml", "--seeds", "5..7"]);
    assert!(status.contains("4 of 4"), "{status}");
    succeed(here, &["report", "mine.toml", "--seeds", "5..9"]);
    let page = std::fs::read_to_string(here.join("report/mine.md")).unwrap();
    let first = page.lines().skip(1).find(|line| !line.is_empty()).unwrap();
    assert_eq!(first, "Incomplete: 4 of 8 runs, with the seeds 5, 6.");
    assert!(page.contains("4 seeds (5 to 8)"), "{page}");
    succeed(here, &["compare", "nmu", "snmu", "--steps", "100", "--seeds", "100..103", "--html", "c.html"]);
    let page = std::fs::read_to_string(here.join("c.md")).unwrap();
    assert!(page.contains("--seeds 100..103") && page.contains("(100 to 102)"), "{page}");
    assert!(!page.contains("Incomplete"), "{page}");
    for (seeds, hint) in [("5,5", "5 is there twice"), ("3..3", "has none"), ("a,b", "100..120"), ("0", "1 or more")] {
        fails_with(here, &["run", "mine.toml", "--seeds", seeds], 2, hint);
    }
    fails_with(here, &["run", "mine.toml", "--seeds", "1", "--seeds", "2"], 2, "--seeds cannot be given twice");
}

/// What shares runs with what was asked for stands apart from it.
#[test]
fn status_tells_what_was_asked_for_from_what_shares_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    succeed(here, &["run", "single-module", "--preset", "quick", "--seeds", "1", "--range", "U[1,2)"]);
    let text = succeed(here, &["status"]);
    let (asked, shared) = text.split_once("shares runs with").unwrap_or_else(|| panic!("nothing is shared: {text}"));
    assert!(asked.contains("single-module --seeds 1"), "{text}");
    assert!(shared.contains("operations") && !shared.contains("--seeds 1"), "{text}");
}

/// Options of `train` and `compare` have the same names.
#[test]
fn one_option_has_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    watts(here, "watts.csv");
    let train = |more: &[&str]| json(here, &[&["train", "--steps", "100", "--json", "--seed", "3"], more].concat());
    assert_eq!(train(&["--module", "snmu noise=U[1,2]"]), train(&["--module", "snmu", "--noise", "U[1,2]"]));
    let twice = ["train", "--module", "snmu noise=U[1,2]", "--noise", "U[1,3]"];
    fails_with(here, &twice, 2, "noise is chosen twice");
    let compare = |more: &[&str]| {
        let same = ["compare", "nmu", "--task", "table", "--seeds", "1", "--steps", "100", "--json"];
        json(here, &[&same[..], more].concat())["models"].clone()
    };
    let typed = compare(&["--data", "watts.csv", "--target", "watts"]);
    assert_eq!(typed, compare(&["--set", "data=watts.csv", "--set", "target=watts"]));
    succeed(here, &["compare", "nmu", "--stream", "reference", "--seeds", "1", "--steps", "100"]);
}

/// At sixty columns no line is longer, and no word is broken.
#[test]
fn narrow_terminals_have_whole_words() {
    let folder = folder();
    let here = folder.path();
    let table = watts(here, "watts.csv").replacen(
        "volts,amperes,watts",
        "the_volts_of_it,the_amperes_of_it,the_watts_of_it",
        1,
    );
    std::fs::write(here.join("long.csv"), table).unwrap();
    succeed(here, &["run", "mine.toml"]);
    succeed(here, &["export", "--csv", "rows.csv"]);
    for arguments in [
        &["demo", "--seeds", "2"][..],
        &["list", "modules"],
        &["list", "metrics"],
        &["fit", "long.csv"],
        &["compare", "nmu", "snmu", "--steps", "1000", "--seeds", "2", "--range", "U[1,2)", "--range", "U[-2,-1)"],
        &["compare", "nmu", "snmu", "--steps", "1000", "--seeds", "2"],
        &["claims"],
        &["stats", "rows.csv", "--paired", "nmu,snmu"],
        &["status"],
    ] {
        let output = command(here, arguments).env("COLUMNS", "60").env("CLICOLOR_FORCE", "1").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for line in text.lines() {
            let plain = line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").replace("\u{1b}[32m", "");
            assert!(plain.chars().count() <= 60, "{arguments:?}: {plain}\n{text}");
        }
        assert!(output.status.success(), "{arguments:?}");
    }
    let compare =
        ["compare", "nmu", "snmu", "--steps", "1000", "--seeds", "2", "--range", "U[1,2)", "--range", "U[-2,-1)"];
    let text = command(here, &compare).env("COLUMNS", "60").output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    // Two models on two ranges, each as a list of its own.
    let solved = text.lines().filter(|line| line.starts_with("  solved  ") && line.ends_with(" of 2"));
    assert_eq!(solved.count(), 4, "{text}");
}

/// What is varied is called by its name, and a range is where it is.
#[test]
fn failed_seeds_are_named_by_what_was_varied() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let ranges = "ranges = [\"U[1,2)\", \"U[-2,-1)\"]";
    let sweep = "[sweep]\nnoise = [\"U[1,2]\", \"U[1,5]\"]";
    let file = format!(
        "title = \"S\"\ntask = \"single-module\"\n{sweep}\n[preset.a]\nseeds = 2\nsteps = 10\n{ranges}\n[[model]]\nmodule = \"snmu\"\n"
    );
    std::fs::write(here.join("sweep.toml"), file).unwrap();
    succeed(here, &["reproduce", "sweep.toml"]);
    let page = std::fs::read_to_string(here.join("report/sweep.md")).unwrap();
    assert!(page.contains("\n* sNMU, noise U[1,2], on U[-2,-1): "), "{page}");
}

/// Whatever a listing prints can be asked for by the name that it prints.
#[test]
fn entries_are_found_by_what_listings_print() {
    let folder = folder();
    let here = folder.path();
    for (name, listing) in [("U[1,5]", "noise"), ("batch-running(0.1)", "noise"), ("constant(7)", "noise")] {
        let described = succeed(here, &["describe", name]);
        assert_eq!(described, succeed(here, &["list", listing, name]), "{name}");
    }
    assert!(succeed(here, &["list", "noise", "U[1,5]"]).contains("uniform"));
    assert!(succeed(here, &["list", "noise", "batch-feature"]).contains("s_i"), "and by its own name");
    fails_with(here, &["list", "noise", "U[5,1]"], 2, "unknown noise");
    for (name, listing) in [
        ("second-order", "schedules"),
        ("motivation", "experiments"),
        ("success", "metrics"),
        ("facets", "figures"),
        ("none", "denoisers"),
        ("U[-2,2)", "ranges"),
    ] {
        assert_eq!(succeed(here, &["describe", name]), succeed(here, &["list", listing, name]), "{name}");
    }
    assert_eq!(succeed(here, &["list", "units"]), succeed(here, &["list", "modules"]));
    for shell in ["bash", "zsh", "fish"] {
        let text = succeed(here, &["completions", shell]);
        let all = ["snmu-batch", "mlp-1", "mlp-100", "nmu-grad-noise", "reference"];
        assert!(all.iter().all(|name| text.contains(name)), "{shell}");
    }
}

/// The weights that are shown are those of the errors above them, also where nothing is trained.
#[test]
fn weights_are_those_of_the_errors() {
    let folder = folder();
    let here = folder.path();
    let text = succeed(here, &["train", "--steps", "0", "--set", "weights=[0.25,0.75]"]);
    assert!(text.contains("w                 0.2500 0.7500"), "{text}");
    let one = nalm(here, &["train", "--steps", "1"]);
    assert!(String::from_utf8_lossy(&one.stderr).starts_with("1 step\n"));
    let text = succeed(here, &["train", "--layers", "linear", "--set", "weights=[-1e30,1,0]", "--steps", "0"]);
    assert!(text.contains("-1.000e30"), "{text}");
}

/// Comparisons that differ in their seeds alone are told apart, and rows of files from elsewhere are not said to have changed.
#[test]
fn lines_of_status_can_be_told_apart() {
    let folder = folder();
    let here = folder.path();
    let compare = |more: &[&str]| succeed(here, &[&["compare", "nmu", "--steps", "10"][..], more].concat());
    compare(&["--seeds", "1"]);
    let lines = |text: &str| text.lines().filter(|line| line.starts_with("compare: ")).map(String::from).collect();
    let one: Vec<String> = lines(&succeed(here, &["status"]));
    assert!(one.len() == 1 && !one[0].contains("--seeds"), "{one:?}");
    compare(&["--seeds", "5,6"]);
    let two: Vec<String> = lines(&succeed(here, &["status"]));
    assert!(two.len() == 2 && two[0].contains("--seeds 5..7 ") && two[1].contains("--seeds 1 "), "{two:?}");
    // The test range is that of the default.
    let title = compare(&["--seeds", "1", "--test-range", "U[3,6)"]);
    assert!(title.starts_with("NMU on U[1,2), tested on U[3,6)"), "{title}");
    let elsewhere = tempfile::tempdir().unwrap();
    let table = elsewhere.path().join("away.csv");
    let rows: String = (1..60).map(|k| format!("{k},{},{}\n", k % 7, k * (k % 7))).collect();
    std::fs::write(&table, format!("a,b,t\n{rows}")).unwrap();
    compare(&["--task", "table", "--data", table.to_str().unwrap(), "--target", "t", "--seeds", "1"]);
    let text = succeed(here, &["status"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("whose files have changed or are not in this folder"), "{text}");
}

/// What is wrong with a file of defaults, and with the output, is said of these.
#[test]
fn defaults_and_outputs_that_are_wrong_are_named() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("nalm.toml"), "store = \"\"\n").unwrap();
    fails_with(here, &["status"], 2, "nalm.toml: store needs a value");
    std::fs::remove_file(here.join("nalm.toml")).unwrap();
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let output = command(here, &["list", "modules"]).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with("nalm: cannot write to the standard output: "), "{said}");
    }
}

/// The hint is about the network that is trained: the task's front layer, and units of the shape that they have in it.
#[test]
fn units_are_judged_in_their_network() {
    let folder = folder();
    let here = folder.path();
    let said = |arguments: &[&str]| {
        let output = nalm(here, &[&["train", "--steps", "0"][..], arguments].concat());
        String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_string()
    };
    for operation in ["add", "sub", "square", "mul"] {
        let first = said(&["--task", "arithmetic", "--operation", operation]);
        assert_eq!(first, "0 steps", "{operation}");
    }
    assert!(said(&["--task", "arithmetic", "--operation", "div"]).starts_with("nmu cannot represent div exactly"));
    assert_eq!(said(&["--module", "mlp", "--operation", "sub"]), "0 steps");
    assert_eq!([said(&["--module", "fc"]), said(&["--module", "mul"])], ["0 steps", "0 steps"]);
    for unit in ["fc", "mul"] {
        let first = said(&["--module", unit, "--inputs", "4"]);
        let (cannot, can) = first.split_once("; these units can: ").unwrap();
        assert_eq!(cannot, format!("{unit} cannot represent mul of two among 4 inputs exactly"));
        let can: Vec<&str> = can.split(", ").collect();
        assert!(can.contains(&"nmu") && !can.contains(&"fc") && !can.contains(&"mul"), "{first}");
    }
}

/// Where the divisor comes near 0 there is no second rule, and no verdict by it.
#[test]
fn rows_have_no_verdict_by_a_threshold_that_is_not_defined() {
    let folder = folder();
    let here = folder.path();
    let of = |test: &str| {
        let train = ["train", "--module", "real-npu", "--operation", "div", "--range", "U[-3,-2)", "--steps", "10"];
        json(here, &[&train[..], &["--test-range", test, "--json", "--quiet"]].concat())["metrics"].clone()
    };
    let [near, away] = ["U[-1,1)", "U[-6,-3)"].map(of);
    assert!(near["solved"].is_boolean() && near.get("solved_simulated").is_none(), "{near}");
    assert!(away["solved"].is_boolean() && away["solved_simulated"].is_boolean(), "{away}");
}

/// What was asked of a store is read as it was typed, whatever the environment says today.
#[test]
fn the_environment_does_not_change_what_was_asked() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["compare", "nmu", "snmu", "--steps", "100", "--seeds", "2"]);
    let status = |name: &str, value: &str| {
        let output = command(here, &["status"]).env(name, value).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let want = succeed(here, &["status"]);
    assert!(want.contains("compare: ") && !want.contains("other run"), "{want}");
    for (name, value) in [("NALM_THREADS", ""), ("NALM_THREADS", "zwei"), ("NALM_THREADS", "0"), ("NALM_STORE", "")] {
        assert_eq!(status(name, value), want, "{name}={value}");
    }
    let output = command(here, &["run", "mine.toml"]).env("NALM_THREADS", "zwei").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("nalm: NALM_THREADS is zwei; it must be"));
}

/// A figure that was asked for and cannot be drawn is named, with what it needs.
#[test]
fn figures_that_cannot_be_drawn_are_named() {
    let folder = folder();
    let here = folder.path();
    let figures = "figures = [\"facets\", \"curves\", \"basins\"]\n";
    std::fs::write(here.join("my.toml"), format!("{figures}{FILE}")).unwrap();
    let output = nalm(here, &["reproduce", "my.toml"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("my: no figure 'curves': it needs `curve = true`\n"), "{said}");
    assert!(said.contains("my: no figure 'basins': it needs starting weights on a grid"), "{said}");
    let page = std::fs::read_to_string(here.join("report/my.md")).unwrap();
    assert!(page.contains("no figure 'curves'"), "{page}");
    std::fs::write(here.join("my.toml"), format!("curve = true\n{figures}{FILE}")).unwrap();
    let said = String::from_utf8(nalm(here, &["reproduce", "my.toml"]).stderr).unwrap();
    assert!(!said.contains("'curves'") && said.contains("'basins'"), "{said}");
}

/// The page of a table says what was learned from what, and has no column for ranges.
#[test]
fn a_page_of_a_table_names_its_file() {
    let folder = folder();
    let here = folder.path();
    let rows: String = (1..60).map(|k| format!("{k},{},{}\n", k % 7, k * (k % 7))).collect();
    std::fs::write(here.join("readings.csv"), format!("a,b,t\n{rows}")).unwrap();
    let text = FILE.replace("single-module", "table").replace("ranges = [\"U[1,2)\"]\n", "");
    std::fs::write(here.join("own.toml"), format!("data = \"readings.csv\"\ntarget = \"t\"\n{text}")).unwrap();
    succeed(here, &["reproduce", "own.toml"]);
    let page = std::fs::read_to_string(here.join("report/own.md")).unwrap();
    let run = page.lines().find(|line| line.contains("task table")).unwrap();
    assert!(run.contains("readings.csv: t from a, b; split random (validation 0.1, test 0.2)"), "{run}");
    assert!(page.contains("\n| model | success") && !page.contains("range |"), "{page}");
}

/// A name of any listing is known, and what is half open is a range.
#[test]
fn whatever_is_listed_can_be_described() {
    let here = Path::new(".");
    assert!(succeed(here, &["describe", "U[1,2)"]).contains("test range"));
    assert!(succeed(here, &["describe", "U[1,2]"]).contains("uniform"));
    fails_with(here, &["describe", "U[7,8)"], 2, "unknown range 'U[7,8)'");
    fails_with(here, &["describe", "secnd-order"], 2, "did you mean 'second-order'?");
    fails_with(here, &["describe", "foo"], 2, "whatever nalm list noise, denoisers, ranges, experiments, schedules");
}

/// The last line of a schedule is its last step; how many there are, nobody knows before.
#[test]
fn a_schedule_is_shown_to_its_end() {
    let train = ["train", "--schedule", "second-order", "--range", "U[1,2)", "--module", "snmu"];
    let output = nalm(Path::new("."), &train);
    let (said, text) = (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
    assert!(said.starts_with("at most "), "{said}");
    let last = said.lines().last().unwrap().split_whitespace().next().unwrap();
    let step = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    let want = step("last step ").or_else(|| step("best step ")).unwrap();
    assert_eq!(last, want, "{said}{text}");
}

/// An experiment without runs has all presets, whoever asks.
#[test]
fn presets_are_the_same_everywhere() {
    let here = Path::new(".");
    assert!(succeed(here, &["list", "experiments", "batch-noise-bound"]).contains("smoke, quick, laptop, paper"));
    fails_with(here, &["run", "batch-noise-bound", "--preset", "foo"], 2, "smoke, quick, laptop, paper");
}

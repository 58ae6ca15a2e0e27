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
fn at_terminal(here: &Path, (columns, rows): (u32, u32), arguments: &[&str]) -> Option<String> {
    let quoted: Vec<String> = arguments.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let typed = format!("stty cols {columns} rows {rows}; exec '{}' {}", env!("CARGO_BIN_EXE_nalm"), quoted.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &typed, "/dev/null"]).current_dir(here).stdin(Stdio::null());
    let output = script.env("TERM", "xterm").env("SHELL", "/bin/sh").env_remove("COLUMNS").output().ok()?;
    // Colours are seen as they are written, beginning with a sign for the escape.
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n").replace('\u{1b}', "␛");
    let code = output.status.code().unwrap_or(-1);
    Some(format!("$ nalm {}\n{}[exit {code}]\n", arguments.join(" "), text.replace(here.to_str().unwrap(), "FOLDER")))
}

/// Without what is different everywhere: who did how much, and how fast.
fn steady(text: &str) -> String {
    let same = |line: &&str| !line.starts_with("  by ") && !line.starts_with("about ");
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
    ];
    let text = look("missing_store", folder.path(), all);
    let sentence = "nalm: nowhere is no store: it has no folder seg; nalm run makes one\n[exit 2]\n";
    assert_eq!(text.matches(sentence).count(), all.len(), "{text}");
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
        &["compare", "nmu", "nmu"],
        &["compare", "nmu", "--range", "U[3,4)"],
        &["compare", "nmu", "--html", "page.pdf"],
        &["new", "mine.toml"],
        &["new", "mine.txt"],
        &["man", "trian"],
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
    ];
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
    // Whether it was solved by then, too, and so how its formula is called.
    let same = |line: &&str| !line.contains("solved") && !line.contains("(weights near");
    let text = text.replace("nearest formula", "formula");
    insta::assert_snapshot!("stopped", text.lines().filter(same).map(head).collect::<Vec<_>>().join("\n"));
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
        for _ in 0..2_000 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "{text}");
        if let Some(last) = text.lines().last() {
            assert_eq!(last, "nalm: stopped; nalm verify keeps no runs, so the same command starts anew");
            assert!(!text.contains("are kept"), "{text}");
            assert!(!here.join("results").exists());
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
    // At a terminal, it moves.
    insta::assert_snapshot!("demo", screen(here, &["demo", "--seeds", "3"]));
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
    std::fs::write(here.join("no-seed.csv"), "unit,solved\nA,true\n").unwrap();
    look(
        "statistics",
        here,
        &[
            &["stats", "runs.csv"],
            &["stats", "runs.csv", "--csv"],
            &["stats", "runs.csv", "--paired", "A,B"],
            &["stats", "runs.csv", "--paired", "A,B", "--csv"],
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
    // Several ranges are several tests; all together are named as such, and have every seed several times.
    let two = ["compare", "nmu", "snmu", "--range", "U[1,2)", "--range", "U[-2,-1)", "--seeds", "5", "--steps", "3000"];
    let both = json(here, &[&two[..], &["--json", "--store", "two"]].concat());
    let tested = both["paired"].as_array().unwrap().iter();
    let tested: Vec<(&str, u64, bool)> = tested
        .map(|p| (p["range"].as_str().unwrap(), p["pairs"].as_u64().unwrap(), p["success"]["holm_p"].is_number()))
        .collect();
    assert_eq!(tested, [("U[1,2)", 5, true), ("U[-2,-1)", 5, true), ("all 2 together", 10, false)]);
    let text = succeed(here, &[&two[..], &["--store", "two", "--html", "two.html"]].concat());
    assert!(text.contains("together") && text.contains("Holm p"), "{text}");
    let page = std::fs::read_to_string(here.join("two.html")).unwrap();
    assert!(page.contains("<td>all 2 together</td><td class=\"n\">10</td>") && page.contains("after Holm"), "{page}");
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

/// Names are completed, not only options. The shell itself is asked.
#[cfg(unix)]
#[test]
fn names_are_completed() {
    let folder = folder();
    let here = folder.path();
    let scripts = ["bash", "zsh", "fish"].map(|shell| succeed(here, &["completions", shell]));
    for script in &scripts {
        for name in ["real-npu", "single-module-snmu", "batch-running", "second-order-limits", "-20"] {
            assert!(script.contains(name), "{name}");
        }
    }
    std::fs::write(here.join("nalm.bash"), &scripts[0]).unwrap();
    let complete = |words: &str| {
        let count = words.split(' ').count() - 1;
        let text = format!(
            "source ./nalm.bash; COMP_WORDS=({words}); COMP_CWORD={count}; _nalm nalm \"${{COMP_WORDS[{count}]}}\" \"${{COMP_WORDS[{}]}}\"; echo \"${{COMPREPLY[@]}}\"",
            count - 1
        );
        let output = Command::new("bash").args(["--norc", "-c", &text]).current_dir(here).output();
        // Where there is no bash, there is nobody to ask.
        output.ok().map(|output| String::from_utf8(output.stdout).unwrap().trim().to_string())
    };
    for (words, want) in [
        ("nalm train --module sn", "snmu snmu-exp"),
        ("nalm run motiv", "motivation"),
        ("nalm train --noise \"'two\"", "two-point(1,5)"),
        ("nalm run motivation --range \"'U[-20\"", "U[-20,-10)"),
    ] {
        if let Some(found) = complete(words) {
            assert_eq!(found, want, "{words}");
        }
    }
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

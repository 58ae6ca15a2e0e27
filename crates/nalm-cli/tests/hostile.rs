//! What nobody would do on purpose, and somebody does: the real binary stays in order, and says what is wrong.

mod common;

use common::{command, fails_with, nalm, segments, succeed};
use serde_json::{Value, json as value};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// Two runs; the wide network's weights are a file of their own.
const FILE: &str = r#"
title = "Few"
task = "single-module"
analysis = "Small and quick."

[preset.a]
seeds = 1
steps = 20
ranges = ["U[1,2)"]

[[model]]
module = "nmu"

[[model]]
module = "mlp"
options = { hidden = 500 }
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("few.toml"), FILE).unwrap();
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A line of a segment.
fn line(value: &Value) -> String {
    format!("{value}\t{:08x}\n", crc32c::crc32c(value.to_string().as_bytes()))
}

/// The values in a segment.
fn values(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line.rsplit_once('\t').unwrap().0).unwrap()).collect()
}

/// Runs a command that must end by itself; the limit is for a machine that does much else.
#[cfg(unix)]
fn ends(here: &Path, arguments: &[&str]) -> Output {
    let mut child = command(here, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(300) {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
mod names {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    /// No text, but a file may be called so.
    fn odd() -> &'static OsStr {
        OsStr::from_bytes(b"odd-\xff-name")
    }

    fn with_odd(here: &Path, before: &[&str], after: &[&str]) -> Output {
        command(here, before).arg(odd()).args(after).output().unwrap()
    }

    #[test]
    fn arguments_that_are_no_text_are_a_wrong_request() {
        let folder = folder();
        let here = folder.path();
        let cases: [(&[&str], &[&str]); 20] = [
            (&[], &[]),
            (&["list"], &[]),
            (&["train", "--module"], &[]),
            (&["train", "--range"], &[]),
            (&["train", "--set"], &[]),
            (&["train", "--task", "table", "--target", "t", "--data"], &[]),
            (&["run"], &["--dry-run"]),
            (&["run", "few.toml", "--preset"], &[]),
            (&["run", "few.toml", "--set"], &[]),
            (&["status"], &[]),
            (&["status", "--store"], &[]),
            (&["report"], &[]),
            (&["reproduce"], &[]),
            (&["verify", "--record"], &[]),
            (&["claims"], &[]),
            (&["export", "--csv", "-", "--store"], &[]),
            (&["store", "check"], &[]),
            (&["store", "merge"], &["--into", "merged"]),
            (&["describe"], &[]),
            (&["stats"], &[]),
        ];
        for (before, after) in cases {
            let output = with_odd(here, before, after);
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{before:?}: {message}");
            assert!(!message.contains("panicked") && !message.is_empty(), "{before:?}: {message}");
        }
        assert!(!here.join("results").exists() && !here.join("merged").exists());
    }

    /// A store and an output may be called so.
    #[test]
    fn files_may_have_names_that_are_no_text() {
        let folder = folder();
        let here = folder.path();
        for (before, after) in [
            (&["run", "few.toml", "--store"][..], &[][..]),
            (&["status", "few.toml", "--store"], &[]),
            (&["store", "check"], &[]),
            (&["store", "pack"], &["--into", "record"]),
            (&["export", "--store", "record", "--csv"], &[]),
        ] {
            // The export goes to a name of its own: the store has this one.
            let output = match before.last() == Some(&"--csv") {
                true => command(here, before).arg(OsStr::from_bytes(b"rows-\xff.csv")).output().unwrap(),
                false => with_odd(here, before, after),
            };
            assert!(output.status.success(), "{before:?}: {}", text(&output.stderr));
        }
        let rows = std::fs::read_to_string(here.join(OsStr::from_bytes(b"rows-\xff.csv"))).unwrap();
        assert_eq!(rows.lines().count(), 1 + 2);
    }
}

/// A row as somebody else's program may have written it.
fn store_with(here: &Path, change: impl Fn(&mut Value)) {
    succeed(here, &["run", "few.toml"]);
    let file = segments(&here.join("results")).remove(0);
    let mut all = values(&file);
    change(&mut all[1]);
    std::fs::write(&file, all.iter().map(line).collect::<String>()).unwrap();
}

/// Names of any length are written and read; no format width is that large.
#[test]
fn names_of_a_megabyte_are_exported_and_grouped_by() {
    let folder = folder();
    let here = folder.path();
    let long = "x".repeat(1_000_000);
    store_with(here, |row| row["spec"]["module"] = value!(long));
    let output = nalm(here, &["export", "--csv", "rows.csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(here.join("rows.csv")).unwrap().contains(&long));
    for more in [&[][..], &["--json"], &["--csv"]] {
        let output = nalm(here, &[&["stats", "rows.csv"], more].concat());
        assert!(output.status.success() && text(&output.stdout).contains(&long), "{}", text(&output.stderr));
    }
}

/// However many rows a store has, a command holds only where they lie.
#[cfg(target_os = "linux")]
#[test]
fn a_store_is_read_in_less_memory_than_its_rows_take() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "few.toml"]);
    let file = segments(&here.join("results")).remove(0);
    let mut all = values(&file);
    let (header, mut row) = (line(&all[0]), all.swap_remove(1));
    // Six thousand rows of three thousand characters, and of a hundred and fifty numbers, each of which takes far more as a value.
    row["series"] = value!({"errors": (0..150).map(|k| f64::from(k) / 7.0).collect::<Vec<_>>()});
    let mut lines = header;
    for k in 0..6_000 {
        row["id"] = value!(format!("{k:032x}"));
        lines += &line(&row);
    }
    assert!(lines.len() > 18_000_000, "{}", lines.len());
    std::fs::write(&file, lines).unwrap();
    // Program and stacks included, and less than the values of all rows would take.
    let limited = |arguments: &[&str]| {
        let mut shell = std::process::Command::new("sh");
        let script = "ulimit -v 80000 && exec \"$@\"";
        shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_nalm")]).args(arguments).current_dir(here);
        let output = shell.env("MALLOC_ARENA_MAX", "1").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text_of_end(&output.stderr));
    };
    limited(&["export", "--csv", "rows.csv"]);
    let rows = std::fs::read_to_string(here.join("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 6_001);
    // They are read on all cores, or on one where no thread can be had.
    let output = command(here, &["export", "--csv", "-"]).env(NO_THREADS.0, NO_THREADS.1).output().unwrap();
    assert!(output.status.success() && text(&output.stdout) == rows, "{}", text_of_end(&output.stderr));
    limited(&["store", "pack", "results", "--into", "record"]);
    limited(&["export", "--csv", "again.csv", "--store", "record"]);
    assert_eq!(std::fs::read_to_string(here.join("again.csv")).unwrap(), rows);
}

/// The end of what was said, which may be much.
#[cfg(unix)]
fn text_of_end(bytes: &[u8]) -> String {
    text(&bytes[bytes.len().saturating_sub(1_000)..])
}

/// A pipe that nobody writes to, wherever a store has files, holds nobody up.
#[cfg(unix)]
#[test]
fn pipes_in_a_store_hold_nobody_up() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "few.toml"]);
    let row = values(&segments(&here.join("results")).remove(0))[1].clone();
    let id = row["id"].as_str().unwrap();
    for name in ["seg/0.jsonl", "seg/9.jsonl.gz", "weights/0.safetensors", &format!("checkpoints/{id}.safetensors")] {
        let path = here.join("results").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    }
    for arguments in [
        &["status", "few.toml"][..],
        &["store", "check", "results"],
        &["store", "merge", "results", "--into", "merged"],
        &["store", "pack", "results", "--into", "record"],
        &["store", "compact", "results"],
        &["export", "--csv", "rows.csv"],
        &["report", "few.toml"],
        &["verify", "--record", "results", "--sample", "1"],
        &["run", "few.toml", "--seeds", "2"],
    ] {
        let output = ends(here, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    }
    assert_eq!(succeed(here, &["store", "compact", "merged"]).lines().count(), 2);
}

/// The state of an image run that is a pipe, or anything else that is no file, is no state.
#[cfg(all(unix, feature = "images"))]
#[test]
fn a_checkpoint_that_is_a_pipe_or_a_folder_is_named() {
    let folder = folder();
    let here = folder.path();
    let run = ["run", "mnist-isolated-full", "--preset", "smoke", "--set", "halved=true", "--threads", "1"];
    succeed(here, &[&run[..], &["--store", "good"]].concat());
    let row = values(&segments(&here.join("good")).remove(0))[1].clone();
    let checkpoint = here.join(format!("results/checkpoints/{}.safetensors", row["id"].as_str().unwrap()));
    std::fs::create_dir_all(checkpoint.parent().unwrap()).unwrap();
    for kind in ["mkfifo", "mkdir"] {
        assert!(std::process::Command::new(kind).arg(&checkpoint).status().unwrap().success());
        let output = ends(here, &run);
        let message = text(&output.stderr);
        assert!(!output.status.success() && message.contains("is no file"), "{kind}: {:?} {message}", output.status);
        assert!(!message.contains("panicked"), "{message}");
        assert!(std::process::Command::new("rm").arg("-r").arg(&checkpoint).status().unwrap().success());
    }
    succeed(here, &run);
    assert_eq!(succeed(here, &["store", "compact", "results"]), succeed(here, &["store", "compact", "good"]));
}

/// A stack of an exabyte: no thread can be had.
#[cfg(unix)]
const NO_THREADS: (&str, &str) = ("RUST_MIN_STACK", "1152921504606846976");

#[cfg(unix)]
#[test]
fn without_threads_a_command_says_so_and_leaves_nothing_behind() {
    let folder = folder();
    let here = folder.path();
    let output = command(here, &["run", "few.toml"]).env(NO_THREADS.0, NO_THREADS.1).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot start a thread") && !message.contains("panicked"), "{message}");
    assert_eq!(
        nalm(here, &["status", "few.toml"]).status.code(),
        Some(3),
        "both runs are missing, and none is a result"
    );
    succeed(here, &["run", "few.toml", "--store", "good"]);
    succeed(here, &["run", "few.toml"]);
    let want = succeed(here, &["store", "compact", "good"]);
    assert_eq!(succeed(here, &["store", "compact", "results"]), want);
    // What only reads does so on one thread.
    for arguments in
        [&["store", "compact", "results"][..], &["export", "--csv", "-"], &["report", "few.toml"], &["status"]]
    {
        let output = command(here, arguments).env(NO_THREADS.0, NO_THREADS.1).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    }
}

/// One thread can be had and no second one: with images, the one does the work of all.
#[cfg(all(target_os = "linux", feature = "images"))]
#[test]
fn an_image_run_with_one_thread_of_two_has_the_same_result() {
    let folder = folder();
    let here = folder.path();
    let run = ["run", "mnist-isolated-full", "--preset", "smoke", "--set", "halved=true", "--threads", "2"];
    succeed(here, &[&run[..], &["--store", "good"]].concat());
    // Stacks of six gigabytes in an address space of ten.
    let words = [&[env!("CARGO_BIN_EXE_nalm")], &run[..]].concat();
    let script = "ulimit -v 10000000 && exec \"$@\"";
    let mut shell = std::process::Command::new("sh");
    let mnist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist");
    shell.args(["-c", script, "sh"]).args(words).current_dir(here).env("NALM_MNIST", mnist);
    let output = shell.env("RUST_MIN_STACK", "6000000000").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(succeed(here, &["store", "compact", "results"]), succeed(here, &["store", "compact", "good"]));
}

#[cfg(unix)]
mod signals {
    use super::*;
    use std::io::{BufRead, BufReader};

    fn send(child: &std::process::Child, signal: &str) {
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Two signals that arrive while the process is held: the second ends it before the runs have stopped in order.
    #[test]
    fn a_second_signal_ends_a_run_at_once() {
        let folder = folder();
        let here = folder.path();
        // On a busy machine the runs may stop in order before the second signal is heard: another try then.
        let mut tries = 10;
        let mut cases = vec![(&["-INT"][..], true), (&["-INT", "-TERM"], false)];
        while let Some(&(signals, sealed)) = cases.last() {
            let run = ["run", "few.toml", "--steps", "1000000000"];
            let mut child = command(here, &run).stderr(Stdio::null()).spawn().unwrap();
            let header = || {
                let there = here.join("results/seg").is_dir().then(|| segments(&here.join("results")).pop()).flatten();
                there.filter(|file| std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')))
            };
            let file = loop {
                if let Some(file) = header() {
                    break file;
                }
            };
            std::thread::sleep(Duration::from_millis(200));
            send(&child, "-STOP");
            signals.iter().for_each(|signal| send(&child, signal));
            send(&child, "-CONT");
            assert_eq!(child.wait().unwrap().code(), Some(75), "{signals:?}");
            let last = values(&file).pop().unwrap();
            tries -= 1;
            if last.get("sealed").is_some() == sealed {
                cases.pop();
            } else {
                assert!(!sealed && tries > 0, "{signals:?}: {last}");
            }
            std::fs::remove_dir_all(here.join("results")).unwrap();
        }
    }

    /// After training, one signal is enough: here the report waits for somebody who reads a page.
    #[test]
    fn a_signal_during_the_report_ends_it() {
        let folder = folder();
        let here = folder.path();
        std::fs::create_dir_all(here.join("report")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(here.join("report/few.html")).status().unwrap().success());
        let mut child = command(here, &["reproduce", "few.toml"]).stderr(Stdio::piped()).spawn().unwrap();
        // The report begins where the runs are done, with the page that nobody reads from the pipe.
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(said.any(|line| line.contains(" runs in ")), "it ended before its report");
        std::thread::sleep(Duration::from_millis(200));
        send(&child, "-INT");
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "a signal was not heard");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(child.wait().unwrap().code(), Some(75));
        // The rows were safe before.
        succeed(here, &["status", "few.toml"]);
    }
}

/// Whoever reads a page can tell which program made it, and how to make it again.
#[test]
fn a_page_says_its_revision_and_the_command_that_makes_it() {
    let folder = folder();
    let here = folder.path();
    let file = here.join("few.toml");
    let page = |out: &str| {
        let read = |name: &str| std::fs::read_to_string(here.join(out).join(name)).unwrap();
        (read("few.md"), read("few.html"), read("few.csv"))
    };
    // The folders of this machine are nobody's business.
    let typed = ["--seeds", "2", "--steps", "30", "--set", "learning_rate=0.01", "--range", "U[2,4)"];
    succeed(here, &[&["reproduce", file.to_str().unwrap()], &typed[..], &["--test-range", "U[4,8)"]].concat());
    let (markdown, html, csv) = page("report");
    let command = markdown.split("```\n").nth(1).expect("a command").trim().to_string();
    assert!(command.starts_with("nalm reproduce few.toml --preset a "), "{command}");
    assert!(!markdown.contains(here.to_str().unwrap()) && !html.contains(here.to_str().unwrap()), "{markdown}");
    let header = values(&segments(&here.join("results")).remove(0)).remove(0);
    let revision = header["revision"].as_str().unwrap();
    assert!(revision == "unknown" || revision.len() == 12, "{revision}");
    let origin = format!("nalm {} (revision {revision}, numerics {})", env!("CARGO_PKG_VERSION"), header["numerics"]);
    assert!(markdown.contains(&origin) && html.contains(&origin), "{origin}: {markdown}");
    assert!(!header.to_string().contains(here.to_str().unwrap()), "{header}");
    // What it says is what makes it.
    let mut shell = std::process::Command::new("sh");
    let words = command.replacen("nalm", "\"$NALM\"", 1) + " --store again --out again-report";
    let output = shell.args(["-c", &words]).env("NALM", env!("CARGO_BIN_EXE_nalm")).current_dir(here).output().unwrap();
    assert!(output.status.success(), "{words}: {}", text(&output.stderr));
    assert_eq!(page("again-report").2, csv);
    assert_eq!(succeed(here, &["store", "compact", "again"]), succeed(here, &["store", "compact", "results"]));
}

/// Whoever reads two rows of one run that differ is told, whatever he does.
#[test]
fn conflicts_are_named_by_every_command() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "few.toml"]);
    let file = segments(&here.join("results")).remove(0);
    let mut all = values(&file);
    all[1]["metrics"]["test_error"] = value!(0.5);
    std::fs::write(file.with_file_name("9.jsonl"), all.iter().map(line).collect::<String>()).unwrap();
    for arguments in [
        &["run", "few.toml"][..],
        &["run", "few.toml", "--seeds", "2"],
        &["reproduce", "few.toml"],
        &["report", "few.toml"],
        &["status"],
        &["status", "few.toml"],
        &["export", "--csv", "-"],
        &["export", "--jsonl", "-"],
        &["store", "check", "results"],
        &["store", "compact", "results"],
        &["store", "merge", "results", "--into", "merged"],
        &["store", "pack", "results", "--into", "record"],
    ] {
        fails_with(here, arguments, 4, "is there twice with different results: test_error");
    }
    assert!(!here.join("record/seg").exists());
}

/// A file of the user is not touched before everything that was typed has been checked.
#[test]
fn a_curve_is_not_emptied_by_a_wrong_request() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("curve.csv"), "mine").unwrap();
    let train = ["train", "--steps", "100", "--curve", "curve.csv"];
    for wrong in [["--module", "nmuu"], ["--learning-rate", "-1"], ["--range", "U[2,1)"], ["--set", "nonsense=1"]] {
        assert_eq!(nalm(here, &[&train[..], &wrong].concat()).status.code(), Some(2), "{wrong:?}");
        assert_eq!(std::fs::read(here.join("curve.csv")).unwrap(), b"mine", "{wrong:?}");
    }
    succeed(here, &train);
    assert!(std::fs::read_to_string(here.join("curve.csv")).unwrap().starts_with("step,"));
}

#[test]
fn equal_runs_give_equal_networks() {
    let folder = folder();
    let here = folder.path();
    let networks = |store: &str| {
        succeed(here, &["run", "few.toml", "--store", store]);
        let files = std::fs::read_dir(here.join(store).join("weights")).unwrap();
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect::<Vec<_>>()
    };
    let first = networks("a");
    assert_eq!(first.len(), 1);
    (0..4).for_each(|k| assert_eq!(networks(&format!("b{k}")), first));
}

/// Rows with what this version does not know, or of a later one, are never left behind in silence.
#[test]
fn nothing_unreadable_is_packed_away() {
    let folder = folder();
    let here = folder.path();
    // An option that nobody knows is kept as it is.
    store_with(here, |row| row["spec"]["options"] = value!({"from_the_future": 3}));
    succeed(here, &["store", "pack", "results", "--into", "record"]);
    assert!(succeed(here, &["export", "--jsonl", "-", "--store", "record"]).contains("from_the_future"));
    let file = segments(&here.join("results")).remove(0);
    let mut all = values(&file);
    // A row that is none.
    all[1]["status"] = value!("postponed");
    std::fs::write(&file, all.iter().map(line).collect::<String>()).unwrap();
    fails_with(here, &["store", "pack", "results", "--into", "other"], 4, "the status 'postponed', which no row has");
    all[0]["schema"] = value!(2);
    all[0]["version"] = value!("9.8.7");
    std::fs::write(&file, all.iter().map(line).collect::<String>()).unwrap();
    fails_with(here, &["store", "pack", "results", "--into", "other"], 4, "9.8.7");
    assert!(!here.join("other").exists());
}

/// Control characters in names do not reach the terminal.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = folder();
    let here = folder.path();
    let odd = FILE
        .replace("title = \"Few\"", "title = \"Few \\u001b[31m\"")
        .replace("module = \"nmu\"", "module = \"nmu\"\nlabel = \"a\\u001b[2Jb\\u0007\"");
    std::fs::write(here.join("odd.toml"), odd).unwrap();
    let table = "model,seed,solved,solved_at,sparsity_error\na\u{1b}[2Jb,0,true,1,0.1\na\u{1b}[2Jb,1,true,2,0.2\n";
    std::fs::write(here.join("odd.csv"), table).unwrap();
    for arguments in [
        &["reproduce", "odd.toml"][..],
        &["status", "odd.toml"],
        &["run", "odd.toml", "--set", "a\u{1b}[2J=1"],
        &["run", "\u{1b}[2J.toml"],
        &["train", "--module", "a\u{1b}[2Jb"],
        &["describe", "\u{1b}[2J"],
        &["status", "--store", "\u{1b}[2J"],
        &["stats", "\u{1b}[2J"],
        &["stats", "odd.csv"],
        &["store", "check", "\u{1b}[2J"],
    ] {
        let output = nalm(here, arguments);
        for shown in [text(&output.stdout), text(&output.stderr)] {
            assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{arguments:?}: {shown:?}");
        }
    }
    // In the names of an experiment they are refused.
    fails_with(here, &["reproduce", "odd.toml"], 2, "has a control character in it");
    assert!(!here.join("report").exists() && !here.join("results").exists());
}

/// A file among the segments that is none is named, and not taken for what a killed process leaves.
#[test]
fn what_is_no_segment_is_named() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "few.toml"]);
    let rows = succeed(here, &["store", "compact", "results"]);
    let packed = {
        succeed(here, &["store", "pack", "results", "--into", "record"]);
        std::fs::read(segments(&here.join("record")).remove(0)).unwrap()
    };
    let strange = here.join("results/seg/strange.jsonl");
    for bytes in [rows.as_bytes(), &packed, b"module,seed\nnmu,0\n", b"\n", &[b'a'; 100_000]] {
        std::fs::write(&strange, bytes).unwrap();
        fails_with(here, &["store", "check", "results"], 4, "strange.jsonl, line 1: it is no header of a segment");
        fails_with(here, &["run", "few.toml"], 4, "strange.jsonl");
    }
    // What a process leaves that was killed in its first write.
    for bytes in [&b""[..], b"{", b"{\"arguments\":[\"ru", &[0; 4096]] {
        std::fs::write(&strange, bytes).unwrap();
        succeed(here, &["store", "check", "results"]);
    }
    std::fs::remove_file(&strange).unwrap();
    // Two whole segments, and nothing to say about them.
    succeed(here, &["run", "few.toml", "--seeds", "3"]);
    assert_eq!(segments(&here.join("results")).len(), 2);
    assert!(!text(&nalm(here, &["store", "check", "results"]).stderr).contains("is not read"));
    // One that was put aside is not read, which is said.
    let file = segments(&here.join("results")).remove(0);
    std::fs::rename(&file, file.with_extension("jsonl.old")).unwrap();
    let output = nalm(here, &["store", "check", "results"]);
    assert!(output.status.success() && text(&output.stderr).contains(".jsonl.old is not read"), "{output:?}");
}

/// A table in the place of a segment would be the end of its rows.
#[test]
fn exports_do_not_lie_among_the_segments() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "few.toml"]);
    let file = segments(&here.join("results")).remove(0);
    let before = std::fs::read(&file).unwrap();
    let inside = file.to_str().unwrap();
    for arguments in [
        ["export", "--csv", inside],
        ["export", "--jsonl", inside],
        ["export", "--csv", "results/seg/rows.csv"],
        ["export", "--jsonl", "results/../results/weights/rows.jsonl"],
    ] {
        fails_with(here, &arguments, 2, "among the files of the store");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(segments(&here.join("results")).len(), 1);
    succeed(here, &["export", "--csv", "results/rows.csv"]);
}

/// A network that was cut is found, and not packed.
#[test]
fn a_damaged_network_is_found() {
    let folder = folder();
    let here = folder.path();
    succeed(here, &["run", "few.toml"]);
    let network = std::fs::read_dir(here.join("results/weights")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&network).unwrap();
    for damaged in [&bytes[..bytes.len() - 1], &bytes[..100], b""] {
        std::fs::write(&network, damaged).unwrap();
        fails_with(here, &["store", "check", "results"], 4, "is no network any more");
        fails_with(here, &["store", "pack", "results", "--into", "record"], 4, "is no network any more");
        assert!(!here.join("record/seg").exists());
    }
    std::fs::remove_file(&network).unwrap();
    fails_with(here, &["store", "check", "results"], 4, "missing: run");
    std::fs::write(&network, bytes).unwrap();
    succeed(here, &["store", "check", "results"]);
}

/// What never ends is no file, and what does not fit the memory is refused before it is read.
#[cfg(unix)]
#[test]
fn endless_files_are_refused() {
    let folder = folder();
    let here = folder.path();
    assert!(std::process::Command::new("mkfifo").arg(here.join("pipe")).status().unwrap().success());
    // A gigabyte of nothing takes no room on the disk.
    std::fs::File::create(here.join("large")).unwrap().set_len(1 << 30).unwrap();
    for (file, hint) in [
        ("/dev/zero", "cannot read /dev/zero: it is no file"),
        ("pipe", "cannot read pipe: it is no file"),
        (".", "cannot read .: it is no file"),
        ("large", "large needs about "),
    ] {
        for arguments in [
            &["train", "--task", "table", "--target", "t", "--memory", "100MB", "--data", file][..],
            &["run", "--memory", "100MB", file],
        ] {
            let output = ends(here, arguments);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(said.contains(hint) && said.lines().count() == 1, "{arguments:?}: {said}");
        }
    }
}

//! Sweeps over several workers: parts of a plan, helping out, what schedulers tell, and the scripts that they are given.

// Schedulers start tasks by shells and stop them by signals.
#![cfg(unix)]

mod common;

use common::{command, fails_with, json, nalm, rows, succeed};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const FILE: &str = "title = \"T\"\ntask = \"single-module\"\n[preset.a]\nseeds = 10\nsteps = 300\nranges = [\"U[1,2)\", \"U[-2,2)\"]\n\
    [[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n";

fn experiment() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.toml"), FILE).unwrap();
    folder
}

/// Runs a command with variables set, and returns what it said; it must succeed.
fn with(here: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output: Output = command(here, arguments).envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

/// A number that `nalm store check` prints.
fn checked(here: &Path, store: &str, what: &str) -> usize {
    let text = succeed(here, &["store", "check", store]);
    let line = text.lines().find(|line| line.starts_with(what)).unwrap_or_else(|| panic!("{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn parts_together_are_the_whole() {
    let folder = experiment();
    let here = folder.path();
    succeed(here, &["run", "t.toml", "--store", "whole"]);
    for id in 11..=16 {
        let variables = [
            ("SLURM_ARRAY_TASK_ID", &*id.to_string()),
            ("SLURM_ARRAY_TASK_MIN", "11"),
            ("SLURM_ARRAY_TASK_MAX", "16"),
            ("SLURM_CPUS_PER_TASK", "1"),
        ];
        let text = with(here, &["run", "t.toml", "--store", "parts", "--shard", "auto"], &variables);
        assert!(text.contains(&format!("part {} of 6, counted from 0, by SLURM_ARRAY_TASK_ID", id - 11)), "{text}");
        assert!(text.contains("on 1 thread\n"), "{text}");
    }
    assert_eq!(rows(here, "whole"), rows(here, "parts"));
    assert_eq!(["rows", "duplicates", "torn"].map(|what| checked(here, "parts", what)), [40, 0, 0]);
    // One part alone leaves the others; with --steal, it does not.
    succeed(here, &["run", "t.toml", "--store", "one", "--shard", "2/6"]);
    assert!((6..=7).contains(&checked(here, "one", "rows")));
    succeed(here, &["run", "t.toml", "--store", "one", "--shard", "5/6", "--steal"]);
    assert_eq!(rows(here, "whole"), rows(here, "one"));
    assert_eq!(checked(here, "one", "duplicates"), 0);
}

/// Workers of which each could do everything, at the same time, and two of them with the same part.
#[test]
fn workers_who_help_out_at_the_same_time_agree() {
    let folder = experiment();
    let here = folder.path();
    let run = |store: &'static str, more: &[&'static str]| {
        let arguments = [&["run", "t.toml", "--steps", "20000", "--threads", "1", "--store", store], more].concat();
        command(here, &arguments).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut workers: Vec<_> =
        ["0/3", "1/3", "1/3", "2/3"].map(|part| run("shared", &["--shard", part, "--steal"])).into();
    assert!(workers.iter_mut().all(|worker| worker.wait().unwrap().success()));
    assert!(run("whole", &[]).wait().unwrap().success());
    assert_eq!(rows(here, "whole"), rows(here, "shared"));
    assert_eq!(checked(here, "shared", "rows"), 40);
}

#[test]
fn what_cannot_be_a_part_is_refused() {
    let folder = experiment();
    let here = folder.path();
    fails_with(here, &["run", "t.toml", "--shard", "6/6"], 2, "counted from 0");
    fails_with(here, &["run", "t.toml", "--shard", "0/0"], 2, "there must be at least one part");
    fails_with(here, &["run", "t.toml", "--shard", "two"], 2, "auto/N");
    fails_with(here, &["run", "t.toml", "--steal"], 2, "--shard");
    let output = command(here, &["run", "t.toml", "--shard", "auto"]).env("PBS_ARRAY_INDEX", "3").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--shard auto/N"));
    assert!(!here.join("results").exists());
}

/// A run with images is stopped on one machine, its store is copied to another, and there it goes on from the checkpoint to the same bits.
#[cfg(feature = "images")]
#[test]
fn a_run_with_images_moves_to_another_worker() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let images = ["run", "mnist-isolated", "--preset", "smoke", "--checkpoint", "0"];
    let at = |store: &'static str, more: &[&'static str]| [&images[..], &["--store", store], more].concat();
    succeed(here, &at("whole", &[]));
    let part = ["--shard", "0/2"];
    let mut first = command(here, &at("first", &part)).stderr(Stdio::null()).spawn().unwrap();
    while std::fs::read_dir(here.join("first/checkpoints")).map_or(0, Iterator::count) == 0 {
        assert!(first.try_wait().unwrap().is_none(), "it ended before its first checkpoint");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-TERM", &first.id().to_string()]).status().unwrap().success());
    assert_eq!(first.wait().unwrap().code(), Some(75));
    assert!(std::fs::read_dir(here.join("first/checkpoints")).unwrap().count() > 0);
    assert!(Command::new("cp").args(["-r", "first", "second"]).current_dir(here).status().unwrap().success());
    succeed(here, &at("second", &["--shard", "1/2", "--steal"]));
    assert_eq!(rows(here, "whole"), rows(here, "second"));
    assert_eq!(std::fs::read_dir(here.join("second/checkpoints")).map_or(0, Iterator::count), 0);
}

/// Fake commands of schedulers, first in the search path. Each writes its name, its arguments and the script that it was given, and answers as the
/// real one does.
struct Fakes {
    folder: tempfile::TempDir,
}

impl Fakes {
    fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for name in ["sbatch", "bsub", "qsub", "hq"] {
            // The script is the last argument, or the standard input.
            let text = format!(
                "#!/bin/sh\ncd {:?}\necho \"{name} $*\" >called\nscript=\nfor word in \"$@\"; do script=$word; done\n\
                 if [ -n \"$script\" ]; then cat \"$script\" >script; else cat >script; fi\necho \"Submitted batch job 7\"\n",
                folder.path()
            );
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    fn path(&self) -> String {
        format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap())
    }

    /// Submits, and returns how the command was called, without folders.
    fn submit(&self, here: &Path, arguments: &[&str]) -> String {
        let output = command(here, arguments).env("PATH", self.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && text.contains("Submitted batch job 7"), "{text}");
        let called = std::fs::read_to_string(self.folder.path().join("called")).unwrap();
        called.replace(&here.canonicalize().unwrap().display().to_string(), "FOLDER")
    }

    fn script(&self) -> PathBuf {
        self.folder.path().join("script")
    }
}

/// Runs the script of a task as its scheduler does, with what the scheduler sets.
fn task(script: &Path, variables: &[(&str, &str)]) -> Output {
    Command::new("bash").arg(script).envs(variables.iter().copied()).output().unwrap()
}

/// Each scheduler is given what it expects, and the script that it was given does the whole work, task by task.
#[test]
fn schedulers_are_given_scripts_that_do_the_work() {
    let folder = experiment();
    let here = folder.path();
    succeed(here, &["run", "t.toml", "--store", "whole", "--set", "noise=U[1,3]"]);
    let fakes = Fakes::new();
    type Set = fn(usize) -> Vec<(&'static str, String)>;
    let cases: [(&str, &str, Set); 5] = [
        ("slurm", "sbatch FOLDER/slurm/jobs/nalm-t.sh\n", |k| {
            let set = [
                ("SLURM_ARRAY_TASK_ID", k),
                ("SLURM_ARRAY_TASK_MIN", 0),
                ("SLURM_ARRAY_TASK_MAX", 2),
                ("SLURM_CPUS_PER_TASK", 1),
            ];
            set.map(|(name, value)| (name, value.to_string())).to_vec()
        }),
        ("lsf", "bsub \n", |k| vec![("LSB_JOBINDEX", (k + 1).to_string()), ("LSB_JOBINDEX_END", "3".into())]),
        ("pbs", "qsub FOLDER/pbs/jobs/nalm-t.sh\n", |k| vec![("PBS_ARRAY_INDEX", k.to_string())]),
        ("sge", "qsub FOLDER/sge/jobs/nalm-t.sh\n", |k| {
            let set = [("SGE_TASK_ID", k + 1), ("SGE_TASK_FIRST", 1), ("SGE_TASK_LAST", 3), ("SGE_TASK_STEPSIZE", 1)];
            set.map(|(name, value)| (name, value.to_string())).to_vec()
        }),
        ("hq", "hq submit FOLDER/hq/jobs/nalm-t.sh\n", |k| vec![("HQ_TASK_ID", k.to_string())]),
    ];
    for (name, called, variables) in cases {
        let submit = [
            "submit",
            "t.toml",
            "--set",
            "noise=U[1,3]",
            "--scheduler",
            name,
            "--tasks",
            "3",
            "--cpus",
            "1",
            "--store",
            name,
        ];
        assert_eq!(fakes.submit(here, &submit), called);
        for k in 0..3 {
            let set = variables(k);
            let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (*name, &**value)).collect();
            let output = task(&fakes.script(), &set);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.success() && text.contains(&format!("part {k} of 3, counted from 0, by ")),
                "{name}: {text}"
            );
        }
        assert_eq!(rows(here, name), rows(here, "whole"), "{name}");
        assert_eq!(checked(here, name, "duplicates"), 0);
        // Nothing is missing, so nothing is submitted.
        let again = command(here, &submit).env("PATH", fakes.path()).output().unwrap();
        assert!(again.status.success() && String::from_utf8_lossy(&again.stderr).contains("nothing is submitted"));
    }
}

/// What each scheduler does with a task that was warned: Slurm is told to start it again, LSF and SGE do so by its code. A task that was cancelled
/// stays so.
#[test]
fn a_warned_task_seals_its_segment_and_is_started_again() {
    use std::os::unix::fs::PermissionsExt;
    let folder = experiment();
    let here = folder.path();
    let fakes = Fakes::new();
    let file = fakes.folder.path().join("scontrol");
    std::fs::write(&file, format!("#!/bin/sh\necho \"$*\" >{:?}/requeued\n", fakes.folder.path())).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let slurm = [
        ("SLURM_ARRAY_JOB_ID", "7"),
        ("SLURM_ARRAY_TASK_ID", "0"),
        ("SLURM_ARRAY_TASK_MIN", "0"),
        ("SLURM_ARRAY_TASK_MAX", "0"),
    ];
    type Set<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, &str, i32, Set<'_>); 5] = [
        ("slurm", "-USR1", 0, &slurm),
        ("slurm", "-TERM", 75, &slurm),
        ("lsf", "-USR1", 75, &[("LSB_JOBINDEX", "1"), ("LSB_JOBINDEX_END", "1")]),
        ("lsf", "-TERM", 143, &[("LSB_JOBINDEX", "1"), ("LSB_JOBINDEX_END", "1")]),
        ("sge", "-USR1", 99, &[("SGE_TASK_ID", "1"), ("SGE_TASK_LAST", "1")]),
    ];
    for (name, signal, code, variables) in cases {
        let store = format!("{name}{signal}");
        let submit =
            ["submit", "t.toml", "--steps", "100000000", "--time", "1000h", "--scheduler", name, "--store", &store];
        fakes.submit(here, &submit);
        // In a group of its own, all of which gets the signal, as some schedulers do; the worker hears it twice.
        let mut command = Command::new("bash");
        command.arg(fakes.script()).env("PATH", fakes.path()).envs(variables.iter().copied());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !here.join(&store).join("seg").is_dir() {
            assert!(child.try_wait().unwrap().is_none(), "{store} ended before it began");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args([signal, "--", &group]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{store}");
        let segment = common::segments(&here.join(&store)).remove(0);
        assert!(std::fs::read_to_string(segment).unwrap().contains("\"sealed\":true"), "{store}");
        assert_eq!(
            fakes.folder.path().join("requeued").exists(),
            store == "slurm-USR1" || store == "slurm-TERM",
            "{store}"
        );
        if store == "slurm-USR1" {
            assert_eq!(std::fs::read_to_string(fakes.folder.path().join("requeued")).unwrap(), "requeue 7_0\n");
            std::fs::remove_file(fakes.folder.path().join("requeued")).unwrap();
            std::fs::write(fakes.folder.path().join("requeued"), "").unwrap();
        } else if store == "slurm-TERM" {
            assert_eq!(
                std::fs::read_to_string(fakes.folder.path().join("requeued")).unwrap(),
                "",
                "a cancelled task was started again"
            );
            std::fs::remove_file(fakes.folder.path().join("requeued")).unwrap();
        }
    }
}

#[test]
fn what_is_not_installed_is_refused_and_nothing_is_left() {
    let folder = experiment();
    let here = folder.path();
    for (name, program) in [("slurm", "sbatch"), ("lsf", "bsub"), ("pbs", "qsub"), ("sge", "qsub"), ("hq", "hq")] {
        let output =
            command(here, &["submit", "t.toml", "--scheduler", name]).env("PATH", "/nowhere").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(&format!("there is no {program} here")) && text.contains("--print"), "{text}");
    }
    fails_with(here, &["submit", "t.toml", "--scheduler", "slrm"], 2, "slurm");
    fails_with(here, &["submit", "t.toml", "--scheduler", "slurm", "--time", "1:30"], 2, "1:30:00");
    fails_with(here, &["submit", "t.toml", "--scheduler", "slurm", "--tasks", "0"], 2, "1 or more");
    fails_with(
        here,
        &["submit", "t.toml", "--scheduler", "slurm", "--steps", "100000000", "--time", "10s"],
        2,
        "one run takes about",
    );
    assert!(!here.join("results").exists());
}

/// The scripts as people see them, and as shellcheck does where it is installed.
#[test]
fn scripts() {
    let folder = experiment();
    let here = folder.path().canonicalize().unwrap();
    let mut all = String::new();
    for name in ["slurm", "lsf", "pbs", "sge", "hq", "local"] {
        let arguments = [
            "submit",
            "t.toml",
            "--set",
            "noise=U[1,3]",
            "--steps",
            "200000",
            "--scheduler",
            name,
            "--tasks",
            "6",
            "--time",
            "1h30m",
            "--memory",
            "2GB",
            "--instructions",
            "portable",
            "--directive=-x 'y'",
            "--print",
        ];
        // This machine has no use for lines of one's own.
        let local = [&arguments[..16], &["--print"]].concat();
        let script = succeed(&here, if name == "local" { &local } else { &arguments });
        let file = here.join(format!("{name}.sh"));
        std::fs::write(&file, &script).unwrap();
        match Command::new("shellcheck").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
            Err(_) => println!("SKIPPED: shellcheck is not installed"),
        }
        all += &format!("=== {name}\n{script}\n");
    }
    let all = all.replace(env!("CARGO_BIN_EXE_nalm"), "NALM").replace(&here.display().to_string(), "FOLDER");
    // What is portable has the name of the machine's own.
    insta::assert_snapshot!(all.replace("--instructions neon", "--instructions sse2"));
}

#[test]
fn workers_on_this_machine_do_the_work_without_anybody() {
    let folder = experiment();
    let here = folder.path();
    let output = nalm(here, &["submit", "t.toml", "--scheduler", "local", "--tasks", "2", "--cpus", "1"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("2 workers"), "{text}");
    let done = |output: Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let text = done(nalm(here, &["status", "t.toml", "--store", "results", "--watch", "1"]));
    assert!(text.contains("40 of 40"), "{text}");
    let log = std::fs::read_to_string(here.join("results/jobs/nalm-t-1.log")).unwrap();
    assert!(log.contains("part 1 of 2, counted from 0"), "{log}");
}

#[test]
fn status_says_what_is_done_missing_failed_and_conflicting_and_by_whom() {
    let folder = experiment();
    let here = folder.path();
    // Long enough for clocks that count hundredths of a second.
    std::fs::write(here.join("t.toml"), FILE.replace("steps = 300", "steps = 50000")).unwrap();
    let host = |name: &'static str| [("SLURMD_NODENAME", name)];
    with(here, &["run", "t.toml", "--shard", "0/2"], &host("node-1"));
    with(here, &["run", "t.toml", "--shard", "2/4"], &host("node-2"));
    let output = nalm(here, &["status", "t.toml"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("20 of 40, 20 missing") && text.contains("by node-1     20  100 %"), "{text}");
    assert!(text.contains("of one core to go, measured from 20 rows"), "{text}");
    with(here, &["run", "t.toml", "--shard", "1/2"], &host("node-2"));
    let value = json(here, &["status", "t.toml", "--json"]);
    assert_eq!((&value["hosts"]["node-1"], &value["hosts"]["node-2"]), (&20.into(), &20.into()));
    assert_eq!((&value["experiments"][0]["missing"], &value["to_go"]["core_seconds"]), (&0.into(), &0.0.into()));
    // Other lengths are other runs.
    fails_with(here, &["status", "t.toml", "--steps", "7"], 3, "40 runs are missing");
    fails_with(here, &["status", "--steps", "7"], 2, "say which experiments");
    // A row that somebody changed and signed again contradicts the one that was there.
    let segment = common::segments(&here.join("results"))
        .into_iter()
        .find(|file| file.to_string_lossy().contains("node-1"))
        .unwrap();
    let text = std::fs::read_to_string(&segment).unwrap();
    let mut lines: Vec<String> = text.lines().take(2).map(String::from).collect();
    let row = lines[1].rsplit_once('\t').unwrap().0.replace("\"status\":\"completed\"", "\"status\":\"diverged\"");
    lines[1] = format!("{row}\t{:08x}", crc32c::crc32c(row.as_bytes()));
    std::fs::write(here.join("results/seg/1-other-1-1.jsonl"), lines.join("\n") + "\n").unwrap();
    let output = nalm(here, &["status", "t.toml"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("40 of 40, 1 conflicting"), "{text}");
}

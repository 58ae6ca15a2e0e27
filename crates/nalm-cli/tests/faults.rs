//! A fault at every call to the disk, one after the other: the nth call fails, writes half, fails for good, or is the last of the process.
//! The same command again then ends as if nothing had happened, and files of the user are either the old or the new ones.

mod common;

use common::{command, segments, succeed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A folder, in memory where that can be had: thousands of syncs need not wait for a disk.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let found = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    found.or_else(|_| tempfile::tempdir()).expect("a folder for the test")
}

const FAULTS: [&str; 4] = ["once", "full", "short", "kill"];

/// Four runs; the wide network's weights are a file of their own.
const TINY: &str = r#"
title = "Tiny"
task = "single-module"
analysis = "Small and quick."

[preset.a]
seeds = 2
steps = 20
ranges = ["U[1,2)"]

[[model]]
module = "nmu"

[[model]]
module = "mlp"
options = { hidden = 500 }
"#;

/// All files below a folder, by their relative path.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(root, &path, into),
                false => _ = into.insert(path.strip_prefix(root).unwrap().into(), std::fs::read(&path).unwrap()),
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, folder, &mut all);
    all
}

fn put(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn with_fault(here: &Path, fault: &str, arguments: &[&str]) -> Output {
    command(here, arguments).env("NALM_FAULT", fault).output().expect("the binary starts")
}

/// Lets every call of a command fail in every way, in a folder that begins as `start`; `check` sees what the fault left, and what the same
/// command made of it.
fn every_fault(
    start: &BTreeMap<PathBuf, Vec<u8>>,
    arguments: &[&str],
    check: impl Fn(&Path, &str, &BTreeMap<PathBuf, Vec<u8>>),
) -> usize {
    let mut hit = 0;
    for fault in FAULTS {
        for n in 1..1_000 {
            let folder = scratch();
            let here = folder.path();
            put(here, start);
            let name = format!("{fault}:{n}");
            let output = with_fault(here, &name, arguments);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!text.contains("panicked"), "{name}: {text}");
            if text.contains("NALM_FAULT was not reached") {
                assert!(output.status.success(), "{name}: {text}");
                break;
            }
            hit += 1;
            assert!(!output.status.success(), "{name} passed unnoticed: {text}");
            let left = files(here);
            succeed(here, arguments);
            check(here, &name, &left);
        }
    }
    println!("| `nalm {}` | {hit} |", arguments.join(" "));
    hit
}

/// What a store holds, whichever process wrote it.
fn compacted(here: &Path, store: &str) -> String {
    succeed(here, &["store", "compact", store])
}

/// A folder with the experiment, and a store with all of its runs.
fn started() -> tempfile::TempDir {
    let folder = scratch();
    std::fs::write(folder.path().join("tiny.toml"), TINY).unwrap();
    succeed(folder.path(), &["run", "tiny.toml", "--threads", "1"]);
    folder
}

fn only(all: &BTreeMap<PathBuf, Vec<u8>>, wanted: impl Fn(&str) -> bool) -> BTreeMap<PathBuf, Vec<u8>> {
    all.iter().filter(|(path, _)| wanted(&path.to_string_lossy())).map(|(a, b)| (a.clone(), b.clone())).collect()
}

/// Nothing temporary stays where the process could still clear up.
fn no_parts(left: &BTreeMap<PathBuf, Vec<u8>>, fault: &str) {
    let parts = only(left, |path| path.ends_with(".part"));
    assert!(fault.starts_with("kill") || parts.is_empty(), "{fault}: {:?}", parts.keys());
}

#[test]
fn run_and_resume() {
    let folder = started();
    let here = folder.path();
    let (want, all) = (compacted(here, "results"), files(here));
    assert_eq!(want.lines().count(), 4);
    let weights = only(&all, |path| path.contains("weights"));
    assert_eq!(weights.len(), 2);
    let check = |here: &Path, fault: &str, left: &BTreeMap<PathBuf, Vec<u8>>| {
        assert_eq!(compacted(here, "results"), want, "{fault}");
        assert_eq!(only(&files(here), |path| path.ends_with(".safetensors")), weights, "{fault}");
        succeed(here, &["store", "check", "results"]);
        no_parts(left, fault);
    };
    let run = ["run", "tiny.toml", "--threads", "1"];
    let begun = every_fault(&only(&all, |path| path == "tiny.toml"), &run, check);
    // Taken up after a process that was killed within its third line.
    let mut half = all.clone();
    for (path, bytes) in half.iter_mut().filter(|(path, _)| path.starts_with("results/seg")) {
        let third = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0;
        assert!(path.extension().is_some_and(|e| e == "jsonl"));
        bytes.truncate(third - 5);
    }
    let resumed = every_fault(&half, &run, check);
    assert!(begun > 40 && resumed > 30, "{begun} {resumed}");
}

#[test]
fn merge_pack_and_compact() {
    let folder = started();
    let here = folder.path();
    let (want, all) = (compacted(here, "results"), files(here));
    let weights = only(&all, |path| path.contains("weights")).len();
    let check = |store: &'static str| {
        let want = want.clone();
        move |here: &Path, fault: &str, left: &BTreeMap<PathBuf, Vec<u8>>| {
            assert_eq!(compacted(here, store), want, "{fault}");
            let there = only(&files(here), |path| path.starts_with(store) && path.ends_with(".safetensors"));
            assert_eq!(there.len(), weights, "{fault}");
            succeed(here, &["store", "check", store]);
            no_parts(left, fault);
        }
    };
    let merged = every_fault(&all, &["store", "merge", "results", "--into", "merged"], check("merged"));
    let packed = every_fault(&all, &["store", "pack", "results", "--into", "record"], check("record"));
    let read = every_fault(&all, &["store", "compact", "results"], check("results"));
    assert!(merged > 20 && packed > 20 && read > 3, "{merged} {packed} {read}");
}

#[test]
fn pages_and_parts_of_a_text() {
    let folder = started();
    let here = folder.path();
    let report = ["report", "tiny.toml", "--readme", "TEXT.md"];
    let text = "# Mine\n\n<!-- nalm:tiny -->\n<!-- /nalm:tiny -->\n\nIt solves <!-- nalm:tiny; solved; NMU; U[1,2) -->none<!-- /nalm -->.\n";
    std::fs::write(here.join("TEXT.md"), text).unwrap();
    let old = files(here);
    succeed(here, &report);
    let new = files(here);
    assert!(String::from_utf8_lossy(&new[Path::new("TEXT.md")]).contains("-->0 of 2<!--"));
    // Pages that are there already, of another run.
    let mut start = old.clone();
    for (path, bytes) in only(&new, |path| path.starts_with("report")) {
        start.insert(path, [b"old ".as_slice(), &bytes].concat());
    }
    let hit = every_fault(&start, &report, |here, fault, left| {
        for (path, bytes) in only(left, |path| !path.ends_with(".part")) {
            assert!(start.get(&path) == Some(&bytes) || new.get(&path) == Some(&bytes), "{fault}: {}", path.display());
        }
        assert_eq!(only(&files(here), |path| !path.ends_with(".part")), new, "{fault}");
        no_parts(left, fault);
    });
    assert!(hit > 60, "{hit}");
}

#[test]
fn exports() {
    let folder = started();
    let all = files(folder.path());
    let export = ["export", "--csv", "rows.csv"];
    succeed(folder.path(), &export);
    let new = files(folder.path());
    let hit = every_fault(&all, &export, |here, fault, left| {
        let there = left.get(Path::new("rows.csv"));
        assert!(there.is_none() || there == new.get(Path::new("rows.csv")), "{fault}");
        assert_eq!(only(&files(here), |path| !path.ends_with(".part")), new, "{fault}");
    });
    assert!(hit > 12, "{hit}");
}

/// A formula with its page, and predictions: the old files or the new ones.
#[test]
fn formulas_pages_and_predictions() {
    let folder = scratch();
    let here = folder.path();
    let rows = (0..40).map(|k| (1.0 + f64::from(k * 7 % 31), 2.0 + f64::from(k * 11 % 29)));
    let text: String = rows.map(|(a, b)| format!("{a},{b},{}\n", a * b)).collect();
    std::fs::write(here.join("t.csv"), format!("a,b,c\n{text}")).unwrap();
    let old = files(here);
    let fit = ["fit", "t.csv", "--save", "m.json"];
    let predict = ["predict", "m.json", "t.csv", "--out", "p.csv"];
    succeed(here, &fit);
    let fitted = files(here);
    succeed(here, &predict);
    let predicted = files(here);
    let mut hits = Vec::new();
    for (start, arguments, new) in [(&old, &fit[..], &fitted), (&fitted, &predict[..], &predicted)] {
        hits.push(every_fault(start, arguments, |here, fault, left| {
            for (path, bytes) in only(left, |path| !path.ends_with(".part")) {
                assert!(
                    start.get(&path) == Some(&bytes) || new.get(&path) == Some(&bytes),
                    "{fault}: {}",
                    path.display()
                );
            }
            assert_eq!(&only(&files(here), |path| !path.ends_with(".part")), new, "{fault}");
            no_parts(left, fault);
        }));
    }
    assert!(hits.iter().all(|hit| *hit > 8), "{hits:?}");
}

/// A run with images: the states that it saves on its way, its network, and its row. It is taken up from whatever state there is.
#[cfg(feature = "images")]
#[test]
fn checkpoints_of_an_image_run() {
    let (folder, start) = (scratch(), BTreeMap::new());
    // The smallest there is: one sample a pair, pictures of 14 x 14 pixels, two epochs with a state after each.
    let smoke = ["run", "mnist-isolated-full", "--preset", "smoke", "--set", "halved=true"];
    let run = [&smoke[..], &["--set", "epochs=2", "--checkpoint", "0", "--threads", "1"]].concat();
    succeed(folder.path(), &run);
    let want = compacted(folder.path(), "results");
    assert_eq!(want.lines().count(), 1);
    let whole = |path: &str, folder: &str| path.contains(folder) && path.ends_with(".safetensors");
    let networks = |all: &BTreeMap<PathBuf, Vec<u8>>| only(all, |path| whole(path, "weights/"));
    let network = networks(&files(folder.path()));
    assert_eq!(network.len(), 1);
    let saved = std::cell::Cell::new(0);
    let hit = every_fault(&start, &run, |here, fault, left| {
        saved.set(saved.get() + only(left, |path| whole(path, "checkpoints/")).len());
        assert_eq!(compacted(here, "results"), want, "{fault}");
        let now = files(here);
        assert!(networks(&now) == network, "{fault}: another network");
        assert!(only(&now, |path| whole(path, "checkpoints/")).is_empty(), "{fault}");
        no_parts(left, fault);
    });
    assert!(hit > 60 && saved.get() > 20, "{hit} faults, {} of them left a state", saved.get());
}

/// A segment that is removed or cut while it is written is missed at the end.
#[test]
fn a_segment_that_somebody_removes_is_missed() {
    let folder = scratch();
    let here = folder.path();
    std::fs::write(
        here.join("tiny.toml"),
        TINY.replace("seeds = 2", "seeds = 30").replace("steps = 20", "steps = 2000"),
    )
    .unwrap();
    for remove in [true, false] {
        let mut child = command(here, &["run", "tiny.toml"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let file = loop {
            if let Some(file) =
                here.join("results/seg").exists().then(|| segments(&here.join("results")).pop()).flatten()
            {
                break file;
            }
        };
        match remove {
            true => std::fs::remove_file(&file).unwrap(),
            false => std::fs::File::options().write(true).open(&file).unwrap().set_len(10).unwrap(),
        }
        let output = child.wait_with_output_bounded();
        assert_eq!(output.0, Some(74), "{}", output.1);
        assert!(output.1.contains("somebody removed or cut it"), "{}", output.1);
        std::fs::remove_dir_all(here.join("results")).unwrap();
    }
}

trait Bounded {
    fn wait_with_output_bounded(&mut self) -> (Option<i32>, String);
}

impl Bounded for std::process::Child {
    fn wait_with_output_bounded(&mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.stderr.take().unwrap(), &mut text).unwrap();
        (self.wait().unwrap().code(), text)
    }
}

#[test]
fn a_diagram() {
    let draw = ["describe", "snmu", "--svg", "network.svg"];
    let folder = scratch();
    succeed(folder.path(), &draw);
    let new = files(folder.path());
    let old = BTreeMap::from([(PathBuf::from("network.svg"), b"old".to_vec())]);
    let hit = every_fault(&old, &draw, |here, fault, left| {
        let whole = only(left, |path| !path.ends_with(".part"));
        assert!(whole == old || whole == new, "{fault}: {whole:?}");
        assert_eq!(only(&files(here), |path| !path.ends_with(".part")), new, "{fault}");
        no_parts(left, fault);
    });
    assert!(hit > 4, "{hit}");
}

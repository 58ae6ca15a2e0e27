//! Where rows are kept: append-only segments, one per process start, one checksummed line per run.
//!
//! No file is ever written by two processes, renamed or repaired, so there is nothing to lock. Merging stores is copying their
//! segments into one folder. A line counts if it ends in a newline and its checksum holds. What a killed process leaves at the end of its
//! segment is torn: it is counted, harms nothing, and its runs are done again. Anything else that cannot be read is a [`Problem`]. The same
//! run may be there twice; then its results must agree. A run that could not be carried out is missing, whatever its row says.

mod audit;
mod contents;
pub mod date;
mod index;
mod line;
pub mod machine;
mod merge;
mod pack;
mod problem;
mod scan;
mod segment;
mod session;
mod tensors;

pub use contents::Contents;
pub use index::Index;
pub use merge::merge;
pub use pack::{Packed, compact, pack};
pub use problem::Problem;
pub use scan::Entry;
pub use segment::Segment;
pub use session::Session;

use crate::error::{Error, Result, ensure};
use crate::files::{Disk, Files};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version of the segments' form.
pub const SCHEMA: u32 = 1;

/// A folder with rows, and the way to its files.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    files: Arc<dyn Files>,
}

impl Store {
    /// A store on the disk, there or not.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self::with(root, Arc::new(Disk))
    }

    /// A store that is reached in another way.
    pub fn with(root: impl Into<PathBuf>, files: Arc<dyn Files>) -> Self {
        Self { root: root.into(), files }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The way to its files.
    pub fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// The folder in which long runs save their state.
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// What it holds; a store that does not exist is empty.
    pub fn index(&self) -> Result<Index> {
        Index::of(std::slice::from_ref(self))
    }

    /// What it holds; it must be there.
    pub fn existing(&self) -> Result<Index> {
        self.ensure_exists()?;
        self.index()
    }

    fn ensure_exists(&self) -> Result<()> {
        let root = self.root.display();
        ensure!(self.root.exists(), "there is no folder {root} here yet; nalm run makes it");
        ensure!(
            self.root.join("seg").is_dir(),
            "{} is no store: it has no folder seg; nalm run makes one",
            self.root.display()
        );
        Ok(())
    }

    /// Its segments, in the order of their names, which is that of their start.
    fn segments(&self) -> Result<Vec<PathBuf>> {
        self.folder("seg", |file| file.extension().is_some_and(|e| e == "jsonl" || e == "gz"))
    }

    /// Files among its segments whose names are not those of segments, so that nobody reads them. What programs hide is not meant.
    pub fn passed_over(&self) -> Result<Vec<PathBuf>> {
        let hidden = |file: &Path| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let segments = self.segments()?;
        self.folder("seg", |file| !hidden(file) && !segments.iter().any(|segment| segment == file))
    }

    /// Networks that are too large for a row.
    fn weights(&self) -> Result<Vec<PathBuf>> {
        self.folder("weights", |file| file.extension().is_some_and(|e| e == "safetensors"))
    }

    /// The regular files of a folder that are wanted: a pipe among them would never end.
    fn folder(&self, name: &str, wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
        let folder = self.root.join(name);
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let mut files: Vec<PathBuf> = entries.map_err(Error::file("cannot read the store", &folder))?;
        files.retain(|file| wanted(file) && file.is_file());
        files.sort();
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{Order, Quiet, carry_out};
    use crate::run::Row;
    use crate::run::spec::tests::spec;
    use crate::task::{Catalogue, Finished};

    fn row(seed: u64) -> Row {
        let runs = [spec("nmu").with("seed", seed).with("steps", 50)];
        let mut rows = Vec::new();
        let keep = |finished: Option<Finished>| {
            rows.extend(finished.map(|finished| finished.row));
            Ok(())
        };
        carry_out(&Catalogue::default(), &Order { runs: &runs, ..Order::default() }, &Quiet::default(), keep).unwrap();
        rows.remove(0)
    }

    /// A store with one segment of these rows, its file and its bytes.
    fn store_of(rows: &[Row]) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(&Store::at(folder.path()), &[]).unwrap();
        rows.iter().for_each(|row| segment.keep(Some(&Finished { row: row.clone(), tensors: None })).unwrap());
        let path = segment.path().to_path_buf();
        segment.seal().unwrap();
        let bytes = fs::read(&path).unwrap();
        (folder, path, bytes)
    }

    fn index(folder: &tempfile::TempDir) -> Index {
        Store::at(folder.path()).index().unwrap()
    }

    fn ends(bytes: &[u8]) -> Vec<usize> {
        bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(k, _)| k + 1).collect()
    }

    #[test]
    fn rows_come_back_as_they_went_in() {
        let rows: Vec<Row> = (0..3).map(row).collect();
        let (folder, ..) = store_of(&rows);
        let index = index(&folder);
        assert_eq!((index.entries().len(), index.torn, index.segments(), &*index.problems), (3, 0, 1, &[][..]));
        let contents = index.everything().unwrap();
        rows.iter().for_each(|row| assert_eq!(&contents.rows[&row.id], row));
        assert!(Store::at(folder.path().join("nothing")).index().unwrap().entries().is_empty());
    }

    /// However a segment is cut, the rows before the cut are there and nothing is wrong: a killed process leaves just that.
    #[test]
    fn a_segment_cut_at_any_byte_keeps_the_rows_before_the_cut() {
        let rows: Vec<Row> = (0..3).map(row).collect();
        let (folder, path, bytes) = store_of(&rows);
        let ends = ends(&bytes);
        for cut in 0..=bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            let index = index(&folder);
            // The first line is the header, the last one the footer.
            let whole = ends[1..4].iter().filter(|end| **end <= cut).count();
            assert_eq!((index.entries().len(), &*index.problems), (whole, &[][..]), "cut at {cut}");
            assert_eq!(index.torn, usize::from(cut > 0 && !ends.contains(&cut)), "cut at {cut}");
        }
    }

    /// In a segment that was sealed, nothing is torn: whatever cannot be read was damaged, and is named.
    #[test]
    fn a_flipped_bit_is_named_and_a_zero_filled_tail_is_torn() {
        let (first, second) = (row(0), row(1));
        let (folder, path, bytes) = store_of(&[first.clone(), second]);
        let ends = ends(&bytes);
        for k in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[k] ^= 1;
            fs::write(&path, &flipped).unwrap();
            let index = index(&folder);
            let found = index.everything().unwrap();
            assert!(found.rows.values().all(|found| found.id != first.id || *found == first), "bit of byte {k}");
            // A damaged footer is that of a process that was killed just then.
            assert!(!index.problems.is_empty() || k + 1 >= ends[2], "bit of byte {k}");
        }
        let tail = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            index(&folder)
        };
        let torn = tail(&[&bytes[..ends[1]], &[0; 4096][..]].concat());
        assert_eq!((torn.entries().len(), torn.torn, &*torn.problems), (1, 1, &[][..]));
        // A row that can be read follows, so that this was not the end, sealed or not.
        let mut amid = bytes[..ends[2]].to_vec();
        amid[ends[0] + 10] ^= 1;
        let damaged = tail(&amid);
        assert_eq!((damaged.entries().len(), damaged.torn, damaged.problems.len()), (1, 0, 1));
    }

    /// A packed segment of two processes with two rows each, unpacked.
    fn two_sessions() -> String {
        let into = tempfile::tempdir().unwrap();
        let (into, mut stores) = (Store::at(into.path()), Vec::new());
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (k, folder) in folders.iter().enumerate() {
            let store = Store::at(folder.path());
            let mut segment = Segment::create(&store, &[format!("command {k}")]).unwrap();
            for seed in [2 * k, 2 * k + 1] {
                segment.keep(Some(&Finished { row: row(seed as u64), tensors: None })).unwrap();
            }
            segment.seal().unwrap();
            stores.push(store);
        }
        let file = pack(&stores, &into, false).unwrap().file.unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut scan::open(into.files(), &file).unwrap(), &mut text).unwrap();
        text
    }

    /// A store with one packed segment of this text.
    fn packed(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seg/a.jsonl.gz");
        fs::create_dir_all(folder.path().join("seg")).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text).unwrap();
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        (folder, path)
    }

    /// Rows whose header is lost belong to nobody, and never to the process before: another command on another machine.
    #[test]
    fn a_damaged_header_gives_its_rows_to_nobody() {
        let text = two_sessions();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let kinds: Vec<bool> = lines.iter().map(|line| line.contains("\"schema\"")).collect();
        assert_eq!(kinds, [true, false, false, false, true, false, false, false], "{text}");
        // In the order of their lines, which is that of identity within each process.
        let mut ids = [0, 1, 2, 3].map(|seed| row(seed).id);
        ids[..2].sort();
        ids[2..].sort();
        let commands = |index: &Index| -> Vec<String> {
            let of = |id: &String| index.find(id).map(|entry| index.sessions[entry.session()].arguments.concat());
            ids.iter().map(|id| of(id).unwrap_or("lost".into())).collect()
        };
        // With the footer of the first process, and without it, as if that had been killed.
        for footer in [true, false] {
            let kept: Vec<&str> =
                lines.iter().copied().enumerate().filter(|(k, _)| footer || *k != 3).map(|(_, line)| line).collect();
            let header = if footer { 4 } else { 3 };
            let start: usize = kept[..header].iter().map(|line| line.len()).sum();
            let ends = start + kept[header].len();
            // A bit within it, that of its own end, and that of the end before.
            for (place, want) in [
                (start + 20, ["command 0", "command 0", "", ""]),
                (ends - 1, ["command 0", "command 0", "lost", ""]),
                (start - 1, ["command 0", if footer { "command 0" } else { "lost" }, "", ""]),
            ] {
                let mut bytes = kept.concat().into_bytes();
                bytes[place] ^= 1;
                let (folder, _) = packed(&bytes);
                assert_eq!(commands(&index(&folder)), want, "footer {footer}, byte {place}");
                let into = tempfile::tempdir().unwrap();
                let made = pack(&[Store::at(folder.path())], &Store::at(into.path()), true).unwrap();
                assert_eq!((made.left_out, made.problems.is_empty()), (1, false), "{:?}", made.problems);
                assert_eq!(commands(&index(&into)), want, "repaired, footer {footer}, byte {place}");
            }
        }
        // A damaged row takes no other row's origin away.
        let mut bytes = text.clone().into_bytes();
        bytes[lines[0].len() + 20] ^= 1;
        assert_eq!(commands(&index(&packed(&bytes).0)), ["lost", "command 0", "command 1", "command 1"]);
    }

    /// Bytes that cannot be unpacked stay as they are; a disk that cannot be read just now is no damage, and nobody may leave its rows out.
    #[test]
    fn only_damage_is_left_out() {
        let (folder, path) = packed(two_sessions().as_bytes());
        let bytes = fs::read(&path).unwrap();
        for damaged in [bytes[..bytes.len() - 12].to_vec(), [&bytes[..bytes.len() - 8], &[7; 8]].concat()] {
            fs::write(&path, damaged).unwrap();
            let index = index(&folder);
            assert!(index.problems[0].to_string().contains("its end cannot be unpacked"), "{:?}", index.problems);
            // What was read before the damage can be read again.
            assert!(!index.everything().unwrap().rows.is_empty());
        }
        #[cfg(unix)]
        {
            let error = Store::with(folder.path(), std::sync::Arc::new(Unreadable)).index().unwrap_err().to_string();
            assert!(error.contains("cannot read the segment") && error.contains("a.jsonl.gz"), "{error}");
        }
    }

    /// A disk on which every file can be opened and none read.
    #[cfg(unix)]
    #[derive(Debug)]
    struct Unreadable;

    #[cfg(unix)]
    impl crate::files::Files for Unreadable {
        fn open(&self, path: &Path) -> std::io::Result<fs::File> {
            fs::File::open(path.parent().unwrap())
        }
        fn create(&self, path: &Path) -> std::io::Result<Box<dyn crate::files::Output>> {
            crate::files::Disk.create(path)
        }
        fn beside(&self, path: &Path) -> std::io::Result<Box<dyn crate::files::Output>> {
            crate::files::Disk.beside(path)
        }
        fn remove(&self, path: &Path) -> std::io::Result<()> {
            crate::files::Disk.remove(path)
        }
    }

    /// Advice can be pasted whatever the folder is called, and names the files that it is about.
    #[test]
    fn advice_names_files_as_a_shell_takes_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("my store");
        let store = Store::at(&root);
        let mut files = Vec::new();
        for row in [row(0), Row { result_hash: "0".repeat(32), ..row(0) }, row(1)] {
            let mut segment = Segment::create(&store, &[]).unwrap();
            segment.keep(Some(&Finished { row, tensors: None })).unwrap();
            files.push(segment.path().display().to_string());
            segment.seal().unwrap();
        }
        let advice = store.index().unwrap().repair().unwrap();
        assert!(files[..2].iter().all(|file| advice.contains(&format!("'{file}'"))), "{advice}");
        assert!(!advice.contains(&files[2]), "{advice}");
        fs::remove_file(&files[1]).unwrap();
        fs::write(&files[2], "noise\n").unwrap();
        let (advice, root) = (store.index().unwrap().repair().unwrap(), root.display());
        assert!(advice.starts_with(&format!("nalm store pack '{root}' --into '{root}-repaired' --leave")), "{advice}");
    }

    #[test]
    fn a_row_taken_out_of_a_sealed_segment_is_missed() {
        let (folder, path, bytes) = store_of(&[row(0), row(1)]);
        let ends = ends(&bytes);
        fs::write(&path, [&bytes[..ends[0]], &bytes[ends[1]..]].concat()).unwrap();
        let problems = index(&folder).problems;
        assert!(problems[0].to_string().ends_with("line 3: the footer tells of 2 rows; 1 are there"), "{problems:?}");
    }

    #[test]
    fn equal_results_are_duplicates_and_different_ones_conflicts() {
        let first = row(0);
        let other = Row { result_hash: "something else".into(), ..first.clone() };
        let mut changed = first.clone();
        changed.metrics.insert("solved".into(), true.into());
        let (folder, ..) = store_of(&[first.clone(), first, other, changed]);
        let index = index(&folder);
        assert_eq!((index.entries().len(), index.duplicates, index.problems.len()), (1, 1, 2));
        let texts: Vec<String> = index.problems.iter().map(ToString::to_string).collect();
        assert!(texts[0].contains("result_hash") && texts[1].contains("solved"), "{texts:?}");
    }

    /// A shortage passes; a result stays.
    #[test]
    fn a_failed_run_is_missing_and_gives_way_to_a_result() {
        let first = row(0);
        let failed = Row::failed(&first.spec, "no memory".into());
        let (folder, ..) = store_of(&[failed.clone(), failed.clone()]);
        let index = index(&folder);
        assert_eq!((index.entries().len(), index.has(&first.id), index.duplicates), (0, false, 0));
        assert_eq!(index.failed().unwrap(), std::slice::from_ref(&failed));
        let (other, ..) = store_of(&[failed.clone(), first.clone(), failed]);
        let both = Index::of(&[Store::at(folder.path()), Store::at(other.path())]).unwrap();
        assert_eq!((both.entries().len(), both.duplicates, &*both.problems), (1, 0, &[][..]));
        assert!(both.has(&first.id) && both.failed().unwrap().is_empty());
    }

    /// What a process is still writing, or a killed one left, is no part of a store.
    #[test]
    fn nothing_temporary_is_merged() {
        let (folder, path, _) = store_of(&[row(0)]);
        fs::create_dir_all(folder.path().join("weights")).unwrap();
        let names =
            ["weights/a.safetensors", "weights/.a.safetensors.x.part", "seg/.b.jsonl.y.part", "seg/.c.gz.z.part"];
        names.iter().for_each(|name| fs::write(folder.path().join(name), b"half").unwrap());
        let into = tempfile::tempdir().unwrap();
        merge(&[Store::at(folder.path())], &Store::at(into.path())).unwrap();
        let there = |name: &str| -> Vec<_> {
            fs::read_dir(into.path().join(name)).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(
            (there("seg"), there("weights")),
            (vec![path.file_name().unwrap().into()], vec!["a.safetensors".into()])
        );
    }

    /// A file of nothing but noise does not fill the memory with complaints.
    #[test]
    fn only_so_many_lines_are_named() {
        let (folder, path, _) = store_of(&[]);
        for (lines, named) in [(999, 999), (1_000, 1_000), (1_001, 1_000), (5_000, 1_000)] {
            fs::write(&path, "noise\n".repeat(lines)).unwrap();
            assert_eq!(index(&folder).problems.len(), named, "{lines} lines");
        }
    }

    /// Rows of earlier versions have seventeen digits where eight say the same.
    #[test]
    fn every_run_once_is_written_in_todays_form() {
        let mut old = row(0);
        old.artefacts.insert("weights".into(), serde_json::json!([0.1f32, 0.7f32]));
        let (folder, _, bytes) = store_of(std::slice::from_ref(&old));
        assert!(String::from_utf8(bytes).unwrap().contains("[0.10000000149011612,0.699999988079071]"));
        let mut lines = Vec::new();
        compact(&index(&folder), &mut lines).unwrap();
        assert!(String::from_utf8(lines).unwrap().contains("\"weights\":[0.1,0.7]"));
    }

    /// Metrics of a run with images follow from its history, and hashes have a form.
    #[test]
    fn what_contradicts_a_row_is_found_without_running_it() {
        let history =
            serde_json::json!({"sequence": [{"step": 3, "valid": {"error": 0.5}, "sparsity": 0.1, "test": []}]});
        let mut whole = row(0);
        whole.metrics = crate::run::history::metrics(&history);
        whole.series.insert("history".into(), history);
        let wrong = |row: Row| {
            let (folder, ..) = store_of(&[row]);
            let mut index = index(&folder);
            index.audit().unwrap();
            index.problems.iter().map(ToString::to_string).collect::<String>()
        };
        assert_eq!(wrong(whole.clone()), "");
        let mut better = whole.clone();
        better.metrics.insert("validation_error".into(), 0.25.into());
        assert!(wrong(better).contains("its metrics are not those of its history"));
        let mut more = whole.clone();
        more.metrics.insert("solved".into(), true.into());
        assert!(wrong(more).contains("its metrics are not those of its history"));
        assert!(wrong(Row { result_hash: "0".repeat(31), ..whole.clone() }).contains("which is none"));
        assert!(wrong(Row { version: "0.0.0".into(), ..whole }).contains("it says version 0.0.0"));
    }

    #[test]
    fn what_is_newer_is_refused_and_what_is_no_row_is_named() {
        let (folder, path, bytes) = store_of(&[row(0)]);
        let strange = line::format(&serde_json::json!({"id": "x", "status": "completed"}));
        fs::write(&path, [&bytes[..], strange.as_bytes()].concat()).unwrap();
        let problems = index(&folder).problems;
        assert!(problems[0].to_string().contains("line 4: it has the identity 'x'"), "{problems:?}");
        let newer = line::format(&serde_json::json!({"schema": SCHEMA + 1, "version": "9.9.9"}));
        fs::write(&path, newer).unwrap();
        let error = Store::at(folder.path()).index().unwrap_err().to_string();
        assert!(error.contains("nalm 9.9.9") && error.contains("schema 2"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_store_stops_nobody() {
        let (folder, ..) = store_of(&[row(0)]);
        let pipe = folder.path().join("seg/0.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(index(&folder).entries().len(), 1);
    }

    /// Merging is union: in any order and grouping, and however often, the same segments and the same rows. Stores share segments, runs and torn
    /// ends, as copies of stores do that were made while they grew.
    #[test]
    fn merging_is_commutative_associative_and_idempotent() {
        let rows: Vec<Row> = (0..6).map(row).collect();
        // Segments of which stores have different beginnings, and of which runs overlap.
        let made: Vec<(tempfile::TempDir, PathBuf, Vec<u8>)> =
            [&rows[..3], &rows[2..5], &rows[4..], &rows[..1]].map(store_of).into();
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let folder = tempfile::tempdir().unwrap();
        let at = |name: String| Store::at(folder.path().join(name));
        // The files of a store and its compacted rows.
        let holds = |store: &Store| -> (Vec<(String, Vec<u8>)>, String) {
            let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
            let files = store.segments().unwrap().iter().map(|file| (name(file), fs::read(file).unwrap())).collect();
            (files, compact(&store.index().unwrap(), &mut std::io::sink()).unwrap())
        };
        for round in 0..40 {
            let [a, b, c] = ["a", "b", "c"].map(|name| {
                let store = at(format!("{round}-{name}"));
                fs::create_dir_all(store.root().join("seg")).unwrap();
                for (_, path, bytes) in made.iter() {
                    if random(2) == 0 {
                        let len = if random(3) == 0 { random(bytes.len()) } else { bytes.len() };
                        fs::write(store.root().join("seg").join(path.file_name().unwrap()), &bytes[..len]).unwrap();
                    }
                }
                store
            });
            let merged = |name: &str, order: &[&Store]| {
                let into = at(format!("{round}-{name}"));
                order.iter().for_each(|store| merge(std::slice::from_ref(*store), &into).unwrap());
                into
            };
            let all = merged("abc", &[&a, &b, &c]);
            let want = holds(&all);
            assert_eq!(holds(&merged("cba", &[&c, &b, &a])), want, "round {round}: not commutative");
            let bc = merged("bc", &[&b, &c]);
            assert_eq!(holds(&merged("a-bc", &[&a, &bc])), want, "round {round}: not associative");
            merge(&[a, b, all.clone()], &all).unwrap();
            assert_eq!(holds(&all), want, "round {round}: not idempotent");
        }
    }
}

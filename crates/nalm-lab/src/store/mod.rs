//! Where rows are kept: append-only segments, one per process start, one checksummed line per run.
//!
//! No file is ever written by two processes, renamed or repaired, so there is nothing to lock. Merging stores is copying their
//! segments into one folder. A line counts if it ends in a newline and its checksum holds; anything else is torn, is counted
//! and harms nothing. The same run may be there twice; then its results must agree.

pub mod date;
mod line;
pub mod machine;
mod merge;
mod pack;
mod segment;
mod session;
mod tensors;

pub use merge::merge;
pub use pack::{compact, pack};
pub use segment::Segment;
pub use session::Session;

use crate::error::{Error, Result, ensure};
use crate::run::Row;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Everything that a store holds.
#[derive(Debug, Default)]
pub struct Contents {
    /// One row per run.
    pub rows: BTreeMap<String, Row>,
    /// Lines that do not count.
    pub torn: usize,
    /// Rows that were there already, with the same result.
    pub duplicates: usize,
    /// Runs that are there twice with different results.
    pub conflicts: Vec<String>,
    /// Segment files.
    pub segments: usize,
    /// The processes that wrote them.
    pub sessions: Vec<Session>,
    /// Which of these wrote a row first.
    pub session_of: BTreeMap<String, usize>,
}

/// Reads all segments of a store. A store that does not exist is empty.
pub fn read(store: &Path) -> Result<Contents> {
    let mut contents = Contents::default();
    contents.read(store)?;
    Ok(contents)
}

/// Reads a store that must be there.
pub fn read_existing(store: &Path) -> Result<Contents> {
    ensure_store(store)?;
    read(store)
}

fn ensure_store(store: &Path) -> Result<()> {
    ensure!(store.join("seg").is_dir(), "{} is no store: it has no folder seg", store.display());
    Ok(())
}

/// The segments of a store, in the order of their names, which is that of their start.
fn segments(store: &Path) -> Result<Vec<PathBuf>> {
    let folder = store.join("seg");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut files: Vec<PathBuf> = entries.map_err(Error::file("cannot read the store", &folder))?;
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl" || e == "gz"));
    files.sort();
    Ok(files)
}

/// The bytes of a segment; of a compressed one, as many as can be had.
fn read_segment(file: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(file).map_err(Error::file("cannot read the segment", file))?;
    if file.extension().is_none_or(|e| e != "gz") {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    // A cut or damaged end leaves a torn line, which is counted like any other.
    if flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut text).is_err() {
        text.push(b'?');
    }
    Ok(text)
}

impl Contents {
    /// Adds all segments of a store.
    pub fn read(&mut self, store: &Path) -> Result<()> {
        for file in segments(store)? {
            let bytes = read_segment(&file)?;
            self.segments += 1;
            self.add(&bytes);
        }
        Ok(())
    }

    /// Adds the lines of one segment.
    fn add(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match line::parse(line) {
                None => self.torn += 1,
                Some(value) if value.get("schema").is_some() => {
                    self.sessions.push(serde_json::from_value(value).unwrap_or_default());
                }
                Some(value) if value.get("sealed").is_some() => {
                    if let Some(session) = self.sessions.last_mut() {
                        session.seconds = value["seconds"].as_f64();
                        session.cpu_seconds = value["cpu_seconds"].as_f64();
                    }
                }
                Some(value) => match Row::from_json(value) {
                    None => self.torn += 1,
                    Some(row) => self.insert(row),
                },
            }
        }
    }

    fn insert(&mut self, row: Row) {
        match self.rows.get(&row.id) {
            Some(known) if known.conflicts_with(&row) => self.conflicts.push(row.id),
            Some(_) => self.duplicates += 1,
            None => {
                if let Some(last) = self.sessions.len().checked_sub(1) {
                    self.session_of.insert(row.id.clone(), last);
                }
                self.rows.insert(row.id.clone(), row);
            }
        }
    }

    /// Whether a run is there.
    pub fn has(&self, id: &str) -> bool {
        self.rows.contains_key(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{Order, Quiet, carry_out};
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

    fn segment_of(rows: &[Row]) -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(folder.path(), &[]).unwrap();
        rows.iter().for_each(|row| segment.append(&Finished { row: row.clone(), tensors: None }).unwrap());
        let path = segment.path().to_path_buf();
        segment.seal().unwrap();
        (folder, fs::read(path).unwrap())
    }

    #[test]
    fn rows_come_back_as_they_went_in() {
        let rows: Vec<Row> = (0..3).map(row).collect();
        let (folder, _) = segment_of(&rows);
        let contents = read(folder.path()).unwrap();
        assert_eq!((contents.rows.len(), contents.torn, contents.segments), (3, 0, 1));
        rows.iter().for_each(|row| assert_eq!(&contents.rows[&row.id], row));
        assert!(read(&folder.path().join("nothing")).unwrap().rows.is_empty());
    }

    /// However a segment is cut, the rows before the cut are there and the reader does not fail.
    #[test]
    fn a_segment_cut_at_any_byte_keeps_the_rows_before_the_cut() {
        let rows: Vec<Row> = (0..3).map(row).collect();
        let (_folder, bytes) = segment_of(&rows);
        let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(k, _)| k + 1).collect();
        for cut in 0..=bytes.len() {
            let mut contents = Contents::default();
            contents.add(&bytes[..cut]);
            // The first line is the header, the last one the footer.
            let whole = ends[1..4].iter().filter(|end| **end <= cut).count();
            assert_eq!(contents.rows.len(), whole, "cut at {cut}");
            assert!(contents.torn <= 1 && contents.conflicts.is_empty());
        }
    }

    #[test]
    fn a_flipped_bit_or_a_zero_filled_tail_is_noticed() {
        let first = row(0);
        let (_folder, bytes) = segment_of(std::slice::from_ref(&first));
        for k in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[k] ^= 1;
            let mut contents = Contents::default();
            contents.add(&flipped);
            assert!(contents.rows.values().all(|found| *found == first), "bit of byte {k}");
        }
        let mut contents = Contents::default();
        contents.add(&[bytes.clone(), vec![0; 4096]].concat());
        assert_eq!((contents.rows.len(), contents.torn), (1, 1));
    }

    #[test]
    fn equal_results_are_duplicates_and_different_ones_conflicts() {
        let first = row(0);
        let other = Row { result_hash: "something else".into(), ..first.clone() };
        let mut contents = Contents::default();
        contents.add(&segment_of(&[first.clone(), first.clone(), other]).1);
        assert_eq!((contents.rows.len(), contents.duplicates, contents.conflicts.len()), (1, 1, 1));
    }
}

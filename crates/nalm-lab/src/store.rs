//! Where rows are kept: append-only segments, one per process start, one checksummed line per run.
//!
//! No file is ever written by two processes, renamed or repaired, so there is nothing to lock. Merging stores is copying their
//! segments into one folder. A line counts if it ends in a newline and its checksum holds; anything else is torn, is counted
//! and harms nothing. The same run may be there twice; then its results must agree.

use crate::row::Row;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a finished row may wait for the disk.
const SYNC_EVERY: Duration = Duration::from_millis(250);

/// Everything that a store holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// One row per run.
    pub(crate) rows: BTreeMap<String, Row>,
    /// Lines that do not count.
    pub(crate) torn: usize,
    /// Rows that were there already, with the same result.
    pub(crate) duplicates: usize,
    /// Runs that are there twice with different results.
    pub(crate) conflicts: Vec<String>,
    /// Segment files.
    pub(crate) segments: usize,
}

/// Reads all segments of a store. A store that does not exist is empty.
pub(crate) fn read(store: &Path) -> Result<Contents> {
    let mut contents = Contents::default();
    let folder = store.join("seg");
    if !folder.exists() {
        return Ok(contents);
    }
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read the store {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("cannot read the segment {}", file.display()))?;
        contents.segments += 1;
        contents.add(&bytes);
    }
    Ok(contents)
}

impl Contents {
    /// Adds the lines of one segment.
    fn add(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match parse(line) {
                None => self.torn += 1,
                Some(value) if value.get("id").is_none() => {}
                Some(value) => match serde_json::from_value::<Row>(value) {
                    Err(_) => self.torn += 1,
                    Ok(row) => self.insert(row),
                },
            }
        }
    }

    fn insert(&mut self, row: Row) {
        match self.rows.get(&row.id) {
            Some(known) if known.result_hash == row.result_hash => self.duplicates += 1,
            Some(_) => self.conflicts.push(row.id),
            None => {
                self.rows.insert(row.id.clone(), row);
            }
        }
    }
}

/// The JSON of a line whose checksum holds.
fn parse(line: &[u8]) -> Option<Value> {
    let line = line.strip_suffix(b"\n")?;
    let tab = line.iter().rposition(|byte| *byte == b'\t')?;
    let sum = u32::from_str_radix(std::str::from_utf8(&line[tab + 1..]).ok()?, 16).ok()?;
    (crc32c::crc32c(&line[..tab]) == sum).then(|| serde_json::from_slice(&line[..tab]).ok())?
}

fn format_line(value: &Value) -> String {
    let text = value.to_string();
    format!("{text}\t{:08x}\n", crc32c::crc32c(text.as_bytes()))
}

/// The segment of this process.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    path: PathBuf,
    unsynced: usize,
    last_sync: Instant,
    rows: usize,
}

impl Segment {
    /// Starts a segment.
    pub(crate) fn create(store: &Path) -> Result<Self> {
        let folder = store.join("seg");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the store {}", folder.display()))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "host".into());
        let host: String = host.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let random = RandomState::new().build_hasher().finish();
        let path = folder.join(format!("{now}-{host}-{}-{random:016x}.jsonl", std::process::id()));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(&path);
        let file = file.with_context(|| format!("cannot write to the store: {}", path.display()))?;
        let mut segment = Self { file, path, unsynced: 0, last_sync: Instant::now(), rows: 0 };
        segment.write(&json!({
            "schema": 1,
            "version": env!("CARGO_PKG_VERSION"),
            "numerics": nalm::NUMERICS,
            "path": nalm::Path::best().name(),
            "host": host,
            "started": now,
            "arguments": std::env::args().skip(1).collect::<Vec<_>>(),
        }))?;
        Ok(segment)
    }

    /// Appends a row; it is on the disk a quarter of a second later at the latest, given further calls.
    pub(crate) fn append(&mut self, row: &Row) -> Result<()> {
        self.write(&serde_json::to_value(row)?)?;
        self.rows += 1;
        self.sync_if_due()
    }

    fn write(&mut self, value: &Value) -> Result<()> {
        let line = format_line(value);
        // One call, so that another process never sees the middle of a line without its end being on the way.
        self.file.write_all(line.as_bytes()).with_context(|| {
            format!("cannot write to {}; finished runs are kept, make room and repeat the command", self.path.display())
        })?;
        self.unsynced += 1;
        Ok(())
    }

    /// Puts waiting rows on the disk if they have waited long enough.
    pub(crate) fn sync_if_due(&mut self) -> Result<()> {
        if self.unsynced > 0 && self.last_sync.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().with_context(|| format!("cannot sync {}", self.path.display()))?;
        (self.unsynced, self.last_sync) = (0, Instant::now());
        Ok(())
    }

    /// Writes the footer and puts everything on the disk. A segment without footer is one whose process was killed.
    pub(crate) fn seal(mut self) -> Result<()> {
        self.write(&json!({"sealed": true, "rows": self.rows}))?;
        self.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runspec::{RunSpec, Settings};

    fn row(seed: u64) -> Row {
        let spec = RunSpec {
            task: "single-module".into(),
            operation: "mul".into(),
            inputs: 2,
            range: "U[1,2)".into(),
            test_range: "U[2,6)".into(),
            module: "nmu".into(),
            options: Settings::default(),
            seed,
            stream: "fast".into(),
            steps: 50,
            numerics: nalm::NUMERICS,
        };
        let (_, outcome) = spec.execute(&mut ()).unwrap();
        Row::new(&spec, &outcome)
    }

    fn segment_of(rows: &[Row]) -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(folder.path()).unwrap();
        rows.iter().for_each(|row| segment.append(row).unwrap());
        let path = segment.path.clone();
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
        let (_folder, bytes) = segment_of(&[row(0)]);
        for k in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[k] ^= 1;
            let mut contents = Contents::default();
            contents.add(&flipped);
            assert!(contents.rows.values().all(|found| *found == row_zero()), "bit of byte {k}");
        }
        let mut contents = Contents::default();
        contents.add(&[bytes.clone(), vec![0; 4096]].concat());
        assert_eq!((contents.rows.len(), contents.torn), (1, 1));
    }

    fn row_zero() -> Row {
        row(0)
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

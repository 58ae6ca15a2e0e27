//! Where rows are kept: append-only segments, one per process start, one checksummed line per run.
//!
//! No file is ever written by two processes, renamed or repaired, so there is nothing to lock. Merging stores is copying their
//! segments into one folder. A line counts if it ends in a newline and its checksum holds; anything else is torn, is counted
//! and harms nothing. The same run may be there twice; then its results must agree.

mod segment;

pub(crate) use segment::Segment;

use crate::images::ImageRow;
use crate::row::Row;
use crate::runspec::hex;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Everything that a store holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// One row per run.
    pub(crate) rows: BTreeMap<String, Row>,
    /// One row per run with images.
    pub(crate) images: BTreeMap<String, ImageRow>,
    /// Lines that do not count.
    pub(crate) torn: usize,
    /// Rows that were there already, with the same result.
    pub(crate) duplicates: usize,
    /// Runs that are there twice with different results.
    pub(crate) conflicts: Vec<String>,
    /// Segment files.
    pub(crate) segments: usize,
    /// The processes that wrote them.
    pub(crate) sessions: Vec<Session>,
    /// Which of these wrote a row first.
    pub(crate) session_of: BTreeMap<String, usize>,
}

/// A process that wrote rows, by its header and footer.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Session {
    pub(crate) schema: u32,
    pub(crate) version: String,
    pub(crate) revision: String,
    pub(crate) numerics: u32,
    /// The vector instructions in use.
    pub(crate) path: String,
    pub(crate) machine: String,
    /// Seconds since 1970.
    pub(crate) started: u64,
    pub(crate) arguments: Vec<String>,
    /// Seconds that it ran, and seconds of all its threads together; absent if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_seconds: Option<f64>,
}

/// Reads all segments of a store. A store that does not exist is empty.
pub(crate) fn read(store: &Path) -> Result<Contents> {
    let mut contents = Contents::default();
    contents.read(store)?;
    Ok(contents)
}

/// The segments of a store, in the order of their names, which is that of their start.
/// Reads a store that must be there.
pub(crate) fn read_existing(store: &Path) -> Result<Contents> {
    ensure!(store.join("seg").is_dir(), "{} is no store: it has no folder seg", store.display());
    read(store)
}

fn segments(store: &Path) -> Result<Vec<PathBuf>> {
    let folder = store.join("seg");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read the store {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl" || e == "gz"));
    files.sort();
    Ok(files)
}

/// The bytes of a segment; of a compressed one, as many as can be had.
fn read_segment(file: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = fs::read(file)?;
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

/// Writes all rows, by session and in the order of identity, as one compressed segment: what is kept for good.
pub(crate) fn pack(contents: &Contents, store: &Path) -> Result<PathBuf> {
    let folder = store.join("seg");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the store {}", folder.display()))?;
    let mut encoder = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
    for (k, session) in contents.sessions.iter().enumerate() {
        let own = |id: &String| contents.session_of.get(id) == Some(&k);
        let rows = contents.rows.values().filter(|row| own(&row.id)).map(serde_json::to_value);
        let images = contents.images.values().filter(|row| own(&row.id)).map(serde_json::to_value);
        let rows = rows.chain(images).collect::<serde_json::Result<Vec<Value>>>()?;
        if rows.is_empty() {
            continue;
        }
        let arguments = session.arguments.iter().map(|argument| without_folders(argument)).collect();
        let header = Session { seconds: None, cpu_seconds: None, arguments, ..session.clone() };
        encoder.write_all(format_line(&serde_json::to_value(header)?).as_bytes())?;
        for row in &rows {
            encoder.write_all(format_line(row).as_bytes())?;
        }
        if let (Some(seconds), cpu) = (session.seconds, session.cpu_seconds) {
            let footer = json!({"sealed": true, "rows": rows.len(), "seconds": seconds, "cpu_seconds": cpu});
            encoder.write_all(format_line(&footer).as_bytes())?;
        }
    }
    let bytes = encoder.finish()?;
    // Named by content, so that records can be merged; aside and then renamed, so that it is there as a whole or not at all.
    let path = folder.join(format!("rows-{}.jsonl.gz", hex(&Sha256::digest(&bytes)[..6])));
    let aside = path.with_extension("new");
    fs::write(&aside, bytes).with_context(|| format!("cannot write {}", aside.display()))?;
    fs::rename(&aside, &path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// An absolute path without its folders, which are nobody else's business; anything else as it is.
fn without_folders(argument: &str) -> String {
    let path = Path::new(argument);
    match path.file_name() {
        Some(name) if path.is_absolute() => name.to_string_lossy().into_owned(),
        _ => argument.into(),
    }
}

/// The day of a time in seconds since 1970, in Greenwich.
pub(crate) fn date(seconds: u64) -> String {
    // Days since 1 March of year 0, in eras of 400 years (Hinnant's algorithm).
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (d, m) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{m:02}-{d:02}", 400 * era + year + u64::from(m <= 2))
}

impl Contents {
    /// Adds all segments of a store.
    pub(crate) fn read(&mut self, store: &Path) -> Result<()> {
        for file in segments(store)? {
            let bytes = read_segment(&file).with_context(|| format!("cannot read the segment {}", file.display()))?;
            self.segments += 1;
            self.add(&bytes);
        }
        Ok(())
    }

    /// Adds the lines of one segment.
    fn add(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match parse(line) {
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
                Some(value) if value.get("image").is_some() => match serde_json::from_value::<ImageRow>(value) {
                    Err(_) => self.torn += 1,
                    Ok(row) => self.insert_image(row),
                },
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
                self.note_session(&row.id);
                self.rows.insert(row.id.clone(), row);
            }
        }
    }

    fn insert_image(&mut self, row: ImageRow) {
        match self.images.get(&row.id) {
            // Other instructions round differently, so only equal ones must agree.
            Some(known) if known.result_hash == row.result_hash || known.set != row.set => self.duplicates += 1,
            Some(_) => self.conflicts.push(row.id),
            None => {
                self.note_session(&row.id);
                self.images.insert(row.id.clone(), row);
            }
        }
    }

    fn note_session(&mut self, id: &str) {
        if let Some(last) = self.sessions.len().checked_sub(1) {
            self.session_of.insert(id.into(), last);
        }
    }

    /// Whether a run is there.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.rows.contains_key(id) || self.images.contains_key(id)
    }

    /// Rows of both kinds.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() + self.images.len()
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
            curve: None,
            schedule: None,
            problem: None,
            numerics: nalm::NUMERICS,
        };
        let (_, outcome) = spec.execute(&mut ()).unwrap();
        Row::new(&spec, &outcome, None)
    }

    fn segment_of(rows: &[Row]) -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(folder.path()).unwrap();
        rows.iter().for_each(|row| segment.append(row, None).unwrap());
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

    #[test]
    fn days_and_folders() {
        assert_eq!([0, 951_782_400, 1_794_788_123].map(date), ["1970-01-01", "2000-02-29", "2026-11-16"]);
        assert_eq!(
            ["--store", "results", "/somewhere/results"].map(without_folders),
            ["--store", "results", "results"]
        );
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

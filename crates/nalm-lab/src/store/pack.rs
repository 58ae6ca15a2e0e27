//! Rows to be kept for good: one compressed segment, or every run once.

use super::index::SegmentFile;
use super::session::without_folders;
use super::{Entry, Index, Problem, Session, Store, line, tensors};
use crate::error::{Error, Result};
use crate::files;
use crate::run::spec::hex;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Higher levels take longer and hardly make the file smaller.
const LEVEL: flate2::Compression = flate2::Compression::new(6);

/// What came of packing.
#[derive(Debug)]
pub struct Packed {
    /// The new segment; nothing if the target has every row already.
    pub file: Option<PathBuf>,
    /// How many rows are new.
    pub rows: usize,
    /// How many lines could not be read, and are not there.
    pub left_out: usize,
    /// What is wrong with them; of very many things, the first thousand.
    pub problems: Vec<Problem>,
}

/// Writes the rows of several stores that the target lacks into one compressed segment there, and copies their networks: a record grows by
/// files, none of which ever changes. What cannot be read is refused, or left out and named.
pub fn pack(stores: &[Store], into: &Store, leave_out_damaged: bool) -> Result<Packed> {
    stores.iter().try_for_each(Store::ensure_exists)?;
    // The target comes first, so that its rows are the known ones.
    let all: Vec<Store> = std::iter::once(into).chain(stores).cloned().collect();
    let index = Index::of(&all)?;
    // Whatever cannot be read would be left behind in silence.
    if leave_out_damaged {
        index.ensure_rows_sound()?
    } else {
        index.ensure_sound()?
    }
    let mut new: Vec<&Entry> = index.entries().iter().filter(|entry| index.store_of(entry) != into.root()).collect();
    if new.is_empty() {
        return Ok(Packed { file: None, rows: 0, left_out: index.lost, problems: index.problems });
    }
    // By process, and in the order of identity.
    new.sort_by_key(|entry| entry.session());
    for entry in &new {
        let name = format!("weights/{}.safetensors", entry.id());
        let from = index.store_of(entry).join(&name);
        if from.is_file() {
            let bytes = files::read(into.files(), &from)?;
            if let Some(fault) = tensors::fault(&bytes) {
                return Err(Error::Unsound(format!("{} {fault}", from.display())));
            }
            files::replace(into.files(), &into.root().join(name), &bytes)?;
        }
    }
    let (file, rows) = (Some(write(&index, &new, into)?), new.len());
    Ok(Packed { file, rows, left_out: index.lost, problems: index.problems })
}

fn write(index: &Index, rows: &[&Entry], into: &Store) -> Result<PathBuf> {
    // Unpacked first into a file without a name, because the packed one is named by its content.
    let mut packed = tempfile::tempfile().map_err(Error::file("cannot make a temporary file for", into.root()))?;
    let wrong = || Error::file("cannot compress rows for", into.root());
    let mut hashed = Hashed { out: &mut packed, hash: Sha256::new() };
    let encoder = flate2::GzBuilder::new().write(&mut hashed, LEVEL);
    let mut encoder = io::BufWriter::with_capacity(1 << 16, encoder);
    for rows in rows.chunk_by(|a, b| a.session() == b.session()) {
        let session = &index.sessions[rows[0].session()];
        let arguments = session.arguments.iter().map(|argument| without_folders(argument)).collect();
        let header = Session { seconds: None, cpu_seconds: None, arguments, ..session.clone() };
        encoder.write_all(line::format(&serde_json::to_value(header)?).as_bytes()).map_err(wrong())?;
        for entry in rows {
            let text = index.text(entry)?;
            let sum = crc32c::crc32c(&text);
            encoder.write_all(&text).and_then(|()| writeln!(encoder, "\t{sum:08x}")).map_err(wrong())?;
        }
        if let Some(seconds) = session.seconds {
            let cpu = session.cpu_seconds;
            let footer = json!({"sealed": true, "rows": rows.len(), "seconds": seconds, "cpu_seconds": cpu});
            encoder.write_all(line::format(&footer).as_bytes()).map_err(wrong())?;
        }
    }
    let encoder = encoder.into_inner().map_err(|error| wrong()(error.into_error()))?;
    encoder.finish().map_err(wrong())?;
    let path = into.root().join("seg").join(name(&hashed.hash.finalize()));
    io::Seek::rewind(&mut packed).map_err(wrong())?;
    files::write(into.files(), &path, |out| io::copy(&mut packed, out).map(drop))?;
    Ok(path)
}

/// The name of a packed segment by the hash of its bytes, so that records can be merged, and checked.
fn name(hash: &[u8]) -> String {
    format!("rows-{}.jsonl.gz", hex(&hash[..6]))
}

/// Whether a segment is named by its bytes, but has others.
pub(super) fn contradicts_its_name(segment: &SegmentFile) -> Result<bool> {
    let SegmentFile { file, store, .. } = segment;
    let own = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !(own.starts_with("rows-") && own.ends_with(".jsonl.gz")) {
        return Ok(false);
    }
    let mut hashed = Hashed { out: &mut io::sink(), hash: Sha256::new() };
    let mut from = store.files().open(file).map_err(Error::file("cannot read", file))?;
    io::copy(&mut from, &mut hashed).map_err(Error::file("cannot read", file))?;
    Ok(own != name(&hashed.hash.finalize()))
}

/// Hashes what goes through it.
struct Hashed<'a> {
    out: &'a mut dyn Write,
    hash: Sha256,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hash.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes every run once, in the order of identity and in today's form: the same bytes however the rows came about. Returns their SHA-256.
pub fn compact(index: &Index, out: &mut dyn Write) -> Result<String> {
    index.ensure_sound()?;
    let mut hashed = Hashed { out, hash: Sha256::new() };
    let wrong = || Error::file("cannot write", Path::new("rows"));
    let line = |entry: &Entry| {
        let row = index.row(entry)?.normalised();
        Ok(format!("{}\n", serde_json::to_value(&row)?).into_bytes())
    };
    index.in_order(line, |lines| hashed.write_all(lines).map_err(wrong()))?;
    hashed.flush().map_err(wrong())?;
    Ok(hex(&hashed.hash.finalize()))
}

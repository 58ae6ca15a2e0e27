//! Rows to be kept for good: one compressed segment, or every run once.

use super::session::without_folders;
use super::{Contents, Session, ensure_store, line, read};
use crate::error::{Error, Result};
use crate::run::spec::hex;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the rows of several stores that the target lacks into one compressed segment there: a record grows by files, none of which ever
/// changes. Returns the file, if there was anything to write, and how many rows are new.
pub fn pack(stores: &[PathBuf], into: &Path) -> Result<(Option<PathBuf>, usize)> {
    let kept = read(into)?;
    let mut contents = Contents::default();
    for store in stores {
        ensure_store(store)?;
        contents.read(store)?;
    }
    let differs = |row: &&crate::run::Row| kept.rows.get(&row.id).is_some_and(|known| known.conflicts_with(row));
    let conflicts = kept.conflicts.len() + contents.conflicts.len() + contents.rows.values().filter(differs).count();
    if conflicts > 0 {
        return Err(Error::Conflict(format!("there are {conflicts} conflicts; equal runs must have equal results")));
    }
    contents.rows.retain(|id, _| !kept.has(id));
    let rows = contents.rows.len();
    if rows == 0 {
        return Ok((None, 0));
    }
    write(&contents, into).map(|path| (Some(path), rows))
}

/// Writes all rows, by session and in the order of identity, as one compressed segment.
fn write(contents: &Contents, store: &Path) -> Result<PathBuf> {
    let folder = store.join("seg");
    fs::create_dir_all(&folder).map_err(Error::file("cannot make the store", &folder))?;
    let mut encoder = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
    let mut put = |value: &serde_json::Value| {
        encoder.write_all(line::format(value).as_bytes()).map_err(Error::file("cannot compress rows for", &folder))
    };
    for (k, session) in contents.sessions.iter().enumerate() {
        let rows = || contents.rows.values().filter(|row| contents.session_of.get(&row.id) == Some(&k));
        let count = rows().count();
        if count == 0 {
            continue;
        }
        let arguments = session.arguments.iter().map(|argument| without_folders(argument)).collect();
        put(&serde_json::to_value(Session { seconds: None, cpu_seconds: None, arguments, ..session.clone() })?)?;
        rows().try_for_each(|row| put(&serde_json::to_value(row)?))?;
        if let (Some(seconds), cpu) = (session.seconds, session.cpu_seconds) {
            put(&json!({"sealed": true, "rows": count, "seconds": seconds, "cpu_seconds": cpu}))?;
        }
    }
    let bytes = encoder.finish().map_err(Error::file("cannot compress rows for", &folder))?;
    // Named by content, so that records can be merged; aside and then renamed, so that it is there as a whole or not at all.
    let path = folder.join(format!("rows-{}.jsonl.gz", hex(&Sha256::digest(&bytes)[..6])));
    let aside = path.with_extension("new");
    fs::write(&aside, bytes).map_err(Error::file("cannot write", &aside))?;
    fs::rename(&aside, &path).map_err(Error::file("cannot write", &path))?;
    Ok(path)
}

/// Writes every run once, in the order of identity: the same bytes however the rows came about. Returns their SHA-256.
pub fn compact(contents: &Contents, out: &mut dyn Write) -> Result<String> {
    let mut hash = Sha256::new();
    for row in contents.rows.values() {
        let line = format!("{}\n", serde_json::to_value(row)?);
        hash.update(line.as_bytes());
        out.write_all(line.as_bytes()).map_err(Error::file("cannot write", Path::new("rows")))?;
    }
    out.flush().map_err(Error::file("cannot write", Path::new("rows")))?;
    Ok(hex(&hash.finalize()))
}

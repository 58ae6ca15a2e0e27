//! Every row held against itself: identities from specifications, versions from headers, metrics and hashes as far as a row has what they
//! are made of.

use super::{Entry, Index, Problem, pack, tensors};
use crate::error::{Error, Result};
use crate::files;
use crate::run::{Row, history};

impl Index {
    /// Adds what is wrong beyond what shows when stores are read.
    pub fn audit(&mut self) -> Result<()> {
        let mut problems = Vec::new();
        for segment in &self.segments {
            if pack::contradicts_its_name(segment)? {
                let why = "its bytes are not those that it is named by; it was changed or cut".into();
                problems.push(Problem::Unreadable { segment: segment.file.clone(), line: None, why });
            }
        }
        for entry in self.entries() {
            match self.row(entry) {
                Ok(row) => {
                    problems.extend(forged(self, entry, &row).into_iter().chain(missing(self, entry, &row)));
                    problems.extend(damaged(self, entry, &row)?);
                }
                Err(Error::Unsound(why)) => problems.push(Problem::Forged { id: entry.id(), what: why }),
                Err(error) => return Err(error),
            }
        }
        self.problems.extend(problems);
        Ok(())
    }
}

fn forged(index: &Index, entry: &Entry, row: &Row) -> Option<Problem> {
    let forged = |what: String| Some(Problem::Forged { id: row.id.clone(), what });
    let own = row.spec.id();
    if own != row.id {
        return forged(format!("its specification has the identity {own}"));
    }
    let session = &index.sessions[entry.session()];
    if !session.version.is_empty() && session.version != row.version {
        return forged(format!("it says version {}; the header of its segment says {}", row.version, session.version));
    }
    let hash_is_ours = row.result_hash.len() == 32 && row.result_hash.bytes().all(|c| c.is_ascii_hexdigit());
    if !hash_is_ours {
        return forged(format!("its hash is '{}', which is none", row.result_hash));
    }
    if let Some(measured) = row.series.get("history") {
        let measured = history::metrics(measured);
        // An earlier version may have had fewer.
        let grown = row.version != env!("CARGO_PKG_VERSION");
        let same = row.metrics.iter().all(|(name, value)| measured.get(name) == Some(value));
        if !same || (!grown && measured.len() != row.metrics.len()) {
            return forged("its metrics are not those of its history".into());
        }
    }
    None
}

/// Networks that a row speaks of are files of its store. A record may leave them out as a whole.
fn missing(index: &Index, entry: &Entry, row: &Row) -> Option<Problem> {
    let file = row.artefacts.get("weights_file")?.as_str()?;
    let store = index.store_of(entry);
    let expected = store.join("weights").is_dir() && !store.join(file).is_file();
    expected.then(|| Problem::Missing { id: row.id.clone(), file: file.into() })
}

/// A network that is there can be read.
fn damaged(index: &Index, entry: &Entry, row: &Row) -> Result<Option<Problem>> {
    let Some(file) = row.artefacts.get("weights_file").and_then(|file| file.as_str()) else { return Ok(None) };
    let path = index.store_of(entry).join(file);
    if !path.is_file() {
        return Ok(None);
    }
    let fault = tensors::fault(&files::read(index.segments[entry.segment as usize].store.files(), &path)?);
    Ok(fault.map(|fault| Problem::Forged { id: row.id.clone(), what: format!("{file} {fault}") }))
}

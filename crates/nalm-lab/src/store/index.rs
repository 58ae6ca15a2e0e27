//! What stores hold, without holding it: where every run lies. A million rows take some dozens of megabytes.

use super::scan::{self, Entry, Scanned};
use super::{Contents, Problem, Session, Store};
use crate::error::{Error, Result};
use crate::files;
use crate::run::Row;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Rows that one thread works on at a time.
const BATCH: usize = 2_000;

/// More segments than this are not named one by one in advice.
const MOST_SHOWN: usize = 5;

/// A segment, and where it lies.
#[derive(Debug)]
pub(super) struct SegmentFile {
    pub(super) file: PathBuf,
    pub(super) store: Store,
    /// Its text, once a row of it was read; a compressed segment is unpacked for that.
    text: OnceLock<File>,
}

/// Everything that stores hold, by identity.
#[derive(Debug, Default)]
pub struct Index {
    pub(super) segments: Vec<SegmentFile>,
    /// One for each run, in the order of identity.
    entries: Vec<Entry>,
    failed: Vec<Entry>,
    /// Rows that contradict the one of the same run in `entries`.
    rivals: Vec<Entry>,
    /// The processes that wrote the segments.
    pub sessions: Vec<Session>,
    /// Lines at the ends of unsealed segments that do not count.
    pub torn: usize,
    /// Lines elsewhere that cannot be read.
    pub lost: usize,
    /// Rows that were there already, with the same result.
    pub duplicates: usize,
    /// What is wrong; of very many things, the first thousand.
    pub problems: Vec<Problem>,
    /// The names of all metrics of rows in today's form.
    metrics: BTreeSet<String>,
    /// Whether there are rows of earlier versions.
    has_old_rows: bool,
}

impl SegmentFile {
    /// Its text as a file in which one can go to and fro.
    fn unpacked(&self) -> io::Result<File> {
        let (files, file) = (self.store.files(), &self.file);
        if !scan::is_packed(file) {
            return files.open(file);
        }
        let mut to = tempfile::tempfile()?;
        let mut from = scan::open(files, file).map_err(|error| io::Error::other(error.to_string()))?;
        // The scan has named an end that cannot be unpacked; what is before it can be read.
        match io::copy(&mut from, &mut to) {
            Ok(_) => Ok(to),
            Err(error) if scan::is_damage(&error) => Ok(to),
            Err(error) => Err(error),
        }
    }
}

impl Index {
    /// Reads all segments of some stores. A store that does not exist is empty.
    pub fn of(stores: &[Store]) -> Result<Self> {
        let (mut segments, mut scanned) = (Vec::new(), Scanned::default());
        for store in stores {
            for file in store.segments()? {
                scanned.read(store.files(), &file, segments.len() as u32)?;
                segments.push(SegmentFile { file, store: store.clone(), text: OnceLock::new() });
            }
        }
        let Scanned { entries, sessions, problems, torn, lost, metrics, has_old_rows, .. } = scanned;
        let mut index = Self { segments, sessions, problems, torn, lost, metrics, has_old_rows, ..Self::default() };
        index.settle(entries);
        Ok(index)
    }

    /// Every run once. What failed gives way to what was carried out.
    fn settle(&mut self, mut all: Vec<Entry>) {
        all.sort_by_key(|entry| (entry.id, entry.is_failed));
        for entry in all {
            let known = self.entries.last().filter(|known| known.id == entry.id).copied();
            match known {
                Some(_) if entry.is_failed => {}
                // The same bytes.
                Some(known) if (known.sum, known.len) == (entry.sum, entry.len) => self.duplicates += 1,
                Some(known) => match self.differ(&known, &entry) {
                    None => self.duplicates += 1,
                    Some(problem) => {
                        self.problems.push(problem);
                        self.rivals.push(entry);
                    }
                },
                None if entry.is_failed => {
                    if self.failed.last().is_none_or(|known| known.id != entry.id) {
                        self.failed.push(entry);
                    }
                }
                None => self.entries.push(entry),
            }
        }
    }

    /// What is wrong with two rows of one run, if anything is.
    fn differ(&self, a: &Entry, b: &Entry) -> Option<Problem> {
        match (self.row(a), self.row(b)) {
            (Ok(first), Ok(second)) => {
                let what = first.conflict_with(&second)?;
                Some(Problem::Conflict { id: a.id(), what })
            }
            (Err(error), _) | (_, Err(error)) => {
                Some(Problem::Forged { id: a.id(), what: format!("it cannot be read: {error}") })
            }
        }
    }

    /// All runs that were carried out, in the order of identity.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The names of all metrics that any row has; nothing where rows of earlier versions must be asked one by one.
    pub fn metrics(&self) -> Option<&BTreeSet<String>> {
        (!self.has_old_rows).then_some(&self.metrics)
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// The store that holds a row.
    pub fn store_of(&self, entry: &Entry) -> &Path {
        self.segments[entry.segment as usize].store.root()
    }

    /// The machine that wrote a row, by the name of its segment; a packed one does not tell.
    pub fn host_of(&self, entry: &Entry) -> Option<&str> {
        let name = self.segments[entry.segment as usize].file.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        // Seconds, host, process, random number; a host may have the same sign in its name.
        let mut parts = name.split_once('-')?.1.rsplitn(3, '-');
        (parts.next().is_some() && parts.next().is_some()).then(|| parts.next())?
    }

    /// Where a run lies, if it was carried out.
    pub fn find(&self, id: &str) -> Option<&Entry> {
        let id = u128::from_str_radix(id, 16).ok()?;
        let place = self.entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
        Some(&self.entries[place])
    }

    /// Whether a run was carried out.
    pub fn has(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    /// The JSON of a row as it was written.
    pub fn text(&self, entry: &Entry) -> Result<Vec<u8>> {
        let segment = &self.segments[entry.segment as usize];
        let read = || {
            let from = match segment.text.get() {
                Some(from) => from,
                None => {
                    let opened = segment.unpacked()?;
                    segment.text.get_or_init(|| opened)
                }
            };
            let mut bytes = vec![0; entry.len as usize];
            read_at(from, &mut bytes, entry.offset)?;
            Ok(bytes)
        };
        read().map_err(Error::file("cannot read the segment", &segment.file))
    }

    /// A row.
    pub fn row(&self, entry: &Entry) -> Result<Row> {
        serde_json::from_slice(&self.text(entry)?).and_then(Row::from_json).map_err(|error| {
            let file = self.segments[entry.segment as usize].file.display();
            Error::Unsound(format!("{file}, run {}: {error}", entry.id()))
        })
    }

    /// Makes something of every row on all cores, and hands it over in the order of identity, many rows at a time.
    pub fn in_order(
        &self,
        make: impl Fn(&Entry) -> Result<Vec<u8>> + Sync,
        take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.each(&self.entries, make, take)
    }

    /// The same for some rows, in the order in which they are given.
    pub fn each(
        &self,
        entries: &[Entry],
        make: impl Fn(&Entry) -> Result<Vec<u8>> + Sync,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let all =
            &|entries: &[Entry]| entries.iter().map(&make).collect::<Result<Vec<_>>>().map(|parts| parts.concat());
        for batch in entries.chunks(threads * BATCH) {
            let (first, rest) = batch.split_at(batch.len().min(BATCH));
            std::thread::scope(|scope| {
                let start = |part| std::thread::Builder::new().spawn_scoped(scope, move || all(part)).map_err(|_| part);
                let others: Vec<_> = rest.chunks(BATCH).map(start).collect();
                take(&all(first)?)?;
                others.into_iter().try_for_each(|other| match other {
                    Ok(thread) => take(&thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?),
                    // Where no thread can be had, this one does the work.
                    Err(part) => take(&all(part)?),
                })
            })?;
        }
        Ok(())
    }

    /// Some rows, and who made them.
    pub fn contents<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> Result<Contents> {
        let mut contents = Contents { sessions: self.sessions.clone(), ..Contents::default() };
        for id in ids {
            if let Some(entry) = self.find(id).filter(|_| !contents.rows.contains_key(id)) {
                contents.rows.insert(id.into(), self.row(entry)?);
                contents.session_of.insert(id.into(), entry.session());
            }
        }
        contents.failed = self.failed()?.into_iter().map(|row| (row.id.clone(), row)).collect();
        Ok(contents)
    }

    /// All rows, and who made them.
    pub fn everything(&self) -> Result<Contents> {
        let ids: Vec<String> = self.entries.iter().map(Entry::id).collect();
        self.contents(ids.iter().map(String::as_str))
    }

    /// Runs that could not be carried out, and have not been since.
    pub fn failed(&self) -> Result<Vec<Row>> {
        self.failed.iter().map(|entry| self.row(entry)).collect()
    }

    /// What to do about what is wrong, if anything is.
    pub fn repair(&self) -> Option<String> {
        if self.problems.is_empty() {
            return None;
        }
        let shown = |path: &Path| files::quoted(&path.display().to_string());
        // The rows that are wrong; where there are none, lines that cannot be read are all there is.
        let wrong: BTreeSet<&str> = self.problems.iter().filter_map(Problem::run).collect();
        if wrong.is_empty() {
            let unreadable = self.problems.iter().find_map(|problem| match problem {
                Problem::Unreadable { segment, .. } => segment.parent()?.parent(),
                _ => None,
            });
            let store = unreadable.unwrap_or(Path::new("STORE"));
            let repaired = format!("{}-repaired", store.display());
            return Some(format!(
                "nalm store pack {} --into {} --leave-out-damaged makes a store of all rows that can be read, and nalm run does the others again",
                shown(store),
                files::quoted(&repaired)
            ));
        }
        let found = wrong.iter().filter_map(|id| self.find(id)).chain(&self.rivals);
        let places: BTreeSet<u32> = found.map(|entry| entry.segment).collect();
        let names: Vec<String> = places.iter().map(|place| shown(&self.segments[*place as usize].file)).collect();
        let more = names.len().saturating_sub(MOST_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = names[..names.len().min(MOST_SHOWN)].join(", ");
        Some(format!(
            "these rows lie in {names}{more}: move what is wrong out of its folder, and nalm run does those runs again"
        ))
    }

    /// Refuses to go on if anything is wrong.
    pub fn ensure_sound(&self) -> Result<()> {
        self.refuse(&self.problems)
    }

    /// The same, but for lines that cannot be read.
    pub(super) fn ensure_rows_sound(&self) -> Result<()> {
        let rows = self.problems.iter().filter(|problem| !matches!(problem, Problem::Unreadable { .. }));
        self.refuse(&rows.cloned().collect::<Vec<_>>())
    }

    fn refuse(&self, problems: &[Problem]) -> Result<()> {
        let Some(first) = problems.first() else { return Ok(()) };
        let more = problems.len() - 1;
        let more = if more > 0 { format!("; and {more} more, which nalm store check lists") } else { String::new() };
        Err(Error::Unsound(format!("{first}{more}; {}", self.repair().unwrap_or_default())))
    }
}

/// Reads at a place, whatever other threads read meanwhile.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Reads at a place, one thread after the other.
#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

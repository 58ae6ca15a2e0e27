//! One segment, line by line.

use super::line::{self, Head};
use super::{Problem, SCHEMA, Session};
use crate::error::{Error, Result};
use crate::files::Files;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// No row of ours comes near this; a file without line ends must not fill the memory.
const LONGEST: u64 = 64 << 20;

/// More lines of a segment that cannot be read are not named one by one.
const MOST_NAMED: usize = 1_000;

/// Where a row lies.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(super) id: u128,
    /// Where its JSON begins in the segment, unpacked, and how long it is.
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) sum: u32,
    pub(super) segment: u32,
    pub(super) session: u32,
    pub(super) is_failed: bool,
}

impl Entry {
    /// The run's identity.
    pub fn id(&self) -> String {
        format!("{:032x}", self.id)
    }

    /// The place of the process that wrote it in [`super::Index::sessions`].
    pub fn session(&self) -> usize {
        self.session as usize
    }
}

/// What segments hold, one after the other.
#[derive(Default)]
pub(super) struct Scanned {
    pub(super) entries: Vec<Entry>,
    pub(super) sessions: Vec<Session>,
    pub(super) problems: Vec<Problem>,
    /// Lines at the ends of unsealed segments.
    pub(super) torn: usize,
    /// Lines elsewhere that cannot be read.
    pub(super) lost: usize,
    /// The names of all metrics of rows in today's form.
    pub(super) metrics: BTreeSet<String>,
    /// Whether there are rows of earlier versions.
    pub(super) has_old_rows: bool,
    /// The metrics of the last row, which are mostly those of the next.
    last_metrics: Vec<String>,
}

/// Whether a segment is compressed.
pub(super) fn is_packed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "gz")
}

/// The text of a segment. A compressed one may have several members, one after the other.
pub(super) fn open(files: &dyn Files, file: &Path) -> Result<Box<dyn BufRead>> {
    let plain = files.open(file).map_err(Error::file("cannot read the segment", file))?;
    let plain = BufReader::with_capacity(1 << 16, plain);
    Ok(match is_packed(file) {
        true => Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(plain))),
        false => Box::new(plain),
    })
}

impl Scanned {
    /// Reads a segment.
    ///
    /// Only the end of a segment that was never sealed may be torn, because that is what a killed process leaves. Anything else that cannot
    /// be read is a problem.
    pub(super) fn read(&mut self, files: &dyn Files, file: &Path, segment: u32) -> Result<()> {
        let mut text = open(files, file)?;
        let packed = is_packed(file);
        let (mut buffer, mut offset, mut number) = (Vec::new(), 0, 0);
        // Whether it is known who wrote what comes next: there was a header, and nothing since that may have been the end of its rows.
        let mut started = false;
        // Rows since the last header, and whether the last line that could be read was a footer.
        let (mut rows, mut sealed) = (0, false);
        // Lines that nothing was made of.
        let mut lost = 0;
        // Whether it does not begin as every segment does.
        let mut is_foreign = false;
        // Lines that cannot be read and may still be the torn end: how many, and the first of them.
        let (mut torn_lines, mut torn): (usize, Vec<(usize, String)>) = (0, Vec::new());
        loop {
            buffer.clear();
            match text.by_ref().take(LONGEST).read_until(b'\n', &mut buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if packed && is_damage(&error) => {
                    lost += 1;
                    self.unreadable(file, number + 1, format!("its end cannot be unpacked: {error}"));
                    break;
                }
                Err(error) => return Err(Error::file("cannot read the segment", file)(error)),
            }
            number += 1;
            let start = offset;
            offset += buffer.len() as u64;
            let read = match line::parse(&buffer) {
                None => Err("the checksum does not fit".to_string()),
                Some((json, sum)) => {
                    serde_json::from_slice::<Head<'_>>(json).map(|head| (json, sum, head)).map_err(|e| e.to_string())
                }
            };
            // What cannot be read may have been the header of other rows.
            started &= read.is_ok() || is_surely_row(&buffer);
            lost += usize::from(read.is_err());
            let (json, sum, head) = match read {
                Ok(read) => read,
                // A file that somebody put there is no segment that is torn.
                Err(_) if number == 1 && !is_torn_header(&buffer) => {
                    is_foreign = true;
                    self.unreadable(file, number, "it is no header of a segment".into());
                    continue;
                }
                Err(why) if sealed || packed || is_foreign => {
                    self.unreadable(file, number, why);
                    continue;
                }
                Err(why) => {
                    torn_lines += 1;
                    if torn.len() < MOST_NAMED {
                        torn.push((number, why));
                    }
                    continue;
                }
            };
            // A line that can be read after some that cannot: those were not the end.
            torn.drain(..).for_each(|(line, why)| self.unreadable(file, line, why));
            torn_lines = 0;
            sealed = false;
            if let Some(schema) = head.schema {
                if schema > SCHEMA {
                    return Err(Error::Newer { file: file.into(), schema, version: head.version.into_owned() });
                }
                match serde_json::from_slice(json) {
                    Ok(session) => {
                        self.sessions.push(session);
                        started = true;
                    }
                    Err(error) => {
                        self.unreadable(file, number, error.to_string());
                        (started, lost) = (false, lost + 1);
                    }
                }
                rows = 0;
            } else if head.sealed.is_some() {
                sealed = !packed;
                let footer: Session = serde_json::from_slice(json).unwrap_or_default();
                if let Some(session) = self.sessions.last_mut().filter(|_| started) {
                    (session.seconds, session.cpu_seconds) = (footer.seconds, footer.cpu_seconds);
                }
                if let Some(told) = head.rows.filter(|told| *told != rows) {
                    let why = format!("the footer tells of {told} rows; {rows} are there");
                    self.unreadable(file, number, why);
                }
                // Whoever wrote what follows says so in a header of their own.
                (started, rows) = (false, 0);
            } else if let (Some(id), "completed" | "diverged" | "failed") = (head.number(), &*head.status) {
                rows += 1;
                if !started {
                    self.sessions.push(Session::default());
                    started = true;
                }
                match &head.metrics {
                    Some(names) if names.0.iter().eq(self.last_metrics.iter()) => {}
                    Some(names) => {
                        self.last_metrics = names.0.iter().map(|name| name.to_string()).collect();
                        self.metrics.extend(self.last_metrics.iter().cloned());
                    }
                    None => self.has_old_rows = true,
                }
                let (session, is_failed) = (self.sessions.len() as u32 - 1, head.status == "failed");
                let len = json.len() as u32;
                self.entries.push(Entry { id, offset: start, len, sum, segment, session, is_failed });
            } else {
                lost += 1;
                let why =
                    format!("it has the identity '{}' and the status '{}', which no row has", head.id, head.status);
                self.unreadable(file, number, why);
            }
        }
        self.torn += torn_lines;
        self.lost += lost - torn_lines;
        Ok(())
    }

    fn unreadable(&mut self, segment: &Path, line: usize, why: String) {
        // A file of nothing but noise must not fill the memory with complaints.
        if self.problems.len() < MOST_NAMED {
            self.problems.push(Problem::Unreadable { segment: segment.into(), line: Some(line), why });
        }
    }
}

/// Whether an error is about the bytes of a compressed segment, and not about reading them: only the former stays as it is.
pub(super) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput)
}

/// Whether a line that cannot be read was a row and nothing else; without its end, it may have taken a header along.
fn is_surely_row(line: &[u8]) -> bool {
    let has = |name: &[u8]| line.windows(name.len()).any(|part| part == name);
    has(b"\"status\":") && !has(b"\"schema\":")
}

/// Whether a process can have left this as all of its segment: the beginning of a header, or nothing where a disk has lost it.
fn is_torn_header(line: &[u8]) -> bool {
    let begins = line.starts_with(b"{\"") || line == b"{";
    (begins && !line.ends_with(b"\n")) || line.iter().all(|byte| *byte == 0)
}

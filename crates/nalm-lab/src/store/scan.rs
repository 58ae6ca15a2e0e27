//! One segment, line by line.

use super::line::{self, Head};
use super::{Problem, SCHEMA, Session};
use crate::error::{Error, Result};
use crate::files::Files;
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// No row of ours comes near this; a file without line ends must not fill the memory.
const LONGEST: u64 = 64 << 20;

/// More lines of a segment that cannot be read are not named one by one.
pub(super) const MOST_NAMED: usize = 1_000;

/// A row where it lies.
pub(super) struct Found<'a> {
    pub(super) id: u128,
    pub(super) is_failed: bool,
    /// Its JSON.
    pub(super) json: &'a [u8],
    pub(super) sum: u32,
    /// Where its JSON begins in the segment, unpacked.
    pub(super) offset: u64,
    /// The names of its metrics, unless an earlier version wrote it.
    pub(super) metrics: Option<&'a [Cow<'a, str>]>,
}

/// What a scan tells.
pub(super) trait Visitor {
    /// A process begins.
    fn session(&mut self, session: Session);
    /// It ended in order, after so many seconds.
    fn sealed(&mut self, seconds: Option<f64>, cpu_seconds: Option<f64>);
    /// A row of it.
    fn row(&mut self, row: Found<'_>);
    /// Something that is wrong.
    fn problem(&mut self, problem: Problem);
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

/// Reads a segment and tells what is in it; returns how many lines its end is torn by.
///
/// Only the end of a segment that was never sealed may be torn, because that is what a killed process leaves. Anything else that cannot
/// be read is a problem.
pub(super) fn scan(files: &dyn Files, file: &Path, visitor: &mut dyn Visitor) -> Result<usize> {
    let mut text = open(files, file)?;
    let packed = is_packed(file);
    let (mut buffer, mut offset, mut number) = (Vec::new(), 0, 0);
    // Rows since the last header, and whether the last line that could be read was a footer.
    let (mut rows, mut sealed) = (0, false);
    // Whether it does not begin as every segment does.
    let mut is_foreign = false;
    // Lines that cannot be read and may still be the torn end: how many, and the first of them.
    let (mut torn_lines, mut torn): (usize, Vec<(usize, String)>) = (0, Vec::new());
    let unreadable = |line: Option<usize>, why: String| Problem::Unreadable { segment: file.into(), line, why };
    loop {
        buffer.clear();
        match text.by_ref().take(LONGEST).read_until(b'\n', &mut buffer) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if packed => {
                visitor.problem(unreadable(Some(number + 1), format!("its end cannot be unpacked: {error}")));
                break;
            }
            Err(error) => return Err(Error::file("cannot read the segment", file)(error)),
        }
        number += 1;
        let start = offset;
        offset += buffer.len() as u64;
        let read = match line::parse(&buffer) {
            None => Err("the checksum does not fit".to_string()),
            // As one text, which is checked faster than its parts.
            Some((json, sum)) => str::from_utf8(json)
                .map_err(|error| error.to_string())
                .and_then(|text| serde_json::from_str::<Head<'_>>(text).map_err(|error| error.to_string()))
                .map(|head| (json, sum, head)),
        };
        let (json, sum, head) = match read {
            Ok(read) => read,
            // A file that somebody put there is no segment that is torn.
            Err(_) if number == 1 && !is_torn_header(&buffer) => {
                is_foreign = true;
                visitor.problem(unreadable(Some(number), "it is no header of a segment".into()));
                continue;
            }
            Err(why) if sealed || packed || is_foreign => {
                visitor.problem(unreadable(Some(number), why));
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
        torn.drain(..).for_each(|(line, why)| visitor.problem(unreadable(Some(line), why)));
        torn_lines = 0;
        sealed = false;
        if let Some(schema) = head.schema {
            if schema > SCHEMA {
                return Err(Error::Newer { file: file.into(), schema, version: head.version.into_owned() });
            }
            match serde_json::from_slice(json) {
                Ok(session) => visitor.session(session),
                Err(error) => visitor.problem(unreadable(Some(number), error.to_string())),
            }
            rows = 0;
        } else if head.sealed.is_some() {
            sealed = !packed;
            let footer: Session = serde_json::from_slice(json).unwrap_or_default();
            visitor.sealed(footer.seconds, footer.cpu_seconds);
            if let Some(told) = head.rows.filter(|told| *told != rows) {
                let why = format!("the footer tells of {told} rows; {rows} are there");
                visitor.problem(unreadable(Some(number), why));
            }
        } else if let (Some(id), "completed" | "diverged" | "failed") = (head.number(), &*head.status) {
            rows += 1;
            let metrics = head.metrics.as_ref().map(|names| names.0.as_slice());
            visitor.row(Found { id, is_failed: head.status == "failed", json, sum, offset: start, metrics });
        } else {
            let why = format!("it has the identity '{}' and the status '{}', which no row has", head.id, head.status);
            visitor.problem(unreadable(Some(number), why));
        }
    }
    Ok(torn_lines)
}

/// Whether a process can have left this as all of its segment: the beginning of a header, or nothing where a disk has lost it.
fn is_torn_header(line: &[u8]) -> bool {
    let begins = line.starts_with(b"{\"") || line == b"{";
    (begins && !line.ends_with(b"\n")) || line.iter().all(|byte| *byte == 0)
}

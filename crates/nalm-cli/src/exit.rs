//! With what code the program ends.
//!
//! 0 done; 1 it went wrong; 2 the request is wrong; 3 incomplete; 4 conflicting, forged or unreadable rows; 74 the disk; 75 stopped.

use crate::signal::STOPPED;
use nalm_lab::Error;
use std::io::ErrorKind;

/// Experiments lack runs: nothing went wrong, but it is not all there.
#[derive(Debug)]
pub(crate) struct Incomplete {
    /// How many.
    pub(crate) missing: usize,
    pub(crate) text: String,
}

impl std::fmt::Display for Incomplete {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Incomplete {}

/// Stopped by a signal, with what became of it.
#[derive(Debug)]
pub(crate) struct Stopped(pub(crate) String);

impl Stopped {
    /// A verb that keeps nothing of what it has done, and so cannot promise to continue.
    pub(crate) fn keeps_nothing(verb: &str, nothing: &str) -> Self {
        Self(format!("stopped; nalm {verb} keeps {nothing}, so the same command starts anew"))
    }
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Stopped {}

/// The code of an error, by its first cause that has one.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(own).unwrap_or(1)
}

fn own(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if cause.is::<Incomplete>() {
        return Some(3);
    }
    if cause.is::<Stopped>() {
        return Some(STOPPED);
    }
    if cause.is::<nalm::Error>() || cause.is::<nalm_fit::Error>() {
        return Some(2);
    }
    if let Some(error) = cause.downcast_ref::<std::io::Error>() {
        return Some(disk(error.kind()));
    }
    let error = cause.downcast_ref::<Error>()?;
    if let Some(error) = error.io() {
        return Some(disk(error.kind()));
    }
    Some(match error.root() {
        Error::Stopped => STOPPED,
        Error::Unsound(_) | Error::Newer { .. } => 4,
        _ => 2,
    })
}

/// A file that is not there is a wrong request; a reader that closed the output is no failure; the rest is the disk.
fn disk(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::BrokenPipe => 0,
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::InvalidInput => 2,
        ErrorKind::InvalidData | ErrorKind::InvalidFilename | ErrorKind::AlreadyExists => 2,
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => 1,
        _ => 74,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn every_kind_has_its_code() {
        let file = |kind: ErrorKind| Error::File { what: "x".into(), cause: kind.into() };
        let newer = Error::Newer { file: "x".into(), schema: 2, version: "9".into() };
        let at = |cause: Error| Error::At { place: "line 3".into(), cause: Box::new(cause) };
        for (error, want) in [
            (anyhow!("3 runs failed"), 1),
            (Error::Request("x".into()).into(), 2),
            (at(Error::Request("x".into())).into(), 2),
            (nalm::Error::unknown("module", "x", &[]).into(), 2),
            (at(nalm::Error::unknown("module", "x", &[]).into()).into(), 2),
            (file(ErrorKind::NotFound).into(), 2),
            (Incomplete { missing: 1, text: "x".into() }.into(), 3),
            (Error::Unsound("x".into()).into(), 4),
            (newer.into(), 4),
            (file(ErrorKind::StorageFull).into(), 74),
            (at(file(ErrorKind::PermissionDenied)).into(), 74),
            (anyhow::Error::from(std::io::Error::from(ErrorKind::ReadOnlyFilesystem)).context("writing"), 74),
            (anyhow::Error::from(std::io::Error::from(ErrorKind::BrokenPipe)), 0),
            (Error::Stopped.into(), 75),
        ] {
            assert_eq!(code(&error), want, "{error:?}");
        }
    }
}

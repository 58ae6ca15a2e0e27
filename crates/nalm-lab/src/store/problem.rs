//! What can be wrong with rows, by kind.

use std::fmt;
use std::path::PathBuf;

/// Something that is wrong with a store. A torn tail is not: it is what a killed process leaves, and its runs are done again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Something in a segment that cannot be read, and is no torn tail.
    Unreadable {
        /// The segment.
        segment: PathBuf,
        /// The line, from one on; nothing if it is about the whole file.
        line: Option<usize>,
        /// What is wrong with it.
        why: String,
    },
    /// A row that is not what it says.
    Forged {
        /// The run.
        id: String,
        /// What does not fit.
        what: String,
    },
    /// Equal runs with different results.
    Conflict {
        /// The run.
        id: String,
        /// What differs.
        what: String,
    },
    /// A file that a row speaks of is not there.
    Missing {
        /// The run.
        id: String,
        /// The file.
        file: PathBuf,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { segment, line: Some(line), why } => {
                write!(f, "unreadable: {}, line {line}: {why}", segment.display())
            }
            Problem::Unreadable { segment, line: None, why } => write!(f, "unreadable: {}: {why}", segment.display()),
            Problem::Forged { id, what } => write!(f, "forged: run {id}: {what}"),
            Problem::Conflict { id, what } => {
                write!(f, "conflict: run {id} is there twice with different results: {what}")
            }
            Problem::Missing { id, file } => write!(f, "missing: run {id} speaks of {}", file.display()),
        }
    }
}

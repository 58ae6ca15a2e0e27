//! What can be wrong with rows, by kind.

use std::path::PathBuf;

/// Something that is wrong with a store. A torn tail is not: it is what a killed process leaves, and its runs are done again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something in a segment that cannot be read, and is no torn tail.
    #[error("unreadable: {}{}: {why}", segment.display(), line.map_or(String::new(), |line| format!(", line {line}")))]
    Unreadable {
        /// The segment.
        segment: PathBuf,
        /// The line, from one on; nothing if it is about the whole file.
        line: Option<usize>,
        /// What is wrong with it.
        why: String,
    },
    /// A row that is not what it says.
    #[error("forged: run {id}: {what}")]
    Forged {
        /// The run.
        id: String,
        /// What does not fit.
        what: String,
    },
    /// Equal runs with different results.
    #[error("conflict: run {id} is there twice with different results: {what}")]
    Conflict {
        /// The run.
        id: String,
        /// What differs.
        what: String,
    },
    /// A file that a row speaks of is not there.
    #[error("missing: run {id} speaks of {}", file.display())]
    Missing {
        /// The run.
        id: String,
        /// The file.
        file: PathBuf,
    },
}

impl Problem {
    /// The run whose row is wrong; nothing if it is about lines that no row can be read from.
    pub(super) fn run(&self) -> Option<&str> {
        match self {
            Problem::Unreadable { .. } => None,
            Problem::Forged { id, .. } | Problem::Conflict { id, .. } | Problem::Missing { id, .. } => Some(id),
        }
    }
}

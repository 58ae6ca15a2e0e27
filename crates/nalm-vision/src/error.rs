//! What can go wrong with images.

use std::path::PathBuf;

/// An error of this crate. Messages name the file and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of ours is damaged, or not what it should be.
    #[error("{} cannot be used: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file is not what its name says.
    #[error("{} is not MNIST's {what}: {got}; {want} was expected", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What was found.
        got: String,
        /// What should have been.
        want: String,
    },
    /// A value outside of its domain.
    #[error("{what} is {got}; {want}")]
    Value {
        /// What it is.
        what: &'static str,
        /// The value.
        got: String,
        /// What it may be.
        want: &'static str,
    },
    /// An error of the arithmetic.
    #[error(transparent)]
    Nalm(#[from] nalm::Error),
}

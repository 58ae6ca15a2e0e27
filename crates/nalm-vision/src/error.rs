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
    /// The bytes of a checkpoint or network are damaged, or not what they should be.
    #[error("it cannot be used: {0}")]
    Tensors(String),
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
    /// The folder that was named does not hold what it should.
    #[error("the folder of --mnist or NALM_MNIST must hold the four MNIST files: {0}")]
    Folder(Box<Error>),
    /// A folder without MNIST's files.
    #[error(
        "{} lacks MNIST's file {file}{}; give the folder of the four gzipped IDX files with --mnist DIR or NALM_MNIST",
        folder.display(),
        if folder.is_dir() { "" } else { ", for there is no such folder" }
    )]
    NotThere {
        /// The folder.
        folder: PathBuf,
        /// The first file that is missing.
        file: &'static str,
    },
    /// No folder was named, and none was found.
    #[error(
        "MNIST is not here: there is no folder data/mnist in or above {}; give the folder of the four gzipped IDX files with --mnist DIR or \
         NALM_MNIST",
        looked.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" or ")
    )]
    Missing {
        /// Where the search began.
        looked: Vec<PathBuf>,
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

impl Error {
    /// The failure of a file or disk behind it, if there is one.
    pub fn io(&self) -> Option<&std::io::Error> {
        match self {
            Error::Read { source, .. } => Some(source),
            Error::Folder(cause) => cause.io(),
            _ => None,
        }
    }
}

//! What can go wrong in the laboratory, by kind, so that a front end can tell a wrong request from a full disk.

use std::path::{Path, PathBuf};

/// A failure, with what it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is wrong, and the text says what would be right.
    #[error("{0}")]
    Request(String),
    /// The mathematics refuses it.
    #[error(transparent)]
    Core(#[from] nalm::Error),
    /// An image task refuses it.
    #[cfg(feature = "images")]
    #[error(transparent)]
    Images(#[from] nalm_vision::Error),
    /// A file could not be read or written.
    #[error("{what}: {cause}")]
    File {
        /// What was tried.
        what: String,
        /// Why it did not work.
        cause: std::io::Error,
    },
    /// Rows that conflict, are forged, or cannot be read.
    #[error("{0}")]
    Unsound(String),
    /// A segment that a later version wrote.
    #[error("{} was written by nalm {version} in schema {schema}, which this version cannot read; use that one, or a later one", file.display())]
    Newer {
        /// The segment.
        file: PathBuf,
        /// The version of its form.
        schema: u32,
        /// The version of the program that wrote it.
        version: String,
    },
    /// Something that happened at a place worth naming.
    #[error("{place}: {cause}")]
    At {
        /// A file and line, a section, or a setting.
        place: String,
        /// What happened there.
        cause: Box<Error>,
    },
    /// Something that is wrong with one setting.
    #[error("{cause}")]
    Setting {
        /// Its name.
        name: String,
        /// What is wrong.
        cause: Box<Error>,
    },
    /// The caller's cancel flag was set; what is done is kept.
    #[error("stopped; all finished runs are kept, and the same command continues")]
    Stopped,
}

/// A result of the laboratory.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The failure itself, without the places that it was met at.
    pub fn root(&self) -> &Error {
        match self {
            Error::At { cause, .. } | Error::Setting { cause, .. } => cause.root(),
            other => other,
        }
    }

    /// The setting that it is about, if it is about one.
    pub fn setting(&self) -> Option<&str> {
        match self {
            Error::Setting { name, .. } => Some(name),
            Error::At { cause, .. } => cause.setting(),
            _ => None,
        }
    }

    /// The failure of a file or disk behind it, if there is one.
    pub fn io(&self) -> Option<&std::io::Error> {
        match self.root() {
            Error::File { cause, .. } => Some(cause),
            #[cfg(feature = "images")]
            Error::Images(error) => error.io(),
            _ => None,
        }
    }

    /// A failed access to a file.
    pub fn file(doing: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let what = format!("{doing} {}", path.display());
        move |cause| Error::File { what, cause }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => Error::File { what: "cannot write JSON".into(), cause: kind.into() },
            None => Error::Request(error.to_string()),
        }
    }
}

/// Says where an error happened.
pub(crate) trait Context<T>: Sized {
    fn at(self, place: impl FnOnce() -> String) -> Result<T>;
    /// Says which setting it is about.
    fn about(self, setting: &str) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn at(self, place: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::At { place: place(), cause: Box::new(error.into()) })
    }

    fn about(self, setting: &str) -> Result<T> {
        self.map_err(|error| Error::Setting { name: setting.into(), cause: Box::new(error.into()) })
    }
}

/// Returns a wrong request.
macro_rules! bail {
    ($($text:tt)*) => {
        return Err($crate::error::Error::Request(format!($($text)*)))
    };
}

/// Returns a wrong request unless something holds.
macro_rules! ensure {
    ($ok:expr, $($text:tt)*) => {
        if !$ok {
            $crate::error::bail!($($text)*);
        }
    };
}

pub(crate) use {bail, ensure};

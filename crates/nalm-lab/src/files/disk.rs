//! The disk as it is.

use super::{Files, Output};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempPath;

/// What the names of files end with that are being written beside those that they will replace.
pub(crate) const PART: &str = ".part";

/// A part this old belongs to a process that was killed.
const STALE: Duration = Duration::from_secs(3_600);

/// The real thing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        fs::create_dir_all(folder(path))?;
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        sync_folder(folder(path))?;
        Ok(Box::new(Written { file, path: path.into(), part: None, written: 0 }))
    }

    fn beside(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        fs::create_dir_all(folder(path))?;
        let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
        remove_stale(folder(path), &prefix);
        // Opened as any new file: the umask decides on its permissions, and errors do not speak of a name that nobody gave.
        let open = |part: &Path| OpenOptions::new().write(true).create_new(true).open(part);
        let made = tempfile::Builder::new().prefix(&prefix).suffix(PART).make_in(folder(path), open);
        let (file, part) = made?.into_parts();
        if let Ok(old) = path.metadata() {
            file.set_permissions(old.permissions())?;
        }
        Ok(Box::new(Written { file, path: path.into(), part: Some(part), written: 0 }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new name is on the disk only when its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere, folders cannot be opened.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes what killed processes left; if that does not work, it is in nobody's way.
fn remove_stale(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if name.starts_with(prefix) && name.ends_with(PART) && age().is_some_and(|age| age > STALE) {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// A file that is being written.
struct Written {
    file: File,
    path: PathBuf,
    /// Its own name, if it waits beside the file that it will replace.
    part: Option<TempPath>,
    written: u64,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Output for Written {
    fn sync(&mut self) -> io::Result<()> {
        if self.part.is_some() { self.file.sync_all() } else { self.file.sync_data() }
    }

    fn is_whole(&self) -> io::Result<bool> {
        let (there, own) = match fs::metadata(self.part.as_deref().unwrap_or(&self.path)) {
            Ok(there) => (there, self.file.metadata()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        #[cfg(unix)]
        let same = {
            use std::os::unix::fs::MetadataExt;
            (there.dev(), there.ino()) == (own.dev(), own.ino())
        };
        #[cfg(not(unix))]
        let same = true;
        Ok(same && there.len() == self.written && own.len() == self.written)
    }

    fn persist(mut self: Box<Self>) -> io::Result<()> {
        let Some(part) = self.part.take() else { return self.sync() };
        part.persist(&self.path).map_err(|error| error.error)?;
        sync_folder(folder(&self.path))
    }
}

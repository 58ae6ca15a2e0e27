//! The one way to the disk. Everything that the laboratory writes goes through [`Files`], so that a test can let any call of it fail.

mod disk;
#[cfg(feature = "faults")]
pub mod faulty;

pub use disk::Disk;

use crate::error::{Error, Result};
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Calls that can fail: each of them is one that a fault may hit.
pub trait Files: Debug + Send + Sync {
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<File>;
    /// Makes a file, and its folder; it must not be there yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>>;
    /// Makes a file beside `path` with a name of its own, which takes the place of `path` when it is [persisted](Output::persist).
    fn beside(&self, path: &Path) -> io::Result<Box<dyn Output>>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// A file that is being written.
pub trait Output: Write + Send {
    /// Puts what was written on the disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Whether the file still is what its name stands for, with everything that was written.
    fn is_whole(&self) -> io::Result<bool>;
    /// Puts the file in its place, on the disk, as a whole.
    fn persist(self: Box<Self>) -> io::Result<()>;
}

/// The bytes of a file.
pub fn read(files: &dyn Files, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A pipe in the place of a file would never end.
    if path.metadata().is_ok_and(|about| !about.is_file()) {
        return Err(Error::file("cannot read", path)(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")));
    }
    let mut read = || files.open(path)?.read_to_end(&mut bytes);
    read().map_err(Error::file("cannot read", path))?;
    Ok(bytes)
}

/// Whether two paths lead to one file that is there.
pub fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Writes a file: whoever looks at it sees the old one or the new one, whatever happens meanwhile.
pub fn replace(files: &dyn Files, path: &Path, bytes: &[u8]) -> Result<()> {
    write(files, path, |out| out.write_all(bytes))
}

/// The same for what is too large to be kept in memory.
pub fn write(files: &dyn Files, path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let wrong = || Error::file("cannot write", path);
    // Pipes and devices cannot be replaced.
    if path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let mut out = io::BufWriter::new(File::options().write(true).open(path).map_err(wrong())?);
        return fill(&mut out).and_then(|()| out.flush()).map_err(wrong());
    }
    let path = target(path);
    let mut out = io::BufWriter::with_capacity(1 << 16, files.beside(&path).map_err(wrong())?);
    fill(&mut out).map_err(wrong())?;
    let mut out = out.into_inner().map_err(|error| wrong()(error.into_error()))?;
    out.sync().map_err(wrong())?;
    out.persist().map_err(wrong())
}

/// The file that a link leads to: it is replaced, and the link stays.
fn target(path: &Path) -> PathBuf {
    match path.is_symlink() {
        true => path.canonicalize().unwrap_or_else(|_| path.to_path_buf()),
        false => path.to_path_buf(),
    }
}

/// An argument as a shell reads it, whatever is in it.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/text");
        replace(&Disk, &path, b"old").unwrap();
        replace(&Disk, &path, b"new").unwrap();
        assert_eq!(read(&Disk, &path).unwrap(), b"new");
        let half = write(&Disk, &path, |out| {
            out.write_all(b"half of it")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(half.unwrap_err().io().unwrap().kind(), io::ErrorKind::StorageFull);
        assert_eq!(
            (read(&Disk, &path).unwrap(), names(path.parent().unwrap())),
            (b"new".to_vec(), vec!["text".into()])
        );
    }

    /// Notes what is done to a file; on a real disk, only a power cut would show the order.
    #[derive(Clone, Debug, Default)]
    struct Noted(std::sync::Arc<std::sync::Mutex<Vec<&'static str>>>);

    impl Noted {
        fn note(&self, what: &'static str) {
            self.0.lock().unwrap().push(what);
        }
    }

    impl Files for Noted {
        fn open(&self, path: &Path) -> io::Result<File> {
            Disk.open(path)
        }
        fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
            Disk.create(path)
        }
        fn beside(&self, path: &Path) -> io::Result<Box<dyn Output>> {
            self.note("beside");
            Ok(Box::new(NotedOutput(Disk.beside(path)?, self.clone())))
        }
        fn remove(&self, path: &Path) -> io::Result<()> {
            Disk.remove(path)
        }
    }

    struct NotedOutput(Box<dyn Output>, Noted);

    impl Write for NotedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.note("write");
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }

    impl Output for NotedOutput {
        fn sync(&mut self) -> io::Result<()> {
            self.1.note("sync");
            self.0.sync()
        }
        fn is_whole(&self) -> io::Result<bool> {
            self.0.is_whole()
        }
        fn persist(self: Box<Self>) -> io::Result<()> {
            self.1.note("persist");
            self.0.persist()
        }
    }

    /// A file has its name only when its bytes are on the disk; small pieces are not written one by one.
    #[test]
    fn bytes_are_on_the_disk_before_the_name_is() {
        let folder = tempfile::tempdir().unwrap();
        let noted = Noted::default();
        write(&noted, &folder.path().join("text"), |out| (0..1_000).try_for_each(|_| out.write_all(b"piece ")))
            .unwrap();
        assert_eq!(*noted.0.lock().unwrap(), ["beside", "write", "sync", "persist"]);
    }

    /// Two processes that write the same file do not write into one another.
    #[test]
    fn two_at_once_do_not_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let [mut first, mut second] = [(); 2].map(|()| Disk.beside(&path).unwrap());
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        first.persist().unwrap();
        assert_eq!(read(&Disk, &path).unwrap(), b"first");
        second.persist().unwrap();
        assert_eq!((read(&Disk, &path).unwrap(), names(folder.path())), (b"second".to_vec(), vec!["text".into()]));
    }

    /// A process that is killed leaves its file; the next one that writes the same removes it, unless it may still be at work.
    #[test]
    fn what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let (old, fresh, other) = (".text.aaaaaa.part", ".text.bbbbbb.part", ".other.cccccc.part");
        for name in [old, fresh, other] {
            std::fs::write(folder.path().join(name), b"half").unwrap();
        }
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
        for name in [old, other] {
            File::options().write(true).open(folder.path().join(name)).unwrap().set_modified(long_ago).unwrap();
        }
        replace(&Disk, &path, b"new").unwrap();
        assert_eq!(names(folder.path()), [other, fresh, "text"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_the_old_file_and_links_stay_links() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("text"), folder.path().join("link"));
        replace(&Disk, &path, b"old").unwrap();
        let plain = folder.path().join("plain");
        File::create(&plain).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), mode(&plain), "as the umask has them");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&Disk, &link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!((mode(&path), read(&Disk, &path).unwrap()), (0o640, b"new".to_vec()));
    }

    /// Nobody gave the name that a file has while it is written.
    #[test]
    fn errors_name_the_file_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(&Disk, &folder.path().join("x".repeat(300)), b"new").unwrap_err().to_string();
        assert!(error.starts_with("cannot write ") && !error.contains(disk::PART), "{error}");
    }

    #[test]
    fn a_file_that_was_cut_or_removed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut out = Disk.create(&path).unwrap();
        out.write_all(b"one row").unwrap();
        assert!(out.is_whole().unwrap());
        File::options().write(true).open(&path).unwrap().set_len(3).unwrap();
        assert!(!out.is_whole().unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!out.is_whole().unwrap());
        let mut out = Disk.create(&path).unwrap();
        out.write_all(b"one row").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, b"one row").unwrap();
        assert!(cfg!(not(unix)) || !out.is_whole().unwrap(), "another file of the same name and length");
    }
}

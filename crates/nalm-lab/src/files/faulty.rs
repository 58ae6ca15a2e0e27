//! A disk that fails when it is told to: the nth call returns an error, writes only a part, or is the last of the process.

use super::{Disk, Files, Output};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What happens at the chosen call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, and those after it work again.
    Once,
    /// It fails, and so do all after it, as on a full disk.
    Full,
    /// A write takes half of its bytes and then fails; any other call fails.
    Short,
    /// The process ends on the spot.
    Kill,
}

/// Everything works but the nth call.
#[derive(Clone, Debug)]
pub struct Faulty {
    fault: Fault,
    nth: u64,
    calls: Arc<AtomicU64>,
}

impl Faulty {
    /// Calls are counted from 1.
    pub fn new(fault: Fault, nth: u64) -> Self {
        Self { fault, nth, calls: Arc::default() }
    }

    /// From a text such as `kill:17`.
    pub fn parse(text: &str) -> Option<Self> {
        let (fault, nth) = text.split_once(':')?;
        let fault = match fault {
            "once" => Fault::Once,
            "full" => Fault::Full,
            "short" => Fault::Short,
            "kill" => Fault::Kill,
            _ => return None,
        };
        Some(Self::new(fault, nth.parse().ok()?))
    }

    /// Whether there were as many calls.
    pub fn is_reached(&self) -> bool {
        self.calls.load(Relaxed) >= self.nth
    }

    /// Counts a call, and fails if it is the one.
    fn call(&self) -> io::Result<()> {
        let now = self.calls.fetch_add(1, Relaxed) + 1;
        let hit = now == self.nth || (now > self.nth && self.fault == Fault::Full);
        match self.fault {
            _ if !hit => Ok(()),
            Fault::Kill => std::process::abort(),
            Fault::Full => Err(io::ErrorKind::StorageFull.into()),
            Fault::Once | Fault::Short => Err(io::Error::other("an injected fault")),
        }
    }

    fn wrap(&self, output: io::Result<Box<dyn Output>>) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(FaultyOutput { output: output?, faulty: self.clone() }))
    }
}

impl Files for Faulty {
    fn open(&self, path: &Path) -> io::Result<File> {
        self.call()?;
        Disk.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        self.call()?;
        self.wrap(Disk.create(path))
    }

    fn beside(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        self.call()?;
        self.wrap(Disk.beside(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        Disk.remove(path)
    }
}

struct FaultyOutput {
    output: Box<dyn Output>,
    faulty: Faulty,
}

impl Write for FaultyOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.faulty.call() {
            if self.faulty.fault == Fault::Short {
                self.output.write_all(&bytes[..bytes.len() / 2])?;
            }
            return Err(error);
        }
        self.output.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl Output for FaultyOutput {
    fn sync(&mut self) -> io::Result<()> {
        self.faulty.call()?;
        self.output.sync()
    }

    fn is_whole(&self) -> io::Result<bool> {
        self.output.is_whole()
    }

    fn persist(self: Box<Self>) -> io::Result<()> {
        self.faulty.call()?;
        self.output.persist()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_stays_full_and_other_faults_pass() {
        let calls = |fault, nth| {
            let faulty = Faulty::new(fault, nth);
            let failed = (1..=5).filter(|_| faulty.call().is_err()).collect::<Vec<_>>();
            (failed, faulty.is_reached())
        };
        assert_eq!(calls(Fault::Full, 3), (vec![3, 4, 5], true));
        assert_eq!(calls(Fault::Once, 3), (vec![3], true));
        assert_eq!(calls(Fault::Short, 5), (vec![5], true));
        assert_eq!(calls(Fault::Full, 6), (vec![], false));
    }
}

//! What one process writes: a header, a line per run, a footer.

use super::{Session, format_line, without_folders};
use crate::images::ImageRow;
use crate::machine;
use crate::row::Row;
use crate::tensors::Tensors;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a finished row may wait for the disk.
const SYNC_EVERY: Duration = Duration::from_millis(250);

/// The segment of this process.
#[derive(Debug)]
pub(crate) struct Segment {
    store: PathBuf,
    file: File,
    path: PathBuf,
    unsynced: usize,
    started: Instant,
    last_sync: Instant,
    rows: usize,
}

impl Segment {
    /// Starts a segment.
    pub(crate) fn create(store: &Path) -> Result<Self> {
        let folder = store.join("seg");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the store {}", folder.display()))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "host".into());
        let host: String = host.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let random = RandomState::new().build_hasher().finish();
        let path = folder.join(format!("{now}-{host}-{}-{random:016x}.jsonl", std::process::id()));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(&path);
        let file = file.with_context(|| format!("cannot write to the store: {}", path.display()))?;
        let mut segment = Self {
            store: store.to_path_buf(),
            file,
            path,
            unsynced: 0,
            started: Instant::now(),
            last_sync: Instant::now(),
            rows: 0,
        };
        let session = Session {
            schema: 1,
            version: env!("CARGO_PKG_VERSION").into(),
            revision: env!("NALM_REVISION").into(),
            numerics: nalm::NUMERICS,
            path: nalm::InstructionSet::best().name().into(),
            machine: machine::describe(),
            started: now,
            arguments: std::env::args().skip(1).map(|argument| without_folders(&argument)).collect(),
            ..Session::default()
        };
        segment.write(&serde_json::to_value(session)?)?;
        Ok(segment)
    }

    /// Its file.
    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a row; it is on the disk a quarter of a second later at the latest, given further calls.
    pub(crate) fn append(&mut self, row: &Row, tensors: Option<&Tensors>) -> Result<()> {
        // First the file that the row speaks of.
        if let Some(tensors) = tensors {
            tensors.save(&self.store, &row.id)?;
        }
        self.write(&serde_json::to_value(row)?)?;
        self.rows += 1;
        self.sync_if_due()
    }

    /// Appends the row of a run with images.
    pub(crate) fn append_image(&mut self, row: &ImageRow) -> Result<()> {
        self.write(&serde_json::to_value(row)?)?;
        self.rows += 1;
        self.sync()
    }

    fn write(&mut self, value: &Value) -> Result<()> {
        let line = format_line(value);
        // One call, so that another process never sees the middle of a line without its end being on the way.
        self.file.write_all(line.as_bytes()).with_context(|| {
            format!("cannot write to {}; finished runs are kept, make room and repeat the command", self.path.display())
        })?;
        self.unsynced += 1;
        Ok(())
    }

    /// Puts waiting rows on the disk if they have waited long enough.
    pub(crate) fn sync_if_due(&mut self) -> Result<()> {
        if self.unsynced > 0 && self.last_sync.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().with_context(|| format!("cannot sync {}", self.path.display()))?;
        (self.unsynced, self.last_sync) = (0, Instant::now());
        Ok(())
    }

    /// Writes the footer and puts everything on the disk. A segment without footer is one whose process was killed.
    pub(crate) fn seal(mut self) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        self.write(
            &json!({"sealed": true, "rows": self.rows, "seconds": seconds, "cpu_seconds": machine::cpu_seconds()}),
        )?;
        self.sync()
    }
}

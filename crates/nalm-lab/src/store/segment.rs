//! What one process writes: a header, a line per run, a footer.

use super::session::without_folders;
use super::{SCHEMA, Session, Store, line, machine, tensors};
use crate::error::{Error, Result, ensure};
use crate::files::Output;
use crate::task::Finished;
use serde_json::{Value, json};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a finished row may wait for the disk.
const SYNC_EVERY: Duration = Duration::from_millis(250);

/// The segment of this process.
pub struct Segment {
    store: Store,
    out: Box<dyn Output>,
    path: PathBuf,
    unsynced: usize,
    started: Instant,
    last_sync: Instant,
    rows: usize,
    /// Set by a write that failed: what follows a torn line could not be told from damage.
    is_broken: bool,
}

impl Segment {
    /// Starts a segment; `arguments` say what was asked for.
    pub fn create(store: &Store, arguments: &[String]) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let host: String =
            machine::host().trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let random = RandomState::new().build_hasher().finish();
        let name = format!("{now}-{host}-{}-{random:016x}.jsonl", std::process::id());
        let path = store.root().join("seg").join(name);
        let out = store.files().create(&path).map_err(Error::file("cannot write to the store:", &path))?;
        let (started, store) = (Instant::now(), store.clone());
        let mut segment =
            Self { store, out, path, unsynced: 0, started, last_sync: started, rows: 0, is_broken: false };
        let session = Session {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            revision: env!("NALM_REVISION").into(),
            numerics: nalm::NUMERICS,
            instructions: nalm::InstructionSet::best().name().into(),
            machine: machine::describe(),
            started: now,
            arguments: arguments.iter().map(|argument| without_folders(argument)).collect(),
            ..Session::default()
        };
        segment.write(&serde_json::to_value(session)?)?;
        Ok(segment)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes what [`crate::pool::carry_out`] hands over: a row, which is on the disk a quarter of a second later at the latest, given further
    /// calls; or nothing, which is the time to put waiting rows there.
    pub fn keep(&mut self, finished: Option<&Finished>) -> Result<()> {
        if let Some(Finished { row, tensors }) = finished {
            // First the file that the row speaks of.
            if let Some(tensors) = tensors {
                tensors::save(tensors, &self.store, &row.id)?;
            }
            self.write(&serde_json::to_value(row)?)?;
            self.rows += 1;
        }
        if self.unsynced > 0 && self.last_sync.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    fn write(&mut self, value: &Value) -> Result<()> {
        let path = self.path.display();
        ensure!(!self.is_broken, "{path} ends with a torn line, and nothing is written behind it");
        let line = line::format(value);
        // One call, so that another process never sees the middle of a line without its end being on the way.
        if let Err(cause) = self.out.write_all(line.as_bytes()) {
            self.is_broken = true;
            let kept = "finished runs are kept, make room and repeat the command";
            return Err(Error::File { what: format!("cannot write to {}; {kept}", self.path.display()), cause });
        }
        self.unsynced += 1;
        Ok(())
    }

    /// Puts waiting rows on the disk, and looks whether the file is still there: somebody may have tidied up.
    fn sync(&mut self) -> Result<()> {
        self.out.sync().map_err(Error::file("cannot sync", &self.path))?;
        if !self.out.is_whole().map_err(Error::file("cannot find", &self.path))? {
            self.is_broken = true;
            let cause = std::io::Error::other("somebody removed or cut it; its rows are lost, repeat the command");
            return Err(Error::File { what: format!("{} is not what was written", self.path.display()), cause });
        }
        (self.unsynced, self.last_sync) = (0, Instant::now());
        Ok(())
    }

    /// Writes the footer and puts everything on the disk. A segment without footer is one whose process was killed, or whose disk failed.
    pub fn seal(mut self) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        let cpu = machine::cpu_seconds();
        self.write(&json!({"sealed": true, "rows": self.rows, "seconds": seconds, "cpu_seconds": cpu}))?;
        self.sync()
    }
}

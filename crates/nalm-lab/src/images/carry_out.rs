//! Long runs over all cores, with checkpoints: whatever happens, at most a few minutes are lost, and no bit changes.

use super::row::ImageRow;
use super::spec::ImageSpec;
use anyhow::{Context, Result};
use nalm_vision::{Advance, Checkpoint, Mnist, Training, checkpoint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Samples whose pictures a row keeps.
const PICTURES: usize = 4;

/// Where and how often states are saved.
#[derive(Clone, Debug)]
pub(crate) struct Safety {
    pub(crate) store: PathBuf,
    pub(crate) every: Duration,
}

impl Safety {
    fn checkpoint(&self, spec: &ImageSpec) -> PathBuf {
        checkpoint_of(&self.store, spec)
    }
}

/// Where a store keeps the state of a run under way.
pub(crate) fn checkpoint_of(store: &Path, spec: &ImageSpec) -> PathBuf {
    store.join("checkpoints").join(format!("{}.safetensors", spec.id()))
}

/// How far all runs together are.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Images trained by this process.
    pub(crate) images: AtomicU64,
    /// Thousandths of estimated seconds of work done, what checkpoints saved included.
    pub(crate) work: AtomicU64,
}

/// Carries out `runs` on `threads` threads: as many runs at a time as there are threads, and several threads a run where there are fewer.
/// Once `stop` is set, the runs under way end where they are.
pub(crate) fn carry_out(
    runs: &[ImageSpec],
    mnist: &Arc<Mnist>,
    threads: usize,
    safety: &Safety,
    stop: &AtomicBool,
    watched: &Watched,
    mut keep: impl FnMut(ImageRow) -> Result<()>,
    mut idle: impl FnMut() -> Result<()>,
) -> Result<()> {
    let folder = safety.store.join("checkpoints");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let (next, at_a_time) = (AtomicUsize::new(0), threads.min(runs.len()).max(1));
    std::thread::scope(|scope| {
        let (sender, rows) = mpsc::channel();
        for worker in 0..at_a_time {
            let (sender, next) = (sender.clone(), &next);
            // Threads that are left over go to the first runs.
            let own = threads / at_a_time + usize::from(worker < threads % at_a_time);
            scope.spawn(move || {
                while let Some(spec) = runs.get(next.fetch_add(1, Relaxed)) {
                    let Some(result) = carry_out_one(spec, mnist, own, safety, stop, watched) else { break };
                    if sender.send(result).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let result = (|| {
            loop {
                match rows.recv_timeout(Duration::from_millis(100)) {
                    Ok(row) => {
                        let row = row?;
                        let done = safety.checkpoint(&row.image);
                        keep(row)?;
                        // Only now: until the row is safe, the checkpoint is all there is.
                        let _ = std::fs::remove_file(done);
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
                }
                idle()?;
            }
        })();
        if result.is_err() {
            stop.store(true, Relaxed);
        }
        result
    })
}

/// The row of a run, or nothing if it was stopped. A run that fails or panics is a row; a disk that fails is an error.
fn carry_out_one(
    spec: &ImageSpec,
    mnist: &Arc<Mnist>,
    threads: usize,
    safety: &Safety,
    stop: &AtomicBool,
    watched: &Watched,
) -> Option<Result<ImageRow>> {
    let result = catch_unwind(AssertUnwindSafe(|| -> Result<Option<ImageRow>> {
        let file = safety.checkpoint(spec);
        let mut run = match resume(spec, mnist, threads, &file) {
            Ok(run) => run,
            Err(error) => return Ok(Some(ImageRow::failed(spec, format!("{error:#}")))),
        };
        train(spec, &mut *run, &file, safety, stop, watched)
    }));
    match result {
        Ok(Ok(Some(row))) => Some(Ok(row)),
        Ok(Ok(None)) => None,
        Ok(Err(error)) => Some(Err(error)),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let message = format!("panicked: {}", text.unwrap_or_else(|| "without a message".into()));
            Some(Ok(ImageRow::failed(spec, message)))
        }
    }
}

fn train(
    spec: &ImageSpec,
    run: &mut dyn Training,
    file: &Path,
    safety: &Safety,
    stop: &AtomicBool,
    watched: &Watched,
) -> Result<Option<ImageRow>> {
    let work = |epochs: u64| (1e3 * spec.cost() * epochs as f64 / spec.epochs().max(1) as f64) as u64;
    watched.work.fetch_add(work(run.epoch()), Relaxed);
    let mut saved = Instant::now();
    loop {
        match run.advance(&|| stop.load(Relaxed))? {
            Advance::Stopped => return Ok(None),
            Advance::Done => break,
            Advance::Trained => {}
        }
        watched.images.fetch_add(run.images(), Relaxed);
        watched.work.fetch_add(work(1), Relaxed);
        if saved.elapsed() >= safety.every {
            run.checkpoint().save(file, &name(spec))?;
            saved = Instant::now();
        }
    }
    let tensors = run.tensors();
    let pictures = run.pictures(PICTURES);
    save_network(&safety.store, spec, &tensors)?;
    Ok(Some(ImageRow::new(spec, run.history(), &pictures, &tensors)))
}

/// The run where its checkpoint left it, or at its start.
fn resume(spec: &ImageSpec, mnist: &Arc<Mnist>, threads: usize, file: &Path) -> Result<Box<dyn Training>> {
    let mut run = spec.build(mnist, threads)?;
    if file.exists() {
        let restored = Checkpoint::load(file, &name(spec)).and_then(|checkpoint| run.restore(&checkpoint));
        if let Err(error) = restored {
            say!("{error}; the run starts anew");
            // Whatever it took over until then is of no use.
            run = spec.build(mnist, threads)?;
        }
    }
    Ok(run)
}

/// Whose a checkpoint is. Bits depend on the instruction set, so that of another kind of machine does not count.
fn name(spec: &ImageSpec) -> String {
    format!("{} {}", spec.id(), nalm_vision::Set::best().name())
}

/// Writes the trained network as `STORE/weights/<id>.safetensors`, laid out as PyTorch has it.
fn save_network(store: &Path, spec: &ImageSpec, tensors: &[nalm_vision::Tensor]) -> Result<()> {
    let folder = store.join("weights");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let text = serde_json::to_string(spec)?;
    Ok(checkpoint::save(&folder.join(format!("{}.safetensors", spec.id())), tensors, &text)?)
}

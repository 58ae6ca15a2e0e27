//! Runs over all cores. Results depend neither on the number of threads nor on the order.

use crate::curve::Recorder;
use crate::row::Row;
use crate::runspec::RunSpec;
use crate::tensors::Tensors;
use anyhow::Result;
use nalm::{Observer, Status};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

/// Stops a run between two evaluations, and follows it where its curve is kept.
struct Watch<'a> {
    stop: &'a AtomicBool,
    recorder: Option<Recorder>,
}

impl Observer<f32> for Watch<'_> {
    fn logged(&mut self, row: &nalm::Row, params: &[f32]) -> ControlFlow<()> {
        if let Some(recorder) = &mut self.recorder {
            recorder.logged(row, params)?;
        }
        if self.stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    #[inline(always)]
    fn stepped(&mut self, step: u64, loss: f32, penalty: f32, params: &[f32]) -> ControlFlow<()> {
        match &mut self.recorder {
            Some(recorder) => recorder.stepped(step, loss, penalty, params),
            None => ControlFlow::Continue(()),
        }
    }
}

/// A run that was carried out.
pub(crate) struct Finished {
    pub(crate) row: Row,
    /// Parameters that are too many for the row.
    pub(crate) tensors: Option<Tensors>,
}

/// Carries out `runs` on `threads` threads and hands every row to `keep` as it comes, in whatever order. `idle` is called now and
/// then. Once `stop` is set, no run is started and those under way are dropped.
pub(crate) fn carry_out(
    runs: &[RunSpec],
    threads: usize,
    stop: &AtomicBool,
    mut keep: impl FnMut(Finished) -> Result<()>,
    mut idle: impl FnMut() -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, rows) = mpsc::channel();
        for _ in 0..threads.min(runs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(spec) = runs.get(next.fetch_add(1, Relaxed)) {
                    if stop.load(Relaxed) {
                        break;
                    }
                    let Some(finished) = carry_out_one(spec, stop) else { break };
                    if sender.send(finished).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let result = (|| {
            loop {
                match rows.recv_timeout(Duration::from_millis(100)) {
                    Ok(finished) => keep(finished)?,
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

/// The row of a run, or nothing if it was stopped. A run that fails or panics is a row.
fn carry_out_one(spec: &RunSpec, stop: &AtomicBool) -> Option<Finished> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut observer = Watch { stop, recorder: (spec.curve == Some(true)).then(Recorder::default) };
        let (built, outcome) = spec.execute(&mut observer)?;
        let curve = observer.recorder.map(|recorder| recorder.finish(&built.network));
        Ok::<_, anyhow::Error>((built.network, outcome, curve))
    }));
    let row = match outcome {
        Ok(Ok((_, outcome, _))) if matches!(outcome.status, Status::Cancelled { .. }) => return None,
        Ok(Ok((network, outcome, curve))) => {
            let mut row = Row::new(spec, &outcome, curve);
            let tensors = row.take_tensors(&network, &outcome.params);
            return Some(Finished { row, tensors });
        }
        Ok(Err(error)) => Row::failed(spec, format!("{error:#}")),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Row::failed(spec, format!("panicked: {}", text.unwrap_or_else(|| "without a message".into())))
        }
    };
    Some(Finished { row, tensors: None })
}

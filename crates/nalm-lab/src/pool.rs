//! Runs over all cores. Results depend neither on the number of threads nor on the order.

use crate::row::Row;
use crate::runspec::RunSpec;
use anyhow::Result;
use nalm::{Observer, Status};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

/// Stops a run between two evaluations.
struct StopWhen<'a>(&'a AtomicBool);

impl Observer<f32> for StopWhen<'_> {
    fn logged(&mut self, _: &nalm::Row, _: &[f32]) -> ControlFlow<()> {
        if self.0.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Carries out `runs` on `threads` threads and hands every row to `keep` as it comes, in whatever order. `idle` is called now and
/// then. Once `stop` is set, no run is started and those under way are dropped.
pub(crate) fn carry_out(
    runs: &[RunSpec],
    threads: usize,
    stop: &AtomicBool,
    mut keep: impl FnMut(Row) -> Result<()>,
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
                    let Some(row) = carry_out_one(spec, stop) else { break };
                    if sender.send(row).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let result = (|| {
            loop {
                match rows.recv_timeout(Duration::from_millis(100)) {
                    Ok(row) => keep(row)?,
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
fn carry_out_one(spec: &RunSpec, stop: &AtomicBool) -> Option<Row> {
    let outcome = catch_unwind(AssertUnwindSafe(|| spec.execute(&mut StopWhen(stop))));
    Some(match outcome {
        Ok(Ok((_, outcome))) if matches!(outcome.status, Status::Cancelled { .. }) => return None,
        Ok(Ok((_, outcome))) => Row::new(spec, &outcome),
        Ok(Err(error)) => Row::failed(spec, format!("{error:#}")),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Row::failed(spec, format!("panicked: {}", text.unwrap_or_else(|| "without a message".into())))
        }
    })
}

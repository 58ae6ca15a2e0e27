//! Runs over all cores. Results depend neither on the number of threads nor on the order.

use crate::curve::{Curve, Recorder};
use crate::row::Row;
use crate::runspec::RunSpec;
use crate::tensors::Tensors;
use anyhow::Result;
use nalm::{Network, Observer, Outcome, Status};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

/// Stops a run between two evaluations, follows it where its curve is kept, and keeps the parameters after some steps.
struct Watch<'a> {
    stop: &'a AtomicBool,
    recorder: Option<Recorder>,
    /// Last steps of shorter runs, ascending, and the parameters after those that were reached.
    ends: &'a [&'a RunSpec],
    kept: Vec<Vec<f32>>,
}

impl Observer<f32> for Watch<'_> {
    fn logged(&mut self, row: &nalm::LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        if let Some(recorder) = &mut self.recorder {
            recorder.logged(row, params)?;
        }
        if self.stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    #[inline(always)]
    fn stepped(&mut self, step: u64, loss: f32, penalty: f32, params: &[f32]) -> ControlFlow<()> {
        if self.ends.get(self.kept.len()).is_some_and(|end| end.steps == step) {
            self.kept.push(params.to_vec());
        }
        match &mut self.recorder {
            Some(recorder) => recorder.stepped(step, loss, penalty, params),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Runs that differ in length only are one: the longest, which on its way is each of the others. The order is that of the first.
fn jobs(runs: &[RunSpec]) -> Vec<Vec<&RunSpec>> {
    let mut places = HashMap::new();
    let mut jobs: Vec<Vec<&RunSpec>> = Vec::new();
    for run in runs {
        let place = *places.entry(RunSpec { steps: 0, ..run.clone() }.id()).or_insert(jobs.len());
        match jobs.get_mut(place) {
            // A curve thins out by the steps of its own run, and reinitialisations are counted over the whole of it.
            Some(job) if run.curve.is_none() && run.module != "inalu" => job.push(run),
            _ => jobs.push(vec![run]),
        }
    }
    jobs.iter_mut().for_each(|job| job.sort_by_key(|run| run.steps));
    jobs
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
    let (jobs, next) = (jobs(runs), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let (sender, rows) = mpsc::channel();
        for _ in 0..threads.min(jobs.len()) {
            let (sender, jobs, next) = (sender.clone(), &jobs, &next);
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
                    if stop.load(Relaxed) {
                        break;
                    }
                    let finished = carry_out_one(job, stop);
                    if finished.is_empty() || finished.into_iter().any(|finished| sender.send(finished).is_err()) {
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

/// The rows of runs that differ in length only, ascending; none if they were stopped. A run that fails or panics is a row.
fn carry_out_one(job: &[&RunSpec], stop: &AtomicBool) -> Vec<Finished> {
    let (longest, shorter) = (job[job.len() - 1], &job[..job.len() - 1]);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let recorder = (longest.curve == Some(true)).then(|| match longest.schedule {
            Some(_) => Recorder::to_the_end(),
            None => Recorder::default(),
        });
        let mut watch = Watch { stop, recorder, ends: shorter, kept: Vec::new() };
        let (built, outcome) = longest.execute(&mut watch)?;
        let mut finished = Vec::new();
        if matches!(outcome.status, Status::Cancelled { .. }) {
            return Ok(finished);
        }
        for (k, spec) in shorter.iter().enumerate() {
            // A run that diverged before ended with the parameters of that moment.
            let params = watch.kept.get(k).unwrap_or(&outcome.params).clone();
            finished.push(finish(
                spec,
                &built.network,
                &outcome.prefix(spec.steps, params, built.task.thresholds()),
                None,
            ));
        }
        let curve = watch.recorder.map(|recorder| recorder.finish(&built.network));
        finished.push(finish(longest, &built.network, &outcome, curve));
        Ok::<_, anyhow::Error>(finished)
    }));
    let message = match result {
        Ok(Ok(finished)) => return finished,
        Ok(Err(error)) => format!("{error:#}"),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            format!("panicked: {}", text.unwrap_or_else(|| "without a message".into()))
        }
    };
    job.iter().map(|spec| Finished { row: Row::failed(spec, message.clone()), tensors: None }).collect()
}

fn finish(spec: &RunSpec, network: &Network<f32>, outcome: &Outcome<f32>, curve: Option<Curve>) -> Finished {
    let mut row = Row::new(spec, outcome, curve);
    let tensors = row.take_tensors(network, &outcome.params);
    Finished { row, tensors }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runspec::tests::spec;

    /// Lengths are shared, everything else is not, and the rows are those of runs on their own.
    #[test]
    fn runs_of_several_lengths_are_one() {
        let with = |module: &str, seed, steps| RunSpec { seed, steps, ..spec(module) };
        let runs = [with("nmu", 0, 3_000), with("snmu", 1, 2_000), with("snmu", 0, 1_500), with("snmu", 1, 1_000)];
        assert_eq!(jobs(&runs).iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1]);
        let collect = |runs: &[RunSpec]| {
            let mut rows = Vec::new();
            let keep = |finished: Finished| {
                rows.push(finished.row);
                Ok(())
            };
            carry_out(runs, 2, &AtomicBool::new(false), keep, || Ok(())).unwrap();
            rows.sort_by(|a: &Row, b: &Row| a.id.cmp(&b.id));
            rows
        };
        let together = collect(&runs);
        let mut alone: Vec<Row> = runs.iter().flat_map(|run| collect(std::slice::from_ref(run))).collect();
        alone.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(together, alone);
    }
}

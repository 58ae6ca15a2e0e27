//! Runs over all cores. Results depend neither on the number of threads nor on the order.

use crate::error::{Error, Result};
use crate::files::{self, Files};
use crate::run::{Row, Spec};
use crate::task::{Advance, Catalogue, Finished, Run, Task, Watch};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What is to be carried out, and how.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The runs.
    pub runs: &'a [Spec],
    /// How many threads.
    pub threads: usize,
    /// Where long runs save their state; nowhere, if absent.
    pub checkpoints: Option<Checkpoints<'a>>,
}

/// Where and how often long runs save their state.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The way to it.
    pub files: &'a dyn Files,
    /// How often; and whenever they are stopped.
    pub every: Duration,
}

impl Checkpoints<'_> {
    /// The file with the state of a run under way.
    fn file(&self, spec: &Spec) -> PathBuf {
        self.folder.join(format!("{}.safetensors", spec.id()))
    }

    /// Removes the state of a run whose row is safe, if there is one.
    pub fn remove(&self, spec: &Spec) -> Result<()> {
        let file = self.file(spec);
        if !file.exists() {
            return Ok(());
        }
        self.files.remove(&file).map_err(Error::file("cannot remove", &file))
    }
}

impl Default for Order<'_> {
    fn default() -> Self {
        Self { runs: &[], threads: 1, checkpoints: None }
    }
}

/// Whoever asked for the runs: told how far they are, and asked whether to go on.
pub trait Client: Sync {
    /// Whether to stop: no run is started any more, and those under way end where they are.
    fn stopped(&self) -> bool;
    /// How far all runs together are; called now and then.
    fn progress(&self, _progress: Progress) {}
    /// Something worth knowing that is no error.
    fn note(&self, _text: &str) {}
}

/// How far all runs together are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Runs that ended.
    pub done: usize,
    /// Estimated seconds of work done, what checkpoints saved included.
    pub work: f64,
    /// Images trained.
    pub images: u64,
}

/// A client that never stops and says nothing.
#[derive(Debug, Default)]
pub struct Quiet {
    /// Set it to stop.
    pub stop: AtomicBool,
}

impl Client for Quiet {
    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Seconds that runs take on one core, about.
pub fn cost(catalogue: &Catalogue, runs: &[Spec]) -> f64 {
    runs.iter().filter_map(|spec| Some(catalogue.task(spec.task()).ok()?.cost(spec))).sum()
}

/// Runs that are one, of one task.
struct Job<'a> {
    task: &'a dyn Task,
    specs: Vec<&'a Spec>,
    cost: f64,
}

/// Runs that differ in length only are one: the longest. Short ones come first, in the order of the first of each; long ones, which take
/// several threads if there are few, come last.
fn jobs<'a>(catalogue: &'a Catalogue, runs: &'a [Spec]) -> Result<Vec<Job<'a>>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut jobs: Vec<Job<'a>> = Vec::new();
    for spec in runs {
        let task = &**catalogue.task(spec.task())?;
        let shared = task.shared(catalogue, spec);
        let known = shared.as_ref().and_then(|key| places.get(key).copied());
        match known {
            Some(place) => jobs[place].specs.push(spec),
            None => {
                places.extend(shared.map(|key| (key, jobs.len())));
                jobs.push(Job { task, specs: vec![spec], cost: 0.0 });
            }
        }
    }
    for job in &mut jobs {
        job.specs.sort_by_key(|spec| spec.whole("steps"));
        job.cost = job.specs.iter().map(|spec| job.task.cost(spec)).sum();
    }
    jobs.sort_by_key(|job| job.task.is_long());
    Ok(jobs)
}

/// Thousandths of estimated seconds, and images, counted by all workers.
#[derive(Default)]
struct Counted {
    work: AtomicU64,
    images: AtomicU64,
}

/// A job in the hands of a worker: what it takes, and what it tells.
struct Work<'a> {
    catalogue: &'a Catalogue,
    order: &'a Order<'a>,
    job: &'a Job<'a>,
    threads: usize,
    client: &'a dyn Client,
    /// Set when a row could not be kept.
    abort: &'a AtomicBool,
    counted: &'a Counted,
    /// What was counted of this job already.
    before: AtomicU64,
}

impl Watch for Work<'_> {
    fn stopped(&self) -> bool {
        self.abort.load(Relaxed) || self.client.stopped()
    }

    fn reached(&self, share: f64) {
        let now = (1e3 * self.job.cost * share.clamp(0.0, 1.0)) as u64;
        let before = self.before.fetch_max(now, Relaxed);
        self.counted.work.fetch_add(now.saturating_sub(before), Relaxed);
    }

    fn trained(&self, images: u64) {
        self.counted.images.fetch_add(images, Relaxed);
    }
}

/// Carries out the runs of an order and hands every row to `keep` as it comes, in whatever order, and nothing to it now and then, so that
/// rows need not wait for the next one. A run that cannot be carried out is a row, too; a disk that fails is an error.
pub fn carry_out(
    catalogue: &Catalogue,
    order: &Order<'_>,
    client: &dyn Client,
    mut keep: impl FnMut(Option<Finished>) -> Result<()>,
) -> Result<()> {
    let jobs = jobs(catalogue, order.runs)?;
    let (next, abort, counted) = (AtomicUsize::new(0), AtomicBool::new(false), Counted::default());
    let workers = order.threads.min(jobs.len()).max(1);
    let long = jobs.iter().filter(|job| job.task.is_long()).count();
    std::thread::scope(|scope| {
        let (sender, rows) = mpsc::channel();
        for worker in 0..workers {
            let (sender, jobs, next, abort, counted) = (sender.clone(), &jobs, &next, &abort, &counted);
            // Where there are fewer long runs than threads, each takes several; threads that are left over go to the first ones.
            let at_a_time = order.threads.min(long).max(1);
            let own = order.threads / at_a_time + usize::from(worker < order.threads % at_a_time);
            let work = move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
                    let before = AtomicU64::new(0);
                    let work = Work { catalogue, order, job, threads: own, client, abort, counted, before };
                    if work.stopped() {
                        break;
                    }
                    let Some(result) = work.carry_out() else { break };
                    if sender.send(result).is_err() {
                        break;
                    }
                }
            };
            match std::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => {}
                // Fewer do the same, only later.
                Err(cause) if worker > 0 => {
                    client.note(&format!("cannot start another thread ({cause}); going on with {worker}"));
                    break;
                }
                Err(cause) => return Err(Error::File { what: "cannot start a thread".into(), cause }),
            }
        }
        drop(sender);
        let mut done = 0;
        let mut collect = || {
            loop {
                match rows.recv_timeout(Duration::from_millis(100)) {
                    Ok(finished) => {
                        for one in finished? {
                            let (failed, spec) = (one.row.is_failed(), one.row.spec.clone());
                            keep(Some(one))?;
                            done += 1;
                            // Only now: until the row is safe, the checkpoint is all there is. A run that failed is tried again from it.
                            if let Some(checkpoints) = order.checkpoints.filter(|_| !failed) {
                                checkpoints.remove(&spec)?;
                            }
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => keep(None)?,
                    Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
                }
                let (work, images) = (1e-3 * counted.work.load(Relaxed) as f64, counted.images.load(Relaxed));
                client.progress(Progress { done, work, images });
            }
        };
        let result = collect();
        if result.is_err() {
            abort.store(true, Relaxed);
        }
        result
    })
}

impl Work<'_> {
    /// The rows of the job, or nothing if it was stopped.
    fn carry_out(&self) -> Option<Result<Vec<Finished>>> {
        let attempt = catch_unwind(AssertUnwindSafe(|| self.train()));
        let message = match attempt {
            Ok(Ok(Some(finished))) => {
                self.reached(1.0);
                let written = |one: Finished| Finished { row: one.row.normalised(), ..one };
                return Some(Ok(finished.into_iter().map(written).collect()));
            }
            Ok(Ok(None)) => return None,
            Ok(Err(error)) if error.io().is_some() => return Some(Err(error)),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(ToString::to_string);
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                format!("panicked: {}", text.unwrap_or_else(|| "without a message".into()))
            }
        };
        let failed = |spec: &&Spec| Finished { row: Row::failed(spec, message.clone()), tensors: None };
        Some(Ok(self.job.specs.iter().map(failed).collect()))
    }

    /// Takes a run up where its checkpoint left it, or starts it, and brings it to its end.
    fn train(&self) -> Result<Option<Vec<Finished>>> {
        let job = self.job;
        let mut run: Box<dyn Run + '_> = job.task.start(self.catalogue, &job.specs, self.threads)?;
        let state = self.order.checkpoints.filter(|_| job.task.is_long()).zip(job.specs.first());
        let state = state.map(|(to, spec)| (to, to.file(spec)));
        if let Some((to, file)) = state.as_ref().filter(|(_, file)| file.exists()) {
            let bytes = files::read(to.files, file)?;
            if let Err(error) = run.restore(&bytes) {
                self.client.note(&format!("{}: {error}; the run starts anew", file.display()));
            }
        }
        let save = |run: &dyn Run| match (&state, run.save()?) {
            (Some((to, file)), Some(bytes)) => files::replace(to.files, file, &bytes),
            _ => Ok(()),
        };
        let mut saved = Instant::now();
        loop {
            match run.advance(self)? {
                Advance::Stopped => return save(&*run).map(|()| None),
                Advance::Done(finished) => return Ok(Some(finished)),
                Advance::Further if state.as_ref().is_some_and(|(to, _)| saved.elapsed() >= to.every) => {
                    save(&*run)?;
                    saved = Instant::now();
                }
                Advance::Further => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::spec::tests::spec;

    fn collect(runs: &[Spec]) -> Vec<Row> {
        let catalogue = Catalogue::default();
        let mut rows = Vec::new();
        let keep = |finished: Option<Finished>| {
            rows.extend(finished.map(|finished| finished.row));
            Ok(())
        };
        carry_out(&catalogue, &Order { runs, threads: 2, checkpoints: None }, &Quiet::default(), keep).unwrap();
        rows.sort_by(|a: &Row, b: &Row| a.id.cmp(&b.id));
        rows
    }

    /// Lengths are shared, everything else is not, and the rows are those of runs on their own.
    #[test]
    fn runs_of_several_lengths_are_one() {
        let catalogue = Catalogue::default();
        let with = |module: &str, seed: u64, steps: u64| spec(module).with("seed", seed).with("steps", steps);
        let runs = [with("nmu", 0, 3_000), with("snmu", 1, 2_000), with("snmu", 0, 1_500), with("snmu", 1, 1_000)];
        let sizes: Vec<usize> = jobs(&catalogue, &runs).unwrap().iter().map(|job| job.specs.len()).collect();
        assert_eq!(sizes, [1, 2, 1]);
        let mut alone: Vec<Row> = runs.iter().flat_map(|run| collect(std::slice::from_ref(run))).collect();
        alone.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(collect(&runs), alone);
    }

    #[test]
    fn a_run_that_cannot_be_carried_out_is_a_row() {
        let rows = collect(&[spec("nmu").with("inputs", 1)]);
        assert_eq!((rows.len(), rows[0].status), (1, crate::run::Status::Failed));
        assert!(rows[0].reason.as_ref().unwrap().contains("inputs"), "{:?}", rows[0].reason);
    }

    #[test]
    fn nothing_is_started_once_told_to_stop() {
        let catalogue = Catalogue::default();
        let client = Quiet { stop: AtomicBool::new(true) };
        let runs = [spec("nmu")];
        let order = Order { runs: &runs, threads: 2, checkpoints: None };
        let nothing = |row: Option<Finished>| {
            assert!(row.is_none());
            Ok(())
        };
        carry_out(&catalogue, &order, &client, nothing).unwrap();
    }
}

//! Runs over all cores. Results depend neither on the number of threads nor on the order.

use crate::error::{Error, Result};
use crate::files::{self, Files};
use crate::run::{Row, Spec};
use crate::task::{Advance, Catalogue, Finished, Run, Task, Watch};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Milliseconds between two looks whether others have carried out a run that is under way.
const LOOK_EVERY: u64 = 1_000;

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
        match self.files.remove(&file) {
            // Another worker was faster.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(Error::file("cannot remove", &file)),
        }
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
    /// Whether somebody else has carried out this run meanwhile, so that it need not be started, or brought to its end.
    fn is_done(&self, _run: &Spec) -> bool {
        false
    }
    /// Something worth knowing that is no error.
    fn note(&self, _text: &str) {}
}

/// How far all runs together are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Runs that ended.
    pub done: usize,
    /// Runs that others have carried out meanwhile.
    pub elsewhere: usize,
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

/// Runs that are one: they differ in length only, and the longest is on its way each of the others.
pub(crate) struct Unit<'a> {
    /// What they have in common, as a text that nothing else has.
    pub(crate) key: String,
    task: &'a dyn Task,
    /// In the order of the plan.
    pub(crate) specs: Vec<&'a Spec>,
}

/// Puts runs that are one together, in the order of the first of each.
pub(crate) fn units<'a>(catalogue: &'a Catalogue, runs: &'a [Spec]) -> Result<Vec<Unit<'a>>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut units: Vec<Unit<'a>> = Vec::new();
    for spec in runs {
        let task = &**catalogue.task(spec.task())?;
        let shared = task.shared(catalogue, spec);
        match shared.as_ref().and_then(|key| places.get(key)) {
            Some(place) => units[*place].specs.push(spec),
            None => {
                places.extend(shared.clone().map(|key| (key, units.len())));
                units.push(Unit { key: shared.unwrap_or_else(|| spec.id()), task, specs: vec![spec] });
            }
        }
    }
    Ok(units)
}

/// A unit with its runs in ascending length, and what it costs.
struct Job<'a> {
    task: &'a dyn Task,
    specs: Vec<&'a Spec>,
    cost: f64,
}

/// Short ones come first, in the order of the plan; long ones, which take several threads if there are few, come last.
fn jobs<'a>(catalogue: &'a Catalogue, runs: &'a [Spec]) -> Result<Vec<Job<'a>>> {
    let units = units(catalogue, runs)?.into_iter();
    let mut jobs: Vec<Job<'a>> = units
        .map(|Unit { task, mut specs, .. }| {
            specs.sort_by_key(|spec| spec.whole("steps"));
            let cost = specs.iter().map(|spec| task.cost(spec)).sum();
            Job { task, specs, cost }
        })
        .collect();
    jobs.sort_by_key(|job| job.task.is_long());
    Ok(jobs)
}

/// Thousandths of estimated seconds, and images, counted by all workers.
#[derive(Default)]
struct Counted {
    work: AtomicU64,
    images: AtomicU64,
    /// Runs that others have carried out meanwhile.
    elsewhere: AtomicUsize,
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
    /// When somebody last looked whether others have done it, in milliseconds since the start; and whether they have.
    looked: AtomicU64,
    start: Instant,
    superseded: AtomicBool,
}

impl Work<'_> {
    /// Whether others have carried out all of it meanwhile.
    fn is_superseded(&self) -> bool {
        let now = self.start.elapsed().as_millis() as u64;
        if now >= self.looked.load(Relaxed) {
            self.looked.store(now + LOOK_EVERY, Relaxed);
            if self.job.specs.iter().all(|spec| self.client.is_done(spec)) {
                self.superseded.store(true, Relaxed);
            }
        }
        self.superseded.load(Relaxed)
    }
}

impl Watch for Work<'_> {
    fn stopped(&self) -> bool {
        self.abort.load(Relaxed) || self.client.stopped() || self.is_superseded()
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
                    let (before, looked, superseded) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
                    let start = Instant::now();
                    let work = Work {
                        catalogue,
                        order,
                        job,
                        threads: own,
                        client,
                        abort,
                        counted,
                        before,
                        looked,
                        start,
                        superseded,
                    };
                    let result = if work.stopped() { None } else { work.carry_out() };
                    match result {
                        Some(result) => {
                            if sender.send(result).is_err() {
                                break;
                            }
                        }
                        None if work.superseded.load(Relaxed) => {
                            counted.elsewhere.fetch_add(job.specs.len(), Relaxed);
                            work.reached(1.0);
                        }
                        None => break,
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
        // The first run that could not be carried out. What others finish meanwhile is not lost with it.
        let (mut done, mut failure) = (0, None);
        let mut collect = || {
            let mut ended = false;
            while !ended {
                match rows.recv_timeout(Duration::from_millis(100)) {
                    Ok(Ok(finished)) => {
                        for one in finished {
                            let (failed, spec) = (one.row.is_failed(), one.row.spec.clone());
                            keep(Some(one))?;
                            done += 1;
                            // Only now: until the row is safe, the checkpoint is all there is. A run that failed is tried again from it.
                            let checkpoints = order.checkpoints.filter(|_| !failed);
                            if let Some(Err(error)) = checkpoints.map(|all| all.remove(&spec)) {
                                abort.store(true, Relaxed);
                                failure.get_or_insert(error);
                            }
                        }
                    }
                    Ok(Err(error)) => {
                        abort.store(true, Relaxed);
                        failure.get_or_insert(error);
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => keep(None)?,
                    Err(mpsc::RecvTimeoutError::Disconnected) => ended = true,
                }
                let (work, images) = (1e-3 * counted.work.load(Relaxed) as f64, counted.images.load(Relaxed));
                client.progress(Progress { done, elsewhere: counted.elsewhere.load(Relaxed), work, images });
            }
            Ok(())
        };
        let result = collect();
        if result.is_err() {
            abort.store(true, Relaxed);
        }
        failure.map_or(result, Err)
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
            match files::read(to.files, file) {
                Ok(bytes) => {
                    if let Err(error) = run.restore(&bytes) {
                        self.client.note(&format!("{}: {error}; the run starts anew", file.display()));
                    }
                }
                // Another worker has just finished the run.
                Err(error) if error.io().is_some_and(|cause| cause.kind() == ErrorKind::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        let save = |run: &dyn Run| match (&state, run.save()?) {
            (Some((to, file)), Some(bytes)) => files::replace(to.files, file, &bytes),
            _ => Ok(()),
        };
        let mut saved = Instant::now();
        loop {
            match run.advance(self)? {
                Advance::Stopped if self.superseded.load(Relaxed) => {
                    let mut states = state.iter().zip(&job.specs);
                    return states.try_for_each(|((to, _), spec)| to.remove(spec)).map(|()| None);
                }
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

    /// A run that others have done is not started, and one that they finish meanwhile is given up; the rest is carried out.
    #[test]
    fn what_others_have_done_is_left_to_them() {
        struct Beside {
            own: String,
            looks: AtomicUsize,
            elsewhere: AtomicUsize,
        }
        impl Client for Beside {
            fn stopped(&self) -> bool {
                false
            }
            fn is_done(&self, run: &Spec) -> bool {
                // The endless one is found done at the second look, when it is under way.
                run.id() != self.own && (run.whole("steps") == Some(50) || self.looks.fetch_add(1, Relaxed) > 0)
            }
            fn progress(&self, reached: Progress) {
                self.elsewhere.store(reached.elsewhere, Relaxed);
            }
        }
        let (own, done) = (spec("nmu").with("steps", 50), spec("snmu").with("steps", 50));
        let runs = [own.clone(), done, spec("npu").with("steps", 1_000_000_000_u64)];
        let client = Beside { own: own.id(), looks: AtomicUsize::new(0), elsewhere: AtomicUsize::new(0) };
        let mut rows = Vec::new();
        let keep = |finished: Option<Finished>| {
            rows.extend(finished.map(|finished| finished.row.id));
            Ok(())
        };
        carry_out(&Catalogue::default(), &Order { runs: &runs, ..Order::default() }, &client, keep).unwrap();
        assert_eq!(rows, [own.id()]);
        assert!(client.elsewhere.load(Relaxed) == 2 && client.looks.load(Relaxed) >= 2);
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

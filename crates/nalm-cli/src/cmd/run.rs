//! `nalm run` and `nalm reproduce`: carry out what is missing, and write the report.

use crate::cli::{Reproduce, Run};
use crate::images::{self, ImageRow, ImageSpec};
use crate::pool::{self, Finished};
use crate::runspec::RunSpec;
use crate::store::{self, Segment};
use crate::suite::{self, Overrides, Study};
use anyhow::{Context, Result, ensure};
use nalm_vision::Mnist;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Told to stop; what is done is safe, and the same command goes on where this one ended.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped; all finished runs are kept, and the same command continues")
    }
}

impl std::error::Error for Interrupted {}

pub(crate) fn run(arguments: &Run) -> Result<()> {
    let (_, failed) = carry_out(arguments)?;
    none_failed(failed)
}

/// A run that could not be carried out is a row like others, but nobody should have to look for it.
fn none_failed(failed: usize) -> Result<()> {
    ensure!(failed == 0, "{failed} runs could not be carried out; the store's rows say why (nalm export --jsonl -)");
    Ok(())
}

pub(crate) fn reproduce(arguments: &Reproduce) -> Result<()> {
    let (experiments, failed) = carry_out(&arguments.run)?;
    if arguments.run.dry_run {
        return Ok(());
    }
    super::report::write(&experiments, &arguments.run.store, &arguments.output)?;
    none_failed(failed)
}

/// Loads the experiments named on a command line.
pub(crate) fn load(arguments: &Run) -> Result<Vec<Study>> {
    let all = arguments.experiments == ["all"];
    let overrides = Overrides {
        // All of them at full length is a matter of many hours, and so has to be asked for.
        preset: arguments.preset.clone().or_else(|| all.then(|| "quick".into())),
        seeds: arguments.seeds,
        steps: arguments.steps,
        stream: arguments.stream.map(|stream| stream.to_string()),
        set: arguments.set.clone(),
    };
    suite::load_all(&arguments.experiments, &overrides)
}

/// The experiments, and how many runs could not be carried out.
fn carry_out(arguments: &Run) -> Result<(Vec<Study>, usize)> {
    let failed = Cell::new(0);
    let count = |status: &str| failed.set(failed.get() + usize::from(status == "failed"));
    let studies = load(arguments)?;
    let done = store::read(&arguments.store)?;
    let mut seen = BTreeSet::new();
    let (mut numbers, mut images, mut planned): (Vec<RunSpec>, Vec<ImageSpec>, usize) = (Vec::new(), Vec::new(), 0);
    for study in &studies {
        match study {
            Study::Numbers(e) => e.runs.iter().filter(|run| seen.insert(run.id())).for_each(|run| {
                planned += 1;
                if !done.has(&run.id()) {
                    numbers.push(run.clone());
                }
            }),
            Study::Images(e) => e.runs.iter().filter(|run| seen.insert(run.id())).for_each(|run| {
                planned += 1;
                match done.has(&run.id()) {
                    false => images.push(run.clone()),
                    true if arguments.dry_run => {}
                    // A process that was killed between writing its row and clearing up leaves a checkpoint that nobody needs.
                    true => _ = std::fs::remove_file(images::checkpoint_of(&arguments.store, run)),
                }
            }),
        }
    }
    let (missing, threads) = (numbers.len() + images.len(), threads(arguments.threads));
    let work = numbers.iter().map(RunSpec::cost).chain(images.iter().map(ImageSpec::cost)).sum::<f64>();
    let (done_already, estimate) = (planned - missing, duration(work / threads as f64));
    say!("{planned} runs, {done_already} of them done, {missing} to do: about {estimate} on {threads} threads");
    if done.torn > 0 {
        say!("{} torn lines in the store, as a killed process leaves them; their runs are done again", done.torn);
    }
    if !arguments.dry_run && missing > 0 {
        // Before anything is started: without images there is no use in training numbers first.
        let mnist = if images.is_empty() { None } else { Some(images::find(arguments.mnist.as_deref())?) };
        let mut segment = Segment::create(&arguments.store)?;
        let result: Result<()> = (|| {
            if !numbers.is_empty() {
                let segment = std::cell::RefCell::new(&mut segment);
                let keep = |finished: Finished| {
                    count(&finished.row.status);
                    segment.borrow_mut().append(&finished.row, finished.tensors.as_ref())
                };
                train_all(&numbers, threads, keep, || segment.borrow_mut().sync_if_due())?;
            }
            if let Some(mnist) = &mnist {
                let every = Duration::from_secs(arguments.checkpoint);
                let safety = images::Safety { store: arguments.store.clone(), every };
                let keep = |row: ImageRow| {
                    count(&row.status);
                    segment.append_image(&row)
                };
                train_images(&images, mnist, threads, &safety, keep)?;
            }
            Ok(())
        })();
        segment.seal()?;
        result?;
    }
    Ok((studies, failed.get()))
}

/// Carries out runs with images, with progress on the standard error, until they are done or a signal arrives.
pub(crate) fn train_images(
    runs: &[ImageSpec],
    mnist: &Arc<Mnist>,
    threads: usize,
    safety: &images::Safety,
    mut keep: impl FnMut(ImageRow) -> Result<()>,
) -> Result<()> {
    let stop = listen()?;
    let watched = images::Watched::default();
    let progress = std::cell::RefCell::new(Progress::new(runs.len(), runs.iter().map(ImageSpec::cost).sum()));
    let keep = |row: ImageRow| {
        keep(row)?;
        progress.borrow_mut().done += 1;
        Ok(())
    };
    let idle = || {
        let mut progress = progress.borrow_mut();
        progress.done_cost = 1e-3 * watched.work.load(Relaxed) as f64;
        progress.images = Some(watched.images.load(Relaxed));
        progress.show_if_due();
        Ok(())
    };
    let result = images::carry_out(runs, mnist, threads, safety, &stop, &watched, keep, idle);
    progress.borrow().finish();
    result?;
    if stop.load(Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
}

/// A flag that signals set.
fn listen() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGUSR1] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot listen to signals")?;
    }
    Ok(stop)
}

/// As many threads as asked for, or as there are cores.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Carries out runs with progress on the standard error, until they are done or a signal arrives.
pub(crate) fn train_all(
    runs: &[RunSpec],
    threads: usize,
    mut keep: impl FnMut(Finished) -> Result<()>,
    idle: impl FnMut() -> Result<()>,
) -> Result<()> {
    let stop = listen()?;
    let mut progress = Progress::new(runs.len(), runs.iter().map(RunSpec::cost).sum());
    let keep = |finished: Finished| {
        progress.advance(finished.row.spec.cost());
        keep(finished)
    };
    let result = pool::carry_out(runs, threads, &stop, keep, idle);
    progress.finish();
    result?;
    if stop.load(Relaxed) {
        return Err(Interrupted.into());
    }
    Ok(())
}

/// A time span for people.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// A line that is rewritten on a terminal, and a plain one every half minute elsewhere.
struct Progress {
    total: usize,
    done: usize,
    /// The same in estimated seconds: runs differ a thousandfold.
    total_cost: f64,
    done_cost: f64,
    /// Of this process, where it trains on images.
    images: Option<u64>,
    /// What checkpoints had done before.
    head_start: Option<f64>,
    start: Instant,
    shown: Instant,
    terminal: bool,
}

impl Progress {
    fn new(total: usize, total_cost: f64) -> Self {
        let now = Instant::now();
        let terminal = std::io::stderr().is_terminal();
        let (done, done_cost, images, head_start) = (0, 0.0, None, None);
        Self { total, done, total_cost, done_cost, images, head_start, start: now, shown: now, terminal }
    }

    fn advance(&mut self, cost: f64) {
        self.done += 1;
        self.done_cost += cost;
        self.show_if_due();
    }

    fn show_if_due(&mut self) {
        if self.images == Some(0) {
            self.head_start = Some(self.done_cost);
        }
        let pause = if self.terminal { Duration::from_millis(100) } else { Duration::from_secs(30) };
        if self.shown.elapsed() >= pause {
            self.shown = Instant::now();
            self.show();
        }
    }

    fn show(&self) {
        let spent = self.start.elapsed().as_secs_f64();
        let share = (self.done_cost / self.total_cost).clamp(1e-9, 1.0);
        let before = self.head_start.unwrap_or(0.0);
        let left = match self.done_cost > before {
            true => format!(
                "about {} to go",
                duration(spent * (self.total_cost - self.done_cost) / (self.done_cost - before))
            ),
            false => "measuring".into(),
        };
        let mut text = format!("{} of {} runs, {}, {left}", self.done, self.total, duration(spent));
        if let Some(images) = self.images {
            text += &format!(", {:.0} images/s", images as f64 / spent.max(1e-9));
        }
        if self.terminal {
            let filled = (20.0 * share).round() as usize;
            text = format!("{}{} {text}", "█".repeat(filled), "░".repeat(20 - filled));
        }
        let mut err = std::io::stderr().lock();
        // Progress that cannot be shown is no reason to stop.
        let _ = if self.terminal { write!(err, "\r\x1b[2K{text}") } else { writeln!(err, "{text}") };
        let _ = err.flush();
    }

    fn finish(&self) {
        if self.terminal {
            _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
        say!("{} runs in {:.1} s", self.done, self.start.elapsed().as_secs_f64());
    }
}

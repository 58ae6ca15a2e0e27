//! `nalm run` and `nalm reproduce`: carry out what is missing, and write the report.

use crate::cli::{Reproduce, Run};
use crate::pool::{self, Finished};
use crate::runspec::RunSpec;
use crate::store::{self, Segment};
use crate::suite::{self, Experiment, Overrides};
use anyhow::{Context, Result};
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
    carry_out(arguments).map(drop)
}

pub(crate) fn reproduce(arguments: &Reproduce) -> Result<()> {
    let experiments = carry_out(&arguments.run)?;
    if arguments.run.dry_run {
        return Ok(());
    }
    super::report::write(&experiments, &arguments.run.store, &arguments.output)
}

/// Loads the experiments named on a command line.
pub(crate) fn load(arguments: &Run) -> Result<Vec<Experiment>> {
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

fn carry_out(arguments: &Run) -> Result<Vec<Experiment>> {
    let experiments = load(arguments)?;
    let done = store::read(&arguments.store)?;
    let mut seen = BTreeSet::new();
    let planned: Vec<&RunSpec> = experiments.iter().flat_map(|e| &e.runs).filter(|run| seen.insert(run.id())).collect();
    let missing: Vec<RunSpec> =
        planned.iter().filter(|run| !done.rows.contains_key(&run.id())).map(|run| (*run).clone()).collect();
    let (done_already, threads) = (planned.len() - missing.len(), threads(arguments.threads));
    let estimate = missing.iter().map(RunSpec::cost).sum::<f64>() / threads as f64;
    let (n, estimate) = (missing.len(), duration(estimate));
    eprintln!("{} runs, {done_already} of them done, {n} to do: about {estimate} on {threads} threads", planned.len());
    if done.torn > 0 {
        eprintln!("{} torn lines in the store, as a killed process leaves them; their runs are done again", done.torn);
    }
    if !arguments.dry_run && !missing.is_empty() {
        let mut segment = Segment::create(&arguments.store)?;
        let result = {
            let segment = std::cell::RefCell::new(&mut segment);
            let keep = |finished: Finished| segment.borrow_mut().append(&finished.row, finished.tensors.as_ref());
            train_all(&missing, threads, keep, || segment.borrow_mut().sync_if_due())
        };
        segment.seal()?;
        result?;
    }
    Ok(experiments)
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
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGUSR1] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot listen to signals")?;
    }
    let mut progress = Progress::new(runs);
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
    start: Instant,
    shown: Instant,
    terminal: bool,
}

impl Progress {
    fn new(runs: &[RunSpec]) -> Self {
        let now = Instant::now();
        let (total, total_cost) = (runs.len(), runs.iter().map(RunSpec::cost).sum());
        let terminal = std::io::stderr().is_terminal();
        Self { total, done: 0, total_cost, done_cost: 0.0, start: now, shown: now, terminal }
    }

    fn advance(&mut self, cost: f64) {
        self.done += 1;
        self.done_cost += cost;
        let pause = if self.terminal { Duration::from_millis(100) } else { Duration::from_secs(30) };
        if self.shown.elapsed() >= pause {
            self.shown = Instant::now();
            self.show();
        }
    }

    fn show(&self) {
        let spent = self.start.elapsed().as_secs_f64();
        let share = (self.done_cost / self.total_cost).clamp(1e-9, 1.0);
        let left = duration(spent / share - spent);
        let mut text = format!("{} of {} runs, {}, about {left} to go", self.done, self.total, duration(spent));
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
            eprint!("\r\x1b[2K");
        }
        eprintln!("{} runs in {:.1} s", self.done, self.start.elapsed().as_secs_f64());
    }
}

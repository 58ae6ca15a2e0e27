//! `nalm run` and `nalm reproduce`: carry out what is missing, and write the report.

use crate::cli::{Reproduce, Run};
use crate::pool;
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
    super::report::write(&experiments, &arguments.run.store, &arguments.out)
}

/// Loads the experiments named on a command line.
pub(crate) fn load(arguments: &Run) -> Result<Vec<Experiment>> {
    let all = arguments.experiments == ["all"];
    let overrides = Overrides {
        // All of them at full length is a matter of days, and so has to be asked for.
        preset: arguments.preset.clone().or_else(|| all.then(|| "quick".into())),
        seeds: arguments.seeds,
        steps: arguments.steps,
        stream: arguments.stream.map(|stream| stream.to_string()),
    };
    let names = if all { suite::names() } else { arguments.experiments.iter().map(String::as_str).collect() };
    names.into_iter().map(|name| suite::load(name, &overrides)).collect()
}

fn carry_out(arguments: &Run) -> Result<Vec<Experiment>> {
    let experiments = load(arguments)?;
    let done = store::read(&arguments.store)?;
    let mut seen = BTreeSet::new();
    let planned: Vec<&RunSpec> = experiments.iter().flat_map(|e| &e.runs).filter(|run| seen.insert(run.id())).collect();
    let missing: Vec<RunSpec> =
        planned.iter().filter(|run| !done.rows.contains_key(&run.id())).map(|run| (*run).clone()).collect();
    eprintln!("{} runs, {} of them done, {} to do", planned.len(), planned.len() - missing.len(), missing.len());
    if done.torn > 0 {
        eprintln!("{} torn lines in the store, as a killed process leaves them; their runs are done again", done.torn);
    }
    if !arguments.dry_run && !missing.is_empty() {
        train_all(&missing, arguments)?;
    }
    Ok(experiments)
}

fn train_all(missing: &[RunSpec], arguments: &Run) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGUSR1] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot listen to signals")?;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.unwrap_or(cores);
    let mut segment = Segment::create(&arguments.store)?;
    let mut progress = Progress::new(missing.len());
    let result = {
        let segment = std::cell::RefCell::new(&mut segment);
        pool::carry_out(
            missing,
            threads,
            &stop,
            |row| {
                segment.borrow_mut().append(&row)?;
                progress.advance();
                Ok(())
            },
            || segment.borrow_mut().sync_if_due(),
        )
    };
    progress.finish();
    segment.seal()?;
    result?;
    if stop.load(Relaxed) {
        return Err(Interrupted.into());
    }
    Ok(())
}

/// A line that is rewritten on a terminal, and a plain one every half minute elsewhere.
struct Progress {
    total: usize,
    done: usize,
    start: Instant,
    shown: Instant,
    terminal: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        let now = Instant::now();
        Self { total, done: 0, start: now, shown: now, terminal: std::io::stderr().is_terminal() }
    }

    fn advance(&mut self) {
        self.done += 1;
        let pause = if self.terminal { Duration::from_millis(100) } else { Duration::from_secs(30) };
        if self.shown.elapsed() >= pause {
            self.shown = Instant::now();
            self.show();
        }
    }

    fn show(&self) {
        let spent = self.start.elapsed().as_secs_f64();
        let left = spent / self.done.max(1) as f64 * (self.total - self.done) as f64;
        let text = format!("{} of {} runs, {spent:.0} s, about {left:.0} s to go", self.done, self.total);
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

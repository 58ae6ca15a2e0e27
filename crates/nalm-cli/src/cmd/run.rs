//! `nalm run` and `nalm reproduce`: carry out what is missing, and write the report.

use crate::arguments::{Reproduce, Run};
use crate::progress::{Progress, duration};
use anyhow::{Result, ensure};
use nalm_lab::experiment::Experiment;
use nalm_lab::pool::{self, Client, Order};
use nalm_lab::run::{Spec, Status};
use nalm_lab::store::{self, Segment};
use nalm_lab::task::{Catalogue, Finished, Resources};
use nalm_lab::{Error, Registry};
use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) fn run(registry: &Registry, arguments: &Run) -> Result<()> {
    let (_, failed) = carry_out(registry, arguments)?;
    none_failed(failed)
}

/// A run that could not be carried out is a row like others, but nobody should have to look for it.
fn none_failed(failed: usize) -> Result<()> {
    ensure!(failed == 0, "{failed} runs could not be carried out; the store's rows say why (nalm export --jsonl -)");
    Ok(())
}

pub(crate) fn reproduce(registry: &Registry, arguments: &Reproduce) -> Result<()> {
    let (experiments, failed) = carry_out(registry, &arguments.run)?;
    if arguments.run.dry_run {
        return Ok(());
    }
    super::report::write(registry, &experiments, &arguments.run.store, &arguments.output)?;
    none_failed(failed)
}

/// The experiments, and how many runs could not be carried out.
fn carry_out(registry: &Registry, arguments: &Run) -> Result<(Vec<Experiment>, usize)> {
    let experiments = registry.load_all(&arguments.choice.experiments, &arguments.overrides()?)?;
    experiments.iter().flat_map(|experiment| &experiment.notes).for_each(|note| say!("{note}"));
    let done = store::read(&arguments.store)?;
    let checkpoints = arguments.store.join("checkpoints");
    let mut seen = BTreeSet::new();
    let mut missing: Vec<Spec> = Vec::new();
    for run in experiments.iter().flat_map(|experiment| &experiment.runs) {
        let id = run.id();
        match seen.insert(id.clone()) {
            true if !done.has(&id) => missing.push(run.clone()),
            // A process that was killed between writing its row and clearing up leaves a checkpoint that nobody needs.
            true if !arguments.dry_run => _ = std::fs::remove_file(pool::checkpoint_of(&checkpoints, run)),
            _ => {}
        }
    }
    let (planned, threads) = (seen.len(), threads(arguments.threads));
    let estimate = duration(pool::cost(&registry.catalogue, &missing) / threads as f64);
    let (done_already, to_do) = (planned - missing.len(), missing.len());
    say!("{planned} runs, {done_already} of them done, {to_do} to do: about {estimate} on {threads} threads");
    if done.torn > 0 {
        say!("{} torn lines in the store, as a killed process leaves them; their runs are done again", done.torn);
    }
    if arguments.dry_run || missing.is_empty() {
        return Ok((experiments, 0));
    }
    prepare(&registry.catalogue, &missing, &Resources { mnist: arguments.mnist.clone() })?;
    let mut segment = Segment::create(&arguments.store, &typed())?;
    let mut failed = 0;
    let every = Duration::from_secs(arguments.checkpoint);
    let order = Order { runs: &missing, threads, checkpoints: Some((&checkpoints, every)) };
    let result = train_all(&registry.catalogue, &order, |finished| {
        failed += usize::from(finished.as_ref().is_some_and(|finished| finished.row.status == Status::Failed));
        segment.keep(finished.as_ref())
    });
    segment.seal()?;
    result?;
    Ok((experiments, failed))
}

/// What was typed, for the header of a segment.
fn typed() -> Vec<String> {
    std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// Before anything is started: without images there is no use in training numbers first.
pub(crate) fn prepare(catalogue: &Catalogue, runs: &[Spec], resources: &Resources) -> Result<()> {
    let names: BTreeSet<&str> = runs.iter().map(Spec::task).collect();
    names.into_iter().try_for_each(|name| catalogue.task(name).map_err(Error::from)?.prepare(resources))?;
    Ok(())
}

/// As many threads as asked for, or as there are cores.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Carries out runs with progress on the standard error, until they are done or a signal arrives.
pub(crate) fn train_all(
    catalogue: &Catalogue,
    order: &Order<'_>,
    keep: impl FnMut(Option<Finished>) -> Result<(), Error>,
) -> Result<()> {
    let progress = Progress::new(order.runs.len(), pool::cost(catalogue, order.runs))?;
    let result = pool::carry_out(catalogue, order, &progress, keep);
    progress.finish();
    result?;
    if progress.stopped() { Err(Error::Stopped.into()) } else { Ok(()) }
}

//! `nalm run` and `nalm reproduce`: carry out what is missing, and write the report.

use super::sound;
use crate::arguments::{Reproduce, Run};
use crate::progress::{Progress, duration};
use anyhow::{Result, bail};
use nalm_lab::experiment::Experiment;
use nalm_lab::pool::{self, Checkpoints, Client, Order};
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::Segment;
use nalm_lab::task::{Catalogue, Finished, Resources};
use nalm_lab::{Error, Registry};
use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) fn run(registry: &Registry, arguments: &Run) -> Result<()> {
    carry_out(registry, arguments, |_| Ok(()))
}

pub(crate) fn reproduce(registry: &Registry, arguments: &Reproduce) -> Result<()> {
    arguments.output.check()?;
    carry_out(registry, &arguments.run, |experiments| match arguments.run.dry_run {
        true => Ok(()),
        false => super::report::write(registry, experiments, &arguments.run.store, &arguments.output),
    })
}

/// Carries out what is missing, does something with the experiments, and says what went wrong, whatever else was done.
fn carry_out(registry: &Registry, arguments: &Run, then: impl FnOnce(&[Experiment]) -> Result<()>) -> Result<()> {
    let experiments = registry.load_all(&arguments.choice.experiments, &arguments.overrides()?)?;
    complete(registry, arguments, &experiments, then)
}

/// The same with experiments that are at hand.
pub(crate) fn complete(
    registry: &Registry,
    arguments: &Run,
    experiments: &[Experiment],
    then: impl FnOnce(&[Experiment]) -> Result<()>,
) -> Result<()> {
    experiments.iter().flat_map(|experiment| &experiment.notes).for_each(|note| say!("{note}"));
    let store = registry.store(&arguments.store);
    let found = store.index()?;
    let (folder, every) = (store.checkpoints(), Duration::from_secs(arguments.checkpoint));
    let checkpoints = Checkpoints { folder: &folder, files: store.files(), every };
    let mut seen = BTreeSet::new();
    let mut missing: Vec<Spec> = Vec::new();
    for run in experiments.iter().flat_map(|experiment| &experiment.runs) {
        let id = run.id();
        match seen.insert(id.clone()) {
            true if !found.has(&id) => missing.push(run.clone()),
            // A process that was killed between writing its row and clearing up leaves a checkpoint that nobody needs.
            true if !arguments.dry_run => checkpoints.remove(run)?,
            _ => {}
        }
    }
    let (planned, threads) = (seen.len(), threads(arguments.threads));
    if !arguments.dry_run {
        prepare(&registry.catalogue, &missing, &Resources { mnist: arguments.mnist.clone() })?;
    }
    say!("{}", plan(registry, &missing, planned, threads, arguments.dry_run));
    if found.torn > 0 {
        say!("{} torn lines in the store, as a killed process leaves them; their runs are done again", found.torn);
    }
    let mut failed: Vec<Row> = Vec::new();
    if !arguments.dry_run && !missing.is_empty() {
        let typed = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        let mut segment = Segment::create(&store, &typed.collect::<Vec<_>>())?;
        let order = Order { runs: &missing, threads, checkpoints: Some(checkpoints) };
        let result = train_all(&registry.catalogue, &order, |finished| {
            finished.iter().for_each(|finished| tell(&finished.row));
            failed.extend(finished.iter().map(|finished| &finished.row).filter(|row| row.is_failed()).cloned());
            segment.keep(finished.as_ref())
        });
        // What went wrong first says more than what went wrong because of it.
        let sealed = segment.seal();
        result?;
        sealed?;
    }
    then(experiments)?;
    let Some(first) = failed.first() else { return sound(&found) };
    let reason = first.reason.as_deref().unwrap_or("no reason is known");
    let what = format!("{} with seed {}: {reason}", first.spec.module(), first.spec.seed());
    let n = failed.len();
    bail!("{n} runs could not be carried out and are missing; the same command tries them again ({what})")
}

/// What there is to do. How long it takes is only known while it is done, so that a guess is made for nobody but who asks what would be done.
fn plan(registry: &Registry, missing: &[Spec], planned: usize, threads: usize, dry: bool) -> String {
    let (done, to_do) = (planned - missing.len(), missing.len());
    let (runs, s) = (counted(planned), if threads == 1 { "" } else { "s" });
    match (planned, to_do) {
        (0, _) => "nothing is run for this".into(),
        (_, 0) => format!("{runs}, all done"),
        _ if dry => {
            let guess = duration(pool::cost(&registry.catalogue, missing) / threads as f64);
            format!(
                "{runs}, {done} done, {to_do} to do: roughly {guess} on {threads} thread{s} with nothing else to do"
            )
        }
        _ => format!("{runs}, {done} done, {to_do} to do on {threads} thread{s}"),
    }
}

fn counted(runs: usize) -> String {
    if runs == 1 { "1 run".into() } else { format!("{runs} runs") }
}

/// Before anything is started: without images there is no use in training numbers first.
pub(crate) fn prepare(catalogue: &Catalogue, runs: &[Spec], resources: &Resources) -> Result<()> {
    let names: BTreeSet<&str> = runs.iter().map(Spec::task).collect();
    names.into_iter().try_for_each(|name| catalogue.task(name).map_err(Error::from)?.prepare(resources))?;
    Ok(())
}

/// Says what came of a run, to whoever wants to know everything.
fn tell(row: &Row) {
    if crate::terminal::is_verbose() {
        let (spec, on) = (&row.spec, row.spec.text("range"));
        let on = if on.is_empty() { spec.task() } else { on };
        let end = match row.solved_at() {
            Some(step) => format!("solved at step {step}"),
            None if row.is_failed() => "failed".into(),
            None if row.reason.is_some() => row.status.name().into(),
            None if row.is_solved() => "solved".into(),
            None => "done".into(),
        };
        say!("{} on {on}, seed {}: {end}", spec.module(), spec.seed());
    }
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
    let progress = Progress::new(order.runs.len(), pool::cost(catalogue, order.runs));
    let result = pool::carry_out(catalogue, order, &progress, keep);
    progress.finish();
    result?;
    if progress.stopped() { Err(Error::Stopped.into()) } else { Ok(()) }
}

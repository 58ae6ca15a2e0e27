//! `nalm run` and `nalm reproduce`: carry out what is missing, and write the report.

use super::sound;
use crate::arguments::{Reproduce, Run, Sharded};
use crate::progress::{Progress, duration};
use crate::signal::Listening;
use crate::terminal::counted;
use anyhow::{Result, bail};
use nalm_lab::cluster::{Others, Plan, environment};
use nalm_lab::experiment::Experiment;
use nalm_lab::pool::{self, Checkpoints, Client, Order};
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::{Index, Segment};
use nalm_lab::task::{Catalogue, Finished, Resources};
use nalm_lab::{Error, Registry};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Runs by who carries them out: first this process alone, then this process and others. Each part has its own turn.
pub(crate) type Turns = Vec<Vec<Spec>>;

pub(crate) fn run(registry: &Registry, arguments: &Sharded) -> Result<()> {
    let Some(part) = arguments.shard else { return carry_out(registry, &arguments.run, whole, |_| Ok(())) };
    let (shard, told) = part.find(&variable)?;
    let turns = |plan: &[Spec], found: &Index| -> Result<(Turns, bool)> {
        let plan = Plan::new(&registry.catalogue, plan)?;
        let missing =
            |runs: Vec<&Spec>| -> Vec<Spec> { runs.into_iter().filter(|run| !found.has(&run.id())).cloned().collect() };
        let (all, own) = (plan.part(shard).len(), missing(plan.part(shard)));
        let by = told.map_or(String::new(), |name| format!(", by {name}"));
        let (part, parts) = (shard.index(), shard.of());
        say!("part {part} of {parts}, counted from 0{by}: {}, {} of them to do", counted(all, "run"), own.len());
        let worker = RandomState::new().build_hasher().finish();
        let others = if arguments.steal { missing(plan.others(shard, worker)) } else { Vec::new() };
        // Long runs take several threads if there are few, so that those of others must wait; short ones follow at once.
        let long = |run: &Spec| registry.catalogue.task(run.task()).is_ok_and(|task| task.is_long());
        let at_once = !own.iter().chain(&others).any(long);
        Ok((if at_once { vec![[own, others].concat()] } else { vec![own, others] }, true))
    };
    carry_out(registry, &arguments.run, turns, |_| Ok(()))
}

pub(crate) fn reproduce(registry: &Registry, arguments: &Reproduce) -> Result<()> {
    arguments.output.check()?;
    let loaded = registry.load_all(&arguments.run.choice.experiments, &arguments.run.choice.overrides()?)?;
    registry.ensure_free(&loaded, &arguments.output.out, "--out")?;
    complete(registry, &arguments.run, &loaded, whole, |experiments| match arguments.run.dry_run {
        true => Ok(()),
        false => super::report::write(registry, experiments, &arguments.run.store, &arguments.output),
    })
}

/// A variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Everything that is missing, by this process alone.
pub(crate) fn whole(plan: &[Spec], found: &Index) -> Result<(Turns, bool)> {
    Ok((vec![plan.iter().filter(|run| !found.has(&run.id())).cloned().collect()], false))
}

/// The runs of experiments, each once.
pub(crate) fn plan<'a>(experiments: impl IntoIterator<Item = &'a Experiment>) -> Vec<Spec> {
    let mut seen = BTreeSet::new();
    let all = experiments.into_iter().flat_map(|experiment| &experiment.runs);
    all.filter(|run| seen.insert(run.id())).cloned().collect()
}

/// Carries out what is missing, does something with the experiments, and says what went wrong, whatever else was done. `turns` divides what is
/// missing of a plan, and says whether others work on it, too.
fn carry_out(
    registry: &Registry,
    arguments: &Run,
    turns: impl FnOnce(&[Spec], &Index) -> Result<(Turns, bool)>,
    then: impl FnOnce(&[Experiment]) -> Result<()>,
) -> Result<()> {
    let experiments = registry.load_all(&arguments.choice.experiments, &arguments.choice.overrides()?)?;
    complete(registry, arguments, &experiments, turns, then)
}

/// The same with experiments that are at hand.
pub(crate) fn complete(
    registry: &Registry,
    arguments: &Run,
    experiments: &[Experiment],
    turns: impl FnOnce(&[Spec], &Index) -> Result<(Turns, bool)>,
    then: impl FnOnce(&[Experiment]) -> Result<()>,
) -> Result<()> {
    experiments.iter().flat_map(|experiment| &experiment.notes).for_each(|note| say!("{note}"));
    let store = registry.store(&arguments.store);
    let found = store.index()?;
    let (folder, every) = (store.checkpoints(), Duration::from_secs(arguments.checkpoint));
    let checkpoints = Checkpoints { folder: &folder, files: store.files(), every };
    let plan = plan(experiments);
    if !arguments.dry_run {
        // A process that was killed between writing its row and clearing up leaves a checkpoint that nobody needs.
        plan.iter().filter(|run| found.has(&run.id())).try_for_each(|run| checkpoints.remove(run))?;
    }
    let (turns, shared) = turns(&plan, &found)?;
    let done = plan.iter().filter(|run| found.has(&run.id())).count();
    let missing = turns.concat();
    let threads = threads(arguments.threads);
    let prepared = prepare(&registry.catalogue, &missing, &Resources { mnist: arguments.mnist.clone() });
    if !arguments.dry_run {
        prepared?;
    } else if let Err(error) = prepared {
        say!("before it can be run: {error:#}");
    }
    hints(registry, experiments, &found);
    say!("{}", outlook(registry, &missing, (plan.len(), done), threads, arguments.dry_run));
    if found.torn > 0 {
        let torn = counted(found.torn, "torn line");
        say!("{torn} in the store, as a killed process leaves them; their runs are done again");
    }
    let mut failed: Vec<Row> = Vec::new();
    if !arguments.dry_run && !missing.is_empty() {
        let typed = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        // From the first line of the segment to its last.
        let _listening = Listening::new();
        let mut segment = Segment::create(&store, &typed.collect::<Vec<_>>())?;
        let others = if shared { Some(Others::new(&store)?) } else { None };
        let result = turns.iter().filter(|runs| !runs.is_empty()).try_for_each(|runs| {
            let order = Order { runs, threads, checkpoints: Some(checkpoints) };
            train_all(&registry.catalogue, &order, others.as_ref(), |finished| {
                finished.iter().for_each(|finished| tell(&finished.row));
                failed.extend(finished.iter().map(|finished| &finished.row).filter(|row| row.is_failed()).cloned());
                segment.keep(finished.as_ref())
            })
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
    let (runs, are) = (counted(n, "run"), if n == 1 { "is" } else { "are" });
    bail!("{runs} could not be carried out and {are} missing; the same command tries again ({what})")
}

/// What there is to do. How long it takes is only known while it is done, so that a guess is made for nobody but who asks what would be done, and
/// for who would wait for hours.
fn outlook(
    registry: &Registry,
    missing: &[Spec],
    (planned, done): (usize, usize),
    threads: usize,
    dry: bool,
) -> String {
    let (runs, on) = (counted(planned, "run"), counted(threads, "thread"));
    let seconds = pool::cost(&registry.catalogue, missing) / threads as f64;
    let guess = duration(seconds);
    match (planned, missing.len()) {
        (0, _) => "nothing is run for this".into(),
        (_, 0) if done == planned => format!("{runs}, all done"),
        (_, 0) => format!("{runs}, {done} done, nothing to do here"),
        (_, to_do) if dry => {
            format!("{runs}, {done} done, {to_do} to do: roughly {guess} on {on} with nothing else to do")
        }
        (_, to_do) if seconds > LONG => format!(
            "{runs}, {done} done, {to_do} to do on {on}: roughly {guess}; stop it whenever you like, the same command continues"
        ),
        (_, to_do) => format!("{runs}, {done} done, {to_do} to do on {on}"),
    }
}

/// Whoever has to wait for more seconds than this wants to know it before.
const LONG: f64 = 3_600.0;

/// Says which units cannot represent what they are to learn, before they are trained in vain. What comes with the program has some on purpose.
fn hints(registry: &Registry, experiments: &[Experiment], found: &Index) {
    let chosen = |experiment: &&Experiment| !experiment.built_in || experiment.command.contains("operation=");
    let groups =
        experiments.iter().filter(chosen).flat_map(|e| e.groups.iter().map(move |group| &e.runs[group.runs.clone()]));
    let to_do = groups.filter(|runs| runs.iter().any(|run| !found.has(&run.id()))).filter_map(|runs| runs.first());
    super::train::hint(registry, to_do);
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
        let end = match row.solved_at() {
            Some(step) => format!("solved at step {step}"),
            None if row.is_failed() => "failed".into(),
            None if row.reason.is_some() => row.status.name().into(),
            None => match row.flag("solved") {
                Some(true) => "solved".into(),
                Some(false) => "not solved".into(),
                // Of images nobody says so.
                None => "done".into(),
            },
        };
        let spec = &row.spec;
        let sizes = [("inputs", "input"), ("steps", "step")];
        let sizes = sizes.iter().filter_map(|(key, what)| Some(counted(spec.whole(key)? as usize, what)));
        let operation = Some(spec.text("operation").to_string()).filter(|name| !name.is_empty());
        let more: Vec<String> = operation.into_iter().chain(sizes).collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        say!("{}, seed {}: {end}{more}", spec.about(), spec.seed());
    }
}

/// As many threads as asked for, or as a scheduler allots, or as there are cores.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(|| environment::threads(&variable).map_or(cores, |allotted| allotted.min(cores)))
}

/// Carries out runs with progress on the standard error, until they are done, here or by others, or a signal arrives.
pub(crate) fn train_all(
    catalogue: &Catalogue,
    order: &Order<'_>,
    others: Option<&Others<'_>>,
    keep: impl FnMut(Option<Finished>) -> Result<(), Error>,
) -> Result<()> {
    let progress = Progress::new(order.runs.len(), pool::cost(catalogue, order.runs)).beside(others);
    let result = pool::carry_out(catalogue, order, &progress, keep);
    progress.finish();
    result?;
    if progress.stopped() { Err(Error::Stopped.into()) } else { Ok(()) }
}

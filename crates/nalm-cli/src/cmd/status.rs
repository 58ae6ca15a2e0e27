//! `nalm status`: what a store holds, and what experiments still lack.

use super::sound;
use crate::arguments::Status;
use crate::exit::Incomplete;
use crate::progress::duration;
use anyhow::{Result, ensure};
use nalm_lab::cluster::{self, Estimate};
use nalm_lab::experiment::{Experiment, Overrides, built_in};
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::{Index, Problem};
use nalm_lab::{Error, Registry};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How far an experiment is.
#[derive(Serialize)]
struct Standing<'a> {
    experiment: &'a str,
    preset: &'a str,
    done: usize,
    runs: usize,
    missing: usize,
    /// Runs that are there twice with different results.
    conflicting: usize,
    /// Runs that are missing, and of which there is a row of an earlier version of the numerics.
    earlier: usize,
    failed: Vec<Value>,
}

/// Who has done how much of some experiments, and how much there is to do.
struct Outlook {
    hosts: BTreeMap<String, usize>,
    to_go: Estimate,
}

impl Outlook {
    fn new(registry: &Registry, index: &Index, experiments: &[Experiment]) -> Result<Self> {
        let plan = super::run::plan(experiments);
        let (done, missing): (Vec<Spec>, Vec<Spec>) = plan.into_iter().partition(|run| index.has(&run.id()));
        let mut hosts = BTreeMap::new();
        for entry in done.iter().filter_map(|run| index.find(&run.id())) {
            *hosts.entry(index.host_of(entry).unwrap_or("packed").to_string()).or_default() += 1;
        }
        Ok(Self { hosts, to_go: cluster::estimate(&registry.catalogue, index, &missing)? })
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let all: usize = self.hosts.values().sum();
        let width = self.hosts.keys().map(String::len).max().unwrap_or(0).min(60);
        for (host, rows) in &self.hosts {
            let share = 100.0 * *rows as f64 / all as f64;
            writeln!(out, "  by {:width$} {rows:>6}  {share:3.0} %", crate::shown(host))?;
        }
        let Estimate { seconds, rows, .. } = self.to_go;
        let source = if rows > 0 { format!("measured from {rows} rows") } else { "not measured yet".into() };
        if seconds > 0.0 { writeln!(out, "about {} of one core to go, {source}", duration(seconds)) } else { Ok(()) }
    }
}

pub(crate) fn run(registry: &Registry, arguments: &Status) -> Result<()> {
    let Some(pause) = arguments.watch else { return once(registry, arguments) };
    let mut before: Option<(Instant, usize)> = None;
    loop {
        if std::io::stdout().is_terminal() {
            write!(std::io::stdout(), "\x1b[H\x1b[2J")?;
        }
        let now = Instant::now();
        match once(registry, arguments) {
            Err(error) if error.is::<Incomplete>() => {
                let missing = error.downcast_ref::<Incomplete>().map_or(0, |incomplete| incomplete.missing);
                let (since, then) = *before.get_or_insert((now, missing));
                let (passed, done) = (now.duration_since(since).as_secs_f64(), then.saturating_sub(missing));
                if done > 0 {
                    let left = duration(missing as f64 * passed / done as f64);
                    say!("{done} runs in {}; about {left} to go at this pace", duration(passed));
                }
            }
            other => return other,
        }
        std::thread::sleep(Duration::from_secs(pause));
    }
}

fn once(registry: &Registry, arguments: &Status) -> Result<()> {
    let store = registry.store(&arguments.store);
    // Whoever watches may begin before the first worker does.
    let index = if arguments.watch.is_some() { store.index()? } else { store.existing()? };
    let failed = index.failed()?;
    let in_conflict = |problem: &Problem| match problem {
        Problem::Conflict { id, .. } => Some(id.clone()),
        _ => None,
    };
    let conflicts: BTreeSet<String> = index.problems.iter().filter_map(in_conflict).collect();
    let overrides = arguments.changes.overrides()?;
    let mut experiments = Vec::new();
    if arguments.experiments.is_empty() {
        let changed = overrides != Overrides::default();
        ensure!(!changed, Error::Request("say which experiments are changed: nalm status NAME …".into()));
        for name in built_in::names(&registry.catalogue) {
            for preset in built_in::presets(name) {
                experiments.push(registry.load(name, &Overrides::preset(&preset))?);
            }
        }
    } else {
        experiments = registry.load_all(&arguments.experiments, &overrides)?;
    }
    let reason = |row: &Row| row.reason.clone().unwrap_or_default();
    let standing = experiments.iter().map(|experiment| {
        let Experiment { name, preset, .. } = experiment;
        let ids = experiment.ids();
        let failed = failed.iter().filter(|row| ids.contains(&row.id));
        let failed = failed.map(|row| json!({"id": row.id, "reason": reason(row)})).collect();
        let done = ids.iter().filter(|id| index.has(id)).count();
        let missing = experiment.runs.iter().filter(|run| !index.has(&run.id()));
        let is_there =
            |run: &Spec| registry.catalogue.with_earlier_numerics(run).iter().any(|run| index.has(&run.id()));
        let earlier = missing.filter(|run| is_there(run)).count();
        let conflicting = ids.iter().filter(|id| conflicts.contains(*id)).count();
        let (runs, missing) = (ids.len(), ids.len() - done);
        Standing { experiment: name, preset, done, runs, missing, conflicting, earlier, failed }
    });
    let all: Vec<Standing<'_>> = standing.collect();
    let outlook = match arguments.experiments.is_empty() {
        true => None,
        false => Some(Outlook::new(registry, &index, &experiments)?),
    };
    let (rows, segments, failures) = (index.entries().len(), index.segments(), failed.len());
    if arguments.json {
        let problems: Vec<String> = index.problems.iter().map(ToString::to_string).collect();
        let mut value = json!({"rows": rows, "segments": segments, "torn": index.torn, "duplicates": index.duplicates,
            "failed": failures, "problems": problems, "experiments": all});
        if let Some(Outlook { hosts, to_go }) = &outlook {
            value["hosts"] = json!(hosts);
            value["to_go"] = json!({"core_seconds": to_go.seconds, "measured_rows": to_go.rows});
        }
        super::print_json(&value)?;
    } else {
        let mut out = std::io::stdout().lock();
        let (store, Index { torn, duplicates, problems, .. }) = (arguments.store.to_string_lossy(), &index);
        let store = crate::shown(&store);
        write!(out, "{store}: {rows} runs in {segments} segments, {failures} failed, {torn} torn lines, ")?;
        writeln!(out, "{duplicates} duplicates, {} problems", problems.len())?;
        let width = all.iter().map(|s| s.experiment.len()).max().unwrap_or(0).min(60);
        for s in all.iter().filter(|s| s.runs > 0) {
            let Standing { experiment, preset, done, runs, missing, conflicting, earlier, failed } = s;
            let counts = [
                (*missing, "missing"),
                (failed.len(), "of them failed"),
                (*conflicting, "conflicting"),
                (*earlier, "of an earlier version of the numerics"),
            ];
            let named = |(n, what): &(usize, &str)| (*n > 0).then(|| format!(", {n} {what}"));
            // The long list is about what is there.
            let counts = if outlook.is_some() { &counts[..] } else { &counts[3..] };
            let more: String = counts.iter().filter_map(named).collect();
            writeln!(out, "{experiment:width$} {preset:6} {done:>6} of {runs:>6} done{more}")?;
        }
        outlook.iter().try_for_each(|outlook| outlook.print(&mut out))?;
        let failure = |row: &Row| format!("failed: run {}: {}", row.id, crate::shown(&reason(row)));
        failed.iter().try_for_each(|row| writeln!(out, "{}", failure(row)))?;
    }
    sound(&index)?;
    let missing: usize = all.iter().map(|s| s.runs - s.done).sum();
    let text = format!("{missing} runs are missing; nalm run carries them out");
    ensure!(missing == 0 || arguments.experiments.is_empty(), Incomplete { missing, text });
    Ok(())
}

//! `nalm status`: what a store holds, and what experiments still lack.

use super::sound;
use crate::arguments::Status;
use crate::exit::Incomplete;
use anyhow::{Result, ensure};
use nalm_lab::Registry;
use nalm_lab::experiment::{Experiment, Overrides, built_in};
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::Index;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;

/// How far an experiment is.
#[derive(Serialize)]
struct Standing<'a> {
    experiment: &'a str,
    preset: &'a str,
    done: usize,
    runs: usize,
    /// Runs that are missing, and of which there is a row of an earlier version of the numerics.
    earlier: usize,
    failed: Vec<Value>,
}

pub(crate) fn run(registry: &Registry, arguments: &Status) -> Result<()> {
    let index = registry.store(&arguments.store).existing()?;
    let failed = index.failed()?;
    let mut experiments = Vec::new();
    if arguments.experiments.is_empty() {
        for name in built_in::names(&registry.catalogue) {
            for preset in built_in::presets(name) {
                experiments.push(registry.load(name, &Overrides::preset(&preset))?);
            }
        }
    } else {
        let overrides = Overrides { preset: arguments.preset.clone(), ..Overrides::default() };
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
        Standing { experiment: name, preset, done, runs: ids.len(), earlier, failed }
    });
    let all: Vec<Standing<'_>> = standing.collect();
    let (rows, segments, failures) = (index.entries().len(), index.segments(), failed.len());
    if arguments.json {
        let problems: Vec<String> = index.problems.iter().map(ToString::to_string).collect();
        super::print_json(
            &json!({"rows": rows, "segments": segments, "torn": index.torn, "duplicates": index.duplicates,
            "failed": failures, "problems": problems, "experiments": all}),
        )?;
    } else {
        let mut out = std::io::stdout().lock();
        let (store, Index { torn, duplicates, problems, .. }) = (arguments.store.to_string_lossy(), &index);
        let store = crate::shown(&store);
        write!(out, "{store}: {rows} runs in {segments} segments, {failures} failed, {torn} torn lines, ")?;
        writeln!(out, "{duplicates} duplicates, {} problems", problems.len())?;
        let width = all.iter().map(|s| s.experiment.len()).max().unwrap_or(0).min(60);
        for s in all.iter().filter(|s| s.runs > 0) {
            let Standing { experiment, preset, done, runs, earlier, .. } = s;
            let more =
                if *earlier > 0 { format!(", {earlier} of an earlier version of the numerics") } else { String::new() };
            writeln!(out, "{experiment:width$} {preset:6} {done:>6} of {runs:>6} done{more}")?;
        }
        let failure = |row: &Row| format!("failed: run {}: {}", row.id, crate::shown(&reason(row)));
        failed.iter().try_for_each(|row| writeln!(out, "{}", failure(row)))?;
    }
    sound(&index)?;
    let missing: usize = all.iter().map(|s| s.runs - s.done).sum();
    let text = format!("{missing} runs are missing; nalm run carries them out");
    ensure!(missing == 0 || arguments.experiments.is_empty(), Incomplete(text));
    Ok(())
}

//! `nalm status`: what a store holds, and what experiments still lack.

use super::sound;
use crate::arguments::Status;
use crate::exit::Incomplete;
use anyhow::Result;
use nalm_lab::Registry;
use nalm_lab::experiment::{Overrides, built_in};
use nalm_lab::store::Failed;
use serde_json::json;
use std::io::Write;

/// How far an experiment is.
struct Standing {
    experiment: String,
    preset: String,
    done: usize,
    runs: usize,
    failed: Vec<Failed>,
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
    let standing = |experiment: &nalm_lab::experiment::Experiment| {
        let ids = experiment.ids();
        let failed = failed.iter().filter(|run| ids.contains(&run.id)).cloned().collect();
        let done = ids.iter().filter(|id| index.has(id)).count();
        Standing {
            experiment: experiment.name.clone(),
            preset: experiment.preset.clone(),
            done,
            runs: ids.len(),
            failed,
        }
    };
    let all: Vec<Standing> = experiments.iter().map(standing).collect();
    if arguments.json {
        let one = |s: &Standing| {
            let failed: Vec<_> = s.failed.iter().map(|run| json!({"id": run.id, "reason": run.reason})).collect();
            json!({"experiment": s.experiment, "preset": s.preset, "done": s.done, "runs": s.runs, "failed": failed})
        };
        let problems: Vec<String> = index.problems.iter().map(ToString::to_string).collect();
        super::print_json(&json!({"rows": index.len(), "segments": index.segments(), "torn": index.torn,
            "duplicates": index.duplicates, "failed": failed.len(), "problems": problems,
            "experiments": all.iter().map(one).collect::<Vec<_>>()}))?;
    } else {
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}: {} runs in {} segments, {} failed, {} torn lines, {} duplicates, {} problems",
            crate::shown(&arguments.store.to_string_lossy()),
            index.len(),
            index.segments(),
            failed.len(),
            index.torn,
            index.duplicates,
            index.problems.len()
        )?;
        let width = all.iter().map(|s| s.experiment.len()).max().unwrap_or(0).min(60);
        for s in all.iter().filter(|s| s.runs > 0) {
            let Standing { experiment, preset, done, runs, .. } = s;
            writeln!(out, "{experiment:width$} {preset:6} {done:>6} of {runs:>6} done")?;
        }
        failed.iter().try_for_each(|run| writeln!(out, "failed: run {}: {}", run.id, crate::shown(&run.reason)))?;
    }
    sound(&index)?;
    let missing: usize = all.iter().map(|s| s.runs - s.done).sum();
    if missing > 0 && !arguments.experiments.is_empty() {
        return Err(Incomplete(format!("{missing} runs are missing; nalm run carries them out")).into());
    }
    Ok(())
}

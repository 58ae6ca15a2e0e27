//! `nalm status`: what a store holds, and what each experiment still lacks.

use crate::arguments::Status;
use anyhow::{Result, bail};
use nalm_lab::experiment::{Overrides, built_in};
use nalm_lab::{Registry, store};
use serde_json::json;
use std::io::Write;

pub(crate) fn run(registry: &Registry, arguments: &Status) -> Result<()> {
    let contents = store::read(&arguments.store)?;
    let mut progress = Vec::new();
    for name in built_in::names(&registry.catalogue) {
        for preset in built_in::presets(name) {
            let ids = registry.load(name, &Overrides::preset(&preset))?.ids();
            let done = ids.iter().filter(|id| contents.has(id)).count();
            progress.push((name, preset, done, ids.len()));
        }
    }
    if arguments.json {
        let experiments = progress.iter();
        let experiments: Vec<_> = experiments
            .map(|(name, preset, done, runs)| json!({"experiment": name, "preset": preset, "done": done, "runs": runs}))
            .collect();
        super::print_json(&json!({"rows": contents.rows.len(), "segments": contents.segments, "torn": contents.torn,
            "duplicates": contents.duplicates, "conflicts": contents.conflicts, "experiments": experiments}))?;
    } else {
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}: {} runs in {} segments, {} torn lines, {} duplicates, {} conflicts",
            arguments.store.display(),
            contents.rows.len(),
            contents.segments,
            contents.torn,
            contents.duplicates,
            contents.conflicts.len()
        )?;
        let width = progress.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        for (name, preset, done, runs) in progress.iter().filter(|(.., runs)| *runs > 0) {
            writeln!(out, "{name:width$} {preset:6} {done:>6} of {runs:>6} done")?;
        }
        for id in &contents.conflicts {
            writeln!(out, "conflict: run {id} is there twice with different results")?;
        }
    }
    if !contents.conflicts.is_empty() {
        bail!("the store holds {} conflicts; equal runs must have equal results", contents.conflicts.len());
    }
    Ok(())
}

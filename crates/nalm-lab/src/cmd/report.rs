//! `nalm report`, `nalm status` and `nalm export`: what the store holds, in three forms.

use crate::cli::{Export, Report, Status};
use crate::row::Row;
use crate::store;
use crate::suite::{self, Experiment, Overrides};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(arguments: &Report) -> Result<()> {
    let overrides = Overrides { preset: arguments.preset.clone(), seeds: arguments.seeds, ..Overrides::default() };
    let experiments: Vec<Experiment> =
        arguments.experiments.iter().map(|name| suite::load(name, &overrides)).collect::<Result<_>>()?;
    write(&experiments, &arguments.store, &arguments.out)
}

pub(crate) fn write(experiments: &[Experiment], store: &Path, out: &Path) -> Result<()> {
    let contents = store::read(store)?;
    let (mut agree, mut compared) = (0, 0);
    let mut stdout = std::io::stdout().lock();
    for experiment in experiments {
        let found = crate::report::write(experiment, &contents.rows, out)?;
        (agree, compared) = (agree + found.agree, compared + found.compared);
        let page = out.join(format!("{}.html", experiment.name));
        writeln!(
            stdout,
            "{}: {} of {} published values agree; {}",
            experiment.name,
            found.agree,
            found.compared,
            page.display()
        )?;
    }
    if experiments.len() > 1 {
        writeln!(stdout, "{agree} of {compared} published values agree")?;
    }
    Ok(())
}

pub(crate) fn status(arguments: &Status) -> Result<()> {
    let contents = store::read(&arguments.store)?;
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
    for (name, preset) in
        suite::names().iter().flat_map(|name| ["smoke", "quick", "paper"].map(|preset| (*name, preset)))
    {
        let experiment = suite::load(name, &Overrides { preset: Some(preset.into()), ..Overrides::default() })?;
        let done = experiment.runs.iter().filter(|run| contents.rows.contains_key(&run.id())).count();
        writeln!(out, "{name:20} {preset:6} {done:>6} of {:>6} done", experiment.runs.len())?;
    }
    for id in &contents.conflicts {
        writeln!(out, "conflict: run {id} is there twice with different results")?;
    }
    if !contents.conflicts.is_empty() {
        bail!("the store holds {} conflicts; equal runs must have equal results", contents.conflicts.len());
    }
    Ok(())
}

pub(crate) fn export(arguments: &Export) -> Result<()> {
    let contents = store::read(&arguments.store)?;
    let mut experiments: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in suite::names() {
        for preset in ["smoke", "quick", "paper"] {
            let experiment = suite::load(name, &Overrides { preset: Some(preset.into()), ..Overrides::default() })?;
            for run in &experiment.runs {
                let names = experiments.entry(run.id()).or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    if let Some(path) = &arguments.jsonl {
        let mut out = open(path)?;
        for row in contents.rows.values() {
            let mut value = serde_json::to_value(row)?;
            value["experiments"] = serde_json::json!(experiments.get(&row.id).cloned().unwrap_or_default());
            writeln!(out, "{value}")?;
        }
        out.flush()?;
    }
    if let Some(path) = &arguments.csv {
        write_csv(contents.rows.values(), open(path)?)?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdout().lock()));
    }
    Ok(Box::new(std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?))
}

/// The columns that `nalm stats` reads, and what else is flat.
fn write_csv<'a>(rows: impl Iterator<Item = &'a Row>, out: impl Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        "task",
        "operation",
        "module",
        "range",
        "stream",
        "steps",
        "seed",
        "solved",
        "solved_at",
        "sparsity_error",
    ])?;
    for row in rows {
        let spec = &row.spec;
        writer.write_record([
            spec.task.clone(),
            spec.operation.clone(),
            spec.module.clone(),
            spec.range.clone(),
            spec.stream.clone(),
            spec.steps.to_string(),
            spec.seed.to_string(),
            row.is_solved().to_string(),
            row.solved_step().map_or("NA".into(), |step| step.to_string()),
            row.sparsity_error.map_or("NA".into(), |error| error.to_string()),
        ])?;
    }
    writer.flush()?;
    Ok(())
}

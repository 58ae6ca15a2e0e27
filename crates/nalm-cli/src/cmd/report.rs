//! `nalm report`, `nalm status` and `nalm export`: what the store holds, in three forms.

use crate::cli::{Export, Output, Report, Status};
use crate::row::Row;
use crate::schedule;
use crate::store;
use crate::suite::{self, Overrides, Study};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(arguments: &Report) -> Result<()> {
    let overrides = Overrides {
        preset: arguments.preset.clone(),
        seeds: arguments.seeds,
        stream: arguments.stream.map(|stream| stream.to_string()),
        ..Overrides::default()
    };
    let mut studies = suite::load_all(&arguments.experiments, &overrides)?;
    if arguments.experiments == ["all"] {
        // A store rarely holds all of them, and pages without a row say nothing.
        let contents = store::read_existing(&arguments.store)?;
        let (kept, empty): (Vec<Study>, Vec<Study>) = studies.into_iter().partition(|study| {
            let ids = study.ids();
            ids.is_empty() || ids.iter().any(|id| contents.has(id))
        });
        if !empty.is_empty() {
            let names: Vec<&str> = empty.iter().map(Study::name).collect();
            say!("left out, because the store has no row of them: {}", names.join(", "));
        }
        studies = kept;
    }
    write(&studies, &arguments.store, &arguments.output)
}

pub(crate) fn write(studies: &[Study], store: &Path, output: &Output) -> Result<()> {
    let (contents, out) = (store::read(store)?, &output.out);
    // Before anything is written: a page without rows would take the place of one that has some.
    for study in studies {
        let (ids, name, preset) = (study.ids(), study.name(), study.preset());
        let found = ids.is_empty() || ids.iter().any(|id| contents.has(id));
        ensure!(found, "{} has no row of {name} at preset {preset}; nalm run makes them", store.display());
    }
    let (mut all, mut placed) = (Vec::new(), 0);
    for study in studies {
        let found = match study {
            Study::Numbers(experiment) => crate::report::write(experiment, &contents, out)?,
            Study::Images(experiment) => crate::images::write(experiment, &contents, out)?,
        };
        if output.png {
            found.figures.iter().try_for_each(|name| crate::figure::png::write(out, name))?;
        }
        if let Some(readme) = &output.readme {
            placed += usize::from(crate::readme::splice(readme, study.name(), &found, out)?);
        }
        all.push(found);
    }
    if let (Some(readme), 0) = (&output.readme, placed) {
        let (file, name) = (readme.display(), studies[0].name());
        bail!(
            "{file} has no place for it; put the lines <!-- nalm:{name} --> and <!-- /nalm:{name} --> where it belongs"
        );
    }
    if output.json {
        let list = studies.iter().zip(&all).map(|(s, f)| {
            json!({"experiment": s.name(), "preset": s.preset(),
            "rows": f.rows, "runs": s.ids().len(), "agree": f.agree, "compared": f.compared, "figures": f.figures})
        });
        super::print_json(&list.collect::<Vec<_>>())?;
    } else {
        let mut stdout = std::io::stdout().lock();
        for (study, found) in studies.iter().zip(&all) {
            let name = study.name();
            let page = out.join(format!("{name}.html"));
            let (agree, compared, page) = (found.agree, found.compared, page.display());
            writeln!(stdout, "{name}: {agree} of {compared} published values agree; {page}")?;
        }
        if all.len() > 1 {
            let (agree, compared) = all.iter().fold((0, 0), |(a, c), f| (a + f.agree, c + f.compared));
            let page = out.join("index.html");
            writeln!(stdout, "{agree} of {compared} published values agree; {}", page.display())?;
        }
    }
    if all.len() > 1 {
        crate::report::write_index(all, out)?;
    }
    Ok(())
}

pub(crate) fn status(arguments: &Status) -> Result<()> {
    let contents = store::read(&arguments.store)?;
    let mut progress = Vec::new();
    for name in suite::names() {
        for preset in suite::presets(name) {
            let ids = suite::load(name, &Overrides::preset(preset))?.ids();
            let done = ids.iter().filter(|id| contents.has(id)).count();
            progress.push((name, preset, done, ids.len()));
        }
    }
    if arguments.json {
        let experiments: Vec<_> = progress
            .iter()
            .map(|(name, preset, done, runs)| json!({"experiment": name, "preset": preset, "done": done, "runs": runs}))
            .collect();
        super::print_json(&json!({"rows": contents.len(), "segments": contents.segments, "torn": contents.torn,
            "duplicates": contents.duplicates, "conflicts": contents.conflicts, "experiments": experiments}))?;
    } else {
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}: {} runs in {} segments, {} torn lines, {} duplicates, {} conflicts",
            arguments.store.display(),
            contents.len(),
            contents.segments,
            contents.torn,
            contents.duplicates,
            contents.conflicts.len()
        )?;
        for (name, preset, done, runs) in progress.iter().filter(|(.., runs)| *runs > 0) {
            writeln!(out, "{name:20} {preset:6} {done:>6} of {runs:>6} done")?;
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

pub(crate) fn export(arguments: &Export) -> Result<()> {
    let contents = store::read_existing(&arguments.store)?;
    let mut experiments: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in suite::names() {
        for preset in suite::presets(name) {
            for id in suite::load(name, &Overrides::preset(preset))?.ids() {
                let names = experiments.entry(id).or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    if let Some(path) = &arguments.jsonl {
        let mut out = open(path)?;
        let rows = contents.rows.values().map(serde_json::to_value);
        for value in rows.chain(contents.images.values().map(serde_json::to_value)) {
            let mut value = value?;
            let own = value["id"].as_str().and_then(|id| experiments.get(id)).cloned();
            value["experiments"] = json!(own.unwrap_or_default());
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

/// The columns that `nalm stats` reads, and all that tells runs apart.
fn write_csv<'a>(rows: impl Iterator<Item = &'a Row>, out: impl Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let names = "module options task operation inputs problem range test_range stream steps schedule seed solved solved_at sparsity_error";
    writer.write_record(names.split(' ')).map_err(std::io::Error::from)?;
    for row in rows {
        let spec = &row.spec;
        let cells = [
            spec.module.clone(),
            flat(&serde_json::to_value(&spec.options)?),
            spec.task.clone(),
            spec.operation.clone(),
            spec.inputs.to_string(),
            flat(&serde_json::to_value(&spec.problem)?),
            spec.range.clone(),
            spec.test_range.clone(),
            spec.stream.clone(),
            spec.steps.to_string(),
            spec.schedule.as_ref().map_or(String::new(), schedule::Written::name),
            spec.seed.to_string(),
            row.is_solved().to_string(),
            row.solved_step().map_or("NA".into(), |step| step.to_string()),
            row.sparsity_error.map_or("NA".into(), |error| error.to_string()),
        ];
        writer.write_record(cells).map_err(std::io::Error::from)?;
    }
    writer.flush()?;
    Ok(())
}

/// The keys and values of an object in one cell.
fn flat(object: &Value) -> String {
    let pair = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    object.as_object().map_or(String::new(), |map| map.iter().map(pair).collect::<Vec<_>>().join(" "))
}

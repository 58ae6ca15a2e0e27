//! `nalm export`: the rows of a store as CSV or JSON lines.

use crate::arguments::Export;
use anyhow::{Context, Result};
use nalm_lab::experiment::{Overrides, built_in};
use nalm_lab::run::{Row, Spec, schedule};
use nalm_lab::{Registry, store};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(registry: &Registry, arguments: &Export) -> Result<()> {
    let contents = store::read_existing(&arguments.store)?;
    let rows = || contents.rows.values();
    if let Some(path) = &arguments.jsonl {
        let experiments = membership(registry)?;
        let mut out = open(path)?;
        for row in rows() {
            let mut value = serde_json::to_value(row)?;
            value["experiments"] = json!(experiments.get(&row.id).cloned().unwrap_or_default());
            writeln!(out, "{value}")?;
        }
        out.flush()?;
    }
    if let Some(path) = &arguments.csv {
        write_csv(rows, open(path)?)?;
    }
    Ok(())
}

/// The experiments that every run belongs to.
fn membership(registry: &Registry) -> Result<BTreeMap<String, Vec<&'static str>>> {
    let mut experiments: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in built_in::names(&registry.catalogue) {
        for preset in built_in::presets(name) {
            for id in registry.load(name, &Overrides::preset(&preset))?.ids() {
                let names = experiments.entry(id).or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    Ok(experiments)
}

fn open(path: &Path) -> Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdout().lock()));
    }
    Ok(Box::new(std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?))
}

/// Everything that tells runs apart, how they ended, and all metrics that any of them has.
fn write_csv<'a, I: Iterator<Item = &'a Row>>(rows: impl Fn() -> I, out: impl Write) -> Result<()> {
    let metrics: BTreeSet<&str> = rows().flat_map(|row| row.metrics.keys()).map(String::as_str).collect();
    let texts = ["operation", "inputs", "range", "test_range", "stream", "steps"];
    let head = ["module", "options", "task", "problem"].into_iter().chain(texts).chain(["schedule", "seed", "status"]);
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(head.chain(metrics.iter().copied())).map_err(std::io::Error::from)?;
    for row in rows() {
        let spec = &row.spec;
        let options = spec.map().get("options").or_else(|| spec.map().get("settings")).map(flat).unwrap_or_default();
        let problem = spec.map().get("problem").map(flat).unwrap_or_default();
        let mut cells = vec![model(spec), options, spec.task().into(), problem];
        cells.extend(texts.iter().map(|key| spec.map().get(*key).map_or(String::new(), plain)));
        cells.extend([schedule_of(spec), spec.seed().to_string(), row.status.name().into()]);
        cells.extend(metrics.iter().map(|name| row.metrics.get(*name).map_or("NA".into(), plain)));
        writer.write_record(cells).map_err(std::io::Error::from)?;
    }
    writer.flush()?;
    Ok(())
}

/// The module, or the layers of a stack.
fn model(spec: &Spec) -> String {
    spec.get("layers").map_or_else(|| spec.module().into(), Value::to_string)
}

fn schedule_of(spec: &Spec) -> String {
    let written =
        spec.get("schedule").and_then(|value| serde_json::from_value::<schedule::Written>(value.clone()).ok());
    written.map_or(String::new(), |schedule| schedule.name())
}

/// A value in one cell; what is no number is NA.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "NA".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The keys and values of an object in one cell.
fn flat(object: &Value) -> String {
    let pair = |(key, value): (&String, &Value)| format!("{key}={}", plain(value));
    object.as_object().map_or(String::new(), |map| map.iter().map(pair).collect::<Vec<_>>().join(" "))
}

//! `nalm export`: the rows of a store as CSV or JSON lines, one after the other, however many there are.

use super::sound;
use crate::arguments::Export;
use anyhow::Result;
use nalm_lab::experiment::{Overrides, built_in};
use nalm_lab::run::{Row, Spec, Status, schedule};
use nalm_lab::store::{Entry, Index};
use nalm_lab::{Error, Registry, files};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(crate) fn run(registry: &Registry, arguments: &Export) -> Result<()> {
    let index = registry.store(&arguments.store).existing()?;
    if let Some(path) = &arguments.jsonl {
        let experiments = membership(registry)?;
        write(registry, path, |out| {
            for entry in index.entries() {
                let names = experiments.get(&entry.id()).map_or(&[][..], Vec::as_slice);
                out.write_all(&json_line(&index, entry, names).map_err(io::Error::other)?)?;
            }
            Ok(())
        })?;
    }
    if let Some(path) = &arguments.csv {
        let metrics = metrics(&index)?;
        write(registry, path, |out| write_csv(&index, &metrics, out))?;
    }
    sound(&index)
}

/// Writes a file as a whole, or to the standard output.
fn write(registry: &Registry, path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        fill(&mut out).and_then(|()| out.flush())?;
        return Ok(());
    }
    Ok(files::write(&*registry.files, path, fill)?)
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

/// A row with its experiments. Rows have their keys in order, so that this one finds its place without reading all of them; rows of
/// earlier versions are brought into today's form.
fn json_line(index: &Index, entry: &Entry, experiments: &[&str]) -> Result<Vec<u8>, Error> {
    let text = index.text(entry)?;
    let key = format!("\"id\":\"{}\"", entry.id());
    let has = |what: &str| text.windows(what.len()).position(|window| window == what.as_bytes());
    if let (Some(place), Some(_)) = (has(&key), has("\"spec\":{")) {
        let added = format!("\"experiments\":{},", serde_json::to_string(experiments)?);
        return Ok([&text[..place], added.as_bytes(), &text[place..], b"\n"].concat());
    }
    let mut value = serde_json::to_value(index.row(entry)?)?;
    value["experiments"] = json!(experiments);
    Ok(format!("{value}\n").into_bytes())
}

/// What the CSV file has of a row.
#[derive(Deserialize)]
struct Part {
    spec: Spec,
    status: Status,
    metrics: Map<String, Value>,
}

fn part(index: &Index, entry: &Entry) -> Result<Part, Error> {
    let read = serde_json::from_slice(&index.text(entry)?);
    read.or_else(|_| {
        let Row { spec, status, metrics, .. } = index.row(entry)?;
        Ok(Part { spec, status, metrics })
    })
}

/// The names of all metrics that any row has.
fn metrics(index: &Index) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for entry in index.entries() {
        for name in part(index, entry)?.metrics.into_iter().map(|(name, _)| name) {
            names.insert(name);
        }
    }
    Ok(names.into_iter().collect())
}

/// What has a column of its own, of the specification.
const TEXTS: [&str; 6] = ["operation", "inputs", "range", "test_range", "stream", "steps"];

/// What the other columns are made of, or what says nothing about a run.
const ELSEWHERE: [&str; 11] =
    ["task", "module", "head", "layers", "options", "settings", "problem", "schedule", "seed", "numerics", "curve"];

/// Everything that tells runs apart, how they ended, and the metrics.
fn write_csv(index: &Index, metrics: &[String], out: &mut dyn Write) -> io::Result<()> {
    let head = ["module", "options", "task", "problem"].into_iter().chain(TEXTS).chain(["schedule", "seed", "status"]);
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(head.chain(metrics.iter().map(String::as_str)))?;
    for entry in index.entries() {
        let Part { spec, status, metrics: own } = part(index, entry).map_err(io::Error::other)?;
        let map = spec.map();
        let options = map.get("options").or_else(|| map.get("settings")).and_then(Value::as_object);
        let more = |(key, _): &(&String, &Value)| !TEXTS.contains(&key.as_str()) && !ELSEWHERE.contains(&key.as_str());
        let problem = map.get("problem").and_then(Value::as_object).into_iter().flatten();
        let problem = flat(problem.chain(map.iter().filter(more)));
        let mut cells = vec![model(&spec), flat(options.into_iter().flatten()), spec.task().into(), problem];
        cells.extend(TEXTS.iter().map(|key| map.get(*key).map_or(String::new(), plain)));
        cells.extend([schedule_of(&spec), spec.seed().to_string(), status.name().into()]);
        cells.extend(metrics.iter().map(|name| own.get(name).map_or("NA".into(), plain)));
        writer.write_record(cells)?;
    }
    writer.flush()
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

/// Keys and values in one cell.
fn flat<'a>(pairs: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    pairs.map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(" ")
}

//! `nalm export`: the rows of a store as CSV or JSON lines, one after the other, however many there are.

use super::sound;
use crate::arguments::{Ended, Export};
use anyhow::{Result, ensure};
use nalm_lab::experiment::{Experiment, Overrides, built_in};
use nalm_lab::run::schedule;
use nalm_lab::store::{Entry, Index};
use nalm_lab::{Error, Registry, files};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};

pub(crate) fn run(registry: &Registry, arguments: &Export) -> Result<()> {
    let text = "say what to write: --csv FILE or --jsonl FILE, - for the standard output";
    ensure!(arguments.csv.is_some() || arguments.jsonl.is_some(), Error::Request(text.into()));
    let outputs = [("--csv", arguments.csv.as_ref()), ("--jsonl", arguments.jsonl.as_ref())];
    super::ensure_apart(outputs, arguments.experiment.iter().map(Path::new))?;
    let index = registry.store(&arguments.store).existing()?;
    for path in [&arguments.csv, &arguments.jsonl].into_iter().flatten().filter(|path| *path != Path::new("-")) {
        ensure_outside(&arguments.store, path)?;
    }
    let both =
        [&arguments.csv, &arguments.jsonl].into_iter().flatten().filter(|path| *path == Path::new("-")).count() > 1;
    let text = "--csv - and --jsonl - would both go to the standard output; give one of them a file";
    ensure!(!both, Error::Request(text.into()));
    let wanted = Wanted::new(registry, &index, arguments)?;
    let experiments = membership(registry, &index);
    let of = |entry: &Entry| experiments.get(&entry.id()).map_or(&[][..], Vec::as_slice);
    let rows = sorted(&index, &wanted, of)?;
    if rows.is_empty() && !index.entries().is_empty() {
        say!("no row matches");
    }
    if let Some(path) = &arguments.jsonl {
        let line = |entry: &Entry| json_line(&index, entry, of(entry));
        write(registry, path, |out| lines(&index, &rows, line, out))?;
    }
    if let Some(path) = &arguments.csv {
        let metrics = match index.metrics() {
            Some(names) => names.iter().cloned().collect(),
            None => metrics(&index)?,
        };
        write(registry, path, |out| {
            let mut names = line();
            head().try_for_each(|name| names.write_field(name))?;
            metrics.iter().try_for_each(|name| names.write_field(name))?;
            out.write_all(&end(names)?)?;
            let wrong = |error: csv::Error| Error::File { what: "cannot write CSV".into(), cause: error.into() };
            let line =
                |entry: &Entry| with_row(&index, entry, |row| csv_line(row, of(entry), &metrics))?.map_err(wrong);
            lines(&index, &rows, line, out)
        })?;
    }
    sound(&index)
}

/// Which rows are wanted: of each kind that was named, one must hold.
struct Wanted<'a> {
    /// The runs of the experiments that were named.
    runs: Option<BTreeSet<String>>,
    modules: &'a [String],
    ranges: Vec<String>,
    ends: &'a [Ended],
}

impl<'a> Wanted<'a> {
    fn new(registry: &Registry, index: &Index, arguments: &'a Export) -> Result<Self> {
        arguments.module.iter().try_for_each(|module| registry.catalogue.module(module).map(drop))?;
        let ranges = arguments.range.iter().map(ToString::to_string).collect();
        let mut runs = BTreeSet::new();
        let asked = if arguments.experiment.is_empty() { Vec::new() } else { super::status::asked(registry, index) };
        // By its file, or as the column of experiments shows it.
        let is_called =
            |experiment: &Experiment, name: &String| name_of(name) == experiment.name || *name == experiment.name;
        let is_known = |name: &String| asked.iter().any(|(experiment, _)| is_called(experiment, name));
        for name in &arguments.experiment {
            let is_own = !built_in::names(&registry.catalogue).contains(&name.as_str());
            if is_own && is_known(name) && !Path::new(name).exists() {
                continue;
            }
            // One after the other: plans take far more memory than what is kept of them.
            for preset in presets(registry, name) {
                let experiment = registry.load(name, &Overrides { preset, ..Overrides::default() })?;
                runs.extend(runs_of(registry, index, &experiment));
            }
        }
        // What the store was asked for by that name counts with its changes, too.
        let named = |experiment: &Experiment| arguments.experiment.iter().any(|name| is_called(experiment, name));
        for (experiment, _) in asked.iter().filter(|(experiment, _)| named(experiment)) {
            runs.extend(runs_of(registry, index, experiment));
        }
        let runs = (!arguments.experiment.is_empty()).then_some(runs);
        Ok(Self { runs, modules: &arguments.module, ranges, ends: &arguments.status })
    }

    fn takes_all(&self) -> bool {
        self.runs.is_none() && self.modules.is_empty() && self.ranges.is_empty() && self.ends.is_empty()
    }

    fn takes(&self, row: &Shown<'_>, id: &str) -> bool {
        if self.takes_all() {
            return true;
        }
        let any = |wanted: &[String], holds: &dyn Fn(&String) -> bool| wanted.is_empty() || wanted.iter().any(holds);
        let text = |name: &str| row.spec.get(name).map(|value| plain(value));
        let layers = row.spec.get("layers").and_then(|value| serde_json::from_str::<Vec<Value>>(value.get()).ok());
        let layers = layers.unwrap_or_default();
        let has_module = |name: &String| {
            [text("module"), text("head")].iter().flatten().any(|own| own.as_ref() == name.as_str())
                || layers.iter().any(|layer| layer["module"] == **name)
        };
        let solved = row.metrics.get("solved").is_some_and(|value| value.get() == "true");
        let ended = |end: &Ended| match end {
            Ended::Completed => row.status == "completed",
            Ended::Diverged => row.status == "diverged",
            Ended::Solved => solved,
            Ended::Unsolved => !solved,
        };
        self.runs.as_ref().is_none_or(|runs| runs.contains(id))
            && any(self.modules, &has_module)
            && any(&self.ranges, &|range| text("range").is_some_and(|own| own.as_ref() == range.as_str()))
            && (self.ends.is_empty() || self.ends.iter().any(ended))
    }
}

/// The name of an experiment that is given by its file.
fn name_of(experiment: &str) -> String {
    Path::new(experiment).file_stem().map_or(experiment.into(), |stem| stem.to_string_lossy().into_owned())
}

/// A table among the segments of a store would take the place of one, or be read as one.
fn ensure_outside(store: &Path, path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let inside =
        |part: &str| matches!((folder.canonicalize(), store.join(part).canonicalize()), (Ok(a), Ok(b)) if a == b);
    if ["seg", "weights", "checkpoints"].into_iter().any(inside) {
        let (path, store) = (path.display(), store.display());
        return Err(Error::Request(format!(
            "{path} would lie among the files of the store {store}; give another folder"
        ))
        .into());
    }
    Ok(())
}

/// Writes a file as a whole, or to the standard output.
fn write(registry: &Registry, path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        fill(&mut out).and_then(|()| out.flush())?;
        return Ok(());
    }
    files::write(&*registry.files, path, fill)?;
    say!("{} is written", path.display());
    Ok(())
}

/// The rows that are wanted, by experiment, module, settings, range and seed: by the columns up to the seed, one after the other.
fn sorted<'a>(index: &Index, wanted: &Wanted<'_>, of: impl Fn(&Entry) -> &'a [String] + Sync) -> Result<Vec<Entry>> {
    // There may be millions of rows, but they have few names: a number stands for all of them but the seed.
    let names = Mutex::new(BTreeMap::<String, u32>::new());
    let key = |entry: &Entry| {
        with_row(index, entry, |row| {
            if !wanted.takes(row, &entry.id()) {
                return [u32::MAX.to_le_bytes().as_slice(), &[0; 8]].concat();
            }
            let text = setting(row, of(entry), |key| key != WEIGHTS).join("\0");
            let seed = row.spec.get("seed").and_then(|value| plain(value).parse().ok()).unwrap_or(u64::MAX);
            let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
            let next = names.len() as u32;
            let name = *names.entry(text).or_insert(next);
            [name.to_le_bytes().as_slice(), &seed.to_le_bytes()].concat()
        })
    };
    let mut found = Vec::new();
    index.in_order(key, |bytes| {
        found.extend_from_slice(bytes);
        Ok(())
    })?;
    let names = names.into_inner().unwrap_or_else(PoisonError::into_inner);
    let places: BTreeMap<u32, usize> = names.values().enumerate().map(|(place, name)| (*name, place)).collect();
    let rows = found.as_chunks::<12>().0.iter().zip(index.entries()).filter_map(|(key, entry)| {
        let (name, seed) = key.split_at(4);
        let place = places.get(&u32::from_le_bytes(name.try_into().ok()?))?;
        Some((*place, u64::from_le_bytes(seed.try_into().ok()?), *entry))
    });
    let mut rows: Vec<(usize, u64, Entry)> = rows.collect();
    // What is alike stays in the order of identity.
    rows.sort_by_key(|(place, seed, _)| (*place, *seed));
    Ok(rows.into_iter().map(|(.., entry)| entry).collect())
}

/// Writes something of some rows.
fn lines(
    index: &Index,
    rows: &[Entry],
    line: impl Fn(&Entry) -> Result<Vec<u8>, Error> + Sync,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The output's own failure must stay one of the output.
    let mut failed = None;
    let done = index.each(rows, line, |bytes| {
        out.write_all(bytes).map_err(|cause| {
            let kind = cause.kind();
            failed = Some(cause);
            Error::File { what: "cannot write".into(), cause: kind.into() }
        })
    });
    match (failed, done) {
        (Some(cause), _) => Err(cause),
        (None, done) => done.map_err(io::Error::other),
    }
}

/// The names of the experiments that every run belongs to.
type Membership = BTreeMap<String, Vec<String>>;

/// By what the store was asked for: the same names, whatever is exported of it, and in whichever form.
fn membership(registry: &Registry, index: &Index) -> Membership {
    let mut all = Membership::new();
    for (experiment, _) in super::status::asked(registry, index) {
        for id in runs_of(registry, index, &experiment) {
            let names = all.entry(id).or_default();
            if !names.contains(&experiment.name) {
                names.push(experiment.name.clone());
            }
        }
    }
    all
}

/// The runs of an experiment that are there.
fn runs_of(registry: &Registry, index: &Index, experiment: &Experiment) -> impl Iterator<Item = String> {
    experiment.ids_of_all_versions(&registry.catalogue).into_iter().filter(|id| index.has(id))
}

/// Every preset of an experiment; of one from a file its own.
fn presets(registry: &Registry, name: &str) -> Vec<Option<String>> {
    let known = built_in::names(&registry.catalogue).contains(&name);
    if known { built_in::presets(name).into_iter().map(Some).collect() } else { vec![None] }
}

/// A row with its experiments. Rows have their keys in order, so that this one finds its place without reading all of them; rows of
/// earlier versions are brought into today's form.
fn json_line(index: &Index, entry: &Entry, experiments: &[String]) -> Result<Vec<u8>, Error> {
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

/// The names of all metrics that any row has, row by row.
fn metrics(index: &Index) -> Result<Vec<String>> {
    let all = RwLock::new(BTreeSet::<String>::new());
    let look = |entry: &Entry| {
        // Nearly every row has the names of those before it, so threads only read, and need not wait for each other.
        let new: Vec<String> = with_row(index, entry, |row| {
            let known = all.read().unwrap_or_else(PoisonError::into_inner);
            row.metrics.keys().filter(|name| !known.contains(&*name.0)).map(|name| name.0.to_string()).collect()
        })?;
        if !new.is_empty() {
            all.write().unwrap_or_else(PoisonError::into_inner).extend(new);
        }
        Ok(Vec::new())
    };
    index.in_order(look, |_| Ok(()))?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect())
}

/// What a table shows of a row in today's form. Texts are not copied, and numbers stay as they are written: there may be millions of rows.
#[derive(Deserialize)]
struct Shown<'a> {
    #[serde(borrow)]
    spec: Pairs<'a>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    metrics: Pairs<'a>,
}

/// The keys of an object and the JSON of their values, in the order of the keys.
type Pairs<'a> = BTreeMap<Text<'a>, &'a RawValue>;

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Makes something of a row. One of an earlier version is brought into today's form first.
fn with_row<T>(index: &Index, entry: &Entry, make: impl Fn(&Shown<'_>) -> T) -> Result<T, Error> {
    let text = index.text(entry)?;
    // As one text, which is checked faster than its parts.
    if let Some(row) = str::from_utf8(&text).ok().and_then(|text| serde_json::from_str(text).ok()) {
        return Ok(make(&row));
    }
    Ok(make(&serde_json::from_str(&serde_json::to_string(&index.row(entry)?)?)?))
}

/// What has a column of its own, of the specification.
const TEXTS: [&str; 6] = ["operation", "inputs", "range", "test_range", "stream", "steps"];

/// What the other columns are made of, or what says nothing about a run.
const ELSEWHERE: [&str; 11] =
    ["task", "module", "head", "layers", "options", "settings", "problem", "schedule", "seed", "numerics", "curve"];

/// Where a run of a grid starts, which no other run does: there are as many of these as rows, too many to sort by their texts.
const WEIGHTS: &str = "weights";

/// The columns before the metrics.
fn head() -> impl Iterator<Item = &'static str> {
    ["experiment", "module", "options", "task", "problem"]
        .into_iter()
        .chain(TEXTS)
        .chain(["schedule", "seed", "status"])
}

/// A line of CSV, to be written cell by cell.
fn line() -> csv::Writer<Vec<u8>> {
    csv::WriterBuilder::new().buffer_capacity(1 << 10).from_writer(Vec::new())
}

fn end(mut line: csv::Writer<Vec<u8>>) -> csv::Result<Vec<u8>> {
    line.write_record(None::<&[u8]>)?;
    line.into_inner().map_err(|error| io::Error::other(error.to_string()).into())
}

/// The columns before the seed: what was run. Settings without a column of their own stand with the problem, as far as they are wanted.
fn setting<'a>(row: &'a Shown<'_>, experiments: &[String], is_wanted: impl Fn(&str) -> bool) -> Vec<Cow<'a, str>> {
    let spec = &row.spec;
    let cell = |name: &str| spec.get(name).map(|value| plain(value));
    let object = |name: &str| -> Option<Pairs<'_>> { serde_json::from_str(spec.get(name)?.get()).ok() };
    let own = |key: &str| !TEXTS.contains(&key) && !ELSEWHERE.contains(&key) && is_wanted(key);
    let more = spec.iter().filter(|(key, _)| own(&key.0)).map(|(key, value)| (Text(Cow::Borrowed(&*key.0)), *value));
    let problem = [flat(&object("problem").unwrap_or_default()), flat(&more.collect())];
    let problem: Vec<String> = problem.into_iter().filter(|part| !part.is_empty()).collect();
    let mut cells = vec![
        experiments.join("; ").into(),
        // The module, or the layers of a stack.
        ["layers", "module", "head"].into_iter().find_map(cell).unwrap_or_default(),
        flat(&object("options").or_else(|| object("settings")).unwrap_or_default()).into(),
        cell("task").unwrap_or(NONE),
        problem.join(" ").into(),
    ];
    cells.extend(TEXTS.map(|key| cell(key).unwrap_or_default()));
    let schedule = spec.get("schedule").and_then(|value| serde_json::from_str::<schedule::Written>(value.get()).ok());
    cells.push(schedule.map_or(String::new(), |schedule| schedule.name()).into());
    cells
}

/// Everything that tells a run apart, how it ended, and its metrics.
fn csv_line(row: &Shown<'_>, experiments: &[String], metrics: &[String]) -> csv::Result<Vec<u8>> {
    let mut line = line();
    setting(row, experiments, |_| true).iter().try_for_each(|cell| line.write_field(&**cell))?;
    line.write_field(&*row.spec.get("seed").map_or(NONE, |value| plain(value)))?;
    line.write_field(&*row.status)?;
    // Both are in the order of their names.
    let mut own = row.metrics.iter().peekable();
    for name in metrics {
        line.write_field(&*own.next_if(|(key, _)| key.0 == *name).map_or(NONE, |(_, value)| plain(value)))?;
    }
    end(line)
}

/// What is no number, or not there.
const NONE: Cow<'static, str> = Cow::Borrowed("NA");

/// A value in one cell: a text without its quotes, anything else as it is written.
fn plain(value: &RawValue) -> Cow<'_, str> {
    match value.get() {
        "null" => NONE,
        text if text.starts_with('"') => serde_json::from_str(text).map_or(text.into(), |Text(text)| text),
        text => text.into(),
    }
}

/// Keys and values in one cell.
fn flat(pairs: &Pairs<'_>) -> String {
    pairs.iter().map(|(key, value)| format!("{}={}", key.0, plain(value))).collect::<Vec<_>>().join(" ")
}

//! `nalm verify`: the laboratory against what was published, or a record against itself.

use super::run::{prepare, threads, train_all};
use crate::arguments::Verify;
use anyhow::{Result, bail, ensure};
use nalm_lab::experiment::{Experiment, Overrides, Relation};
use nalm_lab::pool::Order;
use nalm_lab::run::{Row, Spec, Status};
use nalm_lab::store::{self, Contents};
use nalm_lab::task::{Finished, Measures, Resources};
use nalm_lab::{Error, Registry};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn run(registry: &Registry, arguments: &Verify) -> Result<()> {
    match &arguments.record {
        Some(store) => record(registry, arguments, store),
        None => published(registry, arguments),
    }
}

/// The runs of an experiment that its expectations speak about. Statements about images need runs of hours or days; their comparison is in
/// the reports.
fn wanted(experiment: &Experiment) -> Vec<Spec> {
    let mut cells: BTreeSet<(usize, usize, &str)> = BTreeSet::new();
    for e in &experiment.expectations {
        let other = match e.relation {
            Relation::Above(other) | Relation::Equals(other) => Some(other),
            _ => None,
        };
        cells.extend(e.model.into_iter().chain(other).map(|model| (e.section, model, e.place.as_str())));
    }
    let numbers = |section: usize| experiment.sections[section].measures == Measures::Runs;
    let groups =
        experiment.groups.iter().filter(|g| numbers(g.section) && cells.contains(&(g.section, g.model, &g.place)));
    groups.flat_map(|group| experiment.runs[group.runs.clone()].iter().cloned()).collect()
}

fn published(registry: &Registry, arguments: &Verify) -> Result<()> {
    let all = ["all".to_string()];
    let names = if arguments.experiments.is_empty() { &all[..] } else { &arguments.experiments };
    let experiments = registry.load_all(names, &Overrides::preset("quick"))?;
    let mut seen = BTreeSet::new();
    let runs: Vec<Spec> = experiments.iter().flat_map(wanted).filter(|run| seen.insert(run.id())).collect();
    let mut contents = Contents::default();
    let order = Order { runs: &runs, threads: threads(arguments.threads), checkpoints: None };
    train_all(&registry.catalogue, &order, |finished| {
        contents.rows.extend(finished.map(|Finished { row, .. }| (row.id.clone(), row)));
        Ok(())
    })?;
    let mut out = std::io::stdout().lock();
    let mut list = Vec::new();
    let (mut agree, mut compared) = (0, 0);
    for experiment in &experiments {
        for c in registry.results(experiment, &contents).comparisons() {
            compared += 1;
            agree += usize::from(c.agrees);
            let model = c.expectation.model.map_or("", |model| experiment.models[model].as_str());
            let verdict = if c.agrees { "agrees" } else { "DIFF" };
            let (name, place) = (&experiment.name, &c.expectation.place);
            if arguments.json {
                list.push(json!({"experiment": name, "model": model, "range": place,
                    "published": c.published, "ours": c.ours, "agrees": c.agrees}));
            } else {
                writeln!(
                    out,
                    "{verdict:6} {name:20} {model:22} {place:13} published {}, ours {}",
                    c.published, c.ours
                )?;
            }
        }
    }
    drop(out);
    if arguments.json {
        super::print_json(&list)?;
    }
    say!("{agree} of {compared} published values agree");
    ensure!(compared > 0, "{} makes no published statement", names.join(", "));
    ensure!(agree == compared, "{} published values differ", compared - agree);
    Ok(())
}

/// Runs a sample of a record again and compares all bits.
fn record(registry: &Registry, arguments: &Verify, path: &Path) -> Result<()> {
    let contents = store::read_existing(path)?;
    let catalogue = &registry.catalogue;
    for file in &arguments.data {
        catalogue.task("table")?.load(file)?;
    }
    let seed = arguments.seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64 % 1_000_000_007)
    });
    let is_long = |row: &Row| catalogue.task(row.spec.task()).is_ok_and(|task| task.is_long());
    // Bits of the first image runs depend on the instruction set.
    let same_machine =
        |row: &Row| row.artefacts.get("instructions").is_none_or(|set| Some(set) == instructions().as_ref());
    let same_numerics = |row: &Row| {
        catalogue.task(row.spec.task()).is_ok_and(|task| task.numerics() == row.spec.numerics()) && same_machine(row)
    };
    let (mine, other): (Vec<&Row>, Vec<&Row>) = contents.rows.values().partition(|row| same_numerics(row));
    let (long, short): (Vec<&Row>, Vec<&Row>) =
        mine.into_iter().filter(|row| row.status != Status::Failed).partition(|row| is_long(row));
    let few_steps =
        |row: &&Row| arguments.most_steps.is_none_or(|most| row.spec.whole("steps").is_none_or(|steps| steps <= most));
    let has_images = !long.is_empty() || other.iter().any(|row| is_long(row));
    let mut rows = sample(short.into_iter().filter(few_steps).collect(), seed, arguments.sample);
    rows.extend(sample(long, seed, arguments.images));
    if rows.is_empty() {
        let asked = format!("--sample {} and --images {}", arguments.sample, arguments.images);
        let steps = arguments.most_steps.map_or(String::new(), |most| format!(" and --most-steps {most}"));
        let hint = if has_images { "; --images N runs N of its rows with images again" } else { "" };
        let versions = format!("numerics version {}", nalm::NUMERICS);
        bail!("{} holds no row to run again with {asked}{steps} ({versions}){hint}", path.display());
    }
    let count = rows.len();
    say!("sample {seed}: {count} of {} rows", contents.rows.len());
    if !other.is_empty() {
        say!("{} rows are of another numerics version or instruction set and are not compared", other.len());
    }
    let runs: Vec<Spec> = rows.iter().map(|row| row.spec.clone()).collect();
    prepare(catalogue, &runs, &Resources { mnist: arguments.mnist.clone() })?;
    let mut different = Vec::new();
    let order = Order { runs: &runs, threads: threads(arguments.threads), checkpoints: None };
    train_all(catalogue, &order, |finished| {
        let Some(Finished { row, .. }) = finished else { return Ok(()) };
        // A row that does not fit its own identity was changed by hand.
        if contents.rows.get(&row.id).is_none_or(|known| known.result_hash != row.result_hash) {
            let spec = &row.spec;
            let on = if spec.text("range").is_empty() { spec.task() } else { spec.text("range") };
            different.push(format!("{} on {on}, seed {} (run {})", spec.module(), spec.seed(), row.id));
        }
        Ok::<(), Error>(())
    })?;
    different.sort();
    if arguments.json {
        super::print_json(&json!({"sample": seed, "rows": count, "identical": count - different.len(),
            "different": different, "other_numerics": other.len()}))?;
    } else {
        let mut out = std::io::stdout().lock();
        different.iter().try_for_each(|line| writeln!(out, "different: {line}"))?;
        writeln!(out, "{} of {count} rows have identical bits", count - different.len())?;
    }
    ensure!(different.is_empty(), "{} rows of the record differ from what they are when run again", different.len());
    Ok(())
}

/// The name of the instruction set, as image rows have it.
fn instructions() -> Option<serde_json::Value> {
    nalm_lab::task::image_instructions().map(Into::into)
}

/// Some of the rows. The order of a hash is as good as a shuffle, and the same everywhere.
fn sample(mut rows: Vec<&Row>, seed: u64, most: usize) -> Vec<&Row> {
    rows.sort_by_cached_key(|row| <[u8; 32]>::from(Sha256::digest(format!("{seed} {}", row.id))));
    rows.truncate(most);
    rows
}

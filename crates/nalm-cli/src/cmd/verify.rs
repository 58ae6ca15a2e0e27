//! `nalm verify`: the laboratory against what was published, or a record against itself.

use super::run::{threads, train_all, train_images};
use crate::cli::Verify;
use crate::images::{self, ImageRow, ImageSpec};
use crate::pool::Finished;
use crate::row::Row;
use crate::runspec::RunSpec;
use crate::store;
use crate::suite::{self, Claim, Experiment, Overrides, Study};
use crate::summary::Results;
use anyhow::{Result, bail, ensure};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn run(arguments: &Verify) -> Result<()> {
    match &arguments.record {
        Some(store) => record(arguments, store),
        None => published(arguments),
    }
}

/// The runs of an experiment that its expectations speak about.
fn wanted(experiment: &Experiment) -> Vec<RunSpec> {
    let mut cells: BTreeSet<(usize, usize, &str)> = BTreeSet::new();
    for e in &experiment.expectations {
        let others = match e.claim {
            Claim::Beats(other) | Claim::Ties(other) => Some(other),
            _ => None,
        };
        cells.extend(e.model.into_iter().chain(others).map(|model| (e.section, model, e.range.as_str())));
    }
    let groups = experiment.groups.iter().filter(|g| cells.contains(&(g.section, g.model, g.range.as_str())));
    groups.flat_map(|group| experiment.runs[group.runs.clone()].iter().cloned()).collect()
}

fn published(arguments: &Verify) -> Result<()> {
    let all = ["all".to_string()];
    let names = if arguments.experiments.is_empty() { &all[..] } else { &arguments.experiments };
    let studies = suite::load_all(names, &Overrides::preset("quick"))?;
    // Statements about images need runs of hours or days; their comparison is in the reports.
    let experiments: Vec<Experiment> = studies.into_iter().filter_map(Study::numbers).collect();
    let mut runs: Vec<RunSpec> = Vec::new();
    let mut seen = BTreeSet::new();
    for run in experiments.iter().flat_map(wanted) {
        if seen.insert(run.id()) {
            runs.push(run);
        }
    }
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let keep = |Finished { row, .. }: Finished| {
        rows.insert(row.id.clone(), row);
        Ok(())
    };
    train_all(&runs, threads(arguments.threads), keep, || Ok(()))?;
    let mut out = std::io::stdout().lock();
    let mut list = Vec::new();
    let (mut agree, mut compared) = (0, 0);
    for experiment in &experiments {
        for c in Results::new(experiment, &rows).comparisons(experiment) {
            compared += 1;
            agree += usize::from(c.agrees);
            let model = c.expectation.model.map_or("", |model| experiment.models[model].as_str());
            let verdict = if c.agrees { "agrees" } else { "DIFF" };
            if arguments.json {
                list.push(json!({"experiment": experiment.name, "model": model, "range": c.expectation.range,
                    "published": c.published, "ours": c.ours, "agrees": c.agrees}));
            } else {
                let (name, range) = (&experiment.name, &c.expectation.range);
                writeln!(
                    out,
                    "{verdict:6} {name:20} {model:22} {range:13} published {}, ours {}",
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
fn record(arguments: &Verify, path: &Path) -> Result<()> {
    let contents = store::read_existing(path)?;
    let seed = arguments.seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64 % 1_000_000_007)
    });
    let set = nalm_vision::Set::best().name();
    let (rows, other): (Vec<&Row>, Vec<&Row>) =
        contents.rows.values().partition(|row| row.spec.numerics == nalm::NUMERICS);
    let (images, other_images): (Vec<&ImageRow>, Vec<&ImageRow>) =
        contents.images.values().partition(|row| row.image.numerics == nalm_vision::NUMERICS && row.set == set);
    let other = other.len() + other_images.len();
    let short = |row: &&Row| arguments.most_steps.is_none_or(|most| row.spec.steps <= most) && row.status != "failed";
    let rows = sample(rows.into_iter().filter(short), |row| &row.id, seed, arguments.sample);
    let carried_out = |row: &&ImageRow| row.status != "failed";
    let images = sample(images.into_iter().filter(carried_out), |row| &row.id, seed, arguments.images);
    let count = rows.len() + images.len();
    if count == 0 {
        let versions = format!("numerics version {}, with images {} on {set}", nalm::NUMERICS, nalm_vision::NUMERICS);
        let asked = format!("--sample {} and --images {}", arguments.sample, arguments.images);
        let steps = arguments.most_steps.map_or(String::new(), |most| format!(" and --most-steps {most}"));
        let hint = if contents.images.is_empty() { "" } else { "; --images N runs N of its rows with images again" };
        bail!("{} holds no row to run again with {asked}{steps} ({versions}){hint}", path.display());
    }
    let all = contents.rows.len() + contents.images.len();
    say!("sample {seed}: {count} of {all} rows");
    if other > 0 {
        say!("{other} rows are of another numerics version or instruction set and are not compared");
    }

    let mut different = Vec::new();
    let threads = threads(arguments.threads);
    if !rows.is_empty() {
        let runs: Vec<RunSpec> = rows.iter().map(|row| row.spec.clone()).collect();
        let keep = |Finished { row, .. }: Finished| {
            // A row that does not fit its own identity was changed by hand.
            if contents.rows.get(&row.id).is_none_or(|known| known.result_hash != row.result_hash) {
                let RunSpec { module, range, seed, .. } = &row.spec;
                different.push(format!("{module} on {range}, seed {seed} (run {})", row.id));
            }
            Ok(())
        };
        train_all(&runs, threads, keep, || Ok(()))?;
    }
    if !images.is_empty() {
        let runs: Vec<ImageSpec> = images.iter().map(|row| row.image.clone()).collect();
        let mnist = images::find(arguments.mnist.as_deref())?;
        let scratch = std::env::temp_dir().join(format!("nalm-verify-{}", std::process::id()));
        let safety = images::Safety { store: scratch.clone(), every: Duration::MAX };
        let keep = |row: ImageRow| {
            if contents.images.get(&row.id).is_none_or(|known| known.result_hash != row.result_hash) {
                let ImageSpec { task, head, seed, .. } = &row.image;
                different.push(format!("{task} with {head}, fold or seed {seed} (run {})", row.id));
            }
            Ok(())
        };
        let result = train_images(&runs, &mnist, threads, &safety, keep);
        let _ = std::fs::remove_dir_all(scratch);
        result?;
    }
    different.sort();
    if arguments.json {
        super::print_json(&json!({"sample": seed, "rows": count, "identical": count - different.len(),
            "different": different, "other_numerics": other}))?;
    } else {
        let mut out = std::io::stdout().lock();
        different.iter().try_for_each(|line| writeln!(out, "different: {line}"))?;
        writeln!(out, "{} of {count} rows have identical bits", count - different.len())?;
    }
    ensure!(different.is_empty(), "{} rows of the record differ from what they are when run again", different.len());
    Ok(())
}

/// Some of the rows. The order of a hash is as good as a shuffle, and the same everywhere.
fn sample<'a, T>(rows: impl Iterator<Item = &'a T>, id: fn(&T) -> &String, seed: u64, most: usize) -> Vec<&'a T> {
    let mut rows: Vec<&T> = rows.collect();
    rows.sort_by_cached_key(|row| Sha256::digest(format!("{seed} {}", id(row))));
    rows.truncate(most);
    rows
}

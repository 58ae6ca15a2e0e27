//! `nalm verify`: the laboratory against what was published, or a record against itself.

use super::run::{threads, train_all};
use crate::cli::Verify;
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
use std::time::{SystemTime, UNIX_EPOCH};

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
    eprintln!("{agree} of {compared} published values agree");
    ensure!(compared > 0, "{} makes no published statement", names.join(", "));
    ensure!(agree == compared, "{} published values differ", compared - agree);
    Ok(())
}

fn record(arguments: &Verify, path: &Path) -> Result<()> {
    ensure!(path.join("seg").is_dir(), "{} is no store: it has no folder seg", path.display());
    let contents = store::read(path)?;
    let seed = arguments.seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64 % 1_000_000_007)
    });
    let (same, other): (Vec<&Row>, Vec<&Row>) =
        contents.rows.values().partition(|row| row.spec.numerics == nalm::NUMERICS);
    let mut sample: Vec<&Row> = same
        .into_iter()
        .filter(|row| arguments.most_steps.is_none_or(|most| row.spec.steps <= most) && row.status != "failed")
        .collect();
    // The order of a hash is as good as a shuffle, and the same everywhere.
    sample.sort_by_key(|row| Sha256::digest(format!("{seed} {}", row.id)));
    sample.truncate(arguments.sample);
    if !contents.images.is_empty() {
        eprintln!("{} rows of runs with images are not run again: each takes minutes or hours", contents.images.len());
    }
    if sample.is_empty() {
        bail!("{} holds no row of numerics version {} to run again", path.display(), nalm::NUMERICS);
    }
    eprintln!("sample {seed}: {} of {} rows", sample.len(), contents.rows.len());
    if !other.is_empty() {
        eprintln!("{} rows are of another numerics version and are not compared", other.len());
    }
    let runs: Vec<RunSpec> = sample.iter().map(|row| row.spec.clone()).collect();
    let mut different = Vec::new();
    let keep = |Finished { row, .. }: Finished| {
        // A row that does not fit its own identity was changed by hand.
        if contents.rows.get(&row.id).is_none_or(|known| known.result_hash != row.result_hash) {
            different
                .push(format!("{} on {}, seed {} (run {})", row.spec.module, row.spec.range, row.spec.seed, row.id));
        }
        Ok(())
    };
    train_all(&runs, threads(arguments.threads), keep, || Ok(()))?;
    different.sort();
    if arguments.json {
        super::print_json(&json!({"sample": seed, "rows": runs.len(), "identical": runs.len() - different.len(),
            "different": different, "other_numerics": other.len()}))?;
    } else {
        let mut out = std::io::stdout().lock();
        different.iter().try_for_each(|line| writeln!(out, "different: {line}"))?;
        writeln!(out, "{} of {} rows have identical bits", runs.len() - different.len(), runs.len())?;
    }
    ensure!(different.is_empty(), "{} rows of the record differ from what they are when run again", different.len());
    Ok(())
}

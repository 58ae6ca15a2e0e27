//! `nalm verify`: the laboratory against what was published, or a record against itself.

use super::run::{prepare, threads, train_all};
use super::{recorded, sound};
use crate::arguments::Verify;
use crate::exit::Stopped;
use crate::signal::Listening;
use crate::terminal::{counted, paragraph};
use anyhow::{Result, bail, ensure};
use nalm_lab::experiment::{Experiment, Overrides, built_in};
use nalm_lab::pool::Order;
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::{Contents, Index};
use nalm_lab::summary::verdict::counts;
use nalm_lab::summary::{Comparison, Verdict};
use nalm_lab::task::{Finished, Measures, Resources};
use nalm_lab::{Error, Registry};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
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
        for model in e.model.into_iter().chain(e.relation.other()) {
            let places = experiment.groups.iter().filter(|g| g.section == e.section && g.model == model);
            let places = places.map(|group| group.place.as_str()).filter(|place| e.pooled || *place == e.place);
            cells.extend(places.map(|place| (e.section, model, place)));
        }
    }
    let numbers = |section: usize| experiment.sections[section].measures == Measures::Runs;
    let groups =
        experiment.groups.iter().filter(|g| numbers(g.section) && cells.contains(&(g.section, g.model, &g.place)));
    let mut seen = BTreeSet::new();
    let runs = groups.flat_map(|group| &experiment.runs[group.runs.clone()]);
    runs.filter(|run| seen.insert(run.id())).cloned().collect()
}

fn published(registry: &Registry, arguments: &Verify) -> Result<()> {
    let names = &names_of(arguments);
    // A file of one's own may have other presets than those that come with the program.
    let built_in = built_in::names(&registry.catalogue);
    let experiments = registry.load_each(names, |name| {
        let preset = arguments.preset.clone().or_else(|| built_in.contains(&name).then(|| "quick".to_string()));
        Overrides { preset, ..Overrides::default() }
    })?;
    let mut seen = BTreeSet::new();
    let runs: Vec<Spec> = experiments.iter().flat_map(wanted).filter(|run| seen.insert(run.id())).collect();
    let none = || {
        let paper = registry.load_all(names, &Overrides::preset("paper")).unwrap_or_default();
        let names = names.join(" ");
        // There are statements, but none whose runs are carried out here.
        let images = |e: &Experiment| e.sections.iter().any(|section| section.measures != Measures::Runs);
        let of_images = experiments.iter().chain(&paper).any(|e| images(e) && !e.expectations.is_empty());
        if of_images && !paper.iter().any(is_held) {
            let preset = if paper.is_empty() { "" } else { " --preset paper" };
            let how = format!("nalm reproduce {names}{preset} carries them out and compares them in its report");
            return Error::Request(format!(
                "what was published about {names} is about images, whose runs take hours and are not part of verify; {how}"
            ));
        }
        let hint = match experiments.iter().any(|e| e.preset != "paper") && paper.iter().any(is_held) {
            true => format!(" at this length; nalm verify {names} --preset paper runs the published one"),
            false => String::new(),
        };
        Error::Request(format!("nothing was published that {names} could be held against{hint}"))
    };
    ensure!(experiments.iter().any(|experiment| !experiment.expectations.is_empty()), none());
    let mut contents = Contents::default();
    let speaking: Vec<&Experiment> = experiments.iter().filter(|e| is_held(e)).collect();
    // From the first word on, so that none is the last.
    let _listening = Listening::new();
    speaking.iter().for_each(|experiment| say!("{}", chosen(experiment)));
    // What is computed without training needs no word about runs.
    if !runs.is_empty() {
        let order = Order { runs: &runs, threads: threads(arguments.threads), checkpoints: None };
        train_all(&registry.catalogue, &order, None, |finished| {
            finished.into_iter().for_each(|Finished { row, .. }| contents.insert(row));
            Ok(())
        })
        .map_err(nothing_kept)?;
    }
    let mut list = Vec::new();
    let (mut verdicts, mut unexplained) = (Vec::new(), 0);
    let mut all: Vec<(&Experiment, Comparison<'_>)> = Vec::new();
    for experiment in &experiments {
        let compared = registry.results(experiment, &contents).comparisons();
        all.extend(compared.into_iter().map(|c| (experiment, c)));
    }
    // What needs images is not run here.
    all.retain(|(_, c)| c.verdict != Verdict::NotRun);
    let wide = all.iter().map(|(_, c)| c.verdict.name().len()).max().unwrap_or(0) + 1;
    let mut out = std::io::stdout().lock();
    for (experiment, c) in all {
        verdicts.push(c.verdict);
        unexplained += usize::from(c.is_unexplained());
        let model = c.expectation.model.map_or("", |model| experiment.models[model].as_str());
        let (verdict, place) = (c.verdict.name(), if c.expectation.pooled { "all" } else { &c.expectation.at });
        // Sections may call their places alike.
        let section = experiment.sections.get(c.expectation.section).map_or("", |section| section.name.as_str());
        let (name, Comparison { published, ours, difference, .. }) = (&experiment.name, &c);
        let known = c.expectation.known.as_deref();
        if arguments.json {
            list.push(
                json!({"experiment": name, "section": section, "model": model, "range": place, "published": published,
                "ours": ours, "difference": difference, "verdict": verdict, "known": known}),
            );
        } else {
            let difference = if difference.is_empty() { String::new() } else { format!("; {difference}") };
            let known = known.filter(|_| c.verdict == Verdict::Differs);
            let known = known.map_or(String::new(), |reason| format!(" (known: {reason})"));
            let who = [model, place].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" on ");
            let within = if section.is_empty() { String::new() } else { format!(" ({section})") };
            let text = format!("{name}, {who}{within}: published {published}, ours {ours}{difference}{known}");
            let (first, further) = (format!("{verdict:wide$}"), " ".repeat(wide));
            write!(out, "{}", paragraph(&first, &further, &text))?;
        }
    }
    drop(out);
    if arguments.json {
        super::print_json(&list)?;
    }
    ensure!(!verdicts.is_empty(), none());
    say!("{}", counts(verdicts.iter().copied()));
    if verdicts.iter().all(|verdict| *verdict == Verdict::NotComparable) {
        say!("{}", how_to_compare(registry, &speaking, names));
    }
    let differ = if unexplained == 1 {
        "1 published value differs".into()
    } else {
        format!("{unexplained} published values differ")
    };
    ensure!(unexplained == 0, "{differ}, and the experiment does not say why");
    Ok(())
}

/// What is verified.
fn names_of(arguments: &Verify) -> Vec<String> {
    if arguments.experiments.is_empty() { vec!["all".into()] } else { arguments.experiments.clone() }
}

/// Whether something is held against what was published: runs on numbers, or what is computed without any.
fn is_held(experiment: &Experiment) -> bool {
    let images = experiment.sections.iter().any(|section| section.measures != Measures::Runs);
    !experiment.expectations.is_empty() && (!images || !wanted(experiment).is_empty())
}

/// How much of an experiment is run, in words.
fn chosen(experiment: &Experiment) -> String {
    let runs = wanted(experiment);
    let mut steps: Vec<u64> = runs.iter().filter_map(|run| run.whole("steps")).collect();
    steps.sort_unstable();
    let length = match steps.first().zip(steps.last()) {
        Some((least, most)) if least == most => format!(" of {}", counted(*most as usize, "step")),
        Some((least, most)) => format!(" of {least} to {most} steps"),
        None => String::new(),
    };
    let count = match runs.len() {
        0 => "nothing to train".into(),
        n => counted(n, "run"),
    };
    format!("{}, preset {}: {count}{length}", experiment.name, experiment.preset)
}

/// What to type for runs that can be held against what was published.
fn how_to_compare(registry: &Registry, experiments: &[&Experiment], names: &[String]) -> String {
    let why = "these runs are shorter or fewer than the published ones, so that nothing can be compared";
    let is_paper = experiments.iter().all(|experiment| experiment.preset == "paper");
    // A file of one's own need not have such a preset.
    match !is_paper && registry.load_all(names, &Overrides::preset("paper")).is_ok() {
        true => format!("{why}; nalm verify {} --preset paper runs the published length", names.join(" ")),
        false => format!("{why}; the file needs a preset with as many steps as its statements say"),
    }
}

/// Nothing is written here, so that nothing can be promised.
fn nothing_kept(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(Error::Stopped) => Stopped::keeps_nothing("verify", "no runs").into(),
        _ => error,
    }
}

/// Runs a sample of a record again and compares everything.
fn record(registry: &Registry, arguments: &Verify, path: &Path) -> Result<()> {
    let mut index = recorded(registry, path)?;
    let catalogue = &registry.catalogue;
    for file in &arguments.data {
        catalogue.task("table")?.load(file)?;
    }
    let seed = arguments.seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64 % 1_000_000_007)
    });
    let candidates = candidates(registry, arguments, &index)?;
    let mut rows = sample(candidates.short, seed, arguments.sample);
    rows.extend(sample(candidates.long, seed, arguments.images));
    if rows.is_empty() {
        let asked = format!("--sample {} and --images {}", arguments.sample, arguments.images);
        let steps = arguments.most_steps.map_or(String::new(), |most| format!(" and --most-steps {most}"));
        let hint = if candidates.has_images { "; --images N runs N of its rows with images again" } else { "" };
        let (path, other) = (path.display(), candidates.other);
        let left = if other > 0 { format!(" ({other} are of another numerics version)") } else { String::new() };
        bail!(Error::Request(format!("{path} holds no row to run again with {asked}{steps}{left}{hint}")));
    }
    let count = rows.len();
    say!("sample {seed}: {count} of {} rows", index.entries().len());
    if candidates.other > 0 {
        say!("{} rows are of another numerics version and are not compared", candidates.other);
    }
    let known = index.contents(rows.iter().map(String::as_str))?.rows;
    let runs: Vec<Spec> = known.values().map(|row| row.spec.clone()).collect();
    prepare(catalogue, &runs, &Resources { mnist: arguments.mnist.clone() })?;
    let mut again: BTreeMap<String, Row> = BTreeMap::new();
    let order = Order { runs: &runs, threads: threads(arguments.threads), checkpoints: None };
    train_all(catalogue, &order, None, |finished| {
        again.extend(finished.map(|Finished { row, .. }| (row.id.clone(), row)));
        Ok::<(), Error>(())
    })
    .map_err(nothing_kept)?;
    let (mut different, mut not_run) = (Vec::new(), Vec::new());
    for row in known.values() {
        // A row whose identity is not that of its specification was changed by hand.
        let run = again.get(&row.spec.id());
        let (spec, id) = (&row.spec, &row.id);
        let on = if spec.text("range").is_empty() { spec.task() } else { spec.text("range") };
        let who = format!("{} on {on}, seed {} (run {id})", model(spec), spec.seed());
        match run {
            Some(run) if run.is_failed() => not_run.push(format!("{who}: {}", run.reason.clone().unwrap_or_default())),
            Some(run) => match row.differences(run).as_slice() {
                [] => {}
                names => different.push(format!("{who}: {}", names.join(", "))),
            },
            None => different.push(format!("{who}: spec")),
        }
    }
    index.audit()?;
    let identical = count - different.len() - not_run.len();
    if arguments.json {
        super::print_json(&json!({"sample": seed, "rows": count, "identical": identical, "different": different,
            "not_run": not_run, "other_numerics": candidates.other}))?;
    } else {
        let mut out = std::io::stdout().lock();
        different.iter().try_for_each(|line| writeln!(out, "different: {line}"))?;
        not_run.iter().try_for_each(|line| writeln!(out, "could not be run again: {line}"))?;
        writeln!(out, "{identical} of {count} rows are identical")?;
    }
    let differ = format!("{} rows of the record differ from what they are when run again", different.len());
    ensure!(different.is_empty(), Error::Unsound(differ));
    sound(&index)?;
    ensure!(not_run.is_empty(), "{} rows of the record could not be run again", not_run.len());
    Ok(())
}

/// A module, or a stack by its modules.
fn model(spec: &Spec) -> String {
    let layers = spec.get("layers").and_then(|layers| layers.as_array());
    let names = layers.map(|all| all.iter().filter_map(|layer| layer["module"].as_str()).collect::<Vec<_>>());
    names.map_or_else(|| spec.module().into(), |names| names.join("-"))
}

/// Rows that can be run again on this machine, by identity.
struct Candidates {
    short: Vec<String>,
    long: Vec<String>,
    /// Rows of another numerics version.
    other: usize,
    has_images: bool,
}

fn candidates(registry: &Registry, arguments: &Verify, index: &Index) -> Result<Candidates> {
    let mut found = Candidates { short: Vec::new(), long: Vec::new(), other: 0, has_images: false };
    for entry in index.entries() {
        let row = index.row(entry)?;
        let task = registry.catalogue.task(row.spec.task()).ok();
        let is_long = task.is_some_and(|task| task.is_long());
        let same_numerics = task.is_some_and(|task| task.numerics() == row.spec.numerics());
        let steps = row.spec.whole("steps");
        found.has_images |= is_long && same_numerics;
        match (same_numerics, is_long) {
            (false, _) => found.other += 1,
            (true, true) => found.long.push(row.id),
            (true, false) if arguments.most_steps.is_none_or(|most| steps.is_none_or(|steps| steps <= most)) => {
                found.short.push(row.id)
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Some of the rows. The order of a hash is as good as a shuffle, and the same everywhere.
fn sample(mut rows: Vec<String>, seed: u64, most: usize) -> Vec<String> {
    rows.sort_by_cached_key(|id| <[u8; 32]>::from(Sha256::digest(format!("{seed} {id}"))));
    rows.truncate(most);
    rows
}

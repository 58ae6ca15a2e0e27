//! `nalm status`: what a store holds, and what experiments still lack.

use super::sound;
use crate::arguments::{Cli, Status, Verb};
use crate::exit::Incomplete;
use crate::terminal::{To, Tone, paint, table};
use anyhow::{Result, ensure};
use clap::Parser;
use nalm_lab::Registry;
use nalm_lab::experiment::{Experiment, Overrides, built_in};
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::{Index, Session};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;

/// How far an experiment is.
#[derive(Serialize)]
struct Standing<'a> {
    experiment: &'a str,
    preset: &'a str,
    /// What the command line changed of it.
    changes: &'a str,
    done: usize,
    runs: usize,
    /// Runs that are missing, and of which there is a row of an earlier version of the numerics.
    earlier: usize,
    failed: Vec<Value>,
    /// Whether there is anything of it that nobody asked for by another name.
    #[serde(skip)]
    is_news: bool,
}

/// An experiment, and what was typed to change it.
type Asked = (Experiment, String);

pub(crate) fn run(registry: &Registry, arguments: &Status) -> Result<()> {
    let index = registry.store(&arguments.store).existing()?;
    let failed = index.failed()?;
    let overrides = arguments.changes.overrides()?;
    let named = !arguments.experiments.is_empty();
    let experiments = match named {
        true => {
            let loaded = registry.load_all(&arguments.experiments, &overrides)?;
            loaded.into_iter().map(|experiment| (experiment, overrides.typed())).collect()
        }
        false => found(registry, &index, &overrides, arguments.all)?,
    };
    // Experiments share runs: one that was not asked for is only worth a line if it has some of its own.
    let mut explained: BTreeSet<String> = BTreeSet::new();
    let mut all: Vec<Standing<'_>> = Vec::new();
    for (experiment, typed) in &experiments {
        let mut standing = standing(registry, experiment, typed, &index, &failed);
        let own = experiment.ids_of_all_versions(&registry.catalogue).into_iter().filter(|id| index.has(id));
        standing.is_news = own.fold(false, |news, id| explained.insert(id) || news);
        all.push(standing);
    }
    let is_shown =
        |s: &&Standing<'_>| s.runs > 0 && (named || arguments.all || s.done + s.earlier > 0 || !s.failed.is_empty());
    let (rows, segments, failures) = (index.entries().len(), index.segments(), failed.len());
    if arguments.json {
        let problems: Vec<String> = index.problems.iter().map(ToString::to_string).collect();
        let shown: Vec<&Standing<'_>> = all.iter().filter(is_shown).collect();
        super::print_json(
            &json!({"rows": rows, "segments": segments, "torn": index.torn, "duplicates": index.duplicates,
            "failed": failures, "problems": problems, "experiments": shown}),
        )?;
    } else {
        let mut out = std::io::stdout().lock();
        let store = arguments.store.to_string_lossy();
        let counted = |n: usize, what: &str| if n > 0 { format!(", {n} {what}") } else { String::new() };
        let Index { torn, duplicates, problems, .. } = &index;
        let rest = counted(failures, "failed") + &counted(*torn, "torn lines") + &counted(*duplicates, "duplicates");
        let rest = rest + &counted(problems.len(), "problems");
        let s = |n: usize| if n == 1 { "" } else { "s" };
        let (runs, parts) = (format!("{rows} run{}", s(rows)), format!("{segments} segment{}", s(segments)));
        writeln!(out, "{}: {runs} in {parts}{rest}", crate::shown(&store))?;
        let shown: Vec<&Standing<'_>> = all.iter().filter(is_shown).collect();
        if !shown.is_empty() {
            let head = ["experiment", "preset", "done"].map(String::from).to_vec();
            let rows = [head].into_iter().chain(shown.iter().map(|s| line(s)));
            write!(out, "\n{}", table(&rows.collect::<Vec<_>>()))?;
        }
        if !named && !arguments.all {
            writeln!(out, "\n--all lists the other experiments that come with nalm, too.")?;
        }
        for row in &failed {
            let (word, text) = (paint(To::Output, Tone::Bad, "failed:"), reason(row));
            writeln!(out, "{word} run {}: {}", row.id, crate::shown(&text))?;
        }
    }
    sound(&index)?;
    let missing: usize = all.iter().map(|s| s.runs - s.done).sum();
    let text = format!("{missing} runs are missing; nalm run carries them out");
    ensure!(missing == 0 || !named, Incomplete(text));
    Ok(())
}

fn reason(row: &Row) -> String {
    row.reason.clone().unwrap_or_default()
}

/// A line of the table.
fn line(s: &Standing<'_>) -> Vec<String> {
    let earlier = match s.earlier {
        0 => String::new(),
        n => format!(", {n} of an earlier version of the numerics"),
    };
    let left = s.runs - s.done;
    let tone = if left == 0 { Tone::Good } else { Tone::Heading };
    let done = paint(To::Output, tone, &format!("{} of {}", s.done, s.runs));
    vec![format!("{}{}", crate::shown(s.experiment), crate::shown(s.changes)), s.preset.into(), done + &earlier]
}

fn standing<'a>(
    registry: &Registry,
    experiment: &'a Experiment,
    changes: &'a str,
    index: &Index,
    failed: &[Row],
) -> Standing<'a> {
    let Experiment { name, preset, .. } = experiment;
    let ids = experiment.ids();
    let failed = failed.iter().filter(|row| ids.contains(&row.id));
    let failed = failed.map(|row| json!({"id": row.id, "reason": reason(row)})).collect();
    let done = ids.iter().filter(|id| index.has(id)).count();
    let missing = experiment.runs.iter().filter(|run| !index.has(&run.id()));
    let is_there = |run: &Spec| registry.catalogue.with_earlier_numerics(run).iter().any(|run| index.has(&run.id()));
    let earlier = missing.filter(|run| is_there(run)).count();
    Standing { experiment: name, preset, changes, done, runs: ids.len(), earlier, failed, is_news: true }
}

/// What was asked of the store, somebody's own experiments first, then those that come with the program, at every preset.
fn found(registry: &Registry, index: &Index, overrides: &Overrides, all: bool) -> Result<Vec<Asked>> {
    let built_in = built_in::names(&registry.catalogue);
    let mut asked = asked(registry, index);
    let mut seen: BTreeSet<_> = asked.iter().map(key).collect();
    // The longer of two that are alike comes first, and then says what the shorter one would.
    let order = |(experiment, typed): &Asked| {
        let (name, built_in) = (experiment.name.clone(), built_in.contains(&experiment.name.as_str()));
        (built_in, name, std::cmp::Reverse(experiment.runs.len()), typed.clone())
    };
    asked.sort_by_cached_key(order);
    let ids = asked.iter().flat_map(|(experiment, _)| experiment.ids_of_all_versions(&registry.catalogue));
    let explained: BTreeSet<String> = ids.filter(|id| index.has(id)).collect();
    if !all && explained.len() >= index.entries().len() {
        // Nothing is left to explain, and reading all experiments takes a while.
        return Ok(asked);
    }
    for name in &built_in {
        let presets = overrides.preset.clone().map_or_else(|| built_in::presets(name), |preset| vec![preset]);
        for preset in presets {
            let overrides = Overrides { preset: Some(preset), ..overrides.clone() };
            // Not every experiment has every preset or setting.
            let loaded = registry.load(name, &overrides);
            let loaded = loaded.into_iter().map(|experiment| (experiment, overrides.typed()));
            asked.extend(loaded.filter(|own| seen.insert(key(own))));
        }
    }
    Ok(asked)
}

/// What tells one request from another.
fn key((experiment, typed): &Asked) -> (String, String, String, usize) {
    (experiment.name.clone(), experiment.preset.clone(), typed.clone(), experiment.runs.len())
}

/// Of stores with more rows than this, it is not looked up what they were asked for: a plan takes far more memory than an index.
const MOST_PLANNED: usize = 100_000;

/// What was asked of the store, as the headers of its segments tell.
pub(super) fn asked(registry: &Registry, index: &Index) -> Vec<Asked> {
    if index.entries().len() > MOST_PLANNED {
        return Vec::new();
    }
    let mut typed: Vec<&Session> = index.sessions.iter().collect();
    typed.sort_by(|a, b| a.arguments.cmp(&b.arguments));
    typed.dedup_by(|a, b| a.arguments == b.arguments);
    let mut seen = BTreeSet::new();
    // Files that are not here any more, and options of other versions, are passed over.
    typed.into_iter().flat_map(|session| requests(registry, session)).filter(|own| seen.insert(key(own))).collect()
}

/// The experiments that a process was asked for.
fn requests(registry: &Registry, session: &Session) -> Vec<Asked> {
    let typed = ["nalm"].into_iter().chain(session.arguments.iter().map(String::as_str));
    let run = match Cli::try_parse_from(typed).map(|cli| cli.verb) {
        Ok(Verb::Run(run)) => run,
        Ok(Verb::Reproduce(reproduce)) => reproduce.run,
        Ok(Verb::Compare(compare)) => {
            let experiment = super::compare::experiment(registry, &compare);
            return experiment.into_iter().map(named).collect();
        }
        _ => return Vec::new(),
    };
    let Ok(overrides) = run.overrides() else { return Vec::new() };
    let loaded = registry.load_all(&run.choice.experiments, &overrides).unwrap_or_default();
    loaded.into_iter().map(|experiment| (experiment, overrides.typed())).collect()
}

/// A comparison by what was compared.
fn named(comparison: Experiment) -> Asked {
    let name = format!("compare: {}", comparison.title);
    (Experiment { name, preset: "–".into(), ..comparison }, String::new())
}

//! `nalm status`: what a store holds, and what experiments still lack.

use super::sound;
use crate::arguments::{Cli, Status, Verb};
use crate::defaults;
use crate::exit::Incomplete;
use crate::progress::duration;
use crate::terminal::{To, Tone, counted, paint, paragraph, table_of_names};
use anyhow::{Result, ensure};
use clap::{CommandFactory, FromArgMatches};
use nalm_lab::cluster::{self, Estimate};
use nalm_lab::experiment::{Experiment, Overrides, built_in};
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::{Index, Problem, Session};
use nalm_lab::{Error, Registry};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How far an experiment is.
#[derive(Serialize)]
struct Standing<'a> {
    experiment: &'a str,
    preset: &'a str,
    /// What the command line changed of it.
    changes: &'a str,
    done: usize,
    runs: usize,
    missing: usize,
    /// Runs that are there twice with different results.
    conflicting: usize,
    /// Runs that are missing, and of which there is a row of an earlier version of the numerics.
    earlier: usize,
    failed: Vec<Value>,
    /// Whether it comes with the program.
    #[serde(skip)]
    built_in: bool,
    /// Whether all that is there of it was asked for by another name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
    /// Whether there is anything of it that nobody asked for by another name.
    #[serde(skip)]
    is_news: bool,
}

/// An experiment, and what was typed to change it.
type Asked = (Experiment, String);

/// Who has done how much of some experiments, and how much there is to do.
struct Outlook {
    hosts: BTreeMap<String, usize>,
    to_go: Estimate,
}

impl Outlook {
    fn new<'a>(registry: &Registry, index: &Index, experiments: impl Iterator<Item = &'a Experiment>) -> Result<Self> {
        let plan = super::run::plan(experiments);
        let (done, missing): (Vec<Spec>, Vec<Spec>) = plan.into_iter().partition(|run| index.has(&run.id()));
        let mut hosts = BTreeMap::new();
        for entry in done.iter().filter_map(|run| index.find(&run.id())) {
            *hosts.entry(index.host_of(entry).unwrap_or("packed").to_string()).or_default() += 1;
        }
        Ok(Self { hosts, to_go: cluster::estimate(&registry.catalogue, index, &missing)? })
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let all: usize = self.hosts.values().sum();
        let width = self.hosts.keys().map(String::len).max().unwrap_or(0).min(60);
        for (host, rows) in &self.hosts {
            let share = 100.0 * *rows as f64 / all as f64;
            writeln!(out, "  by {:width$} {rows:>6}  {share:3.0} %", crate::shown(host))?;
        }
        let Estimate { seconds, rows, .. } = self.to_go;
        let source =
            if rows > 0 { format!("measured from {}", counted(rows, "row")) } else { "not measured yet".into() };
        if seconds > 0.0 { writeln!(out, "about {} of one core to go, {source}", duration(seconds)) } else { Ok(()) }
    }
}

pub(crate) fn run(registry: &Registry, arguments: &Status) -> Result<()> {
    let Some(pause) = arguments.watch else { return once(registry, arguments) };
    let mut before: Option<(Instant, usize)> = None;
    loop {
        if std::io::stdout().is_terminal() {
            write!(std::io::stdout(), "\x1b[H\x1b[2J")?;
        }
        let now = Instant::now();
        match once(registry, arguments) {
            Err(error) if error.is::<Incomplete>() => {
                let missing = error.downcast_ref::<Incomplete>().map_or(0, |incomplete| incomplete.missing);
                let (since, then) = *before.get_or_insert((now, missing));
                let (passed, done) = (now.duration_since(since).as_secs_f64(), then.saturating_sub(missing));
                if done > 0 {
                    let left = duration(missing as f64 * passed / done as f64);
                    say!("{} in {}; about {left} to go at this pace", counted(done, "run"), duration(passed));
                }
            }
            other => return other,
        }
        std::thread::sleep(Duration::from_secs(pause));
    }
}

fn once(registry: &Registry, arguments: &Status) -> Result<()> {
    let store = registry.store(&arguments.store);
    // Whoever watches may begin before the first worker does.
    let index = if arguments.watch.is_some() { store.index()? } else { store.existing()? };
    let failed = index.failed()?;
    let in_conflict = |problem: &Problem| match problem {
        Problem::Conflict { id, .. } => Some(id.clone()),
        _ => None,
    };
    let conflicts: BTreeSet<String> = index.problems.iter().filter_map(in_conflict).collect();
    let overrides = arguments.changes.overrides()?;
    let named = !arguments.experiments.is_empty();
    let mut asked_for = BTreeSet::new();
    let experiments: Vec<Asked> = match named {
        true => {
            let loaded = registry.load_all(&arguments.experiments, &overrides)?;
            loaded.into_iter().map(|experiment| (experiment, overrides.typed())).collect()
        }
        false => {
            let changed = overrides != Overrides::default();
            ensure!(!changed, Error::Request("say which experiments are changed: nalm status NAME …".into()));
            let asked = asked(registry, &index);
            asked_for = asked.iter().map(key).collect();
            found(registry, &index, asked, arguments.all)?
        }
    };
    // Experiments share runs: one that comes with the program and was not asked for has a line at its default preset, and others if they have
    // some of their own.
    let mut explained: BTreeSet<String> = BTreeSet::new();
    let mut all: Vec<Standing<'_>> = Vec::new();
    for (experiment, typed) in &experiments {
        let (mut standing, found) = standing(registry, (experiment, typed), &index, &failed, &conflicts);
        // Every one is taken in, whatever the first of them says.
        let own = found.into_iter().filter(|id| explained.insert(id.clone())).count() > 0;
        let is_first = all.iter().all(|other| !other.built_in || other.experiment != experiment.name);
        standing.shared = !named && !own && standing.done > 0 && !asked_for.contains(&key_of(experiment, typed));
        standing.is_news = own || (is_first && experiment.built_in && standing.done > 0);
        all.push(standing);
    }
    let other = others(&index, &explained);
    let is_shown = |s: &&Standing<'_>| s.runs > 0 && (named || arguments.all || s.is_news || !s.failed.is_empty());
    // Experiments share runs, which are carried out once.
    let plan = super::run::plan(experiments.iter().filter(|_| named).map(|(experiment, _)| experiment));
    let missing = plan.iter().filter(|run| !index.has(&run.id())).count();
    let all: Vec<&Standing<'_>> = all.iter().filter(is_shown).collect();
    let outlook = match named {
        false => None,
        true => Some(Outlook::new(registry, &index, experiments.iter().map(|(experiment, _)| experiment))?),
    };
    let (rows, segments, failures) = (index.entries().len(), index.segments(), failed.len());
    if arguments.json {
        let problems: Vec<String> = index.problems.iter().map(ToString::to_string).collect();
        let mut value = json!({"rows": rows, "segments": segments, "torn": index.torn, "duplicates": index.duplicates,
            "failed": failures, "problems": problems, "experiments": all});
        if let (false, Some((runs, made_by))) = (named, &other) {
            value["other_runs"] = json!({"runs": runs, "made_by": made_by});
        }
        if let Some(Outlook { hosts, to_go }) = &outlook {
            value["hosts"] = json!(hosts);
            value["to_go"] = json!({"core_seconds": to_go.seconds, "measured_rows": to_go.rows});
        }
        super::print_json(&value)?;
    } else {
        let mut out = std::io::stdout().lock();
        let store = arguments.store.to_string_lossy();
        let Index { torn, duplicates, problems, .. } = &index;
        let failures = if failures > 0 { format!(", {failures} failed") } else { String::new() };
        let rest = [(*torn, "torn line"), (*duplicates, "duplicate"), (problems.len(), "problem")];
        let rest = rest.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {}", counted(n, what)));
        let rest = failures + &rest.collect::<String>();
        let (runs, parts) = (counted(rows, "run"), counted(segments, "segment"));
        writeln!(out, "{}: {runs} in {parts}{rest}", crate::shown(&store))?;
        let (shared, own): (Vec<&Standing<'_>>, Vec<_>) = all.iter().partition(|s| s.shared);
        for (first, part) in [("experiment", own), ("shares runs with", shared)] {
            if !part.is_empty() {
                let head = [first, "preset", "done"].map(String::from).to_vec();
                let rows = [head].into_iter().chain(part.iter().map(|s| line(s, named)));
                write!(out, "\n{}", table_of_names(rows.collect()))?;
            }
        }
        if let (false, Some((runs, made_by))) = (named, &other) {
            let text = format!(
                "{} in the store, made by {made_by}, whose files have changed or are not in this folder (of a path from the root only the name is kept); nalm export shows them",
                counted(*runs, "other run")
            );
            write!(out, "\n{}", paragraph("", "", &crate::shown(&text)))?;
        }
        if !named && !arguments.all {
            writeln!(out, "\n--all lists the other experiments that come with nalm, too.")?;
        }
        outlook.iter().try_for_each(|outlook| outlook.print(&mut out))?;
        for row in &failed {
            let (word, text) = (paint(To::Output, Tone::Bad, "failed:"), reason(row));
            writeln!(out, "{word} run {}: {}", row.id, crate::shown(&text))?;
        }
    }
    sound(&index)?;
    let (are, them) = if missing == 1 { ("is", "it") } else { ("are", "them") };
    let text = format!("{} {are} missing; nalm run carries {them} out", counted(missing, "run"));
    ensure!(missing == 0 || !named, Incomplete { missing, text });
    Ok(())
}

/// How many runs belong to no experiment that is known here, and the commands that made them.
fn others(index: &Index, explained: &BTreeSet<String>) -> Option<(usize, String)> {
    // What a larger store was asked for is not looked up.
    if index.entries().len() > MOST_PLANNED {
        return None;
    }
    let command = |arguments: &[String]| match arguments {
        [] => "another program".to_string(),
        typed => format!("nalm {}", typed.join(" ")),
    };
    let all: Vec<_> = index.entries().iter().filter(|entry| !explained.contains(&entry.id())).collect();
    let commands: BTreeSet<String> =
        all.iter().map(|entry| command(&index.sessions[entry.session()].arguments)).collect();
    let more = commands.len().saturating_sub(MOST_COMMANDS);
    let mut shown: Vec<String> = commands.into_iter().take(MOST_COMMANDS).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    let made_by = match shown.as_slice() {
        [] => return None,
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    };
    Some((all.len(), made_by))
}

/// More commands than this are counted and not named.
const MOST_COMMANDS: usize = 3;

fn reason(row: &Row) -> String {
    row.reason.clone().unwrap_or_default()
}

/// A line of the table; of experiments that were named, with what is missing.
fn line(s: &Standing<'_>, named: bool) -> Vec<String> {
    let counts = [
        (s.missing, "missing"),
        (s.failed.len(), "of them failed"),
        (s.conflicting, "conflicting"),
        (s.earlier, "of an earlier version of the numerics"),
    ];
    // The long list is about what is there.
    let counts = if named { &counts[..] } else { &counts[3..] };
    let more: String = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}")).collect();
    let tone = if s.missing == 0 { Tone::Good } else { Tone::Heading };
    let done = paint(To::Output, tone, &format!("{} of {}", s.done, s.runs));
    vec![format!("{}{}", crate::shown(s.experiment), crate::shown(s.changes)), s.preset.into(), done + &more]
}

/// How far an experiment is, and the identities of the rows that belong to it, for both of which the runs are gone through once: identities
/// take long where plans are large.
fn standing<'a>(
    registry: &Registry,
    (experiment, changes): (&'a Experiment, &'a str),
    index: &Index,
    failed: &[Row],
    conflicts: &BTreeSet<String>,
) -> (Standing<'a>, Vec<String>) {
    let Experiment { name, preset, .. } = experiment;
    let (mut ids, mut found) = (BTreeSet::new(), Vec::new());
    let (mut done, mut earlier) = (0, 0);
    for run in &experiment.runs {
        let id = run.id();
        if ids.contains(&id) {
            continue;
        }
        let before = registry.catalogue.with_earlier_numerics(run);
        let mut before: Vec<String> = before.iter().map(Spec::id).filter(|id| index.has(id)).collect();
        if index.has(&id) {
            done += 1;
            found.push(id.clone());
        } else {
            earlier += usize::from(!before.is_empty());
        }
        found.append(&mut before);
        ids.insert(id);
    }
    let failed = failed.iter().filter(|row| ids.contains(&row.id));
    let failed = failed.map(|row| json!({"id": row.id, "reason": reason(row)})).collect();
    let conflicting = ids.iter().filter(|id| conflicts.contains(*id)).count();
    let (runs, missing) = (ids.len(), ids.len() - done);
    let standing = Standing {
        experiment: name,
        preset,
        changes,
        done,
        runs,
        missing,
        conflicting,
        earlier,
        failed,
        built_in: experiment.built_in,
        shared: false,
        is_news: true,
    };
    (standing, found)
}

/// What was asked of the store, somebody's own experiments first, then those that come with the program, each at its default preset first.
fn found(registry: &Registry, index: &Index, mut asked: Vec<Asked>, all: bool) -> Result<Vec<Asked>> {
    let built_in = built_in::names(&registry.catalogue);
    let mut seen: BTreeSet<_> = asked.iter().map(key).collect();
    // The longer of two that are alike comes first, and then says what the shorter one would.
    let order = |(experiment, typed): &Asked| {
        (experiment.built_in, experiment.name.clone(), std::cmp::Reverse(experiment.runs.len()), typed.clone())
    };
    asked.sort_by_cached_key(order);
    let ids = asked.iter().flat_map(|(experiment, _)| experiment.ids_of_all_versions(&registry.catalogue));
    let explained: BTreeSet<String> = ids.filter(|id| index.has(id)).collect();
    // Where nothing is left to explain, one preset of each will do: reading all of them takes a while.
    let every = all || explained.len() < index.entries().len();
    for name in &built_in {
        let first = registry.load(name, &Overrides::default())?;
        let others = built_in::presets(name).into_iter().filter(|preset| every && *preset != first.preset);
        let others =
            others.map(|preset| registry.load(name, &Overrides::preset(&preset))).collect::<Result<Vec<_>, _>>()?;
        let own = [first].into_iter().chain(others).map(|experiment| (experiment, String::new()));
        asked.extend(own.filter(|own| seen.insert(key(own))));
    }
    Ok(asked)
}

/// What tells one request from another.
type Key = (bool, String, String, String, usize);

fn key((experiment, typed): &Asked) -> Key {
    key_of(experiment, typed)
}

fn key_of(experiment: &Experiment, typed: &str) -> Key {
    let Experiment { built_in, name, preset, runs, .. } = experiment;
    (*built_in, name.clone(), preset.clone(), typed.into(), runs.len())
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
    let all = typed.into_iter().flat_map(|session| requests(registry, session));
    let mut all: Vec<Asked> = all.filter(|own| seen.insert(key(own))).collect();
    // Seeds are only said where nothing else tells two comparisons apart.
    let names: Vec<String> = all.iter().map(|(experiment, _)| experiment.name.clone()).collect();
    for (experiment, typed) in &mut all {
        if experiment.preset == COMPARED && names.iter().filter(|name| **name == experiment.name).count() < 2 {
            typed.clear();
        }
    }
    all
}

/// What stands for the preset of a comparison, which has none.
const COMPARED: &str = "–";

/// The experiments that a process was asked for.
fn requests(registry: &Registry, session: &Session) -> Vec<Asked> {
    let typed = ["nalm"].into_iter().chain(session.arguments.iter().map(String::as_str));
    // What was asked then does not depend on the variables of today.
    let command = defaults::without_environment(Cli::command());
    let found = command.try_get_matches_from(typed).and_then(|found| Cli::from_arg_matches(&found));
    let run = match found.map(|cli| cli.verb) {
        Ok(Verb::Run(sharded)) => sharded.run,
        Ok(Verb::Reproduce(reproduce)) => reproduce.run,
        Ok(Verb::Compare(compare)) => {
            let experiment = super::compare::experiment(registry, &compare);
            let seeds = format!(" --seeds {}", compare.seeds);
            return experiment.into_iter().map(|experiment| (named(experiment), seeds.clone())).collect();
        }
        _ => return Vec::new(),
    };
    let Ok(overrides) = run.choice.overrides() else { return Vec::new() };
    let loaded = registry.load_all(&run.choice.experiments, &overrides).unwrap_or_default();
    loaded.into_iter().map(|experiment| (experiment, overrides.typed())).collect()
}

/// A comparison by what was compared.
fn named(comparison: Experiment) -> Experiment {
    let name = format!("compare: {}", comparison.title);
    Experiment { name, preset: COMPARED.into(), ..comparison }
}

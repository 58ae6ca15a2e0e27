//! `nalm bench fit`: how many known formulas are found.

use super::fit::Watch;
use crate::arguments::BenchFit;
use crate::exit::Stopped;
use crate::signal::Listening;
use anyhow::{Result, ensure};
use nalm_fit::suite::{Case, Outcome, Settings, run as carry_out};
use nalm_lab::files;
use nalm_lab::fit::bench::{Carried, Part, found, plan};
use nalm_lab::report::page::{Block, markdown};
use nalm_lab::report::readme;
use nalm_lab::{Error, Registry};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

pub(crate) fn run(registry: &Registry, arguments: &BenchFit) -> Result<()> {
    let mut parts = match &arguments.suite {
        None => plan(),
        Some(suite) => {
            ensure!(
                arguments.noise >= 0.0 && arguments.noise.is_finite(),
                Error::Request(format!("noise is {}; it must be from 0 on", arguments.noise))
            );
            let settings = Settings { rows: arguments.rows as usize, noise: arguments.noise, seed: 0 };
            vec![Part::new(suite, arguments.arithmetic, settings)]
        }
    };
    parts.iter_mut().for_each(|part| part.settings.seed = arguments.seed);
    let listening = Listening::new();
    let mut all = Vec::new();
    let mut known = Vec::new();
    for part in parts {
        let mut cases = part.cases()?;
        known.extend(cases.iter().map(|case| case.id.clone()));
        cases.retain(|case| arguments.only.is_empty() || arguments.only.contains(&case.id));
        if let Some(folder) = &arguments.tables {
            for case in &cases {
                let (table, judge) = part.csv(case)?;
                for (end, text) in [("csv", table), ("judge.csv", judge)] {
                    files::replace(&*registry.files, &folder.join(format!("{}.{end}", case.id)), text.as_bytes())?;
                }
            }
            continue;
        }
        let outcomes = carried(&cases, part.settings, arguments.threads, &listening)?;
        ensure!(!listening.is_asked_to_stop(), Stopped::keeps_nothing("bench fit", "no tables"));
        let carried = Carried::new(part, &cases, outcomes);
        if arguments.each && !arguments.json {
            each(&carried)?;
        }
        let s = &carried.summary;
        say!("{}: {} of {} right, {} falsely exact", carried.part.name(), s.right, s.tables, s.false_exact);
        all.push(carried);
    }
    for id in &arguments.only {
        if !known.contains(id) {
            let valid: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(nalm::Error::unknown("table", id, &valid).into());
        }
    }
    if arguments.tables.is_some() {
        return Ok(());
    }
    let found = found(&all);
    if let Some(file) = &arguments.readme {
        readme::fill(&*registry.files, file, &[("bench-fit", &found)], Path::new(""))?;
    }
    if arguments.json {
        let parts: Vec<_> = all.iter().map(Carried::json).collect();
        return super::print_json(
            &json!({"version": env!("CARGO_PKG_VERSION"), "threads": arguments.threads, "parts": parts}),
        );
    }
    let tables: Vec<Block> = found.blocks;
    Ok(write!(std::io::stdout().lock(), "{}", markdown(&tables))?)
}

/// All cases over threads; their order is that of the suite.
fn carried(cases: &[Case], settings: Settings, threads: usize, listening: &Listening) -> Result<Vec<Outcome>> {
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    let all: Mutex<Vec<(usize, Result<Outcome, nalm_fit::Error>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(cases.len()).max(1) {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Relaxed);
                    let Some(case) = cases.get(k) else { break };
                    if listening.is_asked_to_stop() {
                        break;
                    }
                    let mut clock = || start.elapsed().as_secs_f64();
                    let outcome = carry_out(case, settings, &mut clock, &mut Watch::silent(listening));
                    all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((k, outcome));
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.sort_by_key(|(k, _)| *k);
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect::<Result<_, _>>()?)
}

fn each(carried: &Carried) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", carried.part.name())?;
    for o in &carried.outcomes {
        let mark = match o {
            _ if o.false_exact => "FALSE",
            _ if o.right => "right",
            _ if o.structure => "structure",
            _ => "-",
        };
        let (verdict, formula) = (o.verdict.name(), o.formula.as_deref().unwrap_or(""));
        writeln!(out, "  {:32} {mark:10} {verdict:12} {:9.4} s  {formula}", o.id, o.seconds)?;
    }
    Ok(())
}

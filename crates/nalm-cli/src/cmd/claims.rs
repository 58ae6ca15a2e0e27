//! `nalm claims`: every statement of the paper once, from what stores hold.

use super::{recorded, sound};
use crate::arguments::Claims;
use crate::terminal::paragraph;
use anyhow::{Result, ensure};
use nalm_lab::experiment::{Experiment, Overrides, built_in};
use nalm_lab::report::claims::{self, Evidence};
use nalm_lab::report::parts::{self, Costs};
use nalm_lab::report::{Found, numbers, readme};
use nalm_lab::store::Contents;
use nalm_lab::{Error, Registry};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Presets that are long enough to speak about what was published, each with where pages of it are among the project's.
const PRESETS: [(&str, &str); 2] = [("paper", ""), ("laptop", "images/")];

/// What a store may hold of an experiment.
struct Holding {
    experiment: Experiment,
    name: String,
    page: String,
    store: usize,
}

pub(crate) fn run(registry: &Registry, arguments: &Claims) -> Result<()> {
    let paths = if arguments.stores.is_empty() { std::slice::from_ref(&arguments.store) } else { &arguments.stores };
    let mut stores: Vec<Contents> = Vec::new();
    for path in paths {
        let named = !arguments.stores.is_empty();
        let index = if named { recorded(registry, path)? } else { registry.store(path).existing()? };
        sound(&index)?;
        stores.push(index.everything()?);
    }
    let held = holdings(registry, &stores)?;
    let evidence: Vec<Evidence<'_>> = held
        .iter()
        .map(|h| {
            let there = arguments.out.as_ref().is_some_and(|out| out.join(format!("{}.md", h.page)).is_file());
            let results = registry.results(&h.experiment, &stores[h.store]);
            Evidence { results, name: h.name.clone(), page: there.then(|| h.page.clone()) }
        })
        .collect();
    let found = claims::claims(&evidence);
    if let Some(out) = &arguments.out {
        claims::write(&found, &evidence, &*registry.files, out)?;
    }
    if !arguments.readme.is_empty() {
        let mut reports = vec![("claims".to_string(), Found { numbers: claims::numbers(&found), ..Found::default() })];
        for e in &evidence {
            reports.push((e.name.clone(), Found { numbers: numbers::of(&e.results), ..Found::default() }));
        }
        for (k, path) in paths.iter().enumerate() {
            let own: Vec<&Evidence<'_>> =
                evidence.iter().zip(&held).filter(|(_, h)| h.store == k).map(|(e, _)| e).collect();
            let blocks = parts::blocks(&own, &Costs::new(&stores[k]));
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            reports.push((format!("parts of {name}"), Found { blocks, ..Found::default() }));
        }
        let reports: Vec<(&str, &Found)> = reports.iter().map(|(name, found)| (name.as_str(), found)).collect();
        for file in &arguments.readme {
            let out = arguments.out.as_deref().unwrap_or(Path::new("."));
            let places = readme::fill(&*registry.files, file, &reports, out)?;
            let none = || {
                format!("{} quotes nothing: it has no marker such as <!-- nalm:claims; headline -->", file.display())
            };
            ensure!(places > 0, Error::Request(none()));
        }
    }
    if arguments.json {
        let list = found.iter().map(|claim| {
            json!({"statement": claim.statement.key, "says": claim.statement.says, "source": claim.statement.source,
                "ours": claim.ours(), "verdict": claim.verdict.name(), "reason": claim.reason()})
        });
        return super::print_json(&list.collect::<Vec<_>>());
    }
    let mut out = std::io::stdout().lock();
    let wide = found.iter().map(|claim| claim.verdict.name().len()).max().unwrap_or(0) + 1;
    for claim in &found {
        let verdict = format!("{:wide$}", claim.verdict.name());
        write!(out, "{}", paragraph(&verdict, &" ".repeat(wide), &claim.statement.says))?;
    }
    write!(out, "{}", paragraph("", "", &claims::headline(&found)))?;
    if evidence.is_empty() {
        say!(
            "note: runs that are shorter than the published ones say nothing about statements; nalm run with --preset paper makes those that do"
        );
    }
    Ok(())
}

/// What the stores hold, with random streams as experiments have them, and with the published ones where all of these runs are there.
fn holdings(registry: &Registry, stores: &[Contents]) -> Result<Vec<Holding>> {
    let mut held = Vec::new();
    for name in built_in::names(&registry.catalogue) {
        for (preset, folder) in PRESETS {
            if !built_in::presets(name).iter().any(|own| own == preset) {
                continue;
            }
            let experiment = registry.load(name, &Overrides::preset(preset))?;
            let ids = experiment.ids_of_all_versions(&registry.catalogue);
            let overrides = Overrides { set: vec![("stream".into(), "reference".into())], ..Overrides::preset(preset) };
            // Not every task and module has published streams.
            let published = registry.load(name, &overrides).ok().filter(|other| other.ids() != experiment.ids());
            for (store, contents) in stores.iter().enumerate() {
                let has = |id: &String| contents.rows.contains_key(id);
                if let Some(published) =
                    published.as_ref().filter(|other| !other.runs.is_empty() && other.ids().iter().all(has))
                {
                    let (experiment, page) = (published.clone(), format!("reference/{name}"));
                    held.push(Holding { experiment, name: format!("{name}, published streams"), page, store });
                }
                if ids.iter().any(has) {
                    let (experiment, page) = (experiment.clone(), format!("{folder}{name}"));
                    held.push(Holding { experiment, name: name.into(), page, store });
                }
            }
        }
    }
    Ok(held)
}

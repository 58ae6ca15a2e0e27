//! `nalm report`: pages, figures and tables from what the store holds.

use super::sound;
use crate::arguments::{Output, Report};
use crate::terminal::{To, Tone, paint};
use anyhow::{Result, ensure};
use nalm_lab::experiment::Experiment;
use nalm_lab::report::{self, Found};
use nalm_lab::store::Index;
use nalm_lab::summary::Verdict;
use nalm_lab::summary::verdict::counts;
use nalm_lab::{Error, Registry, figure};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(registry: &Registry, arguments: &Report) -> Result<()> {
    arguments.output.check()?;
    let mut experiments = registry.load_all(&arguments.choice.experiments, &arguments.choice.changes.overrides()?)?;
    let all = arguments.choice.experiments == ["all"];
    let mut missing = Ok(());
    if experiments.len() > 1 {
        // A store rarely holds all of them, and pages without a row say nothing.
        let index = registry.store(&arguments.store).existing()?;
        let (kept, empty): (Vec<_>, Vec<_>) = experiments.into_iter().partition(|e| has_rows(registry, e, &index));
        let names: Vec<&str> = empty.iter().map(|experiment| experiment.name.as_str()).collect();
        if all && !empty.is_empty() {
            say!("left out, because the store has no row of them: {}", names.join(", "));
        }
        // Whoever names an experiment wants its page: the others are written, and this is an error nevertheless.
        if !all && !empty.is_empty() {
            missing = Err(no_rows(&arguments.store, &empty));
        }
        experiments = kept;
    }
    if all || !experiments.is_empty() {
        write(registry, &experiments, &arguments.store, &arguments.output)?;
    }
    Ok(missing?)
}

/// What is wrong where a store has nothing to show.
fn no_rows(store: &Path, experiments: &[Experiment]) -> Error {
    let place = store.display();
    // Each has a default preset of its own.
    let named = |Experiment { name, preset, .. }: &Experiment| format!("{name} at preset {preset}");
    let named = experiments.iter().map(named).collect::<Vec<_>>().join(", or of ");
    Error::Request(format!(
        "{place} has no row of {named}; nalm run makes them, and rows of other presets or settings (--set, --range, --steps …) are shown if these are given here, too"
    ))
}

/// Whether a store has anything to show of an experiment.
fn has_rows(registry: &Registry, experiment: &Experiment, index: &Index) -> bool {
    let ids = experiment.ids_of_all_versions(&registry.catalogue);
    ids.is_empty() || ids.iter().any(|id| index.has(id))
}

/// How many there are of each verdict.
pub(crate) fn verdicts(all: &[Verdict]) -> Value {
    let count = |verdict: Verdict| json!(all.iter().filter(|other| **other == verdict).count());
    Verdict::ALL.iter().map(|verdict| (verdict.name().to_string(), count(*verdict))).collect::<Map<_, _>>().into()
}

pub(crate) fn write(registry: &Registry, experiments: &[Experiment], store: &Path, output: &Output) -> Result<()> {
    registry.ensure_free(experiments, &output.out, "--out")?;
    let needs_rows = experiments.iter().any(|experiment| !experiment.runs.is_empty());
    let there = registry.store(store);
    let (index, out) = (if needs_rows { there.existing()? } else { there.index()? }, &output.out);
    // Before anything is written: a page without rows would take the place of one that has some.
    for experiment in experiments {
        ensure!(has_rows(registry, experiment, &index), no_rows(store, std::slice::from_ref(experiment)));
    }
    let mut all = Vec::new();
    for experiment in experiments {
        let contents =
            index.contents(experiment.ids_of_all_versions(&registry.catalogue).iter().map(String::as_str))?;
        let found = registry.report(experiment, &contents, out)?;
        tell(out, &found);
        found.not_drawn.iter().for_each(|text| say!("{}: {text}", experiment.name));
        for name in found.figures.iter().filter(|_| output.png) {
            figure::png::write(&*registry.files, out, name)?;
            written(&out.join(format!("{name}.png")));
        }
        all.push(found);
    }
    if let Some(readme) = &output.readme {
        let names = experiments.iter().map(|experiment| experiment.name.as_str());
        let reports: Vec<_> = names.zip(&all).collect();
        let places = report::readme::fill(&*registry.files, readme, &reports, out)?;
        let (file, name) = (readme.display(), &experiments[0].name);
        let put = format!("put the lines <!-- nalm:{name} --> and <!-- /nalm:{name} --> where it belongs");
        ensure!(places > 0, Error::Request(format!("{file} has no place for it; {put}")));
    }
    if output.json {
        let list = experiments.iter().zip(&all).map(|(e, f)| {
            json!({"experiment": e.name, "preset": e.preset, "rows": f.rows, "runs": e.planned(),
                "verdicts": verdicts(&f.verdicts), "figures": f.figures})
        });
        super::print_json(&list.collect::<Vec<_>>())?;
    } else {
        let mut stdout = std::io::stdout().lock();
        for (experiment, Found { verdicts, rows, .. }) in experiments.iter().zip(&all) {
            let name = &experiment.name;
            let page = out.join(format!("{name}.html"));
            let found = agreement(verdicts);
            writeln!(stdout, "{name}: {found}{}", page.display())?;
            if let Some(text) = incomplete(name, *rows, experiment.planned()) {
                stdout.flush()?;
                say!("{text}");
            }
        }
        if all.len() > 1 {
            let every: Vec<Verdict> = all.iter().flat_map(|found| found.verdicts.iter().copied()).collect();
            writeln!(stdout, "{}{}", agreement(&every), out.join("index.html").display())?;
        }
    }
    if all.len() > 1 {
        report::write_index(&all, &*registry.files, out)?;
        ["index.html", "index.md"].iter().for_each(|name| written(&out.join(name)));
    }
    sound(&index)
}

/// Names the files of a page, to whoever wants to know everything.
pub(super) fn tell(folder: &Path, found: &Found) {
    let figures = found.figures.iter().flat_map(|name| [format!("{name}.svg"), format!("{name}.csv")]);
    let page = ["html", "md"].map(|ending| format!("{}.{ending}", found.name));
    figures.chain(page).for_each(|name| written(&folder.join(name)));
}

/// Names a file as it is written, to whoever wants to know everything.
fn written(file: &Path) {
    if crate::terminal::is_verbose() {
        say!("{} is written", file.strip_prefix(".").unwrap_or(file).display());
    }
}

/// How many runs are there, unless all are.
fn incomplete(name: &str, there: usize, all: usize) -> Option<String> {
    let text =
        || format!("{name}: {there} of {all} runs are there; nalm run with the same options carries out the rest");
    (there < all).then(text)
}

/// How many published values agree, if there are any.
fn agreement(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let tone = if verdicts.contains(&Verdict::Differs) { Tone::Bad } else { Tone::Good };
    paint(To::Output, tone, &counts(verdicts.iter().copied())) + "; "
}

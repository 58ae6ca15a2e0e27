//! `nalm report`: pages, figures and tables from what the store holds.

use crate::arguments::{Output, Report};
use anyhow::{Result, bail, ensure};
use nalm_lab::experiment::Experiment;
use nalm_lab::store::{self, Contents};
use nalm_lab::{Registry, figure, report};
use serde_json::json;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(registry: &Registry, arguments: &Report) -> Result<()> {
    let mut experiments = registry.load_all(&arguments.choice.experiments, &arguments.choice.overrides()?)?;
    if arguments.choice.experiments == ["all"] {
        // A store rarely holds all of them, and pages without a row say nothing.
        let contents = store::read_existing(&arguments.store)?;
        let (kept, empty): (Vec<_>, Vec<_>) = experiments.into_iter().partition(|e| has_rows(e, &contents));
        if !empty.is_empty() {
            let names: Vec<&str> = empty.iter().map(|experiment| experiment.name.as_str()).collect();
            say!("left out, because the store has no row of them: {}", names.join(", "));
        }
        experiments = kept;
    }
    write(registry, &experiments, &arguments.store, &arguments.output)
}

/// Whether a store has anything to show of an experiment.
fn has_rows(experiment: &Experiment, contents: &Contents) -> bool {
    let ids = experiment.ids();
    ids.is_empty() || ids.iter().any(|id| contents.has(id))
}

pub(crate) fn write(registry: &Registry, experiments: &[Experiment], store: &Path, output: &Output) -> Result<()> {
    let (contents, out) = (store::read(store)?, &output.out);
    // Before anything is written: a page without rows would take the place of one that has some.
    for experiment in experiments {
        let Experiment { name, preset, .. } = experiment;
        let found = has_rows(experiment, &contents);
        ensure!(found, "{} has no row of {name} at preset {preset}; nalm run makes them", store.display());
    }
    let (mut all, mut placed) = (Vec::new(), 0);
    for experiment in experiments {
        let found = registry.report(experiment, &contents, out)?;
        if output.png {
            found.figures.iter().try_for_each(|name| figure::png::write(out, name))?;
        }
        if let Some(readme) = &output.readme {
            placed += usize::from(report::readme::splice(readme, &experiment.name, &found, out)?);
        }
        all.push(found);
    }
    if let (Some(readme), 0) = (&output.readme, placed) {
        let (file, name) = (readme.display(), &experiments[0].name);
        bail!(
            "{file} has no place for it; put the lines <!-- nalm:{name} --> and <!-- /nalm:{name} --> where it belongs"
        );
    }
    if output.json {
        let list = experiments.iter().zip(&all).map(|(e, f)| {
            json!({"experiment": e.name, "preset": e.preset, "rows": f.rows, "runs": e.runs.len(), "agree": f.agree,
                "compared": f.compared, "figures": f.figures})
        });
        super::print_json(&list.collect::<Vec<_>>())?;
    } else {
        let mut stdout = std::io::stdout().lock();
        for (experiment, found) in experiments.iter().zip(&all) {
            let name = &experiment.name;
            let page = out.join(format!("{name}.html"));
            writeln!(
                stdout,
                "{name}: {} of {} published values agree; {}",
                found.agree,
                found.compared,
                page.display()
            )?;
        }
        if all.len() > 1 {
            let (agree, compared) = all.iter().fold((0, 0), |(a, c), f| (a + f.agree, c + f.compared));
            let page = out.join("index.html");
            writeln!(stdout, "{agree} of {compared} published values agree; {}", page.display())?;
        }
    }
    if all.len() > 1 {
        report::write_index(all, out)?;
    }
    Ok(())
}

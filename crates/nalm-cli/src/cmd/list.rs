//! `nalm list`: what there is.

use crate::arguments::{List, Listing};
use anyhow::Result;
use nalm::Setting;
use nalm::denoiser::DENOISERS;
use nalm::noise::NOISES;
use nalm::task::PAPER_RANGES;
use nalm_lab::Registry;
use nalm_lab::experiment::{Overrides, built_in};
use nalm_lab::run::schedule;
use serde_json::{Value, json};
use std::io::Write;

pub(crate) fn run(registry: &Registry, arguments: &List) -> Result<()> {
    let entries = entries(registry, arguments.what)?;
    if arguments.json {
        return super::print_json(&entries);
    }
    let mut out = std::io::stdout().lock();
    for entry in &entries {
        writeln!(out, "{}", entry["name"].as_str().unwrap_or_default())?;
        for (key, value) in entry.as_object().into_iter().flatten().filter(|(key, _)| *key != "name") {
            writeln!(out, "    {:11} {}", format!("{key}:").replace('_', " "), plain(value))?;
        }
    }
    Ok(())
}

fn entries(registry: &Registry, what: Listing) -> Result<Vec<Value>> {
    let catalogue = &registry.catalogue;
    Ok(match what {
        Listing::Modules => modules(registry),
        Listing::Noise => {
            let entry = |n: &nalm::noise::NoiseSpec| json!({"name": n.name, "formula": n.formula, "example": n.example.to_string()});
            NOISES.iter().map(entry).collect()
        }
        Listing::Denoisers => DENOISERS.iter().map(|d| json!({"name": d.name, "formula": d.formula})).collect(),
        Listing::Tasks => {
            let tasks = catalogue.tasks().iter();
            tasks
                .map(
                    |task| json!({"name": task.name(), "summary": task.summary(), "settings": names(&task.settings())}),
                )
                .collect()
        }
        Listing::Experiments => {
            let load = |name: &str| {
                let experiment = registry.load(name, &Overrides::default())?;
                Ok(json!({"name": name, "title": experiment.title, "runs": experiment.runs.len()}))
            };
            built_in::names(catalogue).into_iter().map(load).collect::<Result<_>>()?
        }
        Listing::Schedules => {
            let entry = |spec: &nalm::second_order::schedule::ScheduleSpec| {
                let phases = serde_json::to_value(schedule::Written::of(&spec.schedule))?;
                Ok(json!({"name": spec.name, "summary": spec.summary, "phases": phases["phase"]}))
            };
            nalm::second_order::schedule::list().iter().map(entry).collect::<Result<_>>()?
        }
        Listing::Ranges => {
            PAPER_RANGES.iter().map(|(train, test)| json!({"name": train, "test_range": test})).collect()
        }
        Listing::Metrics => {
            let over = |m: &nalm_lab::summary::Metric| format!("{:?}", m.over).to_lowercase();
            let entry = |m: &nalm_lab::summary::Metric| json!({"name": m.name, "label": m.label, "estimator": format!("{:?}", m.estimator).to_lowercase(), "over": over(m)});
            registry.metrics.iter().map(entry).collect()
        }
        Listing::Figures => {
            registry.figures.iter().map(|kind| json!({"name": kind.name, "meaning": kind.meaning})).collect()
        }
    })
}

fn modules(registry: &Registry) -> Vec<Value> {
    let entry = |spec: &nalm::module::Spec<f32>| {
        let claims: Vec<&str> = spec.claims.iter().map(|operation| operation.name()).collect();
        json!({
            "name": spec.name,
            "label": spec.label,
            "formula": spec.formula,
            "parameters": spec.parameters,
            "allowed": spec.allowed,
            "operations": claims,
            "options": names(spec.options),
            "citation": spec.citation,
        })
    };
    registry.catalogue.modules().iter().map(|module| entry(&module.single)).collect()
}

fn names(settings: &[Setting]) -> Vec<&'static str> {
    settings.iter().map(|setting| setting.name).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

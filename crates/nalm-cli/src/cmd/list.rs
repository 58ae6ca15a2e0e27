//! `nalm list`: what there is.

use crate::arguments::Listing;
use anyhow::Result;
use nalm::Setting;
use nalm::denoiser::DENOISERS;
use nalm::noise::NOISES;
use nalm::second_order::schedule;
use nalm::task::PAPER_RANGES;
use nalm_lab::Registry;
use nalm_lab::experiment::{Overrides, built_in};
use nalm_lab::run::schedule::Written;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::io::Write;

pub(crate) fn run(registry: &Registry, what: Listing, json: bool) -> Result<()> {
    let entries = entries(registry, what)?;
    if json {
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
    let word = |value: &dyn Debug| format!("{value:?}").to_lowercase();
    Ok(match what {
        Listing::Modules => all(catalogue.modules(), |module| entry(&module.single)),
        Listing::Noise => {
            all(NOISES, |n| json!({"name": n.name, "formula": n.formula, "example": n.example.to_string()}))
        }
        Listing::Denoisers => all(DENOISERS, |d| json!({"name": d.name, "formula": d.formula})),
        Listing::Tasks => all(
            catalogue.tasks(),
            |task| json!({"name": task.name(), "summary": task.summary(), "settings": names(&task.settings())}),
        ),
        Listing::Experiments => {
            let load = |name: &str| {
                let experiment = registry.load(name, &Overrides::default())?;
                Ok(json!({"name": name, "title": experiment.title, "runs": experiment.runs.len()}))
            };
            built_in::names(catalogue).into_iter().map(load).collect::<Result<_>>()?
        }
        Listing::Schedules => all(schedule::list(), |spec| {
            let phases = json!(Written::of(&spec.schedule));
            json!({"name": spec.name, "summary": spec.summary, "phases": phases["phase"]})
        }),
        Listing::Ranges => all(PAPER_RANGES, |(train, test)| json!({"name": train, "test_range": test})),
        Listing::Metrics => all(
            &registry.metrics,
            |m| json!({"name": m.name, "label": m.label, "estimator": word(&m.estimator), "over": word(&m.over)}),
        ),
        Listing::Figures => all(&registry.figures, |kind| json!({"name": kind.name, "meaning": kind.meaning})),
    })
}

fn all<T>(items: impl IntoIterator<Item = T>, entry: impl Fn(T) -> Value) -> Vec<Value> {
    items.into_iter().map(entry).collect()
}

fn entry(spec: &nalm::module::Spec<f32>) -> Value {
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

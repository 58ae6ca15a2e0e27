//! `nalm list`: what there is.

use crate::cli::{List, Listing};
use crate::schedule;
use crate::suite::{self, Overrides};
use anyhow::Result;
use nalm::denoiser::DENOISERS;
use nalm::noise::NOISES;
use nalm::{module, task};
use serde_json::{Value, json};
use std::io::Write;

pub(crate) fn run(arguments: &List) -> Result<()> {
    let entries = match arguments.what {
        Listing::Modules => modules(),
        Listing::Noise => NOISES
            .iter()
            .map(|n| json!({"name": n.name, "formula": n.formula, "example": n.example.to_string()}))
            .collect(),
        Listing::Denoisers => DENOISERS.iter().map(|d| json!({"name": d.name, "formula": d.formula})).collect(),
        Listing::Tasks => task::list::<f32>()
            .iter()
            .map(|t| json!({"name": t.name, "formula": t.summary, "inputs": t.inputs}))
            .collect(),
        Listing::Experiments => suite::names()
            .into_iter()
            .map(|name| {
                let study = suite::load(name, &Overrides::default())?;
                Ok(json!({"name": name, "title": study.title(), "runs": study.ids().len()}))
            })
            .collect::<Result<_>>()?,
        Listing::Schedules => nalm::second_order::schedule::list()
            .iter()
            .map(|spec| {
                let phases = serde_json::to_value(schedule::Written::of(&spec.schedule))?;
                Ok(json!({"name": spec.name, "summary": spec.summary, "phases": phases["phase"]}))
            })
            .collect::<Result<_>>()?,
        Listing::Ranges => {
            task::PAPER_RANGES.iter().map(|(train, test)| json!({"name": train, "test_range": test})).collect()
        }
    };
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

fn modules() -> Vec<Value> {
    module::list::<f32>()
        .iter()
        .map(|spec| {
            let claims: Vec<&str> = spec.claims.iter().map(|operation| operation.name()).collect();
            json!({
                "name": spec.name,
                "label": spec.label,
                "formula": spec.formula,
                "parameters": spec.parameters,
                "allowed": spec.allowed,
                "operations": claims,
                "options": spec.options,
                "citation": spec.citation,
            })
        })
        .collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

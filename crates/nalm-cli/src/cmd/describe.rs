//! `nalm describe`: what a unit or a stack is made of, and what can be chosen of it or of a task.

use crate::terminal::paragraph;
use anyhow::Result;
use nalm::Setting;
use nalm::architecture::Layer;
use nalm::module::Shape;
use nalm_lab::figure::diagram;
use nalm_lab::task::network;
use nalm_lab::{Error, Registry, files};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(registry: &Registry, model: &str, inputs: Option<usize>, svg: Option<&Path>) -> Result<()> {
    let catalogue = &registry.catalogue;
    if let Some(file) = svg {
        let drawn = match catalogue.task(model) {
            Ok(_) => diagram::of_task(catalogue, model)?,
            Err(_) => {
                let layers = layers(catalogue, model)?;
                let inputs = inputs.or(layers.first().and_then(|layer| layer.0.inputs)).unwrap_or(2);
                diagram::of_network(
                    catalogue,
                    &network::label(catalogue, &layers),
                    &network::stack(catalogue, &layers, inputs)?,
                )?
            }
        };
        files::replace(&*registry.files, file, drawn.as_bytes())?;
        writeln!(std::io::stdout(), "{}", file.display())?;
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    if let Ok(task) = catalogue.task(model) {
        write!(out, "{}", paragraph("", "  ", &format!("{}: {}", task.name(), task.summary())))?;
        return settings(&mut out, &task.settings());
    }
    let layers = layers(catalogue, model)?;
    let inputs = inputs.or(layers.first().and_then(|layer| layer.0.inputs)).unwrap_or(2);
    let stack = network::stack(catalogue, &layers, inputs)?;
    writeln!(out, "x [{inputs}]")?;
    for (network::Layer(layer), unit) in layers.iter().zip(stack.layers()) {
        let (spec, Shape { inputs, outputs, .. }) = (&catalogue.module(&layer.module)?.single, unit.shape());
        let recurrent = layer.steps.map_or(String::new(), |steps| format!(", {steps} steps of a recurrence"));
        writeln!(out, " │")?;
        writeln!(out, " ▼  {} {inputs}→{outputs}, {} parameters{recurrent}", spec.label, unit.param_len())?;
        for text in [spec.formula, &format!("{}; {}", spec.parameters, spec.allowed), spec.citation] {
            write!(out, "{}", paragraph(" │  ", " │    ", text))?;
        }
    }
    writeln!(out, " ▼")?;
    writeln!(out, "y [{}], {} parameters in all", stack.shape().outputs, stack.param_len())?;
    for network::Layer(layer) in &layers {
        let spec = &catalogue.module(&layer.module)?.single;
        if !spec.options.is_empty() {
            writeln!(out, "\nOptions of {}:", spec.name)?;
            settings(&mut out, spec.options)?;
        }
    }
    Ok(())
}

/// A module, a stack written with commas, or names joined as in nau-snmu. In a stack by names, every layer but the last has two outputs.
pub(crate) fn layers(catalogue: &nalm_lab::task::Catalogue, text: &str) -> Result<Vec<network::Layer>> {
    // As experiment files write it, options and all.
    if text.trim_start().starts_with('[') {
        let wrong = |error: &dyn std::fmt::Display| Error::Request(format!("cannot read the layers {text}: {error}"));
        let table: toml::Table = toml::from_str(&format!("layers = {text}")).map_err(|error| wrong(&error))?;
        let layers = serde_json::to_value(table)?["layers"].take();
        return Ok(serde_json::from_value(layers).map_err(|error| wrong(&error))?);
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let several = text.contains(',') || text.contains("->") || text.contains('=');
    if several || catalogue.module(first.trim_end_matches(',')).is_ok() {
        return split(text).into_iter().map(|layer| Ok(network::Layer(layer.parse()?))).collect();
    }
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    while catalogue.module(rest).is_err()
        && let Some((name, more)) = rest.split_once('-').filter(|(name, _)| catalogue.module(name).is_ok())
    {
        names.push(name.into());
        rest = more;
    }
    names.push(rest.into());
    let last = names.len() - 1;
    let layer = |(k, module): (usize, String)| Layer { module, outputs: (k < last).then_some(2), ..Layer::default() };
    Ok(names.into_iter().enumerate().map(layer).map(network::Layer).collect())
}

/// Text between commas that stand in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, 0_i32);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => open += 1,
            // A range may end with either bracket.
            ']' | ')' => open -= 1,
            ',' if open <= 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn settings(out: &mut dyn Write, settings: &[Setting]) -> Result<()> {
    let width = settings.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
    for Setting { name, kind, default, meaning, .. } in settings {
        let default = if default.is_empty() { String::new() } else { format!(" [default: {default}]") };
        let text = format!("{meaning}; {}{default}", kind.name());
        write!(out, "{}", paragraph(&format!("  {name:width$}  "), &" ".repeat(width + 4), &text))?;
    }
    Ok(())
}

//! `nalm describe`: what a unit or a stack is made of, and what can be chosen of it or of a task.

use super::list;
use crate::terminal::{counted, paragraph};
use anyhow::{Result, ensure};
use nalm::architecture::Layer;
use nalm::denoiser::{DENOISERS, DenoiserSpec};
use nalm::module::Shape;
use nalm::{Options, Setting};
use nalm_lab::experiment::reading;
use nalm_lab::figure::diagram;
use nalm_lab::task::{Catalogue, network};
use nalm_lab::{Error, Registry, files};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(registry: &Registry, model: &str, inputs: Option<usize>, svg: Option<&Path>) -> Result<()> {
    let catalogue = &registry.catalogue;
    if let Some(file) = svg {
        let drawn = match catalogue.task(model) {
            Ok(_) => {
                let text = format!("{model} is drawn as published; --inputs is for modules and stacks here");
                ensure!(inputs.is_none(), Error::Request(text));
                diagram::of_task(catalogue, model)?
            }
            Err(_) => {
                let layers = named(catalogue, model, true)?;
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
        let mut chosen = Options::new();
        if let Some(inputs) = inputs {
            let text = format!("{} takes no --inputs: they are those of its data", task.name());
            ensure!(task.declares("inputs"), Error::Request(text));
            chosen.set("inputs", inputs);
        }
        write!(out, "{}", paragraph("", "  ", &format!("{}: {}", task.name(), task.summary())))?;
        return settings(&mut out, &task.settings(), &chosen);
    }
    if let Some(what) = list::listing_of(registry, model)?.filter(|_| catalogue.module(model).is_err()) {
        ensure!(inputs.is_none(), Error::Request(format!("{model} takes no --inputs; leave it out")));
        drop(out);
        return list::run(registry, Some(what), Some(model), false);
    }
    let layers = named(catalogue, model, true).map_err(|error| list::with_all_names(registry, error))?;
    let inputs = inputs.or(layers.first().and_then(|layer| layer.0.inputs)).unwrap_or(2);
    let stack = network::stack(catalogue, &layers, inputs)?;
    writeln!(out, "x [{inputs}]")?;
    for (network::Layer(layer), unit) in layers.iter().zip(stack.layers()) {
        let (spec, Shape { inputs, outputs, .. }) = (&catalogue.module(&layer.module)?.single, unit.shape());
        let chosen = network::options(catalogue, &layer.module, &layer.options)?;
        let chosen: String = chosen.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let recurrent =
            layer.steps.map_or(String::new(), |steps| format!(", {} of a recurrence", counted(steps, "step")));
        writeln!(out, " │")?;
        let parameters = counted(unit.param_len(), "parameter");
        writeln!(out, " ▼  {} {inputs}→{outputs}, {parameters}{recurrent}{chosen}", spec.label)?;
        for text in [
            &*formula(spec.formula, unit.options().get("denoiser")),
            &format!("{}; {}", spec.parameters, spec.allowed),
            spec.citation,
        ] {
            write!(out, "{}", paragraph(" │  ", " │    ", text))?;
        }
    }
    writeln!(out, " ▼")?;
    writeln!(out, "y [{}], {} in all", stack.shape().outputs, counted(stack.param_len(), "parameter"))?;
    for network::Layer(layer) in &layers {
        let spec = &catalogue.module(&layer.module)?.single;
        if !spec.options.is_empty() {
            writeln!(out, "\nOptions of {}:", spec.name)?;
            settings(&mut out, spec.options, &network::options(catalogue, &layer.module, &layer.options)?)?;
        }
    }
    Ok(())
}

/// The formula of a unit with the denominator that was chosen; lists have it with the first of them.
fn formula(listed: &str, denoiser: Option<impl ToString>) -> String {
    let Some(name) = denoiser.map(|value| value.to_string()) else { return listed.into() };
    let of = |spec: &DenoiserSpec| spec.formula.replace("w_i", "w_oi");
    let (first, chosen) = (of(&DENOISERS[0]), DENOISERS.iter().find(|spec| spec.name == name).map(of));
    match chosen.as_deref() {
        None => listed.into(),
        Some("1") => listed.replace(&format!(" / {first}"), ""),
        Some(chosen) => listed.replace(&first, chosen),
    }
}

/// A module, a stack written with commas, or names joined as in nau-snmu.
pub(crate) fn layers(catalogue: &Catalogue, text: &str) -> Result<Vec<network::Layer>> {
    named(catalogue, text, false)
}

/// A module, a stack written with commas, or names joined as in nau-snmu. In a stack by names, every layer but the last has two outputs.
/// A name that is none of them is held against tasks, too, where those are described.
fn named(catalogue: &Catalogue, text: &str, or_task: bool) -> Result<Vec<network::Layer>> {
    // As experiment files write it, options and all.
    if text.trim_start().starts_with('[') {
        let wrong = |error| Error::Request(format!("cannot read the layers {text}: {error}"));
        let table: toml::Table = reading::read("layers", &format!("layers = {text}"))?;
        let layers = serde_json::to_value(table)?["layers"].take();
        return Ok(serde_json::from_value(layers).map_err(wrong)?);
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
    if names.is_empty() && catalogue.module(rest).is_err() {
        // One name that nobody knows may be meant as any of these.
        let modules = catalogue.modules().iter().map(|module| module.single.name);
        let aliases = catalogue.aliases().iter().map(|alias| alias.name);
        let tasks = catalogue.tasks().iter().map(|task| task.name());
        let known: Vec<&str> = modules.chain(aliases).chain(tasks.filter(|_| or_task)).collect();
        let what = if or_task { "module or task" } else { "module" };
        return Err(nalm::Error::unknown(what, rest, &known).into());
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

/// What can be chosen, with what was.
fn settings(out: &mut dyn Write, settings: &[Setting], chosen: &Options) -> Result<()> {
    let width = settings.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
    for Setting { name, kind, default, meaning, .. } in settings {
        let chosen = chosen.get(name).map(|value| format!("chosen: {value}"));
        let default = Some(format!("default: {default}")).filter(|_| !default.is_empty());
        let said: Vec<String> = chosen.into_iter().chain(default).collect();
        let default = if said.is_empty() { String::new() } else { format!(" [{}]", said.join("; ")) };
        let text = format!("{meaning}; {}{default}", kind.name());
        write!(out, "{}", paragraph(&format!("  {name:width$}  "), &" ".repeat(width + 4), &text))?;
    }
    Ok(())
}

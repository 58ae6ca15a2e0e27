//! `nalm train`: one run.

use crate::arguments::Train;
use anyhow::Result;
use nalm::{LoggedErrors, Observer, Outcome, Status, formula};
use nalm_lab::figure::record;
use nalm_lab::report::csv;
use nalm_lab::run::{Spec, schedule};
use nalm_lab::task::choose::choose;
use nalm_lab::task::{Choices, numbers_row};
use nalm_lab::{Error, Registry, files};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;

pub(crate) fn run(registry: &Registry, arguments: &Train) -> Result<()> {
    let spec = spec(registry, arguments)?;
    let task = registry.catalogue.task(spec.task())?;
    registry.catalogue.memory.ensure("this run", task.bytes(&registry.catalogue, &spec)?)?;
    let Some(built) = task.built(&registry.catalogue, &spec)? else {
        let name = spec.task();
        anyhow::bail!(
            "{name} has runs of hours, which nalm run carries out and keeps; write an experiment file for it"
        );
    };
    // Before training: whoever waited for five million steps should not lose them to a mistyped folder.
    if let Some(folder) = arguments.curve.as_ref().and_then(|path| path.parent()) {
        let there = folder.as_os_str().is_empty() || folder.is_dir();
        let wrong = || Error::Request(format!("{} is no folder, so no curve can be written there", folder.display()));
        anyhow::ensure!(there, wrong());
    }
    let mut live = Live { every: (built.config.steps / 20).next_multiple_of(1_000).max(1_000), shown: !arguments.json };
    let outcome = built.train(spec.seed(), &mut live)?;
    if let Some(path) = &arguments.curve {
        files::write(&*registry.files, path, |out| out.write_all(curve_of(&outcome).as_bytes()))?;
    }
    if arguments.json {
        return super::print_json(&numbers_row(&spec, &outcome, None).normalised());
    }
    let mut out = std::io::stdout().lock();
    let verdict = outcome.flat.unwrap_or(outcome.simulated);
    writeln!(out, "{}", if verdict.solved { "solved" } else { "not solved" })?;
    writeln!(out, "best step        {}", outcome.best_step)?;
    writeln!(out, "validation error {:.3e}", outcome.validation_error)?;
    writeln!(out, "test error       {:.3e}", outcome.test_error)?;
    writeln!(out, "sparsity error   {:.3e}", outcome.sparsity_error)?;
    if let Some(step) = verdict.solved_at {
        writeln!(out, "solved at        {step}")?;
    }
    if built.schedule.is_some() {
        writeln!(out, "attempts         {}", outcome.reinitialisations + 1)?;
    }
    if let Status::Diverged { step } = outcome.status {
        writeln!(out, "diverged at      {step}")?;
    }
    match formula::read(&built.network, &outcome.params, &[])? {
        Some(lines) => lines.iter().try_for_each(|line| writeln!(out, "formula          {line}"))?,
        None => writeln!(out, "formula          no simple one")?,
    }
    for (k, layer) in built.network.layers().iter().enumerate() {
        let params = built.network.layer_params(&outcome.params, k);
        let shown: Vec<String> = params.iter().take(8).map(|p| format!("{p:.4}")).collect();
        let more = if params.len() > 8 { format!(" … ({} in all)", params.len()) } else { String::new() };
        writeln!(out, "{:16} {}{more}", format!("{} weights", layer.name()), shown.join(" "))?;
    }
    Ok(())
}

fn spec(registry: &Registry, arguments: &Train) -> Result<Spec> {
    let catalogue = &registry.catalogue;
    let task = catalogue.task(&arguments.task)?;
    let mut values: BTreeMap<String, Value> = arguments.set.iter().cloned().collect();
    let mut put = |name: &str, value: Option<Value>| values.extend(value.map(|value| (name.to_string(), value)));
    put("operation", arguments.operation.map(|operation| operation.to_string().into()));
    put("inputs", arguments.inputs.map(Into::into));
    put("range", arguments.range.as_ref().map(|range| range.to_string().into()));
    put("test_range", arguments.test_range.as_ref().map(|range| range.to_string().into()));
    put("data", arguments.data.as_ref().map(|file| file.display().to_string().into()));
    put("target", arguments.target.clone().map(Into::into));
    put("steps", arguments.steps.map(Into::into));
    put("stream", arguments.stream.map(|stream| stream.to_string().into()));
    put("noise", arguments.noise.map(|noise| noise.to_string().into()));
    put("denoiser", arguments.denoiser.map(|denoiser| denoiser.to_string().into()));
    put("hidden", arguments.hidden.map(Into::into));
    for (name, number) in [("learning_rate", arguments.learning_rate), ("gradient_noise", arguments.gradient_noise)] {
        // JSON has no NaN, so it is refused here.
        let wrong = || Error::Request(format!("{name} is {}; it must be a finite number", number.unwrap_or_default()));
        anyhow::ensure!(number.is_none_or(f64::is_finite), wrong());
        put(name, number.map(Into::into));
    }
    let layers = arguments.layers.as_deref().map(|text| super::describe::layers(catalogue, text)).transpose()?;
    let module = layers.is_none().then(|| arguments.module.clone().unwrap_or_else(|| "nmu".into()));
    let schedule = arguments.schedule.as_deref().map(schedule::Written::named).transpose()?;
    let mut choices = Choices { module, layers, schedule, seed: arguments.seed, ..Choices::default() };
    for (name, value) in &values {
        choose(catalogue, &**task, &mut choices, name, value, true);
    }
    Ok(task.specify(catalogue, &choices)?)
}

/// Errors as they are logged, to the standard error.
struct Live {
    every: u64,
    shown: bool,
}

impl Observer<f32> for Live {
    fn logged(&mut self, row: &LoggedErrors, _: &[f32]) -> ControlFlow<()> {
        if self.shown && row.step.is_multiple_of(self.every) {
            // Twenty bars from 1e-14 to 1e6.
            let bars = (row.test.max(1e-14).log10() + 14.0).clamp(0.0, 20.0) as usize;
            let bar = if std::io::stderr().is_terminal() { "▇".repeat(bars) } else { String::new() };
            say!("step {:>8}  inside {:9.2e}  outside {:9.2e}  {bar}", row.step, row.validation, row.test);
        }
        ControlFlow::Continue(())
    }
}

/// The logged errors as CSV.
fn curve_of(outcome: &Outcome<f32>) -> String {
    let head = record(&[&"step", &"validation_error", &"test_error", &"sparsity_error"]);
    let row = |row: &LoggedErrors| record(&[&row.step, &row.validation, &row.test, &row.sparsity]);
    csv(&[head].into_iter().chain(outcome.rows.iter().map(row)).collect::<Vec<_>>())
}

//! `nalm train`: one run.

use crate::cli::Train;
use crate::formula;
use crate::row::Row;
use crate::runspec::{Built, RunSpec, Settings, published_test_range};
use crate::schedule;
use anyhow::{Context, Result};
use nalm::{Observer, Outcome, Status};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;

pub(crate) fn run(arguments: &Train) -> Result<()> {
    let spec = spec(arguments)?;
    // Before training: whoever waited for five million steps should not lose them to a mistyped folder.
    let curve = arguments.curve.as_ref().map(|path| {
        std::fs::File::create(path).with_context(|| format!("cannot write the curve to {}", path.display()))
    });
    let curve = curve.transpose()?;
    let mut live = Live { every: (spec.steps / 20).next_multiple_of(1_000).max(1_000), shown: !arguments.json };
    let (Built { network, .. }, outcome) = spec.execute(&mut live)?;
    if let Some(file) = curve {
        write_curve(&outcome, file).context("cannot write the curve")?;
    }
    if arguments.json {
        return super::print_json(&Row::new(&spec, &outcome, None));
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
    if spec.schedule.is_some() {
        writeln!(out, "attempts         {}", outcome.reinitialisations + 1)?;
    }
    if let Status::Diverged { step } = outcome.status {
        writeln!(out, "diverged at      {step}")?;
    }
    for line in formula::read(&network, &outcome.params).unwrap_or_default() {
        writeln!(out, "formula          {line}")?;
    }
    for (k, layer) in network.layers().iter().enumerate() {
        let params = network.layer_params(&outcome.params, k);
        let shown: Vec<String> = params.iter().take(8).map(|p| format!("{p:.4}")).collect();
        let more = if params.len() > 8 { format!(" … ({} in all)", params.len()) } else { String::new() };
        writeln!(out, "{:16} {}{more}", format!("{} weights", layer.name()), shown.join(" "))?;
    }
    Ok(())
}

fn spec(arguments: &Train) -> Result<RunSpec> {
    let task = nalm::task::find::<f32>(&arguments.task)?;
    let range = arguments.range.to_string();
    let test_range = match &arguments.test_range {
        Some(range) => range.to_string(),
        None => published_test_range(&range).context("--test-range is missing")?.to_string(),
    };
    let schedule = arguments.schedule.as_deref().map(schedule::Written::named).transpose()?;
    let steps = if arguments.task == "arithmetic" { 5_000_000 } else { 50_000 };
    let mut spec = RunSpec {
        task: task.name.into(),
        operation: arguments.operation.to_string(),
        inputs: arguments.inputs.unwrap_or(task.inputs),
        range,
        test_range,
        module: arguments.module.clone(),
        options: Settings {
            noise: arguments.noise.map(|noise| noise.to_string()),
            denoiser: arguments.denoiser.map(|denoiser| denoiser.to_string()),
            hidden: arguments.hidden,
            gradient_noise: arguments.gradient_noise,
            learning_rate: arguments.learning_rate,
            ..Settings::default()
        },
        seed: arguments.seed,
        stream: arguments.stream.to_string(),
        steps: arguments.steps.unwrap_or(steps),
        curve: None,
        schedule,
        problem: None,
        numerics: nalm::NUMERICS,
    };
    spec.fit_steps()?;
    Ok(spec)
}

/// Errors as they are logged, to the standard error.
struct Live {
    every: u64,
    shown: bool,
}

impl Observer<f32> for Live {
    fn logged(&mut self, row: &nalm::LoggedErrors, _: &[f32]) -> ControlFlow<()> {
        if self.shown && row.step.is_multiple_of(self.every) {
            // Twenty bars from 1e-14 to 1e6.
            let bars = (row.test.max(1e-14).log10() + 14.0).clamp(0.0, 20.0) as usize;
            let bar = if std::io::stderr().is_terminal() { "▇".repeat(bars) } else { String::new() };
            say!("step {:>8}  inside {:9.2e}  outside {:9.2e}  {bar}", row.step, row.validation, row.test);
        }
        ControlFlow::Continue(())
    }
}

fn write_curve(outcome: &Outcome<f32>, file: std::fs::File) -> Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    let names = ["step", "validation_error", "test_error", "sparsity_error"];
    writer.write_record(names).map_err(std::io::Error::from)?;
    for row in &outcome.rows {
        let numbers = [row.validation, row.test, row.sparsity].map(|v| v.to_string());
        let cells = [row.step.to_string()].into_iter().chain(numbers);
        writer.write_record(cells).map_err(std::io::Error::from)?;
    }
    writer.flush()?;
    Ok(())
}

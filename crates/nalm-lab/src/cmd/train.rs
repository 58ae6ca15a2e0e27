//! `nalm train`: one run.

use crate::cli::Train;
use anyhow::{Context, Result, bail};
use nalm::module::{self, Dispatch, Options, Shape};
use nalm::task::{self, PAPER_RANGES, Task};
use nalm::{
    Config, Distribution, GradientNoise, Nau, Network, Observer, Optimiser, Outcome, Row, Status, Verdict, train,
};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;

pub(crate) fn run(arguments: &Train) -> Result<()> {
    let task = build_task(arguments)?;
    let network = build_network(arguments, task.shape().inputs)?;
    let config = build_config(arguments, &network);
    let mut live =
        Live { every: (config.steps / config.log_every / 20).max(1) * config.log_every, shown: !arguments.json };
    let outcome = train(&network, &*task, arguments.seed, &config, &mut live)?;
    if let Some(path) = &arguments.curve {
        write_curve(&outcome, path).with_context(|| format!("cannot write the curve to {}", path.display()))?;
    }
    if arguments.json {
        return super::print_json(&report(arguments, &network, &config, &outcome));
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
    if let Status::Diverged { step } = outcome.status {
        writeln!(out, "diverged at      {step}")?;
    }
    for (k, layer) in network.layers().iter().enumerate() {
        let params = network.layer_params(&outcome.params, k);
        let shown: Vec<String> = params.iter().take(8).map(|p| format!("{p:.4}")).collect();
        let more = if params.len() > 8 { format!(" … ({} in all)", params.len()) } else { String::new() };
        writeln!(out, "{:16} {}{more}", format!("{} weights", layer.name()), shown.join(" "))?;
    }
    Ok(())
}

fn build_task(arguments: &Train) -> Result<Box<dyn Task<f32>>> {
    let spec = task::find::<f32>(&arguments.task)?;
    let inputs = arguments.inputs.unwrap_or(spec.inputs);
    let test = match &arguments.test_range {
        Some(range) => range.clone(),
        None => published_test_range(&arguments.range)?,
    };
    Ok((spec.build)(arguments.operation, inputs, arguments.range.clone(), test)?)
}

fn published_test_range(range: &Distribution) -> Result<Distribution> {
    let name = range.to_string();
    match PAPER_RANGES.iter().find(|(train, _)| *train == name) {
        Some((_, test)) => Ok(test.parse()?),
        None => bail!("{name} has no published test range; give one with --test-range, such as --test-range 'U[2,6)'"),
    }
}

fn build_network(arguments: &Train, inputs: usize) -> Result<Network<f32>> {
    let spec = module::find::<f32>(&arguments.module)?;
    let mut options = Options::default();
    let mut given = Vec::new();
    if let Some(noise) = arguments.noise {
        options.noise = noise;
        given.push("noise");
    }
    if let Some(denoiser) = arguments.denoiser {
        options.denoiser = denoiser;
        given.push("denoiser");
    }
    if let Some(hidden) = arguments.hidden {
        options.hidden = hidden;
        given.push("hidden");
    }
    if let Some(option) = given.iter().find(|option| !spec.options.contains(option)) {
        bail!("{} has no option --{option}; it has: {}", spec.name, spec.options.join(", "));
    }
    if arguments.task == "arithmetic" {
        let top = (spec.build)(Shape::new(2, 1)?, &options)?;
        let layers: Vec<Box<dyn Dispatch<f32>>> = vec![Box::new(Nau::new(inputs, 2)?), top];
        return Ok(Network::new(layers)?);
    }
    Ok(Network::new(vec![(spec.build)(Shape::new(inputs, 1)?, &options)?])?)
}

fn build_config(arguments: &Train, network: &Network<f32>) -> Config {
    let mut config = Config::published(network).stream(arguments.stream);
    if arguments.task == "arithmetic" {
        config = config.steps(5_000_000).ramp(1_000_000, 2_000_000);
    }
    if let Some(steps) = arguments.steps {
        config = config.steps(steps);
    }
    if let Some(rate) = arguments.learning_rate {
        config.optimiser = Optimiser::adam(rate);
    }
    config.gradient_noise = arguments.gradient_noise.map(GradientNoise::new);
    config
}

/// Errors as they are logged, to the standard error.
struct Live {
    every: u64,
    shown: bool,
}

impl Observer<f32> for Live {
    fn logged(&mut self, row: &Row, _: &[f32]) -> ControlFlow<()> {
        if self.shown && row.step.is_multiple_of(self.every) {
            // Twenty bars from 1e-14 to 1e6.
            let bars = (row.test.max(1e-14).log10() + 14.0).clamp(0.0, 20.0) as usize;
            let bar = if std::io::stderr().is_terminal() { "▇".repeat(bars) } else { String::new() };
            eprintln!("step {:>8}  inside {:9.2e}  outside {:9.2e}  {bar}", row.step, row.validation, row.test);
        }
        ControlFlow::Continue(())
    }
}

fn write_curve(outcome: &Outcome<f32>, path: &std::path::Path) -> Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(["step", "validation_error", "test_error", "sparsity_error"])?;
    for row in &outcome.rows {
        let numbers = [row.validation, row.test, row.sparsity].map(|v| v.to_string());
        writer.write_record([row.step.to_string()].iter().chain(&numbers))?;
    }
    writer.flush()?;
    Ok(())
}

fn report(arguments: &Train, network: &Network<f32>, config: &Config, outcome: &Outcome<f32>) -> Value {
    let (status, at) = match outcome.status {
        Status::Completed => ("completed", None),
        Status::Diverged { step } => ("diverged", Some(step)),
        Status::Cancelled { step } => ("cancelled", Some(step)),
    };
    let both = |f: &dyn Fn(&Verdict) -> Value| json!({"flat": outcome.flat.as_ref().map(f), "simulated": f(&outcome.simulated)});
    json!({
        "task": arguments.task,
        "operation": arguments.operation.name(),
        "module": arguments.module,
        "network": network.name(),
        "range": arguments.range.to_string(),
        "seed": arguments.seed,
        "stream": arguments.stream.to_string(),
        "steps": config.steps,
        "status": status,
        "ended_at": at,
        "solved": both(&|v| json!(v.solved)),
        "solved_at": both(&|v| json!(v.solved_at.filter(|_| v.solved))),
        "last_row_solved": both(&|v| json!(v.last_row_solved)),
        "stays_solved": both(&|v| json!(v.stays_solved)),
        "best_step": outcome.best_step,
        "validation_error": outcome.validation_error,
        "test_error": outcome.test_error,
        "sparsity_error": outcome.sparsity_error,
        "reinitialisations": outcome.reinitialisations,
        "weights": outcome.params,
        "numerics": nalm::NUMERICS,
    })
}

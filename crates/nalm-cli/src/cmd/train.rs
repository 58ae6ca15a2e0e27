//! `nalm train`: one run.

use crate::arguments::Train;
use crate::exit::Stopped;
use crate::progress::duration;
use crate::signal::Listening;
use crate::terminal::{To, Tone, paint, paragraph};
use anyhow::Result;
use nalm::module::Shape;
use nalm::{LoggedErrors, Observer, Operation, Options, Outcome, Status, formula};
use nalm_lab::figure::record;
use nalm_lab::report::csv;
use nalm_lab::run::{Spec, schedule};
use nalm_lab::stats::shown::significant;
use nalm_lab::task::choose::choose;
use nalm_lab::task::{Built, Choices, ModuleEntry, numbers_row};
use nalm_lab::{Error, Registry, files};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

pub(crate) fn run(registry: &Registry, arguments: &Train) -> Result<()> {
    let spec = spec(registry, arguments)?;
    let task = registry.catalogue.task(spec.task())?;
    registry.catalogue.memory.ensure("this run", task.bytes(&registry.catalogue, &spec)?)?;
    let Some(built) = task.built(&registry.catalogue, &spec)? else {
        let (name, text) = (spec.task(), "which nalm run carries out and keeps; write an experiment file for it");
        anyhow::bail!(Error::Request(format!("{name} has runs of hours, {text}")));
    };
    // Before training: whoever waited for five million steps should not lose them to a mistyped folder.
    if let Some(path) = &arguments.curve {
        super::ensure_place(path)?;
    }
    hint(registry, [&spec]);
    let steps = spec.whole("steps").unwrap_or(built.config.steps);
    let mut live = Live::new(steps, !arguments.json);
    let outcome = built.train(spec.seed(), &mut live)?;
    if let Some(path) = &arguments.curve {
        files::write(&*registry.files, path, |out| out.write_all(curve_of(&outcome).as_bytes()))?;
    }
    let stopped = match outcome.status {
        Status::Cancelled { step } => Some(Stopped(format!("stopped at step {step} of {steps}"))),
        _ => None,
    };
    match (arguments.json, &stopped) {
        // A row of a run that was not carried out to its end would be taken for one.
        (true, Some(_)) => {}
        (true, None) => super::print_json_line(&numbers_row(&spec, &outcome, None).normalised())?,
        (false, _) => summary(registry, &spec, &built, &outcome)?,
    }
    stopped.map_or(Ok(()), |stopped| Err(stopped.into()))
}

/// Says so before training if units cannot represent what they are to learn.
pub(super) fn hint<'a>(registry: &Registry, runs: impl IntoIterator<Item = &'a Spec>) {
    let mut unable: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let able = |module: &ModuleEntry, operation: &Operation| module.single.claims.contains(operation);
    for run in runs {
        let (module, operation) = (registry.catalogue.module(run.module()), run.text("operation").parse::<Operation>());
        let (Ok(module), Ok(operation)) = (module, operation) else { continue };
        let known = unable.entry(operation.to_string()).or_default();
        if !able(module, &operation) && !known.contains(&run.module()) {
            known.push(run.module());
        }
    }
    for (operation, units) in unable.iter().filter(|(_, units)| !units.is_empty()) {
        let Ok(asked) = operation.parse::<Operation>() else { continue };
        let can = registry.catalogue.modules().iter().filter(|module| able(module, &asked));
        let can: Vec<&str> = can.map(|module| module.single.name).collect();
        say!("{} cannot represent {operation} exactly; these units can: {}", units.join(", "), can.join(", "));
    }
}

/// What came of a run.
fn summary(registry: &Registry, spec: &Spec, built: &Built, outcome: &Outcome<f32>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let verdict = outcome.flat.unwrap_or(outcome.simulated);
    let (tone, word) = match outcome.status {
        Status::Diverged { step } => (Tone::Bad, format!("diverged at step {step}: {}", why(outcome))),
        _ if !outcome.validation_error.is_finite() => (Tone::Bad, format!("diverged: {}", why(outcome))),
        Status::Cancelled { step } if !verdict.solved => (Tone::Bad, format!("not solved by step {step}")),
        _ if verdict.solved => (Tone::Good, "solved".into()),
        _ => (Tone::Bad, "not solved".into()),
    };
    writeln!(out, "{}", paint(To::Output, tone, &word))?;
    writeln!(out, "best step         {}", outcome.best_step)?;
    let errors = [("validation error", outcome.validation_error), ("test error", outcome.test_error)];
    let sparsity = built.network.sparsity_error(&outcome.params).map(|_| ("sparsity error", outcome.sparsity_error));
    for (name, error) in errors.into_iter().chain(sparsity) {
        writeln!(out, "{name:16}  {}", shown(error))?;
    }
    if let Some(step) = verdict.solved_at {
        writeln!(out, "solved at         {step}")?;
    }
    if built.schedule.is_some() {
        writeln!(out, "attempts          {}", outcome.reinitialisations + 1)?;
    }
    let last =
        outcome.rows.last().filter(|row| row.step != outcome.best_step && verdict.solved && !verdict.last_row_solved);
    if let Some(last) = last {
        let text = format!(
            "at the end        not solved: test error {}; formula and weights are those of the end",
            shown(last.test)
        );
        writeln!(out, "{}", paint(To::Output, Tone::Bad, &text))?;
    }
    // A table's inputs have names.
    let columns = spec.text("columns").split(',').collect::<Vec<_>>();
    let columns = if columns.len() == built.network.shape().inputs { columns } else { Vec::new() };
    let has_numbers = outcome.params.iter().all(|p| p.is_finite());
    match if has_numbers { formula::read(&built.network, &outcome.params, &columns)? } else { None } {
        Some(lines) => {
            // The formula may be right where the weights are not yet.
            let solved = verdict.solved && verdict.last_row_solved;
            let name = format!("{:18}", if solved { "formula" } else { "nearest formula" });
            let line = |line: &String| paragraph(&name, &" ".repeat(18), line);
            lines.iter().try_for_each(|text| write!(out, "{}", line(text)))?;
            if !solved {
                writeln!(out, "{:18}(weights near whole numbers are rounded in it)", "")?;
            }
        }
        None => writeln!(out, "formula           no simple formula")?,
    }
    for (k, layer) in built.network.layers().iter().enumerate() {
        let params = built.network.layer_params(&outcome.params, k);
        let several = built.network.layers().len() > 1;
        let parts = registry.catalogue.module(layer.name()).map_or("", |module| module.single.parameters);
        for (name, own) in named(parts, layer.shape(), &layer.options(), params) {
            let name = if several { format!("{} {name}", layer.name()) } else { name };
            let values: Vec<String> = own.iter().take(8).map(|p| format!("{p:.4}")).collect();
            let more = if own.len() > 8 { format!(" … ({} in all)", own.len()) } else { String::new() };
            writeln!(out, "{name:16}  {}{more}", values.join(" "))?;
        }
    }
    Ok(())
}

/// An error for people.
fn shown(error: f64) -> String {
    if error.is_finite() { significant(error, 4) } else { "not a finite number".into() }
}

/// What makes numbers that are none.
fn why(outcome: &Outcome<f32>) -> &'static str {
    match outcome.rows.first() {
        Some(row) if !row.validation.is_finite() => {
            "products of this size are too large for 32 bits (3.4e38); take a smaller range"
        }
        _ => "its numbers grew beyond all bounds; a smaller --learning-rate may help",
    }
}

/// The parameters of a layer by the names of its description, such as `w_r [outputs, inputs], g [inputs]`; by one name if that does not
/// tell their number.
fn named<'a>(parts: &str, shape: Shape, options: &Options, params: &'a [f32]) -> Vec<(String, &'a [f32])> {
    let size = |name: &str| match name {
        "outputs" => Some(shape.outputs),
        "inputs" => Some(shape.inputs),
        other => other.parse().ok().or_else(|| options.get(other)?.to_string().parse().ok()),
    };
    let mut found: Vec<(String, usize)> = Vec::new();
    for part in parts.split_inclusive(']') {
        let (names, sizes) = part.split_once('[').unwrap_or((part, ""));
        let sizes = sizes.trim_end_matches(']');
        let Some(len) = sizes.split(',').map(|name| size(name.trim())).product::<Option<usize>>() else { continue };
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        found.extend(names.map(|name| (name.to_string(), len)));
    }
    let mut rest = params;
    let mut all = Vec::new();
    for (name, len) in found {
        // What is there with some options only comes last.
        let Some((own, more)) = rest.split_at_checked(len) else { break };
        all.push((name, own));
        rest = more;
    }
    if rest.is_empty() { all } else { vec![("weights".into(), params)] }
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

/// Errors as they are logged, to the standard error; and whether somebody asked to stop.
struct Live {
    listening: Listening,
    steps: u64,
    every: u64,
    is_shown: bool,
    start: Instant,
    /// What the last line said, and when.
    last: Option<(String, Instant)>,
    /// Whether it was said that nothing changes.
    is_still: bool,
}

/// However little changes, something is said after this time.
const SILENCE: Duration = Duration::from_secs(10);

impl Live {
    fn new(steps: u64, is_shown: bool) -> Self {
        let every = (steps / 20).next_multiple_of(1_000).max(1_000);
        let (listening, start) = (Listening::new(), Instant::now());
        Self { listening, steps, every, is_shown, start, last: None, is_still: false }
    }

    fn show(&mut self, row: &LoggedErrors) {
        let bars = std::io::stderr().is_terminal();
        if self.last.is_none() {
            let scale = if bars { "  outside, from 1e-14 to 1e6" } else { "" };
            say!("{} steps\n{:>8}  {:>9}  {:>9}  {:>6}{scale}", self.steps, "step", "inside", "outside", "to go");
        }
        let errors = format!("{:>9}  {:>9}", brief(row.validation), brief(row.test));
        let now = Instant::now();
        let is_news = self.last.as_ref().is_none_or(|(last, when)| *last != errors || now - *when > SILENCE);
        if !is_news && row.step != self.steps {
            if !self.is_still {
                say!("{:>8}  unchanged", "…");
            }
            self.is_still = true;
            return;
        }
        let left = to_go(self.start.elapsed().as_secs_f64(), row.step, self.steps);
        // Twenty bars from 1e-14 to 1e6.
        let length = (libm::log10(row.test.max(1e-14)) + 14.0).clamp(0.0, 20.0) as usize;
        let bar = if bars { "▇".repeat(length) } else { String::new() };
        let line = format!("{:>8}  {errors}  {left:>6}  {bar}", row.step);
        say!("{}", line.trim_end());
        (self.last, self.is_still) = (Some((errors, now)), false);
    }
}

/// How long the rest takes. Nothing is said about it before some of it was measured.
fn to_go(passed: f64, step: u64, steps: u64) -> String {
    match passed > 2.0 && step > 0 {
        true => duration(passed * (steps.saturating_sub(step)) as f64 / step as f64),
        false => String::new(),
    }
}

/// An error in a column.
fn brief(error: f64) -> String {
    if error.is_finite() { significant(error, 3) } else { "none".into() }
}

impl Observer<f32> for Live {
    fn logged(&mut self, row: &LoggedErrors, _: &[f32]) -> ControlFlow<()> {
        let silent = self.last.as_ref().is_some_and(|(_, when)| when.elapsed() > SILENCE);
        if self.is_shown && (silent || row.step.is_multiple_of(self.every) || row.step == self.steps) {
            self.show(row);
        }
        if self.listening.is_asked_to_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn stepped(&mut self, step: u64, _: f32, _: f32, _: &[f32]) -> ControlFlow<()> {
        // Steps of large networks take long, and whoever stops them does not want to wait for the next evaluation.
        match step.is_multiple_of(64) && self.listening.is_asked_to_stop() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The logged errors as CSV.
fn curve_of(outcome: &Outcome<f32>) -> String {
    let head = record(&[&"step", &"validation_error", &"test_error", &"sparsity_error"]);
    let row = |row: &LoggedErrors| record(&[&row.step, &row.validation, &row.test, &row.sparsity]);
    csv(&[head].into_iter().chain(outcome.rows.iter().map(row)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_was_done() {
        assert_eq!([to_go(10.0, 250, 1_000), to_go(100.0, 1_000, 100_000)], ["30 s", "2.8 h"]);
        assert_eq!([to_go(2.0, 250, 1_000), to_go(10.0, 0, 1_000)], ["", ""], "a moment says nothing");
    }

    /// Something is said after a while, whichever step that is.
    #[test]
    fn nobody_waits_for_a_line_for_long() {
        let mut live = Live::new(1_000_000, true);
        let row = |step| LoggedErrors { step, validation: 1.0 / (1.0 + step as f64), test: 1.0, sparsity: 0.0 };
        let shown = |live: &mut Live, step| {
            let before = live.last.clone();
            _ = live.logged(&row(step), &[]);
            live.last != before
        };
        assert!(shown(&mut live, 0) && !shown(&mut live, 1_000));
        let ago = Instant::now().checked_sub(SILENCE + Duration::from_secs(1)).unwrap();
        live.last.as_mut().unwrap().1 = ago;
        assert!(shown(&mut live, 2_000) && !shown(&mut live, 3_000));
    }
}

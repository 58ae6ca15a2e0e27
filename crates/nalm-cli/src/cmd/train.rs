//! `nalm train`: one run.

use crate::arguments::{Train, chosen, value};
use crate::exit::Stopped;
use crate::progress::duration;
use crate::signal::Listening;
use crate::terminal::{To, Tone, counted, paint, paragraph, width};
use anyhow::Result;
use nalm::expression::{Expression, Language};
use nalm::module::{Dispatch, Shape};
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
use std::ffi::OsStr;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) fn run(registry: &Registry, arguments: &Train) -> Result<()> {
    let spec = spec(registry, arguments)?;
    let task = registry.catalogue.task(spec.task())?;
    registry.catalogue.memory.ensure("this run", task.bytes(&registry.catalogue, &spec)?)?;
    let Some(built) = task.built(&registry.catalogue, &spec)? else {
        let (name, text) = (spec.task(), "which nalm run carries out and keeps; write an experiment file for it");
        anyhow::bail!(Error::Request(format!("{name} has runs of hours, {text}")));
    };
    let table = arguments.set.iter().find(|(key, _)| key == "data").and_then(|(_, value)| value.as_str());
    let tables = arguments.data.as_deref().into_iter().chain(table.map(Path::new));
    super::ensure_apart([("--curve", arguments.curve.as_ref())], tables)?;
    // Before training: whoever waited for five million steps should not lose them to a mistyped folder.
    if let Some(path) = &arguments.curve {
        super::ensure_place(path)?;
        let known = |ending: &OsStr| ["csv", "txt"].iter().any(|known| ending.eq_ignore_ascii_case(known));
        let other = path.extension().is_some_and(|ending| !known(ending));
        let text = || {
            format!("--curve {} is a table of errors by step; give a name that ends in .csv or .txt", path.display())
        };
        anyhow::ensure!(!other, Error::Request(text()));
    }
    hint(registry, [&spec]);
    let steps = spec.whole("steps").unwrap_or(built.config.steps);
    let mut live = Live::new(steps, !arguments.json);
    // How many steps a schedule needs depends on how they go.
    live.is_limit = built.schedule.is_some();
    let mut outcome = built.train(spec.seed(), &mut live)?;
    if let Some(last) = outcome.rows.last().filter(|row| live.is_shown && live.shown != Some(row.step)) {
        live.line(last, Instant::now());
    }
    if let Some(path) = &arguments.curve {
        files::write(&*registry.files, path, |out| out.write_all(curve_of(&outcome).as_bytes()))?;
        say!("{} is written", path.display());
    }
    let stopped = match outcome.status {
        Status::Cancelled { step } => Some(Stopped(format!("stopped at step {step} of {steps}"))),
        _ => None,
    };
    match (arguments.json, &stopped) {
        // A row of a run that was not carried out to its end would be taken for one.
        (true, Some(_)) => {}
        (true, None) => super::print_json_line(&numbers_row(&spec, &outcome, None).normalised())?,
        (false, _) => {
            // Weights move once more after the last errors are logged; people are shown those that the errors are of.
            if built.schedule.is_none() && has_numbers(&outcome.params) {
                outcome.params = live.params;
            }
            summary(registry, &spec, &built, &outcome)?;
        }
    }
    stopped.map_or(Ok(()), |stopped| Err(stopped.into()))
}

/// Says so before training if units cannot represent what they are to learn, of the shape that they have in their network.
pub(super) fn hint<'a>(registry: &Registry, runs: impl IntoIterator<Item = &'a Spec>) {
    let catalogue = &registry.catalogue;
    let mut unable: BTreeMap<(String, [usize; 2]), Vec<String>> = BTreeMap::new();
    for run in runs {
        let Ok(operation) = run.text("operation").parse::<Operation>() else { continue };
        let Ok(Some(built)) = catalogue.task(run.task()).map_or(Ok(None), |task| task.built(catalogue, run)) else {
            continue;
        };
        let layers = built.network.layers();
        // Of a stack one layer must be able; behind another one, which can copy its input, a product is a square, too.
        let square = operation == Operation::Square && layers.len() > 1;
        let able = |layer: &dyn Dispatch<f32>| {
            [Some(operation), square.then_some(Operation::Mul)].into_iter().flatten().any(|o| layer.gold(o).is_some())
        };
        let Some(shape) = layers.last().map(|layer| layer.shape()) else { continue };
        let stack = run.get("layers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // What a cell computes along a sequence is not known.
        if stack.iter().any(|layer| layer.get("steps").is_some()) {
            continue;
        }
        let names: Vec<&str> = stack.iter().filter_map(|layer| layer["module"].as_str()).collect();
        let name = if names.is_empty() { run.module().to_string() } else { names.join("-") };
        let known = unable.entry((operation.to_string(), [shape.inputs, shape.outputs])).or_default();
        if !layers.iter().any(|layer| able(&**layer)) && !known.contains(&name) {
            known.push(name);
        }
    }
    for ((operation, [inputs, outputs]), units) in unable.iter().filter(|(_, units)| !units.is_empty()) {
        let (Ok(asked), Ok(shape)) = (operation.parse::<Operation>(), Shape::new(*inputs, *outputs)) else { continue };
        let able = |module: &&ModuleEntry| {
            let options = Options::new().check(module.single.name, module.single.options);
            let unit = options.and_then(|options| (module.single.build)(shape, &options));
            unit.is_ok_and(|unit| unit.gold(asked).is_some())
        };
        let can: Vec<&str> = catalogue.modules().iter().filter(able).map(|module| module.single.name).collect();
        let among = if *inputs > 2 { format!(" of two among {inputs} inputs") } else { String::new() };
        say!("{} cannot represent {operation}{among} exactly; these units can: {}", units.join(", "), can.join(", "));
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
    // Errors are those of one step, formula and weights those of another.
    let last = outcome.rows.last().filter(|row| row.step != outcome.best_step && has_numbers(&outcome.params));
    let of = |what: &str| last.map_or(String::new(), |_| format!(" ({what} are of this step)"));
    writeln!(out, "best step         {}{}", outcome.best_step, of("errors"))?;
    let errors = [("validation error", outcome.validation_error), ("test error", outcome.test_error)];
    // Weights that are no numbers are near nothing.
    let sparsity = built.network.sparsity_error(&outcome.params).filter(|_| has_numbers(&outcome.params));
    let sparsity = sparsity.map(|_| ("sparsity error", outcome.sparsity_error));
    for (name, error) in errors.into_iter().chain(sparsity) {
        writeln!(out, "{name:16}  {}", shown(error))?;
    }
    if let Some(step) = verdict.solved_at {
        writeln!(out, "solved at         {step}")?;
    }
    if built.schedule.is_some() {
        writeln!(out, "attempts          {}", outcome.reinitialisations + 1)?;
    }
    if let Some(last) = last {
        writeln!(out, "last step         {}{}", last.step, of("formula and weights"))?;
        if verdict.solved && !verdict.last_row_solved {
            let text = format!("{:18}not solved there: test error {}", "", shown(last.test));
            writeln!(out, "{}", paint(To::Output, Tone::Bad, &text))?;
        }
    }
    // A table's inputs have names.
    let names: Vec<String> = spec.text("columns").split(',').map(quoted).collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns = if columns.len() == built.network.shape().inputs { columns } else { Vec::new() };
    match if has_numbers(&outcome.params) { formula::read(&built.network, &outcome.params, &columns)? } else { None } {
        Some(mut lines) => {
            // So has its target.
            let target = Some(spec.text("target")).filter(|target| !target.is_empty() && !columns.is_empty());
            if let (Some(target), Some(last)) = (target, lines.last_mut())
                && let Some(right) = last.strip_prefix("y = ")
            {
                *last = format!("{} = {right}", quoted(target));
            }
            // The formula may be right where the weights are not yet.
            let solved = verdict.solved && verdict.last_row_solved;
            let name = format!("{:18}", if solved { "formula" } else { "nearest formula" });
            let line = |line: &String| paragraph(&name, &" ".repeat(18), line);
            lines.iter().try_for_each(|text| write!(out, "{}", line(text)))?;
            if !solved && outcome.params.iter().any(|p| is_rounded(*p)) {
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
            let values: Vec<String> = own.iter().take(8).map(|p| weight(*p)).collect();
            let more = if own.len() > 8 { format!(" … ({} in all)", own.len()) } else { String::new() };
            writeln!(out, "{name:16}  {}{more}", values.join(" "))?;
        }
    }
    Ok(())
}

/// A column's name as formulas have it.
fn quoted(name: &str) -> String {
    Expression::variable(name).write_for(Language::Plain, &[name])
}

/// A weight for people: in a column, unless it is so large that nobody could read it.
fn weight(p: f32) -> String {
    if p.abs() < 1e6 || !p.is_finite() { format!("{p:.4}") } else { significant(p.into(), 4) }
}

/// Whether weights can be read at all.
fn has_numbers(params: &[f32]) -> bool {
    params.iter().all(|p| p.is_finite())
}

/// Whether a formula shows a weight as another number.
fn is_rounded(weight: f32) -> bool {
    let weight = f64::from(weight);
    formula::Style::Read.weight(weight) != weight
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
    let mut found: Vec<(String, usize, bool)> = Vec::new();
    for part in parts.split_inclusive(']') {
        // What is there with some options only says so behind its size.
        let (said, part) = part.split_once(',').filter(|(said, _)| said.contains("with ")).unwrap_or(("", part));
        if let Some((.., optional)) = found.last_mut() {
            *optional |= !said.is_empty() || part.trim_start().starts_with("with ");
        }
        let (names, sizes) = part.split_once('[').unwrap_or((part, ""));
        let sizes = sizes.trim_end_matches(']');
        let Some(len) = sizes.split(',').map(|name| size(name.trim())).product::<Option<usize>>() else { continue };
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        found.extend(names.map(|name| (name.to_string(), len, false)));
    }
    let of = |all: &[(String, usize, bool)]| all.iter().map(|(_, len, _)| len).sum::<usize>();
    if of(&found) != params.len() {
        found.retain(|(.., optional)| !optional);
    }
    if of(&found) != params.len() {
        return vec![("weights".into(), params)];
    }
    let mut rest = params;
    let split = |(name, len, _): (String, usize, bool)| {
        let (own, more) = rest.split_at(len);
        rest = more;
        (name, own)
    };
    found.into_iter().map(split).collect()
}

fn spec(registry: &Registry, arguments: &Train) -> Result<Spec> {
    let catalogue = &registry.catalogue;
    let task = catalogue.task(&arguments.task)?;
    for (name, number) in [("learning_rate", arguments.learning_rate), ("gradient_noise", arguments.gradient_noise)] {
        // JSON has no NaN, so it is refused here.
        let wrong = || Error::Request(format!("{name} is {}; it must be a finite number", number.unwrap_or_default()));
        anyhow::ensure!(number.is_none_or(f64::is_finite), wrong());
    }
    fn text(value: Option<&impl ToString>) -> Option<Value> {
        value.map(|value| value.to_string().into())
    }
    let own = [
        ("operation", text(arguments.operation.as_ref())),
        ("inputs", arguments.inputs.map(Into::into)),
        ("range", text(arguments.range.as_ref())),
        ("test_range", text(arguments.test_range.as_ref())),
        ("data", text(arguments.data.as_ref().map(|file| file.display()).as_ref())),
        ("target", text(arguments.target.as_ref())),
        ("steps", arguments.steps.map(Into::into)),
        ("stream", text(arguments.stream.as_ref())),
        ("noise", text(arguments.noise.as_ref())),
        ("denoiser", text(arguments.denoiser.as_ref())),
        ("hidden", arguments.hidden.map(Into::into)),
        ("learning_rate", arguments.learning_rate.map(Into::into)),
        ("gradient_noise", arguments.gradient_noise.map(Into::into)),
    ];
    let mut values: BTreeMap<String, Value> = chosen(&own, &arguments.set)?.into_iter().collect();
    let typed = arguments.module.as_deref().unwrap_or("nmu").trim();
    let (module, options) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    for option in options.split_whitespace() {
        let form =
            || Error::Request(format!("--module '{typed}': give options as KEY=VALUE, such as 'snmu noise=U[1,2]'"));
        let (key, given) = option.split_once('=').ok_or_else(form)?;
        let twice =
            || Error::Request(format!("{key} is chosen twice, with the module and by an option; leave one out"));
        anyhow::ensure!(values.insert(key.into(), value(given)).is_none(), twice());
    }
    let layers = arguments.layers.as_deref().map(|text| super::describe::layers(catalogue, text)).transpose()?;
    let module = layers.is_none().then(|| module.to_string());
    let schedule = arguments.schedule.as_deref().map(schedule::Written::named).transpose()?;
    let mut choices = Choices { module, layers, schedule, seed: arguments.seed, ..Choices::default() };
    for (name, value) in &values {
        choose(catalogue, &**task, &mut choices, name, value, true);
    }
    // How many inputs the task has shows without the layers.
    if let Some(first) = choices.layers.as_ref().and_then(|layers| layers.first()?.0.inputs) {
        let plain = Choices { module: Some("nmu".into()), layers: None, ..choices.clone() };
        let inputs = task.specify(catalogue, &plain).ok().and_then(|spec| spec.whole("inputs"));
        let other = inputs.filter(|inputs| *inputs != first as u64);
        let more = if task.declares("inputs") { format!(", or say --inputs {first}") } else { String::new() };
        let text = |inputs: u64| {
            format!("--layers begins with {first} inputs, and {} has {inputs}; change the layer{more}", task.name())
        };
        anyhow::ensure!(other.is_none(), Error::Request(text(other.unwrap_or_default())));
    }
    Ok(task.specify(catalogue, &choices)?)
}

/// Errors as they are logged, to the standard error; and whether somebody asked to stop.
struct Live {
    listening: Listening,
    steps: u64,
    /// Whether these are the most there can be.
    is_limit: bool,
    every: u64,
    is_shown: bool,
    start: Instant,
    /// The weights that the last errors are of.
    params: Vec<f32>,
    /// What the last line said, and when.
    last: Option<(String, Instant)>,
    /// The step of the last line.
    shown: Option<u64>,
    /// Whether it was said that nothing changes.
    is_still: bool,
}

/// However little changes, something is said after this time.
const SILENCE: Duration = Duration::from_secs(10);

impl Live {
    fn new(steps: u64, is_shown: bool) -> Self {
        let every = (steps / 20).next_multiple_of(1_000).max(1_000);
        let (listening, start) = (Listening::new(), Instant::now());
        let (is_limit, params) = (false, Vec::new());
        Self { listening, steps, is_limit, every, is_shown, start, params, last: None, shown: None, is_still: false }
    }

    fn show(&mut self, row: &LoggedErrors) {
        if self.last.is_none() {
            let scale =
                if has_bars() && width().is_none_or(|width| width >= 66) { "  outside, from 1e-14 to 1e6" } else { "" };
            let most = if self.is_limit { "at most " } else { "" };
            let steps = counted(self.steps as usize, "step");
            say!("{most}{steps}\n{:>8}  {:>9}  {:>9}{scale}", "step", "inside", "outside");
        }
        let errors = errors(row);
        let now = Instant::now();
        let is_news = self.last.as_ref().is_none_or(|(last, when)| *last != errors || now - *when > SILENCE);
        if !is_news && row.step != self.steps {
            if !self.is_still {
                say!("{:>8}  unchanged", "…");
            }
            self.is_still = true;
            return;
        }
        self.line(row, now);
    }

    fn line(&mut self, row: &LoggedErrors, now: Instant) {
        let errors = errors(row);
        // Of a schedule nobody knows.
        let left = match self.is_limit {
            true => String::new(),
            false => to_go(self.start.elapsed().as_secs_f64(), row.step, self.steps),
        };
        // Twenty bars from 1e-14 to 1e6.
        let length = (libm::log10(row.test.max(1e-14)) + 14.0).clamp(0.0, 20.0) as usize;
        let bar = if has_bars() { format!("  {:20}", "▇".repeat(length)) } else { String::new() };
        let line = format!("{:>8}  {errors}{bar}  {left}", row.step);
        say!("{}", line.trim_end());
        (self.last, self.shown, self.is_still) = (Some((errors, now)), Some(row.step), false);
    }
}

/// Whether errors are drawn, too.
fn has_bars() -> bool {
    std::io::stderr().is_terminal()
}

/// Both errors of a line.
fn errors(row: &LoggedErrors) -> String {
    format!("{:>9}  {:>9}", brief(row.validation), brief(row.test))
}

/// How long the rest takes. Nothing is said about it before some of it was measured.
fn to_go(passed: f64, step: u64, steps: u64) -> String {
    match passed > 2.0 && step > 0 && step < steps {
        true => format!("{} to go", duration(passed * (steps - step) as f64 / step as f64)),
        false => String::new(),
    }
}

/// An error in a column.
fn brief(error: f64) -> String {
    if error.is_finite() { significant(error, 3) } else { "none".into() }
}

impl Observer<f32> for Live {
    fn logged(&mut self, row: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        params.clone_into(&mut self.params);
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

    /// Parameters have their names, also where some are there with one option only, at the end or in the middle.
    #[test]
    fn parameters_are_called_by_their_names() {
        let parts = "a, b [outputs, inputs], rho [1] with learnable noise, G [outputs, inputs]";
        let names = |parts: &str, n: usize| -> Vec<String> {
            let params = vec![0.0; n];
            let all = named(parts, Shape::new(2, 1).unwrap(), &Options::new(), &params);
            all.into_iter().map(|(name, own)| format!("{name} {}", own.len())).collect()
        };
        assert_eq!(names(parts, 6), ["a 2", "b 2", "G 2"]);
        assert_eq!(names(parts, 7), ["a 2", "b 2", "rho 1", "G 2"]);
        assert_eq!(names("w [outputs, inputs], rho [1] with learnable noise", 2), ["w 2"]);
        assert_eq!(names("w [outputs, inputs], rho [1] with learnable noise", 3), ["w 2", "rho 1"]);
        assert_eq!([names("not described", 3), names(parts, 8)], [["weights 3"], ["weights 8"]]);
        assert_eq!([weight(-9.999_999e29), weight(0.48), weight(f32::NAN)], ["-1.000e30", "0.4800", "NaN"]);
    }

    #[test]
    fn the_rest_takes_as_long_as_what_was_done() {
        assert_eq!([to_go(10.0, 250, 1_000), to_go(100.0, 1_000, 100_000)], ["30 s to go", "2.8 h to go"]);
        let nothing = [to_go(2.0, 250, 1_000), to_go(10.0, 0, 1_000), to_go(10.0, 1_000, 1_000)];
        assert_eq!(nothing, ["", "", ""], "a moment says nothing, nor does the end");
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

//! `nalm compare`: a few units on one task, without a file. It is an experiment like any other, kept in the store like any other.

use super::describe::layers;
use super::run::{complete, whole};
use crate::arguments::{Compare, RANGE, Run};
use crate::terminal::{To, Tone, can_fit, counted, paint, paragraph, table_of_names};
use anyhow::{Result, bail, ensure};
use nalm_lab::experiment::{self, Experiment, Group, Overrides, Seeds, reading};
use nalm_lab::run::Spec;
use nalm_lab::stats::beta;
use nalm_lab::stats::shown::p_value;
use nalm_lab::summary::metric::sparsity;
use nalm_lab::summary::{Against, Cell, Results, show};
use nalm_lab::{Error, Registry};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Columns of the small plot between 0 and 1.
const PLOT: usize = 41;

pub(crate) fn run(registry: &Registry, arguments: &Compare) -> Result<()> {
    let page = arguments.html.as_deref().map(split).transpose()?;
    let experiment = experiment(registry, arguments)?;
    if let Some((folder, name)) = &page {
        let shown = Experiment { name: name.clone(), ..experiment.clone() };
        registry.ensure_free(&[shown], folder, "--html")?;
    }
    let run = Run::of_store(&arguments.store, arguments.threads);
    // Whatever is wrong with the store is said after the table: rows that can be trusted are worth one.
    complete(registry, &run, std::slice::from_ref(&experiment), whole, |_| {
        show_all(registry, arguments, &experiment, page)
    })
}

/// The table of the comparison, and its page.
fn show_all(
    registry: &Registry,
    arguments: &Compare,
    experiment: &Experiment,
    page: Option<(PathBuf, String)>,
) -> Result<()> {
    let index = registry.store(&arguments.store).existing()?;
    let contents = index.contents(experiment.ids().iter().map(String::as_str))?;
    let results = registry.results(experiment, &contents);
    match arguments.json {
        true => super::print_json(&as_json(arguments, &results))?,
        false => write!(std::io::stdout().lock(), "{}", as_text(&results))?,
    }
    if let Some((folder, name)) = page {
        let page = folder.join(format!("{name}.html"));
        // Two models are a heading; on what, and for how long, is the first sentence.
        let models: Vec<&str> = experiment.models.iter().map(String::as_str).collect();
        let (title, analysis) = (several(&models), format!("{}. {}", experiment.title, experiment.analysis));
        let shown = Experiment { name, title, analysis, ..experiment.clone() };
        let found = registry.report(&shown, &contents, &folder)?;
        super::report::tell(&folder, &found);
        let page = page.strip_prefix(".").unwrap_or(&page).display();
        say!("{page} is written, its figure and tables beside it");
    }
    Ok(())
}

/// The folder of a page and its name, without the ending.
pub(crate) fn split(page: &Path) -> Result<(PathBuf, String)> {
    let text = format!("{} must be a file whose name ends in .html", page.display());
    let stem = page.file_stem().filter(|_| page.extension().is_some_and(|ending| ending == "html"));
    let stem = stem.ok_or(Error::Request(text))?;
    let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    super::ensure_place(page)?;
    Ok((folder.into(), stem.to_string_lossy().into_owned()))
}

/// The experiment that was asked for.
pub(crate) fn experiment(registry: &Registry, arguments: &Compare) -> Result<Experiment> {
    let catalogue = &registry.catalogue;
    let task = catalogue.task(&arguments.task)?;
    let long =
        || Error::Request(format!("{} has runs of hours; write an experiment file for it (nalm new)", task.name()));
    ensure!(!task.is_long(), long());
    let models = arguments.models.iter().map(|text| model(registry, text)).collect::<Result<Vec<_>>>()?;
    let changes = arguments.changes()?;
    // Whether ranges and test ranges fit together is said here, and not with the line of a file that nobody wrote.
    let overrides = changes.overrides()?;
    let ranges: Vec<String> = overrides.ranges.iter().map(|(train, _)| train.clone()).collect();
    let default = if task.declares("range") { vec![RANGE.to_string()] } else { Vec::new() };
    let ranges = if ranges.is_empty() { default } else { ranges };
    let labels: Vec<&str> = models.iter().map(|(label, _)| label.as_str()).collect();
    let twice = labels.iter().enumerate().find(|(k, label)| labels[..*k].contains(label));
    let text =
        |label: &str| Error::Request(format!("{label} is there twice; leave one out, or choose something else of it"));
    ensure!(twice.is_none(), text(twice.map_or("", |(_, label)| label)));
    own_options(registry, arguments, &overrides)?;
    let given = |key: &str| overrides.set.iter().any(|(known, _)| known == key);
    let missing = ["data", "target"].into_iter().filter(|key| task.declares(key) && !given(key)).collect::<Vec<_>>();
    let wanted = [("data", "--data FILE"), ("target", "--target COLUMN")];
    let wanted: Vec<&str> = wanted.into_iter().filter(|(key, _)| missing.contains(key)).map(|(_, text)| text).collect();
    let table = || Error::Request(format!("{} needs {}", task.name(), wanted.join(" and ")));
    ensure!(wanted.is_empty(), table());
    let mut text = String::new();
    writeln!(text, "title = {}", quoted(&several(&labels)))?;
    writeln!(text, "analysis = {}", quoted(&about(arguments, &overrides)))?;
    writeln!(text, "task = {}", quoted(&arguments.task))?;
    writeln!(text, "baselines = [{}]", quoted(labels[0]))?;
    if let Some(operation) = arguments.operation {
        writeln!(text, "operation = {}", quoted(operation.name()))?;
    }
    let seeds = match &arguments.seeds {
        Seeds::Count(n) => n.to_string(),
        Seeds::These(list) => format!("{list:?}"),
    };
    writeln!(text, "[preset.compare]\nseeds = {seeds}")?;
    // Those that were given come by way of the changes.
    if overrides.ranges.is_empty() && !ranges.is_empty() {
        writeln!(text, "ranges = [{}]", ranges.iter().map(|range| quoted(range)).collect::<Vec<_>>().join(", "))?;
    }
    models.iter().try_for_each(|(_, model)| writeln!(text, "[[model]]\n{model}"))?;
    let checked = of_text(registry, "compare", &text, &overrides)?;
    let typed = arguments.models.iter().map(|text| format!(" {}", shell(text))).collect::<String>();
    let task = if arguments.task == "single-module" { String::new() } else { format!(" --task {}", arguments.task) };
    let operation = arguments.operation.map_or(String::new(), |operation| format!(" --operation {operation}"));
    let seeds = format!(" --seeds {}", arguments.seeds);
    let command = format!("nalm compare{typed}{task}{operation}{}{seeds}", overrides.typed());
    let title = title(&several(&labels), &checked, &overrides);
    Ok(Experiment { command, title, ..checked })
}

/// What is compared, and on what: everything in which another comparison may differ, whether it was typed or is the default.
fn title(models: &str, experiment: &Experiment, overrides: &Overrides) -> String {
    let firsts =
        experiment.groups.iter().filter(|group| group.model == 0).map(|group| &experiment.runs[group.runs.start]);
    let place = |run: &Spec| format!("on {}, tested on {}", run.text("range"), run.text("test_range"));
    let places: Vec<String> = firsts.filter(|run| !run.text("range").is_empty()).map(place).collect();
    let on = if places.is_empty() { String::new() } else { format!(" {}", places.join(", and ")) };
    let first = &experiment.runs[0];
    let steps = first.whole("steps").map(|steps| counted(steps as usize, "step"));
    let operation = Some(first.text("operation")).filter(|name| !name.is_empty()).map(String::from);
    // The rest as it was typed.
    let rest = overrides.set.iter().filter(|(key, _)| !["steps", "operation"].contains(&key.as_str()));
    let rest = rest.map(|(key, value)| format!("{key}={}", value.as_str().map_or(value.to_string(), String::from)));
    let about = [first.task().to_string()].into_iter().chain(operation).chain(steps).chain(rest);
    format!("{models}{on} ({})", about.collect::<Vec<_>>().join(", "))
}

/// Settings of training, which may differ from unit to unit.
const OF_TRAINING: [&str; 6] = ["learning_rate", "ramp", "clamp", "penalty", "gradient_noise", "weights"];

/// Refuses options of a unit that another option of the command overrules, and those that make another problem of the task.
fn own_options(registry: &Registry, arguments: &Compare, overrides: &Overrides) -> Result<()> {
    let task = registry.catalogue.task(&arguments.task)?;
    for text in &arguments.models {
        let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        for key in rest.split_whitespace().filter_map(|option| Some(option.split_once('=')?.0)) {
            let of_all = overrides.set.iter().any(|(known, _)| known == key);
            let twice =
                || format!("{key} is chosen for '{text}' and by --set or an option for all; leave one of the two out");
            ensure!(!of_all, Error::Request(twice()));
            let of_task =
                task.declares(key) && !registry.catalogue.has_option(name, key) && !OF_TRAINING.contains(&key);
            let other = || {
                format!(
                    "'{text}': {key} makes another problem, and units are compared on one; say --set {key}=… for all"
                )
            };
            ensure!(!of_task, Error::Request(other()));
        }
    }
    Ok(())
}

/// What a page of the comparison begins with.
fn about(arguments: &Compare, overrides: &Overrides) -> String {
    let tested = |(train, test): &(String, Option<String>)| Some(format!("{train} and tested on {}", test.as_ref()?));
    let places: Vec<String> = overrides.ranges.iter().filter_map(tested).collect();
    let on = if places.is_empty() { String::new() } else { format!(", on inputs from {}", places.join("; ")) };
    format!(
        "Every model is trained from the same {}{on}. A run is solved if, at the step with the smallest validation error, its test error is below \
         the threshold of the task. Intervals are at 95 %.",
        counted(arguments.seeds.count() as usize, "seed")
    )
}

/// Checks an experiment that is not in a file; what is wrong is said without a line.
pub(crate) fn of_text(registry: &Registry, name: &str, text: &str, overrides: &Overrides) -> Result<Experiment> {
    let path = Path::new(name).with_extension("toml");
    let checked = experiment::check(&registry.catalogue, &registry.names(), name, &path, text, overrides);
    Ok(checked.map_err(|error| Error::Request(error.root().to_string()))?)
}

/// A model as it is typed (`snmu noise=U[1,2]`, or a stack such as `nau 100->3, snmu`), as a label and the lines of a file.
fn model(registry: &Registry, text: &str) -> Result<(String, String)> {
    let catalogue = &registry.catalogue;
    let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let options: Option<Vec<(&str, &str)>> = rest.split_whitespace().map(|option| option.split_once('=')).collect();
    let options = options.filter(|_| !name.ends_with(','));
    if let (Ok(_), Some(options)) = (catalogue.module(name), &options) {
        let chosen: Vec<String> = options.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
        let label = [catalogue.label(name)].into_iter().chain(rest.split_whitespace().map(String::from));
        let label = label.collect::<Vec<_>>().join(" ");
        let lines =
            format!("module = {}\nlabel = {}\noptions = {{ {} }}", quoted(name), quoted(&label), chosen.join(", "));
        return Ok((label, lines));
    }
    let known = |layer: &nalm_lab::task::network::Layer| catalogue.module(&layer.0.module).map(drop);
    if let Some(one) = text.trim().strip_suffix(',') {
        bail!(Error::Request(format!(
            "'{}' ends with a comma; a space stands between units, such as {one} snmu",
            text.trim()
        )));
    }
    if text.trim().parse::<nalm::Uniform>().is_ok() {
        let range = text.trim();
        bail!(Error::Request(format!(
            "{range} is a range and no unit; each takes an option of its own: --range '{range}'"
        )));
    }
    let stack = layers(catalogue, text)?;
    stack.iter().try_for_each(known)?;
    // With a space it would be written as a list of layers is everywhere else.
    if text.contains(',') && !text.contains(char::is_whitespace) {
        say!("note: {text} is one network of {} layers; put spaces between units to compare them", stack.len());
    }
    let label = text.trim().to_string();
    // A stack is written in JSON as in TOML, except for the colons.
    let layer = |layer: &nalm_lab::task::network::Layer| {
        let map: serde_json::Map<String, Value> = layer.clone().into();
        let inside = |value: &Value| match value {
            Value::Object(map) => {
                format!("{{ {} }}", map.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        };
        format!(
            "{{ {} }}",
            map.iter().map(|(key, value)| format!("{key} = {}", inside(value))).collect::<Vec<_>>().join(", ")
        )
    };
    let list = stack.iter().map(layer).collect::<Vec<_>>().join(", ");
    Ok((label.clone(), format!("layers = [{list}]\nlabel = {}", quoted(&label))))
}

/// A value as TOML has it; text that is none in quotes.
fn toml(value: &str) -> String {
    if reading::value(value).is_some() { value.into() } else { quoted(value) }
}

/// Text in the quotes of TOML, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Text as a shell takes it.
fn shell(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_=.,/:+-".contains(c);
    if text.chars().all(safe) { text.into() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Names with commas and an "and".
fn several(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Intervals, the plot, and the tests.
fn as_text(results: &Results<'_>) -> String {
    let experiment = results.experiment;
    let title = paragraph("", "", &experiment.title);
    let mut out = format!("{}\n\n", paint(To::Output, Tone::Heading, title.trim_end()));
    let placed = experiment.groups.iter().any(|group| group.place != experiment.groups[0].place);
    let names = |cell: &Cell| {
        let place = placed.then(|| cell.place.clone());
        [cell.label.clone()].into_iter().chain(place)
    };
    let head = |more: &[&str]| -> Vec<String> {
        let first = ["model"].into_iter().chain(placed.then_some("range"));
        first.chain(more.iter().copied()).map(String::from).collect()
    };
    let text = |cell: &Cell, name: &str| {
        let metric = results.metrics.iter().find(|metric| metric.name == name);
        metric.map_or(String::new(), |metric| show(cell.get(name), metric.show))
    };
    let diverged = results.cells.iter().any(|cell| cell.diverged > 0);
    let row = |cell: &Cell| -> Vec<String> {
        // Weights that are no numbers are near nothing.
        let mean = cell.get("sparsity_error").mean.filter(|_| cell.diverged < cell.n).map(sparsity);
        let numbers = [
            format!("{} of {}", cell.solved, cell.n),
            text(cell, "success"),
            text(cell, "solved_at"),
            mean.unwrap_or_else(|| "–".into()),
        ];
        let of_all = diverged.then(|| format!("{} of {}", cell.diverged, cell.n));
        names(cell).chain(numbers).chain(of_all).collect()
    };
    let columns = ["solved", "success [95 %]", "solved at step [95 %]", "sparsity", "diverged"];
    let rows = [head(&columns[..columns.len() - usize::from(!diverged)])];
    let mut rows: Vec<Vec<String>> = rows.into_iter().chain(results.cells.iter().map(row)).collect();
    if !can_fit(&rows) {
        // Where the terminal is too narrow, what the rate says, too, is left out if that is enough.
        let mut fewer = rows.clone();
        fewer.iter_mut().for_each(|row| drop(row.remove(1 + usize::from(placed))));
        if can_fit(&fewer) {
            out += &paragraph("", "", "(how many are solved is left out: the terminal is too narrow; --json has it)");
            rows = fewer;
        }
    }
    out += &table_of_names(rows);
    let axis =
        format!("{:<width$}{:^third$}{:>width$}", "0", "0.5", "1", width = PLOT / 3, third = PLOT - 2 * (PLOT / 3));
    let plot = |cell: &Cell| -> Vec<String> { names(cell).chain([whiskers(cell)]).collect() };
    let rows = [head(&[&axis])].into_iter().chain(results.cells.iter().map(plot)).collect::<Vec<_>>();
    // As blocks it would be no plot.
    if can_fit(&rows) {
        out += "\nsuccess, with its interval\n";
        out += &table_of_names(rows);
    }
    for &baseline in &experiment.baselines {
        let base = &experiment.models[baseline];
        let others = (0..experiment.models.len()).filter(|&model| model != baseline);
        let row = |model: usize| {
            let found = results.against(0, model, baseline);
            found.into_iter().map(move |at| tests(&experiment.models[model], &at, placed)).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<String>> = others.flat_map(row).collect();
        if !rows.is_empty() {
            // With ranges, short heads leave room for the names of models.
            let (tested, about): (&[&str], _) = match placed {
                true => (
                    &["alone", "missed", "p", "Holm p", "sooner", "later", "Holm p"],
                    "\np: of McNemar's test, and of the sign test over seeds that both solve; together, a seed counts once, for the unit that does better at more ranges",
                ),
                false => (&["alone", "missed", "McNemar p", "sooner", "later", "sign test p"], ""),
            };
            let head = [head(tested)].into_iter();
            let solves = format!("alone: only it solves a seed, missed: only {base} does");
            out.push('\n');
            format!("seed by seed against {base}; {solves}{about}")
                .lines()
                .for_each(|line| out += &paragraph("", "", line));
            out += &table_of_names(head.chain(rows).collect());
        }
    }
    out
}

/// A line of tests, with the range and the p-value that is adjusted for how many of these there are, where there are several.
fn tests(model: &str, at: &Against<'_>, placed: bool) -> Vec<String> {
    let (counts, p) = (|n: usize| n.to_string(), &at.found);
    let together = || at.place.map_or("together", |_| &at.at).to_string();
    let name = [model.into()].into_iter().chain(placed.then(together));
    let holm = placed.then(|| at.holm_p.map_or("–".into(), p_value));
    let tested = [counts(p.only_a), counts(p.only_b), p_value(p.mcnemar_p)].into_iter().chain(holm);
    let alone = (p.both_solved > 0).then_some(p.sign_test_p);
    let sign = if placed && at.place.is_some() { at.sign_holm_p } else { alone };
    name.chain(tested).chain([counts(p.a_first), counts(p.b_first), sign.map_or("–".into(), p_value)]).collect()
}

/// The success rate and its interval on a line from 0 to 1.
fn whiskers(cell: &Cell) -> String {
    let success = cell.get("success");
    let (Some(mean), Some(low), Some(high)) = (success.mean, success.lower, success.upper) else {
        return String::new();
    };
    let at = |x: f64| (x.clamp(0.0, 1.0) * (PLOT - 1) as f64).round() as usize;
    let mut line = vec![' '; PLOT];
    line[at(low)..=at(high)].fill('─');
    (line[at(low)], line[at(high)]) = ('├', '┤');
    line[at(mean)] = '●';
    line.into_iter().collect::<String>().trim_end().into()
}

fn as_json(arguments: &Compare, results: &Results<'_>) -> Value {
    let experiment = results.experiment;
    let first = &experiment.runs[0];
    let test_range = |cell: &Cell| {
        let own = |group: &&Group| group.place == cell.place && experiment.models[group.model] == cell.label;
        experiment.groups.iter().find(own).and_then(|group| experiment.runs[group.runs.start].get("test_range"))
    };
    let cell = |cell: &Cell| {
        json!({"model": cell.label, "range": cell.place, "test_range": test_range(cell), "n": cell.n, "solved": cell.solved, "diverged": cell.diverged, "success": cell.get("success"),
            "solved_at": cell.get("solved_at"), "sparsity_error": beta::unclipped(cell.get("sparsity_error")),
            "test_error": cell.get("test_error")})
    };
    let pair = |model: usize, baseline: usize| {
        let one = |at: Against<'_>| {
            let p = at.found;
            json!({"a": experiment.models[model], "b": experiment.models[baseline], "range": at.at, "pairs": p.pairs,
                "success": {"only_a": p.only_a, "only_b": p.only_b, "mcnemar_p": p.mcnemar_p, "holm_p": at.holm_p},
                "solved_at": {"both_solved": p.both_solved, "a_first": p.a_first, "b_first": p.b_first, "sign_test_p": p.sign_test_p,
                    "holm_p": at.sign_holm_p.filter(|_| at.place.is_some())}})
        };
        results.against(0, model, baseline).into_iter().map(one).collect::<Vec<_>>()
    };
    let base = experiment.baselines.first().copied().unwrap_or(0);
    let pairs = (0..experiment.models.len()).filter(|&model| model != base).flat_map(|model| pair(model, base));
    let seeds = match &arguments.seeds {
        Seeds::Count(n) => json!(n),
        Seeds::These(list) => json!(list),
    };
    let set: Map<String, Value> = arguments.set.iter().cloned().collect();
    json!({"command": experiment.command, "title": experiment.title, "task": first.task(), "operation": first.get("operation"),
        "steps": first.get("steps"), "seeds": seeds, "set": set, "models": results.cells.iter().map(cell).collect::<Vec<_>>(), "paired": pairs.collect::<Vec<_>>()})
}

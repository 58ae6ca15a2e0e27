//! `nalm list`: what there is, a line each; with a name, everything that is known about that.

use crate::arguments::Listing;
use crate::terminal::{self, To, Tone, paint};
use anyhow::{Result, ensure};
use clap::ValueEnum;
use nalm::denoiser::DENOISERS;
use nalm::noise::{NOISES, NoiseSpec};
use nalm::second_order::schedule;
use nalm::task::PAPER_RANGES;
use nalm::{Noise, Setting};
use nalm_lab::Registry;
use nalm_lab::experiment::{Overrides, built_in};
use nalm_lab::run::schedule::Written;
use nalm_lab::task::Alias;
use serde_json::{Map, Value, json};
use std::fmt::Debug;
use std::io::Write;

/// An entry: its parts in the order in which people want to know them.
type Entry = Vec<(&'static str, Value)>;

pub(crate) fn run(registry: &Registry, what: Option<Listing>, name: Option<&str>, json: bool) -> Result<()> {
    let Some(what) = what else { return listings(json) };
    let mut entries = entries(registry, what)?;
    if let Some(name) = name {
        let names: Vec<String> = entries.iter().map(|entry| plain(&entry[0].1)).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let place = place(what, &all, name);
        let place = place.ok_or_else(|| nalm::Error::unknown(one(what), name, &all))?;
        entries = vec![entries.swap_remove(place)];
    }
    if json {
        let maps = entries.into_iter().map(|entry| entry.into_iter().map(|(k, v)| (k.to_string(), v)).collect());
        return super::print_json(&maps.collect::<Vec<Map<String, Value>>>());
    }
    let mut out = std::io::stdout().lock();
    match name {
        Some(_) => entries.iter().try_for_each(|entry| details(&mut out, entry)),
        None => Ok(write!(out, "{}", table(what, &entries))?),
    }
}

/// The listings that there are.
fn listings(json: bool) -> Result<()> {
    let text = |what: &Listing| {
        let value = what.to_possible_value()?;
        Some([value.get_name().to_string(), value.get_help()?.to_string()])
    };
    let all: Vec<[String; 2]> = Listing::value_variants().iter().filter_map(text).collect();
    if json {
        let list = all.iter().map(|[name, meaning]| json!({"name": name, "meaning": meaning}));
        return super::print_json(&list.collect::<Vec<_>>());
    }
    let head = ["listing", "what it has"].map(String::from);
    let rows: Vec<Vec<String>> = [head].into_iter().chain(all).map(Into::into).collect();
    Ok(write!(std::io::stdout().lock(), "{}", terminal::fit(&terminal::table(&rows)))?)
}

/// The word for one entry.
fn one(what: Listing) -> &'static str {
    match what {
        Listing::Modules => "module",
        Listing::Noise => "noise",
        Listing::Denoisers => "denoiser",
        Listing::Tasks => "task",
        Listing::Ranges => "range",
        Listing::Experiments => "experiment",
        Listing::Schedules => "schedule",
        Listing::Metrics => "metric",
        Listing::Figures => "figure",
    }
}

/// What has a column in the table.
fn columns(what: Listing) -> &'static [&'static str] {
    match what {
        Listing::Modules => &["name", "label", "operations", "options"],
        Listing::Noise => &["example", "formula"],
        Listing::Denoisers => &["name", "formula"],
        Listing::Tasks | Listing::Schedules => &["name", "summary"],
        Listing::Ranges => &["name", "test_range"],
        Listing::Experiments => &["name", "preset", "runs", "title"],
        Listing::Metrics => &["name", "label", "estimator", "over"],
        Listing::Figures => &["name", "meaning"],
    }
}

/// What must be left of the last column of a table.
const LEAST: usize = 8;

/// One line an entry; what does not fit the terminal is cut, for it can be had by name. Names that stand for others follow by themselves.
fn table(what: Listing, entries: &[Entry]) -> String {
    let stands_for = |entry: &&Entry| entry.iter().any(|(key, _)| *key == "stands_for");
    let (aliases, own): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(stands_for);
    let rows = |columns: &[&str], entries: &[&Entry]| -> Vec<Vec<String>> {
        let head = |name: &&str| if *name == "example" { one(what).into() } else { name.replace('_', " ") };
        let row = |entry: &&Entry| {
            let part =
                |column: &&str| entry.iter().find(|(key, _)| key == column).map_or(String::new(), |(_, v)| plain(v));
            columns.iter().map(part).collect()
        };
        [columns.iter().map(head).collect()].into_iter().chain(entries.iter().map(row)).collect()
    };
    let all = columns(what);
    let shorter: Vec<&str> = all.iter().copied().filter(|name| *name != "label").collect();
    let whole = rows(all, &own);
    // The last column may be cut, if something is left of it.
    let mut least = whole.clone();
    least.iter_mut().filter_map(|row| row.last_mut()).for_each(|cell| *cell = cell.chars().take(LEAST).collect());
    let (table, left_out) = match terminal::fits(&least) || shorter.len() == all.len() {
        true => (whole, false),
        false => (rows(&shorter, &own), true),
    };
    let mut out = terminal::fit(&terminal::table(&table));
    if !aliases.is_empty() {
        out = out + "\n" + &terminal::fit(&terminal::table(&rows(&["name", "stands_for"], &aliases)));
    }
    if left_out {
        let name = what.to_possible_value().map_or(String::new(), |value| value.get_name().into());
        let text = format!("Labels are left out, because the terminal is too narrow; nalm list {name} NAME has them.");
        out = out + "\n" + &terminal::paragraph("", "", &text);
    }
    out
}

/// An entry, a part a paragraph.
fn details(out: &mut dyn Write, entry: &Entry) -> Result<()> {
    let width = entry.iter().map(|(key, _)| key.len()).max().unwrap_or(0) + 2;
    for (key, value) in entry {
        let head = format!("{:width$}", key.replace('_', " "));
        let room = terminal::width().unwrap_or(80).saturating_sub(width);
        let lines = match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                items.iter().flat_map(|item| terminal::wrap(&plain(item), room)).collect()
            }
            value if plain(value).is_empty() => continue,
            value => terminal::wrap(&plain(value), room),
        };
        for (k, line) in lines.iter().enumerate() {
            let head = if k == 0 { paint(To::Output, Tone::Heading, &head) } else { " ".repeat(width) };
            writeln!(out, "{head}{line}")?;
        }
    }
    Ok(())
}

/// The place of an entry: by its name, of a noise also as it is written.
fn place(what: Listing, names: &[&str], name: &str) -> Option<usize> {
    let kind = |text: &str| text.split(['[', '(']).next().unwrap_or_default().to_string();
    let written = |known: &str| NOISES.iter().find(|noise| noise.name == known).map(NoiseSpec::written);
    let is_noise = matches!(what, Listing::Noise) && name.parse::<Noise>().is_ok();
    let same = |known: &str| is_noise && written(known).is_some_and(|written| kind(&written) == kind(name));
    names.iter().position(|known| *known == name || same(known))
}

/// The listing that has an entry of this name, besides those of modules and tasks.
pub(super) fn listing_of(registry: &Registry, name: &str) -> Result<Option<Listing>> {
    // What ends before its upper bound is a range, though noises are read so, too.
    if name.starts_with("U[") && name.ends_with(')') {
        let ranges = names_of(registry, Listing::Ranges)?;
        let known: Vec<&str> = ranges.iter().map(String::as_str).collect();
        ensure!(known.contains(&name), nalm::Error::unknown("range", name, &known));
        return Ok(Some(Listing::Ranges));
    }
    for what in Listing::value_variants() {
        let names = names_of(registry, *what)?;
        if place(*what, &names.iter().map(String::as_str).collect::<Vec<_>>(), name).is_some() {
            return Ok(Some(*what));
        }
    }
    Ok(None)
}

/// An error about a name that nobody knows, with the entries of all listings.
pub(super) fn with_all_names(registry: &Registry, mut error: anyhow::Error) -> anyhow::Error {
    if let Some(nalm::Error::Unknown { got, nearest, valid, .. }) = error.downcast_mut() {
        let all = Listing::value_variants().iter().flat_map(|what| names_of(registry, *what).unwrap_or_default());
        let all: Vec<String> = all.collect();
        *nearest = nalm::Error::nearest(got, &all.iter().map(String::as_str).collect::<Vec<_>>()).map(String::from);
        valid.push_str(
            "; and whatever nalm list noise, denoisers, ranges, experiments, schedules, metrics or figures names",
        );
    }
    error
}

/// The names by which entries can be asked for.
pub(super) fn names_of(registry: &Registry, what: Listing) -> Result<Vec<String>> {
    if let Listing::Experiments = what {
        // Their files need not be read.
        return Ok(built_in::names(&registry.catalogue).into_iter().map(String::from).collect());
    }
    Ok(entries(registry, what)?.iter().map(|entry| plain(&entry[0].1)).collect())
}

fn entries(registry: &Registry, what: Listing) -> Result<Vec<Entry>> {
    let catalogue = &registry.catalogue;
    let word = |value: &dyn Debug| format!("{value:?}").to_lowercase();
    Ok(match what {
        Listing::Modules => {
            // Behind the others: names that stand for one with a choice.
            let aliases = catalogue.aliases().iter().map(|alias| of_alias(registry, alias));
            let modules = all(catalogue.modules(), |module| entry(&module.single));
            modules.into_iter().map(Ok).chain(aliases).collect::<Result<_>>()?
        }
        Listing::Noise => all(NOISES, |n| {
            vec![("name", n.name.into()), ("example", n.written().into()), ("formula", n.formula.into())]
        }),
        Listing::Denoisers => all(DENOISERS, |d| vec![("name", d.name.into()), ("formula", d.formula.into())]),
        Listing::Tasks => all(catalogue.tasks(), |task| {
            vec![
                ("name", task.name().into()),
                ("summary", task.summary().into()),
                ("settings", names(&task.settings())),
            ]
        }),
        Listing::Experiments => {
            let load = |name: &'static str| {
                let experiment = registry.load(name, &Overrides::default())?;
                let runs = experiment.planned();
                Ok(vec![
                    ("name", name.into()),
                    ("title", experiment.title.into()),
                    ("presets", json!(built_in::presets(name))),
                    ("preset", experiment.preset.into()),
                    ("runs", runs.into()),
                    ("models", json!(experiment.models)),
                    ("figures", json!(experiment.figures)),
                ])
            };
            built_in::names(catalogue).into_iter().map(load).collect::<Result<_>>()?
        }
        Listing::Schedules => all(schedule::list(), |spec| {
            let mut phases = json!(Written::of(&spec.schedule));
            vec![("name", spec.name.into()), ("summary", spec.summary.into()), ("phases", phases["phase"].take())]
        }),
        Listing::Ranges => {
            all(PAPER_RANGES, |(train, test)| vec![("name", (*train).into()), ("test_range", (*test).into())])
        }
        Listing::Metrics => all(&registry.metrics, |m| {
            vec![
                ("name", m.name.into()),
                ("label", m.label.into()),
                ("estimator", word(&m.estimator).into()),
                ("over", word(&m.over).into()),
            ]
        }),
        Listing::Figures => {
            all(&registry.figures, |kind| vec![("name", kind.name.into()), ("meaning", kind.meaning.into())])
        }
    })
}

fn all<T>(items: impl IntoIterator<Item = T>, entry: impl Fn(T) -> Entry) -> Vec<Entry> {
    items.into_iter().map(entry).collect()
}

fn entry(spec: &nalm::module::Spec<f32>) -> Entry {
    let claims: Vec<&str> = spec.claims.iter().map(|operation| operation.name()).collect();
    vec![
        ("name", spec.name.into()),
        ("label", spec.label.into()),
        ("formula", spec.formula.into()),
        ("parameters", spec.parameters.into()),
        ("allowed", spec.allowed.into()),
        ("operations", json!(claims)),
        ("options", names(spec.options)),
        ("citation", spec.citation.into()),
    ]
}

/// The module that a name stands for, under that name.
fn of_alias(registry: &Registry, alias: &Alias) -> Result<Entry> {
    let Alias { name, label, module, option, value } = *alias;
    let mut whole = entry(&registry.catalogue.module(module)?.single);
    whole[0].1 = name.into();
    whole[1].1 = label.into();
    whole.insert(2, ("stands_for", format!("{module} with {option}={value}").into()));
    Ok(whole)
}

fn names(settings: &[Setting]) -> Value {
    settings.iter().map(|setting| setting.name).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        // A phase of a schedule: what it is first, then its numbers.
        Value::Object(map) => {
            let first = map.get("optimiser").map(plain).into_iter();
            let rest = map.iter().filter(|(key, value)| *key != "optimiser" && !value.is_null());
            first
                .chain(
                    rest.map(|(key, value)| format!("{key} {}", value.to_string().replace(',', ", ").replace('"', ""))),
                )
                .collect::<Vec<_>>()
                .join(", ")
        }
        other => other.to_string(),
    }
}

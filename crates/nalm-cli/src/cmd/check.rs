//! `nalm check`: the rows that a saved formula does not hold for.

use super::fit::{of_reading, open};
use super::predict::{Placed, load, short};
use crate::arguments::Check;
use crate::terminal::paragraph;
use anyhow::{Result, bail, ensure};
use nalm::table::Records;
use nalm_lab::Registry;
use nalm_lab::stats::shown::two;
use serde_json::{Value, json};
use std::io::Write;

/// What came of one formula.
#[derive(Default)]
struct Found {
    rows: u64,
    missing: u64,
    broken: u64,
    listed: Vec<Broken>,
}

struct Broken {
    line: u64,
    got: f64,
    /// The formula's value, and how far the row may be away from it; nothing where it has none.
    want: Option<(f64, f64)>,
}

pub(crate) fn run(registry: &Registry, arguments: &Check) -> Result<()> {
    let models = load(registry, &arguments.model, &arguments.file)?;
    let file = open(registry, &arguments.file)?;
    let mut records = Records::open(file, &arguments.file.display().to_string(), &arguments.dialect.dialect())?;
    if arguments.units.is_some()
        && let Some(line) = records.next_record()?
    {
        super::fit::ensure_units(line.iter().map(str::trim))?;
    }
    of_reading(records.notes());
    let placed = Placed::all(&models, &records)?;
    let targets = models.models.iter().map(|model| records.position(&model.target)).collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<Found> = models.models.iter().map(|_| Found::default()).collect();
    while let Some(record) = records.next_record()? {
        for ((placed, &target), found) in placed.iter().zip(&targets).zip(&mut all) {
            let want = if record.is_missing(target) { None } else { placed.value(&record)? };
            let Some(want) = want else {
                found.missing += 1;
                continue;
            };
            found.rows += 1;
            let got = record.number(target)?;
            let digit = libm::pow(10.0, f64::from(record.last_digit(target).unwrap_or(0)));
            // A formula without a value does not hold, whatever an infinite one would allow.
            let want = Some(want).filter(|want| want.is_finite());
            let want = want.map(|want| (want, placed.model.tolerance.allowed(want, digit)));
            if want.is_some_and(|(want, allowed)| (got - want).abs() <= allowed) {
                continue;
            }
            found.broken += 1;
            if found.listed.len() < arguments.most {
                found.listed.push(Broken { line: record.line(), got, want });
            }
        }
    }
    let all: Vec<_> = models.models.iter().zip(all).collect();
    if arguments.json {
        let one = |(model, found): &(&nalm_lab::fit::Model, Found)| -> Value {
            let row = |b: &Broken| {
                let (want, allowed) = b.want.unzip();
                let difference = want.map(|want| b.got - want);
                json!({"line": b.line, "value": b.got, "formula": want, "difference": difference, "allowed": allowed})
            };
            json!({
                "target": model.target, "formula": model.formula, "rows": found.rows, "missing": found.missing,
                "broken": found.broken, "listed": found.listed.iter().map(row).collect::<Vec<_>>(),
            })
        };
        super::print_json(&all.iter().map(one).collect::<Vec<_>>())?;
    } else {
        let mut out = std::io::stdout().lock();
        for (model, found) in &all {
            for Broken { line, got, want } in &found.listed {
                let target = crate::shown(&model.target);
                let gives = match want {
                    Some((want, allowed)) => {
                        let apart = two((got - want).abs());
                        format!("gives {} ({apart} apart; {} is allowed)", short(*want), two(*allowed))
                    }
                    None => "has no value there".into(),
                };
                let text = format!("line {line}: {target} is {got}, the formula {gives}");
                write!(out, "{}", paragraph("", "  ", &text))?;
            }
            let more = found.broken - found.listed.len() as u64;
            if more > 0 {
                writeln!(out, "and {more} more")?;
            }
            let formula = format!("{} = {}", model.target, model.formula);
            let (broken, rows) = (found.broken, found.rows);
            let rows = if rows == 1 { "the one row".into() } else { format!("{rows} rows") };
            let verb = if broken == 1 { "breaks" } else { "break" };
            let text = format!("{broken} of {rows} {verb} {}", crate::shown(&formula));
            write!(out, "{}", paragraph("", "  ", &text))?;
            if found.missing > 0 {
                let (lack, were) = if found.missing == 1 { ("row lacks", "was") } else { ("rows lack", "were") };
                writeln!(out, "{} {lack} a number and {were} not checked", found.missing)?;
            }
        }
    }
    let nothing = all.iter().find(|(_, found)| found.rows == 0);
    if let Some((model, _)) = nothing {
        bail!(nalm_lab::Error::Request(format!(
            "no row has all numbers that '{}' needs; nothing was checked",
            model.target
        )));
    }
    let broken: u64 = all.iter().map(|(_, found)| found.broken).sum();
    ensure!(broken != 1, "1 row breaks the formula");
    ensure!(broken == 0, "{broken} rows break the formula");
    Ok(())
}

//! `nalm stats`: intervals for anybody's table of runs.

use crate::arguments::Stats;
use anyhow::{Context, Result, bail, ensure};
use nalm::table::Records;
use nalm_lab::Registry;
use nalm_lab::stats::paired::{self, Judged};
use nalm_lab::stats::{Estimate, beta, gamma, wilson};
use nalm_lab::summary::show;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// Columns of an exported table that say what came of a run, besides the metrics.
const MEASURED: [&str; 4] = ["last_row_solved", "stays_solved", "attempts", "best_step"];

/// One run of the table.
#[derive(Debug)]
struct Run {
    group: Vec<String>,
    seed: String,
    solved: bool,
    solved_at: Option<f64>,
    sparsity_error: Option<f64>,
}

/// A table of runs.
#[derive(Debug)]
struct Table {
    /// Names of the columns that runs are grouped by.
    columns: Vec<String>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Sparsity {
    published: Estimate,
    corrected: Estimate,
}

#[derive(Serialize)]
struct Summary {
    group: Map<String, Value>,
    n: usize,
    success: Estimate,
    solved_at: Estimate,
    sparsity_error: Sparsity,
}

pub(crate) fn run(registry: &Registry, arguments: &Stats) -> Result<()> {
    let table = read(registry, &arguments.file)?;
    if let Some(pair) = &arguments.paired {
        return compare(&table, pair, arguments.json);
    }
    let summaries = summarise(&table);
    if arguments.json {
        return super::print_json(&summaries);
    }
    if arguments.csv { print_csv(&table, &summaries) } else { print_table(&summaries) }
}

/// Reads a table of runs. Columns that tell runs apart are those that are neither measured nor the seed.
fn read(registry: &Registry, path: &Path) -> Result<Table> {
    let name = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
    let mut records = Records::new(file, &name.to_string())?;
    let headers = records.headers().to_vec();
    let find = |column: &str| {
        headers.iter().position(|h| h == column).with_context(|| {
            format!("{name} has no column '{column}'; it needs seed, solved, solved_at and sparsity_error, and may have others")
        })
    };
    let own = [find("seed")?, find("solved")?, find("solved_at")?, find("sparsity_error")?];
    let measured = |column: &str| {
        let known = registry.metrics.iter().any(|metric| metric.name == column);
        known || column == "status" || column.ends_with("_simulated") || MEASURED.contains(&column)
    };
    let grouping: Vec<usize> = (0..headers.len()).filter(|k| !own.contains(k) && !measured(&headers[*k])).collect();
    let (mut runs, mut unjudged) = (Vec::new(), 0);
    let mut seen = BTreeSet::new();
    while let Some(record) = records.next_record()? {
        let (line, cell) = (record.line(), |column: usize| record.get(column).unwrap_or_default());
        let number = |column: usize| {
            parse_number(cell(column)).with_context(|| {
                let (head, text) = (&headers[column], cell(column));
                format!("{name}, line {line}, column {head}: '{text}' is neither a finite number from 0 on nor NA")
            })
        };
        let solved = match cell(own[1]).to_ascii_lowercase().as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            // Runs with images are not solved or unsolved by themselves.
            "na" => {
                unjudged += 1;
                continue;
            }
            other => bail!("{name}, line {line}, column solved: '{other}' is neither true nor false"),
        };
        let group: Vec<String> = grouping.iter().map(|&g| cell(g).to_string()).collect();
        let seed = cell(own[0]).to_string();
        if !seen.insert((group.clone(), seed.clone())) {
            let group = group.join(" ");
            bail!("{name}, line {line}: a second run of {group} with seed {seed}; a column must tell them apart");
        }
        runs.push(Run { group, seed, solved, solved_at: number(own[2])?, sparsity_error: number(own[3])? });
    }
    if unjudged > 0 {
        say!("{unjudged} runs that are neither solved nor unsolved are left out");
    }
    ensure!(!runs.is_empty(), "{name} has no runs below its first line");
    Ok(Table { columns: grouping.iter().map(|&g| headers[g].clone()).collect(), runs })
}

/// A finite number, nothing for NA, or an error.
fn parse_number(text: &str) -> Result<Option<f64>> {
    if matches!(text, "" | "NA" | "na" | "null") {
        return Ok(None);
    }
    let value: f64 = text.parse()?;
    ensure!(value.is_finite() && value >= 0.0, "not finite or negative");
    Ok(Some(value))
}

fn groups(table: &Table) -> BTreeMap<&[String], Vec<&Run>> {
    let mut groups: BTreeMap<&[String], Vec<&Run>> = BTreeMap::new();
    for run in &table.runs {
        groups.entry(&run.group).or_default().push(run);
    }
    groups
}

/// Solved-at and sparsity are those of the solved runs only.
fn summarise(table: &Table) -> Vec<Summary> {
    groups(table)
        .into_iter()
        .map(|(group, runs)| {
            let solved: Vec<&&Run> = runs.iter().filter(|run| run.solved).collect();
            let steps: Vec<f64> = solved.iter().filter_map(|run| run.solved_at).collect();
            let errors: Vec<f64> = solved.iter().filter_map(|run| run.sparsity_error).collect();
            Summary {
                group: table.columns.iter().cloned().zip(group.iter().map(|g| json!(g))).collect(),
                n: runs.len(),
                success: wilson::interval(solved.len(), runs.len()),
                solved_at: gamma::interval(&steps),
                sparsity_error: Sparsity { published: beta::published(&errors), corrected: beta::corrected(&errors) },
            }
        })
        .collect()
}

fn print_table(summaries: &[Summary]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let name = |s: &Summary| s.group.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    let width = summaries.iter().map(|s| name(s).chars().count()).max().unwrap_or(0).max(5);
    writeln!(
        out,
        "{:width$} {:>5}  {:<22} {:<30} {:<30}",
        "group", "n", "success", "solved at", "sparsity error (corrected)"
    )?;
    for s in summaries {
        writeln!(
            out,
            "{:width$} {:>5}  {:<22} {:<30} {:<30}",
            name(s),
            s.n,
            show(s.success, |v| format!("{v:.3}")),
            show(s.solved_at, |v| format!("{v:.3e}")),
            show(s.sparsity_error.corrected, |v| format!("{v:.2e}")),
        )?;
    }
    Ok(())
}

fn print_csv(table: &Table, summaries: &[Summary]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(std::io::stdout().lock());
    let kinds = ["success", "solved_at", "sparsity_published", "sparsity_corrected"];
    let columns = kinds.iter().flat_map(|k| ["mean", "lower", "upper"].map(|part| format!("{k}_{part}")));
    let names = table.columns.iter().cloned().chain(["n".to_string()]).chain(columns);
    writer.write_record(names).map_err(std::io::Error::from)?;
    for s in summaries {
        let estimates = [s.success, s.solved_at, s.sparsity_error.published, s.sparsity_error.corrected];
        let numbers = estimates.iter().flat_map(|e| [e.mean, e.lower, e.upper]);
        let cells = numbers.map(|v| v.map_or("NA".to_string(), |v| v.to_string()));
        let group = s.group.values().map(|v| v.as_str().unwrap_or_default().to_string());
        let cells = group.chain([s.n.to_string()]).chain(cells);
        writer.write_record(cells).map_err(std::io::Error::from)?;
    }
    writer.flush()?;
    Ok(())
}

/// Two values of the first column that has both, matched by seed and by all other columns.
fn compare(table: &Table, pair: &str, as_json: bool) -> Result<()> {
    let (a, b) =
        pair.split_once(',').context("--paired takes two names with a comma between them, such as NMU,sNMU")?;
    let (a, b) = (a.trim(), b.trim());
    let has = |column: usize, name: &str| table.runs.iter().any(|run| run.group[column] == name);
    let column = (0..table.columns.len()).find(|&column| has(column, a) && has(column, b));
    let column = column.with_context(|| {
        let known: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        format!("no column has both '{a}' and '{b}'; there are: {}", known.join(", "))
    })?;
    let side = |name: &str| -> BTreeMap<(Vec<String>, String), &Run> {
        let own = table.runs.iter().filter(|run| run.group[column] == name);
        own.map(|run| {
            let mut others = run.group.clone();
            others.remove(column);
            ((others, run.seed.clone()), run)
        })
        .collect()
    };
    let (left, right) = (side(a), side(b));
    let judged = |run: &Run| Judged { solved: run.solved, solved_at: run.solved_at };
    let pairs: Vec<(Judged, Judged)> =
        left.iter().filter_map(|(key, run)| right.get(key).map(|other| (judged(run), judged(other)))).collect();
    ensure!(!pairs.is_empty(), "{a} and {b} have no seed in common");
    let p = paired::compare(&pairs);
    if as_json {
        return super::print_json(&json!({
            "a": a, "b": b, "pairs": p.pairs,
            "success": {"only_a": p.only_a, "only_b": p.only_b, "mcnemar_p": p.mcnemar_p},
            "solved_at": {"both_solved": p.both_solved, "a_first": p.a_first, "b_first": p.b_first, "sign_test_p": p.sign_test_p},
        }));
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} pairs of runs with the same seed", p.pairs)?;
    writeln!(out, "success    only {a}: {}, only {b}: {}, McNemar p = {:.4}", p.only_a, p.only_b, p.mcnemar_p)?;
    writeln!(
        out,
        "solved at  {a} first: {}, {b} first: {} of {}, sign test p = {:.4}",
        p.a_first, p.b_first, p.both_solved, p.sign_test_p
    )?;
    Ok(())
}

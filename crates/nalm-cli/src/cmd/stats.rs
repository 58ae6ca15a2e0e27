//! `nalm stats`: intervals for anybody's table of runs.

use crate::arguments::Stats;
use anyhow::{Context, Result, bail, ensure};
use nalm::table::Records;
use nalm_lab::Registry;
use nalm_lab::stats::paired::{self, Judged};
use nalm_lab::stats::{Estimate, beta, gamma, wilson};
use nalm_lab::summary::show;
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

/// What the runs of a group amount to: success, solved-at, and the sparsity error as published and corrected.
struct Summary {
    group: Vec<String>,
    n: usize,
    estimates: [Estimate; 4],
}

pub(crate) fn run(registry: &Registry, arguments: &Stats) -> Result<()> {
    let table = read(registry, &arguments.file)?;
    if let Some(pair) = &arguments.paired {
        return compare(&table, pair, arguments.json);
    }
    let summaries = summarise(&table);
    match (arguments.json, arguments.csv) {
        (true, _) => super::print_json(&summaries.iter().map(|s| as_json(&table, s)).collect::<Vec<_>>()),
        (_, true) => print_csv(&table, &summaries),
        _ => print_table(&summaries),
    }
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

/// Solved-at and sparsity are those of the solved runs only.
fn summarise(table: &Table) -> Vec<Summary> {
    let mut groups: BTreeMap<&[String], Vec<&Run>> = BTreeMap::new();
    table.runs.iter().for_each(|run| groups.entry(&run.group).or_default().push(run));
    let summary = |(group, runs): (&[String], Vec<&Run>)| {
        let solved = || runs.iter().filter(|run| run.solved);
        let steps: Vec<f64> = solved().filter_map(|run| run.solved_at).collect();
        let errors: Vec<f64> = solved().filter_map(|run| run.sparsity_error).collect();
        let success = wilson::interval(solved().count(), runs.len());
        let estimates = [success, gamma::interval(&steps), beta::published(&errors), beta::corrected(&errors)];
        Summary { group: group.to_vec(), n: runs.len(), estimates }
    };
    groups.into_iter().map(summary).collect()
}

fn as_json(table: &Table, Summary { group, n, estimates }: &Summary) -> Value {
    let group: Map<String, Value> = table.columns.iter().cloned().zip(group.iter().map(|cell| json!(cell))).collect();
    let [success, solved_at, published, corrected] = estimates;
    let sparsity = json!({"published": published, "corrected": corrected});
    json!({"group": group, "n": n, "success": success, "solved_at": solved_at, "sparsity_error": sparsity})
}

fn print_table(summaries: &[Summary]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let width = summaries.iter().map(|s| s.group.join(" ").chars().count()).max().unwrap_or(0).max(5);
    let mut line = |name: &str, n: &str, cells: [&str; 3]| {
        let [success, solved_at, sparsity] = cells;
        writeln!(out, "{name:width$} {n:>5}  {success:<22} {solved_at:<30} {sparsity:<30}")
    };
    line("group", "n", ["success", "solved at", "sparsity error (corrected)"])?;
    for Summary { group, n, estimates: [success, solved_at, _, corrected] } in summaries {
        let success = show(*success, |v| format!("{v:.3}"));
        let solved_at = show(*solved_at, |v| format!("{v:.3e}"));
        let sparsity = show(*corrected, |v| format!("{v:.2e}"));
        line(&group.join(" "), &n.to_string(), [&success, &solved_at, &sparsity])?;
    }
    Ok(())
}

fn print_csv(table: &Table, summaries: &[Summary]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(std::io::stdout().lock());
    let kinds = ["success", "solved_at", "sparsity_published", "sparsity_corrected"];
    let columns = kinds.iter().flat_map(|k| ["mean", "lower", "upper"].map(|part| format!("{k}_{part}")));
    let names = table.columns.iter().cloned().chain(["n".to_string()]).chain(columns);
    writer.write_record(names).map_err(std::io::Error::from)?;
    for Summary { group, n, estimates } in summaries {
        let numbers = estimates.iter().flat_map(|e| [e.mean, e.lower, e.upper]);
        let cells = numbers.map(|v| v.map_or("NA".to_string(), |v| v.to_string()));
        let cells = group.iter().cloned().chain([n.to_string()]).chain(cells);
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

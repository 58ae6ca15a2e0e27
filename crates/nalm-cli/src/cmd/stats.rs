//! `nalm stats`: intervals for anybody's table of runs.

use crate::arguments::Stats;
use anyhow::{Context, Result, bail, ensure};
use nalm::table::Records;
use nalm_lab::Error::Request;
use nalm_lab::Registry;
use nalm_lab::figure::{columns, estimates, record};
use nalm_lab::report::csv;
use nalm_lab::stats::kaplan_meier::{self, Run};
use nalm_lab::stats::newcombe::{self, Pairs};
use nalm_lab::stats::paired::{self, Judged, p_value};
use nalm_lab::stats::{Estimate, beta, gamma, log_rank, power, wilson};
use nalm_lab::summary::metric::sparsity;
use nalm_lab::summary::show;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;

/// Columns of an exported table that say what came of a run, besides the metrics.
const MEASURED: [&str; 5] = ["experiment", "last_row_solved", "stays_solved", "attempts", "best_step"];

/// A table of runs; of each run no more than is needed, because there may be millions.
struct Table {
    /// Names of the columns that runs are grouped by.
    columns: Vec<String>,
    /// By the values of these columns.
    groups: BTreeMap<Vec<String>, Group>,
}

#[derive(Default)]
struct Group {
    n: usize,
    solved: usize,
    seeds: Seeds,
    /// By seed, and only if they are to be compared.
    runs: BTreeMap<Seed, Judged>,
    /// Solved-at and sparsity errors of the solved runs, in the order of the table.
    steps: Vec<f64>,
    errors: Vec<f64>,
    /// How many runs were watched until then, and never solved; zero where the table does not say.
    watched: BTreeMap<u64, usize>,
}

/// Seeds that were seen. Those that are near each other take a bit each.
#[derive(Default)]
struct Seeds {
    /// By the number of 64.
    numbers: BTreeMap<u64, u64>,
    texts: BTreeSet<Box<str>>,
}

impl Seeds {
    /// Whether it is new.
    fn insert(&mut self, seed: &Seed) -> bool {
        match seed {
            Seed::Number(number) => {
                let (all, own) = (self.numbers.entry(number / 64).or_default(), 1 << (number % 64));
                let new = *all & own == 0;
                *all |= own;
                new
            }
            Seed::Text(text) => self.texts.insert(text.clone()),
        }
    }
}

/// Most seeds are numbers, which need no memory of their own.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Seed {
    Number(u64),
    Text(Box<str>),
}

impl From<&str> for Seed {
    fn from(text: &str) -> Self {
        let number = text.parse().ok().filter(|number: &u64| number.to_string() == text);
        number.map_or_else(|| Seed::Text(text.into()), Seed::Number)
    }
}

impl Group {
    /// When runs were solved, and until when the others were watched: as long as the table says, or as the slowest run of all took.
    fn survival(&self, longest: f64) -> Vec<Run> {
        let solved = self.steps.iter().map(|&at| Run { at, solved: true });
        let end = |steps: u64| if steps == 0 { longest } else { steps as f64 };
        let never =
            self.watched.iter().flat_map(|(&steps, &n)| std::iter::repeat_n(Run { at: end(steps), solved: false }, n));
        solved.chain(never).collect()
    }

    /// Success, solved-at, and the sparsity error as published and corrected.
    fn estimates(&self) -> [Estimate; 4] {
        let success = wilson::interval(self.solved, self.n);
        [success, gamma::interval(&self.steps), beta::published(&self.errors), beta::corrected(&self.errors)]
    }
}

pub(crate) fn run(registry: &Registry, arguments: &Stats) -> Result<()> {
    let table = read(registry, &arguments.file, arguments.paired.is_some())?;
    match &arguments.paired {
        Some(pair) => compare(&table, pair, arguments),
        None if arguments.json => print_json(&table),
        None if arguments.csv => print_csv(&table),
        None => print_table(&table),
    }
}

/// Reads a table of runs, which `are_compared` or not. Columns that tell runs apart are those that are neither measured nor the seed.
fn read(registry: &Registry, path: &Path, are_compared: bool) -> Result<Table> {
    let (name, file): (_, Box<dyn Read>) = match path == Path::new("-") {
        true => ("the standard input".to_string(), Box::new(std::io::stdin().lock())),
        false => {
            let name = path.display().to_string();
            let file = std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
            (name, Box::new(file))
        }
    };
    let mut records = Records::new(file, &name)?;
    let headers = records.headers().to_vec();
    let find = |column: &str| {
        headers.iter().position(|h| h == column).ok_or_else(|| {
            Request(format!("{name} has no column '{column}'; it needs seed, solved, solved_at and sparsity_error, and may have others"))
        })
    };
    let own = [find("seed")?, find("solved")?, find("solved_at")?, find("sparsity_error")?];
    let steps = headers.iter().position(|head| head == "steps");
    let measured = |column: &str| {
        let known = registry.metrics.iter().any(|metric| metric.name == column);
        known || column == "status" || column.ends_with("_simulated") || MEASURED.contains(&column)
    };
    let grouping: Vec<usize> = (0..headers.len()).filter(|k| !own.contains(k) && !measured(&headers[*k])).collect();
    let mut groups: BTreeMap<Vec<String>, Group> = BTreeMap::new();
    let (mut unjudged, mut key) = (0, Vec::new());
    while let Some(record) = records.next_record()? {
        let (line, cell) = (record.line(), |column: usize| record.get(column).unwrap_or_default());
        let number = |column: usize| {
            parse_number(cell(column)).map_err(|why| {
                let (head, text) = (&headers[column], cell(column));
                Request(format!(
                    "{name}, line {line}, column {head}: '{text}' is neither a finite number from 0 on nor NA: {why}"
                ))
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
            other => bail!(Request(format!("{name}, line {line}, column solved: '{other}' is neither true nor false"))),
        };
        let (solved_at, error) = (number(own[2])?, number(own[3])?);
        key.clear();
        key.extend(grouping.iter().map(|&g| cell(g).to_string()));
        // A name is only kept of the first run of a group.
        let group = match groups.get_mut(&key) {
            Some(group) => group,
            None => groups.entry(key.clone()).or_default(),
        };
        let seed = Seed::from(cell(own[0]));
        if !group.seeds.insert(&seed) {
            let what = format!("a second run of {} with seed {}", key.join(" "), cell(own[0]));
            bail!(Request(format!("{name}, line {line}: {what}; a column must tell them apart")));
        }
        group.n += 1;
        group.solved += usize::from(solved);
        group.steps.extend(solved_at.filter(|_| solved));
        group.errors.extend(error.filter(|_| solved));
        if !solved {
            let watched = steps.and_then(|column| cell(column).parse().ok()).unwrap_or(0);
            *group.watched.entry(watched).or_default() += 1;
        }
        if are_compared {
            group.runs.insert(seed, Judged { solved, solved_at });
        }
    }
    if unjudged > 0 {
        say!("{unjudged} runs that are neither solved nor unsolved are left out");
    }
    ensure!(!groups.is_empty(), Request(format!("{name} has no runs below its first line")));
    Ok(Table { columns: grouping.iter().map(|&g| headers[g].clone()).collect(), groups })
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

impl Table {
    /// The greatest number of steps that any run took or was watched for.
    fn longest(&self) -> f64 {
        let of = |group: &Group| {
            let solved = group.steps.iter().copied().fold(0.0, f64::max);
            group.watched.keys().map(|&steps| steps as f64).fold(solved, f64::max)
        };
        self.groups.values().map(of).fold(0.0, f64::max)
    }
}

/// How long a group is watched: the restricted mean is over that.
fn horizon(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.at).fold(0.0, f64::max)
}

fn print_json(table: &Table) -> Result<()> {
    let longest = table.longest();
    let one = |(cells, group): (&Vec<String>, &Group)| {
        let runs = group.survival(longest);
        let curve = kaplan_meier::curve(&runs);
        let curve: Vec<Value> = curve.iter().map(|step| json!([step.at, step.unsolved])).collect();
        let until = horizon(&runs);
        let unsolved = json!({"until": until, "restricted_mean": kaplan_meier::restricted_mean(&runs, until),
            "median": kaplan_meier::median(&runs), "curve": curve});
        let cells: Map<String, Value> =
            table.columns.iter().cloned().zip(cells.iter().map(|cell| json!(cell))).collect();
        let [success, solved_at, published, corrected] = group.estimates();
        let sparsity = json!({"published": published, "corrected": corrected});
        json!({"group": cells, "n": group.n, "success": success, "solved_at": solved_at, "unsolved": unsolved,
            "sparsity_error": sparsity})
    };
    super::print_json(&table.groups.iter().map(one).collect::<Vec<_>>())
}

fn print_table(table: &Table) -> Result<()> {
    let longest = table.longest();
    let row = |(cells, group): (&Vec<String>, &Group)| {
        let [success, solved_at, _, corrected] = group.estimates();
        let runs = group.survival(longest);
        let unsolved = kaplan_meier::restricted_mean(&runs, horizon(&runs));
        vec![
            crate::shown(&cells.join(" ")).into_owned(),
            group.n.to_string(),
            show(success, |v| format!("{v:.3}")),
            show(solved_at, |v| format!("{v:.0}")),
            show(unsolved, |v| format!("{v:.0}")),
            show(corrected, sparsity),
        ]
    };
    let head = ["group", "n", "success", "solved at", "restricted mean", "sparsity error"].map(String::from).to_vec();
    let lines: Vec<Vec<String>> = [head].into_iter().chain(table.groups.iter().map(row)).collect();
    Ok(write!(std::io::stdout().lock(), "{}", crate::terminal::table(&lines))?)
}

fn print_csv(table: &Table) -> Result<()> {
    let head = |cells: &[String], n: String| [cells, &[n]].concat();
    let kinds = ["success", "solved_at", "sparsity_published", "sparsity_corrected", "restricted_mean"];
    let mut records = vec![columns(head(&table.columns, "n".into()), kinds)];
    let longest = table.longest();
    let row = |(cells, g): (&Vec<String>, &Group)| {
        let runs = g.survival(longest);
        let unsolved = kaplan_meier::restricted_mean(&runs, horizon(&runs));
        estimates(head(cells, g.n.to_string()), g.estimates().into_iter().chain([unsolved]))
    };
    records.extend(table.groups.iter().map(row));
    Ok(write!(std::io::stdout().lock(), "{}", csv(&records))?)
}

/// Two values of the first column that has both, matched by seed and by all other columns.
fn compare(table: &Table, pair: &str, arguments: &Stats) -> Result<()> {
    let names = pair.split_once(',').map(|(a, b)| (a.trim(), b.trim()));
    let missing = || Request("--paired takes two names with a comma between them, such as NMU,sNMU".into());
    let (a, b) = names.ok_or_else(missing)?;
    let has = |column: usize, name: &str| table.groups.keys().any(|cells| cells[column] == name);
    let column = (0..table.columns.len()).find(|&column| has(column, a) && has(column, b));
    let none = || Request(format!("no column has both '{a}' and '{b}'; there are: {}", table.columns.join(", ")));
    let column = column.ok_or_else(none)?;
    let (mut pairs, mut strata, longest) = (Vec::new(), Vec::new(), table.longest());
    for (cells, group) in table.groups.iter().filter(|(cells, _)| cells[column] == a) {
        let mut other = cells.clone();
        other[column] = b.into();
        let Some(other) = table.groups.get(&other) else { continue };
        pairs.extend(group.runs.iter().filter_map(|(seed, run)| Some((*run, *other.runs.get(seed)?))));
        strata.push((group.survival(longest), other.survival(longest)));
    }
    ensure!(!pairs.is_empty(), Request(format!("{a} and {b} have no seed in common")));
    let p = paired::compare(&pairs);
    if arguments.csv {
        let head =
            ["a", "b", "pairs", "only_a", "only_b", "mcnemar_p", "both_solved", "a_first", "b_first", "sign_test_p"];
        let row = record(&[
            &a,
            &b,
            &p.pairs,
            &p.only_a,
            &p.only_b,
            &p.mcnemar_p,
            &p.both_solved,
            &p.a_first,
            &p.b_first,
            &p.sign_test_p,
        ]);
        return Ok(write!(std::io::stdout().lock(), "{}", csv(&[head.map(String::from).to_vec(), row]))?);
    }
    let mut counted = Pairs::default();
    pairs.iter().for_each(|(a, b)| counted.add(a.solved, b.solved));
    let difference = newcombe::paired(&counted);
    let ranked = log_rank::test(strata.iter().map(|(a, b)| (a.as_slice(), b.as_slice())));
    let runs = strata.iter().map(|(a, b)| a.len() + b.len()).sum();
    let needed = (power::mcnemar(&counted), ranked.as_ref().and_then(|found| power::log_rank(found, runs)));
    if arguments.json {
        return super::print_json(&json!({
            "a": a, "b": b, "pairs": p.pairs,
            "success": {"only_a": p.only_a, "only_b": p.only_b, "mcnemar_p": p.mcnemar_p, "difference": difference,
                "seeds_to_decide": needed.0},
            "solved_at": {"both_solved": p.both_solved, "a_first": p.a_first, "b_first": p.b_first, "sign_test_p": p.sign_test_p},
            "unsolved": ranked.map(|found| json!({"log_rank_chi2": found.chi2, "log_rank_p": found.p,
                "hazard_ratio": found.hazard_ratio(), "seeds_to_decide": needed.1})),
        }));
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} pairs of runs with the same seed", p.pairs)?;
    writeln!(out, "success    only {a}: {}, only {b}: {}, McNemar p = {}", p.only_a, p.only_b, p_value(p.mcnemar_p))?;
    writeln!(
        out,
        "solved at  {a} first: {}, {b} first: {} of {}, sign test p = {}",
        p.a_first,
        p.b_first,
        p.both_solved,
        p_value(p.sign_test_p)
    )?;
    let difference = show(difference, |v| format!("{v:+.3}"));
    writeln!(out, "difference {difference} in success, {a} minus {b} (Newcombe, paired)")?;
    if let Some(found) = ranked {
        writeln!(out, "log-rank   chi2 = {:.2}, p = {:.4}, over all runs, solved or not", found.chi2, found.p)?;
    }
    // At 5 % with a power of 80 %, if it is as it looks.
    let seeds = |n: Option<usize>| n.map_or("no number of seeds".into(), |n| format!("{n} seeds"));
    writeln!(out, "to decide  {} for success, {} for the log-rank test", seeds(needed.0), seeds(needed.1))?;
    Ok(())
}

//! `nalm stats`: intervals for anybody's table of runs.

use crate::arguments::Stats;
use crate::terminal::{self, To, Tone, paint, paragraph};
use anyhow::{Context, Result, bail, ensure};
use nalm::table::Records;
use nalm_lab::Error::Request;
use nalm_lab::Registry;
use nalm_lab::figure::{columns, estimates, number, record};
use nalm_lab::report::csv;
use nalm_lab::stats::difference;
use nalm_lab::stats::kaplan_meier::{self, Run};
use nalm_lab::stats::newcombe::Pairs;
use nalm_lab::stats::paired::{self, Judged};
use nalm_lab::stats::shown::p_value;
use nalm_lab::stats::{Estimate, beta, gamma, log_rank, power, wilson};
use nalm_lab::summary::metric::sparsity;
use nalm_lab::summary::show;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
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
    /// Whether it says when runs were solved, and how far their weights are from 0 and 1.
    has_steps: bool,
    has_errors: bool,
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
    /// How many runs were watched until then, and never solved; nothing where the table does not say.
    watched: BTreeMap<Option<u64>, usize>,
    /// The longest that any of its runs was watched, as far as the table says.
    length: u64,
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
        let end = |steps: Option<u64>| steps.map_or(longest, |steps| steps as f64);
        let never =
            self.watched.iter().flat_map(|(&steps, &n)| std::iter::repeat_n(Run { at: end(steps), solved: false }, n));
        solved.chain(never).collect()
    }

    /// The mean over all runs, those that never solved until they were no longer watched; nothing if that is not known of all of them.
    fn restricted_mean(&self) -> Estimate {
        let runs = self.survival(0.0);
        let known = !self.watched.contains_key(&None);
        if known { kaplan_meier::restricted_mean(&runs, self.horizon(&runs)) } else { Estimate::NONE }
    }

    /// How long it is watched: the restricted mean is over that.
    fn horizon(&self, runs: &[Run]) -> f64 {
        runs.iter().map(|run| run.at).fold(self.length as f64, f64::max)
    }

    /// Success, solved-at, and the sparsity error as published and corrected.
    fn estimates(&self) -> [Estimate; 4] {
        let success = wilson::interval(self.solved, self.n);
        let [published, corrected] =
            [beta::published(&self.errors), beta::corrected(&self.errors)].map(beta::unclipped);
        [success, gamma::interval(&self.steps), published, corrected]
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
            Request(format!("{name} has no column '{column}'; it needs seed and solved, and may have solved_at, sparsity_error, steps and others"))
        })
    };
    let [seed, solved] = [find("seed")?, find("solved")?];
    let [solved_at, error, steps] =
        ["solved_at", "sparsity_error", "steps"].map(|column| headers.iter().position(|head| head == column));
    let own = [Some(seed), Some(solved), solved_at, error];
    let measured = |column: &str| {
        let known = registry.metrics.iter().any(|metric| metric.name == column);
        known || column == "status" || column.ends_with("_simulated") || MEASURED.contains(&column)
    };
    let grouping: Vec<usize> =
        (0..headers.len()).filter(|k| !own.contains(&Some(*k)) && !measured(&headers[*k])).collect();
    let mut groups: BTreeMap<Vec<String>, Group> = BTreeMap::new();
    let (mut unjudged, mut key) = (0, Vec::new());
    while let Some(record) = records.next_record()? {
        let (line, cell) = (record.line(), |column: usize| record.get(column).unwrap_or_default());
        let number = |column: Option<usize>| {
            let Some(column) = column else { return Ok(None) };
            let (head, text) = (&headers[column], cell(column));
            let wrong =
                || format!("{name}, line {line}, column {head}: '{text}' is neither a finite number from 0 on nor NA");
            parse_number(text).ok_or_else(|| Request(wrong()))
        };
        let is_solved = match cell(solved).to_ascii_lowercase().as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            // Runs with images are not solved or unsolved by themselves.
            "na" => {
                unjudged += 1;
                continue;
            }
            other => bail!(Request(format!("{name}, line {line}, column solved: '{other}' is neither true nor false"))),
        };
        let (at, error) = (number(solved_at)?, number(error)?);
        let wrong = |what: &str| Request(format!("{name}, line {line}: {what}"));
        if let Some(at) = at.filter(|_| !is_solved) {
            bail!(wrong(&format!("solved is false and solved_at is {at}; a run that is not solved has NA there")));
        }
        ensure!(
            solved_at.is_none() || at.is_some() || !is_solved,
            wrong("solved is true and solved_at is NA; say at which step it was solved, or leave the column out")
        );
        let watched: Option<u64> = steps.and_then(|column| cell(column).parse().ok());
        if let (Some(at), Some(steps)) = (at, watched.filter(|steps| at.is_some_and(|at| at > *steps as f64))) {
            bail!(wrong(&format!("solved_at is {at} and steps is {steps}; a run is solved within its steps")));
        }
        let solved_at = at;
        let length = watched.unwrap_or(0);
        key.clear();
        key.extend(grouping.iter().map(|&g| cell(g).to_string()));
        // A name is only kept of the first run of a group.
        let group = match groups.get_mut(&key) {
            Some(group) => group,
            None => groups.entry(key.clone()).or_default(),
        };
        let own_seed = Seed::from(cell(seed));
        if !group.seeds.insert(&own_seed) {
            let of = key.join(" ");
            let of = if of.trim().is_empty() { String::new() } else { format!(" of {of}") };
            let what = format!("a second run{of} with seed {}", cell(seed));
            bail!(Request(format!("{name}, line {line}: {what}; a column must tell them apart")));
        }
        group.n += 1;
        group.length = group.length.max(length);
        group.solved += usize::from(is_solved);
        group.steps.extend(solved_at.filter(|_| is_solved));
        group.errors.extend(error.filter(|_| is_solved));
        if !is_solved {
            *group.watched.entry(watched).or_default() += 1;
        }
        if are_compared {
            group.runs.insert(own_seed, Judged { solved: is_solved, solved_at });
        }
    }
    if unjudged > 0 {
        let (runs, are) = (terminal::counted(unjudged, "run"), if unjudged == 1 { "is" } else { "are" });
        say!("{runs} {are} left out, neither solved nor unsolved");
    }
    ensure!(!groups.is_empty(), Request(format!("{name} has no runs below its first line")));
    let columns = grouping.iter().map(|&g| headers[g].clone()).collect();
    Ok(Table {
        columns,
        groups,
        has_steps: headers.iter().any(|head| head == "solved_at"),
        has_errors: error.is_some(),
    })
}

/// A finite number from 0 on, or within that nothing for NA.
fn parse_number(text: &str) -> Option<Option<f64>> {
    if matches!(text, "" | "NA" | "na" | "null") {
        return Some(None);
    }
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0).map(Some)
}

impl Table {
    /// The greatest number of steps that any run took or was watched for.
    fn longest(&self) -> f64 {
        let of = |group: &Group| {
            let solved = group.steps.iter().copied().fold(0.0, f64::max);
            group.watched.keys().flatten().map(|&steps| steps as f64).fold(solved, f64::max)
        };
        self.groups.values().map(of).fold(0.0, f64::max)
    }
}

fn print_json(table: &Table) -> Result<()> {
    let longest = table.longest();
    let one = |(cells, group): (&Vec<String>, &Group)| {
        let runs = group.survival(longest);
        let curve = kaplan_meier::curve(&runs);
        let curve: Vec<Value> = curve.iter().map(|step| json!([step.at, step.unsolved])).collect();
        let until = group.horizon(&runs);
        let unsolved = json!({"until": until, "restricted_mean": group.restricted_mean(),
            "median": kaplan_meier::median(&runs), "curve": curve});
        let cells: Map<String, Value> =
            table.columns.iter().cloned().zip(cells.iter().map(|cell| json!(cell))).collect();
        let [success, solved_at, published, corrected] = group.estimates();
        let mut found = json!({"group": cells, "n": group.n, "success": success});
        if table.has_steps {
            found["solved_at"] = json!(solved_at);
            found["unsolved"] = unsolved;
        }
        if table.has_errors {
            found["sparsity_error"] = json!({"published": published, "corrected": corrected});
        }
        found
    };
    super::print_json(&table.groups.iter().map(one).collect::<Vec<_>>())
}

fn print_table(table: &Table) -> Result<()> {
    // What is the same in all groups tells none of them apart.
    let first = table.groups.keys().next();
    let differs = |k: usize| table.groups.keys().any(|cells| first.is_some_and(|first| first[k] != cells[k]));
    let telling: Vec<usize> = (0..table.columns.len()).filter(|k| differs(*k)).collect();
    let name = |cells: &[String]| {
        let parts: Vec<&str> = telling.iter().map(|k| cells[*k].as_str()).filter(|cell| !cell.is_empty()).collect();
        if parts.is_empty() && telling.is_empty() { "all".into() } else { parts.join(" ") }
    };
    let longest = table.longest();
    let row = |(cells, group): (&Vec<String>, &Group)| {
        let [success, solved_at, _, corrected] = group.estimates();
        let unsolved = group.restricted_mean();
        // Where Kaplan and Meier's curve falls to one half.
        let half = kaplan_meier::median(&group.survival(longest));
        [
            crate::shown(&name(cells)).into_owned(),
            group.n.to_string(),
            show(success, |v| format!("{v:.2}")),
            show(solved_at, |v| format!("{v:.0}")),
            half.map_or("–".into(), |step| format!("{step:.0}")),
            show(unsolved, |v| format!("{v:.0}")),
            show(corrected, sparsity),
        ]
    };
    let head =
        ["group", "n", "success", "solved at", "half solved by", "restricted mean", "sparsity error"].map(String::from);
    let there = [true, true, true, table.has_steps, table.has_steps, table.has_steps, table.has_errors];
    let known =
        |row: [String; 7]| row.into_iter().zip(there).filter_map(|(cell, there)| there.then_some(cell)).collect();
    let lines: Vec<Vec<String>> = [head].into_iter().chain(table.groups.iter().map(row)).map(known).collect();
    let mut out = std::io::stdout().lock();
    if terminal::fits(&lines) {
        return Ok(write!(out, "{}", terminal::table(&lines))?);
    }
    // Where there is no room for a line a group, a line a number.
    let (head, groups) = lines.split_first().context("there is always a heading")?;
    for (k, group) in groups.iter().enumerate() {
        let gap = if k > 0 { "\n" } else { "" };
        writeln!(out, "{gap}{} (n = {})", paint(To::Output, Tone::Heading, &group[0]), group[1])?;
        head.iter().zip(group).skip(2).try_for_each(|(name, cell)| writeln!(out, "  {name:15}  {cell}"))?;
    }
    Ok(())
}

fn print_csv(table: &Table) -> Result<()> {
    let head = |cells: &[String], n: String| [cells, &[n]].concat();
    let kinds = ["success", "solved_at", "sparsity_published", "sparsity_corrected", "restricted_mean"];
    let there = [true, table.has_steps, table.has_errors, table.has_errors, table.has_steps];
    let known = |k: &usize| there[*k];
    let mut records = vec![columns(head(&table.columns, "n".into()), (0..5).filter(known).map(|k| kinds[k]))];
    let row = |(cells, g): (&Vec<String>, &Group)| {
        let unsolved = g.restricted_mean();
        let [success, solved_at, published, corrected] = g.estimates();
        let all = [success, solved_at, published, corrected, unsolved];
        estimates(head(cells, g.n.to_string()), (0..5).filter(known).map(|k| all[k]))
    };
    records.extend(table.groups.iter().map(row));
    Ok(write!(std::io::stdout().lock(), "{}", csv(&records))?)
}

/// The groups of runs that two names are compared over, and how many are left out: of those that differ in their length alone, which have the same seeds
/// again, the longest counts.
fn strata_of<'a>(table: &'a Table, column: usize, a: &str, b: &str) -> (Vec<[&'a Group; 2]>, usize) {
    let counts = |k: &usize| !["steps", "experiment"].contains(&table.columns[*k].as_str());
    let telling: Vec<usize> = (0..table.columns.len()).filter(counts).collect();
    let mut strata: BTreeMap<Vec<&str>, [&Group; 2]> = BTreeMap::new();
    let mut found = 0;
    for (cells, group) in table.groups.iter().filter(|(cells, _)| cells[column] == a) {
        let mut other = cells.clone();
        other[column] = b.into();
        let Some(other) = table.groups.get(&other) else { continue };
        found += 1;
        let key = telling.iter().map(|&k| cells[k].as_str()).collect();
        let longest = strata.entry(key).or_insert([group, other]);
        if group.length > longest[0].length {
            *longest = [group, other];
        }
    }
    let left_out = found - strata.len();
    (strata.into_values().collect(), left_out)
}

/// Two values of the first column that has both, matched by seed and by all other columns.
fn compare(table: &Table, pair: &str, arguments: &Stats) -> Result<()> {
    // Noises and ranges have commas within their brackets.
    let mut depth = 0;
    let between = pair.char_indices().find(|&(_, c)| {
        depth += i32::from("[(".contains(c)) - i32::from("])".contains(c));
        c == ',' && depth <= 0
    });
    let names = between.map(|(at, _)| (pair[..at].trim(), pair[at + 1..].trim()));
    let missing = || Request("--paired takes two names with a comma between them, such as nmu,snmu".into());
    let (a, b) = names.ok_or_else(missing)?;
    // Names as they are written in the table; pages write NMU where rows have nmu.
    let own = |column: usize, name: &str| {
        let mut cells = table.groups.keys().map(|cells| cells[column].as_str());
        let same = cells.clone().find(|cell| *cell == name);
        same.or_else(|| cells.find(|cell| cell.eq_ignore_ascii_case(name)))
    };
    let both = |column: usize| Some((column, own(column, a)?, own(column, b)?));
    let found = (0..table.columns.len()).find_map(both);
    let none = || {
        let values = |k: usize| table.groups.keys().map(|cells| cells[k].as_str()).collect::<BTreeSet<_>>();
        let choice = |k: usize| {
            let found = values(k);
            let shown: Vec<&str> = found.iter().copied().take(12).collect();
            let more = if found.len() > 12 { ", …" } else { "" };
            (found.len() > 1).then(|| format!("{}: {}{more}", table.columns[k], shown.join(", ")))
        };
        let all: Vec<String> = (0..table.columns.len()).filter_map(choice).collect();
        let all =
            if all.is_empty() { "all runs are of one group".into() } else { format!("there are {}", all.join("; ")) };
        Request(format!("no column has both '{a}' and '{b}'; {all}"))
    };
    let (column, a, b) = found.ok_or_else(none)?;
    ensure!(a != b, Request(format!("--paired {pair} compares {a} with itself; name two")));
    let (groups, left_out) = strata_of(table, column, a, b);
    if left_out > 0 {
        say!(
            "note: of settings that differ in steps or experiment alone, which have the same seeds again, the longest counts"
        );
    }
    let (mut pairs, mut strata, longest) = (Vec::new(), Vec::new(), table.longest());
    for [group, other] in &groups {
        pairs.extend(group.runs.iter().filter_map(|(seed, run)| Some((seed, *run, *other.runs.get(seed)?))));
        strata.push((group.survival(longest), other.survival(longest)));
    }
    ensure!(!pairs.is_empty(), Request(format!("{a} and {b} have no seed in common")));
    let p = paired::compare(&pairs);
    let solved: Vec<_> = pairs.iter().map(|(seed, a, b)| (*seed, a.solved, b.solved)).collect();
    let (difference, repeated) = (difference::interval(&solved), difference::has_repeated_seeds(&solved));
    let alike = p.pairs - p.only_a - p.only_b;
    let counted = Pairs { both: alike, first: p.only_a, second: p.only_b, neither: 0 };
    let strata = strata.iter().map(|(a, b)| (a.as_slice(), b.as_slice()));
    // Runs of a seed need not be independent, as this test takes them to be.
    let ranked = if table.has_steps && !repeated { log_rank::test(strata.clone()) } else { None };
    let runs = strata.map(|(a, b)| a.len() + b.len()).sum();
    let needed = (power::mcnemar(&counted), ranked.as_ref().and_then(|found| power::log_rank(found, runs)));
    if arguments.csv {
        let head =
            ["a", "b", "pairs", "only_a", "only_b", "mcnemar_p", "both_solved", "a_first", "b_first", "sign_test_p"];
        let cells: [&dyn Display; 10] = [
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
        ];
        let mut head = columns(head.map(String::from).to_vec(), ["difference"]);
        let mut row = estimates(record(&cells), [difference]);
        let seeds = |n: Option<usize>| n.map(|n| n as f64);
        for (name, value) in [
            ("seeds_to_decide_success", seeds(needed.0)),
            ("log_rank_chi2", ranked.as_ref().map(|found| found.chi2)),
            ("log_rank_p", ranked.as_ref().map(|found| found.p)),
            ("hazard_ratio", ranked.as_ref().and_then(|found| found.hazard_ratio())),
            ("seeds_to_decide_log_rank", seeds(needed.1)),
        ] {
            head.push(name.into());
            row.push(number(value));
        }
        return Ok(write!(std::io::stdout().lock(), "{}", csv(&[head, row]))?);
    }
    if arguments.json {
        return super::print_json(&json!({
            "a": a, "b": b, "pairs": p.pairs,
            "success": {"only_a": p.only_a, "only_b": p.only_b, "mcnemar_p": p.mcnemar_p, "difference": difference,
                "seeds_to_decide": needed.0},
            "solved_at": table.has_steps.then(|| json!({"both_solved": p.both_solved, "a_first": p.a_first,
                "b_first": p.b_first, "sign_test_p": p.sign_test_p})),
            "unsolved": ranked.map(|found| json!({"log_rank_chi2": found.chi2, "log_rank_p": found.p,
                "hazard_ratio": found.hazard_ratio(), "seeds_to_decide": needed.1})),
        }));
    }
    let mut out = std::io::stdout().lock();
    let (settings, found) = (groups.len(), terminal::counted(pairs.len(), "pair"));
    let over = if settings > 1 { format!(", over {settings} settings together") } else { String::new() };
    let once = match repeated {
        true => format!("; each of {} counts once", terminal::counted(p.pairs, "seed")),
        false => String::new(),
    };
    write!(out, "{}", paragraph("", "", &format!("{found} of runs with the same seed{over}{once}")))?;
    let test = if repeated { "sign test" } else { "McNemar" };
    write!(
        out,
        "{}",
        paragraph(
            "success    ",
            &" ".repeat(11),
            &format!("only {a}: {}, only {b}: {}, {test} p = {}", p.only_a, p.only_b, p_value(p.mcnemar_p))
        )
    )?;
    if table.has_steps {
        let (first, second, of, p) = (p.a_first, p.b_first, p.both_solved, p_value(p.sign_test_p));
        write!(
            out,
            "{}",
            paragraph(
                "solved at  ",
                &" ".repeat(11),
                &format!("{a} first: {first}, {b} first: {second} of {of}, sign test p = {p}")
            )
        )?;
    }
    let difference = show(difference, |v| format!("{v:+.3}"));
    write!(
        out,
        "{}",
        paragraph(
            "difference ",
            &" ".repeat(11),
            &format!(
                "{difference} in success, {a} minus {b} ({})",
                if repeated { "Student, over seeds" } else { "Newcombe, paired" }
            )
        )
    )?;
    if let Some(found) = &ranked {
        write!(
            out,
            "{}",
            paragraph(
                "log-rank   ",
                &" ".repeat(11),
                &format!("chi2 = {:.2}, p = {}, over all runs, solved or not", found.chi2, p_value(found.p))
            )
        )?;
    }
    // At 5 % with a power of 80 %, if it is as it looks.
    let seeds = |n: Option<usize>, p: Option<f64>, what: &str| match n {
        _ if p.is_some_and(|p| p < 0.05) => format!("{what} is decided"),
        Some(n) => format!("{n} seeds for {what}"),
        None => format!("no difference is seen in {what}"),
    };
    let ranked = ranked.map(|found| found.p);
    let steps = match table.has_steps && !repeated {
        true => format!(", {}", seeds(needed.1, ranked, "the log-rank test")),
        false => String::new(),
    };
    write!(
        out,
        "{}",
        paragraph(
            "to decide  ",
            &" ".repeat(11),
            &format!("{}{steps} (at 5 %)", seeds(needed.0, Some(p.mcnemar_p), "success"))
        )
    )?;
    Ok(())
}

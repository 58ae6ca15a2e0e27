//! The benchmark of `nalm fit` as tables and JSON.

use crate::report::Found;
use crate::report::page::Block;
use nalm_fit::suite::{Case, Outcome, Settings, Suite, Summary, TARGET, fresh, summary};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One line of the benchmark: a suite, which of its tables, and how they are drawn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// The suite.
    pub suite: String,
    /// Only tables whose formula is arithmetic.
    pub arithmetic: bool,
    /// How they are drawn.
    pub settings: Settings,
}

/// The whole benchmark.
pub fn plan() -> Vec<Part> {
    let part = |suite: &str, arithmetic, rows, noise| Part {
        suite: suite.into(),
        arithmetic,
        settings: Settings { rows, noise, seed: 0 },
    };
    vec![
        part("feynman", true, 200, 0.0),
        part("feynman", true, 2_000, 0.0),
        part("feynman", false, 300, 0.0),
        part("feynman", true, 500, 1e-6),
        part("feynman", true, 500, 1e-3),
        part("feynman", true, 500, 1e-2),
        part("own", false, 400, 0.0),
        part("false", false, 300, 0.0),
    ]
}

impl Part {
    /// These tables.
    pub fn new(suite: &str, arithmetic: bool, settings: Settings) -> Self {
        Self { suite: suite.into(), arithmetic, settings }
    }

    /// Its tables.
    pub fn cases(&self) -> Result<Vec<Case>, nalm_fit::Error> {
        let mut cases = Suite::named(&self.suite)?.cases;
        cases.retain(|case| !self.arithmetic || case.class != "transcendental");
        Ok(cases)
    }

    /// One of its tables as CSV, and the rows that answers are judged on, for other programs.
    pub fn csv(&self, case: &Case) -> Result<(String, String), nalm_fit::Error> {
        let Settings { rows, noise, seed, .. } = self.settings;
        let table = case.table(rows, noise, seed)?;
        let judged = fresh(case, seed);
        let columns = judged.columns.iter().map(|(name, numbers)| (name.as_str(), numbers.as_slice()));
        let columns: Vec<(&str, &[f64])> = columns.chain([(TARGET, judged.target.as_slice())]).collect();
        let own = table.names().iter().map(|name| Ok((name.as_str(), table.column(name)?)));
        Ok((text(&own.collect::<Result<Vec<_>, nalm::Error>>()?), text(&columns)))
    }

    /// What tells it from others, for people.
    pub fn name(&self) -> String {
        let kind = if self.arithmetic { ", arithmetic" } else { "" };
        let Settings { rows, noise, seed, .. } = self.settings;
        let noise = if noise > 0.0 { format!(", noise {noise:e}") } else { String::new() };
        let seed = if seed > 0 { format!(", seed {seed}") } else { String::new() };
        format!("{}{kind}, {rows} rows{noise}{seed}", self.suite)
    }
}

/// Columns as CSV with every digit, without rows in which a number is none.
fn text(columns: &[(&str, &[f64])]) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let mut text = line(columns.iter().map(|(name, _)| name.to_string()).collect());
    for row in 0..columns.first().map_or(0, |(_, numbers)| numbers.len()) {
        if columns.iter().all(|(_, numbers)| numbers[row].is_finite()) {
            text += &line(columns.iter().map(|(_, numbers)| format!("{:?}", numbers[row])).collect());
        }
    }
    text
}

/// What came of a part.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The part.
    pub part: Part,
    /// Its numbers.
    pub summary: Summary,
    /// One for every table.
    pub outcomes: Vec<Outcome>,
}

impl Carried {
    /// Counts what came of a part.
    pub fn new(part: Part, cases: &[Case], outcomes: Vec<Outcome>) -> Self {
        let summary = summary(cases, &outcomes.iter().collect::<Vec<_>>());
        Self { part, summary, outcomes }
    }

    /// What was published about these tables, by columns of the suite's file that speak of this noise.
    fn published(&self) -> String {
        let noise = self.part.settings.noise;
        let ends = if noise == 0.0 {
            ["_0", "_0"]
        } else if noise == 1e-3 {
            ["_001", "_001"]
        } else if noise == 1e-2 {
            ["_01", "_01"]
        } else {
            return String::new();
        };
        let names =
            [("ai_feynman", "AI Feynman"), ("best_srbench", "best of SRBench"), ("physo", "PhySO (given units)")];
        let shown = self.summary.published.iter().filter(|(who, ..)| ends.iter().any(|end| who.ends_with(end)));
        let one = |(who, percent, _): &(String, f64, usize)| {
            let name = names.iter().find(|(key, _)| who.starts_with(key)).map_or(who.as_str(), |(_, name)| name);
            format!("{name} {percent:.1} %")
        };
        shown.map(one).collect::<Vec<_>>().join(", ")
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let s = &self.summary;
        let table = |o: &Outcome| {
            json!({
                "id": o.id, "class": o.class, "verdict": o.verdict.name(), "precision": o.precision.map(|p| p.name()),
                "formula": o.formula, "engine": o.engine, "difference": o.difference, "right": o.right,
                "structure": o.structure, "constants": o.constants, "exact": o.exact, "false_exact": o.false_exact,
                "seconds": o.seconds,
            })
        };
        let published: BTreeMap<&str, Value> = s
            .published
            .iter()
            .map(|(who, percent, n)| (who.as_str(), json!({"percent": percent, "tables": n})))
            .collect();
        json!({
            "suite": self.part.suite, "arithmetic": self.part.arithmetic, "rows": self.part.settings.rows,
            "noise": self.part.settings.noise, "seed": self.part.settings.seed,
            "tables": s.tables, "right": s.right, "structure": s.structure, "constants": s.constants,
            "exact": s.exact, "false_exact": s.false_exact,
            "seconds": {"median": s.seconds.median, "p90": s.seconds.p90, "max": s.seconds.most},
            "published": published, "outcomes": self.outcomes.iter().map(table).collect::<Vec<_>>(),
        })
    }
}

const HEAD: [&str; 8] =
    ["tables", "right", "structure", "constants", "exact", "false exact", "seconds: median, worst", "published"];

/// The numbers of parts as a table for texts, and by name for markers within lines.
pub fn found(all: &[Carried]) -> Found {
    let row = |carried: &Carried| -> Vec<String> {
        let s = &carried.summary;
        let count = |n: usize| n.to_string();
        vec![
            carried.part.name(),
            count(s.tables),
            count(s.right),
            count(s.structure),
            count(s.constants),
            count(s.exact),
            count(s.false_exact),
            format!("{}, {}", seconds(s.seconds.median), seconds(s.seconds.most)),
            carried.published(),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let head: Vec<String> = ["suite"].into_iter().chain(HEAD).map(String::from).collect();
    let mut numbers = BTreeMap::new();
    for row in &rows {
        for (name, cell) in HEAD.iter().zip(&row[1..]) {
            numbers.insert(format!("{name}; {}", row[0].replace(", ", " ")), cell.clone());
        }
    }
    Found {
        title: "Known formulas found".into(),
        name: "bench-fit".into(),
        verdicts: Vec::new(),
        rows: all.iter().map(|carried| carried.outcomes.len()).sum(),
        blocks: vec![Block::Table { head, rows }],
        figures: Vec::new(),
        not_drawn: Vec::new(),
        numbers,
    }
}

/// Seconds with two digits.
fn seconds(s: f64) -> String {
    if s < 1.0 { format!("{:.2} ms", 1e3 * s) } else { format!("{s:.2} s") }
}

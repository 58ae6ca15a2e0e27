//! From a table to a formula, for front ends: answers as JSON, saved models, pages, and the benchmark's tables. The search itself is `nalm-fit`.

pub mod bench;
mod model;
mod page;
mod stack;

pub use model::{Model, Models, Tolerance};
pub use stack::stack;

use crate::report::page::html;
use nalm::Table;
use nalm::expression::{Expression, Language};
use nalm_fit::{Candidate, Noise, Report, Verdict};
use serde_json::{Value, json};

/// What a search answered about one target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The target.
    pub target: String,
    /// The columns that might occur in the formula.
    pub inputs: Vec<String>,
    /// All columns of the file, in their order.
    pub headers: Vec<String>,
    /// What the search ended with.
    pub report: Report,
    /// The rows that were held back, counted from 0.
    pub outside: Vec<usize>,
    /// What the search took.
    pub seconds: f64,
    /// What stands before decimals in the file: `.` or `,`.
    pub decimal: char,
}

/// The languages of an answer, by their names in JSON.
pub const LANGUAGES: [(&str, Language); 7] = [
    ("text", Language::Plain),
    ("python", Language::Python),
    ("latex", Language::Latex),
    ("sympy", Language::SymPy),
    ("rust", Language::Rust),
    ("c", Language::C),
    ("spreadsheet", Language::Spreadsheet),
];

impl Answer {
    /// What a search answered.
    pub fn new(target: &str, inputs: Vec<String>, headers: Vec<String>, report: Report, seconds: f64) -> Self {
        Self { target: target.into(), inputs, headers, report, outside: Vec::new(), seconds, decimal: '.' }
    }

    /// The same with the rows that were held back.
    pub fn outside(mut self, rows: Vec<usize>) -> Self {
        self.outside = rows;
        self
    }

    /// The formula that the verdict speaks of; nothing if there is none.
    pub fn best(&self) -> Option<&Candidate> {
        self.report.candidates.first().filter(|_| self.report.verdict != Verdict::None)
    }

    /// The names of columns of an expression, in the order of the file.
    pub fn columns(&self, expression: &Expression) -> Vec<&str> {
        let mut used = Vec::new();
        expression.variables(&mut |name| used.push(name));
        self.headers.iter().map(String::as_str).filter(|name| used.contains(name)).collect()
    }

    /// The same for a file whose decimals stand after this: `.` or `,`.
    pub fn decimal(mut self, decimal: char) -> Self {
        self.decimal = decimal;
        self
    }

    /// An expression over the file's columns in a language. For a spreadsheet it is what can be typed into one that writes decimals as the file does: after commas, and then
    /// with semicolons between arguments.
    pub fn write(&self, expression: &Expression, language: Language) -> String {
        let text = self.written(expression, language);
        match language {
            Language::Spreadsheet if self.decimal == ',' => text.replace(',', ";").replace('.', ","),
            _ => text,
        }
    }

    /// An expression in a language, whoever reads it.
    fn written(&self, expression: &Expression, language: Language) -> String {
        match language {
            Language::Spreadsheet => format!("={}", expression.write_for(language, &self.headers)),
            _ => expression.write_for(language, &self.headers),
        }
    }

    /// The answer as docs/json.md describes it.
    pub fn json(&self) -> Value {
        let best = self.best();
        let texts = |expression: &Expression| -> Value {
            let all =
                LANGUAGES.iter().map(|(name, language)| (name.to_string(), self.written(expression, *language).into()));
            Value::Object(all.collect())
        };
        let candidates = self.report.candidates.iter().map(|candidate| {
            json!({
                "formula": texts(&candidate.expression),
                "complexity": candidate.complexity,
                "error_inside": candidate.error_inside,
                "error_outside": candidate.error_outside,
                "engine": candidate.engine,
            })
        });
        let names = |columns: Vec<&str>| -> Value {
            // All names are given, so that different columns never get the same word.
            let words = Language::Python.names(&self.headers);
            let word = |name: &&str| self.headers.iter().position(|h| h == name).map(|k| words[k].clone());
            columns.iter().filter_map(|name| Some((name.to_string(), Value::from(word(name)?)))).collect()
        };
        let coefficients = best.map_or(Vec::new(), |best| {
            best.coefficients.iter().map(|c| json!({"value": c.value, "low": c.low, "high": c.high})).collect()
        });
        let noise = self.report.noise.map(|(kind, size)| {
            let kind = if kind == Noise::Relative { "relative" } else { "additive" };
            json!({"kind": kind, "size": size})
        });
        json!({
            "target": self.target,
            "verdict": self.report.verdict.name(),
            "precision": self.report.precision.map(|precision| precision.name()),
            "sentence": self.report.sentence,
            "formula": best.map(|best| texts(&best.expression)),
            "columns": best.map_or(Vec::new(), |best| self.columns(&best.expression)),
            "python_names": best.map(|best| names(self.columns(&best.expression))),
            "inputs": self.inputs,
            "error_inside": best.map(|best| best.error_inside),
            "error_outside": best.map(|best| best.error_outside),
            "rows_inside": self.report.rows_inside,
            "rows_outside": self.report.rows_outside,
            "engine": best.map(|best| best.engine),
            "coefficients": Value::Array(coefficients),
            "noise": noise,
            "flags": self.report.flags.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "seconds": self.seconds,
            "candidates": candidates.collect::<Vec<_>>(),
        })
    }
}

/// Answers as a page that opens from a file, with figures in it. The table is the one that was searched.
pub fn page(answers: &[Answer], table: &Table) -> crate::Result<String> {
    let title = |answer: &Answer| format!("What makes {}?", answer.target);
    let blocks = answers.iter().map(|answer| page::blocks(answer, table, &title(answer)));
    let blocks: Vec<_> = blocks.collect::<crate::Result<Vec<_>>>()?.into_iter().flatten().collect();
    Ok(html(&answers.first().map_or_else(String::new, title), &blocks))
}

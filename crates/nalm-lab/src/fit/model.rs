//! Formulas in a file, to be used again.

use super::Answer;
use crate::error::{Context, Error, Result, bail, ensure};
use crate::files::{self, Files};
use nalm::Table;
use nalm::expression::{Expression, Language};
use nalm_fit::{Flag, Noise, Precision, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Rows of noisy data further away than so many standard deviations break the formula.
const DEVIATIONS: f64 = 5.0;
/// Rows of exact data further away than this share break the formula.
const ROUNDING: f64 = 1e-9;
const FORMAT: u32 = 1;

/// How far a row may be away from the formula. Half a unit of the target's last printed digit is always allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Tolerance {
    /// So much of the formula's value.
    Relative(f64),
    /// So much.
    Absolute(f64),
}

impl Tolerance {
    /// How far a row may be away where the formula has this value and the target's last digit this unit.
    pub fn allowed(self, value: f64, last_digit: f64) -> f64 {
        let own = match self {
            Tolerance::Relative(share) => share * value.abs(),
            Tolerance::Absolute(size) => size,
        };
        // Halves of decimal digits are no binary numbers.
        own.max(0.5 * last_digit * (1.0 + 1e-9)).max(4.0 * f64::EPSILON * value.abs())
    }
}

/// A formula for one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Model {
    /// The target.
    pub target: String,
    /// The formula with every digit.
    pub formula: String,
    /// The columns that it needs.
    pub columns: Vec<String>,
    /// What was found out about it.
    pub verdict: String,
    /// How closely it met the target, if it is exact.
    pub precision: Option<String>,
    /// How far rows may be away from it.
    pub tolerance: Tolerance,
    /// Rows that it was found from.
    pub rows: usize,
    #[serde(skip)]
    expression: Option<Expression>,
}

impl Model {
    /// The formula of an answer. The table is the one that was searched.
    pub fn new(answer: &Answer, table: &Table) -> Result<Self> {
        let Some(best) = answer.best() else {
            bail!("there is no formula for '{}' to save: {}", answer.target, answer.report.sentence);
        };
        let columns: Vec<String> = answer.columns(&best.expression).into_iter().map(Into::into).collect();
        let apart = answer.report.flags.iter().any(|flag| matches!(flag, Flag::Apart { .. }));
        // Rows that stand apart are not to widen what is allowed.
        let noise = answer.report.noise.filter(|_| apart || answer.report.verdict == Verdict::Consistent);
        let tolerance = match (answer.report.precision, noise) {
            (Some(Precision::Printed), _) => Tolerance::Absolute(0.0),
            (Some(_), _) => Tolerance::Relative(ROUNDING),
            (None, Some((Noise::Relative, size))) => Tolerance::Relative(DEVIATIONS * size),
            (None, Some((_, size))) => Tolerance::Absolute(DEVIATIONS * size),
            _ => {
                let (numbers, target) = (Numbers::new(table)?, table.column(&answer.target)?);
                let off = |row: usize| best.expression.evaluate(&|name| numbers.at(name, row)) - target[row];
                // The formula may have no value in some rows.
                let off: Vec<f64> = (0..table.rows()).map(off).filter(|off| off.is_finite()).collect();
                // As shares of the largest, because squares may overflow.
                let largest = off.iter().fold(f64::MIN_POSITIVE, |most, off| most.max(off.abs()));
                let mean =
                    off.iter().map(|off| (off / largest) * (off / largest)).sum::<f64>() / off.len().max(1) as f64;
                // No row is called wrong, so none of them breaks the formula.
                let allowed = (DEVIATIONS * mean.sqrt()).max(1.0 + ROUNDING) * largest;
                Tolerance::Absolute(allowed.min(f64::MAX))
            }
        };
        Ok(Self {
            target: answer.target.clone(),
            formula: best.expression.write_for(Language::Plain, &answer.headers),
            columns,
            verdict: answer.report.verdict.name().into(),
            precision: answer.report.precision.map(|precision| precision.name().into()),
            tolerance,
            rows: table.rows(),
            expression: Some(best.expression.clone()),
        })
    }

    /// The value of the formula where columns have these values.
    pub fn value(&self, column: &dyn Fn(&str) -> f64) -> f64 {
        self.expression.as_ref().map_or(f64::NAN, |expression| expression.evaluate(column))
    }

    /// The formula.
    pub fn expression(&self) -> Option<&Expression> {
        self.expression.as_ref()
    }

    /// Reads the formula, and holds it against the columns.
    fn read(mut self) -> Result<Self> {
        let expression: Expression = self.formula.parse()?;
        let mut unknown = None;
        expression.variables(&mut |name| {
            if !self.columns.iter().any(|column| column == name) {
                unknown.get_or_insert_with(|| name.to_string());
            }
        });
        if let Some(name) = unknown {
            bail!("the formula of '{}' needs the column '{name}', which its columns do not list", self.target);
        }
        let size = match self.tolerance {
            Tolerance::Relative(size) | Tolerance::Absolute(size) => size,
        };
        ensure!(size >= 0.0 && size.is_finite(), "the tolerance of '{}' is {size}; it must be from 0 on", self.target);
        self.expression = Some(expression);
        Ok(self)
    }
}

/// The columns of a table by name.
pub(super) struct Numbers<'a>(HashMap<&'a str, &'a [f64]>);

impl<'a> Numbers<'a> {
    pub(super) fn new(table: &'a Table) -> Result<Self> {
        let named = table.names().iter().map(|name| Ok((name.as_str(), table.column(name)?)));
        Ok(Self(named.collect::<Result<_>>()?))
    }

    pub(super) fn at(&self, name: &str, row: usize) -> f64 {
        self.0.get(name).map_or(f64::NAN, |column| column[row])
    }
}

/// A file of formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Models {
    /// The version of this form.
    format: u32,
    /// The version of the program that wrote it.
    version: String,
    /// One for every target.
    pub models: Vec<Model>,
}

impl Models {
    /// These formulas.
    pub fn new(models: Vec<Model>) -> Self {
        Self { format: FORMAT, version: env!("CARGO_PKG_VERSION").into(), models }
    }

    /// Writes the file.
    pub fn save(&self, files: &dyn Files, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Request(error.to_string()))?;
        files::replace(files, path, (text + "\n").as_bytes())
    }

    /// Reads a file.
    pub fn load(files: &dyn Files, path: &Path) -> Result<Self> {
        Self::parse(&files::read(files, path)?).at(|| path.display().to_string())
    }

    /// Reads the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Form {
            format: u32,
            version: String,
        }
        // A file of tensors begins with the length of its description, which is JSON.
        let network = bytes.get(8) == Some(&b'{') && bytes.get(5..8) == Some(&[0; 3]);
        let text = "this is a network, for the library; formulas are saved with the ending .json";
        ensure!(!network, "{text}");
        // Whoever changed a file by hand wants to know where it is wrong; of another file, no key would help.
        let is_ours = serde_json::from_slice::<Value>(bytes).is_ok_and(|value| value["format"].is_number());
        let wrong = |error: serde_json::Error| {
            let why = if is_ours { format!(": {error}") } else { String::new() };
            Error::Request(format!("this is no file of formulas{why}; nalm fit --save FILE.json writes one"))
        };
        let form: Form = serde_json::from_slice(bytes).map_err(wrong)?;
        ensure!(
            form.format == FORMAT,
            "it was written by nalm {} in format {}, which this version cannot read; use that one, or a later one",
            form.version,
            form.format
        );
        let Self { format, version, models } = serde_json::from_slice(bytes).map_err(wrong)?;
        ensure!(!models.is_empty(), "there is no formula in it");
        Ok(Self { format, version, models: models.into_iter().map(Model::read).collect::<Result<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"format":1,"version":"0.1.0","models":[{"target":"t","formula":"a * `b c`","columns":["a","b c"],
        "verdict":"exact","precision":"f64","tolerance":{"relative":1e-9},"rows":20}]}"#;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let models = Models::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(models.models[0].value(&|name| if name == "a" { 3.0 } else { 4.0 }), 12.0);
        let again = Models::parse(&serde_json::to_vec(&models).unwrap()).unwrap();
        assert_eq!(again, models);
    }

    #[test]
    fn what_is_no_model_is_refused_with_a_reason() {
        for (from, to, want) in [
            ("\"format\":1", "\"format\":7", "written by nalm 0.1.0 in format 7"),
            ("a * `b c`", "a * (", "cannot read a formula"),
            ("a * `b c`", "a * d", "needs the column 'd'"),
            ("1e-9", "-1", "the tolerance of 't' is -1"),
            ("\"target\"", "\"goal\"", "no file of formulas: missing field `target` at line "),
            ("\"version\"", "\"by\"", "no file of formulas: missing field `version` at line "),
            ("\"format\":1", "\"format\":\"1\"", "this is no file of formulas; nalm fit"),
            ("\"format\":1", "\"format\":-1", "invalid value: integer `-1`, expected u32 at line 1"),
            ("\"format\":1", "\"from\":1", "this is no file of formulas; nalm fit"),
            ("{\"format\"", "[{\"format\"", "this is no file of formulas"),
        ] {
            let error = Models::parse(GOOD.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
        let none = br#"{"format":1,"version":"0.1.0","models":[]}"#;
        assert_eq!(Models::parse(none).unwrap_err().to_string(), "there is no formula in it");
    }

    #[test]
    fn a_row_may_be_away_as_far_as_it_is_printed() {
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        assert!(near(Tolerance::Relative(1e-9).allowed(100.0, 0.0), 1e-7));
        assert!(near(Tolerance::Relative(1e-9).allowed(100.0, 0.01), 0.005));
        assert!(near(Tolerance::Absolute(2.0).allowed(100.0, 0.01), 2.0));
    }
}

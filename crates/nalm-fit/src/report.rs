//! What a search ends with.

use crate::Line;
use nalm::expression::Expression;
use std::fmt::{self, Display};

/// What can be said about the best formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It meets every row, fitted or held back, as closely as numbers can.
    Exact,
    /// What it misses looks like noise of one size, inside and outside of the fitted range.
    Consistent,
    /// It follows the target, but something is left that is not noise.
    Approximate,
    /// No formula of these kinds explains the target.
    None,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Exact => "exact",
            Verdict::Consistent => "consistent",
            Verdict::Approximate => "approximate",
            Verdict::None => "none",
        }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How closely an exact formula meets the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// To the rounding of double precision.
    F64,
    /// Within half a unit of the last printed digit in every row.
    Printed,
}

impl Precision {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F64 => "f64",
            Precision::Printed => "printed",
        }
    }
}

/// How noise grows with the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Noise {
    /// Of the same size everywhere.
    Additive,
    /// In proportion to the target.
    Relative,
}

/// A constant of a formula and the interval that the data leave for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Its value.
    pub value: f64,
    /// The lower end of its interval (95 %); the value itself where the formula is exact.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A formula that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The formula over the names of the columns.
    pub expression: Expression,
    /// Numbers, variables and operations in it.
    pub complexity: usize,
    /// Root mean square error over the target's standard deviation, on the rows that it was fitted to.
    pub error_inside: f64,
    /// The same on the rows held back.
    pub error_outside: f64,
    /// The engine that found it.
    pub engine: &'static str,
    /// Its constants in the order of the formula; those that follow from others are left out.
    pub coefficients: Vec<Coefficient>,
}

/// Something that limits what the result means.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Flag {
    /// A column with one value throughout; a formula cannot tell it from a number.
    Constant(String),
    /// A column that is a linear or a power relation of others, so that formulas can trade one for the other.
    Dependent {
        /// The column.
        column: String,
        /// Those it depends on; none if it is nearly constant.
        on: Vec<String>,
    },
    /// A column of the formula that is nearly a multiple or a power of another one: the data hardly tell them apart.
    Correlated(String, String),
    /// Another candidate explains the data as well and differs outside of their range.
    Ambiguous {
        /// Its place among the candidates.
        candidate: usize,
    },
    /// A constant that may be one of nature; only if that was asked for.
    Nature {
        /// The constant as found.
        value: f64,
        /// What it may be.
        name: &'static str,
    },
    /// All rows but these are met exactly: they may be wrong.
    Odd {
        /// The rows, counted from 0.
        rows: Vec<usize>,
        /// The lines of the file that they came from, if that is known.
        lines: Vec<Line>,
    },
    /// Most rows are met far more closely than these: what is missed is no noise of one size.
    Apart {
        /// The rows, counted from 0.
        rows: Vec<usize>,
        /// The lines of the file that they came from, if that is known.
        lines: Vec<Line>,
    },
    /// What the units say about the formula: they do not fit those of the target, are not given, or differ in size.
    Units(String),
    /// Functions such as exp were not looked for, because no formula can be exact in rows that are rounded or noisy.
    WithoutFunctions,
    /// Too few rows were held back for the claim `exact`.
    FewRowsOutside,
    /// The observer stopped the search before its end.
    Stopped,
}

/// At most so many rows are listed; they may be half of the table.
const MOST_PLACES: usize = 20;

/// Rows by their lines, or by their numbers from 1 on where there are no lines.
fn places(rows: &[usize], lines: &[Line], most: usize) -> String {
    let own: Vec<Line> = rows.iter().map(|row| Line::from(*row as u64 + 1)).collect();
    let (what, places) = if lines.is_empty() { ("row", own.as_slice()) } else { ("line", lines) };
    let listed: Vec<String> = places.iter().take(most).map(Line::to_string).collect();
    let plural = if places.len() == 1 { "" } else { "s" };
    let more = places.len() - listed.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{what}{plural} {}{more}", listed.join(", "))
}

impl Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flag::Constant(name) => {
                write!(f, "the column '{name}' has one value in all rows; a number may stand for it")
            }
            Flag::Dependent { column, on } if on.is_empty() => {
                write!(f, "the column '{column}' is nearly constant; a number may stand for it")
            }
            Flag::Dependent { column, on } => {
                write!(
                    f,
                    "the column '{column}' follows from '{}'; formulas can trade one for the other",
                    on.join("', '")
                )
            }
            Flag::Correlated(a, b) => {
                write!(f, "the columns '{a}' and '{b}' are nearly proportional; the data hardly tell them apart")
            }
            Flag::Ambiguous { candidate } => {
                write!(f, "candidate {} explains the rows as well and differs outside of their range", candidate + 1)
            }
            Flag::Nature { value, name } => write!(f, "{value:e} may be the {name}"),
            Flag::Odd { rows, lines } => {
                write!(
                    f,
                    "the formula is exact in all rows but {}, which may be wrong",
                    places(rows, lines, rows.len())
                )
            }
            Flag::Apart { rows, lines } => write!(
                f,
                "the formula misses {} by far more than the other rows: they may be wrong, or follow another law",
                places(rows, lines, MOST_PLACES)
            ),
            Flag::Units(text) => f.write_str(text),
            Flag::WithoutFunctions => f.write_str(
                "exp, ln, sin and cos were not looked for: the target is rounded or noisy, and they are found only where a formula can be exact",
            ),
            Flag::FewRowsOutside => f.write_str("no more rows were held back than the formula has constants"),
            Flag::Stopped => f.write_str("the search was stopped before its end"),
        }
    }
}

/// What a search ends with.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// What can be said about the first candidate.
    pub verdict: Verdict,
    /// How closely it meets the target, if it is exact, or exact but for the rows of [`Flag::Odd`] or [`Flag::Apart`].
    pub precision: Option<Precision>,
    /// The verdict in one sentence.
    pub sentence: String,
    /// The formulas found: the one that the verdict speaks of first, one that is as good, and then those that are simpler, from the one that
    /// misses least to the simplest. With the verdict `none`, all from the one that misses least on.
    pub candidates: Vec<Candidate>,
    /// What limits the result.
    pub flags: Vec<Flag>,
    /// The noise that was found, and its standard deviation in units of the target (additive) or as a share of it (relative).
    pub noise: Option<(Noise, f64)>,
    /// Rows that the first candidate was fitted to.
    pub rows_inside: usize,
    /// Rows held back.
    pub rows_outside: usize,
}

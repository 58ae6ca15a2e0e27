//! What is asked for: a table, its target, its inputs, and what else is known about them.

use crate::{Error, Unit};
use nalm::Table;
use std::collections::HashSet;
use std::fmt::{self, Display};
use std::sync::Arc;

/// Fewest rows that a fit takes.
pub(crate) const LEAST_ROWS: usize = 5;
/// Most inputs that a fit takes: the search grows with their cube, and takes seconds for 300.
pub(crate) const MOST_INPUTS: usize = 500;

/// Which rows are held back, so that a formula can be tried on rows that nothing was fitted to.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Holdout {
    /// The 15 % of the rows that lie furthest out in any column, at least two, and up to twice as many where several lie out as far: a formula must hold outside the range it was
    /// fitted on.
    #[default]
    Extreme,
    /// 15 % of the rows, drawn at random; the same ones every time.
    Random,
    /// These rows, counted from 0.
    Rows(Vec<usize>),
}

/// Which formulas are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forms {
    /// Sums, products, powers and roots.
    Arithmetic,
    /// Those, and exp, log, sin and cos around or within them.
    #[default]
    All,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, counted from 1.
    pub number: u64,
    /// The file, where rows come from several.
    pub file: Option<Arc<str>>,
}

impl From<u64> for Line {
    fn from(number: u64) -> Self {
        Self { number, file: None }
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => write!(f, "{}", self.number),
            Some(file) => write!(f, "{} of {file}", self.number),
        }
    }
}

/// A table and what to explain in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Problem<'a> {
    /// The numbers.
    pub table: &'a Table,
    /// The columns that may occur in the formula.
    pub inputs: Vec<String>,
    /// The column to explain.
    pub target: String,
    /// Rows held back.
    pub holdout: Holdout,
    /// Which formulas are looked for.
    pub forms: Forms,
    /// For every row the unit of the last digit that the target was printed with, such as 0.01 for "3.14"; nothing if it is not known.
    pub printed: Option<Vec<f64>>,
    /// For every row the line of the file that it came from, so that rows can be named; nothing if there is no file.
    pub lines: Option<Vec<Line>>,
    /// Units of the inputs, in their order, and of the target. They narrow the search, and the result is checked against them.
    pub units: Option<(Vec<Unit>, Unit)>,
    /// Whether constants may be recognised as constants of nature, such as the speed of light.
    pub physical_constants: bool,
}

impl<'a> Problem<'a> {
    /// Explains `target` by all other columns.
    pub fn new(table: &'a Table, target: &str) -> Result<Self, Error> {
        table.column(target)?;
        let inputs = table.names().iter().filter(|name| *name != target).cloned().collect();
        let problem = Self {
            table,
            inputs,
            target: target.into(),
            holdout: Holdout::default(),
            forms: Forms::default(),
            printed: None,
            lines: None,
            units: None,
            physical_constants: false,
        };
        Ok(problem)
    }

    /// The same by these columns alone.
    pub fn inputs<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.inputs = names.into_iter().map(Into::into).collect();
        self
    }

    /// The same with other rows held back.
    pub fn holdout(mut self, holdout: Holdout) -> Self {
        self.holdout = holdout;
        self
    }

    /// The same with other formulas looked for.
    pub fn forms(mut self, forms: Forms) -> Self {
        self.forms = forms;
        self
    }

    /// The same with the unit of the last printed digit of the target in every row.
    pub fn printed(mut self, last_digits: Vec<f64>) -> Self {
        self.printed = Some(last_digits);
        self
    }

    /// The same with the line of a file that every row came from.
    pub fn lines<L: Into<Line>>(mut self, lines: impl IntoIterator<Item = L>) -> Self {
        self.lines = Some(lines.into_iter().map(Into::into).collect());
        self
    }

    /// The same with units: one for every input in their order, and that of the target.
    pub fn units(mut self, inputs: Vec<Unit>, target: Unit) -> Self {
        self.units = Some((inputs, target));
        self
    }

    /// The same with constants of nature allowed.
    pub fn physical_constants(mut self, allowed: bool) -> Self {
        self.physical_constants = allowed;
        self
    }

    /// Refuses what cannot be fitted.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let target = self.table.column(&self.target)?;
        if self.inputs.is_empty() {
            return Err(Error::NoInputs(self.target.clone()));
        }
        if self.inputs.len() > MOST_INPUTS {
            return Err(Error::TooManyInputs { got: self.inputs.len(), most: MOST_INPUTS });
        }
        let mut seen = HashSet::new();
        for name in &self.inputs {
            self.table.column(name)?;
            if *name == self.target {
                return Err(Error::TargetIsInput(name.clone()));
            }
            if !seen.insert(name) {
                return Err(Error::InputTwice(name.clone()));
            }
        }
        let rows = self.table.rows();
        if rows < LEAST_ROWS {
            return Err(Error::TooFewRows { got: rows, want: LEAST_ROWS });
        }
        if target.iter().all(|y| *y == target[0]) {
            return Err(Error::ConstantTarget { name: self.target.clone(), value: target[0] });
        }
        if let Some(printed) = &self.printed
            && printed.len() != rows
        {
            return Err(Error::Length { what: "units of the last printed digit", got: printed.len(), want: rows });
        }
        if let Some(lines) = &self.lines
            && lines.len() != rows
        {
            return Err(Error::Length { what: "lines of the rows", got: lines.len(), want: rows });
        }
        if let Some((units, _)) = &self.units
            && units.len() != self.inputs.len()
        {
            return Err(Error::Length { what: "units of the inputs", got: units.len(), want: self.inputs.len() });
        }
        Ok(())
    }
}

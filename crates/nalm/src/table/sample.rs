//! A table from text of any length: rows with missing cells and columns of text are left out, and of very long texts a sample is kept.

use super::csv::{Dialect, Note, Records, first_line_of_numbers, holds_numbers, shortened};
use super::{Table, find};
use crate::Rng;
use crate::error::{Error, Lack};
use crate::rng::Purpose;
use std::collections::HashSet;
use std::io::Read;

/// Which part of a text becomes a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wanted {
    /// These columns, in this order; without any, all that hold numbers.
    pub columns: Vec<String>,
    /// Columns that are not looked at.
    pub ignored: Vec<String>,
    /// The largest number of rows kept. Of more, a random sample is drawn, the same every time.
    pub most_rows: usize,
    /// Whether the line below the header names units instead of numbers.
    pub units: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { columns: Vec::new(), ignored: Vec::new(), most_rows: 50_000, units: false }
    }
}

impl Wanted {
    /// The same with these columns alone.
    pub fn columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// The same without these columns.
    pub fn ignored<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.ignored = names.into_iter().map(Into::into).collect();
        self
    }

    /// The same with at most so many rows.
    pub fn most_rows(mut self, rows: usize) -> Self {
        self.most_rows = rows;
        self
    }

    /// The same with a line of units below the header, or without.
    pub fn units(mut self, units: bool) -> Self {
        self.units = units;
        self
    }
}

/// A column that was left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Its name.
    pub column: String,
    /// Why.
    pub why: Why,
}

/// Why a column is left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// Most of its cells are no numbers; one of them, and its line.
    Text(String, u64),
    /// More than half of its cells are empty.
    Empty,
}

impl LeftOut {
    /// Whether its cells would be numbers with a point before decimals.
    fn is_point(&self) -> bool {
        matches!(&self.why, Why::Text(cell, _) if cell.parse().is_ok_and(f64::is_finite))
    }

    /// What would make it a column of numbers, where its cells look like numbers that a spreadsheet has dressed up.
    pub fn hint(&self) -> Option<&'static str> {
        let Why::Text(cell, _) = &self.why else { return None };
        let dressed = cell.contains(|c: char| c.is_ascii_digit()) && cell.contains(['%', '$', '€', '£', '(']);
        dressed.then_some("numbers must be without currency, percent signs or brackets")
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.why {
            Why::Text(cell, line) => {
                let what = match cell.parse::<f64>() {
                    _ if self.is_point() => "what is no number with a decimal comma",
                    // Names of numbers that are none, such as inf, and numbers too large.
                    Ok(_) => "numbers that are not finite",
                    Err(_) => "text",
                };
                write!(f, "the column '{}' holds {what} ('{cell}', line {line})", shortened(&self.column))
            }
            Why::Empty => write!(f, "most cells of the column '{}' are empty", shortened(&self.column)),
        }
    }
}

/// A table from text, and what became of the rest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// The numbers.
    pub table: Table,
    /// All columns of the text, in their order.
    pub headers: Vec<String>,
    /// The power of ten of the last printed digit of each number, column by column.
    pub last_digits: Vec<Vec<i16>>,
    /// The line of each row.
    pub lines: Vec<u64>,
    /// Rows in the text.
    pub rows: u64,
    /// Rows left out because a cell is missing; of a sample, those in it.
    pub missing: usize,
    /// Rows that occurred before, in the columns of the table.
    pub repeated: usize,
    /// Columns left out.
    pub left_out: Vec<LeftOut>,
    /// The units below the header, for the columns of the table.
    pub units: Vec<String>,
    /// What was read in a way that may not have been meant.
    pub notes: Vec<Note>,
}

impl Sample {
    /// The units of the last printed digits of a column, such as 0.01 for 3.14.
    pub fn printed(&self, column: &str) -> Result<Vec<f64>, Error> {
        let place = find(self.table.names(), column)?;
        Ok(self.last_digits[place].iter().map(|&power| libm::pow(10.0, f64::from(power))).collect())
    }
}

/// What is known about a column on the way.
#[derive(Clone, Default)]
struct Seen {
    numbers: u64,
    missing: u64,
    bad: u64,
    first_bad: Option<(u64, String, Error)>,
}

/// A row that is kept: its line, its numbers (NaN where one is missing or none), and their last digits.
struct Row {
    line: u64,
    numbers: Vec<f64>,
    digits: Vec<i16>,
}

/// Most cells kept in memory.
const MOST_CELLS: usize = 1 << 24;

impl Table {
    /// Reads a table from text with a header line, as [`Records`] does, and keeps a bounded part of it.
    ///
    /// Columns that were not asked for by name are left out if they hold text or are mostly empty; single cells that are no numbers among others that are, are errors. Rows with missing cells are
    /// left out. Of more rows than wanted, a random sample is kept, in the order of the text.
    pub fn sample(reader: impl Read, name: &str, dialect: &Dialect, wanted: &Wanted) -> Result<Sample, Error> {
        let mut records = Records::open(reader, name, dialect)?;
        let headers = records.headers().to_vec();
        for column in &wanted.ignored {
            find(&headers, column)?;
        }
        let places: Vec<usize> = match wanted.columns.as_slice() {
            [] => (0..headers.len()).filter(|&k| !wanted.ignored.contains(&headers[k])).collect(),
            names => names.iter().map(|name| find(&headers, name)).collect::<Result<_, _>>()?,
        };
        let file = |fault: String, instead: &str| Error::File {
            file: name.into(),
            line: None,
            column: None,
            fault,
            instead: instead.into(),
        };
        if holds_numbers(&headers) {
            let (fault, instead) = first_line_of_numbers();
            return Err(file(fault, &instead));
        }
        let most = wanted.most_rows.min(MOST_CELLS / places.len().max(1)).max(1);
        let mut units = Vec::new();
        if wanted.units
            && let Some(record) = records.next_record()?
        {
            units = places.iter().map(|&place| record.get(place).unwrap_or_default().to_string()).collect();
        }
        let mut seen = vec![Seen::default(); places.len()];
        let mut rows: Vec<Row> = Vec::new();
        let mut count: u64 = 0;
        let mut rng = Rng::fast("table sample", Purpose::Data);
        while let Some(record) = records.next_record()? {
            count += 1;
            // Every row so far is in the sample with the same probability.
            let slot = match usize::try_from(count).is_ok_and(|count| count <= most) {
                true => Some(rows.len()),
                false => Some(rng.uniform(0.0, count as f64) as usize).filter(|slot| *slot < most),
            };
            let mut row = Row { line: record.line(), numbers: Vec::new(), digits: Vec::new() };
            for (&place, seen) in places.iter().zip(&mut seen) {
                let number = if record.is_missing(place) {
                    seen.missing += 1;
                    None
                } else {
                    match record.number(place) {
                        Ok(number) => {
                            seen.numbers += 1;
                            Some(number)
                        }
                        Err(error) if record.is_unclear(place) => return Err(error),
                        Err(error) => {
                            seen.bad += 1;
                            let cell = || shortened(record.get(place).unwrap_or_default());
                            seen.first_bad.get_or_insert_with(|| (record.line(), cell(), error));
                            None
                        }
                    }
                };
                if slot.is_some() {
                    row.numbers.push(number.unwrap_or(f64::NAN));
                    let digit = record.last_digit(place).unwrap_or(0).clamp(-400, 400);
                    row.digits.push(digit as i16);
                }
            }
            match slot {
                Some(slot) if slot < rows.len() => rows[slot] = row,
                Some(_) => rows.push(row),
                None => {}
            }
        }
        if rows.is_empty() {
            return Err(file("there are no rows below the header".into(), "a table needs at least one"));
        }
        let asked = !wanted.columns.is_empty();
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for (k, (&place, seen)) in places.iter().zip(&seen).enumerate() {
            let why = match &seen.first_bad {
                Some((line, cell, _)) if seen.bad > seen.numbers => {
                    let why = Why::Text(cell.clone(), *line);
                    if asked {
                        let text = LeftOut { column: headers[place].clone(), why }.to_string();
                        return Err(file(text, "choose columns of numbers"));
                    }
                    why
                }
                Some((_, _, error)) => return Err(error.clone()),
                None if !asked && seen.missing > seen.numbers => Why::Empty,
                None => {
                    kept.push(k);
                    continue;
                }
            };
            left_out.push(LeftOut { column: headers[place].clone(), why });
        }
        if kept.is_empty() {
            let blanks =
                headers.len() == 1 && seen[0].first_bad.as_ref().is_some_and(|(_, cell, _)| cell.contains(' '));
            let instead = if blanks { "say what stands between its cells" } else { "a table needs at least one" };
            // Numbers with points, where commas were asked for, are all that is wrong with them.
            let first = left_out.first().filter(|first| first.is_point());
            let why = first.map_or(String::new(), |first| format!(": {first}"));
            let error = file(format!("no column holds numbers{why}"), instead);
            return Err(if blanks { error.lacking(Lack::Separator) } else { error });
        }
        rows.sort_by_key(|row| row.line);
        let all = rows.len();
        rows.retain(|row| kept.iter().all(|&k| row.numbers[k].is_finite()));
        if rows.is_empty() {
            let fault = "every row has a missing cell".into();
            return Err(file(fault, "fill them in, or leave out the columns that have them"));
        }
        let mut known = HashSet::new();
        let bits = |row: &Row| kept.iter().map(|&k| row.numbers[k].to_bits()).collect::<Vec<_>>();
        let repeated = rows.iter().filter(|row| !known.insert(bits(row))).count();
        drop(known);
        let column = |k: usize| rows.iter().map(|row| row.numbers[k]).collect::<Vec<_>>();
        let table = Table::new(kept.iter().map(|&k| (headers[places[k]].clone(), column(k))))?;
        Ok(Sample {
            table,
            last_digits: kept.iter().map(|&k| rows.iter().map(|row| row.digits[k]).collect()).collect(),
            lines: rows.iter().map(|row| row.line).collect(),
            rows: count,
            missing: all - rows.len(),
            repeated,
            left_out,
            units: kept.iter().filter_map(|&k| units.get(k).cloned()).collect(),
            notes: records.notes().to_vec(),
            headers,
        })
    }
}

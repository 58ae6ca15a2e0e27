//! Text with separators: commas, semicolons, tabs or bars, with or without quotes, a byte order mark and carriage returns, in UTF-8 or UTF-16, with decimal points or commas.

use super::number::{self, Decimal, Marks};
use super::utf8::Utf8;
use super::{Table, find};
use crate::error::{Error, Lack};
use csv::{ByteRecord, StringRecord};
use std::collections::HashMap;
use std::io::{self, Chain, Cursor, Read};
use std::mem;

/// Tables of more cells than this would hardly be wanted, and no machine should die of a file too large for it.
const MOST_CELLS: u64 = 1 << 28;

/// No record is longer, unless a quote that is never closed makes one of a whole file.
const MOST_BYTES: usize = 16 << 20;

/// How much of the text is looked at to tell the separator.
const HEAD: u64 = 1 << 16;

const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// What is known about a text with separators; the rest is found out.
///
/// ```
/// use nalm::table::{Dialect, Records};
///
/// let text = "pieces\tprice\n2\t1,234\n".as_bytes();
/// let mut records = Records::open(text, "prices.tsv", &Dialect::default().decimal(','))?;
/// assert_eq!(records.next_record()?.unwrap().number(1)?, 1.234);
/// # Ok::<(), nalm::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Dialect {
    /// What stands between cells.
    pub separator: Option<char>,
    /// What stands before decimals: `.` or `,`.
    pub decimal: Option<char>,
}

impl Dialect {
    /// The same with this between cells.
    pub fn separator(mut self, separator: char) -> Self {
        self.separator = Some(separator);
        self
    }

    /// The same with this before decimals: `.` or `,`.
    pub fn decimal(mut self, decimal: char) -> Self {
        self.decimal = Some(decimal);
        self
    }

    fn checked(&self) -> Result<(Option<u8>, Option<Decimal>), Error> {
        let refuse = |what, c: char, want| Err(Error::Value { what, got: format!("'{c}'"), want });
        let decimal = match self.decimal {
            None => None,
            Some('.') => Some(Decimal::Point),
            Some(',') => Some(Decimal::Comma),
            Some(other) => return refuse("mark before decimals", other, "'.' or ','"),
        };
        let separator = match self.separator {
            Some(c) if !c.is_ascii() || c == '"' || c == '\n' || c == '\r' || c.is_ascii_alphanumeric() => {
                return refuse("separator of cells", c, "a comma, a semicolon, a tab, a bar or a space");
            }
            other => other.map(|c| c as u8),
        };
        Ok((separator, decimal))
    }
}

/// Records of text with a header line, one at a time.
///
/// The separator is the one of comma, semicolon, tab and bar that the header has most of, or the one that a first line `sep=;` names. Cells are trimmed, empty lines are skipped, and
/// every record has as many cells as the header; empty ones after the last column are left out. A column without a name is called `column` and its number, as [`Records::notes`] says. Line ends within quotes are given as `\n`. Whether decimals stand after points or commas is told from the first
/// 64 KiB. Thousands may be grouped by the other of the two, by apostrophes or by spaces.
///
/// ```
/// use nalm::table::Records;
///
/// let mut records = Records::new("module;error\nnmu;0.25\n".as_bytes(), "errors.csv")?;
/// assert_eq!(records.headers(), ["module", "error"]);
/// while let Some(record) = records.next_record()? {
///     assert_eq!((record.line(), record.get(0), record.number(1)?), (2, Some("nmu"), 0.25));
/// }
/// # Ok::<(), nalm::Error>(())
/// ```
pub struct Records<R> {
    name: String,
    headers: Vec<String>,
    separator: u8,
    decimal: Decimal,
    /// Lines before the text that the reader sees.
    before: u64,
    reader: csv::Reader<Text<R>>,
    record: StringRecord,
    notes: Vec<Note>,
}

/// How something was read that may have been meant otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A column has no name, such as the numbers that some programs put before rows, and is called this.
    Unnamed(String),
    /// All points stand before three digits. They were read as those of decimals.
    Points,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::Unnamed(name) => write!(f, "a column has no name and is called '{name}'"),
            Note::Points => f.write_str(
                "every point stands before three digits and is taken for that of decimals; if points group thousands, say that decimals stand after a comma",
            ),
        }
    }
}

/// What was looked at for the separator, the rest, and a line end.
type Text<R> = Limited<Chain<Cursor<Vec<u8>>, Chain<UnixLines<Utf8<R>>, &'static [u8]>>>;

impl<R: Read> Records<R> {
    /// Reads the header. `name` is what errors call the text, such as the name of its file.
    pub fn new(reader: R, name: &str) -> Result<Self, Error> {
        Self::open(reader, name, &Dialect::default())
    }

    /// The same where something is known about the text.
    pub fn open(reader: R, name: &str, dialect: &Dialect) -> Result<Self, Error> {
        let (wanted, decimal) = dialect.checked()?;
        // A last line without an end gets one, so that ends count lines.
        let mut text = UnixLines { reader: Utf8::new(reader), after_return: false }.chain(&b"\n"[..]);
        let mut head = Vec::new();
        text.by_ref().take(HEAD).read_to_end(&mut head).map_err(|error| unreadable(name, &error))?;
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        no_text(&head, name)?;
        let named = match head.as_slice() {
            // Excel's own way to name the separator.
            [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', separator, b'\n', ..] if separator.is_ascii() => {
                Some(*separator)
            }
            _ => None,
        };
        head.drain(..if named.is_some() { 6 } else { 0 });
        let separator = wanted.or(named).unwrap_or_else(|| separator(&head));
        let builder = || {
            let mut builder = csv::ReaderBuilder::new();
            builder.delimiter(separator).has_headers(false).flexible(true);
            builder
        };
        let mut notes = Vec::new();
        let decimal = decimal.unwrap_or_else(|| {
            let mut marks = Marks::default();
            let whole = head.len() < HEAD as usize - 16;
            let mut reader = builder().from_reader(head.as_slice());
            let mut records = reader.byte_records().skip(1).map_while(Result::ok).peekable();
            while let Some(record) = records.next() {
                // The last one may be cut off.
                if whole || records.peek().is_some() {
                    record
                        .iter()
                        .filter_map(|cell| std::str::from_utf8(cell).ok())
                        .for_each(|cell| marks.see(cell.trim()));
                }
            }
            notes.extend(marks.may_be_thousands(separator).then_some(Note::Points));
            marks.decimal(separator)
        });
        let reader = builder().from_reader(Limited { reader: Cursor::new(head).chain(text), left: 0 });
        let (name, record, before) = (name.to_string(), StringRecord::new(), u64::from(named.is_some()));
        let mut records = Self { name, headers: Vec::new(), separator, decimal, before, reader, record, notes };
        let Some(line) = records.read()? else {
            let (fault, instead) = ("there is nothing in it".into(), "the first line must name the columns".into());
            return Err(Error::File { file: records.name, line: None, column: None, fault, instead });
        };
        let mut headers: Vec<String> = records.record.iter().map(|cell| cell.trim().to_string()).collect();
        // Spreadsheets save empty columns behind the last one.
        while headers.len() > 1 && headers.last().is_some_and(String::is_empty) {
            headers.pop();
        }
        let numbers = holds_numbers(&headers);
        if headers.iter().any(|header| !header.is_empty()) {
            for (k, header) in headers.iter_mut().enumerate().filter(|(_, header)| header.is_empty()) {
                *header = format!("column {}", k + 1);
                records.notes.push(Note::Unnamed(header.clone()));
            }
        }
        let mut places = HashMap::new();
        for (k, header) in headers.iter().enumerate() {
            let fault = match places.insert(header.as_str(), k) {
                Some(_) if numbers => {
                    let (fault, instead) = first_line_of_numbers();
                    return Err(Error::File { file: records.name, line: Some(line), column: None, fault, instead });
                }
                _ if header.is_empty() => "the name of the column is empty".to_string(),
                Some(first) => format!("the name '{}' is also that of column {}", shortened(header), first + 1),
                None => continue,
            };
            let instead = "give every column a name of its own in the header".into();
            let (line, column) = (Some(line), Some((k + 1).to_string()));
            return Err(Error::File { file: records.name, line, column, fault, instead });
        }
        records.headers = headers;
        Ok(records)
    }

    /// The names of the columns.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// Where the column with this name is.
    pub fn position(&self, name: &str) -> Result<usize, Error> {
        find(&self.headers, name)
    }

    /// What separates the cells.
    pub fn separator(&self) -> char {
        char::from(self.separator)
    }

    /// What stands before decimals: `.` or `,`.
    pub fn decimal(&self) -> char {
        if self.decimal == Decimal::Comma { ',' } else { '.' }
    }

    /// What was read in a way that may not have been meant.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The next record, until there is none.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        let Some(line) = self.read()? else { return Ok(None) };
        let want = self.headers.len();
        let mut got = self.record.len();
        // Empty cells behind the last column.
        if got > want && (want..got).all(|k| self.record[k].trim().is_empty()) {
            got = want;
        }
        if got != want {
            let cells = |n| if n == 1 { "1 cell".to_string() } else { format!("{n} cells") };
            let fault = format!("{} where the header has {}", cells(got), cells(want));
            let instead = "give every line as many cells as the header".into();
            return Err(Error::File { file: self.name.clone(), line: Some(line), column: None, fault, instead });
        }
        self.record.truncate(want);
        let decimal = self.decimal;
        Ok(Some(Record { name: &self.name, headers: &self.headers, line, decimal, cells: &self.record }))
    }

    /// Reads one record and returns the line in which it starts.
    fn read(&mut self) -> Result<Option<u64>, Error> {
        let Self { name, headers, reader, record, before: skipped, .. } = self;
        let mut bytes = mem::take(record).into_byte_record();
        reader.get_mut().left = MOST_BYTES;
        let start = *skipped + reader.position().line();
        let is_another = reader.read_byte_record(&mut bytes).map_err(|error| match reader.get_ref().left {
            0 => Error::File {
                file: name.clone(),
                line: Some(start),
                column: None,
                fault: format!("a record of more than {} MiB begins here", MOST_BYTES >> 20),
                instead: "see whether a quote is opened and never closed".into(),
            },
            _ => unreadable(name, &error),
        })?;
        if !is_another {
            return Ok(None);
        }
        // The reader's own count is that before any empty lines, so lines are counted back from where the record ends.
        let within = bytes.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let line = *skipped + reader.position().line().saturating_sub(1 + within);
        let before = *skipped + bytes.position().map_or(1, |position| position.line());
        if line < before {
            // The last line end belongs to a cell, where it should have ended the record.
            let (fault, instead) = ("a quote is opened and never closed", "close it or leave it out".into());
            return Err(Error::File {
                file: name.clone(),
                line: Some(before),
                column: None,
                fault: fault.into(),
                instead,
            });
        }
        *record = text(bytes).map_err(|column| Error::File {
            file: name.clone(),
            line: Some(line),
            column: Some(
                headers.get(column).map_or_else(|| (column + 1).to_string(), |name| format!("'{}'", shortened(name))),
            ),
            fault: "the cell is not UTF-8".into(),
            instead: "save the file as UTF-8".into(),
        })?;
        Ok(Some(line))
    }
}

/// One record: as many trimmed cells as there are columns.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    name: &'a str,
    headers: &'a [String],
    line: u64,
    decimal: Decimal,
    cells: &'a StringRecord,
}

impl<'a> Record<'a> {
    /// The line in which it starts, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The cell of this column, counted from 0.
    pub fn get(&self, column: usize) -> Option<&'a str> {
        self.cells.get(column).map(str::trim)
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.cells.iter().map(str::trim)
    }

    /// The cell of this column, counted from 0, as a finite number.
    pub fn number(&self, column: usize) -> Result<f64, Error> {
        let cell = self.get(column).unwrap_or_default();
        let wrong = match number::parse(cell, self.decimal) {
            Ok(number) => return Ok(number),
            Err(wrong) => wrong,
        };
        let shown = shortened(cell);
        let mut lack = None;
        let (fault, instead) = if cell.is_empty() {
            ("the cell is empty".into(), "fill it in or leave out the line")
        } else if number::is_missing(cell) {
            (format!("'{shown}' stands for a missing number"), "fill it in or leave out the line")
        } else if wrong == number::Wrong::Unclear {
            let (as_thousands, as_decimal) = (cell.replace(',', ""), cell.replace(',', "."));
            let fault = format!("'{cell}' may be {as_thousands} or {as_decimal}");
            lack = Some(Lack::Decimal);
            (fault, "say whether decimals stand after a point or a comma")
        } else if self.decimal == Decimal::Comma {
            let is_number = number::parse(cell, Decimal::Point).is_ok();
            let what = if is_number { "no number with a decimal comma" } else { "not a finite number" };
            (format!("'{shown}' is {what}"), "decimals stand after a comma here, so write it like 1,5 or -2e-3")
        } else {
            // Below the names, a line without any number holds units.
            let units = self.line == 2 && self.iter().all(|cell| number::parse(cell, self.decimal).is_err());
            lack = units.then_some(Lack::Units);
            let instead = match units {
                true => "write it like 1.5 or -2e-3, or say that this line holds units",
                false => "write it like 1.5 or -2e-3",
            };
            (format!("'{shown}' is not a finite number"), instead)
        };
        let error = self.fault(column, fault, instead);
        Err(match lack {
            Some(lack) => error.lacking(lack),
            None => error,
        })
    }

    /// Whether the cell of this column, counted from 0, is a number that can be read in two ways.
    pub(super) fn is_unclear(&self, column: usize) -> bool {
        self.get(column).is_some_and(|cell| number::parse(cell, self.decimal) == Err(number::Wrong::Unclear))
    }

    /// Whether the cell of this column, counted from 0, is empty or stands for a missing number, as `NA` does.
    pub fn is_missing(&self, column: usize) -> bool {
        self.get(column).is_none_or(number::is_missing)
    }

    /// The power of ten of the last digit that the number in this column is printed with: -2 for 3.14, 0 for 120, -4 for 1.5e-3. Nothing if it is no number.
    pub fn last_digit(&self, column: usize) -> Option<i32> {
        number::last_digit(self.get(column)?, self.decimal)
    }

    /// An error that names file, line and column.
    pub fn fault(&self, column: usize, fault: impl Into<String>, instead: impl Into<String>) -> Error {
        Error::File {
            file: self.name.into(),
            line: Some(self.line),
            column: self.headers.get(column).map(|name| format!("'{}'", shortened(name))),
            fault: fault.into(),
            instead: instead.into(),
        }
    }
}

impl Table {
    /// Reads a table from text with a header line, as [`Records`] does: these columns in this order, or all. Other columns may hold
    /// anything. `name` is what errors call the text, such as the name of its file.
    pub fn from_csv(reader: impl Read, name: &str, columns: Option<&[&str]>) -> Result<Self, Error> {
        read(reader, name, columns, MOST_CELLS)
    }
}

fn read(reader: impl Read, name: &str, columns: Option<&[&str]>, most: u64) -> Result<Table, Error> {
    let mut records = Records::new(reader, name)?;
    let places = match columns {
        Some(names) => names.iter().map(|name| records.position(name)).collect::<Result<Vec<_>, _>>()?,
        None => (0..records.headers().len()).collect(),
    };
    let file = |line, fault: String, instead: &str| Error::File {
        file: name.into(),
        line,
        column: None,
        fault,
        instead: instead.into(),
    };
    let mut numbers = vec![Vec::new(); places.len()];
    let mut cells = 0;
    while let Some(record) = records.next_record()? {
        cells += places.len() as u64;
        if cells > most {
            let fault = format!("{cells} cells up to here, and at most {most} can be used");
            return Err(file(Some(record.line()), fault, "use fewer columns or rows"));
        }
        for (column, &place) in numbers.iter_mut().zip(&places) {
            column.push(record.number(place)?);
        }
    }
    if numbers.iter().any(Vec::is_empty) {
        return Err(file(None, "there are no rows below the header".into(), "a table needs at least one"));
    }
    Table::new(places.iter().map(|&place| records.headers()[place].clone()).zip(numbers))
}

/// A cell for a message: a cell may hold a book.
pub(super) fn shortened(cell: &str) -> String {
    const MOST: usize = 40;
    let mut all = cell.chars().map(|c| if c.is_control() { ' ' } else { c });
    let start: String = all.by_ref().take(MOST).collect();
    if all.next().is_some() { start + "…" } else { start }
}

/// Whether cells are numbers, with either mark before decimals, as in the first line of a file without a header.
pub(super) fn holds_numbers(cells: &[impl AsRef<str>]) -> bool {
    let is_number = |cell: &str| [Decimal::Point, Decimal::Comma].iter().any(|mark| number::parse(cell, *mark).is_ok());
    cells.iter().all(|cell| is_number(cell.as_ref().trim()))
}

/// What is wrong with such a file, and what would be right.
pub(super) fn first_line_of_numbers() -> (String, String) {
    ("the first line holds numbers".into(), "the first line must name the columns".into())
}

/// Refuses what begins like a workbook, or has bytes that no text has.
fn no_text(head: &[u8], name: &str) -> Result<(), Error> {
    let refuse = |line, fault: &str, instead: &str| {
        let (fault, instead) = (fault.into(), instead.into());
        Err(Error::File { file: name.into(), line, column: None, fault, instead })
    };
    // What zip archives, such as .xlsx and .ods, and old .xls files begin with.
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"\xd0\xcf\x11\xe0") {
        return refuse(None, "it is a workbook or an archive, and no text", "save the table as CSV");
    }
    if let Some(at) = head.iter().position(|&byte| byte == 0) {
        let line = 1 + head[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
        let fault = "there is a zero byte: it is no text, or UTF-16 without a byte order mark";
        return refuse(Some(line), fault, "save the file as UTF-8");
    }
    Ok(())
}

/// The separator that the first line with anything in it has most of, outside quotes; the comma where it has none. Where there are no names
/// but numbers, commas may stand before decimals.
fn separator(head: &[u8]) -> u8 {
    let start = head.iter().position(|&byte| byte != b'\n').unwrap_or(0);
    let first = head[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let numbers = |separator: u8| {
        let cells: Vec<_> = first.split(|&byte| byte == separator).map(String::from_utf8_lossy).collect();
        cells.len() > 1 && holds_numbers(&cells)
    };
    if let Some(separator) = SEPARATORS.into_iter().find(|&separator| separator != b',' && numbers(separator)) {
        return separator;
    }
    let mut counts = [0; SEPARATORS.len()];
    let mut quoted = false;
    for &byte in &head[start..] {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if !quoted => {
                if let Some(k) = SEPARATORS.iter().position(|&separator| separator == byte) {
                    counts[k] += 1;
                }
            }
            _ => {}
        }
    }
    let best = (0..counts.len()).fold(0, |best, k| if counts[k] > counts[best] { k } else { best });
    SEPARATORS[best]
}

/// The record as text, or the first cell that is none.
fn text(bytes: ByteRecord) -> Result<StringRecord, usize> {
    StringRecord::from_byte_record(bytes).map_err(|error| error.utf8_error().field())
}

fn unreadable(name: &str, error: &dyn std::fmt::Display) -> Error {
    let (fault, instead) = (format!("it cannot be read ({error})"), "see that it is there and may be read".into());
    Error::File { file: name.into(), line: None, column: None, fault, instead }
}

/// A reader that refuses to go on when nothing is left of what it may read.
struct Limited<R> {
    reader: R,
    left: usize,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = buffer.len().min(self.left);
        let n = self.reader.read(&mut buffer[..most])?;
        self.left -= n;
        Ok(n)
    }
}

/// Text with `\n` for every line end, so that lines can be counted by it.
struct UnixLines<R> {
    reader: R,
    after_return: bool,
}

impl<R: Read> Read for UnixLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.reader.read(buffer)?;
            let mut kept = 0;
            for k in 0..n {
                let byte = buffer[k];
                let second_half = byte == b'\n' && self.after_return;
                self.after_return = byte == b'\r';
                if !second_half {
                    buffer[kept] = if byte == b'\r' { b'\n' } else { byte };
                    kept += 1;
                }
            }
            // Nothing kept of something read is not the end.
            if kept > 0 || n == 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_too_large_is_refused_with_its_size() {
        let text = "a,b\n1,2\n3,4\n5,6\n";
        assert_eq!(read(text.as_bytes(), "t.csv", None, 6).unwrap().rows(), 3);
        let error = read(text.as_bytes(), "t.csv", None, 5).unwrap_err().to_string();
        let want = "t.csv, line 4: 6 cells up to here, and at most 5 can be used; use fewer columns or rows";
        assert_eq!(error, want);
        assert_eq!(read(text.as_bytes(), "t.csv", Some(&["b"]), 3).unwrap().column("b").unwrap(), [2.0, 4.0, 6.0]);
    }

    /// A reader that gives one byte at a time, so that every pair is torn.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(buffer.len()).min(1);
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn line_ends_are_all_the_same_however_they_arrive() {
        for text in [&b"a\r\nb\rc\n\r\n\r\rd"[..], b"a\nb\nc\n\n\n\nd"] {
            let mut got = String::new();
            UnixLines { reader: Slow(text), after_return: false }.read_to_string(&mut got).unwrap();
            assert_eq!(got, "a\nb\nc\n\n\n\nd");
            got.clear();
            UnixLines { reader: text, after_return: false }.read_to_string(&mut got).unwrap();
            assert_eq!(got, "a\nb\nc\n\n\n\nd");
        }
    }
}

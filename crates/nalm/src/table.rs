//! Tables of numbers: named columns of equal length. Reading them from text is behind the cargo feature `csv`.

#[cfg(feature = "csv")]
mod csv;
#[cfg(feature = "csv")]
mod number;
#[cfg(feature = "csv")]
mod sample;
#[cfg(feature = "csv")]
mod utf8;

#[cfg(feature = "csv")]
pub use self::csv::{Dialect, Note, Record, Records};
#[cfg(feature = "csv")]
pub use self::sample::{LeftOut, Sample, Wanted, Why};

use crate::{Error, Real};
use std::collections::HashSet;

/// Named columns of finite numbers, all of the same length.
///
/// ```
/// use nalm::Table;
///
/// let table = Table::new([("a", vec![1.0, 2.0]), ("b", vec![3.0, 4.0])])?;
/// assert_eq!((table.names(), table.rows()), (&["a".to_string(), "b".to_string()][..], 2));
/// assert_eq!(table.column("b")?, [3.0, 4.0]);
/// # Ok::<(), nalm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
}

impl Table {
    /// A table of these columns: at least one, with different names, the same number of rows, and finite numbers.
    pub fn new<N: Into<String>>(columns: impl IntoIterator<Item = (N, Vec<f64>)>) -> Result<Self, Error> {
        let (names, columns): (Vec<String>, Vec<Vec<f64>>) =
            columns.into_iter().map(|(name, column)| (name.into(), column)).unzip();
        Error::check(!names.is_empty(), "number of columns of a table", 0.0, "at least 1")?;
        let mut known = HashSet::new();
        for (k, name) in names.iter().enumerate() {
            if name.is_empty() {
                let (what, got) = ("name of a column", format!("empty (column {})", k + 1));
                return Err(Error::Value { what, got, want: "at least one character" });
            }
            if !known.insert(name.as_str()) {
                let (what, got) = ("name of two columns", format!("'{name}'"));
                return Err(Error::Value { what, got, want: "different for every column" });
            }
        }
        let rows = columns[0].len();
        Error::check(rows > 0, "number of rows of a table", 0.0, "at least 1")?;
        for (name, column) in names.iter().zip(&columns) {
            if column.len() != rows {
                return Err(Error::Shape {
                    what: format!("rows of the column '{name}'"),
                    got: column.len(),
                    want: rows,
                });
            }
            if let Some(k) = column.iter().position(|x| !x.is_finite()) {
                let got = format!("{} (row {} of the column '{name}')", column[k], k + 1);
                return Err(Error::Value { what: "number in a table", got, want: "finite" });
            }
        }
        Ok(Self { names, columns })
    }

    /// The names of the columns, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns[0].len()
    }

    /// The numbers of one column.
    pub fn column(&self, name: &str) -> Result<&[f64], Error> {
        Ok(&self.columns[find(&self.names, name)?])
    }

    /// The numbers of one row, counted from 0, in the order of the columns.
    pub fn row(&self, index: usize) -> Option<Vec<f64>> {
        self.columns.iter().map(|column| column.get(index).copied()).collect()
    }

    /// A table of these columns alone, in this order.
    pub fn select(&self, names: &[&str]) -> Result<Self, Error> {
        let columns = names.iter().map(|&name| Ok((name, self.column(name)?.to_vec())));
        Self::new(columns.collect::<Result<Vec<_>, Error>>()?)
    }

    /// A table of these rows alone, counted from 0, in this order.
    pub fn pick(&self, rows: &[usize]) -> Result<Self, Error> {
        for &row in rows {
            let there = row < self.rows();
            Error::check(there, "number of a row", row as f64, "below the number of rows of the table")?;
        }
        let columns = self.names.iter().zip(&self.columns);
        Self::new(columns.map(|(name, column)| (name.clone(), rows.iter().map(|&row| column[row]).collect())))
    }

    /// These columns row by row, as [`Network::forward_rows`](crate::Network::forward_rows) takes them.
    pub fn row_major<R: Real>(&self, names: &[&str]) -> Result<Vec<R>, Error> {
        let columns: Vec<&[f64]> = names.iter().map(|name| self.column(name)).collect::<Result<_, _>>()?;
        for (name, column) in names.iter().zip(&columns) {
            column.iter().try_for_each(|&x| Self::fits::<R>(x, name))?;
        }
        Ok((0..self.rows()).flat_map(|row| columns.iter().map(move |column| R::of(column[row]))).collect())
    }

    /// Refuses a number that another type does not hold.
    pub(crate) fn fits<R: Real>(x: f64, column: &str) -> Result<(), Error> {
        if R::of(x).is_finite() {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: format!("the number {x:e} of the column '{column}'"),
            when: format!("in {}", R::NAME),
            instead: "give the column in another unit, or train in f64".into(),
        })
    }

    /// The power of two nearest to each column's root mean square: a unit in which its numbers are about 1. Dividing by it changes no digit, unless
    /// a number is 300 orders of magnitude away from the others.
    pub fn natural_units(&self) -> Vec<f64> {
        let unit = |column: &Vec<f64>| {
            let largest = column.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            if largest == 0.0 {
                return 1.0;
            }
            // Divided first, so that squares of numbers of any size are numbers.
            let mean = column.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>() / column.len() as f64;
            let exponent = (libm::log2(largest) + 0.5 * libm::log2(mean)).round();
            libm::exp2(exponent.clamp(-1022.0, 1023.0))
        };
        self.columns.iter().map(unit).collect()
    }

    /// The same table with every column in another unit, one for each column.
    ///
    /// Units change what a unit of arithmetic has to learn: a product in other units is that product times a number. They suit
    /// networks with free weights, and columns whose sizes differ by many orders of magnitude.
    pub fn in_units(&self, units: &[f64]) -> Result<Self, Error> {
        Error::sizes("units, one for each column", units.len(), self.columns.len())?;
        for &unit in units {
            Error::check(unit != 0.0 && unit.is_finite(), "unit of a column", unit, "finite and not 0")?;
        }
        let columns = self.names.iter().zip(&self.columns).zip(units);
        Self::new(columns.map(|((name, column), unit)| (name.clone(), column.iter().map(|x| x / unit).collect())))
    }

    /// A hash of names and numbers, the same on every machine. It tells the random streams of different tables apart; it is
    /// no protection against somebody who wants two tables to have the same.
    pub fn fingerprint(&self) -> u64 {
        fingerprint(self.names.iter().map(String::as_str).zip(self.columns.iter().map(Vec::as_slice)))
    }
}

/// Where this name is among others.
fn find(names: &[String], name: &str) -> Result<usize, Error> {
    names.iter().position(|other| other == name).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Error::unknown("column", name, &names)
    })
}

/// FNV-1a (Fowler, Noll and Vo) of names and numbers, each preceded by its length, so that nothing can move from one to another.
pub(crate) fn fingerprint<'a>(columns: impl Iterator<Item = (&'a str, &'a [f64])>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut put = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for (name, numbers) in columns {
        put(&(name.len() as u64).to_le_bytes());
        put(name.as_bytes());
        put(&(numbers.len() as u64).to_le_bytes());
        numbers.iter().for_each(|x| put(&x.to_bits().to_le_bytes()));
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new([("a", vec![1.0, 2.0, 3.0]), ("b", vec![4.0, 5.0, 6.0]), ("time", vec![7.0, 8.0, 9.0])]).unwrap()
    }

    #[test]
    fn rows_and_columns_are_where_they_were_put() {
        let table = table();
        assert_eq!((table.rows(), table.names().len()), (3, 3));
        assert_eq!(table.column("b").unwrap(), [4.0, 5.0, 6.0]);
        assert_eq!((table.row(1).unwrap(), table.row(3)), (vec![2.0, 5.0, 8.0], None));
        let turned = table.select(&["time", "a"]).unwrap();
        assert_eq!((turned.names(), turned.row(0).unwrap()), (&["time".into(), "a".into()][..], vec![7.0, 1.0]));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let text = |columns: Vec<(&str, Vec<f64>)>| Table::new(columns).unwrap_err().to_string();
        assert_eq!(text(vec![]), "number of columns of a table is 0; it must be at least 1");
        assert_eq!(text(vec![("a", vec![])]), "number of rows of a table is 0; it must be at least 1");
        let (one, two) = (vec![1.0], vec![1.0, f64::NAN]);
        let empty = "name of a column is empty (column 2); it must be at least one character";
        assert_eq!(text(vec![("a", one.clone()), ("", one.clone())]), empty);
        let twice = "name of two columns is 'a'; it must be different for every column";
        assert_eq!(text(vec![("a", one.clone()), ("a", one.clone())]), twice);
        assert_eq!(text(vec![("a", one), ("b", two.clone())]), "rows of the column 'b': got 2, but 1 is needed");
        assert_eq!(text(vec![("b", two)]), "number in a table is NaN (row 2 of the column 'b'); it must be finite");
        let unknown = "unknown column 'tmie'; did you mean 'time'? (valid: a, b, time)";
        assert_eq!(table().column("tmie").unwrap_err().to_string(), unknown);
        assert_eq!(table().select(&["a", "tmie"]).unwrap_err().to_string(), unknown);
    }

    #[test]
    fn fingerprints_are_known_ones_and_differ_with_every_change() {
        // FNV-1a of nothing is its offset basis.
        assert_eq!(fingerprint(std::iter::empty()), 0xcbf2_9ce4_8422_2325);
        let of = |columns: Vec<(&str, Vec<f64>)>| Table::new(columns).unwrap().fingerprint();
        let all = [
            of(vec![("a", vec![1.0, 2.0])]),
            of(vec![("b", vec![1.0, 2.0])]),
            of(vec![("a", vec![2.0, 1.0])]),
            of(vec![("a", vec![1.0]), ("b", vec![2.0])]),
            of(vec![("b", vec![2.0]), ("a", vec![1.0])]),
        ];
        assert!((0..all.len()).all(|k| !all[..k].contains(&all[k])));
        assert_eq!(all[0], of(vec![("a", vec![1.0, 2.0])]));
        // Streams depend on it, so it must stay; computed by other code.
        assert_eq!(all[0], 0x95f3_be5a_94cc_72c0);
    }

    #[test]
    fn rows_are_picked_and_laid_out() {
        let table = table();
        let picked = table.pick(&[2, 0]).unwrap();
        assert_eq!(picked.column("b").unwrap(), [6.0, 4.0]);
        assert_eq!(picked.row_major::<f32>(&["time", "a"]).unwrap(), [9.0, 3.0, 7.0, 1.0]);
        let error = table.pick(&[3]).unwrap_err().to_string();
        assert_eq!(error, "number of a row is 3; it must be below the number of rows of the table");
        assert!(table.pick(&[]).is_err());
    }

    #[test]
    fn natural_units_change_no_digit() {
        let numbers = vec![1234.5, -0.1, 777.0];
        let table = Table::new([("a", numbers.clone()), ("b", vec![0.0; 3]), ("c", vec![3e-300, 1e-300, 2e-300])]);
        let table = table.unwrap();
        let units = table.natural_units();
        assert_eq!(units[..2], [1024.0, 1.0]);
        let scaled = table.in_units(&units).unwrap();
        let back: Vec<f64> = scaled.column("a").unwrap().iter().map(|x| x * 1024.0).collect();
        assert_eq!(back, numbers);
        assert!(scaled.column("c").unwrap().iter().all(|x| (0.1..2.0).contains(x)));
        assert_eq!(
            table.in_units(&[1.0]).unwrap_err().to_string(),
            "units, one for each column: got 1, but 3 is needed"
        );
        assert!(table.in_units(&[1.0, 0.0, 1.0]).unwrap_err().to_string().contains("unit of a column is 0"));
    }
}

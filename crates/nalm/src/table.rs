//! Tables of numbers: named columns of equal length. Reading them from text is behind the cargo feature `csv`.

#[cfg(feature = "csv")]
mod csv;

#[cfg(feature = "csv")]
pub use self::csv::{Record, Records};

use crate::Error;
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
}

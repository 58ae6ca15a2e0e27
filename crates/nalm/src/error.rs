//! What can be wrong with what a user asks for. Everything is checked by constructors; passes over lanes cannot fail.

/// What a reader was not told about a table file and could not find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lack {
    /// What stands before decimals.
    Decimal,
    /// What stands between cells.
    Separator,
    /// That the line below the names holds units.
    Units,
}

/// A request that cannot be met, with the offending value and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number that is out of its domain.
    #[error("{what} is {got}; it must be {want}")]
    Value {
        /// What the number is.
        what: &'static str,
        /// The number as given.
        got: String,
        /// The domain.
        want: &'static str,
    },
    /// Two things whose sizes do not fit together.
    #[error("{what}: got {got}, but {want} is needed")]
    Shape {
        /// Where they meet.
        what: String,
        /// The size found.
        got: usize,
        /// The size that fits.
        want: usize,
    },
    /// Fewer of something than are needed.
    #[error("{what} is {got}; it must be {least} or more")]
    TooFew {
        /// What there is too little of.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many there must be.
        least: usize,
    },
    /// A name that something else has already.
    #[error("there is a {what} called {name} already; give this one another name")]
    Taken {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that is on no list.
    #[error("unknown {what} '{got}'{} (valid: {valid})", nearest.as_ref().map_or(String::new(), |n| format!("; did you mean '{n}'?")))]
    Unknown {
        /// The kind of name.
        what: &'static str,
        /// The name as given.
        got: String,
        /// The valid name with the smallest edit distance, if any is near at all.
        nearest: Option<String>,
        /// All valid names.
        valid: String,
    },
    /// Something wrong with a layer of a stack.
    #[error("layer {place} ({module}): {error}")]
    Layer {
        /// Its place, from 1 on.
        place: usize,
        /// Its module.
        module: String,
        /// What is wrong.
        error: Box<Error>,
    },
    /// Text that does not parse.
    #[error("cannot read {what} from '{got}'; write it like {example}")]
    Syntax {
        /// What was expected.
        what: &'static str,
        /// The text as given.
        got: String,
        /// A text that parses.
        example: &'static str,
    },
    /// A setting that its owner does not have.
    #[error("{owner} has no option {name}; it has: {known}")]
    NoSetting {
        /// The module or task.
        owner: String,
        /// The name as given.
        name: String,
        /// What it has.
        known: String,
    },
    /// A combination that has no meaning or no published definition.
    #[error("{what} is not available {when}; {instead}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// Under which circumstances.
        when: String,
        /// What to do about it.
        instead: String,
    },
    /// Quotients that no imperfect solution comes near, because what they are divided by can be 0.
    #[error(
        "the sums of {range} pass through 0, where a quotient has no threshold; give a test range on one side of 0"
    )]
    NoThreshold {
        /// Where the summands come from.
        range: String,
    },
    /// A table file that cannot be used as it is.
    #[error("{file}{}{}: {fault}; {instead}", place(", line ", line), place(", column ", column))]
    File {
        /// The name of the file.
        file: String,
        /// The line, counted from 1, where the fault is in one.
        line: Option<u64>,
        /// The column, by its name in quotes or by its number, where the fault is in one.
        column: Option<String>,
        /// What is wrong.
        fault: String,
        /// What to do about it.
        instead: String,
    },
    /// A table file that a reader could use if it were told something about it; a front end can say how.
    #[error("{cause}")]
    Lacking {
        /// What it could be told.
        lack: Lack,
        /// What is wrong without that.
        cause: Box<Error>,
    },
    /// A file of tensors that cannot be used.
    #[error("cannot use this file of tensors: {0}")]
    Tensors(String),
    /// A split of a table after which a part would be empty.
    #[error("{rows} rows split {split} leave no row for {part}; every part needs one: use more rows or other shares")]
    EmptyPart {
        /// The rows there are.
        rows: usize,
        /// How they were to be split.
        split: String,
        /// The part without any.
        part: &'static str,
    },
}

/// A part of a place, if there is one.
fn place<T: std::fmt::Display>(before: &str, what: &Option<T>) -> String {
    what.as_ref().map_or(String::new(), |what| format!("{before}{what}"))
}

impl Error {
    /// The same, where a reader could be told something.
    #[cfg(feature = "csv")]
    pub(crate) fn lacking(self, lack: Lack) -> Self {
        Self::Lacking { lack, cause: Box::new(self) }
    }

    /// An [`Error::Unknown`] that names the nearest valid name.
    pub fn unknown(what: &'static str, got: &str, valid: &[&str]) -> Self {
        let nearest = Self::nearest(got, valid).map(String::from);
        Error::Unknown { what, got: got.into(), nearest, valid: valid.join(", ") }
    }

    /// The name that was probably meant, if any is near at all; of several that are as near the first.
    pub fn nearest<'a>(got: &str, names: &[&'a str]) -> Option<&'a str> {
        let nearest = names.iter().min_by_key(|name| edit_distance(got, name));
        // A name was not meant where more than two fifths of the longer one would have to change.
        let length = |name: &str| name.chars().count().max(got.chars().count());
        nearest.filter(|name| 5 * edit_distance(got, name) <= 2 * length(name)).copied()
    }

    /// Checks that a size is the one that is needed.
    pub(crate) fn sizes(what: &str, got: usize, want: usize) -> Result<(), Self> {
        if got == want { Ok(()) } else { Err(Error::Shape { what: what.into(), got, want }) }
    }

    /// Checks a number and names it if it is out of its domain.
    pub fn check(ok: bool, what: &'static str, got: f64, want: &'static str) -> Result<(), Self> {
        if ok { Ok(()) } else { Err(Error::Value { what, got: short(got), want }) }
    }
}

/// A number as people write it: very large and very small ones with an exponent.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (1e-5..1e15).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

/// The number of insertions, deletions, substitutions and swaps of neighbours, ignoring case.
fn edit_distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| text.to_lowercase().chars().collect::<Vec<_>>());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = substituted.min(row[j - 1] + 1).min(rows[i - 1][j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_known_ones() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("NMU", "nmu"), 0);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("smnu", "snmu"), 1);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let text = Error::unknown("module", "smnu", &["nau", "snmu", "npu"]).to_string();
        assert_eq!(text, "unknown module 'smnu'; did you mean 'snmu'? (valid: nau, snmu, npu)");
        let text = Error::unknown("function", "foo", &["root", "exp"]).to_string();
        assert_eq!(text, "unknown function 'foo' (valid: root, exp)");
        let text = Error::unknown("head", "fcc", &["mul", "fc"]).to_string();
        assert_eq!(text, "unknown head 'fcc'; did you mean 'fc'? (valid: mul, fc)");
    }
}

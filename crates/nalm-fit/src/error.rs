//! What can be wrong with what is asked for.

/// A request that cannot be met, with the offending value and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table or a column that the core refuses.
    #[error(transparent)]
    Table(#[from] nalm::Error),
    /// The target is one of the inputs.
    #[error("the target '{0}' is one of the inputs, too; leave it out there")]
    TargetIsInput(String),
    /// A column is named twice among the inputs.
    #[error("the input '{0}' is named twice; name it once")]
    InputTwice(String),
    /// No input is left.
    #[error("there is no input besides the target '{0}'; a formula needs at least one")]
    NoInputs(String),
    /// More inputs than can be searched in bounded time and memory.
    #[error("{got} inputs are too many; at most {most} can be searched: choose those that may matter")]
    TooManyInputs {
        /// Inputs asked for.
        got: usize,
        /// The most that will do.
        most: usize,
    },
    /// Too few rows to fit anything and hold some back.
    #[error("{got} {} too few; at least {want} are needed", if *.got == 1 { "row is" } else { "rows are" })]
    TooFewRows {
        /// Rows of the table.
        got: usize,
        /// The least that will do.
        want: usize,
    },
    /// The target has one value throughout.
    #[error("the target '{name}' is {value} in all rows; there is nothing to explain")]
    ConstantTarget {
        /// The column.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A list that should have one entry for every row or column.
    #[error("{what}: got {got} entries, but {want} are needed")]
    Length {
        /// What the list holds.
        what: &'static str,
        /// Entries it has.
        got: usize,
        /// Entries it should have.
        want: usize,
    },
    /// Held-out rows that leave nothing to fit, or are not there.
    #[error("held-out rows: {0}")]
    Holdout(String),
    /// A unit that does not parse.
    #[error("cannot read the unit '{got}': {fault}; write it like kg*m^2/s^2, or 1 for a pure number")]
    Unit {
        /// The text.
        got: String,
        /// What is wrong with it.
        fault: String,
    },
}

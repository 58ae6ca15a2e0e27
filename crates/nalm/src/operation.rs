//! The operations that targets are made of.

use crate::{Error, Real};
use std::fmt::{self, Display};
use std::str::FromStr;

/// What a target computes from its two operands (the unary ones ignore the second).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// a * b
    Mul,
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a / b
    Div,
    /// a^2
    Square,
    /// sqrt(|a|); the task's ranges decide whether the absolute value matters.
    Root,
    /// 1 / a
    Reciprocal,
}

impl Operation {
    /// All operations.
    pub const ALL: [Operation; 7] = [
        Operation::Mul,
        Operation::Add,
        Operation::Sub,
        Operation::Div,
        Operation::Square,
        Operation::Root,
        Operation::Reciprocal,
    ];

    /// Whether the operation has one operand only.
    pub fn is_unary(self) -> bool {
        matches!(self, Operation::Square | Operation::Root | Operation::Reciprocal)
    }

    /// The operation's result.
    #[inline(always)]
    pub fn apply<R: Real>(self, a: R, b: R) -> R {
        match self {
            Operation::Mul => a * b,
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::Div => a / b,
            Operation::Square => a * a,
            Operation::Root => a.abs().sqrt(),
            Operation::Reciprocal => R::ONE / a,
        }
    }

    /// The weights of the two operands in a sum (`Add`, `Sub`) or their exponents in a product (all others).
    pub fn exponents(self) -> (f64, f64) {
        match self {
            Operation::Mul | Operation::Add => (1.0, 1.0),
            Operation::Sub | Operation::Div => (1.0, -1.0),
            Operation::Square => (2.0, 0.0),
            Operation::Root => (0.5, 0.0),
            Operation::Reciprocal => (-1.0, 0.0),
        }
    }

    /// Whether the operation is a weighted sum, rather than a product of powers.
    pub fn is_sum(self) -> bool {
        matches!(self, Operation::Add | Operation::Sub)
    }

    /// The name on command lines and in records.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Mul => "mul",
            Operation::Add => "add",
            Operation::Sub => "sub",
            Operation::Div => "div",
            Operation::Square => "square",
            Operation::Root => "root",
            Operation::Reciprocal => "reciprocal",
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Operation {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let names = Self::ALL.map(Operation::name);
        Self::ALL.into_iter().find(|op| op.name() == text).ok_or_else(|| Error::unknown("operation", text, &names))
    }
}

//! Formulas as they are computed, or as they read.

use crate::expression::Expression;

/// Weights this close to a whole number read as that.
const NEAR: f64 = 5e-3;
/// Expressions of more operations than this are nothing to compile either.
pub(crate) const MOST_WRITTEN: usize = 1 << 17;

/// What is wanted of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// The function that is computed, with the weights as they are.
    Exact,
    /// What the weights mean: weights that select and are near whole numbers read as these, and guards are left out, such as those
    /// against the logarithm of 0 and against powers beyond e^20.
    Read,
}

impl Style {
    /// A weight in this style.
    pub fn weight(self, w: f64) -> f64 {
        let whole = w.round();
        // Adding 0 turns -0 into 0.
        if self == Style::Read && (w - whole).abs() < NEAR { whole + 0.0 } else { w }
    }

    /// A small number that guards a logarithm.
    pub fn guard(self, epsilon: f64) -> f64 {
        if self == Style::Read { 0.0 } else { epsilon }
    }

    /// w1 x1 + w2 x2 + …
    pub fn sum(self, weights: &[f64], inputs: &[Expression]) -> Expression {
        Expression::sum(weights.iter().zip(inputs).map(|(&w, x)| x.clone().times(self.weight(w))))
    }
}

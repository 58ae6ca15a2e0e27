//! Where weights start, and where they lead: what several units have in common.

use super::Shape;
use crate::setting::{Kind, Setting};
use crate::{Error, Operation, Real};

/// The half-width of Xavier's uniform distribution, sqrt(6 / (inputs + outputs)).
pub fn xavier<R: Real>(shape: Shape) -> R {
    R::of((6.0 / (shape.inputs + shape.outputs) as f64).sqrt())
}

/// A weight matrix with the weights or exponents of `operation` on the first two inputs and `rest` elsewhere.
pub fn leading<R: Real>(shape: Shape, operation: Operation, rest: R) -> Vec<R> {
    let (a, b) = operation.exponents();
    let row = (0..shape.inputs).map(|i| [R::of(a), R::of(b), rest][i.min(2)]);
    std::iter::repeat_n(row, shape.outputs).flatten().collect()
}

/// The box in which the weights of a multiplication unit start.
pub const START: Setting = Setting::new("start", Kind::Pair, "0.25, 0.75", "the box in which the weights start");

/// Checks the box in which the weights of a multiplication unit start.
pub fn start_box(low: f64, high: f64) -> Result<(f64, f64), Error> {
    Error::check((0.0..=1.0).contains(&low), "lower end of the initial box", low, "in [0, 1]")?;
    Error::check((low..=1.0).contains(&high), "upper end of the initial box", high, "between the lower end and 1")?;
    Ok((low, high))
}

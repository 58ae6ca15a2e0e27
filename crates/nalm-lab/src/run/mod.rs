//! One run: what describes it completely, and what is kept of it.

pub mod curve;
pub mod history;
mod old_row;
pub mod row;
pub mod schedule;
pub mod spec;

pub use curve::Curve;
pub use row::{Row, Status};
pub use spec::Spec;

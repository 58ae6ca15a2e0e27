//! Second-order training of small networks, and what turns its result into arithmetic.

mod dense;
pub mod discretise;
pub mod jacobian;
pub mod levenberg_marquardt;

pub use discretise::discretise;
pub use jacobian::Jacobian;
pub use levenberg_marquardt::{LevenbergMarquardt, Settings, Step};

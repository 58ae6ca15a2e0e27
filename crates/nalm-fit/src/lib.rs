#![doc = include_str!("../README.md")]

mod columns;
mod constants;
mod dense;
mod engine;
mod error;
mod form;
mod functions;
mod judge;
mod noisy;
mod observer;
mod odd;
mod polish;
mod printed;
mod problem;
mod report;
mod search;
mod settle;
pub mod special;
pub mod suite;
mod units;
mod write;

pub use error::Error;
pub use observer::Observer;
pub use problem::{Forms, Holdout, Line, Problem};
pub use report::{Candidate, Coefficient, Flag, Noise, Precision, Report, Verdict};
pub use search::fit;
pub use units::Unit;

//! Experiments with images: long runs, epoch by epoch, that can be stopped at any time.

mod carry_out;
mod compare;
mod data;
mod report;
mod row;
mod spec;
mod suite;
pub(crate) mod summary;

pub(crate) use carry_out::{Safety, Watched, carry_out, checkpoint_of};
pub(crate) use data::find;
pub(crate) use report::write;
pub(crate) use row::{Drawn, ImageRow};
pub(crate) use spec::ImageSpec;
pub(crate) use suite::{ImageExperiment, Kind as ImageKind, PRESETS, check};

//! What is known about a module before it has a shape.

use super::{Dispatch, Options, Shape};
use crate::setting::Setting;
use crate::{Error, Operation, Real};

/// What is known about a module before it has a shape. All fields are public, so that a module outside this crate can have one, too, and be
/// held against [`crate::laws`].
#[derive(Clone)]
pub struct Spec<R: Real> {
    /// The name on command lines and in records.
    pub name: &'static str,
    /// The name in figures.
    pub label: &'static str,
    /// Where it was published.
    pub citation: &'static str,
    /// Its equation.
    pub formula: &'static str,
    /// Its parameters and their shapes, in the order of the flat vector.
    pub parameters: &'static str,
    /// Where its parameters are kept.
    pub allowed: &'static str,
    /// The operations that it can represent: those for which [`super::Module::gold`] is defined.
    pub claims: &'static [Operation],
    /// What can be chosen of it.
    pub options: &'static [Setting],
    /// Whether it is differentiable where an input is 0.
    pub smooth_at_zero: bool,
    /// The largest relative error of the gold parameters in `f32`; 0 where they are exact.
    pub gold_error: f64,
    /// Whether the gold parameters are right for positive inputs only.
    pub gold_positive: bool,
    /// Makes a module.
    pub build: Build<R>,
}

impl<R: Real> Spec<R> {
    /// A module without options that claims nothing and is smooth everywhere; other fields are set with `..`.
    pub const fn new(name: &'static str, label: &'static str, formula: &'static str, build: Build<R>) -> Self {
        Self {
            name,
            label,
            citation: "unpublished",
            formula,
            parameters: "not described",
            allowed: "unbounded",
            claims: &[],
            options: &[],
            smooth_at_zero: true,
            gold_error: 0.0,
            gold_positive: false,
            build,
        }
    }
}

/// Makes a module of a shape.
pub type Build<R> = fn(Shape, &Options) -> Result<Box<dyn Dispatch<R>>, Error>;

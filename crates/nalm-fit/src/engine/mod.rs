//! The engines, from the cheapest to the dearest: one file each, behind one trait. A new engine is a file and a line in [`all`].

mod dictionary;
pub(crate) mod divide;
mod grow;
mod implicit;
pub(crate) mod library;
mod logarithms;
pub(crate) mod noisy;
mod polynomial;
mod powers;
mod quadratic;
mod roots;
mod sparse;
mod stack;
mod sums;

pub(crate) use self::dictionary::{design, laurent_and_pairs};
use self::divide::Divide;
use self::grow::Grow;
use self::implicit::Implicit;
use self::logarithms::Logarithms;
pub(crate) use self::logarithms::{Basis, quadratic};
use self::polynomial::Polynomial;
use self::powers::Powers;
use self::quadratic::Quadratic;
use self::roots::Roots;
use self::sparse::Sparse;
use self::stack::Stack;
use self::sums::Sums;
use crate::columns::View;
use crate::form::Form;
use std::ops::ControlFlow;

/// Where engines put what they find.
pub(crate) trait Sink {
    /// A form over the view's columns, and its root mean square error relative to the target. Breaks when the search is over.
    fn offer(&mut self, form: Form, rms: f64) -> ControlFlow<()>;

    /// Operations that were done. Breaks when somebody wants the search to stop.
    fn spend(&mut self, operations: f64) -> ControlFlow<()>;
}

/// A way to look for formulas.
pub(crate) trait Engine {
    /// What candidates say they come from.
    fn name(&self) -> &'static str;

    /// Looks for formulas of its kind.
    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()>;
}

/// All engines in the order in which they are asked.
pub(crate) fn all() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(Powers),
        Box::new(Grow),
        Box::new(Polynomial),
        Box::new(Logarithms { shapes: &[&[0]], starts: 40 }),
        Box::new(Divide::Relations),
        Box::new(Implicit),
        Box::new(Sums(&[2])),
        Box::new(Sparse),
        Box::new(Divide::Sparse),
        Box::new(Stack),
        Box::new(Roots),
        Box::new(Quadratic),
        Box::new(Logarithms { shapes: &[&[0, 0], &[0, 1], &[0, 0, 0], &[0, 0, 1]], starts: 40 }),
        Box::new(Sums(&[3, 4])),
    ]
}

/// The cheapest engines, for many tries; with sums in logarithms or without.
pub(crate) fn light(logarithms: bool) -> Vec<Box<dyn Engine>> {
    let mut list: Vec<Box<dyn Engine>> = vec![Box::new(Powers), Box::new(Light::Polynomial), Box::new(Light::Implicit)];
    if logarithms {
        list.push(Box::new(Logarithms { shapes: &[&[0]], starts: 10 }));
    }
    list
}

/// A product of powers alone.
pub(crate) fn product() -> Vec<Box<dyn Engine>> {
    vec![Box::new(Powers)]
}

/// What is tried after those.
pub(crate) fn deep() -> Vec<Box<dyn Engine>> {
    vec![Box::new(Light::Roots), Box::new(Divide::Relations), Box::new(Light::Sparse)]
}

/// Engines with smaller dictionaries.
enum Light {
    Polynomial,
    Implicit,
    Roots,
    Sparse,
}

impl Engine for Light {
    fn name(&self) -> &'static str {
        "functions"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        match self {
            Light::Polynomial => polynomial::search(view, &[1, -1, 2, -2], 80, 4, sink),
            Light::Implicit => implicit::search(view, 100, sink),
            Light::Roots => roots::polynomials(view, sink),
            Light::Sparse => sparse::search(view, &[1, -1], &sparse::Settings::SMALL, sink),
        }
    }
}

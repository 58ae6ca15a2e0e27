//! The engines, from the cheapest to the dearest: one file each, behind one trait. A new engine is a file and a line in [`all`].

mod powers;

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
    vec![Box::new(powers::Powers)]
}

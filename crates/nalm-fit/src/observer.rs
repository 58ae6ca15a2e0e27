//! Progress out of a search, and the wish to stop into it.

use std::ops::ControlFlow;

/// Watches a search; may stop it at any call. What was found until then is reported.
pub trait Observer {
    /// An engine starts. It is number `done`, counted from 0, of `all`; some in between may be left out.
    fn engine(&mut self, _name: &'static str, _done: usize, _all: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called every few milliseconds of work.
    fn working(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Watches nothing.
impl Observer for () {}

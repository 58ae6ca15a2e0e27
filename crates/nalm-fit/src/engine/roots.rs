//! Square roots of columns: the other engines over √x.

use super::{Engine, Sink, implicit, polynomial, sparse};
use crate::columns::View;
use crate::form::Form;
use std::ops::ControlFlow;

pub(crate) struct Roots;

impl Engine for Roots {
    fn name(&self) -> &'static str {
        "roots"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        let positive: Vec<usize> = (0..view.columns()).filter(|&i| view.x[i].iter().all(|x| *x > 0.0)).collect();
        // With many columns one after another would take for ever; all of them at once is one try.
        let mut sets: Vec<Vec<usize>> = positive.iter().filter(|_| positive.len() <= 12).map(|i| vec![*i]).collect();
        if positive.len() != 1 {
            sets.push(positive);
        }
        for set in sets.iter().filter(|set| !set.is_empty()) {
            let mut rooted = view.clone();
            for &i in set {
                rooted.x[i].iter_mut().for_each(|x| *x = x.sqrt());
            }
            let mut sink = Halved { set, sink };
            polynomial::search(&rooted, &[1, -1, 2, -2], 190, 6, &mut sink)?;
            implicit::search(&rooted, 190, &mut sink)?;
            sparse::search(&rooted, &[1, -1], &sparse::Settings::SMALL, &mut sink)?;
        }
        ControlFlow::Continue(())
    }
}

/// Polynomials of the roots of all columns that have one.
pub(super) fn polynomials(view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
    let set: Vec<usize> = (0..view.columns()).filter(|&i| view.x[i].iter().all(|x| *x > 0.0)).collect();
    let mut rooted = view.clone();
    for &i in &set {
        rooted.x[i].iter_mut().for_each(|x| *x = x.sqrt());
    }
    polynomial::search(&rooted, &[1], 80, 4, &mut Halved { set: &set, sink })
}

/// Halves the exponents of some columns.
struct Halved<'a> {
    set: &'a [usize],
    sink: &'a mut dyn Sink,
}

impl Sink for Halved<'_> {
    fn offer(&mut self, mut form: Form, rms: f64) -> ControlFlow<()> {
        form.map_powers(&mut |i, e| if self.set.contains(&i) { e / 2.0 } else { e });
        self.sink.offer(form, rms)
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        self.sink.spend(operations)
    }
}

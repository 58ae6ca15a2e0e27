//! How long runs stay unsolved: a run that never solves is watched for all of its steps.

use super::Results;
use crate::experiment::Group;
use crate::run::Row;
use crate::stats::kaplan_meier::Run;

/// When a run is solved, or until when it is watched; nothing where it does not say for how many steps it went.
pub fn of_row(row: &Row) -> Option<Run> {
    let solved = row.solved_at();
    let at = solved.or(row.spec.whole("steps").map(|steps| steps as f64))?;
    Some(Run { at, solved: solved.is_some() })
}

impl Results<'_> {
    /// The runs of a group so.
    pub fn survival(&self, group: &Group) -> Vec<Run> {
        self.of(group).into_iter().filter_map(of_row).collect()
    }
}

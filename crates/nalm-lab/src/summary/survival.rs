//! How long runs stay unsolved: a run that never solves is watched for all of its steps.

use super::Results;
use crate::experiment::Group;
use crate::run::Row;
use crate::stats::kaplan_meier::Run;

/// When a run is solved, or until when it is watched; nothing where it does not say for how many steps it went.
pub fn of_row(row: &Row) -> Option<Run> {
    // Both kinds, or only those that are solved would be left.
    let steps = row.spec.whole("steps")?;
    let solved = row.solved_at();
    Some(Run { at: solved.unwrap_or(steps as f64), solved: solved.is_some() })
}

impl Results<'_> {
    /// The runs of a group so.
    pub fn survival(&self, group: &Group) -> Vec<Run> {
        self.of(group).into_iter().filter_map(of_row).collect()
    }
}

//! Cells over the seeds that all models of a place have: where one model has more runs than the others, it would otherwise look better or
//! worse by the seeds alone.

use super::{Cell, Results};
use crate::experiment::Group;
use crate::run::Row;
use std::collections::BTreeSet;

impl<'a> Results<'a> {
    /// The cells of a section over common seeds; over all seeds at a place where there are no common ones.
    pub fn common_cells(&self, section: usize) -> Vec<Cell> {
        let groups = self.experiment.groups.iter().filter(|g| g.section == section && self.experiment.is_sampled(g));
        groups.filter_map(|group| self.summary(group, self.common_rows(group))).collect()
    }

    /// The rows of a group whose seeds all models of its place have that have any; all where there are no such seeds.
    pub fn common_rows(&self, group: &Group) -> Vec<&'a Row> {
        let beside = |g: &&Group| g.section == group.section && g.place == group.place && self.experiment.is_sampled(g);
        let seeds = |group: &Group| self.of(group).iter().map(|row| row.spec.seed()).collect::<BTreeSet<u64>>();
        let all = self.experiment.groups.iter().filter(beside).map(seeds);
        let common = all.filter(|seeds| !seeds.is_empty()).reduce(|a, b| &a & &b).unwrap_or_default();
        let counts = |row: &&Row| common.is_empty() || common.contains(&row.spec.seed());
        self.of(group).into_iter().filter(counts).collect()
    }
}

//! Cells over the seeds that all models of a place have: where one model has more runs than the others, it would otherwise look better or
//! worse by the seeds alone.

use super::{Cell, Results};
use crate::experiment::Group;
use std::collections::BTreeSet;

impl Results<'_> {
    /// The cells of a section over common seeds; over all seeds at a place where there are no common ones.
    pub fn common_cells(&self, section: usize) -> Vec<Cell> {
        let groups = self.experiment.groups.iter().filter(|g| g.section == section && self.experiment.is_sampled(g));
        let seeds = |group: &Group| self.of(group).iter().map(|row| row.spec.seed()).collect::<BTreeSet<u64>>();
        let common = |place: &str| {
            let all = groups.clone().filter(|group| group.place == place).map(seeds);
            all.filter(|seeds| !seeds.is_empty()).reduce(|a, b| &a & &b).unwrap_or_default()
        };
        let cell = |group: &Group| {
            let (rows, common) = (self.of(group), common(&group.place));
            self.summary(group, rows.into_iter().filter(|r| common.is_empty() || common.contains(&r.spec.seed())))
        };
        groups.clone().filter_map(cell).collect()
    }
}

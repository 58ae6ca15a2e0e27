//! Rows in memory, and who made them.

use super::Session;
use crate::run::Row;
use std::collections::BTreeMap;

/// Rows of a store.
#[derive(Debug, Default)]
pub struct Contents {
    /// One row per run that was carried out.
    pub rows: BTreeMap<String, Row>,
    /// Runs that could not be carried out: they are missing, and the next command tries them again.
    pub failed: BTreeMap<String, Row>,
    /// The processes that wrote the store.
    pub sessions: Vec<Session>,
    /// Which of these wrote a row.
    pub session_of: BTreeMap<String, usize>,
}

impl Contents {
    /// Takes the row of a run that has just ended.
    pub fn insert(&mut self, row: Row) {
        let into = if row.is_failed() { &mut self.failed } else { &mut self.rows };
        into.insert(row.id.clone(), row);
    }
}

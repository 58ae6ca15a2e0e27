//! How long runs will take, by what rows of the same tasks took.

use crate::error::Result;
use crate::pool;
use crate::run::Spec;
use crate::store::{Entry, Index};
use crate::task::Catalogue;
use std::collections::{BTreeMap, HashMap};

/// Rows of one process that are looked at; more say the same.
const SAMPLE: usize = 200;

/// How long runs take on one core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// All of them, in seconds of one core.
    pub seconds: f64,
    /// The longest of those that cannot be saved on their way.
    pub longest: f64,
    /// How many rows this was learned from; with none, it is what tasks say of themselves.
    pub rows: usize,
}

/// How long some runs take. What tasks say about themselves is corrected, task by task, by the processor time of processes that wrote rows.
pub fn estimate(catalogue: &Catalogue, index: &Index, runs: &[Spec]) -> Result<Estimate> {
    let mut by_session: HashMap<usize, Vec<&Entry>> = HashMap::new();
    let timed = |entry: &&Entry| index.sessions[entry.session()].cpu_seconds.is_some();
    index.entries().iter().filter(timed).for_each(|entry| by_session.entry(entry.session()).or_default().push(entry));
    let mut sessions: Vec<_> = by_session.into_iter().collect();
    sessions.sort_by_key(|(session, _)| *session);
    // By task: processor time, what was expected of it, and rows.
    let mut known: BTreeMap<String, (f64, f64, usize)> = BTreeMap::new();
    for (session, entries) in sessions {
        let mut expected: BTreeMap<String, (f64, usize)> = BTreeMap::new();
        for entry in entries.iter().step_by(entries.len().div_ceil(SAMPLE)) {
            let spec = index.row(entry)?.spec;
            let (cost, rows) = expected.entry(spec.task().into()).or_default();
            *cost += pool::cost(catalogue, std::slice::from_ref(&spec));
            *rows += 1;
        }
        let scale = entries.len() as f64 / expected.values().map(|(_, rows)| *rows).sum::<usize>() as f64;
        let all = scale * expected.values().map(|(cost, _)| cost).sum::<f64>();
        let spent = index.sessions[session].cpu_seconds.unwrap_or_default();
        if all <= 0.0 || spent <= 0.0 {
            continue;
        }
        for (task, (cost, rows)) in expected {
            let sum = known.entry(task).or_default();
            sum.0 += spent * scale * cost / all;
            sum.1 += scale * cost;
            sum.2 += (scale * rows as f64).round() as usize;
        }
    }
    let mut estimate = Estimate::default();
    let mut asked: BTreeMap<&str, Vec<&Spec>> = BTreeMap::new();
    runs.iter().for_each(|run| asked.entry(run.task()).or_default().push(run));
    for (name, runs) in asked {
        let task = catalogue.task(name)?;
        let (spent, expected, rows) = known.get(name).copied().unwrap_or((1.0, 1.0, 0));
        let costs = runs.iter().map(|run| task.cost(run) * spent / expected);
        estimate.seconds += costs.clone().sum::<f64>();
        if !task.is_long() {
            estimate.longest = costs.fold(estimate.longest, f64::max);
        }
        estimate.rows += rows;
    }
    Ok(estimate)
}

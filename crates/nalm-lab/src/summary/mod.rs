//! Many rows into a few numbers with intervals, and published statements beside them.

mod against;
mod common;
mod compare;
#[cfg(feature = "images")]
pub mod histories;
pub mod landscape;
pub mod metric;
pub mod noise_bound;
#[cfg(feature = "images")]
pub mod sequences;
pub mod spectrum;
pub mod surface;
pub mod survival;
pub mod verdict;

pub use against::Against;
pub use compare::{Comparison, rate_in_words};
pub use metric::{Metric, Over};
pub use verdict::Verdict;

use crate::experiment::{Experiment, Group, Section};
use crate::run::{Row, Spec, Status};
use crate::stats::Estimate;
use crate::stats::paired::{self, Judged, Paired};
use crate::store::Contents;
use crate::task::{Catalogue, Measures};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of an experiment, in the order of its runs. Identities are hashes, so they are looked up once.
pub struct Results<'a> {
    /// Modules and tasks, for what has to be computed from weights.
    pub catalogue: &'a Catalogue,
    /// What is summarised.
    pub metrics: &'a [Metric],
    /// Whose rows these are.
    pub experiment: &'a Experiment,
    /// The rows that are there, of this and of other experiments, and who made them.
    pub contents: &'a Contents,
    /// One for each run, if it is there.
    pub rows: Vec<Option<&'a Row>>,
    /// One for each group that has rows and is no grid of starting weights, whose runs are no sample of anything.
    pub cells: Vec<Cell>,
}

/// One model at one place.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its section.
    pub section: usize,
    /// Its model.
    pub model: usize,
    /// The model's label.
    pub label: String,
    /// The label of the range, or of what is varied instead.
    pub place: String,
    /// Runs that count.
    pub n: usize,
    /// Those that are solved.
    pub solved: usize,
    /// Those that diverged.
    pub diverged: usize,
    estimates: Vec<(&'static str, Estimate)>,
}

impl Cell {
    /// The estimate of a metric.
    pub fn get(&self, metric: &str) -> Estimate {
        self.estimates.iter().find(|(name, _)| *name == metric).map_or(Estimate::NONE, |(_, estimate)| *estimate)
    }
}

impl<'a> Results<'a> {
    /// Looks up the rows of an experiment. Those of a task are of one version of the numerics: the one that most of its runs have, and of several such
    /// versions the latest.
    pub fn new(
        catalogue: &'a Catalogue,
        metrics: &'a [Metric],
        experiment: &'a Experiment,
        contents: &'a Contents,
    ) -> Self {
        // All that there is of a run, the latest version first.
        let found = |run: &Spec| -> Vec<&'a Row> {
            let versions = std::iter::once(run.clone()).chain(catalogue.with_earlier_numerics(run));
            versions.filter_map(|run| contents.rows.get(&run.id())).collect()
        };
        let found: Vec<Vec<&Row>> = experiment.runs.iter().map(found).collect();
        let mut counts: BTreeMap<&str, BTreeMap<u64, usize>> = BTreeMap::new();
        for (run, rows) in experiment.runs.iter().zip(&found) {
            let counts = counts.entry(run.task()).or_default();
            rows.iter().for_each(|row| *counts.entry(row.spec.numerics()).or_default() += 1);
        }
        let of_most =
            |run: &Spec| counts[run.task()].iter().max_by_key(|(_, count)| **count).map(|(version, _)| *version);
        let chosen = |(run, rows): (&Spec, Vec<&'a Row>)| {
            let version = of_most(run)?;
            rows.into_iter().find(|row| row.spec.numerics() == version)
        };
        let rows = experiment.runs.iter().zip(found).map(chosen).collect();
        let mut results = Self { catalogue, metrics, experiment, contents, rows, cells: Vec::new() };
        let sampled = experiment.groups.iter().filter(|group| experiment.is_sampled(group));
        results.cells = sampled.filter_map(|group| results.summary(group, results.of(group))).collect();
        results
    }

    /// The rows of a group that count. Runs with images that could not be carried out have no accuracies to speak of.
    pub fn of(&self, group: &Group) -> Vec<&'a Row> {
        let numbers = self.experiment.sections[group.section].measures == Measures::Runs;
        let counts = |row: &&Row| numbers || row.status != Status::Failed;
        self.rows[group.runs.clone()].iter().copied().flatten().filter(counts).collect()
    }

    /// Whether the model of a run has weights that read as arithmetic; stacks have.
    fn is_sparse(&self, row: Option<&&Row>) -> bool {
        let Some(Ok(module)) = row.map(|row| self.catalogue.module(row.spec.module())) else { return true };
        let built = nalm::Shape::new(2, 1).and_then(|shape| (module.single.build)(shape, &nalm::Options::default()));
        built.is_ok_and(|unit| unit.sparsity_error(&vec![0.0; unit.param_len()]).is_some())
    }

    /// The cell of a group over some of its rows, if there are any.
    fn summary(&self, group: &Group, rows: impl IntoIterator<Item = &'a Row>) -> Option<Cell> {
        let found: Vec<&Row> = rows.into_iter().collect();
        let has = |metric: &&Metric| metric.name != "sparsity_error" || self.is_sparse(found.first());
        let metrics = self.metrics.iter().filter(has);
        let estimates = metrics.map(|metric| (metric.name, metric.estimate(found.iter().copied())));
        (!found.is_empty()).then(|| Cell {
            section: group.section,
            model: group.model,
            label: self.experiment.models[group.model].clone(),
            place: group.place.clone(),
            n: found.len(),
            solved: found.iter().filter(|row| row.is_solved()).count(),
            diverged: found.iter().filter(|row| row.has_diverged()).count(),
            estimates: estimates.collect(),
        })
    }

    /// The cell of a model at a place.
    pub fn cell(&self, section: usize, model: usize, place: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.section == section && c.model == model && c.place == place)
    }

    /// The group of a model at a place.
    pub fn group(&self, section: usize, model: usize, place: &str) -> Option<&'a Group> {
        self.experiment.groups.iter().find(|g| g.section == section && g.model == model && g.place == place)
    }

    /// The groups of a model in a section, at one place or at all.
    pub fn groups(&self, section: usize, model: usize, place: Option<&str>) -> impl Iterator<Item = &'a Group> {
        let here = move |g: &&Group| g.section == section && g.model == model && place.is_none_or(|at| g.place == at);
        self.experiment.groups.iter().filter(here)
    }

    /// Two models of a section over the seeds that both have, at one place or at all, where it takes seeds that all places have; nothing if
    /// there are none.
    pub fn paired(&self, section: usize, model: usize, other: usize, place: Option<&str>) -> Option<Paired> {
        let judged = |row: &Row| Judged { solved: row.is_solved(), solved_at: row.solved_at() };
        let mut pairs = Vec::new();
        let mut common: Option<BTreeSet<u64>> = None;
        for group in self.groups(section, model, place) {
            let Some(other) = self.group(section, other, &group.place) else { continue };
            let seeds: BTreeSet<u64> = self.twins(group, other).map(|(row, _)| row.spec.seed()).collect();
            common = Some(common.map_or_else(|| seeds.clone(), |common| &common & &seeds));
            pairs.extend(self.twins(group, other).map(|(a, b)| (a.spec.seed(), judged(a), judged(b))));
        }
        pairs.retain(|(seed, ..)| common.as_ref().is_some_and(|common| common.contains(seed)));
        (!pairs.is_empty()).then(|| paired::compare(&pairs))
    }

    /// The rows of two groups that have a partner in the other one.
    pub fn twins(&self, group: &Group, other: &Group) -> impl Iterator<Item = (&'a Row, &'a Row)> {
        let rows = self.rows[group.runs.clone()].iter().zip(&self.rows[other.runs.clone()]);
        rows.filter_map(|(a, b)| Some(((*a)?, (*b)?))).filter(|(a, b)| a.is_twin_of(b))
    }

    /// How many of its rows are of each version of the numerics.
    pub fn rows_by_numerics(&self) -> BTreeMap<u64, usize> {
        let mut counts = BTreeMap::new();
        let rows = self.experiment.distinct().into_iter().filter_map(|k| self.rows[k]);
        rows.for_each(|row| *counts.entry(row.spec.numerics()).or_default() += 1);
        counts
    }

    /// How many of its rows are of an earlier version of the numerics.
    pub fn rows_of_earlier_numerics(&self) -> usize {
        let is_earlier =
            |k: &usize| self.rows[*k].is_some_and(|row| row.spec.numerics() != self.experiment.runs[*k].numerics());
        self.experiment.distinct().into_iter().filter(is_earlier).count()
    }

    /// How many rows of the experiment there are, each once.
    pub fn found(&self) -> usize {
        self.experiment.distinct().into_iter().filter(|k| self.rows[*k].is_some()).count()
    }
}

/// What follows a title in one of several sections.
pub fn of_section(section: &Section) -> String {
    if section.name.is_empty() { String::new() } else { format!(": {}", section.name) }
}

/// An estimate as text.
pub fn show(e: Estimate, f: impl Fn(f64) -> String) -> String {
    match (e.mean, e.lower, e.upper) {
        // Values that are all alike leave no spread to make an interval of, whatever else could have come.
        (Some(mean), Some(lower), Some(upper)) if lower < upper => format!("{} [{}, {}]", f(mean), f(lower), f(upper)),
        (Some(mean), ..) => f(mean),
        _ => "–".into(),
    }
}

//! The runs of an experiment with images, model by model, with what was measured on their way.

use super::Results;
use crate::run::Row;
use crate::stats::{Estimate, student};
use crate::task::Measures;
use nalm_vision::{History, product, sequential};
use std::collections::BTreeMap;

/// The runs of one model.
pub struct Model<'a> {
    /// Its label, and its place along a sweep.
    pub label: String,
    /// The place alone; empty if nothing is swept.
    pub place: &'a str,
    /// Its place in the file, by which figures choose colours.
    pub index: usize,
    /// Its rows, in the order of the seeds.
    pub rows: Vec<&'a Row>,
    histories: Vec<Run>,
}

struct Run {
    seed: u64,
    numerics: u64,
    history: History,
}

/// A seed, and the weights of its run with the epochs at which they were measured.
pub type Way<'a> = (u64, Vec<(u64, &'a [f32])>);

/// The models of a section that have rows, at each of its places.
pub fn models<'a>(results: &Results<'a>, section: usize) -> Vec<Model<'a>> {
    let groups = results.experiment.groups.iter().filter(|group| group.section == section);
    let models = groups.map(|group| {
        let name = &results.experiment.models[group.model];
        let label = if group.place.is_empty() { name.clone() } else { format!("{name}, {}", group.place) };
        Model::new(label, &group.place, group.model, results.of(group))
    });
    models.filter(|model| !model.rows.is_empty()).collect()
}

/// Whether digits are judged by strict equality, too.
pub fn is_strict(results: &Results<'_>) -> bool {
    results.experiment.sections.first().is_some_and(|section| section.measures == Measures::Products { strict: true })
}

/// The rules by which digits are judged. Strict equality alone misleads.
pub fn rules(results: &Results<'_>) -> &'static [&'static str] {
    if is_strict(results) { &["strict", "rounded"] } else { &["rounded"] }
}

impl<'a> Model<'a> {
    /// A model and its rows.
    pub fn new(label: String, place: &'a str, index: usize, rows: Vec<&'a Row>) -> Self {
        let history = |row: &&Row| {
            let value = row.series.get("history")?.clone();
            let (seed, numerics) = (row.spec.seed(), row.spec.numerics());
            Some(Run { seed, numerics, history: serde_json::from_value(value).ok()? })
        };
        let histories = rows.iter().filter_map(history).collect();
        Self { label, place, index, rows, histories }
    }

    /// The measurements of each run of a static task, with its seed.
    pub fn products(&self) -> Vec<(u64, &[product::Measurement])> {
        let all = self.histories.iter().map(|run| (run.seed, run.history.products()));
        all.filter(|(_, measured)| !measured.is_empty()).collect()
    }

    /// The measurements of each run of the sequential task, with its seed.
    pub fn sequences(&self) -> Vec<(u64, &[sequential::Measurement])> {
        self.sequences_by_numerics().into_values().flatten().collect()
    }

    /// The same by the version of the numerics.
    pub fn sequences_by_numerics(&self) -> BTreeMap<u64, Vec<(u64, &[sequential::Measurement])>> {
        let mut all: BTreeMap<u64, Vec<(u64, &[sequential::Measurement])>> = BTreeMap::new();
        for Run { seed, numerics, history } in self.histories.iter().filter(|run| !run.history.sequences().is_empty()) {
            all.entry(*numerics).or_default().push((*seed, history.sequences()));
        }
        all
    }

    /// The values of a metric.
    pub fn values(&self, metric: &str) -> Vec<f64> {
        self.rows.iter().filter_map(|row| row.number(metric)).collect()
    }

    /// The mean of a metric that is a share, with Student's interval.
    pub fn share(&self, metric: &str) -> Estimate {
        student::share(&self.values(metric))
    }

    /// Whether its cell multiplies by construction.
    pub fn is_reference(&self) -> bool {
        self.rows.iter().all(|row| row.spec.module() == "mul")
    }

    /// The ways of the head's weights in each run.
    pub fn weights(&self) -> Vec<Way<'_>> {
        let ways = self.histories.iter().map(|Run { seed, history, .. }| match history {
            History::Product(all) => (*seed, all.iter().map(|at| (at.epoch, at.weights.as_slice())).collect()),
            History::Sequence(all) => (*seed, all.iter().map(|at| (at.epoch, at.weights.as_slice())).collect()),
        });
        ways.collect()
    }

    /// The weights of the head at the end of the first few runs.
    pub fn last_weights(&self, most: usize) -> Vec<String> {
        let text = |weights: &[f32]| weights.iter().map(|w| format!("{w:.3}")).collect::<Vec<_>>().join(" ");
        self.weights().iter().filter_map(|(_, way)| Some(text(way.last()?.1))).take(most).collect()
    }
}

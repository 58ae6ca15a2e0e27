//! Experiments are data: a TOML file as written, and the same thing checked and complete.

pub mod built_in;
mod check;
mod expectation;
mod overrides;
mod places;
pub mod reading;
pub(crate) mod seeds;
mod set;
pub mod statements;
mod written;

pub use built_in::load;
pub use check::check;
pub use expectation::{Expectation, Relation};
pub use overrides::Overrides;
pub use seeds::Seeds;

use crate::run::Spec;
use crate::task::{Catalogue, Measures};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

/// The names that experiments may use besides those of modules and tasks.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Kinds of figures.
    pub figures: Vec<&'static str>,
    /// Metrics that statements can be about.
    pub metrics: Vec<&'static str>,
    /// Those of them that lie between 0 and 1.
    pub rates: Vec<&'static str>,
}

/// An experiment, checked and complete.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// The name of its file.
    pub name: String,
    /// What the page is called.
    pub title: String,
    /// What the page says.
    pub analysis: String,
    /// How much of it is run.
    pub preset: String,
    /// What this is a reduction to, in words; empty if nothing is said.
    pub scale: String,
    /// The command that makes it.
    pub command: String,
    /// Kinds of figures, by name.
    pub figures: Vec<String>,
    /// Its parts.
    pub sections: Vec<Section>,
    /// Labels of the models, in the order of the file.
    pub models: Vec<String>,
    /// All runs.
    pub runs: Vec<Spec>,
    /// Section after section, model after model, place after place.
    pub groups: Vec<Group>,
    /// What was published about it.
    pub expectations: Vec<Expectation>,
    /// Models that the others are compared with, seed by seed.
    pub baselines: Vec<usize>,
    /// What the command line changed, and of which models.
    pub notes: Vec<String>,
    /// Whether it comes with the laboratory and is not somebody's file.
    pub built_in: bool,
    /// Tables that its runs are made from.
    pub inputs: Vec<PathBuf>,
}

/// A part of an experiment with one problem.
#[derive(Clone, Debug)]
pub struct Section {
    /// Empty if the experiment has only one.
    pub name: String,
    /// Its task.
    pub task: String,
    /// What the task's rows hold.
    pub measures: Measures,
    /// Labels of the ranges, or of what is varied instead.
    pub places: Vec<String>,
    /// Starting weights along each side of the unit square, where runs differ by these and not by seed.
    pub grid: Option<usize>,
    /// What takes the place of the ranges, where something else is varied.
    pub axis: Option<String>,
    /// What a place is, for the head of a column: a range, or the settings that are varied.
    pub varied: String,
}

/// The runs of one model at one place: those that differ by seed only.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its section.
    pub section: usize,
    /// Its model.
    pub model: usize,
    /// The label of the range, or of what is varied instead.
    pub place: String,
    /// What is varied there, each by its label; nothing for what the model does not have or says itself.
    pub parts: Vec<Option<String>>,
    /// Places in [`Experiment::runs`].
    pub runs: Range<usize>,
    /// How many parameters the network's last layer has.
    pub last_layer: usize,
}

impl Experiment {
    /// The identities of its runs.
    pub fn ids(&self) -> Vec<String> {
        self.runs.iter().map(Spec::id).collect()
    }

    /// The identities of its runs, and of the same runs with earlier versions of the numerics whose rows will do.
    pub fn ids_of_all_versions(&self, catalogue: &Catalogue) -> Vec<String> {
        let earlier = |run: &Spec| catalogue.with_earlier_numerics(run).iter().map(Spec::id).collect::<Vec<_>>();
        self.runs.iter().flat_map(|run| std::iter::once(run.id()).chain(earlier(run))).collect()
    }

    /// The groups of the same model with the same runs: places that differ in what it does not have.
    fn same<'e>(&'e self, group: &'e Group) -> impl Iterator<Item = &'e Group> + Clone {
        let of_model = |g: &&Group| g.section == group.section && g.model == group.model;
        self.groups.iter().filter(of_model).filter(|g| self.runs[g.runs.clone()] == self.runs[group.runs.clone()])
    }

    /// How a group's place is called where it counts once: what is varied, without what its model does not have, whose runs are the same at
    /// several places. Nothing for all but the first of these.
    pub fn standing(&self, group: &Group) -> Option<String> {
        let first = self.sections[group.section].axis.is_none() || self.same(group).next()?.place == group.place;
        first.then(|| self.shared([group]))
    }

    /// How a place is called for several models at it: what is varied, without what none of them has.
    pub fn shared<const N: usize>(&self, groups: [&Group; N]) -> String {
        let Some(first) = groups.first() else { return String::new() };
        let part = |k: usize| {
            let of = |group: &&Group| {
                let own = group.parts.get(k)?.clone()?;
                // A value that makes no difference is none that tells places apart.
                self.same(group)
                    .all(|other| other.parts.get(k).is_some_and(|o| o.as_ref() == Some(&own)))
                    .then_some(own)
            };
            groups.iter().find_map(of)
        };
        let parts: Vec<Option<String>> = (0..first.parts.len()).map(part).collect();
        joined(&parts).unwrap_or_else(|| first.place.clone())
    }

    /// The groups without those that repeat the runs of another one.
    pub fn standing_groups(&self) -> impl Iterator<Item = &Group> + Clone {
        self.groups.iter().filter(|group| self.standing(group).is_some())
    }

    /// Places in [`Experiment::runs`] of different runs: models may share some, as they are where one says what is varied for another.
    pub fn distinct(&self) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        (0..self.runs.len()).filter(|&k| seen.insert(self.runs[k].id())).collect()
    }

    /// How many runs there are, each once.
    pub fn planned(&self) -> usize {
        // Most runs of a group differ in their seeds alone. Then one identity will do for all: they take long where plans are large.
        let (identity, mut seeds) = (|run: &Spec| run.with("seed", 0).id(), BTreeMap::<String, BTreeSet<u64>>::new());
        for group in &self.groups {
            let runs = &self.runs[group.runs.clone()];
            let Some(first) = runs.first() else { continue };
            let (alike, others): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.differs_in_seed(first));
            seeds.entry(identity(first)).or_default().extend(alike.into_iter().map(Spec::seed));
            others.into_iter().for_each(|run| _ = seeds.entry(identity(run)).or_default().insert(run.seed()));
        }
        seeds.values().map(BTreeSet::len).sum()
    }

    /// Whether the runs of a group are a sample by seed, and not a grid of starting weights.
    pub fn is_sampled(&self, group: &Group) -> bool {
        self.sections[group.section].grid.is_none()
    }
}

/// What is varied at a place, for show; nothing where nothing is.
fn joined(parts: &[Option<String>]) -> Option<String> {
    let kept: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    let text = if kept.is_empty() { "–".into() } else { kept.join(", ") };
    (!parts.is_empty()).then_some(text)
}

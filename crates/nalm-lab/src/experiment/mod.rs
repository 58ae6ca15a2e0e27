//! Experiments are data: a TOML file as written, and the same thing checked and complete.

pub mod built_in;
mod check;
mod expectation;
mod overrides;
mod places;
pub mod reading;
mod set;
pub mod statements;
mod written;

pub use built_in::load;
pub use check::check;
pub use expectation::{Expectation, Relation};
pub use overrides::Overrides;

use crate::run::Spec;
use crate::task::{Catalogue, Measures};
use std::ops::Range;

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
    /// Places in [`Experiment::runs`].
    pub runs: Range<usize>,
    /// How many parameters the network's last layer has.
    pub last_layer: usize,
}

impl Experiment {
    /// Whether it comes with the laboratory and is not somebody's file.
    pub fn is_built_in(&self) -> bool {
        built_in::is(&self.name) && !self.command.contains(".toml")
    }

    /// The identities of its runs.
    pub fn ids(&self) -> Vec<String> {
        self.runs.iter().map(Spec::id).collect()
    }

    /// The identities of its runs, and of the same runs with earlier versions of the numerics whose rows will do.
    pub fn ids_of_all_versions(&self, catalogue: &Catalogue) -> Vec<String> {
        let earlier = |run: &Spec| catalogue.with_earlier_numerics(run).iter().map(Spec::id).collect::<Vec<_>>();
        self.runs.iter().flat_map(|run| std::iter::once(run.id()).chain(earlier(run))).collect()
    }

    /// How a group's place is called where it counts once: what is varied, without what its model does not have, whose runs are the same at
    /// several places. Nothing for all but the first of these.
    pub fn standing(&self, group: &Group) -> Option<String> {
        if self.sections[group.section].axis.is_none() {
            return Some(group.place.clone());
        }
        let runs = |group: &Group| &self.runs[group.runs.clone()];
        let of_model = |g: &&Group| g.section == group.section && g.model == group.model;
        let same: Vec<&Group> =
            self.groups.iter().filter(of_model).filter(|other| runs(other) == runs(group)).collect();
        if same.first()?.place != group.place {
            return None;
        }
        let common = |part: &&str| same.iter().all(|other| other.place.split(", ").any(|own| own == *part));
        let kept: Vec<&str> = group.place.split(", ").filter(common).collect();
        Some(if kept.is_empty() && !group.place.is_empty() { "–".into() } else { kept.join(", ") })
    }

    /// The groups without those that repeat the runs of another one.
    pub fn standing_groups(&self) -> impl Iterator<Item = &Group> + Clone {
        self.groups.iter().filter(|group| self.standing(group).is_some())
    }

    /// How many runs there are, each once.
    pub fn planned(&self) -> usize {
        self.standing_groups().map(|group| group.runs.len()).sum()
    }

    /// Whether the runs of a group are a sample by seed, and not a grid of starting weights.
    pub fn is_sampled(&self, group: &Group) -> bool {
        self.sections[group.section].grid.is_none()
    }
}

//! What can be run, one entry each: tasks with numbers, a table of one's own, tasks with images.

mod catalogue;
pub mod choose;
#[cfg(feature = "images")]
mod images;
pub mod network;
mod numbers;
mod ranges;
mod table;

pub(crate) use catalogue::alias;
pub use catalogue::{Alias, Catalogue, ModuleEntry};
#[cfg(feature = "images")]
pub use images::{IMAGES, Images, scale as image_scale};
pub use numbers::{About, Built, LOG_EVERY, Numbers, Problem, numbers_row};
pub(crate) use ranges::test_range_for;
pub use ranges::{Ranges, published_test_range};
pub use table::TableProblem;

use crate::error::{Result, bail};
use crate::run::{Row, Spec, schedule};
use nalm::Setting;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What somebody asks for, before a task has checked and completed it.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// A module or an alias.
    pub module: Option<String>,
    /// A stack of layers instead of the task's own network.
    pub layers: Option<Vec<network::Layer>>,
    /// How it is trained; absent for the module's published recipe.
    pub schedule: Option<schedule::Written>,
    /// Options, parameters and settings, by name.
    pub values: BTreeMap<String, Value>,
    /// The seed, or the fold.
    pub seed: u64,
}

/// What tasks need besides specifications.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The folder with MNIST's four files, if it was given.
    pub mnist: Option<PathBuf>,
}

/// Which kind of numbers a task's rows have: what tables and rules of comparison fit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measures {
    /// Solved or not, when, how sparse.
    Runs,
    /// Accuracies of a product and its digits.
    Products {
        /// Whether they were published by strict equality, too, with fractions of digits cut off.
        strict: bool,
    },
    /// Errors by length of a sequence.
    Sequences,
}

/// Something that can be run.
pub trait Task: Send + Sync {
    /// The name in experiment files and records.
    fn name(&self) -> &str;

    /// What is to be learned.
    fn summary(&self) -> &str;

    /// Everything that can be chosen of it, modules' options aside.
    fn settings(&self) -> Vec<Setting>;

    /// Whether it has a setting of this name.
    fn declares(&self, name: &str) -> bool {
        self.settings().iter().any(|setting| setting.name == name)
    }

    /// What its rows hold.
    fn measures(&self) -> Measures {
        Measures::Runs
    }

    /// The version of the numerics that it runs with.
    fn numerics(&self) -> u64;

    /// Earlier versions whose rows may stand on pages until there are rows of this one, the best first.
    fn earlier_numerics(&self) -> &[u64] {
        &[]
    }

    /// Makes a file of data known, for tasks that have such.
    fn load(&self, file: &Path) -> Result<()> {
        bail!("{} takes no data of one's own, so {} is of no use", self.name(), file.display())
    }

    /// The complete description of a run, or what is wrong with the choices.
    fn specify(&self, catalogue: &Catalogue, choices: &Choices) -> Result<Spec>;

    /// Checks everything that shows without training; returns how many parameters the last layer has.
    fn check(&self, catalogue: &Catalogue, spec: &Spec) -> Result<usize>;

    /// Network, data and settings of a run on numbers, for whoever wants to watch its training; nothing for other tasks.
    fn built(&self, _catalogue: &Catalogue, _spec: &Spec) -> Result<Option<Built>> {
        Ok(None)
    }

    /// Bytes of memory that the run takes, about.
    fn bytes(&self, _catalogue: &Catalogue, _spec: &Spec) -> Result<f64> {
        Ok(0.0)
    }

    /// Seconds that the run takes on one core of the machine that this was written on, to about a factor of two.
    fn cost(&self, spec: &Spec) -> f64;

    /// Runs with the same text here are one: the longest, which on its way is each of the others.
    fn shared(&self, _catalogue: &Catalogue, _spec: &Spec) -> Option<String> {
        None
    }

    /// Whether a run is long enough to take several threads and to be saved on its way.
    fn is_long(&self) -> bool {
        false
    }

    /// Makes sure that everything is there before anything is started.
    fn prepare(&self, _resources: &Resources) -> Result<()> {
        Ok(())
    }

    /// Starts a run, or several that are one, in ascending length.
    fn start<'a>(&'a self, catalogue: &'a Catalogue, job: &[&'a Spec], threads: usize) -> Result<Box<dyn Run + 'a>>;
}

/// How far a run got.
#[derive(Debug)]
pub enum Advance {
    /// Further, but not to the end.
    Further,
    /// To the end: what came of it, one for each specification of the job.
    Done(Vec<Finished>),
    /// Told to stop.
    Stopped,
}

/// Whoever carries a run out: told how far it is, and asked whether it should go on.
pub trait Watch: Sync {
    /// Whether to stop.
    fn stopped(&self) -> bool;
    /// This share of the run is done.
    fn reached(&self, share: f64);
    /// So many images were trained.
    fn trained(&self, images: u64);
}

/// A run under way.
pub trait Run: Send {
    /// Goes on for a while.
    fn advance(&mut self, watch: &dyn Watch) -> Result<Advance>;

    /// The last state from which it can go on, as bytes; nothing if there is none yet, or the task has none.
    fn save(&self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Goes on from what [`Run::save`] gave. On an error the run is as it was started.
    fn restore(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// A run that was carried out.
#[derive(Debug)]
pub struct Finished {
    /// Its row.
    pub row: Row,
    /// Parameters that are too many for the row.
    pub tensors: Option<Vec<u8>>,
}

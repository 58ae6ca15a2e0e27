//! Everything there is: modules, tasks, metrics and figures. What a program of one's own adds is listed, run, compared and reported like
//! the rest.

use crate::error::{Result, ensure};
use crate::experiment::{self, Experiment, Names, Overrides, built_in};
use crate::figure::{self, Kind};
use crate::files::{self, Disk, Files};
use crate::report::{self, Found};
use crate::store::{Contents, Store};
use crate::summary::{Metric, Results, metric};
use crate::task::Catalogue;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Modules, tasks, metrics and figures.
pub struct Registry {
    /// Modules and tasks.
    pub catalogue: Catalogue,
    /// What many rows are summarised by.
    pub metrics: Vec<Metric>,
    /// Kinds of figures.
    pub figures: Vec<Kind>,
    /// The way to the disk.
    pub files: Arc<dyn Files>,
}

impl Default for Registry {
    /// Those of this project.
    fn default() -> Self {
        Self {
            catalogue: Catalogue::default(),
            metrics: metric::list(),
            figures: figure::list(),
            files: Arc::new(Disk),
        }
    }
}

impl Registry {
    /// The names that experiment files may use.
    pub fn names(&self) -> Names {
        Names {
            figures: self.figures.iter().map(|kind| kind.name).collect(),
            metrics: self.metrics.iter().map(|metric| metric.name).chain(metric::OTHERS).collect(),
            rates: self.metrics.iter().filter(|metric| metric.is_rate()).map(|metric| metric.name).collect(),
        }
    }

    /// Loads an experiment by its name, or from a file.
    pub fn load(&self, name: &str, overrides: &Overrides) -> Result<Experiment> {
        experiment::load(&self.catalogue, &self.names(), name, overrides)
    }

    /// Loads several; `all` stands for every one that comes with the library.
    pub fn load_all(&self, names: &[String], overrides: &Overrides) -> Result<Vec<Experiment>> {
        self.load_each(names, |_| overrides.clone())
    }

    /// The same, each with its own changes.
    pub fn load_each(&self, names: &[String], overrides: impl Fn(&str) -> Overrides) -> Result<Vec<Experiment>> {
        let all = built_in::names(&self.catalogue);
        let alone = names.len() == 1 || names.iter().all(|name| name != "all");
        ensure!(alone, "'all' is every experiment that comes with nalm; leave out the other names");
        let names = if names == ["all"] { all } else { names.iter().map(String::as_str).collect() };
        let mut experiments: Vec<Experiment> = Vec::new();
        for (k, &name) in names.iter().enumerate() {
            let loaded = self.load(name, &overrides(name))?;
            let taken = experiments.iter().any(|known| known.name == loaded.name);
            let is_same = |other: &&str| **other == *name || files::is_same(Path::new(other), Path::new(name));
            ensure!(!names[..k].iter().any(is_same), "{name} is given twice; leave one out");
            ensure!(
                !taken,
                "two experiments are called {0}, and would share the page {0}.html; rename one",
                loaded.name
            );
            experiments.push(loaded);
        }
        Ok(experiments)
    }

    /// The rows of an experiment, summarised.
    pub fn results<'a>(&'a self, experiment: &'a Experiment, contents: &'a Contents) -> Results<'a> {
        Results::new(&self.catalogue, &self.metrics, experiment, contents)
    }

    /// Writes the page of an experiment, its figures and their data into a folder.
    pub fn report(&self, experiment: &Experiment, contents: &Contents, folder: &Path) -> Result<Found> {
        report::write(&self.results(experiment, contents), &self.figures, &*self.files, folder)
    }

    /// Refuses a folder in which files of the experiments' pages, and of their index if they are several, would take the place of an
    /// experiment's own table, or of files that no earlier page of that name made. `option` is how somebody chose the place.
    pub fn ensure_free(&self, experiments: &[Experiment], folder: &Path, option: &str) -> Result<()> {
        report::ensure_free(&*self.files, experiments, folder, option)
    }

    /// A store, there or not.
    pub fn store(&self, folder: impl Into<PathBuf>) -> Store {
        Store::with(folder, Arc::clone(&self.files))
    }
}

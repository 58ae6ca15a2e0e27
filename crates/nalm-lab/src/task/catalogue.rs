//! The modules and tasks there are: those of this project, and those that a program of one's own adds.

use super::{Numbers, Ranges, TableProblem, Task};
use crate::memory::Budget;
use crate::run;
use nalm::Error;
use nalm::module::{self, Spec};
use nalm::task::TaskSpec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A module in both precisions.
pub struct ModuleEntry {
    /// For training.
    pub single: Spec<f32>,
    /// For gradient checks.
    pub double: Spec<f64>,
}

/// A name that stands for a module with an option, as records show it.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// The name in tables and figures.
    pub label: &'static str,
    /// The module.
    pub module: &'static str,
    /// The option.
    pub option: &'static str,
    /// Its value, as it is typed.
    pub value: &'static str,
}

const ALIASES: [Alias; 4] = [
    Alias { name: "snmu-batch", label: "batch sNMU", module: "snmu", option: "noise", value: "batch" },
    Alias {
        name: "nmu-grad-noise",
        label: "NMU + gradient noise",
        module: "nmu",
        option: "gradient_noise",
        value: "0.01",
    },
    Alias { name: "mlp-1", label: "MLP (1)", module: "mlp", option: "hidden", value: "1" },
    Alias { name: "mlp-100", label: "MLP (100)", module: "mlp", option: "hidden", value: "100" },
];

/// All modules and tasks.
pub struct Catalogue {
    modules: Vec<ModuleEntry>,
    tasks: Vec<Arc<dyn Task>>,
    /// How much memory a run may take.
    pub memory: Arc<Budget>,
}

impl Default for Catalogue {
    /// Those of this project.
    fn default() -> Self {
        let pairs = module::list::<f32>().into_iter().zip(module::list::<f64>());
        let modules = pairs.map(|(single, double)| ModuleEntry { single, double }).collect();
        let mut catalogue = Self { modules, tasks: Vec::new(), memory: Arc::default() };
        catalogue.tasks.extend(nalm::task::list::<f32>().into_iter().map(of_ranges));
        catalogue.tasks.push(Arc::new(Numbers::new(TableProblem::within(Arc::clone(&catalogue.memory)))));
        #[cfg(feature = "images")]
        catalogue.tasks.extend(super::IMAGES.into_iter().map(|task| Arc::new(task) as Arc<dyn Task>));
        catalogue
    }
}

impl Catalogue {
    /// Adds a module, in both precisions. A name that is taken is refused: rows are told apart by it.
    pub fn add_module(&mut self, single: Spec<f32>, double: Spec<f64>) -> Result<(), Error> {
        if self.module(single.name).is_ok() {
            return Err(Error::Taken { what: "module", name: single.name.into() });
        }
        self.modules.push(ModuleEntry { single, double });
        Ok(())
    }

    /// Adds a task of the core's kind, whose data come from ranges.
    pub fn add_ranges(&mut self, spec: TaskSpec<f32>) -> Result<(), Error> {
        self.add_task(of_ranges(spec))
    }

    /// Adds a task. A name that is taken is refused.
    pub fn add_task(&mut self, task: Arc<dyn Task>) -> Result<(), Error> {
        if self.task(task.name()).is_ok() {
            return Err(Error::Taken { what: "task", name: task.name().into() });
        }
        self.tasks.push(task);
        Ok(())
    }

    /// All modules.
    pub fn modules(&self) -> &[ModuleEntry] {
        &self.modules
    }

    /// All tasks.
    pub fn tasks(&self) -> &[Arc<dyn Task>] {
        &self.tasks
    }

    /// The same run with earlier versions of the numerics whose rows will do.
    pub fn with_earlier_numerics(&self, run: &run::Spec) -> Vec<run::Spec> {
        let versions = self.task(run.task()).map_or(&[][..], |task| task.earlier_numerics());
        versions.iter().map(|version| run.with("numerics", *version)).collect()
    }

    /// The task with this name.
    pub fn task(&self, name: &str) -> Result<&Arc<dyn Task>, Error> {
        let names: Vec<&str> = self.tasks.iter().map(|task| task.name()).collect();
        self.tasks.iter().find(|task| task.name() == name).ok_or_else(|| Error::unknown("task", name, &names))
    }

    /// The module with this name, or that an alias stands for.
    pub fn module(&self, name: &str) -> Result<&ModuleEntry, Error> {
        let module = alias(name).map_or(name, |alias| alias.module);
        self.modules.iter().find(|entry| entry.single.name == module).ok_or_else(|| {
            let aliases = ALIASES.iter().map(|alias| alias.name);
            let names: Vec<&str> = self.modules.iter().map(|entry| entry.single.name).chain(aliases).collect();
            Error::unknown("module", name, &names)
        })
    }

    /// Names that stand for a module with an option.
    pub fn aliases(&self) -> &'static [Alias] {
        &ALIASES
    }

    /// Whether a module has an option of this name.
    pub fn has_option(&self, module: &str, name: &str) -> bool {
        self.module(module).is_ok_and(|entry| entry.single.options.iter().any(|option| option.name == name))
    }

    /// The label of a module or alias in tables and figures; a name that is not listed as it is.
    pub fn label(&self, name: &str) -> String {
        let module = || self.module(name).map_or(name, |entry| entry.single.label);
        alias(name).map_or_else(module, |alias| alias.label).into()
    }

    /// The name of every option of every module.
    pub fn option_names(&self) -> BTreeSet<&'static str> {
        self.modules.iter().flat_map(|entry| entry.single.options).map(|option| option.name).collect()
    }
}

/// A task of the core's kind.
fn of_ranges(spec: TaskSpec<f32>) -> Arc<dyn Task> {
    Arc::new(Numbers::new(Ranges(spec)))
}

/// What a name stands for, if it is an alias.
pub(crate) fn alias(name: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.name == name)
}

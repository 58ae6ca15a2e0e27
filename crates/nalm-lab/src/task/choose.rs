//! What was chosen, held against what tasks and modules declare.

use super::network::Layer;
use super::{Catalogue, Choices, Task};
use crate::error::{Context, Error, Result};
use crate::run::spec::{json, setting};
use serde_json::{Map, Value};

/// The place of a name among those there are; of another one the nearest is named.
pub(crate) fn one_of(what: &'static str, name: &str, all: &[&str]) -> Result<usize, nalm::Error> {
    all.iter().position(|known| *known == name).ok_or_else(|| nalm::Error::unknown(what, name, all))
}

/// The values that were chosen, as records keep them.
pub(crate) fn checked(catalogue: &Catalogue, task: &dyn Task, choices: &Choices) -> Result<Map<String, Value>> {
    let module = choices.module.as_deref().map(|module| catalogue.module(module)).transpose()?;
    let (owner, options) = module.map_or(("", &[][..]), |entry| (entry.single.name, entry.single.options));
    let (settings, mut checked) = (task.settings(), Map::new());
    let check = |name: &str, value: &Value| {
        let Some(declared) = settings.iter().chain(options).find(|setting| setting.name == name) else {
            // An option of another module is refused by this one.
            if module.is_some() && catalogue.option_names().contains(name) {
                nalm::setting::find(owner, options, name)?;
            }
            return Err(undeclared(catalogue, &[task], name));
        };
        // JSON has no nan and no infinity, and files have nothing else that it lacks.
        let shown = || value.to_string().replace("null", "nan or inf");
        let wrong = || Error::Request(format!("{name} is {}; it must be {}", shown(), declared.kind.name()));
        Ok(json(&declared.check(&setting(value).ok_or_else(wrong)?)?))
    };
    for (name, value) in &choices.values {
        checked.insert(name.clone(), check(name, value).about(name)?);
    }
    Ok(checked)
}

/// Whether a task, a model's module or one of its layers declares a setting.
pub fn declares(catalogue: &Catalogue, task: &dyn Task, choices: &Choices, name: &str) -> bool {
    let mut modules = choices.module.iter().chain(choices.layers.iter().flatten().map(|Layer(layer)| &layer.module));
    task.declares(name) || modules.any(|module| catalogue.has_option(module, name))
}

/// Chooses a value for whoever declares it: the task, the module, or every layer that has such an option. What a layer itself says counts
/// more, unless `over` it.
pub fn choose(catalogue: &Catalogue, task: &dyn Task, choices: &mut Choices, name: &str, value: &Value, over: bool) {
    let of_task = task.declares(name);
    let mut placed = false;
    for Layer(layer) in choices.layers.iter_mut().flatten().filter(|_| !of_task) {
        let has = catalogue.has_option(&layer.module, name);
        if has && (over || layer.options.get(name).is_none()) {
            layer.options.set(name, setting(value).unwrap_or_else(|| value.to_string().into()));
        }
        placed |= has;
    }
    if !placed {
        choices.values.insert(name.into(), value.clone());
    }
}

/// What is wrong with a name that neither these tasks nor their modules declare: it belongs to another task, or was mistyped.
pub(crate) fn undeclared(catalogue: &Catalogue, tasks: &[&dyn Task], name: &str) -> Error {
    let elsewhere = catalogue.tasks().iter().find(|task| task.declares(name));
    if let (Some(other), Some(task)) = (elsewhere, tasks.first()) {
        return Error::Request(format!("{name} is a setting of {}, not of {}", other.name(), task.name()));
    }
    let mut names = catalogue.option_names();
    names.extend(tasks.iter().flat_map(|task| task.settings()).map(|setting| setting.name));
    nalm::Error::unknown("option", name, &Vec::from_iter(names)).into()
}

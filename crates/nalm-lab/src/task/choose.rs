//! What was chosen, held against what tasks and modules declare.

use super::{Catalogue, Choices, Task};
use crate::error::{Error, Result};
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
    for (name, value) in &choices.values {
        let Some(declared) = settings.iter().chain(options).find(|setting| setting.name == name) else {
            // An option of another module is refused by this one.
            if module.is_some() && catalogue.option_names().contains(name.as_str()) {
                nalm::setting::find(owner, options, name)?;
            }
            return Err(undeclared(catalogue, &[task], name));
        };
        let wrong = || Error::Request(format!("{name} is {value}; it must be {}", declared.kind.name()));
        checked.insert(name.clone(), json(&declared.check(&setting(value).ok_or_else(wrong)?)?));
    }
    Ok(checked)
}

/// What is wrong with a name that neither these tasks nor their modules declare: it belongs to another task, or was mistyped.
pub(crate) fn undeclared(catalogue: &Catalogue, tasks: &[&dyn Task], name: &str) -> Error {
    let elsewhere = catalogue.tasks().iter().find(|task| task.settings().iter().any(|setting| setting.name == name));
    if let (Some(other), Some(task)) = (elsewhere, tasks.first()) {
        return Error::Request(format!("{name} is a setting of {}, not of {}", other.name(), task.name()));
    }
    let mut names = catalogue.option_names();
    names.extend(tasks.iter().flat_map(|task| task.settings()).map(|setting| setting.name));
    nalm::Error::unknown("option", name, &Vec::from_iter(names)).into()
}

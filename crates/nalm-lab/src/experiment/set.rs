//! Settings from the command line: for the models that have them.

use super::check::Checker;
use super::overrides::plain;
use super::{Experiment, Group};
use crate::error::{Context, Result, ensure};
use crate::task::{Choices, Task, choose};
use std::collections::BTreeSet;

/// Puts settings from the command line into a model that has them.
pub(super) fn apply(checker: &Checker<'_>, task: &dyn Task, choices: &mut Choices) {
    for (key, value) in &checker.overrides.set {
        if has(checker, task, choices.module.as_deref(), key) {
            choices.values.insert(key.clone(), value.clone());
        }
    }
}

/// Whether a model on a task has a setting. Steps and streams are for all, so that tasks without them can say what they have instead.
fn has(checker: &Checker<'_>, task: &dyn Task, module: Option<&str>, key: &str) -> bool {
    let entry = module.and_then(|module| checker.catalogue.module(module).ok());
    let options = entry.map_or(&[][..], |entry| entry.single.options);
    ["steps", "stream"].contains(&key) || task.settings().iter().chain(options).any(|setting| setting.name == key)
}

/// Says which models the settings are for; one that nobody has was mistyped.
pub(super) fn notes(checker: &Checker<'_>, experiment: &Experiment) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let all: BTreeSet<usize> = experiment.groups.iter().map(|group| group.model).collect();
    for (key, value) in &checker.overrides.set {
        let has = |group: &&Group| {
            let module = checker.written.model[group.model].module.as_ref().map(|module| module.get_ref().as_str());
            let task = checker.catalogue.task(&experiment.sections[group.section].task);
            task.is_ok_and(|task| has(checker, &**task, module, key))
        };
        let have: BTreeSet<usize> = experiment.groups.iter().filter(has).map(|group| group.model).collect();
        let have: Vec<&str> = have.into_iter().map(|model| experiment.models[model].as_str()).collect();
        if have.is_empty() && !all.is_empty() {
            let known = checker.catalogue.option_names().contains(key.as_str());
            ensure!(!known, "--set {key}: no model of {} has this option", experiment.name);
            let tasks = experiment.sections.iter().filter_map(|section| checker.catalogue.task(&section.task).ok());
            let tasks: Vec<&dyn Task> = tasks.map(|task| &**task).collect();
            return Err(choose::undeclared(checker.catalogue, &tasks, key)).at(|| "--set".into());
        }
        if have.len() < all.len() {
            let (value, have) = (plain(value), have.join(", "));
            notes.push(format!("{key} = {value} is set for {have}; the other models do not have it"));
        }
    }
    Ok(notes)
}

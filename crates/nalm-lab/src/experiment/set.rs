//! Settings for the models that have them: of the file, of a place along a sweep, and of the command line.

use super::check::Checker;
use super::overrides::plain;
use super::places::Place;
use super::written::Model;
use super::{Experiment, Group, Overrides};
use crate::error::{Context, Result, ensure};
use crate::task::choose::{choose, declares, undeclared};
use crate::task::network::Layer;
use crate::task::{Choices, Task, alias};
use std::collections::BTreeSet;

/// What a model is made of, with nothing chosen yet.
pub(super) fn of_model(model: &Model) -> Choices {
    Choices {
        module: model.module.as_ref().map(|module| module.get_ref().clone()),
        layers: model.layers.as_ref().map(|layers| layers.get_ref().clone()),
        ..Choices::default()
    }
}

/// Whether a model says a setting itself: among its options, in one of its layers, or by the name of its module.
fn says(model: &Model, key: &str) -> bool {
    let named = model.module.as_ref().and_then(|module| alias(module.get_ref()));
    let mut layers = model.layers.iter().flat_map(|layers| layers.get_ref());
    named.is_some_and(|alias| alias.option == key)
        || model.has(key)
        || layers.any(|Layer(layer)| layer.options.get(key).is_some())
}

/// Puts the values of a place into a model, as far as it has them and does not say otherwise itself: a sweep over the noise is none over a
/// model that is called by its noise.
pub(super) fn place(checker: &Checker<'_>, task: &dyn Task, model: &Model, choices: &mut Choices, place: &Place) {
    for (key, value) in &place.values {
        if takes(checker, task, model, key) {
            choose(checker.catalogue, task, choices, key, value, true);
        }
    }
    if place.values.contains_key("data") {
        checker.beside(choices);
    }
}

/// Whether a model takes the values of a place: it has them and does not say otherwise itself. What nobody has is for all, and refused.
fn takes(checker: &Checker<'_>, task: &dyn Task, model: &Model, key: &str) -> bool {
    !says(model, key) && (has(checker, task, &of_model(model), key) || !is_anybodys(checker, task, key))
}

/// What is varied at a place, each by its label; nothing for what a model does not take.
pub(super) fn taken(checker: &Checker<'_>, task: &dyn Task, model: &Model, place: &Place) -> Vec<Option<String>> {
    place.parts.iter().map(|(key, label)| takes(checker, task, model, key).then(|| label.clone())).collect()
}

/// Refuses a sweep that something else would overrule without a word.
pub(super) fn swept(checker: &Checker<'_>, task: &dyn Task, sweep: &[Place]) -> Result<()> {
    let Overrides { set, sweep: typed, .. } = checker.overrides;
    for (k, (key, _)) in typed.iter().enumerate() {
        let twice = typed[..k].iter().any(|(other, _)| other == key);
        ensure!(!twice, "{key} is swept twice; give all of its values at once: --sweep '{key}=A;B'");
    }
    for (key, _) in sweep.first().into_iter().flat_map(|place| &place.parts) {
        ensure!(!set.iter().any(|(other, _)| other == key), "{key} is swept and set; leave one out");
        // Ranges have an axis of their own, and are what sections are called by.
        let instead = "once for each range, or write ranges = [\"U[1,2)\", \"U[-2,2)\"]";
        ensure!(key != "range" || !task.declares("range"), "say --range {instead}, instead of a sweep over range");
    }
    Ok(())
}

/// Puts settings from the command line into a model that has them; `without` one of them, by its place.
pub(super) fn apply(checker: &Checker<'_>, task: &dyn Task, choices: &mut Choices, without: Option<usize>) {
    for (k, (key, value)) in checker.overrides.set.iter().enumerate() {
        if without != Some(k) && has(checker, task, choices, key) {
            choose(checker.catalogue, task, choices, key, value, true);
        }
    }
}

/// Whether a model on a task has a setting. Steps and streams are for all, so that tasks without them can say what they have instead.
pub(super) fn has(checker: &Checker<'_>, task: &dyn Task, choices: &Choices, key: &str) -> bool {
    ["steps", "stream"].contains(&key) || declares(checker.catalogue, task, choices, key)
}

/// Whether any model of the file has a setting.
pub(super) fn is_anybodys(checker: &Checker<'_>, task: &dyn Task, key: &str) -> bool {
    checker.written.model.iter().any(|model| has(checker, task, &of_model(model), key))
}

/// Says which models the settings are for; one that nobody has was mistyped.
pub(super) fn notes(checker: &Checker<'_>, experiment: &Experiment) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let all: BTreeSet<usize> = experiment.groups.iter().map(|group| group.model).collect();
    for (key, value) in &checker.overrides.set {
        let has = |group: &&Group| {
            let choices = of_model(&checker.written.model[group.model]);
            let task = checker.catalogue.task(&experiment.sections[group.section].task);
            task.is_ok_and(|task| has(checker, &**task, &choices, key))
        };
        let have: BTreeSet<usize> = experiment.groups.iter().filter(has).map(|group| group.model).collect();
        let have: Vec<&str> = have.into_iter().map(|model| experiment.models[model].as_str()).collect();
        if have.is_empty() && !all.is_empty() {
            let known = checker.catalogue.option_names().contains(key.as_str());
            ensure!(!known, "--set {key}: no model of {} has this option", experiment.name);
            let tasks = experiment.sections.iter().filter_map(|section| checker.catalogue.task(&section.task).ok());
            let tasks: Vec<&dyn Task> = tasks.map(|task| &**task).collect();
            return Err(undeclared(checker.catalogue, &tasks, key)).at(|| "--set".into());
        }
        if have.len() < all.len() {
            // Labels may have commas in them.
            let between = if have.iter().any(|label| label.contains(',')) { "; " } else { ", " };
            let (value, have) = (plain(value), have.join(between));
            notes.push(format!("{key} = {value} is set for {have}; the other models do not have it"));
        }
    }
    Ok(notes)
}

//! Figures of the tasks with images.

mod accuracy;
mod classes;
mod epochs;
mod lengths;
mod pictures;
mod weights;

use super::{Kind, one};
use crate::summary::Results;
use crate::summary::histories::Model;
use crate::task::image_scale;
use std::collections::BTreeSet;

pub(super) fn list() -> [Kind; 6] {
    [
        Kind::new("accuracy", "accuracy of product and digits, by model", |r, p| one(accuracy::draw(r, p))),
        Kind::new("weights", "the way of the head's weights", |r, p| one(weights::draw(r, p))),
        Kind::new("classes", "accuracy by digit, and what was taken for what", classes::draw),
        Kind::new("epochs", "accuracy of the digits over updates", |r, p| one(epochs::draw(r, p))),
        Kind::new("lengths", "success, solved-at and sparsity over the length of sequences", |r, p| {
            one(lengths::draw(r, p))
        }),
        Kind::new("pictures", "samples, and what is looked at", |r, p| one(pictures::draw(r, p))),
    ]
    .map(|kind| kind.needs("runs of a task with images"))
}

/// Models without a row, in words.
fn not_run(results: &Results<'_>) -> Option<String> {
    let experiment = results.experiment;
    let empty = experiment.groups.iter().filter(|group| group.section == 0 && results.of(group).is_empty());
    let mut names: Vec<&str> = empty.map(|group| experiment.models[group.model].as_str()).collect();
    names.dedup();
    (!names.is_empty()).then(|| format!("Not run: {}.", names.join("; ")))
}

/// What the runs of a figure are, as their rows say: the size of the digits, folds, and runs a head.
fn scale(models: &[Model<'_>]) -> String {
    let rows = || models.iter().flat_map(|model| &model.rows);
    let sides: BTreeSet<usize> = rows().filter_map(|row| Some(image_scale(&row.spec)?.0)).collect();
    let sides: Vec<String> = sides.iter().map(|side| format!("{side} x {side}")).collect();
    let folds: BTreeSet<u64> = rows().map(|row| row.spec.seed()).collect();
    let runs: BTreeSet<usize> = models.iter().map(|model| model.rows.len()).collect();
    let count = |n: usize, one: &str, many: &str| if n == 1 { format!("one {one}") } else { format!("{n} {many}") };
    let is_sequence = models.iter().any(|model| !model.sequences().is_empty());
    let (one, many) = if is_sequence { ("seed", "seeds") } else { ("fold", "folds") };
    let folds = count(folds.len(), one, many);
    let runs = match (runs.first(), runs.last()) {
        (Some(a), Some(b)) if a != b => format!("{a} to {b} runs a head"),
        (Some(n), _) => format!("{} a head", count(*n, "run", "runs")),
        _ => "no runs".into(),
    };
    format!("pictures of {} pixels, {folds}, {runs}", sides.join(" and "))
}

//! Figures of the tasks with images.

mod accuracy;
mod classes;
mod epochs;
mod lengths;
mod pictures;
mod weights;

use super::{Kind, kind, one};

pub(super) fn list() -> [Kind; 6] {
    [
        kind("accuracy", "accuracy of product and digits, by model", |r| one(accuracy::draw(r))),
        kind("weights", "the way of the head's weights", |r| one(weights::draw(r))),
        kind("classes", "accuracy by digit, and what was taken for what", classes::draw),
        kind("epochs", "accuracy of the digits over epochs", |r| one(epochs::draw(r))),
        kind("lengths", "success, solved-at and sparsity over the length of sequences", |r| one(lengths::draw(r))),
        kind("pictures", "samples, and what is looked at", |r| one(pictures::draw(r))),
    ]
}

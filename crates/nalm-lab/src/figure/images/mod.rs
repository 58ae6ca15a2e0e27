//! Figures of experiments with images, one kind per file.

mod accuracy;
mod classes;
mod epochs;
mod lengths;
mod pictures;
mod weights;

use super::Figure;
use crate::images::summary::Model;
use crate::images::{ImageExperiment, ImageKind};

/// The figures of an experiment that its rows allow.
pub(crate) fn all(experiment: &ImageExperiment, models: &[Model<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for kind in &experiment.figures {
        match kind {
            ImageKind::Accuracy => figures.extend(accuracy::draw(experiment, models)),
            ImageKind::Weights => figures.extend(weights::draw(models)),
            ImageKind::Classes => figures.extend(classes::draw(experiment, models)),
            ImageKind::Epochs => figures.extend(epochs::draw(experiment, models)),
            ImageKind::Lengths => figures.extend(lengths::draw(models)),
            ImageKind::Pictures => figures.extend(pictures::draw(models)),
        }
    }
    if let Some(first) = figures.first_mut() {
        first.suffix.clear();
    }
    figures
}

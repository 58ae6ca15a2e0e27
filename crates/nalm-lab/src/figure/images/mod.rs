//! Figures of experiments with images.

use super::Figure;
use crate::images::summary::Model;
use crate::images::{ImageExperiment, ImageKind};

/// The figures of an experiment that its rows allow.
pub(crate) fn all(experiment: &ImageExperiment, models: &[Model<'_>]) -> Vec<Figure> {
    let _ = (experiment, models, ImageKind::Accuracy);
    Vec::new()
}

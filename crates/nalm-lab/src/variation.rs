//! The arithmetic task beyond its published sizes: what may differ, and along which axes an experiment can vary it.

use crate::runspec::RunSpec;
use anyhow::{Context, Result, bail, ensure};
use nalm::{Arithmetic, Distribution, Factors, Noisy, Operation, Task};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What differs from the published problem. Absent means published.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variation {
    /// The share of the inputs that a sum is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subset: Option<f64>,
    /// The share of a sum's inputs that the next sum has, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<f64>,
    /// How many sums are multiplied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) factors: Option<usize>,
    /// The share of a sum's inputs that are subtracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) differences: Option<f64>,
    /// How many sums the network has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sums: Option<usize>,
    /// The relative deviation of the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label_noise: Option<f64>,
}

impl Variation {
    /// The sums of the network in front of the unit.
    pub(crate) fn sums(&self) -> usize {
        self.sums.or(self.factors).unwrap_or(2)
    }

    /// The arithmetic task with other sizes, if they are other ones.
    pub(crate) fn task(
        &self,
        operation: Operation,
        inputs: usize,
        train: Distribution,
        test: Distribution,
    ) -> Result<Arc<dyn Task<f32>>> {
        let (subset, overlap) = (self.subset.unwrap_or(0.25), self.overlap.unwrap_or(0.5));
        if self.factors.is_none() && self.differences.is_none() {
            return Ok(Arc::new(Arithmetic::new(operation, inputs, subset, overlap, train, test)?));
        }
        ensure!(operation == Operation::Mul, "several factors and differences are for mul, not for {operation}");
        let (factors, differences) = (self.factors.unwrap_or(2), self.differences.unwrap_or(0.0));
        Ok(Arc::new(Factors::new(inputs, factors, subset, overlap, differences, train, test)?))
    }

    /// Refuses what only the arithmetic task has.
    pub(crate) fn only_labels(&self) -> Result<()> {
        for (key, given) in [
            ("subset", self.subset.is_some()),
            ("overlap", self.overlap.is_some()),
            ("factors", self.factors.is_some()),
            ("differences", self.differences.is_some()),
            ("sums", self.sums.is_some()),
        ] {
            ensure!(!given, "{key} is for the arithmetic task; other problems only take label_noise");
        }
        Ok(())
    }

    /// The task with noise on its labels, if there is any.
    pub(crate) fn with_label_noise(&self, task: Arc<dyn Task<f32>>) -> Result<Arc<dyn Task<f32>>> {
        match self.label_noise {
            Some(deviation) => Ok(Arc::new(Noisy::new(task, deviation)?)),
            None => Ok(task),
        }
    }
}

/// What an experiment can vary, and how a value is put into a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    name: &'static str,
    /// As figures say it.
    pub(crate) label: &'static str,
    put: fn(&mut RunSpec, f64) -> Result<()>,
}

/// All axes.
const AXES: [Axis; 9] = [
    Axis { name: "inputs", label: "Inputs", put: |run, v| whole(v).map(|n| run.inputs = n) },
    Axis { name: "subset", label: "Share of the inputs in a sum", put: |run, v| set(run, |p| p.subset = Some(v)) },
    Axis { name: "overlap", label: "Share of a sum that is shared", put: |run, v| set(run, |p| p.overlap = Some(v)) },
    Axis {
        name: "sums",
        label: "Sums of the network",
        put: |run, v| whole(v).and_then(|n| set(run, |p| p.sums = Some(n))),
    },
    Axis { name: "factors", label: "Factors", put: |run, v| whole(v).and_then(|n| set(run, |p| p.factors = Some(n))) },
    Axis {
        name: "differences",
        label: "Share of a sum that is subtracted",
        put: |run, v| set(run, |p| p.differences = Some(v)),
    },
    Axis {
        name: "label-noise",
        label: "Relative deviation of the labels",
        put: |run, v| set(run, |p| p.label_noise = Some(v)),
    },
    Axis { name: "width", label: "Width of the training range, from 1.15 on", put: narrow },
    Axis { name: "samples", label: "Samples of the fit", put: samples },
];

impl Axis {
    /// The axis with this name.
    pub(crate) fn named(name: &str) -> Result<Self, nalm::Error> {
        let names = AXES.map(|axis| axis.name);
        AXES.into_iter().find(|axis| axis.name == name).ok_or_else(|| nalm::Error::unknown("axis", name, &names))
    }

    /// Puts a value into a run.
    pub(crate) fn put(&self, run: &mut RunSpec, value: f64) -> Result<()> {
        (self.put)(run, value).with_context(|| format!("{} = {value}", self.name))
    }
}

fn whole(value: f64) -> Result<usize> {
    ensure!(value >= 1.0 && value.fract() == 0.0 && value < 1e9, "give a whole number of at least 1");
    Ok(value as usize)
}

fn set(run: &mut RunSpec, change: impl FnOnce(&mut Variation)) -> Result<()> {
    change(run.problem.get_or_insert_default());
    Ok(())
}

fn narrow(run: &mut RunSpec, width: f64) -> Result<()> {
    // To fifteen digits, so that 1.15 + 0.001 reads 1.151.
    let end = ((1.15 + width) * 1e15).round() / 1e15;
    run.range = format!("U[1.15,{end})");
    run.test_range = "U[1.2,6)".into();
    Ok(())
}

fn samples(run: &mut RunSpec, value: f64) -> Result<()> {
    let samples = whole(value)?;
    let Some(schedule) = &mut run.schedule else { bail!("a model without a schedule has no samples of a fit") };
    for phase in schedule.phase.iter_mut().filter(|phase| phase.optimiser == "lm") {
        (phase.samples, phase.per_parameter) = (Some(samples), Some(0.0));
    }
    Ok(())
}

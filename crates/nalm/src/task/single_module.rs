//! Single Module Task (Madsen and Johansen 2020; Mistry, Farrahi and Hare 2022): one module, an operation on two inputs,
//! possibly among others that do not matter.

use super::subsets::{Problem, Subsets};
use super::{OPERATION, Samples, Task, TaskSpec, Thresholds, threshold};
use crate::rng::Stream;
use crate::setting::{Kind, Setting};
use crate::{Distribution, Error, Operation, Real, Shape, Uniform};
use std::sync::OnceLock;

/// The Single Module Task.
///
/// The two inputs that matter are neighbours; where there are more inputs, each seed draws their position.
#[derive(Clone, Debug)]
pub struct SingleModule {
    problem: Problem,
    /// Some are simulated with a million rows, so they are only computed once they are asked for.
    simulated: OnceLock<f64>,
}

/// The flat threshold of the published figures.
const FLAT: f64 = 1e-5;

const INPUTS: Setting = Setting::new("inputs", Kind::Whole, "2", "number of inputs");

pub(super) fn spec<R: Real>() -> TaskSpec<R> {
    TaskSpec {
        name: "single-module",
        summary: "t = x1 op x2, one module, two inputs (more inputs: the others do not matter)",
        parameters: &[OPERATION, INPUTS],
        steps: 50_000,
        ramp: (20_000, 35_000),
        front: |_| Ok(Vec::new()),
        build: |options, train, test| {
            Ok(Box::new(SingleModule::new(options.read(&OPERATION)?, options.whole(&INPUTS)?, train, test)?))
        },
    }
}

impl SingleModule {
    /// The task for an operation on two of `inputs` inputs, with a training and a test distribution.
    pub fn new(
        operation: Operation,
        inputs: usize,
        train: impl Into<Distribution>,
        test: impl Into<Distribution>,
    ) -> Result<Self, Error> {
        let (train, test) = (train.into(), test.into());
        train.check()?;
        test.check()?;
        let problem = Problem { subsets: Subsets::new(inputs, 0..1, 1..2)?, operation, train, test };
        threshold::check(&problem)?;
        Ok(Self { problem, simulated: OnceLock::new() })
    }

    /// Multiplication of two inputs, trained on [low, high) and tested on [test_low, test_high).
    pub fn mul(low: f64, high: f64, test_low: f64, test_high: f64) -> Result<Self, Error> {
        Self::new(Operation::Mul, 2, Uniform::new(low, high)?, Uniform::new(test_low, test_high)?)
    }

    /// The errors on the test set below which the task is solved.
    pub fn thresholds(&self) -> Thresholds {
        let simulated = || threshold::single_module("single-module", &self.problem);
        Thresholds { flat: Some(FLAT), simulated: *self.simulated.get_or_init(simulated) }
    }
}

impl<R: Real> Task<R> for SingleModule {
    fn name(&self) -> &'static str {
        "single-module"
    }

    fn key(&self) -> String {
        self.problem.key("single-module")
    }

    fn shape(&self) -> Shape {
        Shape { inputs: self.problem.subsets.inputs, outputs: 1 }
    }

    fn thresholds(&self) -> Thresholds {
        self.thresholds()
    }

    fn open(&self, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error> {
        self.problem.open("single-module", stream, seed)
    }
}

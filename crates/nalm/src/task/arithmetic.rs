//! Arithmetic Dataset Task (Trask et al. 2018; Madsen and Johansen 2020): t = (sum of one subset) op (sum of another) of
//! many inputs, learned by an addition unit and a multiplication unit.

use super::subsets::{Problem, Subsets};
use super::{Factors, FrontLayer, OPERATION, Samples, Task, TaskSpec, Thresholds, threshold};
use crate::rng::Stream;
use crate::setting::{Kind, Setting};
use crate::{Distribution, Error, Operation, Real, Shape};
use std::ops::Range;
use std::sync::OnceLock;

/// The Arithmetic Dataset Task.
#[derive(Clone, Debug)]
pub struct Arithmetic {
    problem: Problem,
    /// Stored for the published problems, otherwise simulated once it is asked for.
    simulated: OnceLock<f64>,
}

/// Thresholds for multiplication with the published sizes, as its authors stored them. Their simulation used subsets of 26
/// elements instead of 25.
const STORED: [(&str, f64); 9] = [
    ("U[-40,-20)", 505.38393446811),
    ("U[-6,-2)", 0.160019427416592),
    ("U[-6.1,-1.2)", 0.111273765936094),
    ("U[-2,-0.2)", 0.000920366996935862),
    ("U[-6,-2)∪U[2,6)", 0.000230715983456882),
    ("U[0.2,2)", 0.000919984259479115),
    ("U[2,6)", 0.160053064554457),
    ("U[1.2,6)", 0.105269192983145),
    ("U[20,40)", 505.342442052394),
];

const INPUTS: Setting = Setting::new("inputs", Kind::Whole, "100", "number of inputs");
const SUBSET: Setting = Setting::new("subset", Kind::Number, "0.25", "the share of the inputs that a sum is over");
const OVERLAP: Setting =
    Setting::new("overlap", Kind::Number, "0.5", "the share of a sum's inputs that the next sum has, too");
const FACTORS: Setting = Setting::new("factors", Kind::Whole, "2", "how many sums are multiplied");
const DIFFERENCES: Setting =
    Setting::new("differences", Kind::Number, "0", "the share of a sum's inputs that are subtracted");
const SUMS: Setting =
    Setting::new("sums", Kind::Whole, "2", "how many sums the network has; as many as factors where it is not given");

pub(super) fn spec<R: Real>() -> TaskSpec<R> {
    TaskSpec {
        name: "arithmetic",
        summary: "t = (sum of 25 %) op (sum of 25 %, half of them shared) of 100 inputs",
        parameters: &[OPERATION, INPUTS, SUBSET, OVERLAP, FACTORS, DIFFERENCES, SUMS],
        steps: 5_000_000,
        ramp: (1_000_000, 2_000_000),
        // A NAU finds the sums, the unit combines them.
        front: |options| {
            let sums = options.whole(if options.get(SUMS.name).is_some() { &SUMS } else { &FACTORS })?;
            Ok(vec![FrontLayer { module: "nau", outputs: sums }])
        },
        build: |options, train, test| {
            let (operation, inputs) = (options.read(&OPERATION)?, options.whole(&INPUTS)?);
            let (subset, overlap) = (options.number(&SUBSET)?, options.number(&OVERLAP)?);
            if options.get(FACTORS.name).is_none() && options.get(DIFFERENCES.name).is_none() {
                return Ok(Box::new(Arithmetic::new(operation, inputs, subset, overlap, train, test)?));
            }
            if operation != Operation::Mul {
                return Err(Error::Unsupported {
                    what: "a task with factors or differences".into(),
                    when: format!("for {operation}"),
                    instead: "use mul".into(),
                });
            }
            let (factors, differences) = (options.whole(&FACTORS)?, options.number(&DIFFERENCES)?);
            Ok(Box::new(Factors::new(inputs, factors, subset, overlap, differences, train, test)?))
        },
    }
}

impl Arithmetic {
    /// The task with subsets of `subset_ratio` of the inputs, `overlap_ratio` of which are shared; both sizes are rounded
    /// down. Every seed draws the position of the subsets.
    pub fn new(
        operation: Operation,
        inputs: usize,
        subset_ratio: f64,
        overlap_ratio: f64,
        train: impl Into<Distribution>,
        test: impl Into<Distribution>,
    ) -> Result<Self, Error> {
        let share = |what, x: f64| Error::check((0.0..=1.0).contains(&x), what, x, "in [0, 1]");
        share("subset ratio", subset_ratio)?;
        share("overlap ratio", overlap_ratio)?;
        let size = (subset_ratio * inputs as f64).floor() as usize;
        if size == 0 && subset_ratio > 0.0 {
            let least = (1.0 / subset_ratio).ceil() as usize;
            return Err(Error::TooFew { what: "number of inputs", got: inputs, least });
        }
        let overlap = (overlap_ratio * size as f64).floor() as usize;
        Self::with_subsets(operation, inputs, 0..size, size - overlap..2 * size - overlap, train, test)
    }

    /// The task with given slices of the inputs. Where they leave room, every seed draws a common offset.
    pub fn with_subsets(
        operation: Operation,
        inputs: usize,
        a: Range<usize>,
        b: Range<usize>,
        train: impl Into<Distribution>,
        test: impl Into<Distribution>,
    ) -> Result<Self, Error> {
        let (train, test) = (train.into(), test.into());
        train.check()?;
        test.check()?;
        let published = operation == Operation::Mul && inputs == 100 && a == (0..25) && b == (13..38);
        let stored = STORED.iter().find(|(range, _)| published && *range == test.to_string());
        let problem = Problem { subsets: Subsets::new(inputs, a, b)?, operation, train, test };
        threshold::check(&problem)?;
        // There is no other rule here.
        threshold::check_quotient(&problem)?;
        let simulated = stored.map_or_else(OnceLock::new, |(_, threshold)| OnceLock::from(*threshold));
        Ok(Self { problem, simulated })
    }

    /// The errors on the test set below which the task is solved.
    pub fn thresholds(&self) -> Thresholds {
        let simulated = || threshold::arithmetic("arithmetic", &self.problem);
        Thresholds { flat: None, simulated: *self.simulated.get_or_init(simulated) }
    }
}

impl<R: Real> Task<R> for Arithmetic {
    fn name(&self) -> &'static str {
        "arithmetic"
    }

    fn key(&self) -> String {
        self.problem.key("arithmetic")
    }

    fn shape(&self) -> Shape {
        Shape { inputs: self.problem.subsets.inputs, outputs: 1 }
    }

    fn thresholds(&self) -> Thresholds {
        self.thresholds()
    }

    fn open(&self, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error> {
        self.problem.open("arithmetic", stream, seed)
    }
}

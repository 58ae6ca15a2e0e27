//! The problems that modules are judged by, one file each, and the list of them.

mod arithmetic;
mod augmented;
mod factors;
mod noisy;
mod normalised;
mod single_module;
mod subsets;
mod table;
pub mod threshold;

pub use arithmetic::Arithmetic;
pub use augmented::Augmented;
pub use factors::Factors;
pub use noisy::Noisy;
pub use normalised::Normalised;
pub use single_module::SingleModule;
pub use table::{Parts, Split, TableTask};
pub use threshold::Thresholds;

use crate::batch::Batch;
use crate::rng::Stream;
use crate::setting::{Kind, Options, Setting};
use crate::{Distribution, Error, Operation, Real, Shape, Uniform};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// A problem: where its data come from and when it counts as solved.
pub trait Task<R: Real>: Debug + Send + Sync {
    /// The name under which the task is listed.
    fn name(&self) -> &'static str;

    /// Everything that shapes the training data, and so names its streams: task, operation, sizes, range.
    fn key(&self) -> String;

    /// Inputs and outputs of a network that solves it.
    fn shape(&self) -> Shape;

    /// The errors on the test set below which it is solved.
    fn thresholds(&self) -> Thresholds;

    /// The data of one seed.
    fn open(&self, stream: Stream, seed: u64) -> Result<Box<dyn Samples<R>>, Error>;

    /// The sizes of the validation and of the test set. Tasks with data of their own say how many rows there are; others are
    /// sampled as often as [`crate::Config::validation`] and [`crate::Config::test`] say.
    fn evaluation_rows(&self) -> Option<(usize, usize)> {
        None
    }
}

/// The data of one seed: an endless stream of training batches and two fixed sets.
pub trait Samples<R: Real>: Send {
    /// Fills a batch with fresh training data.
    fn train(&mut self, batch: &mut Batch<R>);

    /// Fills a batch with the validation set of its size (training range).
    fn validation(&mut self, batch: &mut Batch<R>);

    /// Fills a batch with the test set of its size (extrapolation range).
    fn test(&mut self, batch: &mut Batch<R>);

    /// The two slices of the inputs that matter, where the task has such.
    fn subsets(&self) -> Option<[Range<usize>; 2]> {
        None
    }

    /// The two slices whose sums are the factors, where the target is a product.
    fn product(&self) -> Option<[Range<usize>; 2]> {
        None
    }
}

/// What is known about a task before it has ranges.
pub struct TaskSpec<R: Real> {
    /// The name on command lines and in records.
    pub name: &'static str,
    /// What is to be learned.
    pub summary: &'static str,
    /// What can be chosen of it; the defaults are the published values.
    pub parameters: &'static [Setting],
    /// The published last step.
    pub steps: u64,
    /// The published ramp of the sparsity penalties.
    pub ramp: (u64, u64),
    /// The layers of the published network in front of the unit that is examined.
    pub front: fn(&Options) -> Result<Vec<FrontLayer>, Error>,
    /// Makes the task with these parameters, a training and a test range.
    pub build: BuildTask<R>,
}

/// A layer in front of the unit that is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontLayer {
    /// The module's name.
    pub module: &'static str,
    /// Its outputs.
    pub outputs: usize,
}

/// Makes a task.
pub type BuildTask<R> = fn(&Options, Distribution, Distribution) -> Result<Box<dyn Task<R>>, Error>;

/// The operation to learn.
const OPERATION: Setting =
    Setting::new("operation", Kind::text::<Operation>("an operation"), "mul", "the operation to learn");

/// What every task with ranges takes besides its own parameters: changes of its data.
pub const DATA_SETTINGS: [Setting; 3] = [
    Setting::new("label_noise", Kind::Number, "", "relative deviation of the targets"),
    Setting::new(
        "augment",
        Kind::text::<Uniform>("a range of positive numbers"),
        "",
        "training data multiplied by noise from this range, their targets accordingly",
    ),
    Setting::new(
        "normalise",
        Kind::Flag,
        "false",
        "inputs in units in which the training range has a root mean square of 1",
    ),
];

/// The task with its data changed as [`DATA_SETTINGS`] say.
pub fn with_data_settings<R: Real>(
    mut task: Arc<dyn Task<R>>,
    options: &Options,
    train: &Distribution,
) -> Result<Arc<dyn Task<R>>, Error> {
    let [label_noise, augment, normalise] = &DATA_SETTINGS;
    if options.get(label_noise.name).is_some() {
        task = Arc::new(Noisy::new(task, options.number(label_noise)?)?);
    }
    if options.get(augment.name).is_some() {
        task = Arc::new(Augmented::new(task, options.read(augment)?)?);
    }
    if options.flag(normalise)? {
        let range = train.as_range().ok_or_else(|| Error::Unsupported {
            what: "normalise".into(),
            when: format!("on {train}"),
            instead: "train on a uniform range".into(),
        })?;
        task = Arc::new(Normalised::new(task, range)?);
    }
    Ok(task)
}

/// All tasks.
pub fn list<R: Listed>() -> Vec<TaskSpec<R>> {
    R::tasks()
}

/// A number type for which this crate holds the compiled code of all tasks; part of [`crate::Compiled`].
pub trait Listed: Real {
    /// All tasks over this type; see [`list`].
    #[doc(hidden)]
    fn tasks() -> Vec<TaskSpec<Self>>;
}

impl Listed for f32 {
    fn tasks() -> Vec<TaskSpec<Self>> {
        every()
    }
}

impl Listed for f64 {
    fn tasks() -> Vec<TaskSpec<Self>> {
        every()
    }
}

/// The list. A new task is a file, its `mod` line above and its `spec` here. Called through [`Listed`] for the same reason as
/// [`crate::module::every`].
pub(crate) fn every<R: Real>() -> Vec<TaskSpec<R>> {
    vec![single_module::spec(), arithmetic::spec()]
}

/// The task with this name.
pub fn find<R: Listed>(name: &str) -> Result<TaskSpec<R>, Error> {
    let names: Vec<&str> = list::<R>().iter().map(|spec| spec.name).collect();
    list().into_iter().find(|spec| spec.name == name).ok_or_else(|| Error::unknown("task", name, &names))
}

/// The nine training ranges of the paper, each with its test range.
pub const PAPER_RANGES: [(&str, &str); 9] = [
    ("U[-20,-10)", "U[-40,-20)"),
    ("U[-2,-1)", "U[-6,-2)"),
    ("U[-1.2,-1.1)", "U[-6.1,-1.2)"),
    ("U[-0.2,-0.1)", "U[-2,-0.2)"),
    ("U[-2,2)", "U[-6,-2)∪U[2,6)"),
    ("U[0.1,0.2)", "U[0.2,2)"),
    ("U[1,2)", "U[2,6)"),
    ("U[1.1,1.2)", "U[1.2,6)"),
    ("U[10,20)", "U[20,40)"),
];

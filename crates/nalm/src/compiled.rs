//! Where the generic code for `f32` and `f64` is compiled.

use crate::module::{self, Spec};
#[cfg(feature = "second-order")]
use crate::second_order::{self, TrainingSchedule};
use crate::task::{self, Task, TaskSpec};
use crate::train::{self, Observer};
use crate::{Config, Error, Network, Outcome, Real};

/// A number type for which this crate holds the compiled code of all modules, all tasks and the training loops.
///
/// Rust compiles generic code in the crate that first needs it for a type. Every program that asked for the list of modules would
/// compile all of them again, for three instruction sets. [`crate::module::list`], [`crate::task::list`], [`crate::train()`] and
/// `second_order::follow` therefore call methods of this trait, which are not generic: their code for `f32` and `f64` is
/// made once, in this crate.
///
/// Both types that are [`Real`] are `Compiled`, and as `Real` is sealed, no other type can be. Arithmetic needs `Real` alone; only what
/// asks for a list or trains needs this trait.
pub trait Compiled: Real {
    /// All modules over this type; see [`crate::module::list`].
    #[doc(hidden)]
    fn modules() -> Vec<Spec<Self>>;

    /// All tasks over this type; see [`crate::task::list`].
    #[doc(hidden)]
    fn tasks() -> Vec<TaskSpec<Self>>;

    /// Training over this type; see [`crate::train()`].
    #[doc(hidden)]
    fn train(
        network: &Network<Self>,
        task: &dyn Task<Self>,
        seed: u64,
        config: &Config,
        observer: &mut dyn Observer<Self>,
    ) -> Result<Outcome<Self>, Error>;

    /// Training along a schedule; see [`crate::second_order::follow`].
    #[doc(hidden)]
    #[cfg(feature = "second-order")]
    fn follow(
        network: &Network<Self>,
        task: &dyn Task<Self>,
        seed: u64,
        config: &Config,
        schedule: &TrainingSchedule,
        observer: &mut dyn Observer<Self>,
    ) -> Result<Outcome<Self>, Error>;
}

/// A blanket implementation would be generic again, so each type has its own.
macro_rules! compiled_for {
    ($($type:ty)*) => {
        $(impl Compiled for $type {
            fn modules() -> Vec<Spec<Self>> {
                module::every()
            }

            fn tasks() -> Vec<TaskSpec<Self>> {
                task::every()
            }

            fn train(
                network: &Network<Self>,
                task: &dyn Task<Self>,
                seed: u64,
                config: &Config,
                observer: &mut dyn Observer<Self>,
            ) -> Result<Outcome<Self>, Error> {
                train::run(network, task, seed, config, observer)
            }

            #[cfg(feature = "second-order")]
            fn follow(
                network: &Network<Self>,
                task: &dyn Task<Self>,
                seed: u64,
                config: &Config,
                schedule: &TrainingSchedule,
                observer: &mut dyn Observer<Self>,
            ) -> Result<Outcome<Self>, Error> {
                second_order::follow::run(network, task, seed, config, schedule, observer)
            }
        })*
    };
}

compiled_for!(f32 f64);

//! Where the generic code for `f32` and `f64` is compiled.

/// A number type for which this crate holds the compiled code of all modules, all tasks and the training loops.
///
/// Rust compiles generic code in the crate that first needs it for a type. Every program that asked for the list of modules would
/// compile all of them again, for three instruction sets. [`crate::module::list`], [`crate::task::list`], [`crate::train()`] and
/// `second_order::follow` therefore call methods of traits that stand beside them, which are not generic: their code for `f32` and
/// `f64` is made once, in this crate. This trait is all of these together.
///
/// Both types that are [`crate::Real`] are `Compiled`, and as `Real` is sealed, no other type can be. Arithmetic needs `Real` alone; only what
/// asks for a list or trains needs this trait.
#[cfg(feature = "second-order")]
pub trait Compiled:
    crate::module::Listed
    + crate::task::Listed
    + crate::train::Trained
    + crate::until::TrainedUntil
    + crate::second_order::Followed
{
}

/// A number type for which this crate holds the compiled code of all modules, all tasks and the training loop.
#[cfg(not(feature = "second-order"))]
pub trait Compiled:
    crate::module::Listed + crate::task::Listed + crate::train::Trained + crate::until::TrainedUntil
{
}

impl Compiled for f32 {}
impl Compiled for f64 {}

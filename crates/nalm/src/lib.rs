//! Neural Arithmetic Logic Modules: small differentiable units whose weights read as arithmetic.
//!
//! A trained unit extrapolates, because what it has learned *is* the operation. Here a neural multiplication unit learns
//! a * b from numbers between 1 and 2 and then multiplies any two numbers:
//!
//! ```
//! use nalm::{Config, Network, Nmu, SingleModule, train};
//!
//! let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0)?; // t = a * b, trained on U[1,2), tested on U[2,6)
//! let network = Network::<f32>::single(Nmu::new(2, 1)?);
//! let config = Config::published(&network).steps(10_000);
//! let outcome = train(&network, &task, 0, &config, &mut ())?;
//!
//! assert!(outcome.solved());
//! assert_eq!(outcome.params, [1.0, 1.0]); // the weights read: select both factors
//! assert_eq!(network.predict(&outcome.params, &[123.0, -4.5])?, [-553.5]);
//! # Ok::<(), nalm::Error>(())
//! ```
//!
//! A layer in a loop of your own takes and gives plain rows: [`Network::forward_rows`], [`Network::backward_rows`]. The `guide` has a page each for
//! [a loop of your own](guide::own_loop), [a table of your own](guide::own_data), [saving](guide::saving), [a unit of your own](guide::own_unit) and
//! [cargo features](guide::features).
//!
//! # What is here
//!
//! * [`module`]: the units — [`Nau`], [`Nmu`], the stochastic [`Snmu`] with its [`noise`] and [`denoiser`] lists, [`NacAdd`],
//!   [`NacMul`], [`Nalu`] (also golden), [`Inalu`], [`Npu`] (also real), [`StgNmu`], [`Gated`] pairs, and the baselines
//!   [`Linear`], [`Mlp`], [`Fc`], [`Product`] — each with a hand-written gradient that is checked against differences in `f64`
//!   ([`gradcheck`]). [`module::list`] has them all, and [`laws`] hold for all of them, as for a module of your own.
//! * [`Network`] stacks them over one flat parameter vector; [`Recurrent`] unrolls one over a sequence; [`architecture`] makes networks from names.
//! * [`task`]: the Single Module Task and the Arithmetic Dataset Task, for any operation, range and number of inputs;
//!   [`TableTask`] for a [`table`] of your own, which the cargo feature `csv` reads from text.
//! * [`train()`]: the loop, with an [`Observer`] for curves, progress and cancelling; [`Outcome`] says what came of it. [`train_until()`] stops by itself, and
//!   [`train::resume`] goes on from a saved state.
//! * `second_order`, with the cargo feature `second-order`: Levenberg-Marquardt for any stack, rounding to arithmetic, and schedules that
//!   alternate it with Adam; it solves what first-order training does not.
//! * [`formula`]: a trained network read as arithmetic, or as source text in Rust, C and Python, by way of [`expression`]s.
//! * `save` and `tensor`, with the cargo feature `save`: networks as safetensors files.
//! * [`rng`]: two families of random streams, fast ones and those of the published experiments to the bit.
//!
//! # Promises
//!
//! The same arguments give the same bits with every instruction set and in every thread; this is tested on x86-64, ARM and WebAssembly. A NaN is an
//! outcome, not a crash. Passes over lanes neither fail nor allocate; those over rows check their sizes first. Randomness, time, threads and files are
//! never reached for: what a function needs is an argument.

pub mod architecture;
pub mod batch;
mod compiled;
mod config;
pub mod denoiser;
pub mod digits;
mod error;
pub mod expression;
pub mod formula;
pub mod gradcheck;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod lane;
pub mod laws;
mod layer;
pub mod loss;
mod math;
pub mod metric;
pub mod module;
pub mod network;
pub mod noise;
mod operation;
pub mod optim;
pub mod penalty;
pub mod range;
mod real;
pub mod recipe;
mod recurrent;
pub mod rng;
mod rows;
mod sampler;
#[cfg(feature = "save")]
pub mod save;
#[cfg(feature = "second-order")]
pub mod second_order;
pub mod setting;
mod style;
mod sums;
pub mod table;
pub mod task;
#[cfg(feature = "save")]
pub mod tensor;
pub mod train;
mod training_state;
mod turn;
mod until;

pub use batch::{Batch, BatchLayout};
pub use compiled::Compiled;
pub use config::{Config, GradientNoise};
pub use denoiser::Denoiser;
pub use error::{Error, Lack};
pub use lane::{InstructionSet, Lane};
pub use loss::{Loss, LossPlan};
pub use metric::{LoggedErrors, Outcome, Status, Verdict};
pub use module::{
    Dispatch, Fc, Gated, Inalu, Linear, Mlp, Module, NacAdd, NacMul, Nalu, Nau, Nmu, Npu, Pass, Product, Shape, Snmu,
    StgNmu,
};
pub use network::{Network, Workspace};
pub use noise::Noise;
pub use operation::Operation;
pub use optim::{Optimisation, Optimiser};
pub use penalty::{Penalty, Schedule};
pub use range::{Distribution, Interval, Uniform};
pub use real::Real;
pub use recipe::{Recipe, Reinit};
pub use recurrent::Recurrent;
pub use rng::{Rng, Stream};
pub use rows::RowWorkspace;
pub use setting::{Options, Setting, Value};
pub use table::Table;
pub use task::{Arithmetic, Augmented, Factors, Noisy, Normalised, SingleModule, Split, TableTask, Task, Thresholds};
pub use train::{Observer, TrainingState, train};
pub use until::{Stopping, TrainedUntil, train_until};

/// The version of the numerics: results of the same configuration may differ between versions, never within one.
pub const NUMERICS: u32 = 1;

// The code in the README compiles and does what it says.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

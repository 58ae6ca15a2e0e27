//! Second-order training of small networks, and what turns its result into arithmetic.
//!
//! Where inputs come from a narrow range, the data say which inputs belong to *some* sum much louder than to *which*: the Gauss-Newton
//! matrix has eigenvalues many orders of magnitude apart, and first-order training never sees the small ones. These networks have
//! few parameters and their data no noise, so all of it can be solved for:
//!
//! ```
//! use nalm::second_order::{TrainingSchedule, follow};
//! use nalm::{Arithmetic, Config, Error, Nau, Network, Operation, Uniform, Snmu};
//!
//! let network = Network::<f32>::new(vec![Box::new(Nau::new(20, 2)?), Box::new(Snmu::new(2, 1)?)])?;
//! let (inside, outside) = ("U[1.1,1.2)".parse::<Uniform>()?, "U[1.2,6)".parse::<Uniform>()?);
//! let task = Arithmetic::new(Operation::Mul, 20, 0.25, 0.5, inside, outside)?;
//! let outcome = follow(&network, &task, 0, &Config::published(&network), &TrainingSchedule::default(), &mut ())?;
//! assert!(outcome.solved());
//! # Ok::<(), Error>(())
//! ```

mod dense;
mod discretise;
mod eigen;
pub(crate) mod follow;
mod jacobian;
mod levenberg_marquardt;
pub mod schedule;
mod spectrum;

pub use discretise::discretise;
pub use follow::{Followed, follow};
pub use jacobian::Jacobian;
pub use levenberg_marquardt::{LevenbergMarquardt, Settings, Step};
pub use schedule::{Adam, Lm, Phase, TrainingSchedule};
pub use spectrum::gauss_newton;

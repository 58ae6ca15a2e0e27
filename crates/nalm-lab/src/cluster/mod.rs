//! Sweeps over many machines, by means of the schedulers that are there. A worker carries out its part of the plan ([`Plan`], [`Shard`]), which it
//! learns from the scheduler's variables ([`environment`]), and then what others still lack, as far as it can see from the store ([`Others`]). Scripts
//! for schedulers are data, too ([`Scheduler`]); how long runs will take is learned from rows ([`estimate`]).
//!
//! Which worker carries out a run is a matter of balance and never of correctness: rows of one run are the same wherever they come from, so a
//! run that is done twice costs time and nothing else. Hence there are no locks, no leases and no server.

pub mod environment;
mod estimate;
mod others;
mod script;
mod shard;

pub use estimate::{Estimate, estimate};
pub use others::Others;
pub use script::{Job, SCHEDULERS, Scheduler, quoted};
pub use shard::{Part, Plan, Shard};

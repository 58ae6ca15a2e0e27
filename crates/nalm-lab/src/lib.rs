//! The laboratory around `nalm`: from an experiment file to a page with intervals, as a library.
//!
//! Data flow one way, and each folder is a station on it:
//!
//! ```text
//! experiment ─► run (specification) ─► task ─► pool ─► store ─► summary (stats) ─► report (figure)
//! ```
//!
//! [`Registry`] holds the modules, tasks, metrics and figures there are. A program of one's own adds to it, and everything here works
//! on what was added. Progress and cancelling are arguments; nothing prints.
//!
//! ```
//! use nalm_lab::{Registry, experiment::Overrides, pool, store::Segment};
//!
//! let registry = Registry::default();
//! let experiment = registry.load("single-module-snmu", &Overrides::preset("smoke"))?;
//! let folder = tempfile::tempdir().unwrap();
//! let store = registry.store(folder.path());
//! let mut segment = Segment::create(&store, &[])?;
//! let order = pool::Order { runs: &experiment.runs, threads: 2, ..pool::Order::default() };
//! pool::carry_out(&registry.catalogue, &order, &pool::Quiet::default(), |finished| segment.keep(finished.as_ref()))?;
//! segment.seal()?;
//! let contents = store.index()?.everything()?;
//! assert_eq!(contents.rows.len(), experiment.runs.len());
//! let found = registry.report(&experiment, &contents, &folder.path().join("report"))?;
//! assert!(folder.path().join("report/single-module-snmu.html").exists() && found.rows == 9);
//! # Ok::<(), nalm_lab::Error>(())
//! ```

pub mod cluster;
pub mod error;
pub mod experiment;
pub mod figure;
pub mod files;
pub mod fit;
pub mod memory;
pub mod pool;
mod registry;
pub mod report;
pub mod run;
pub mod stats;
pub mod store;
pub mod summary;
pub mod task;

pub use error::{Error, Result};
pub use registry::Registry;

// The code in the README compiles and does what it says.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

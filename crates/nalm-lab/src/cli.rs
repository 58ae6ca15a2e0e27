//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Neural Arithmetic Logic Modules: units whose weights read as arithmetic, under one protocol.
#[derive(Debug, Parser)]
#[command(name = "nalm", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// NMU and sNMU side by side on U[-2,-1), in a second.
    Demo(Demo),
    /// Modules, noises, denoisers, tasks or ranges.
    List(List),
    /// One run: errors as it goes, weights at the end.
    Train(Box<Train>),
    /// Success, solved-at and sparsity intervals for a table of runs.
    Stats(Stats),
    /// Hand-written gradients against central differences.
    Gradcheck(Gradcheck),
    /// Nanoseconds per training step.
    Bench(Bench),
}

/// Train an NMU and an sNMU with the same seeds on U[-2,-1) and say what came of it.
#[derive(Args, Debug)]
#[command(after_help = "Example: nalm demo --seeds 10")]
pub(crate) struct Demo {
    /// Seeds of each unit.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
}

/// What there is, with formulas and citations.
#[derive(Args, Debug)]
#[command(after_help = "Example: nalm list modules --json")]
pub(crate) struct List {
    /// What to list.
    pub(crate) what: Listing,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listing {
    Modules,
    Noise,
    Denoisers,
    Tasks,
    Ranges,
}

/// Train one network on one task.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm train --module snmu --range 'U[-2,-1)' --seed 3\n  nalm train --task arithmetic --module snmu --range 'U[-2,2)' --steps 20000\n  nalm train --module real-npu --operation div --range 'U[1,2)' --test-range 'U[2,6)' --json"
)]
pub(crate) struct Train {
    /// The unit; in the arithmetic task, the one behind a NAU.
    #[arg(long, default_value = "nmu")]
    pub(crate) module: String,
    /// The task.
    #[arg(long, default_value = "single-module")]
    pub(crate) task: String,
    /// The operation to learn.
    #[arg(long, default_value = "mul")]
    pub(crate) operation: nalm::Operation,
    /// Number of inputs [default: the task's]
    #[arg(long)]
    pub(crate) inputs: Option<usize>,
    /// Training range.
    #[arg(long, default_value = "U[1,2)")]
    pub(crate) range: nalm::Distribution,
    /// Test range [default: the published one of the training range]
    #[arg(long)]
    pub(crate) test_range: Option<nalm::Distribution>,
    /// Seed.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Last step [default: 50000, or 5000000 for the arithmetic task]
    #[arg(long)]
    pub(crate) steps: Option<u64>,
    /// Random streams: fast or reference.
    #[arg(long, default_value = "fast")]
    pub(crate) stream: nalm::Stream,
    /// Noise of an sNMU, such as U[1,5], batch or constant(3).
    #[arg(long)]
    pub(crate) noise: Option<nalm::Noise>,
    /// Denoiser of an sNMU.
    #[arg(long)]
    pub(crate) denoiser: Option<nalm::Denoiser>,
    /// Hidden units of an MLP.
    #[arg(long)]
    pub(crate) hidden: Option<usize>,
    /// Learning rate [default: the module's published one]
    #[arg(long)]
    pub(crate) learning_rate: Option<f64>,
    /// Variance of the gradient noise at step 0.
    #[arg(long)]
    pub(crate) gradient_noise: Option<f64>,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the logged errors to this CSV file.
    #[arg(long)]
    pub(crate) curve: Option<PathBuf>,
}

/// Intervals for anybody's runs: a CSV with the columns seed, solved, solved_at, sparsity_error, and any others to group by.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm stats runs.csv\n  nalm stats runs.csv --paired NMU,sNMU\n\nsolved is true or false; solved_at and sparsity_error may be NA."
)]
pub(crate) struct Stats {
    /// The table.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print CSV.
    #[arg(long)]
    pub(crate) csv: bool,
    /// Compare two values of the first grouping column over common seeds: McNemar's test on success, the sign test on
    /// solved-at.
    #[arg(long, value_name = "A,B")]
    pub(crate) paired: Option<String>,
}

/// Check gradients in double precision; exits with 1 if any relative error is above 1e-6.
#[derive(Args, Debug)]
#[command(after_help = "Example: nalm gradcheck npu")]
pub(crate) struct Gradcheck {
    /// One module only.
    pub(crate) module: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Time training steps: batch 128, sampling, penalty, Adam and clamp included, evaluation excluded.
#[derive(Args, Debug)]
#[command(after_help = "Example: nalm bench --json")]
pub(crate) struct Bench {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

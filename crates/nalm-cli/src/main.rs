//! The laboratory: `nalm`, one binary from a question about arithmetic units to an answer with intervals.

/// A line on the standard error. If nobody reads it, that is no reason to stop.
macro_rules! say {
    ($($text:tt)*) => {
        _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($text)*)))
    };
}

mod cli;
mod cmd;
mod curve;
mod figure;
mod formula;
mod images;
mod machine;
mod page;
mod pool;
mod readme;
mod report;
mod row;
mod runspec;
mod schedule;
mod stats;
mod store;
mod suite;
mod summary;
mod tensors;
mod variation;

use clap::Parser;
use cli::{Cli, Verb};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Demo(arguments) => cmd::demo::run(&arguments),
        Verb::List(arguments) => cmd::list::run(&arguments),
        Verb::Train(arguments) => cmd::train::run(&arguments),
        Verb::Run(arguments) => cmd::run::run(&arguments),
        Verb::Status(arguments) => cmd::report::status(&arguments),
        Verb::Report(arguments) => cmd::report::run(&arguments),
        Verb::Reproduce(arguments) => cmd::run::reproduce(&arguments),
        Verb::Verify(arguments) => cmd::verify::run(&arguments),
        Verb::Export(arguments) => cmd::report::export(&arguments),
        Verb::Store(arguments) => cmd::store::run(&arguments),
        Verb::Describe(arguments) => cmd::describe::run(&arguments),
        Verb::Stats(arguments) => cmd::stats::run(&arguments),
        Verb::Gradcheck(arguments) => cmd::gradcheck::run(&arguments),
        Verb::Bench(arguments) => cmd::bench::run(&arguments),
        Verb::Completions(arguments) => cmd::completions::run(&arguments),
        Verb::Man => cmd::completions::man(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say!("nalm: {error:#}");
            exit_code(&error)
        }
    }
}

/// 75 (EX_TEMPFAIL) where the same command continues, 74 (EX_IOERR) where the disk is at fault, else 1.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    if error.is::<cmd::run::Interrupted>() {
        return ExitCode::from(75);
    }
    let mut causes = error.chain().filter_map(|e| e.downcast_ref::<std::io::Error>());
    if causes.any(|e| matches!(e.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)) {
        return ExitCode::from(74);
    }
    ExitCode::FAILURE
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|e| e.downcast_ref::<std::io::Error>()).any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

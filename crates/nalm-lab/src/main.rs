//! The laboratory: `nalm`, one binary from a question about arithmetic units to an answer with intervals.

mod cli;
mod cmd;
mod figure;
mod pool;
mod report;
mod row;
mod runspec;
mod stats;
mod store;
mod suite;
mod summary;

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
        Verb::Export(arguments) => cmd::report::export(&arguments),
        Verb::Stats(arguments) => cmd::stats::run(&arguments),
        Verb::Gradcheck(arguments) => cmd::gradcheck::run(&arguments),
        Verb::Bench(arguments) => cmd::bench::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nalm: {error:#}");
            // EX_TEMPFAIL: the same command continues.
            if error.is::<cmd::run::Interrupted>() { ExitCode::from(75) } else { ExitCode::FAILURE }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|e| e.downcast_ref::<std::io::Error>()).any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

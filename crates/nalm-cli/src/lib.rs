//! The command line of the laboratory. `nalm` calls [`run`] with the registry of this project; a program of one's own calls it with what it
//! has added, and every verb works on that, too.
//!
//! ```no_run
//! use nalm_lab::Registry;
//!
//! let mut registry = Registry::default();
//! // registry.catalogue.add_module(my_unit::spec(), my_unit::spec());
//! nalm_cli::run(&registry, std::env::args_os());
//! ```

/// A line on the standard error. If nobody reads it, that is no reason to stop.
macro_rules! say {
    ($($text:tt)*) => {
        _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($text)*)))
    };
}

mod arguments;
mod cmd;
mod progress;

use arguments::{Cli, Verb};
use clap::Parser;
use nalm_lab::Registry;
use std::ffi::OsString;
use std::process::ExitCode;

/// Does what the arguments say; the first of them is the name of the program.
pub fn run(registry: &Registry, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let verb = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.verb,
        Err(error) => {
            _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let result = match verb {
        Verb::Demo(arguments) => cmd::demo::run(&arguments),
        Verb::List(arguments) => cmd::list::run(registry, &arguments),
        Verb::Train(arguments) => cmd::train::run(registry, &arguments),
        Verb::Run(arguments) => cmd::run::run(registry, &arguments),
        Verb::Status(arguments) => cmd::status::run(registry, &arguments),
        Verb::Report(arguments) => cmd::report::run(registry, &arguments),
        Verb::Reproduce(arguments) => cmd::run::reproduce(registry, &arguments),
        Verb::Verify(arguments) => cmd::verify::run(registry, &arguments),
        Verb::Export(arguments) => cmd::export::run(registry, &arguments),
        Verb::Store(arguments) => cmd::store::run(&arguments),
        Verb::Describe(arguments) => cmd::describe::run(registry, &arguments),
        Verb::Stats(arguments) => cmd::stats::run(registry, &arguments),
        Verb::Gradcheck(arguments) => cmd::gradcheck::run(registry, &arguments),
        Verb::Bench(arguments) => cmd::bench::run(&arguments),
        Verb::Completions(arguments) => cmd::completions::run(&arguments),
        Verb::Man => cmd::completions::man(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough.
        Err(error) if io_kinds(&error).any(|kind| kind == std::io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            say!("nalm: {error:#}");
            exit_code(&error)
        }
    }
}

/// 75 (EX_TEMPFAIL) where the same command continues, 74 (EX_IOERR) where the disk is at fault, else 1.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let lab = error.chain().find_map(|cause| cause.downcast_ref::<nalm_lab::Error>());
    if lab.is_some_and(|error| matches!(error.root(), nalm_lab::Error::Stopped)) {
        return ExitCode::from(75);
    }
    let disk = io_kinds(error).any(|kind| matches!(kind, StorageFull | QuotaExceeded | ReadOnlyFilesystem));
    if disk { ExitCode::from(74) } else { ExitCode::FAILURE }
}

/// The kinds of all failures of files in an error.
fn io_kinds(error: &anyhow::Error) -> impl Iterator<Item = std::io::ErrorKind> {
    error.chain().filter_map(|cause| {
        let lab = cause.downcast_ref::<nalm_lab::Error>().and_then(nalm_lab::Error::io);
        cause.downcast_ref::<std::io::Error>().or(lab).map(std::io::Error::kind)
    })
}

//! The command line of the laboratory. `nalm` calls [`run`] with the registry of this project; a program of one's own calls it with what it
//! has added, and every verb works on that, too.
//!
//! ```no_run
//! use nalm_lab::Registry;
//!
//! let mut registry = Registry::default();
//! // registry.catalogue.add_module(my_unit::spec(), my_unit::spec()).expect("the name is free");
//! nalm_cli::run(&registry, std::env::args_os());
//! ```

/// A line on the standard error, unless nothing is to be said. If nobody reads it, that is no reason to stop.
macro_rules! say {
    ($($text:tt)*) => {
        if !$crate::terminal::is_quiet() {
            $crate::terminal::say(&$crate::shown(&format!("{}\n", format_args!($($text)*))));
        }
    };
}

mod arguments;
mod cmd;
mod defaults;
mod exit;
mod progress;
mod signal;
mod terminal;
mod usage;

use arguments::{Cli, Verb};
use clap::{CommandFactory, FromArgMatches};
use nalm_lab::Registry;
use std::borrow::Cow;
use std::ffi::OsString;
use std::process::ExitCode;

// The code in the README compiles and does what it says.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// Text for a terminal: names of files and of groups may hold what would move its cursor.
fn shown(text: &str) -> Cow<'_, str> {
    let moves = |c: char| c.is_control() && !['\n', '\t'].contains(&c);
    if text.contains(moves) { text.replace(moves, "\u{fffd}").into() } else { text.into() }
}

/// Does what the arguments say; the first of them is the name of the program.
pub fn run(registry: &Registry, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let typed: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match defaults::apply(registry, Cli::command()) {
        Ok(mut command) => {
            command.try_get_matches_from_mut(&typed).and_then(|mut found| Cli::from_arg_matches_mut(&mut found))
        }
        Err(error) => {
            terminal::complain(&error.to_string());
            return ExitCode::from(exit::code(&error.into()));
        }
    };
    let (memory, instructions, verb) = match parsed {
        Ok(cli) => {
            terminal::set_level(cli.quiet, cli.verbose);
            cli.instructions.into_iter().for_each(nalm::InstructionSet::prefer);
            cli.memory.into_iter().for_each(|bytes| registry.catalogue.memory.set(bytes));
            (cli.memory, cli.instructions, cli.verb)
        }
        Err(error) => {
            match usage::wrong(&error, &typed) {
                Some(text) => terminal::complain(&text),
                None => _ = error.print(),
            }
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    if let Err(error) = signal::install() {
        say!("nalm: signals will not be heard: {error}");
    }
    let result = match verb {
        Verb::Demo { seeds, html } => cmd::demo::run(registry, seeds, html.as_deref()),
        Verb::Compare(arguments) => cmd::compare::run(registry, &arguments),
        Verb::New { file } => cmd::new::run(registry, &file),
        Verb::List { what, name, json } => cmd::list::run(registry, what, name.as_deref(), json),
        Verb::Train(arguments) => cmd::train::run(registry, &arguments),
        Verb::Run(arguments) => cmd::run::run(registry, &arguments),
        Verb::Submit(arguments) => {
            cmd::submit::run(registry, &arguments, &cmd::submit::Machine { memory, instructions })
        }
        Verb::Status(arguments) => cmd::status::run(registry, &arguments),
        Verb::Report(arguments) => cmd::report::run(registry, &arguments),
        Verb::Reproduce(arguments) => cmd::run::reproduce(registry, &arguments),
        Verb::Verify(arguments) => cmd::verify::run(registry, &arguments),
        Verb::Claims(arguments) => cmd::claims::run(registry, &arguments),
        Verb::Export(arguments) => cmd::export::run(registry, &arguments),
        Verb::Store(action) => cmd::store::run(registry, &action),
        Verb::Describe { model, inputs, svg } => cmd::describe::run(registry, &model, inputs, svg.as_deref()),
        Verb::Stats(arguments) => cmd::stats::run(registry, &arguments),
        Verb::Gradcheck { module, json } => cmd::gradcheck::run(registry, module.as_deref(), json),
        Verb::Fit(arguments) => cmd::fit::run(registry, &arguments).map_err(cmd::fit::with_options),
        Verb::Predict(arguments) => cmd::predict::run(registry, &arguments).map_err(cmd::fit::with_options),
        Verb::Check(arguments) => cmd::check::run(registry, &arguments).map_err(cmd::fit::with_options),
        Verb::Bench { json, what: None } => cmd::bench::run(json),
        Verb::Bench { what: Some(arguments::Bench::Growth { figure }), .. } => {
            cmd::bench_growth::run(registry, &figure)
        }
        Verb::Bench { what: Some(arguments::Bench::Fit(arguments)), .. } => cmd::bench_fit::run(registry, &arguments),
        Verb::Completions { shell } => cmd::completions::run(registry, shell),
        Verb::Man { verb, out } => cmd::completions::man(registry, verb.as_deref(), out.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = exit::code(&error);
            if code != 0 {
                // Whatever else is written says so itself.
                let output = error.downcast_ref::<std::io::Error>().filter(|_| error.chain().count() == 1);
                let place = output.map_or("", |_| "cannot write to the standard output: ");
                terminal::complain(&format!("{place}{error:#}"));
            }
            ExitCode::from(code)
        }
    }
}

//! Defaults of one's own: a file `nalm.toml` in the working folder. The environment comes before it, and what is typed before both.

use clap::Command;
use clap::builder::Resettable;
use nalm_lab::experiment::reading;
use nalm_lab::{Error, Registry, files};
use std::path::Path;

/// What the file may say, and the option that it is the default of.
const KEYS: [&str; 5] = ["store", "threads", "out", "mnist", "memory"];

/// Those of them that are paths.
const PATHS: [&str; 3] = ["store", "out", "mnist"];

/// The file.
pub(crate) const FILE: &str = "nalm.toml";

/// The command line with the defaults of the file, if there is one.
pub(crate) fn apply(registry: &Registry, command: Command) -> Result<Command, Error> {
    let command = without_empty(command);
    if !Path::new(FILE).exists() {
        return Ok(command);
    }
    let text = files::read(&*registry.files, Path::new(FILE))?;
    let table: toml::Table = reading::read(FILE, &String::from_utf8_lossy(&text))?;
    let mut command = command;
    for (key, value) in table {
        let Some(&option) = KEYS.iter().find(|known| **known == key) else {
            return Err(Error::At {
                place: FILE.into(),
                cause: Box::new(nalm::Error::unknown("key", &key, &KEYS).into()),
            });
        };
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) if !PATHS.contains(&option) => number.to_string(),
            other => {
                let want = if PATHS.contains(&option) { "a path in quotes" } else { "text or a whole number" };
                return Err(Error::Request(format!("{FILE}: {key} is {other}; it must be {want}")));
            }
        };
        command = with(command, option, value.leak());
    }
    Ok(command)
}

/// The same without variables of the environment that are empty: that is how shells write that there is none.
fn without_empty(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.get_env().and_then(std::env::var_os) {
        Some(value) if value.is_empty() => argument.env(Resettable::Reset),
        _ => argument,
    });
    command.mut_subcommands(without_empty)
}

/// The same without any variable of the environment.
pub(crate) fn without_environment(command: Command) -> Command {
    command.mut_args(|argument| argument.env(Resettable::Reset)).mut_subcommands(without_environment)
}

/// The same with a default for an option, wherever there is one of that name.
fn with(mut command: Command, option: &'static str, value: &'static str) -> Command {
    if command.get_arguments().any(|argument| argument.get_id() == option) {
        command = command.mut_arg(option, |argument| argument.default_value(value));
    }
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_string()).collect();
    verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(verb, |verb| with(verb, option, value)))
}

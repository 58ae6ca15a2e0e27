//! Defaults of one's own: a file `nalm.toml` in the working folder. The environment comes before it, and what is typed before both.

use clap::Command;
use nalm_lab::Error;
use std::path::Path;

/// What the file may say, and the option that it is the default of.
const KEYS: [(&str, &str); 5] =
    [("store", "store"), ("threads", "threads"), ("out", "out"), ("mnist", "mnist"), ("memory", "memory")];

/// The file.
pub(crate) const FILE: &str = "nalm.toml";

/// The command line with the defaults of the file, if there is one.
pub(crate) fn apply(command: Command) -> Result<Command, Error> {
    let text = match std::fs::read_to_string(Path::new(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(command),
        Err(cause) => return Err(Error::File { what: format!("cannot read {FILE}"), cause }),
    };
    let table: toml::Table = text.parse().map_err(|error| Error::Request(format!("{FILE}: {error}")))?;
    let mut command = command;
    for (key, value) in table {
        let names = KEYS.map(|(key, _)| key);
        let Some((_, option)) = KEYS.iter().find(|(known, _)| *known == key) else {
            return Err(Error::At {
                place: FILE.into(),
                cause: Box::new(nalm::Error::unknown("key", &key, &names).into()),
            });
        };
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            other => {
                return Err(Error::Request(format!("{FILE}: {key} is {other}; it must be text or a whole number")));
            }
        };
        command = with(command, option, value.leak());
    }
    Ok(command)
}

/// The same with a default for an option, wherever there is one of that name.
fn with(mut command: Command, option: &'static str, value: &'static str) -> Command {
    if command.get_arguments().any(|argument| argument.get_id() == option) {
        command = command.mut_arg(option, |argument| argument.default_value(value));
    }
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_string()).collect();
    verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(verb, |verb| with(verb, option, value)))
}

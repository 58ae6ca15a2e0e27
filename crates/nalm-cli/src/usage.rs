//! What is wrong with what was typed, in the one form that all errors have.

use crate::arguments::Cli;
use crate::defaults;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error};
use std::error::Error as _;
use std::ffi::OsString;

/// The error as one sentence with its repair; nothing if it is no error but help.
pub(crate) fn wrong(error: &Error, typed: &[OsString]) -> Option<String> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let all = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(other) => vec![other.to_string()],
        None => Vec::new(),
    };
    let one = |kind: ContextKind| all(kind).into_iter().next();
    // Without the name of its value: --seed, not --seed <SEED>.
    let option = |text: String| match text.split_once(' ') {
        Some((name, _)) if text.starts_with('-') => name.to_string(),
        _ => text.trim_matches(['<', '>', '[', ']', '.']).to_lowercase(),
    };
    let invalid = one(ContextKind::InvalidArg).map(option);
    let meant = |kind: ContextKind| {
        let names: Vec<String> = all(kind).iter().map(|name| format!("'{name}'")).collect();
        if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
    };
    let help = help_of(error);
    Some(match (error.kind(), invalid, one(ContextKind::InvalidValue)) {
        (ErrorKind::ValueValidation, Some(name), Some(value)) => {
            let name = origin(&Cli::command(), &name, typed).unwrap_or(name);
            match error.source().map(ToString::to_string) {
                Some(text) if text.starts_with("it must be") => format!("{name} is {value}; {text}"),
                Some(text) => format!("{name}: {text}"),
                None => format!("{name} cannot be {value}"),
            }
        }
        (ErrorKind::InvalidValue, Some(name), Some(value)) if value.is_empty() => {
            let name = origin(&Cli::command(), &name, typed).unwrap_or(name);
            format!("{name} needs a value; see {help}")
        }
        (ErrorKind::InvalidValue, Some(name), Some(value)) if name == "listing" && value.starts_with("stack") => {
            "stacks are not listed; write one of modules with commas between them, as in nalm describe 'nau 100->3, snmu'".into()
        }
        (ErrorKind::InvalidValue, Some(name), Some(value)) => {
            let valid = all(ContextKind::ValidValue).join(", ");
            format!("unknown {name} '{value}'{} (valid: {valid})", meant(ContextKind::SuggestedValue))
        }
        // What does not look like an option was not meant as one.
        (ErrorKind::UnknownArgument, Some(name), _) if !name.starts_with('-') => {
            let name = one(ContextKind::InvalidArg).unwrap_or(name);
            format!("'{name}' is one argument too many; see {help}")
        }
        (ErrorKind::UnknownArgument, Some(name), _) => {
            format!("unknown option '{name}'{} ({help} lists all)", meant(ContextKind::SuggestedArg))
        }
        (ErrorKind::InvalidSubcommand, ..) => {
            let name = one(ContextKind::InvalidSubcommand).unwrap_or_default();
            let mut meant = meant(ContextKind::SuggestedSubcommand);
            if meant.is_empty() {
                meant = nearest(&name).map_or(meant, |verb| format!("; did you mean '{verb}'?"));
            }
            format!("unknown verb '{name}'{meant} ({help} lists all)")
        }
        (ErrorKind::ArgumentConflict, Some(name), _) => {
            let others = all(ContextKind::PriorArg).into_iter().map(option);
            let others: Vec<String> = others.filter(|other| *other != name).collect();
            match others.is_empty() {
                true => format!("{name} cannot be given twice"),
                false => format!("{name} cannot be used with {}", others.join(" and ")),
            }
        }
        (ErrorKind::MissingSubcommand, ..) => format!("nothing is given to do; {help} lists all verbs"),
        (ErrorKind::MissingRequiredArgument, ..) => {
            let names: Vec<String> = all(ContextKind::InvalidArg).into_iter().map(option).collect();
            format!("nothing is given for {}; see {help}", names.join(" or "))
        }
        _ => {
            let text = error.render().to_string();
            let text = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
            format!("{}; see {help}", text.split_whitespace().collect::<Vec<_>>().join(" "))
        }
    })
}

/// The verb that a name is like, which nobody is told after `nalm help`.
fn nearest(name: &str) -> Option<String> {
    let command = Cli::command();
    let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    match nalm::Error::unknown("verb", name, &verbs) {
        nalm::Error::Unknown { nearest, .. } => nearest,
        _ => None,
    }
}

/// Where the value of an option was said if it was not typed: in the environment, or in the file of defaults.
fn origin(command: &Command, option: &str, typed: &[OsString]) -> Option<String> {
    let long = option.strip_prefix("--")?;
    let argument = declared(command, long)?;
    let of_this = |word: &str| {
        // Several short ones may stand together, such as -qj2.
        let together = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let short = argument.get_short().is_some_and(|short| together.is_some_and(|all| all.contains(short)));
        short || word == option || word.starts_with(&format!("{option}="))
    };
    if typed.iter().any(|word| of_this(&word.to_string_lossy())) {
        return None;
    }
    let variable = argument.get_env().filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    Some(variable.map_or_else(|| format!("{}: {long}", defaults::FILE), |name| name.to_string_lossy().into_owned()))
}

/// The option of this name, wherever it is.
fn declared<'c>(command: &'c Command, long: &str) -> Option<&'c Arg> {
    let own = command.get_arguments().find(|argument| argument.get_long() == Some(long));
    own.or_else(|| command.get_subcommands().find_map(|verb| declared(verb, long)))
}

/// The command that says more: that of the verb in the usage line.
fn help_of(error: &Error) -> String {
    let text = error.render().to_string();
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or("nalm");
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    format!("{} --help", usage.split_whitespace().take_while(plain).collect::<Vec<_>>().join(" "))
}

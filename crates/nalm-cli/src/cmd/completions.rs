//! `nalm completions` and `nalm man`: generated from the definition of the command line, with the names of everything there is.

use crate::arguments::Cli;
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use nalm::noise::NOISES;
use nalm::task::PAPER_RANGES;
use nalm_lab::experiment::built_in;
use nalm_lab::{Registry, files};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(registry: &Registry, shell: clap_complete::Shell) -> Result<()> {
    let mut command = with_names(registry, Cli::command());
    // By way of memory, because the generator panics where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "nalm", &mut text);
    Ok(std::io::stdout().write_all(&text)?)
}

/// The command line with the names that an argument may have; others are taken, too, but a shell cannot guess them.
fn with_names(registry: &Registry, command: Command) -> Command {
    // Names of this kind must last as long as the program, which ends with them.
    fn last(names: impl IntoIterator<Item = impl ToString>) -> Vec<&'static str> {
        names.into_iter().map(|name| &*name.to_string().leak()).collect()
    }
    let modules = last(registry.catalogue.modules().iter().map(|module| module.single.name));
    let tasks = last(registry.catalogue.tasks().iter().map(|task| task.name()));
    let experiments = last(built_in::names(&registry.catalogue));
    let all = [
        ("module", modules.clone()),
        ("models", modules.clone()),
        ("model", [&modules[..], &tasks].concat()),
        ("task", tasks),
        ("experiments", experiments.clone()),
        ("experiment", experiments),
        ("noise", last(NOISES.iter().map(|noise| noise.example))),
        ("range", last(PAPER_RANGES.iter().map(|(train, _)| train))),
        ("preset", vec!["smoke", "quick", "laptop", "paper"]),
    ];
    all.iter().fold(command, |command, (argument, names)| with(command, argument, names))
}

/// The same with names for an argument, wherever there is one.
fn with(mut command: Command, argument: &str, names: &[&'static str]) -> Command {
    if command.get_arguments().any(|known| known.get_id() == argument) {
        command = command.mut_arg(argument, |known| known.value_parser(PossibleValuesParser::new(names.to_vec())));
    }
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_string()).collect();
    verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(verb, |verb| with(verb, argument, names)))
}

pub(crate) fn man(registry: &Registry, verb: Option<&str>, out: Option<&Path>) -> Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let pages = pages(&command);
    if let Some(folder) = out {
        for (name, page) in &pages {
            files::replace(&*registry.files, &folder.join(format!("{name}.1")), page)?;
        }
        say!("{} pages are written into {}", pages.len(), folder.display());
        return Ok(());
    }
    let wanted = verb.map_or("nalm".into(), |verb| format!("nalm-{}", verb.replace(' ', "-")));
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.trim_start_matches("nalm-")).collect();
    let found = pages.iter().find(|(name, _)| *name == wanted);
    let (_, page) = found.ok_or_else(|| nalm::Error::unknown("verb", verb.unwrap_or_default(), &names[1..]))?;
    Ok(std::io::stdout().write_all(page)?)
}

/// The page of the program and of every verb, by name. What a page refers to is there.
fn pages(command: &Command) -> Vec<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.clone()).render(&mut page).expect("a vector takes everything");
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    [(name, page)].into_iter().chain(verbs.flat_map(pages)).collect()
}

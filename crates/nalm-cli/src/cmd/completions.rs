//! `nalm completions` and `nalm man`: generated from the definition of the command line, with the names of everything there is.

use super::list;
use crate::arguments::{Cli, Listing};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use nalm::denoiser::DENOISERS;
use nalm::noise::{NOISES, NoiseSpec};
use nalm::second_order::schedule;
use nalm::task::PAPER_RANGES;
use nalm::{Operation, Stream};
use nalm_lab::experiment::built_in;
use nalm_lab::{Registry, files};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(registry: &Registry, shell: Shell) -> Result<()> {
    let command = Cli::command();
    let mut names = names(registry, &command);
    if shell == Shell::Zsh {
        // Which names can follow depends on the word before, which only the other two are told.
        names.push(("name", listed(registry)?.into_iter().flat_map(|(_, names)| names).collect()));
    }
    if shell == Shell::Fish {
        names.iter_mut().flat_map(|(_, names)| names).for_each(|name| *name = escaped(name));
    }
    let mut command = names.iter().fold(command, |command, (argument, names)| with(command, argument, names));
    // By way of memory, because the generator panics where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "nalm", &mut text);
    let more = match shell {
        Shell::Bash => bash(&listed(registry)?),
        Shell::Fish => fish(&command, &listed(registry)?),
        _ => String::new(),
    };
    text.extend(more.bytes());
    Ok(std::io::stdout().write_all(&text)?)
}

/// The names that arguments may have; others are taken, too, but a shell cannot guess them.
fn names(registry: &Registry, command: &Command) -> Vec<(&'static str, Vec<String>)> {
    fn all(names: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
        names.into_iter().map(|name| name.to_string()).collect()
    }
    let aliases = registry.catalogue.aliases().iter().map(|alias| alias.name);
    let modules = all(registry.catalogue.modules().iter().map(|module| module.single.name).chain(aliases));
    let tasks = all(registry.catalogue.tasks().iter().map(|task| task.name()));
    let experiments = all(built_in::names(&registry.catalogue));
    vec![
        ("module", modules.clone()),
        ("models", modules.clone()),
        ("model", [&modules[..], &tasks].concat()),
        ("task", tasks),
        ("experiments", experiments.clone()),
        ("experiment", experiments),
        ("noise", all(NOISES.iter().map(NoiseSpec::written))),
        ("denoiser", all(DENOISERS.iter().map(|denoiser| denoiser.name))),
        ("operation", all(Operation::ALL)),
        ("stream", all([Stream::Fast, Stream::Reference])),
        ("schedule", all(schedule::list().iter().map(|schedule| schedule.name))),
        ("range", all(PAPER_RANGES.iter().map(|(train, _)| train))),
        ("test_range", all(PAPER_RANGES.iter().map(|(_, test)| test))),
        ("preset", all(["smoke", "quick", "laptop", "paper"])),
        ("verb", all(command.get_subcommands().map(Command::get_name))),
    ]
}

/// What `nalm list` knows by name, listing by listing.
fn listed(registry: &Registry) -> Result<Vec<(String, Vec<String>)>> {
    let listings = Listing::value_variants().iter();
    let named =
        |what: &Listing| Some((what.to_possible_value()?.get_name().to_string(), list::names_of(registry, *what)));
    listings.filter_map(named).map(|(listing, names)| Ok((listing, names?))).collect()
}

/// Text that fish takes for itself where it reads words: brackets would be parts of commands.
fn escaped(name: &str) -> String {
    name.chars().flat_map(|c| "()[]".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

/// What the generator leaves out for bash: the names after a listing, and brackets, which no word may have unless it is quoted.
fn bash(listed: &[(String, Vec<String>)]) -> String {
    let case =
        |(listing, names): &(String, Vec<String>)| format!("            {listing}) names=\"{}\" ;;\n", names.join(" "));
    format!(
        r#"
_nalm_words() {{
    local k word names=""
    _nalm "$@"
    if [[ "${{COMP_WORDS[1]}}" == list && "${{COMP_CWORD}}" -ge 3 && "$2" != -* ]]; then
        case "${{COMP_WORDS[2]}}" in
{}        esac
        COMPREPLY=( $(compgen -W "${{names}}" -- "$2") )
    fi
    if [[ "${{COMP_WORDS[COMP_CWORD]}}" != [\'\"]* ]]; then
        for k in "${{!COMPREPLY[@]}}"; do
            if [[ "${{COMPREPLY[k]}}" == *[\(\[]* ]]; then
                printf -v word %q "${{COMPREPLY[k]}}"
                COMPREPLY[k]="${{word}}"
            fi
        done
    fi
}}
if [[ "${{BASH_VERSINFO[0]}}" -eq 4 && "${{BASH_VERSINFO[1]}}" -ge 4 || "${{BASH_VERSINFO[0]}}" -gt 4 ]]; then
    complete -F _nalm_words -o nosort -o bashdefault -o default nalm
else
    complete -F _nalm_words -o bashdefault -o default nalm
fi
"#,
        listed.iter().map(case).collect::<String>()
    )
}

/// What the generator leaves out for fish: words that are no options.
fn fish(command: &Command, listed: &[(String, Vec<String>)]) -> String {
    let line = |condition: &str, files: &str, names: &[String]| {
        format!("complete -c nalm -n \"__fish_nalm_using_subcommand {condition}\"{files} -a '{}'\n", names.join(" "))
    };
    let mut text = String::new();
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "list") {
        for argument in verb.get_positionals() {
            let values = argument.get_possible_values();
            // They are escaped already; within these quotes, a backslash stays one.
            let names: Vec<String> = values.iter().map(|value| value.get_name().to_string()).collect();
            // An experiment may be a file.
            let files = if argument.get_id() == "experiments" { "" } else { " -f" };
            if !names.is_empty() {
                text += &line(verb.get_name(), files, &names);
            }
        }
    }
    let listings: Vec<String> = listed.iter().map(|(listing, _)| listing.clone()).collect();
    text += &line(&format!("list; and not __fish_seen_subcommand_from {}", listings.join(" ")), " -f", &listings);
    for (listing, names) in listed {
        let names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
        text += &line(&format!("list; and __fish_seen_subcommand_from {listing}"), " -f", &names);
    }
    text
}

/// The same with names for an argument, wherever there is one.
fn with(mut command: Command, argument: &str, names: &[String]) -> Command {
    if command.get_arguments().any(|known| known.get_id() == argument) {
        // Names of this kind must last as long as the program, which ends with them.
        let names = names.iter().map(|name| &*name.clone().leak());
        command = command.mut_arg(argument, |known| known.value_parser(PossibleValuesParser::new(names)));
    }
    // What the benchmark calls noise is a number, and a saved model is a file.
    let is_other = |verb: &str| match argument {
        "model" => ["predict", "check"].contains(&verb),
        _ => verb == "bench",
    };
    let verbs = command.get_subcommands().map(Command::get_name).filter(|verb| !is_other(verb));
    let verbs: Vec<String> = verbs.map(String::from).collect();
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

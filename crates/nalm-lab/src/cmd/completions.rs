//! `nalm completions` and `nalm man`: generated from the definition of the command line.

use crate::cli::{Cli, Completions};
use anyhow::Result;
use clap::CommandFactory;

pub(crate) fn run(arguments: &Completions) -> Result<()> {
    clap_complete::generate(arguments.shell, &mut Cli::command(), "nalm", &mut std::io::stdout());
    Ok(())
}

pub(crate) fn man() -> Result<()> {
    clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout())?;
    Ok(())
}

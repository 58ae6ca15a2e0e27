//! `nalm completions` and `nalm man`: generated from the definition of the command line.

use crate::arguments::Cli;
use anyhow::Result;
use clap::CommandFactory;
use std::io::Write;

pub(crate) fn run(shell: clap_complete::Shell) -> Result<()> {
    // By way of memory, because the generator panics where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "nalm", &mut text);
    Ok(std::io::stdout().write_all(&text)?)
}

pub(crate) fn man() -> Result<()> {
    clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout())?;
    Ok(())
}

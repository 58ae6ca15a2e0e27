//! `nalm`: one binary from a question about arithmetic units to an answer with intervals.

use nalm_lab::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    nalm_cli::run(&Registry::default(), std::env::args_os())
}

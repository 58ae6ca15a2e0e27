//! `nalm`: one binary from a question about arithmetic units to an answer with intervals.

use nalm_lab::Registry;
use std::process::ExitCode;

#[cfg(not(feature = "faults"))]
fn main() -> ExitCode {
    nalm_cli::run(&Registry::default(), std::env::args_os())
}

/// The same with a disk that fails as `NALM_FAULT` says; only tests are built so.
#[cfg(feature = "faults")]
fn main() -> ExitCode {
    use nalm_lab::files::faulty::Faulty;
    let mut registry = Registry::default();
    let faulty = std::env::var("NALM_FAULT").ok().map(|text| Faulty::parse(&text).expect("a fault such as kill:17"));
    if let Some(faulty) = &faulty {
        registry.files = std::sync::Arc::new(faulty.clone());
    }
    let code = nalm_cli::run(&registry, std::env::args_os());
    if faulty.is_some_and(|faulty| !faulty.is_reached()) {
        eprintln!("NALM_FAULT was not reached");
    }
    code
}

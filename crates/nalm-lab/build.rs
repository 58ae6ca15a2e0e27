//! Tells the program which revision it was built from.

use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    // A package says what it was made from; the repository that it may lie in is another one.
    let packaged = fs::read_to_string(".cargo_vcs_info.json").ok();
    let packaged = packaged.as_deref().and_then(|text| text.split_once("\"sha1\": \"")?.1.get(..12));
    let revision = packaged.map(String::from).or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let revision = revision.unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=NALM_REVISION={revision}");
    println!("cargo:rerun-if-changed=build.rs");
    // A commit moves what HEAD points to.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
}

//! What a person sees: help, listings, errors and tables, kept as snapshots.

mod common;

use common::{nalm, succeed};
use std::path::Path;

fn screen(folder: &Path, arguments: &[&str]) -> String {
    let output = nalm(folder, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(folder.to_str().unwrap(), "FOLDER");
    let code = output.status.code().unwrap_or(-1);
    format!("$ nalm {}\n{}{}[exit {code}]\n", arguments.join(" "), text(&output.stdout), text(&output.stderr))
}

fn screens(folder: &Path, all: &[&[&str]]) -> String {
    all.iter().map(|arguments| screen(folder, arguments)).collect::<Vec<_>>().join("\n")
}

#[test]
fn help() {
    let here = tempfile::tempdir().unwrap();
    let verbs = ["train", "run", "report", "verify", "describe", "export"].map(|verb| [verb, "--help"]);
    let mut all: Vec<&[&str]> = vec![&["--help"]];
    all.extend(verbs.iter().map(|arguments| &arguments[..]));
    insta::assert_snapshot!(screens(here.path(), &all));
}

#[cfg(feature = "images")]
#[test]
fn listings() {
    let here = tempfile::tempdir().unwrap();
    let what = ["modules", "noise", "denoisers", "tasks", "ranges", "experiments", "metrics", "figures"]
        .map(|what| ["list", what]);
    let all: Vec<&[&str]> = what.iter().map(|arguments| &arguments[..]).collect();
    insta::assert_snapshot!(screens(here.path(), &all));
}

#[test]
fn descriptions() {
    let here = tempfile::tempdir().unwrap();
    let all: &[&[&str]] = &[
        &["describe", "snmu"],
        &["describe", "nau-snmu", "--inputs", "100"],
        &["describe", "nau-nau-nmu", "--inputs", "10"],
        &["describe", "nau 100->3, nau 3->2, snmu"],
        &["describe", "stg-nmu"],
        &["describe", "arithmetic"],
        &["describe", "table"],
        &["describe", "snmu noise=U[1,2]"],
        &["describe", "nau-snmu-batch"],
        &["describe", "single-module", "--inputs", "5"],
        &["describe", "arithmetc"],
        &["list", "modules", "snmu-batch"],
    ];
    insta::assert_snapshot!(screens(here.path(), all));
}

#[test]
fn errors() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("data.csv"), "a,b,t\n1,2,2\n3,4,x\n").unwrap();
    std::fs::write(here.path().join("own.toml"), "title = \"Own\"\ntask = \"single-module\"\n[preset.a]\nseeds = 1\nranges = [\"U[3,4)\"]\n[[model]]\nmodule = \"nmu\"\n").unwrap();
    let all: &[&[&str]] = &[
        &["train", "--module", "smnu"],
        &["train", "--range", "U[3,4)"],
        &["train", "--range", "U[3,4)", "--test-range", "U[3,5)"],
        &["train", "--noise", "U[1,3]"],
        &["train", "--layers", "nau 2->3, nmu 2->1"],
        &["train", "--set", "ramp=5"],
        &["train", "--task", "table"],
        &["train", "--task", "table", "--data", "data.csv"],
        &["train", "--task", "table", "--data", "data.csv", "--target", "t"],
        &["run", "own.toml"],
        &["run", "single-module", "--set", "hiden=3"],
        &["run", "single-module", "--range", "U[3,4)", "--range", "U[5,6)", "--test-range", "U[6,7)"],
        &["report", "single-module", "--store", "nothing"],
        &["export", "--csv", "-", "--store", "nothing"],
        &["describe", "nau-smnu"],
    ];
    insta::assert_snapshot!(screens(here.path(), all));
}

/// An experiment of one's own, from the first run to the export.
#[test]
fn a_small_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let text = "title = \"Small\"\ntask = \"single-module\"\nanalysis = \"Two units.\"\nbaselines = [\"nmu\"]\n\
        [preset.a]\nseeds = 2\nsteps = 2000\nranges = [\"U[1,2)\", { train = \"U[3,4)\", test = \"U[4,10)\" }]\n\
        [[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n\
        [[expect]]\nmodel = \"nmu\"\nrange = \"U[1,2)\"\nis = 1.0\nsource = \"here\"\n";
    std::fs::write(here.join("small.toml"), text).unwrap();
    let shown = screens(
        here,
        &[
            &["run", "small.toml", "--dry-run"],
            &["run", "small.toml", "--set", "noise=U[1,3]", "--dry-run"],
            &["run", "small.toml", "--sweep", "noise=U[1,2];U[1,3]", "--dry-run"],
        ],
    );
    insta::assert_snapshot!("small_run", shown.replace("on 1 threads", "on 2 threads"));
    succeed(here, &["reproduce", "small.toml"]);
    let page = std::fs::read_to_string(here.join("report/small.md")).unwrap();
    // Who made the rows, when and on what, is different everywhere.
    let made =
        page.lines().filter(|line| !line.starts_with("4 of 4 runs. Made") && !line.starts_with("8 of 8 runs. Made"));
    insta::assert_snapshot!("small_page", made.collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!("small_export", succeed(here, &["export", "--csv", "-"]));
    insta::assert_snapshot!("small_train", succeed(here, &["train", "--steps", "3000", "--seed", "1"]));
}

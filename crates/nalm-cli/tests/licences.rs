//! What others wrote: every licence is one that was agreed to, and nothing is there twice.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Licences that ask for no more than to be named.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The licences that an expression is made of; `/` is how `OR` used to be written.
fn licences(expression: &str) -> Vec<String> {
    let spaced = expression.replace(['(', ')'], " ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let one = |words: &[&str]| words.join(" ");
    words.split(|word| ["AND", "OR"].contains(word)).map(one).collect()
}

fn run(program: &str, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(program).args(arguments).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What cargo tells about the packages that are needed on this machine.
fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let version = run("rustc", &["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let arguments = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host];
    serde_json::from_str(&run(&cargo, &arguments)).unwrap()
}

/// The packages of `metadata` by identity.
fn packages(metadata: &Value) -> BTreeMap<&str, &Value> {
    let all = metadata["packages"].as_array().unwrap();
    all.iter().map(|package| (package["id"].as_str().unwrap(), package)).collect()
}

fn is_proc_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().unwrap();
    targets.iter().any(|target| target["kind"].as_array().unwrap().contains(&"proc-macro".into()))
}

/// The workspace and everything that it needs to be built and run, tests and build scripts aside; with or without what only the compiler
/// runs.
fn needed<'a>(metadata: &'a Value, with_macros: bool) -> BTreeSet<&'a str> {
    let packages = packages(metadata);
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let node: BTreeMap<&str, &Value> = nodes.iter().map(|node| (node["id"].as_str().unwrap(), node)).collect();
    let mut found = BTreeSet::new();
    let members = metadata["workspace_members"].as_array().unwrap();
    let mut next: Vec<&'a str> = members.iter().map(|member| member.as_str().unwrap()).collect();
    while let Some(id) = next.pop() {
        if (!with_macros && is_proc_macro(packages[id])) || !found.insert(id) {
            continue;
        }
        for dependency in node[id]["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                next.push(dependency["pkg"].as_str().unwrap());
            }
        }
    }
    found
}

#[test]
fn every_licence_is_one_that_was_agreed_to() {
    let metadata = metadata();
    let packages = packages(&metadata);
    let needed = needed(&metadata, true);
    assert!(needed.len() > 50, "all of them are looked at: {}", needed.len());
    for id in needed {
        let expression = packages[id]["license"].as_str().unwrap_or_default();
        for licence in licences(expression) {
            assert!(ALLOWED.contains(&licence.as_str()), "{}: '{expression}'", packages[id]["name"]);
        }
    }
}

#[test]
fn expressions_are_taken_apart() {
    assert_eq!(licences("(MIT OR Apache-2.0) AND Unicode-3.0"), ["MIT", "Apache-2.0", "Unicode-3.0"]);
    assert_eq!(licences("Unlicense/MIT"), ["Unlicense", "MIT"]);
    assert_eq!(licences("Apache-2.0 WITH LLVM-exception OR MIT"), ["Apache-2.0 WITH LLVM-exception", "MIT"]);
    // Nothing said is nothing allowed.
    assert_eq!(licences(""), [""]);
}

/// Of what ends up in a binary. Macros run in the compiler, and what they need costs nobody anything.
#[test]
fn nothing_is_in_the_binary_in_two_versions() {
    let metadata = metadata();
    let packages = packages(&metadata);
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for id in needed(&metadata, false) {
        let text = |key: &str| packages[id][key].as_str().unwrap();
        versions.entry(text("name")).or_default().push(text("version"));
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(versions.is_empty(), "{versions:?}");
}

/// The notices name every package of the binary once, with version and licence.
#[test]
fn notices_name_everything_in_the_binary() {
    let text = run("scripts/notices.sh", &[]);
    let metadata = metadata();
    let packages = packages(&metadata);
    let members: Vec<&str> =
        metadata["workspace_members"].as_array().unwrap().iter().map(|member| member.as_str().unwrap()).collect();
    let others = needed(&metadata, false).into_iter().filter(|id| !members.contains(id));
    let mut expected: Vec<String> = others
        .map(|id| {
            let part = |key: &str| packages[id][key].as_str().unwrap();
            format!("{} {} ({})", part("name"), part("version"), part("license"))
        })
        .collect();
    expected.sort();
    let mut found: Vec<&str> = text.lines().filter(|line| line.ends_with(')')).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}

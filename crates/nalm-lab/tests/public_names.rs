//! The public names of every published crate, one line each, kept in snapshots: a change of the interface is seen where changes are reviewed.
//! After one: `INSTA_UPDATE=always cargo test -p nalm-lab --test public_names`, and a line in the changelog if a name went or changed.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of a crate, with the module that each is.
fn files(folder: &Path, module: &str, found: &mut Vec<(String, PathBuf)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            files(&path, &format!("{module}::{name}"), found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            let own = ["lib", "mod"].contains(&name.as_str());
            found.push((if own { module.to_owned() } else { format!("{module}::{name}") }, path));
        }
    }
}

/// The name behind a keyword: `fn read<R>(` is `read`.
fn name(rest: &str) -> &str {
    rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

/// The type that an `impl` is for.
fn implemented(line: &str) -> String {
    let line = line.trim_start_matches("unsafe ").trim_start_matches("impl");
    // Generics before the type are of no interest.
    let mut depth = 0;
    let start = line
        .char_indices()
        .find(|&(_, c)| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0 && c == ' '
        })
        .map_or(0, |(at, _)| at);
    name(line[start..].trim_start()).to_owned()
}

/// What a line declares for everybody, given what stands around it. The sources are formatted, so that four blanks are one level.
fn declared(line: &str, around: Option<(&str, &str)>) -> Option<String> {
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
    let words = |text: &str| {
        let text = text.strip_prefix("const fn ").map_or(text.to_owned(), |rest| format!("fn {rest}"));
        let (kind, rest) = text.split_once(' ')?;
        kinds.contains(&kind).then(|| format!("{kind} {}", name(rest)))
    };
    match around {
        None => words(line.strip_prefix("pub ")?),
        Some(("impl", _)) => words(line.strip_prefix("    pub ")?),
        Some(("trait", _)) => words(line.strip_prefix("    ").filter(|text| !text.starts_with(' '))?),
        Some(("struct", _)) => {
            let (field, _) = line.strip_prefix("    pub ")?.split_once(':')?;
            Some(format!("field {field}"))
        }
        Some(("enum", _)) => {
            let variant = line.strip_prefix("    ").filter(|text| text.starts_with(|c: char| c.is_uppercase()))?;
            Some(format!("variant {}", name(variant)))
        }
        Some(_) => None,
    }
}

/// What a file shows of others, one name a time.
fn used(text: &str) -> impl Iterator<Item = String> {
    let uses = text.split("\npub use ").skip(1).map(|rest| rest.split(';').next().unwrap_or_default());
    uses.flat_map(|used| {
        let (path, names) = used.split_once('{').unwrap_or((used, ""));
        let names: Vec<&str> = names.trim_end_matches('}').split(',').map(str::trim).collect();
        let names = names.iter().filter(|name| names.len() == 1 || !name.is_empty());
        names.map(|name| format!("{}{name}", path.trim())).collect::<Vec<_>>()
    })
}

fn names(krate: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("src");
    let mut found = Vec::new();
    files(&folder, &krate.replace('-', "_"), &mut found);
    let mut lines = Vec::new();
    for (module, path) in found {
        let text = fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        lines.extend(used(text).map(|used| format!("use {module}: {used}")));
        let mut around: Option<(&str, String)> = None;
        let mut hidden = false;
        for line in text.lines() {
            if line.starts_with('}') {
                around = None;
            } else if line.trim() == "#[doc(hidden)]" {
                hidden = true;
                continue;
            }
            let context = around.as_ref().map(|(kind, name)| (*kind, name.as_str()));
            if let Some(declared) = declared(line, context).filter(|_| !hidden) {
                let owner = context.map_or(String::new(), |(_, name)| format!("{name}::"));
                let (kind, own) = declared.split_once(' ').unwrap();
                lines.push(format!("{kind} {module}::{owner}{own}"));
            }
            if line.ends_with('{') && !line.starts_with(' ') {
                let public = line.strip_prefix("pub ").and_then(|rest| rest.split_once(' '));
                around = match public {
                    Some((kind @ ("struct" | "enum" | "trait"), rest)) => Some((kind, name(rest).to_owned())),
                    _ if line.starts_with("impl") && !line.contains(" for ") => Some(("impl", implemented(line))),
                    _ => Some(("other", String::new())),
                };
            }
            if !line.trim_start().starts_with("#[") {
                hidden = false;
            }
        }
    }
    lines.sort();
    lines.dedup();
    lines.join("\n")
}

#[test]
fn nalm() {
    insta::assert_snapshot!(names("nalm"));
}

#[test]
fn nalm_vision() {
    insta::assert_snapshot!(names("nalm-vision"));
}

#[test]
fn nalm_lab() {
    insta::assert_snapshot!(names("nalm-lab"));
}

#[test]
fn nalm_fit() {
    insta::assert_snapshot!(names("nalm-fit"));
}

#[test]
fn nalm_cli() {
    insta::assert_snapshot!(names("nalm-cli"));
}

/// The reader itself, on lines whose names are known.
#[test]
fn names_are_read_from_formatted_lines() {
    assert_eq!(declared("pub fn read<R: Real>(x: R) {", None).unwrap(), "fn read");
    assert_eq!(declared("pub const fn new() {", None).unwrap(), "fn new");
    assert_eq!(declared("pub(crate) fn hidden() {", None), None);
    assert_eq!(declared("    pub fn step(&mut self) {", Some(("impl", "A"))).unwrap(), "fn step");
    assert_eq!(declared("        pub fn deep() {", Some(("impl", "A"))), None);
    assert_eq!(declared("    fn name(&self) -> &str;", Some(("trait", "A"))).unwrap(), "fn name");
    assert_eq!(declared("    Uniform {", Some(("enum", "A"))).unwrap(), "variant Uniform");
    assert_eq!(declared("    pub rows: usize,", Some(("struct", "A"))).unwrap(), "field rows");
    let uses = "\npub use a::B;\npub use c::{\n    D, E,\n};\nuse f::G;\n";
    assert_eq!(used(uses).collect::<Vec<_>>(), ["a::B", "c::D", "c::E"]);
    assert_eq!(implemented("impl<R: Real> Network<R> {"), "Network");
    assert_eq!(implemented("impl Table {"), "Table");
}

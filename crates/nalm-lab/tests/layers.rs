//! Which module imports which, read from the sources: no cycles, and dependencies in the documented direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The sources of a crate's library.
fn sources(crate_name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate_name).join("src")
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, into),
            false if path.extension().is_some_and(|e| e == "rs") => into.push(path),
            false => {}
        }
    }
}

/// The top-level module that a file belongs to; nothing for the root.
fn module_of(root: &Path, file: &Path) -> Option<String> {
    let first = file.strip_prefix(root).unwrap().components().next()?.as_os_str().to_string_lossy().into_owned();
    let name = first.strip_suffix(".rs").unwrap_or(&first).to_string();
    (!["lib", "main"].contains(&name.as_str())).then_some(name)
}

/// Code without comments and without its tests.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The top-level modules that code names after `crate::`, singly, in braces, or by an item that the root re-exports.
fn named(code: &str, modules: &BTreeSet<String>, exported: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in code.split("crate::").skip(1) {
        let list = match part.strip_prefix('{') {
            Some(inner) => {
                let (mut depth, mut end) = (1, inner.len());
                for (k, c) in inner.char_indices() {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    if depth == 0 {
                        end = k;
                        break;
                    }
                }
                inner[..end].to_string()
            }
            None => part.to_string(),
        };
        let names = if part.starts_with('{') { list.split(',').collect::<Vec<_>>() } else { vec![list.as_str()] };
        for name in names {
            let first: String = name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let module = if modules.contains(&first) { Some(&first) } else { exported.get(&first) };
            found.extend(module.cloned());
        }
    }
    found
}

/// For every top-level module, those that it imports.
fn imports(crate_name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = sources(crate_name);
    let mut all = Vec::new();
    files(&root, &mut all);
    let modules: BTreeSet<String> = all.iter().filter_map(|file| module_of(&root, file)).collect();
    let mut exported = BTreeMap::new();
    for line in code(&root.join("lib.rs")).replace("\n    ", " ").replace(",\n}", "}").lines() {
        let Some(rest) = line.trim().strip_prefix("pub use ") else { continue };
        let Some((module, items)) = rest.trim_end_matches(';').split_once("::") else { continue };
        for item in items.trim_matches(['{', '}']).split(',') {
            exported.insert(item.trim().to_string(), module.to_string());
        }
    }
    let mut graph: BTreeMap<String, BTreeSet<String>> = modules.iter().map(|m| (m.clone(), BTreeSet::new())).collect();
    for file in &all {
        let Some(own) = module_of(&root, file) else { continue };
        let others = named(&code(file), &modules, &exported);
        graph.get_mut(&own).unwrap().extend(others.into_iter().filter(|other| *other != own));
    }
    graph
}

/// A way from a module back to itself, if there is one.
fn cycle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        graph: &BTreeMap<String, BTreeSet<String>>,
        at: &str,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if let Some(k) = way.iter().position(|m| m == at) {
            way.drain(..k);
            way.push(at.into());
            return true;
        }
        if !done.insert(at.into()) {
            return false;
        }
        way.push(at.into());
        for next in &graph[at] {
            if visit(graph, next, way, done) {
                return true;
            }
        }
        way.pop();
        false
    }
    let (mut way, mut done) = (Vec::new(), BTreeSet::new());
    graph.keys().any(|module| visit(graph, module, &mut way, &mut done)).then_some(way)
}

#[test]
fn no_crate_has_a_cycle_between_its_modules() {
    for crate_name in ["nalm", "nalm-fit", "nalm-vision", "nalm-lab", "nalm-cli"] {
        let graph = imports(crate_name);
        assert!(graph.values().any(|others| !others.is_empty()), "{crate_name}: nothing was read");
        assert_eq!(cycle(&graph), None, "{crate_name}: {graph:#?}");
    }
}

/// A cycle would be found.
#[test]
fn cycles_are_found() {
    let graph = |edges: &[(&str, &[&str])]| {
        edges.iter().map(|(from, to)| (from.to_string(), to.iter().map(ToString::to_string).collect())).collect()
    };
    assert_eq!(cycle(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &[])])), None);
    let found = cycle(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])])).unwrap();
    assert_eq!(found, ["b", "c", "b"]);
    let modules = BTreeSet::from(["x".to_string(), "y".to_string()]);
    let exported = BTreeMap::from([("Y".to_string(), "y".to_string())]);
    assert_eq!(named("use crate::{x::{a, b}, Y};", &modules, &exported), modules);
}

/// The laboratory's stations in the order of the data; each may import those before it only.
const STATIONS: [&str; 15] = [
    "error",
    "files",
    "memory",
    "stats",
    "run",
    "task",
    "experiment",
    "pool",
    "store",
    "cluster",
    "summary",
    "figure",
    "report",
    "fit",
    "registry",
];

#[test]
fn the_laboratory_imports_in_the_direction_of_the_data() {
    let graph = imports("nalm-lab");
    assert_eq!(graph.keys().cloned().collect::<BTreeSet<_>>(), STATIONS.map(String::from).into());
    for (module, others) in graph {
        let place = |name: &str| STATIONS.iter().position(|station| *station == name).unwrap();
        for other in others {
            assert!(place(&other) < place(&module), "{module} imports {other}");
        }
    }
}

/// Files that every Rust crate has, and that say nothing about this one.
const USUAL: [&str; 3] = ["lib.rs", "main.rs", "error.rs"];

#[test]
fn the_map_names_every_file_and_folder_of_every_crate() {
    let map = std::fs::read_to_string(sources("nalm").join("../../../ARCHITECTURE.md")).unwrap();
    for name in ["nalm", "nalm-fit", "nalm-vision", "nalm-lab", "nalm-cli"] {
        // Other crates have files of the same names.
        let (_, rest) = map.split_once(&format!("\n## {name}\n")).expect("a section");
        let section = rest.split("\n## ").next().unwrap_or(rest);
        for entry in std::fs::read_dir(sources(name)).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy() + if path.is_dir() { "/" } else { "" };
            let named = USUAL.contains(&&*file) || section.contains(&format!("`{file}"));
            assert!(named, "ARCHITECTURE.md has no line for {file} of {name}");
        }
    }
}

//! Experiment files: what they become, and what is said about mistakes.

use nalm_lab::Registry;
use nalm_lab::experiment::{Experiment, Overrides, Relation, built_in, check};
use serde_json::json;
use std::path::Path;

fn checked(text: &str, overrides: &Overrides) -> Result<Experiment, String> {
    let registry = Registry::default();
    let names = registry.names();
    check(&registry.catalogue, &names, "mine", Path::new("mine.toml"), text, overrides)
        .map_err(|error| error.to_string())
}

fn built_in_text(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("experiments/{name}.toml"))).unwrap()
}

fn set(key: &str, value: serde_json::Value) -> Overrides {
    Overrides { set: vec![(key.into(), value)], ..Overrides::default() }
}

#[test]
fn every_built_in_experiment_and_preset_is_sound() {
    let registry = Registry::default();
    for name in built_in::names(&registry.catalogue) {
        for preset in built_in::presets(name) {
            let experiment = registry.load(name, &Overrides::preset(&preset));
            let experiment = experiment.unwrap_or_else(|error| panic!("{name} {preset}: {error}"));
            let mut ids = experiment.ids();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), experiment.runs.len(), "{name} {preset} runs something twice");
            assert_eq!(experiment.planned(), experiment.distinct().len(), "{name} {preset}");
            assert!(!experiment.title.is_empty() && experiment.preset == preset);
            assert!(!experiment.figures.is_empty() && !experiment.analysis.is_empty(), "{name}");
            let grouped: usize = experiment.groups.iter().map(|group| group.runs.len()).sum();
            assert_eq!(grouped, experiment.runs.len(), "{name} {preset}");
        }
    }
}

#[test]
fn every_experiment_file_is_built_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut known = built_in::names(&Registry::default().catalogue);
    known.sort_unstable();
    if cfg!(feature = "images") {
        assert_eq!(files, known);
    } else {
        assert!(known.iter().all(|name| files.contains(&name.to_string()) && !name.starts_with("mnist")));
    }
}

#[test]
fn mistakes_are_named_with_file_line_and_nearest_name() {
    let good = built_in_text("single-module-snmu");
    for (from, to, hints) in [
        ("module = \"snmu\"", "module = \"smnu\"", ["line 2", "did you mean 'snmu'"]),
        ("task = \"single-module\"", "task = \"single-modul\"", ["line", "did you mean 'single-module'"]),
        ("title =", "titel =", ["mine.toml, line 2", "did you mean 'title'"]),
        ("title =", "figures = [\"facet\"]\ntitle =", ["line 2", "did you mean 'facets'"]),
        ("title =", "operation = \"mull\"\ntitle =", ["line 2", "did you mean 'mul'"]),
        ("\"U[-2,-1)\"", "\"U[-1,-2)\"", ["line", "above the lower bound"]),
        ("\"U[-2,-1)\"", "\"U[-3,-1)\"", ["line", "has no published test range; give one: { train = \"U[-3,-1)\""]),
        ("default_preset = \"paper\"", "default_preset = \"papr\"", ["mine.toml", "did you mean 'paper'"]),
        ("is = 1.0", "is = 1.0\nbelow = 1.0", ["line", "exactly one of is, below, above, equals and values"]),
        ("is = 1.0", "values = [1.0]", ["line", "success has no lengths"]),
        ("is = 1.0", "is = 7.0", ["line", "a rate of 7 was never published"]),
        ("is = 1.0", "metric = \"succes\"\nis = 1.0", ["line", "did you mean 'success'"]),
        ("model = \"snmu\"", "model = \"snm\"", ["line", "did you mean 'snmu'"]),
    ] {
        assert!(good.contains(from), "{from}");
        let overrides = if from == "\"U[-2,-1)\"" { Overrides::preset("smoke") } else { Overrides::default() };
        let message = checked(&good.replacen(from, to, 1), &overrides).unwrap_err();
        assert!(hints.iter().all(|hint| message.contains(hint)), "{from} -> {to}: {message}");
    }
}

/// Labels that have commas in them stay apart from each other.
#[test]
fn notes_keep_labels_with_commas_apart() {
    let text = "title = \"T\"\ntask = \"single-module\"\n[preset.a]\nseeds = 1\nsteps = 10\nranges = [\"U[1,2)\"]\n[[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\nlabel = \"U[1,5], weighted\"\noptions = { denoiser = \"weighted\" }\n[[model]]\nmodule = \"snmu-exp\"\n";
    let experiment = checked(text, &set("noise", json!("batch"))).unwrap();
    let labels = format!("U[1,5], weighted; {}", experiment.models[2]);
    assert_eq!(experiment.notes, [format!("noise = batch is set for {labels}; the other models do not have it")]);
}

/// What is wrong, with its line, in the words of people who write such files.
#[test]
fn mistakes_are_said_with_their_line() {
    const GOOD: &str = "title = \"Mine\"\ntask = \"single-module\"\n[preset.a]\nseeds = 2\nsteps = 1000\nranges = [\"U[1,2)\"]\n[[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n";
    let at_end = |text: &str| GOOD.to_string() + text;
    let at_top = |text: &str| format!("{text}\n{GOOD}");
    let instead = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        GOOD.replace(from, to)
    };
    let arithmetic = instead("single-module", "arithmetic").replace("U[1,2)", "U[-2,2)");
    for (text, want) in [
        (
            at_end("[[model]]\nlayers = [{ modul = \"nmu\" }]\n"),
            ", line 12: a layer has no module; write { module = \"nau\", outputs = 3 }; is modul meant to be module?",
        ),
        (at_end("[[model]]\nlayers = [3]\n"), ", line 12: a layer is 3; write it as text"),
        (at_end("[[model]]\nlayers = [[\"nmu\"]]\n"), ", line 12: a layer is [\"nmu\"]; write it as text"),
        (at_end("steps = { a = \"2\" }\n"), ", line 11: steps is \"2\"; it must be a whole number, 0 or more"),
        (at_end("steps = { smal = 777 }\n"), ", line 11: unknown preset 'smal' (valid: a)"),
        (at_end("[[section]]\nname = \"s\"\npreset.smal = { seeds = 3 }\n"), ", line 13: unknown preset 'smal'"),
        (at_end("[[section]]\nname = \"s\"\n[section.preset.smal]\nseeds = 3\n"), ", line 13: unknown preset 'smal'"),
        (
            at_end("[[expect]]\nmodel = \"nmu\"\nis = \"1.0\"\nsource = \"x\"\n"),
            ", line 13: a published value is a number, or a mean with its half-width",
        ),
        (at_end("[[expect]]\nmodel = \"nmu\"\nis = 1.0\n"), ", line 11: source is missing here; write source = \"…\""),
        (
            at_end("[[expect]]\nmodel = \"nmu\"\nabove = \"nmu\"\nsource = \"x\"\n"),
            ", line 12: this expectation compares a model with itself",
        ),
        (at_end("[[section]]\ninputs = 3\n"), ", line 11: name is missing here; write name = \"…\""),
        (instead("[preset.a]", "[preset]"), " stands in a table with a name; write [preset.NAME] above it"),
        (
            at_end("[schedule]\nfoo = 3\n"),
            ", line 12: foo stands in a table with a name; write [schedule.NAME] above it",
        ),
        (at_end("[schedule.s]\nphase = 3\n"), ", line 12: phase is a table of its own; write [[schedule.NAME.phase]]"),
        (
            at_end("[schedule.s]\nattempts = \"x\"\n"),
            ", line 12: attempts is \"x\"; it must be a whole number, 0 or more",
        ),
        (instead("title = \"Mine\"", "title = 3"), ", line 1: title is 3; it must be text in quotes"),
        (instead("title =", "titel ="), ", line 1: unknown key 'titel'; did you mean 'title'?"),
        (at_top("figurs = [\"facets\"]"), ", line 1: unknown key 'figurs'; did you mean 'figures'?"),
        (at_top("analyis = \"x\""), ", line 1: unknown key 'analyis'; did you mean 'analysis'?"),
        (at_top("baseline = [\"NMU\"]"), ", line 1: unknown key 'baseline'; did you mean 'baselines'?"),
        (at_top("defaultpreset = \"a\""), ", line 1: unknown key 'defaultpreset'; did you mean 'default_preset'?"),
        (at_top("seeds = 10"), ", line 1: seeds stands in a preset, [preset.NAME], and not here"),
        (at_top("rangs = [\"U[1,2)\"]"), ", line 1: unknown key 'rangs'; did you mean 'ranges'?"),
        (
            instead("seeds = 2", "seeds = 2\nmodel = [\"NMU\"]"),
            ", line 5: model stands at the top of the file, above its tables, and not here; did you mean 'models'?",
        ),
        (
            instead("seeds = 2", "seeds = 2\nmodels = []"),
            ": models = [] lets no model take part; name some, or leave it out for all of them",
        ),
        (instead("seeds = 2", "seed = 2"), ", line 4: unknown key 'seed'; did you mean 'seeds'?"),
        (
            at_end("[[section]]\nname = \"s\"\noperaton = \"add\"\n"),
            ", line 13: unknown key 'operaton'; did you mean 'operation'?",
        ),
        // The line of the key that is refused, whichever table it stands in.
        (at_top("learning_rate = -1"), ", line 1: learning rate is -1"),
        (at_top("inputs = 1"), ", line 1: task single-module: number of inputs is 1"),
        (at_top("target = \"x\""), ", line 1: target is a setting of table, not of single-module"),
        (instead("steps = 1000", "steps = 1000\nlearning_rate = -1"), ", line 6: learning rate is -1"),
        (at_end("[[section]]\nname = \"s\"\nlearning_rate = -1\n"), ", line 13, section s: learning rate is -1"),
        (at_top("learning_rate = 1.0") + "options = { learning_rate = -1 }\n", ", line 12: learning rate is -1"),
        (
            instead("steps = 1000", "sweep = { noise = [\"U[1,2]\", \"U[1.0,2.0]\"] }"),
            ", line 5: U[1,2] and U[1.0,2.0] are the same noise; leave one of them out",
        ),
        (at_end("label = \"\"\n"), ", line 10: the label is empty"),
        (instead("\"Mine\"", "\"\""), " has no title; write title"),
        (
            at_end("options = { weights = [nan, 1] }\n"),
            ", line 11: weights is [nan or inf,1]; it must be a list of numbers",
        ),
        (at_end("options = { noise = 3 }\n"), ", line 11: unknown noise '3' (valid: U[1,5], batch"),
        (
            format!("operation = \"div\"\n{arithmetic}"),
            ", line 7: the sums of U[-6,-2)∪U[2,6) pass through 0, where a quotient has no threshold; give a test range on one side of 0",
        ),
    ] {
        let message = checked(&text, &Overrides::default()).unwrap_err();
        let said = message.strip_prefix("mine.toml").unwrap_or_else(|| panic!("{message}"));
        assert!(said.starts_with(want) || want.starts_with(" stands") && said.contains(want), "{message}\n{want}");
        for name in ["untagged", "struct", "u32", "u64", "missing field"] {
            assert!(!message.contains(name), "{message}");
        }
    }
}

#[test]
fn mistakes_in_schedules_and_sweeps_are_named() {
    let ranges = built_in_text("arithmetic-all-ranges");
    let limits = built_in_text("second-order-limits");
    for (good, from, to, hints) in [
        (&ranges, "schedule = \"equal-time\"", "schedule = \"equal-tim\"", ["line", "did you mean 'equal-time'"]),
        (&ranges, "steps = 24800, ramp", "steps = 0, ramp", ["schedule equal-samples", "steps of a phase is 0"]),
        (&ranges, "optimiser = \"adam\"", "optimiser = \"adamm\"", ["phase 1", "did you mean 'adam'"]),
        (&limits, "sweep = { overlap", "sweep = { overlapp", ["section overlap ratio", "did you mean 'overlap'"]),
        (
            &limits,
            "{ inputs = [20] }",
            "{ inputs = [2.5] }",
            ["section inputs: inputs is 2.5", "it must be a whole number"],
        ),
        (&limits, "{ subset = [0.25] }", "{ subset = [1.25] }", ["section subset ratio", "subset ratio is 1.25"]),
        (
            &limits,
            "{ label_noise = [1e-4] }",
            "{ label_noise = [] }",
            ["mine.toml", "the sweep over label_noise has no values"],
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let message = checked(&good.replacen(from, to, 1), &Overrides::preset("smoke")).unwrap_err();
        assert!(hints.iter().all(|hint| message.contains(hint)), "{message}");
    }
}

/// Where a sweep goes over ranges, each of them is a section, and a statement about one is told so.
#[test]
fn a_range_with_a_sweep_is_a_section() {
    let file = "title = \"T\"\ntask = \"single-module\"\n[preset.a]\nseeds = 1\nsteps = 10\nranges = [\"U[1,2)\", \"U[-2,-1)\"]\n\
        [sweep]\nnoise = [\"U[1,2]\", \"U[1,5]\"]\n[[model]]\nmodule = \"snmu\"\n[[expect]]\nmodel = \"snmu\"\nWHERE\nis = 1.0\nsource = \"x\"\n";
    let check = |place: &str| checked(&file.replace("WHERE", place), &Overrides::default());
    let error = check("range = \"U[-2,-1)\"").unwrap_err();
    assert!(
        error.contains("line 13: U[-2,-1) is a section here") && error.contains("section = \"on U[-2,-1)\""),
        "{error}"
    );
    let error = check("range = \"U[7,8)\"").unwrap_err();
    assert!(error.contains("unknown range 'U[7,8)'") && error.contains("(valid: U[1,2], U[1,5])"), "{error}");
    check("section = \"on U[-2,-1)\"").unwrap();
    check("section = \"on U[-2,-1)\"\nrange = \"U[1,5]\"").unwrap();
    // Without either it is about every value of every section, and pooled about each section.
    let sections = |place: &str| {
        let found = check(place).unwrap().expectations;
        found.iter().map(|e| (e.section, e.place.clone())).collect::<Vec<_>>()
    };
    let of = |section: usize, noise: &str| (section, noise.to_string());
    assert_eq!(sections(""), [of(0, "U[1,2]"), of(0, "U[1,5]"), of(1, "U[1,2]"), of(1, "U[1,5]")]);
    assert_eq!(sections("pooled = true"), [of(0, ""), of(1, "")]);
}

#[test]
fn a_sweep_takes_the_place_of_the_ranges() {
    let experiment = Registry::default().load("second-order-limits", &Overrides::preset("paper")).unwrap();
    let place = experiment.sections.iter().position(|section| section.name == "label noise on U[1.1,1.2)").unwrap();
    let section = &experiment.sections[place];
    assert_eq!(section.axis.as_deref(), Some("label noise"));
    assert_eq!(section.places, ["1e-7", "1e-6", "1e-5", "1e-4", "0.001", "0.01"]);
    for group in experiment.groups.iter().filter(|group| group.section == place) {
        let run = &experiment.runs[group.runs.start];
        let noise = run.get("label_noise").unwrap().as_f64().unwrap();
        assert_eq!((group.place.parse::<f64>().unwrap(), run.text("range")), (noise, "U[1.1,1.2)"));
    }
}

#[test]
fn settings_from_the_command_line_are_for_the_models_that_have_them() {
    let registry = Registry::default();
    let experiment = registry.load("single-module", &set("learning_rate", json!(0.01))).unwrap();
    assert!(experiment.runs.iter().all(|run| run.get("learning_rate") == Some(&json!(0.01))));
    assert!(experiment.notes.is_empty());
    let experiment = registry.load("single-module", &set("noise", json!("U[1,3]"))).unwrap();
    assert_eq!(
        experiment.notes,
        ["noise = U[1,3] is set for sNMU, batch sNMU, sNMU (exponent); the other models do not have it"]
    );
    for run in &experiment.runs {
        assert_eq!(run.get("noise").is_some(), run.module().starts_with("snmu"), "{}", run.module());
    }
    assert!(experiment.expectations.is_empty(), "the paper says nothing about other settings");
    let error = registry.load("single-module", &set("learning_rat", json!(0.01))).unwrap_err().to_string();
    assert!(error.contains("--set") && error.contains("did you mean 'learning_rate'"), "{error}");
    let error = registry.load("single-module", &set("learning_rate", json!("fast"))).unwrap_err().to_string();
    assert!(error.contains("learning_rate is fast; it must be a number"), "{error}");
    let error = registry.load("single-module", &set("hidden", json!(3))).unwrap_err().to_string();
    assert!(error.contains("--set hidden: no model of single-module has this option"), "{error}");
}

const MINE: &str = r#"
title = "Mine"
task = "arithmetic"
inputs = 12
analysis = "Ranges, stacks and sweeps of one's own."

[preset.small]
seeds = [7, 3]
steps = 500
ranges = ["U[1, 2)", { train = "U[3,4)", test = "U[4,10)" }]

[[model]]
module = "nmu"

[[model]]
layers = ["nau 12->3", { module = "nau", outputs = 2 }, { module = "snmu", noise = "U[1,5]" }]

[[model]]
layers = [{ module = "nmu", steps = 12 }]
label = "recurrent"
options = { learning_rate = 0.01 }
"#;

#[test]
fn ranges_stacks_and_seeds_are_data() {
    let experiment = checked(MINE, &Overrides::default()).unwrap();
    assert_eq!(experiment.models, ["NMU", "NAU-NAU-sNMU", "recurrent"]);
    assert_eq!(experiment.sections[0].places, ["U[1,2)", "U[3,4)"]);
    let pairs: Vec<(&str, &str, u64)> =
        experiment.runs[..4].iter().map(|run| (run.text("range"), run.text("test_range"), run.seed())).collect();
    assert_eq!(
        pairs,
        [("U[1,2)", "U[2,6)", 7), ("U[1,2)", "U[2,6)", 3), ("U[3,4)", "U[4,10)", 7), ("U[3,4)", "U[4,10)", 3)]
    );
    let stack = &experiment.runs[experiment.groups[2].runs.start];
    assert_eq!(stack.get("layers").unwrap()[2], json!({"module": "snmu", "options": {"noise": "U[1,5]"}}));
    assert_eq!((stack.module(), stack.whole("steps"), experiment.groups[2].last_layer), ("", Some(500), 2));
    let cell = &experiment.runs[experiment.groups[4].runs.start];
    assert_eq!(
        (cell.get("learning_rate"), cell.get("layers").unwrap()[0]["steps"].as_u64()),
        (Some(&json!(0.01)), Some(12))
    );
    assert_eq!(experiment.groups[4].last_layer, 2);
}

#[test]
fn the_command_line_takes_ranges_and_sweeps_too() {
    let overrides = Overrides {
        ranges: vec![("U[5,6)".into(), Some("U[6,9)".into()))],
        sweep: vec![("learning_rate".into(), vec![json!(0.001), json!(0.01)])],
        ..Overrides::default()
    };
    let experiment = checked(MINE, &overrides).unwrap();
    assert_eq!(experiment.sections[0].places, ["0.001", "0.01"]);
    assert_eq!(experiment.runs.len(), 3 * 2 * 2);
    assert!(experiment.runs.iter().all(|run| run.text("range") == "U[5,6)" && run.text("test_range") == "U[6,9)"));
    let command = "nalm reproduce mine.toml --preset small --range 'U[5,6)' --test-range 'U[6,9)' --sweep 'learning_rate=0.001;0.01'";
    assert_eq!(experiment.command, command);
}

#[test]
fn two_settings_are_swept_together() {
    let sweep = "[sweep]\nlearning_rate = [0.1, 0.2]\nclamp = [true, false]\n";
    let text = MINE.replace("[preset.small]", &format!("{sweep}\n[preset.small]"));
    let experiment =
        checked(&text, &Overrides { seeds: Some(nalm_lab::experiment::Seeds::Count(1)), ..Overrides::default() })
            .unwrap();
    assert_eq!(experiment.sections[0].name, "on U[1,2)");
    let want = [
        "clamp true, learning_rate 0.1",
        "clamp true, learning_rate 0.2",
        "clamp false, learning_rate 0.1",
        "clamp false, learning_rate 0.2",
    ];
    assert_eq!(experiment.sections[1].places, want);
}

#[test]
fn mistakes_in_ranges_and_stacks_are_named() {
    for (from, to, hint) in [
        ("test = \"U[4,10)\"", "test = \"U[3.5,10)\"", "the test range U[3.5,10) overlaps the training range U[3,4)"),
        ("train = \"U[3,4)\", test", "tran = \"U[3,4)\", test", "a range is written"),
        ("nau 12->3", "nau 11->3", "layer 1 (nau): inputs of the layer: got 11, but 12 is needed"),
        ("noise = \"U[1,5]\"", "nois = \"U[1,5]\"", "snmu has no option nois; it has: noise, denoiser, start"),
        ("steps = 12 }", "steps = 5 }", "number of recurrent steps is 5; it must be one that divides the inputs"),
        ("module = \"nmu\"\n", "module = \"nmu\"\nlayers = [\"nmu\"]\n", "a [[model]] has a module or layers"),
        ("seeds = [7, 3]", "", "preset small has no seeds"),
        ("inputs = 12", "inputs = 12\ninput = 3", "mine.toml, line 5"),
    ] {
        assert!(MINE.contains(from), "{from}");
        let message = checked(&MINE.replacen(from, to, 1), &Overrides::default()).unwrap_err();
        assert!(message.contains(hint), "{from} -> {to}: {message}");
    }
}

#[test]
fn the_most_particular_setting_counts() {
    let text = r#"
title = "Mine"
task = "single-module"
learning_rate = 0.1
[preset.a]
seeds = 1
steps = 10
ranges = ["U[1,2)"]
learning_rate = 0.2
[[section]]
name = "one"
[[section]]
name = "two"
learning_rate = 0.3
[[section]]
name = "three"
learning_rate = 0.3
preset.a = { learning_rate = 0.4, steps = 20 }
[[model]]
module = "nmu"
[[model]]
module = "snmu"
options = { learning_rate = 0.5 }
steps = { a = 30 }
"#;
    let experiment = checked(text, &Overrides::default()).unwrap();
    let found: Vec<(f64, u64)> = experiment
        .runs
        .iter()
        .map(|run| (run.get("learning_rate").unwrap().as_f64().unwrap(), run.whole("steps").unwrap()))
        .collect();
    assert_eq!(found, [(0.2, 10), (0.5, 30), (0.3, 10), (0.5, 30), (0.4, 20), (0.5, 30)]);
    let experiment = checked(text, &set("learning_rate", json!(0.9))).unwrap();
    assert!(experiment.runs.iter().all(|run| run.get("learning_rate") == Some(&json!(0.9))));
}

#[test]
fn a_table_of_ones_own_is_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..50).map(|k| format!("{},{},{}\n", k, 50 - k, k * (50 - k))).collect();
    std::fs::write(folder.path().join("data.csv"), format!("a,b,t\n{rows}")).unwrap();
    let path = folder.path().join("mine.toml");
    let text = "title = \"Mine\"\ntask = \"table\"\ndata = \"data.csv\"\ntarget = \"t\"\npreset.a = { seeds = 2, steps = 100 }\n[[model]]\nmodule = \"nmu\"\n";
    let load = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Registry::default().load(path.to_str().unwrap(), &Overrides::default()).map_err(|error| error.to_string())
    };
    let experiment = load(text).unwrap();
    let run = &experiment.runs[1];
    assert_eq!((run.whole("inputs"), run.text("columns"), run.text("target"), run.seed()), (Some(2), "a,b", "t", 1));
    assert_eq!(run.text("data").len(), 64, "the hash of the file, and not its place, is part of the identity");
    assert_eq!(experiment.sections[0].places, [""]);
    let moved = tempfile::tempdir().unwrap();
    std::fs::copy(folder.path().join("data.csv"), moved.path().join("other.csv")).unwrap();
    let elsewhere = text.replace("data.csv", moved.path().join("other.csv").to_str().unwrap());
    assert_eq!(load(&elsewhere).unwrap().ids(), experiment.ids());
    for (from, to, hint) in [
        ("target = \"t\"", "target = \"u\"", "unknown column 'u'"),
        ("target = \"t\"", "", "needs a target, one of its columns: a, b, t"),
        ("data.csv", "dota.csv", "cannot read"),
        ("target = \"t\"", "target = \"t\"\ncolumns = \"a,t\"", "the target t is one of its own inputs"),
        ("target = \"t\"", "target = \"t\"\nsplit = \"extreme\"", "did you mean 'extremes'"),
        ("target = \"t\"", "target = \"t\"\nsplit_by = \"a\"", "split_by is for split = \"extremes\""),
        ("steps = 100", "steps = 100, ranges = [\"U[1,2)\"]", "table has no ranges"),
        ("steps = 100", "steps = 100, stream = \"reference\"", "reference streams"),
    ] {
        let message = load(&text.replacen(from, to, 1)).unwrap_err();
        assert!(message.contains(hint), "{to}: {message}");
    }
}

#[test]
fn published_statements_have_one_form() {
    let motivation = Registry::default().load("motivation", &Overrides::preset("paper")).unwrap();
    let error = motivation.expectations.iter().find(|e| e.metric == "validation_error").unwrap();
    assert!(matches!(error.relation, Relation::Mean([mean, _]) if mean > 0.0));
    let bound = Registry::default().load("batch-noise-bound", &Overrides::default()).unwrap();
    assert_eq!(bound.expectations.len(), 4);
    assert!(bound.expectations.iter().all(|e| e.metric == "noise_bound" && e.model.is_none()));
}

#[cfg(feature = "images")]
#[test]
fn image_tasks_are_tasks_like_others() {
    let registry = Registry::default();
    let experiment = registry.load("mnist-isolated", &set("batch", json!(64))).unwrap();
    assert!(experiment.runs.iter().all(|run| run.get("batch") == Some(&json!(64))));
    assert!(experiment.scale.ends_with("; but with batch = 64"), "{}", experiment.scale);
    let fail = |overrides: &Overrides| registry.load("mnist-isolated", overrides).unwrap_err().to_string();
    assert!(
        fail(&set("learning_rate", json!(0.01)))
            .contains("learning_rate is a setting of single-module, not of mnist-isolated")
    );
    assert!(fail(&set("bach", json!(64))).contains("did you mean 'batch'"));
    assert!(fail(&set("steps", json!(5))).contains("give --set epochs=N"));
    assert!(fail(&set("rz", json!(1.0))).contains("rz is a setting of mnist-sequential, not of mnist-isolated"));
    let paper = registry.load("mnist-sequential", &Overrides::preset("paper")).unwrap();
    let lengths: Vec<Option<usize>> = paper.expectations.iter().map(|e| e.length).collect();
    assert_eq!(lengths.len(), 22);
    assert_eq!((lengths[0], lengths[2], lengths[21]), (None, Some(1), Some(20)));
    assert!(matches!(paper.expectations[21].relation, Relation::Is(rate) if rate == 0.8));
}

/// The page that teaches experiment files: whole examples load, and fragments do within the smallest one.
#[test]
fn the_examples_of_the_documentation_load() {
    let page = include_str!("../../../docs/experiments.md");
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 8);
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (1..60).map(|k| format!("{},{},{}\n", k, 60 - k, k * (60 - k))).collect();
    std::fs::write(folder.path().join("measurements.csv"), format!("volts,amperes,watts\n{rows}")).unwrap();
    for block in blocks {
        let smallest = "default_preset = \"small\"\n[preset.small]\nseeds = 1\nsteps = 10\nranges = [\"U[-2,-1)\", \"U[1,2)\"]\n[preset.paper]\nseeds = 1\n";
        let models = "[[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n";
        let text = match block {
            whole if whole.contains("title") => whole.to_string(),
            ranges if ranges.starts_with("ranges") => {
                format!("title = \"x\"\ntask = \"arithmetic\"\n[preset.small]\nseeds = 1\n{ranges}{models}")
            }
            settings if settings.starts_with("task") => {
                let (top, model) = settings.split_once("\n\n").unwrap();
                format!("title = \"x\"\n{top}\n{smallest}{model}")
            }
            stack if stack.contains("layers") => {
                let ten = stack.replace("100->3", "10->3");
                format!("title = \"x\"\ntask = \"arithmetic\"\ninputs = 10\n{smallest}{ten}")
            }
            // A sweep over the noise is for models that have one.
            sweep if sweep.contains("[sweep]") => {
                format!("title = \"x\"\ntask = \"single-module\"\n{smallest}{sweep}[[model]]\nmodule = \"snmu\"\n")
            }
            schedule if schedule.contains("[schedule") => {
                format!("title = \"x\"\ntask = \"arithmetic\"\n{smallest}{schedule}")
            }
            part => format!("title = \"x\"\ntask = \"single-module\"\n{smallest}{models}{part}"),
        };
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, &text).unwrap();
        let loaded = Registry::default().load(path.to_str().unwrap(), &Overrides::default());
        let experiment = loaded.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(!experiment.runs.is_empty(), "{text}");
    }
}

/// What some models have is theirs: in the file, along a sweep, and in the layers of a stack.
#[test]
fn settings_reach_the_models_and_layers_that_have_them() {
    let base = "title = \"T\"\ntask = \"single-module\"\nNOISE\n[preset.a]\nseeds = 1\nsteps = 10\nranges = [\"U[1,2)\"]\n\
        [[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n\
        [[model]]\nlayers = [\"nau 2->2\", \"snmu\"]\n[[model]]\nlabel = \"own\"\nlayers = [\"nau 2->2\", { module = \"snmu\", noise = \"U[1,3]\" }]\n";
    let noises = |text: &str, overrides: &Overrides| -> Vec<String> {
        let noise = |run: &nalm_lab::run::Spec| match run.get("layers") {
            Some(layers) => layers[1]["options"]["noise"].as_str().unwrap_or("-").to_string(),
            None => {
                if run.text("noise").is_empty() {
                    "-".into()
                } else {
                    run.text("noise").to_string()
                }
            }
        };
        checked(text, overrides).unwrap().runs.iter().map(noise).collect()
    };
    let none = Overrides::default();
    assert_eq!(noises(&base.replace("NOISE", ""), &none), ["-", "-", "-", "U[1,3]"]);
    assert_eq!(noises(&base.replace("NOISE", "noise = \"U[1,2]\""), &none), ["-", "U[1,2]", "U[1,2]", "U[1,3]"]);
    let swept =
        base.replace("NOISE", "").replace("[preset.a]", "[sweep]\nnoise = [\"U[1,2]\", \"U[1,4]\"]\n[preset.a]");
    // Whoever says it itself keeps it, and is not called by another name.
    let want = ["-", "-", "U[1,2]", "U[1,4]", "U[1,2]", "U[1,4]", "U[1,3]", "U[1,3]"];
    assert_eq!(noises(&swept, &none), want);
    let places = |text: &str| -> Vec<String> {
        let found = checked(text, &none).unwrap();
        let shown = |group: &nalm_lab::experiment::Group| {
            Some(format!("{} {}", found.models[group.model], found.standing(group)?))
        };
        found.groups.iter().filter_map(shown).collect()
    };
    let each = ["NMU –", "sNMU U[1,2]", "sNMU U[1,4]", "NAU-sNMU U[1,2]", "NAU-sNMU U[1,4]", "own –"];
    assert_eq!(places(&swept), each, "what does not vary stands once");
    let plan = checked(&swept, &none).unwrap();
    assert_eq!((plan.runs.len(), plan.planned()), (8, 6), "and counts once");
    let named = swept.replace("module = \"nmu\"", "module = \"snmu-batch\"");
    assert_eq!(places(&named)[..2], ["batch sNMU –", "sNMU U[1,2]"]);
    let options =
        swept.replace("module = \"nmu\"", "module = \"snmu\"\nlabel = \"little\"\noptions = { noise = \"U[1,1.1]\" }");
    assert_eq!(places(&options)[..2], ["little –", "sNMU U[1,2]"]);
    let two = swept.replace("noise = [\"U[1,2]", "learning_rate = [0.1, 0.2]\nnoise = [\"U[1,2]");
    assert_eq!(
        places(&two)[..3],
        ["NMU learning_rate 0.1", "NMU learning_rate 0.2", "sNMU learning_rate 0.1, noise U[1,2]"]
    );
    // Names of values may have commas in them.
    assert_eq!(places(&two.replace("[1,", "[1, "))[..2], ["NMU learning_rate 0.1", "NMU learning_rate 0.2"]);
    let one = swept.replace(", \"U[1,4]\"", "");
    assert_eq!(places(&one), ["NMU –", "sNMU U[1,2]", "NAU-sNMU U[1,2]", "own –"], "one value is none of others, too");
    // One that is called by a value is the run of another one at it.
    let shared = options.replace("U[1,1.1]", "U[1,4]");
    assert_eq!((places(&shared).len(), checked(&shared, &none).unwrap().planned()), (6, 5));
    let said = |text: &str, more: &str| -> Vec<String> {
        let found = checked(&format!("{text}[[expect]]\nsource = \"x\"\n{more}\n"), &none).unwrap();
        found.expectations.iter().map(|e| format!("{} at {}", e.place, e.at)).collect()
    };
    assert_eq!(said(&swept, "model = \"nmu\"\nis = 1.0"), ["U[1,2] at –"], "what stands once is judged once");
    assert_eq!(said(&swept, "model = \"nmu\"\nranges = [\"U[1,2]\", \"U[1,4]\"]\nis = 1.0"), ["U[1,2] at –"]);
    let each = ["U[1,2] at U[1,2]", "U[1,4] at U[1,4]"];
    assert_eq!(
        said(&swept, "model = \"nmu\"\nabove = \"snmu\""),
        each,
        "beside one that varies, it is asked each time"
    );
    assert_eq!(
        said(&two, "model = \"nmu\"\nrange = \"learning_rate 0.2\"\nis = 1.0"),
        ["learning_rate 0.2, noise U[1,2] at learning_rate 0.2"]
    );
    let set = set("noise", "U[1,9]".into());
    assert_eq!(noises(&base.replace("NOISE", ""), &set), ["-", "U[1,9]", "U[1,9]", "U[1,9]"]);
    let loaded = checked(&base.replace("NOISE", ""), &set).unwrap();
    assert_eq!(loaded.notes, ["noise = U[1,9] is set for sNMU, NAU-sNMU, own; the other models do not have it"]);
}

/// Whatever would count something twice, overwrite something, or say nothing, is refused with its line.
#[test]
fn what_could_not_be_told_apart_is_refused() {
    let base = "title = \"T\"\ntask = \"single-module\"\n[preset.a]\nseeds = 2\nsteps = 10\nranges = [\"U[1,2)\"]\n[[model]]\nmodule = \"nmu\"\n";
    let none = Overrides::default();
    for (from, to, overrides, hint) in [
        ("seeds = 2", "seeds = [3, 3]", &none, "has the seed 3 twice"),
        ("seeds = 2", "seeds = -3", &none, "seeds are a number, such as 10"),
        ("[\"U[1,2)\"]", "[\"U[1,2)\", \"U[1,2)\"]", &none, "U[1,2) is there twice"),
        ("[preset.a]", "[sweep]\nlearning_rate = [1e-3, 0.001]\n[preset.a]", &none, "line 4: 0.001 is there twice"),
        ("[[model]]", "[[models]]", &none, "unknown table 'models'; did you mean 'model'"),
        ("[preset.a]", "[presets.a]", &none, "did you mean 'preset'"),
        ("title = \"T\"", "titel = \"T\"", &none, "line 1: unknown key 'titel'; did you mean 'title'"),
        ("steps = 10", "stepz = 10", &none, "line 5: unknown key 'stepz'; did you mean 'steps'"),
        ("title = \"T\"", "title = \"T\\u001b[31m\"", &none, "control character"),
        ("[\"U[1,2)\"]", "[\"U[3,4)\"]", &none, "test = \"U[4,8)\""),
        (
            "module = \"nmu\"",
            "module = \"nmu\"\n[[expect]]\nmodel = \"nmu\"\nrange = \"U[3,5)\"\nis = 1.0\nsource = \"x\"",
            &none,
            "line 11: unknown range 'U[3,5)'",
        ),
        (
            "module = \"nmu\"",
            "module = \"nmu\"\n[[section]]\nname = \"x\"\n[[section]]\nname = \"x\"",
            &none,
            "two sections are called 'x'",
        ),
        ("", "", &set("learning_rate", "abc".into()), "--set learning_rate: learning_rate is"),
    ] {
        let message = checked(&base.replacen(from, to, 1), overrides).unwrap_err();
        assert!(message.contains(hint), "{to}: {message}");
    }
    // A sweep that something else would overrule is not dropped without a word.
    let sweep = |key: &str, values: &[serde_json::Value]| (key.to_string(), values.to_vec());
    let rate = || sweep("learning_rate", &[json!(0.1), json!(0.2)]);
    for (set, sweep, hint) in [
        (vec![("learning_rate", json!(0.3))], vec![rate()], "learning_rate is swept and set; leave one out"),
        (vec![("steps", json!(3))], vec![sweep("steps", &[json!(1)])], "steps is swept and set; leave one out"),
        (vec![], vec![rate(), rate()], "learning_rate is swept twice"),
        (vec![], vec![sweep("range", &[json!("U[1,2)"), json!("U[-2,2)")])], "say --range once for each range"),
    ] {
        let set = set.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        let message = checked(base, &Overrides { set, sweep, ..Overrides::default() }).unwrap_err();
        assert!(message.contains(hint), "{message}");
    }
    // One value needs no brackets, and ranges may stand at the top.
    let text = base
        .replace("ranges = [\"U[1,2)\"]\n", "")
        .replace("[preset.a]", "ranges = [\"U[-2,2)\"]\n[sweep]\nlearning_rate = 0.1\n[preset.a]");
    let loaded = checked(&text, &none).unwrap();
    assert_eq!(
        (loaded.runs[0].text("range"), loaded.sections[0].places.as_slice()),
        ("U[-2,2)", &["0.1".to_string()][..])
    );
    // A statement without a range is about every place of the model.
    let text = base.replace("[\"U[1,2)\"]", "[{ train = \"U[3,4)\", test = \"U[4,5)\" }]");
    let loaded = checked(&format!("{text}[[expect]]\nmodel = \"nmu\"\nis = 1.0\nsource = \"x\"\n"), &none).unwrap();
    assert_eq!(loaded.expectations.iter().map(|e| e.place.as_str()).collect::<Vec<_>>(), ["U[3,4)"]);
}

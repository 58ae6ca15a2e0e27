//! From hand-made rows through metrics, summary, verdict, table and CSV: exact numbers, and verdicts of every kind.

use nalm_lab::Registry;
use nalm_lab::experiment::{Experiment, Overrides, check};
use nalm_lab::run::{Row, Spec, Status};
use nalm_lab::stats::Estimate;
use nalm_lab::store::Contents;
use nalm_lab::summary::Verdict;
use serde_json::{Value, json};
use std::path::Path;

fn load(text: &str) -> Experiment {
    let registry = Registry::default();
    check(&registry.catalogue, &registry.names(), "mine", Path::new("mine.toml"), text, &Overrides::default()).unwrap()
}

/// A row with these metrics.
fn row(spec: &Spec, metrics: Value) -> Row {
    let mut row = Row::new(spec, Status::Completed, None, format!("{:x}", spec.seed()));
    row.metrics = metrics.as_object().unwrap().clone();
    row.artefacts.insert("weights".into(), json!([0.0, 1.0]));
    row
}

fn contents(experiment: &Experiment, make: impl Fn(usize, &Spec) -> Option<Row>) -> Contents {
    let mut contents = Contents::default();
    for group in &experiment.groups {
        for spec in &experiment.runs[group.runs.clone()] {
            if let Some(row) = make(group.model, spec) {
                contents.rows.insert(row.id.clone(), row);
            }
        }
    }
    contents
}

const FILE: &str = r#"
title = "Verdicts"
task = "single-module"
baselines = ["nmu"]
[preset.a]
seeds = 4
steps = 5000
ranges = ["U[1,2)", "U[-2,-1)"]
[[model]]
module = "nmu"
[[model]]
module = "snmu"
"#;

/// On U[1,2), the NMU solves seeds 0 and 1 at steps 1,000 and 3,000; the sNMU solves all four at 2,000. On U[-2,-1) nobody solves anything, and
/// the sNMU has two rows only.
fn made(model: usize, spec: &Spec) -> Option<Row> {
    let (seed, inside) = (spec.seed(), spec.text("range") == "U[1,2)");
    let solved = inside && (model == 1 || seed < 2);
    let at = if model == 1 { 2_000 } else { 1_000 + 2_000 * seed };
    if !inside && model == 1 && seed >= 2 {
        return None;
    }
    Some(row(
        spec,
        json!({"solved": solved, "solved_at": if solved { json!(at) } else { Value::Null }, "solved_simulated": seed == 0,
            "best_step": 100 * (seed + 1), "validation_error": if seed == 3 { json!(0.5) } else { json!(1e-6) },
            "test_error": 2.0 * seed as f64, "sparsity_error": if solved { json!(0.25) } else { json!(0.5) }}),
    ))
}

fn close(e: Estimate, want: [f64; 3]) {
    let got = [e.mean, e.lower, e.upper].map(|v| v.unwrap_or(f64::NAN));
    assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6 * b.abs().max(1.0)), "{got:?} {want:?}");
}

#[test]
fn every_metric_has_the_numbers_of_its_own_cell() {
    let (registry, experiment) = (Registry::default(), load(FILE));
    let contents = contents(&experiment, made);
    let results = registry.results(&experiment, &contents);
    assert_eq!((results.cells.len(), results.found()), (4, 14));
    let cell = |model, place| results.cell(0, model, place).unwrap();
    let nmu = cell(0, "U[1,2)");
    assert_eq!((nmu.n, nmu.solved, nmu.label.as_str()), (4, 2, "NMU"));
    // Wilson's intervals of 2, 4 and 0 of 4, from the formula in another language.
    close(nmu.get("success"), [0.5, 0.150_039, 0.849_961]);
    close(cell(1, "U[1,2)").get("success"), [1.0, 0.510_109, 1.0]);
    close(cell(0, "U[-2,-1)").get("success"), [0.0, 0.0, 0.489_891]);
    assert_eq!((cell(1, "U[-2,-1)").n, cell(1, "U[-2,-1)").solved), (2, 0));
    // Over solved runs only.
    assert_eq!(nmu.get("solved_at").mean, Some(2_000.0));
    assert_eq!(cell(0, "U[-2,-1)").get("solved_at"), Estimate::NONE);
    assert_eq!(nmu.get("sparsity_error").mean, Some(0.25));
    assert_eq!(nmu.get("best_step").mean, Some(150.0));
    // Over all runs: errors 0, 2, 4, 6 have the mean 3 and the deviation 2.582; t with three degrees of freedom is 3.18245, so that the
    // interval would begin below 0.
    close(nmu.get("test_error"), [3.0, 0.0, 7.108_521]);
    close(nmu.get("validation_success"), [0.75, 0.300_642, 0.954_413]);
    close(nmu.get("simulated_success"), [0.25, 0.045_587, 0.699_358]);
}

#[test]
fn the_table_and_the_csv_say_the_same() {
    let (registry, experiment) = (Registry::default(), load(FILE));
    let contents = contents(&experiment, made);
    let folder = tempfile::tempdir().unwrap();
    let found = registry.report(&experiment, &contents, folder.path()).unwrap();
    assert_eq!((found.rows, found.verdicts.len()), (14, 0));
    let page = std::fs::read_to_string(folder.path().join("mine.md")).unwrap();
    insta::assert_snapshot!("page", page);
    insta::assert_snapshot!("csv", std::fs::read_to_string(folder.path().join("mine.csv")).unwrap());
}

/// Each statement, what is said of it, and what it amounts to.
#[test]
fn statements_of_every_kind_have_their_verdicts() {
    use Verdict::{Consistent, Differs, DirectionOnly, Inconclusive};
    let registry = Registry::default();
    for (model, statement, ours, verdict) in [
        // Of an unknown number of runs, so taken as exact.
        ("nmu", "is = 0.16", "2 of 4 [0.15, 0.85]", Inconclusive),
        ("nmu", "is = 0.14", "2 of 4 [0.15, 0.85]", Differs),
        ("nmu", "is = 0.86", "2 of 4 [0.15, 0.85]", Differs),
        ("nmu", "is = 1.0", "2 of 4 [0.15, 0.85]", Differs),
        // Of so many that the difference is open.
        ("nmu", "is = 0.86\nn = 7", "2 of 4 [0.15, 0.85]", Inconclusive),
        ("nmu", "is = 1.0\nn = 1000", "2 of 4 [0.15, 0.85]", Differs),
        ("snmu", "is = 1.0\nn = 25", "4 of 4 [0.51, 1.00]", Inconclusive),
        ("nmu", "below = 1.0", "2 of 4 [0.15, 0.85]", Consistent),
        ("nmu", "below = 0.6", "2 of 4 [0.15, 0.85]", Inconclusive),
        ("nmu", "below = 0.1", "2 of 4 [0.15, 0.85]", Differs),
        ("snmu", "below = 1.0", "4 of 4 [0.51, 1.00]", Inconclusive),
        ("snmu", "above = \"nmu\"", "4 against 2 of 4", DirectionOnly),
        ("nmu", "above = \"snmu\"", "2 against 4 of 4", Inconclusive),
        ("nmu", "above = \"twin\"", "2 against 2 of 4", Inconclusive),
        ("snmu", "equals = \"nmu\"", "4 against 2 of 4", Inconclusive),
        ("nmu", "metric = \"validation_success\"\nis = 0.9", "3 of 4 [0.30, 0.95] inside", Inconclusive),
        ("nmu", "metric = \"validation_success\"\nis = 1.0", "3 of 4 [0.30, 0.95] inside", Differs),
        // 4.1 and 1.0 in quadrature are 4.2, and rounding leaves another 0.1 open; that is more than half of 7.3.
        ("nmu", "metric = \"test_error\"\nis = [7.3, 1.0]", "error outside 3.0 ± 4.1", Inconclusive),
        ("nmu", "metric = \"test_error\"\nis = [7.4, 1.0]", "error outside 3.0 ± 4.1", Differs),
        ("nmu", "metric = \"best_step\"\nis = [150.0, 0.0]", "best step 150 ± 640", Inconclusive),
        ("nmu", "metric = \"best_step\"\nis = [900.0, 50.0]", "best step 150 ± 640", Differs),
        ("nmu", "metric = \"sparsity_error\"\nbelow = 0.2", "0.25", Differs),
        ("nmu", "metric = \"sparsity_error\"\nbelow = 0.3", "0.25", Consistent),
        // Both are solved with seeds 0 and 1: at 2,000 against 1,000 and 3,000.
        ("snmu", "metric = \"solved_at\"\nabove = \"nmu\"", "2000 against 2000", Inconclusive),
        // Seeds 2 and 3 never solve with the NMU, and count with all of their 5,000 steps: later with three seeds of four.
        ("nmu", "metric = \"unsolved_steps\"\nabove = \"snmu\"", "3500 [1875, 5000] against", DirectionOnly),
    ] {
        let twin = "[[model]]\nmodule = \"nmu\"\nlabel = \"twin\"\noptions = { start = [0.4, 0.6] }\n";
        let expect = format!("[[expect]]\nmodel = \"{model}\"\nrange = \"U[1,2)\"\n{statement}\nsource = \"x\"\n");
        let text = format!("{FILE}{twin}{expect}");
        let experiment = load(&text);
        let contents = contents(&experiment, made);
        let results = registry.results(&experiment, &contents);
        let compared = results.comparisons();
        assert_eq!(compared.len(), 1, "{statement}");
        let ours_start: String = compared[0].ours.chars().take(ours.chars().count()).collect();
        assert_eq!((ours_start.as_str(), compared[0].verdict), (ours, verdict), "{model}: {statement}");
    }
}

/// A mean over solved runs is of these, and of no others: the NMU solves two of four.
#[test]
fn a_mean_over_solved_runs_says_how_many_they_are() {
    let registry = Registry::default();
    let found = |statement: &str| {
        let experiment =
            load(&format!("{FILE}[[expect]]\nmodel = \"nmu\"\nrange = \"U[1,2)\"\nsource = \"x\"\n{statement}"));
        let contents = contents(&experiment, made);
        let found = registry.results(&experiment, &contents).comparisons();
        (found[0].ours.clone(), found[0].n)
    };
    let (ours, n) = found("metric = \"solved_at\"\nbelow = 5000.0\n");
    assert!(ours.starts_with("2000 [") && ours.ends_with("(n = 2)") && n == 2, "{ours}");
    let (ours, n) = found("metric = \"test_error\"\nbelow = 5000.0\n");
    assert!(ours.ends_with("(n = 4)") && n == 4, "{ours}");
}

/// Shorter runs than the published ones speak only where their file says why they are long enough.
#[test]
fn shorter_runs_count_where_their_length_is_enough() {
    let registry = Registry::default();
    for (reason, verdict) in
        [("", Verdict::NotComparable), ("enough = \"nothing happens later\"\n", Verdict::Inconclusive)]
    {
        let experiment = load(&format!(
            "{FILE}[published]\nn = 4\nsteps = 9000\n{reason}[[expect]]\nmodel = \"nmu\"\nrange = \"U[1,2)\"\nis = 0.5\nsource = \"x\"\n"
        ));
        let contents = contents(&experiment, made);
        assert_eq!(registry.results(&experiment, &contents).comparisons()[0].verdict, verdict, "{reason}");
    }
}

/// A reason that covers all ranges would excuse a difference that nobody has seen yet.
#[test]
fn a_known_difference_names_its_ranges() {
    let registry = Registry::default();
    let text = |ranges: &str| {
        format!("{FILE}[[expect]]\nmodel = \"nmu\"\n{ranges}is = 0.5\nknown = \"so it is\"\nsource = \"x\"\n")
    };
    let check = |text: &str| {
        check(&registry.catalogue, &registry.names(), "mine", Path::new("mine.toml"), text, &Overrides::default())
    };
    let why = check(&text("")).unwrap_err().to_string();
    assert!(why.contains("known says why ours differs, so give the ranges on which it does"), "{why}");
    assert!(check(&text("range = \"U[1,2)\"\n")).is_ok() && check(&text("pooled = true\n")).is_ok());
}

/// A place without a solved run has no step at which one was solved, and says so.
#[test]
fn empty_panels_say_that_no_run_is_solved() {
    let (registry, folder) = (Registry::default(), tempfile::tempdir().unwrap());
    let experiment = load(FILE);
    let contents = contents(&experiment, made);
    registry.report(&experiment, &contents, folder.path()).unwrap();
    let svg = std::fs::read_to_string(folder.path().join("mine-facets.svg"));
    let svg = svg.or_else(|_| std::fs::read_to_string(folder.path().join("mine.svg"))).unwrap();
    let steps = svg.find("Solved at step").unwrap();
    assert!(!svg[..steps].contains("no run solved"), "success is known to be 0");
    // In the panels of the steps and of the sparsity errors.
    assert_eq!(svg.matches(">no run solved<").count(), 2, "{svg}");
}

/// Figures of when runs are solved: seeds that all models have, and no panel along whose floor all lines run.
#[test]
fn the_share_of_solved_seeds_is_over_common_seeds() {
    let registry = Registry::default();
    let experiment = load(&FILE.replace("task =", "figures = [\"solved\"]\ntask ="));
    let contents =
        contents(&experiment, |model, spec| made(model, spec).filter(|row| model == 0 || row.spec.seed() > 0));
    let folder = tempfile::tempdir().unwrap();
    registry.report(&experiment, &contents, folder.path()).unwrap();
    let svg = std::fs::read_to_string(folder.path().join("mine.svg")).unwrap();
    let data = std::fs::read_to_string(folder.path().join("mine.csv")).unwrap();
    assert!(svg.contains("n = 3 each; only seeds that all models of a range have"), "{svg}");
    assert!(svg.contains("no run is solved there: U[-2,-1)"), "{svg}");
    // Seed 0, which the sNMU lacks, is none of the NMU's.
    assert!(data.contains("NMU,\"U[1,2)\",3,3000,3,1,"), "{data}");
    assert!(!data.contains("1000"), "{data}");
}

/// Pairs are of one version of the numerics.
#[test]
#[cfg(feature = "images")]
fn pairs_are_of_one_version_of_the_numerics() {
    let text = "title = \"P\"\ntask = \"mnist-isolated\"\nbaselines = [\"mul\"]\npreset.laptop = { seeds = 3 }\n\
        [[model]]\nmodule = \"mul\"\n[[model]]\nmodule = \"snmu\"\n\
        [[expect]]\nmodel = \"snmu\"\nmetric = \"product_strict\"\nabove = \"mul\"\nsource = \"x\"\n";
    let registry = Registry::default();
    let experiment = load(text);
    let found = |earlier: &dyn Fn(usize, u64) -> bool| {
        let contents = contents(&experiment, |model, spec| {
            let spec = if earlier(model, spec.seed()) { spec.with("numerics", 1) } else { spec.clone() };
            Some(row(&spec, json!({"product_strict": if model == 0 { 0.2 } else { 0.3 }})))
        });
        let found = registry.results(&experiment, &contents).comparisons();
        (found[0].ours.clone(), found[0].verdict)
    };
    let pairs = |text: &str, n: usize| text.contains(&format!("({n} pair"));
    let (ours, verdict) = found(&|_, _| false);
    assert!(pairs(&ours, 3) && verdict == Verdict::ReducedFor, "{ours}");
    let (ours, verdict) = found(&|model, seed| model == 0 && seed == 0);
    assert!(pairs(&ours, 2) && verdict == Verdict::ReducedFor, "{ours}");
    // What is left is one pair, which is no direction.
    let (ours, verdict) = found(&|model, seed| model == 0 && seed < 2);
    assert!(pairs(&ours, 1) && verdict == Verdict::NotComparable, "{ours}");
    assert_eq!(found(&|model, _| model == 0).1, Verdict::NotRun);
}

/// Two experiments at a reduced scale that go different ways are no direction, and both are shown.
#[test]
#[cfg(feature = "images")]
fn contrary_evidence_is_not_left_out() {
    use nalm_lab::report::claims::{Evidence, claims};
    let registry = Registry::default();
    let load = |name: &str| registry.load(name, &Overrides::preset("laptop")).unwrap();
    let (small, full) = (load("mnist-isolated"), load("mnist-isolated-full"));
    let verdict = |full_mul: f64| {
        let made = |experiment: &Experiment, mul: f64| {
            let models = experiment.models.clone();
            contents(experiment, |model, spec| {
                let strict = if models[model] == "MUL" { mul } else { 0.5 };
                Some(row(spec, json!({"product_strict": strict})))
            })
        };
        let rows = [made(&small, 0.4), made(&full, full_mul)];
        let evidence = [(&small, &rows[0], "small"), (&full, &rows[1], "full")].map(|(experiment, rows, name)| {
            Evidence { results: registry.results(experiment, rows), name: name.into(), page: None }
        });
        let found = claims(&evidence);
        let claim = found.iter().find(|claim| claim.statement.key == "isolated-above-mul").unwrap();
        (claim.verdict, claim.ours())
    };
    assert_eq!(verdict(0.3).0, Verdict::ReducedFor);
    let (found, ours) = verdict(0.9);
    assert_eq!(found, Verdict::ReducedNeither);
    assert!(ours.contains("against 40.0 %") && ours.contains("against 90.0 %"), "{ours}");
}

/// Ten seeds on each of two ranges: the sNMU gains nine on U[1,2) and loses one; on U[-2,-1) it gains all of the others.
fn of_ten(model: usize, spec: &Spec) -> Option<Row> {
    let lost = spec.text("range") == "U[1,2)" && spec.seed() == 9;
    Some(row(spec, json!({"solved": (model == 1) != lost, "solved_at": null})))
}

#[test]
fn orders_are_adjusted_for_how_many_ranges_were_looked_at() {
    let order = "[[expect]]\nmodel = \"snmu\"\nabove = \"nmu\"\nsource = \"x\"\n";
    let experiment = load(&format!("{}{order}", FILE.replace("seeds = 4", "seeds = 10")));
    let contents = contents(&experiment, of_ten);
    let registry = Registry::default();
    let found = registry.results(&experiment, &contents).comparisons();
    let shown: Vec<(&str, Verdict)> = found.iter().map(|c| (c.difference.as_str(), c.verdict)).collect();
    assert_eq!(
        shown,
        [
            ("9 for, 1 against; McNemar p = 0.021", Verdict::Consistent),
            ("10 for, 0 against; McNemar p = 0.0020, 0.0039 after Holm", Verdict::Consistent)
        ]
    );
    // All ranges together are one order.
    let pooled = load(&format!("{}{order}pooled = true\n", FILE.replace("seeds = 4", "seeds = 10")));
    let found = registry.results(&pooled, &contents).comparisons();
    assert_eq!((found.len(), found[0].ours.as_str()), (1, "19 against 1 of 20"));
    // A seed counts once: nine gain a range more than they lose, and one gains one and loses one.
    assert_eq!(found[0].difference, "9 seeds for, 0 against; sign test p = 0.0039");
    // A seed alone is no direction, on however many ranges it stands.
    let alone = format!("{}{order}pooled = true\nsteps = 1000000\n", FILE.replace("seeds = 4", "seeds = 1"));
    let alone = load(&alone);
    let found = registry.results(&alone, &contents).comparisons();
    assert_eq!(found[0].verdict, Verdict::NotComparable);
}

/// What is said about all ranges together is not said about those that happen to be run.
#[test]
fn a_statement_about_all_ranges_takes_all_of_them() {
    let registry = Registry::default();
    let found = |statement: &str, there: &dyn Fn(usize, &Spec) -> bool| {
        let experiment = load(&format!("{FILE}[[expect]]\npooled = true\n{statement}\nsource = \"x\"\n"));
        let contents = contents(&experiment, |model, spec| {
            there(model, spec).then(|| row(spec, json!({"solved": true, "solved_at": 1_000})))
        });
        let found = registry.results(&experiment, &contents).comparisons();
        (found[0].ours.clone(), found[0].verdict)
    };
    let inside = |spec: &Spec| spec.text("range") == "U[1,2)";
    let full = "model = \"nmu\"\nbelow = 1.0";
    let missing = ("1 of 2 ranges have all 4 seeds".to_string(), Verdict::NotRun);
    assert_eq!(found(full, &|_, spec| inside(spec)), missing);
    assert_eq!(found(full, &|_, spec| inside(spec) || spec.seed() < 2), missing);
    assert_eq!(found(full, &|_, _| true).0, "8 of 8 [0.68, 1.00]");
    assert_eq!(found(full, &|_, spec| spec.seed() < 2).0, "4 of 4 [0.51, 1.00]", "fewer seeds, but as many everywhere");
    let other = |spec: &Spec| inside(spec) == (spec.seed() < 2);
    assert_eq!(found(full, &|_, spec| other(spec)).0, "0 of 2 ranges have all 4 seeds", "as many, but others");
    // Of two models, seeds count that both have; runs of others do not matter.
    for relation in ["above = \"nmu\"", "equals = \"nmu\""] {
        let statement = format!("model = \"snmu\"\n{relation}");
        let none = ("no seed that all ranges and both models have".to_string(), Verdict::NotRun);
        assert_eq!(found(&statement, &|model, spec| model == 1 || inside(spec)), none);
        assert_eq!(found(&statement, &|model, _| model == 1), none);
        assert_eq!(found(&statement, &|_, _| true).0, "8 against 8 of 8");
    }
    assert_eq!(found(full, &|model, spec| model == 0 || inside(spec)).0, "8 of 8 [0.68, 1.00]");
    // Seeds that one range has and another lacks do not count.
    let order = "model = \"snmu\"\nabove = \"nmu\"";
    assert_eq!(found(order, &|_, spec| inside(spec) || spec.seed() < 2).0, "4 against 4 of 4");
    assert_eq!(found(order, &|_, spec| inside(spec) == (spec.seed() < 2)).1, Verdict::NotRun);
}

/// Over values of a setting that a model does not have, its runs are one rate, and one line of the data of a figure.
#[test]
fn what_is_not_varied_counts_once() {
    let registry = Registry::default();
    let swept = FILE
        .replace(", \"U[-2,-1)\"", "")
        .replace("[preset.a]", "figures = [\"solved\"]\n[sweep]\nnoise = [\"U[1,2]\", \"U[1,4]\"]\n[preset.a]");
    let statement = |text: &str| format!("[[expect]]\npooled = true\nsource = \"x\"\n{text}\n");
    let experiment =
        load(&(swept + &statement("model = \"nmu\"\nis = 1.0") + &statement("model = \"snmu\"\nis = 1.0")));
    let solved = |_: usize, spec: &Spec| Some(row(spec, json!({"solved": true, "solved_at": 1_000})));
    let there = contents(&experiment, solved);
    let results = registry.results(&experiment, &there);
    assert_eq!(results.comparisons().iter().map(|c| c.n).collect::<Vec<_>>(), [4, 8]);
    assert_eq!((experiment.planned(), results.found(), results.rows_of_earlier_numerics()), (12, 12, 0));
    let folder = tempfile::tempdir().unwrap();
    registry.report(&experiment, &there, folder.path()).unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|kind| kind == "csv"));
    let texts: Vec<String> = texts.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let data = texts.iter().find(|text| text.contains("at_risk")).unwrap();
    let count = |start: &str| data.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("NMU,–,"), count("NMU,"), count("sNMU,")), (1, 1, 2), "{data}");
    // Without their number of steps, neither solved runs nor others are watched.
    let shortened = contents(&experiment, |model, spec| {
        let mut row = solved(model, spec)?;
        row.spec = row.spec.with("steps", Value::Null);
        Some(row)
    });
    let without = registry.results(&experiment, &shortened);
    let group = &experiment.groups[0];
    assert_eq!((results.survival(group).len(), without.survival(group).len()), (4, 0));
    // Seed by seed, places of two sweeps are called as elsewhere: the NMU has one of the two, and so have both of these.
    let text = FILE
        .replace(", \"U[-2,-1)\"", "")
        .replace("[preset.a]", "[sweep]\nlearning_rate = [0.1, 0.2]\nnoise = [\"U[1,2]\", \"U[1,4]\"]\n[preset.a]");
    let experiment =
        load(&(text + "[[model]]\nmodule = \"nmu\"\nlabel = \"slow\"\noptions = { learning_rate = 1e-4 }\n"));
    let there = contents(&experiment, solved);
    let at = |model: usize| -> Vec<String> {
        registry.results(&experiment, &there).against(0, model, 0).into_iter().map(|at| at.at).collect()
    };
    assert_eq!(at(2), ["learning_rate 0.1", "learning_rate 0.2"]);
    assert_eq!(at(1)[0], "learning_rate 0.1, noise U[1,2]");
}

/// Two models that are one share their runs, which are there once.
#[test]
fn shared_runs_are_counted_once() {
    let registry = Registry::default();
    let experiment = load(&FILE.replace("module = \"snmu\"", "module = \"nmu\"\nlabel = \"again\""));
    let contents = contents(&experiment, |_, spec| (spec.seed() < 3).then(|| row(spec, json!({"solved": true}))));
    let folder = tempfile::tempdir().unwrap();
    registry.report(&experiment, &contents, folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("mine.md")).unwrap();
    assert!(page.contains("; 6 of 8 runs are there."), "{page}");
}

/// Runs of one range of the nine do not refute "no unit has full success on all ranges".
#[test]
fn claims_about_all_ranges_wait_for_all_of_them() {
    use nalm_lab::report::claims::{Evidence, claims};
    let registry = Registry::default();
    let experiment = registry.load("single-module", &Overrides::preset("paper")).unwrap();
    let nmu = experiment.models.iter().position(|model| model == "NMU");
    let solved = json!({"solved": true, "solved_at": 1_000});
    let contents = contents(&experiment, |model, spec| {
        (Some(model) == nmu && spec.text("range") == "U[1,2)").then(|| row(spec, solved.clone()))
    });
    let results = registry.results(&experiment, &contents);
    assert_eq!(results.found(), 25);
    let found = claims(&[Evidence { results, name: "single-module".into(), page: None }]);
    let claim = found.iter().find(|claim| claim.statement.key == "nobody-full").unwrap();
    assert_eq!(claim.verdict, Verdict::NotRun);
}

#[test]
fn rates_that_differ_are_not_equal() {
    let text = format!(
        "{}[[expect]]\nmodel = \"snmu\"\nrange = \"U[1,2)\"\nequals = \"nmu\"\nsource = \"x\"\n",
        FILE.replace("seeds = 4", "seeds = 40")
    );
    // 2 of 40 against 40 of 40.
    let few = |model, spec: &Spec| Some(row(spec, json!({"solved": model == 1 || spec.seed() < 2, "solved_at": null})));
    let registry = Registry::default();
    for (reason, unexplained) in [("", true), ("known = \"it is so\"\n", false)] {
        let experiment = load(&format!("{text}{reason}"));
        let contents = contents(&experiment, few);
        let found = registry.results(&experiment, &contents).comparisons();
        assert_eq!((found[0].verdict, found[0].is_unexplained()), (Verdict::Differs, unexplained));
        assert!(found[0].difference.ends_with("] (the 95 % interval)"), "{}", found[0].difference);
    }
}

/// An equality shows the interval that it is judged by; a half-width and a distance show the digits that decide.
#[test]
fn what_decides_is_shown() {
    let registry = Registry::default();
    let difference = |seeds: u64, statement: &str, solved: &dyn Fn(usize, u64) -> bool| {
        let text = FILE.replace("seeds = 4", &format!("seeds = {seeds}"));
        let experiment = load(&format!("{text}[[expect]]\nrange = \"U[1,2)\"\n{statement}\nsource = \"x\"\n"));
        let made =
            |model, spec: &Spec| Some(row(spec, json!({"solved": solved(model, spec.seed()), "solved_at": null})));
        let contents = contents(&experiment, made);
        let found = registry.results(&experiment, &contents).comparisons();
        (found[0].difference.clone(), found[0].verdict)
    };
    // 17 seeds that both solve, 3 that the sNMU alone does, one that the NMU alone does, 4 that neither does.
    let solved = |model: usize, seed: u64| seed < 17 || (model == 1 && seed < 20) || (model == 0 && seed == 20);
    let (shown, verdict) = difference(25, "model = \"snmu\"\nequals = \"nmu\"", &solved);
    assert_eq!(verdict, Verdict::Consistent);
    assert_eq!(shown, "+0.08 [-0.07, +0.23] (the 90 % interval), equal within ± 0.25?");
    // 28 of 29 leave 0.172 open, which is more than 0.17.
    let (shown, verdict) = difference(29, "model = \"nmu\"\nis = 1.0\nn = 25", &|_, seed| seed < 28);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(shown.ends_with("(leaves 0.172 open)"), "{shown}");
    let (shown, _) = difference(20, "model = \"nmu\"\nis = 0.9\nn = 20", &|_, seed| seed < 14);
    assert!(shown.ends_with("(± 0.24)"), "{shown}");
}

/// The published streams, length and number of runs, and the published digits; without any of these it is not identical.
#[test]
fn what_is_identical_has_all_of_it() {
    let registry = Registry::default();
    let verdict = |stream: &str, rest: &str| {
        let text = FILE.replace("steps = 5000", &format!("steps = 5000\nstream = \"{stream}\""));
        let statement = "[[expect]]\nmodel = \"nmu\"\nrange = \"U[1,2)\"\nsource = \"x\"\n";
        let experiment = load(&format!("{text}{statement}{rest}"));
        let contents = contents(&experiment, made);
        registry.results(&experiment, &contents).comparisons()[0].verdict
    };
    assert_eq!(verdict("reference", "is = 0.5\nn = 4\nsteps = 5000\n"), Verdict::Identical);
    assert_eq!(verdict("fast", "is = 0.5\nn = 4\nsteps = 5000\n"), Verdict::Inconclusive);
    assert_eq!(verdict("reference", "is = 0.5\nn = 4\nsteps = 9000\n"), Verdict::NotComparable);
    assert_eq!(verdict("reference", "is = 0.5\nn = 4\n"), Verdict::Inconclusive);
    assert_eq!(verdict("reference", "is = 0.5\nn = 8\nsteps = 5000\n"), Verdict::Inconclusive);
    assert_eq!(verdict("reference", "is = 0.51\nn = 4\nsteps = 5000\n"), Verdict::Inconclusive);
    let error = "metric = \"test_error\"\nn = 4\nsteps = 5000\n";
    assert_eq!(verdict("reference", &format!("{error}is = [3.04, 4.1]\n")), Verdict::Identical);
    assert_eq!(verdict("reference", &format!("{error}is = [3.0, 4.2]\n")), Verdict::Inconclusive);
}

/// A rate is identical to the run, and with the published seeds only; rounding to the printed digits is not enough.
#[test]
fn an_identical_rate_has_the_published_count_and_seeds() {
    let registry = Registry::default();
    let verdict = |seeds: &str, solved: u64, n: usize, rate: &str| {
        let preset = format!("seeds = {seeds}\nsteps = 5000\nstream = \"reference\"");
        let text = FILE.replace("seeds = 4\nsteps = 5000", &preset);
        let statement = "[[expect]]\nmodel = \"nmu\"\nrange = \"U[1,2)\"\nsource = \"x\"\nsteps = 5000\n";
        let experiment = load(&format!("{text}{statement}is = {rate}\nn = {n}\n"));
        let rows =
            |_, spec: &Spec| Some(row(spec, json!({"solved": spec.seed() % 100 < solved, "solved_at": Value::Null})));
        let contents = contents(&experiment, rows);
        registry.results(&experiment, &contents).comparisons()[0].verdict
    };
    for (solved, n, rate, identical) in [
        (20, 25, "1.0", false),
        (25, 25, "1.0", true),
        (3, 25, "0.0", false),
        (0, 25, "0.0", true),
        (17, 20, "0.8", false),
        (16, 20, "0.8", true),
        (15, 20, "0.75", true),
    ] {
        let found = verdict(&n.to_string(), solved, n, rate);
        assert_eq!(found == Verdict::Identical, identical, "{solved} of {n} against {rate}: {found:?}");
    }
    assert_eq!(verdict("[0, 1, 2, 3]", 2, 4, "0.5"), Verdict::Identical);
    // As many, of which as many are solved, but other seeds.
    assert_ne!(verdict("[0, 1, 2, 103]", 2, 4, "0.5"), Verdict::Identical);
    assert_ne!(verdict("[100, 101, 102, 103]", 2, 4, "0.5"), Verdict::Identical);
}

/// A statement is held against the cell of its own range and model, and against nothing if there are no rows.
#[test]
fn statements_find_their_own_cell() {
    let mut text = FILE.to_string();
    for (model, range, rate) in [("nmu", "U[1,2)", 0.5), ("nmu", "U[-2,-1)", 0.0), ("snmu", "U[1,2)", 1.0)] {
        text += &format!("[[expect]]\nmodel = \"{model}\"\nrange = \"{range}\"\nis = {rate:?}\nsource = \"x\"\n");
    }
    let experiment = load(&text);
    let registry = Registry::default();
    let all = contents(&experiment, made);
    let results = registry.results(&experiment, &all);
    let found = results.comparisons();
    let solved: Vec<&str> = found.iter().map(|c| &c.ours[..6]).collect();
    assert_eq!(solved, ["2 of 4", "0 of 4", "4 of 4"]);
    let none = contents(&experiment, |model, spec| if model == 0 { None } else { made(model, spec) });
    let found = registry.results(&experiment, &none).comparisons();
    let run: Vec<bool> = found.iter().map(|c| c.verdict != Verdict::NotRun).collect();
    assert_eq!(run, [false, false, true]);
}

#[test]
fn the_bound_of_the_batch_noise_is_compared_by_its_printed_digits() {
    let registry = Registry::default();
    let verdict = |bound: f64| {
        let text = format!(
            "title = \"Bound\"\ndefault_preset = \"paper\"\n[[expect]]\nrange = \"U[1,2)\"\nmetric = \"noise_bound\"\nis = {bound:?}\nsource = \"x\"\n"
        );
        let (experiment, nothing) = (load(&text), Contents::default());
        registry.results(&experiment, &nothing).comparisons()[0].verdict == Verdict::Consistent
    };
    // 1 + sqrt(12) = 4.4641
    assert_eq!([4.46, 4.464, 4.47, 4.45, 4.48].map(verdict), [true, true, false, false, false]);
}

/// A run that could not be carried out is missing; one that diverged counts.
#[test]
fn failed_runs_are_missing_and_listed() {
    let (registry, experiment) = (Registry::default(), load(FILE));
    let mut contents = contents(&experiment, |model, spec| match (model, spec.seed()) {
        (1, 0) => None,
        (1, 1) => Some(Row::new(spec, Status::Diverged, Some("step 7".into()), "ab".into())),
        _ => made(model, spec),
    });
    let run = experiment.groups.iter().find(|group| group.model == 1 && group.place == "U[1,2)").unwrap().runs.start;
    contents.insert(Row::failed(&experiment.runs[run], "no memory".into()));
    let results = registry.results(&experiment, &contents);
    let cell = results.cell(0, 1, "U[1,2)").unwrap();
    assert_eq!((cell.n, cell.solved), (3, 2));
    let folder = tempfile::tempdir().unwrap();
    registry.report(&experiment, &contents, folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("mine.md")).unwrap();
    assert!(page.contains("could not be carried out, and are missing\n\n* snmu with seed 0: no memory"), "{page}");
    assert!(page.contains("* sNMU on U[1,2): 1 seed ends diverged (step 7) (1)"), "{page}");
    assert!(page.contains("* NMU on U[1,2): 2 seeds end with weights (0.0, 1.0) (2, 3)"), "{page}");
}

/// What was made by a program of one's own appears in rows, CSV and tables.
#[test]
fn a_metric_that_was_added_is_in_the_table_and_in_the_csv() {
    use nalm_lab::summary::metric::{Estimator, Metric};
    let mut registry = Registry::default();
    registry.metrics.push(
        Metric::new("twice", "twice the error", Estimator::Mean, |row| Some(2.0 * row.number("test_error")?))
            .in_csv()
            .in_tables(),
    );
    let experiment = load(FILE);
    let contents = contents(&experiment, made);
    let folder = tempfile::tempdir().unwrap();
    registry.report(&experiment, &contents, folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("mine.md")).unwrap();
    assert!(
        page.contains("| success, simulated threshold | twice the error |") && page.contains("| 6.00 [-2.22, 14.22] |"),
        "{page}"
    );
    let csv = std::fs::read_to_string(folder.path().join("mine.csv")).unwrap();
    assert!(
        csv.lines().next().unwrap().ends_with(",twice_mean,twice_lower,twice_upper") && csv.contains(",6,-2.2"),
        "{csv}"
    );
}

/// Recorded rows stay on pages when the numerics of a task change, until its runs are made anew; and the page says so.
#[cfg(feature = "images")]
#[test]
fn rows_of_earlier_numerics_stand_in_for_those_that_are_missing() {
    let registry = Registry::default();
    let experiment = registry.load("mnist-isolated", &Overrides::preset("smoke")).unwrap();
    let mut contents = Contents::default();
    // Both versions of the first run, the earlier one of the second, nothing of the others.
    let earlier = |k: usize| experiment.runs[k].with("numerics", 1);
    for spec in [experiment.runs[0].clone(), earlier(0), earlier(1)] {
        contents.rows.insert(spec.id(), row(&spec, json!({})));
    }
    let results = registry.results(&experiment, &contents);
    let versions: Vec<Option<u64>> = results.rows.iter().map(|row| row.map(|row| row.spec.numerics())).collect();
    // A page does not mix versions: the earlier one has more runs.
    assert_eq!(versions[..3], [Some(1), Some(1), None]);
    assert_eq!((results.found(), results.rows_of_earlier_numerics()), (2, 2));
    let out = tempfile::tempdir().unwrap();
    registry.report(&experiment, &contents, out.path()).unwrap();
    let page = std::fs::read_to_string(out.path().join("mnist-isolated.md")).unwrap();
    assert!(page.contains("Of an earlier version of the numerics: 2 (this program computes version 3)"), "{page}");
    // Of as many, the latest are taken.
    let again = experiment.runs[1].clone();
    contents.rows.insert(again.id(), row(&again, json!({})));
    assert_eq!(registry.results(&experiment, &contents).rows_of_earlier_numerics(), 0);
    // A numerical task has none that would do.
    let numbers = registry.load("single-module", &Overrides::preset("smoke")).unwrap();
    assert_eq!(numbers.ids_of_all_versions(&registry.catalogue), numbers.ids());
}

/// Statements about images take the paper's scale and five folds; orders at less say which way they go, everything else is not comparable.
#[cfg(feature = "images")]
#[test]
fn images_take_five_folds() {
    let registry = Registry::default();
    let verdict = |preset: &str, folds: usize, statement: &str| {
        let models = "[[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n";
        let text = format!(
            "title = \"I\"\ntask = \"mnist-isolated\"\npreset.{preset} = {{ seeds = {folds} }}\n{models}[[expect]]\n{statement}\nsource = \"x\"\n"
        );
        let experiment = load(&text);
        // The sNMU is above the NMU in every fold, and both end at (1, 1).
        let made = |model: usize, spec: &Spec| {
            let strict = 0.5 + 0.2 * model as f64 + 0.001 * spec.seed() as f64;
            Some(row(spec, json!({"product_strict": strict, "at_one": true})))
        };
        let contents = contents(&experiment, made);
        registry.results(&experiment, &contents).comparisons()[0].verdict
    };
    let [above, below] = [["snmu", "nmu"], ["nmu", "snmu"]]
        .map(|[one, other]| format!("model = \"{one}\"\nmetric = \"product_strict\"\nabove = \"{other}\""));
    let equal = "model = \"snmu\"\nmetric = \"at_one\"\nequals = \"nmu\"";
    assert_eq!(verdict("paper", 10, &above), Verdict::Consistent);
    assert_eq!(verdict("paper", 10, &below), Verdict::Differs);
    assert_eq!([&above, &below].map(|s| verdict("paper", 4, s)), [Verdict::ReducedFor, Verdict::ReducedAgainst]);
    assert_eq!(verdict("laptop", 10, &above), Verdict::ReducedFor);
    assert_eq!(verdict("paper", 20, equal), Verdict::Consistent);
    assert_eq!(verdict("paper", 4, equal), Verdict::NotComparable);
    assert_eq!(verdict("laptop", 20, equal), Verdict::NotComparable);
}

/// Sequences: the NMU solves lengths one to five, the sNMU one and two; thresholds are those of the reference, whose errors are near 1.
#[cfg(feature = "images")]
#[test]
fn models_are_compared_length_by_length() {
    let registry = Registry::default();
    let text = "title = \"S\"\ntask = \"mnist-sequential\"\npreset.paper = { seeds = FOLDS }\n\
        [[model]]\nmodule = \"mul\"\n[[model]]\nmodule = \"nmu\"\n[[model]]\nmodule = \"snmu\"\n\
        [[model]]\nmodule = \"nmu\"\nlabel = \"twin\"\noptions = { start = [0.4, 0.6] }\n";
    let sequence = |model: usize, seed: u64| {
        let solved = [20, 5, 2, 5][model];
        let part = |error: f64| json!({"error": error, "rounded": 0.0, "rounded_last": 0.0});
        let error = |length: usize| {
            if model == 0 { 1.0 + 0.01 * seed as f64 } else { [9.0, 0.5][usize::from(length <= solved)] }
        };
        let test: Vec<Value> = (1..=20).map(|length| part(error(length))).collect();
        json!({"sequence": [{"epoch": 0, "step": 0, "train": part(1.0), "valid": part(1.0), "test": test, "weights": [1.0, 1.0], "sparsity": 0.25}]})
    };
    for (folds, one, other, ours, verdict) in [
        (5, "nmu", "snmu", "above at 3 lengths, below at 0 (5 and 5 runs)", Verdict::DirectionOnly),
        (5, "snmu", "nmu", "above at 0 lengths, below at 3 (5 and 5 runs)", Verdict::Inconclusive),
        (5, "nmu", "twin", "above at 0 lengths, below at 0 (5 and 5 runs)", Verdict::Inconclusive),
        (3, "nmu", "snmu", "above at 3 lengths, below at 0 (3 and 3 runs)", Verdict::ReducedFor),
        (3, "snmu", "nmu", "above at 0 lengths, below at 3 (3 and 3 runs)", Verdict::ReducedAgainst),
    ] {
        let expect = format!(
            "[[expect]]\nmodel = \"{one}\"\nmetric = \"success_at_length\"\nabove = \"{other}\"\nsource = \"x\"\n"
        );
        let experiment = load(&format!("{text}{expect}").replace("FOLDS", &format!("{folds}")));
        let contents = contents(&experiment, |model, spec| {
            let mut row = row(spec, json!({}));
            row.series.insert("history".into(), sequence(model, spec.seed()));
            Some(row)
        });
        let results = registry.results(&experiment, &contents);
        let comparisons = results.comparisons();
        let found: Vec<_> = comparisons.iter().map(|c| (c.ours.as_str(), c.verdict)).collect();
        assert_eq!(found, [(ours, verdict)], "{one} above {other}");
    }
    // Reference runs of other versions judge nobody.
    let expect = "[[expect]]\nmodel = \"nmu\"\nmetric = \"success_at_length\"\nabove = \"snmu\"\nsource = \"x\"\n";
    let experiment = load(&format!("{text}{expect}").replace("FOLDS", "2"));
    let contents = contents(&experiment, |model, spec| {
        let spec = if model == 0 && spec.seed() == 0 { spec.with("numerics", 1) } else { spec.clone() };
        let mut row = row(&spec, json!({}));
        row.series.insert("history".into(), sequence(model, spec.seed()));
        Some(row)
    });
    let results = registry.results(&experiment, &contents);
    let comparisons = results.comparisons();
    let why = "fewer than two reference runs of the same version of the numerics";
    assert_eq!((comparisons[0].ours.as_str(), comparisons[0].verdict), (why, Verdict::NotComparable));
    let numbers = nalm_lab::report::numbers::of(&results);
    assert_eq!(numbers["missed_lengths; NMU"], "not judged");
    assert_eq!((numbers["reference_runs"].as_str(), numbers["judged_versions"].as_str()), ("none", "none"));
}

/// Predicted borders of starting weights are counted section by section.
#[test]
fn predictions_are_counted_by_section() {
    let section = |name: &str| format!("[[section]]\nname = \"{name}\"\ngrid = 5\n");
    let text = FILE
        .replace("[[model]]\nmodule = \"nmu\"", &(section("one") + &section("two") + "[[model]]\nmodule = \"nmu\""));
    let text = text.replace(", \"U[-2,-1)\"]", "]").replace("baselines = [\"nmu\"]\n", "");
    let text = text.replace("[[section]]\nname = \"two\"\n", "[[section]]\nname = \"two\"\noperation = \"add\"\n");
    let (registry, experiment) = (Registry::default(), load(&text));
    // The NMU's border is at 0.6. Noise of mean 3 puts it at 0.333: there in the first section, and nowhere near in the second.
    let solves = |model: usize, spec: &Spec| {
        let border = match (model, spec.text("operation")) {
            (0, _) => 0.6,
            (_, "mul") => 0.3,
            _ => 0.8,
        };
        spec.numbers("weights").unwrap()[0] > border
    };
    let contents = contents(&experiment, |model, spec| Some(row(spec, json!({"solved": solves(model, spec)}))));
    let numbers = nalm_lab::report::numbers::of(&registry.results(&experiment, &contents));
    assert_eq!(numbers["predicted_border; sNMU; one"], "0.333", "{numbers:?}");
    assert_eq!([&numbers["predictions_within; one"], &numbers["predictions_within; two"]], ["1 of 1", "0 of 1"]);
    assert!(!numbers.contains_key("predictions_within"), "{numbers:?}");
}

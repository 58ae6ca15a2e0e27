//! `nalm fit`, `predict`, `check` and `bench fit` as a user meets them: files in, formulas out, and every form of a formula with the same values.

mod common;

use common::{fails_with, json, nalm, succeed};
use nalm::expression::Expression;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Rows of numbers that follow from the row's own, in no order that anything depends on.
fn table(rows: u32, target: impl Fn(f64, f64) -> String) -> String {
    let mut text = String::from("region,net price,pieces,day,total\n");
    for k in 0..rows {
        let (price, pieces) = (1.5 + f64::from(k * 37 % 101) / 8.0, 1.0 + f64::from(k * 53 % 17));
        writeln!(text, "north,{price},{pieces},{},{}", k % 7, target(price, pieces)).unwrap();
    }
    text
}

fn put(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn product(price: f64, pieces: f64) -> String {
    format!("{}", 1.25 * price * pieces)
}

#[test]
fn a_formula_is_found_saved_used_and_checked() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(120, product));
    let text = succeed(here, &["fit", "sales.csv", "--save", "total.json", "--html", "total.html"]);
    assert!(text.starts_with("total = "), "{text}");
    assert!(text.contains("xact"), "{text}");
    let notes = String::from_utf8(nalm(here, &["fit", "sales.csv"]).stderr).unwrap();
    assert_eq!(notes, "note: the column 'region' holds text ('north', line 2); it is left out\n");

    let answer = json(here, &["fit", "sales.csv", "--json"]);
    assert_eq!((&answer["verdict"], &answer["precision"]), (&"exact".into(), &"f64".into()));
    assert_eq!(answer["columns"], serde_json::json!(["net price", "pieces"]));
    assert_eq!(answer["python_names"], serde_json::json!({"net price": "net_price", "pieces": "pieces"}));
    assert_eq!(answer["inputs"], serde_json::json!(["net price", "pieces", "day"]));
    for key in ["text", "python", "latex", "sympy", "rust", "c", "spreadsheet"] {
        assert!(answer["formula"][key].is_string(), "{key}");
        assert!(answer["candidates"][0]["formula"][key].is_string(), "{key}");
    }
    for key in ["error_inside", "error_outside", "rows_outside", "seconds"] {
        assert!(answer[key].is_number(), "{key}");
    }
    assert!(answer["engine"].is_string() && answer["sentence"].is_string());
    let formula: Expression = answer["formula"]["text"].as_str().unwrap().parse().unwrap();
    let value = formula.evaluate(&|name| if name == "pieces" { 4.0 } else { 100.0 });
    assert!((value - 500.0).abs() < 1e-9, "{formula}");

    // Rows far outside of what was fitted to.
    put(here, "new.csv", "pieces;net price;who\n1000;12,5;a\n3;;b\n");
    let got = succeed(here, &["predict", "total.json", "new.csv"]);
    assert_eq!(got, "pieces;net price;who;total\n1000;12,5;a;15625\n3;;b;\n");
    succeed(here, &["predict", "total.json", "new.csv", "--out", "out.csv"]);
    assert_eq!(std::fs::read_to_string(here.join("out.csv")).unwrap(), got);
    let own = succeed(here, &["predict", "total.json", "sales.csv"]);
    assert!(own.starts_with("region,net price,pieces,day,total,total predicted\n"));
    for line in own.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').skip(4).map(|cell| cell.parse().unwrap()).collect();
        assert!((cells[0] - cells[1]).abs() <= 1e-12 * cells[0].abs(), "{line}");
    }

    succeed(here, &["check", "total.json", "sales.csv"]);
    let broken = table(120, product).replacen("north,6.125,3,1,", "north,6.125,3,1,9", 1);
    assert_ne!(broken, table(120, product), "the line to break is there");
    put(here, "broken.csv", &broken);
    fails_with(here, &["check", "total.json", "broken.csv"], 1, "1 row breaks the formula");
    let listed = nalm(here, &["check", "total.json", "broken.csv", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((listed[0]["broken"].as_u64(), listed[0]["rows"].as_u64()), (Some(1), Some(120)));
    let line = listed[0]["listed"][0]["line"].as_u64().unwrap() as usize;
    assert!(broken.lines().nth(line - 1).unwrap().starts_with("north,6.125,3,1,9"));

    let page = std::fs::read_to_string(here.join("total.html")).unwrap();
    for want in ["What makes total?", "<svg", "held back", "Candidates", "spreadsheet"] {
        assert!(page.contains(want), "{want}");
    }
    assert!(!page.contains(".csv\""), "a page of its own links to no files");
}

#[test]
fn every_language_is_written_and_the_saved_formula_is_the_printed_one() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(120, product));
    succeed(here, &["fit", "sales.csv", "--save", "m.json"]);
    let saved: Value = serde_json::from_slice(&std::fs::read(here.join("m.json")).unwrap()).unwrap();
    let text = succeed(here, &["fit", "sales.csv", "--write", "text"]);
    assert_eq!(saved["models"][0]["formula"], text.trim());
    let python = succeed(here, &["fit", "sales.csv", "--write", "python"]);
    assert!(python.contains("def total(net_price, pieces):\n    return "), "{python}");
    let c = succeed(here, &["fit", "sales.csv", "--write", "c"]);
    assert!(c.contains("double total(double net_price, double pieces) {"), "{c}");
    let cells = succeed(here, &["fit", "sales.csv", "--write", "spreadsheet"]);
    assert!(cells.starts_with('=') && cells.contains("B2") && cells.contains("C2"), "{cells}");
    fails_with(here, &["fit", "sales.csv", "--write", "cobol"], 2, "unknown language 'cobol'");
}

#[test]
fn printed_numbers_and_european_files_are_understood() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let text = table(150, |price, pieces| format!("{:.2}", 1.19 * price * pieces));
    put(here, "cents.csv", &text);
    let answer = json(here, &["fit", "cents.csv", "--json"]);
    let formula = answer["formula"]["text"].as_str().unwrap_or_default();
    assert_ne!(answer["precision"], "f64", "{formula}");
    let european = text.replace(',', ";").replace('.', ",");
    put(here, "europa.csv", &european);
    let same = json(here, &["fit", "europa.csv", "--json"]);
    assert_eq!((&same["formula"], &same["verdict"]), (&answer["formula"], &answer["verdict"]));
    let told = json(here, &["fit", "europa.csv", "--json", "--separator", ";", "--decimal", "comma"]);
    assert_eq!(told["formula"], answer["formula"]);
}

#[test]
fn several_targets_chosen_columns_and_a_file_held_back() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let mut text = String::from("a,b,product,quotient\n");
    for k in 0..80 {
        let (a, b) = (1.0 + f64::from(k * 7 % 31), 2.0 + f64::from(k * 11 % 29));
        writeln!(text, "{a},{b},{},{}", a * b, a / b).unwrap();
    }
    put(here, "two.csv", &text);
    let all =
        json(here, &["fit", "two.csv", "--target", "product", "--target", "quotient", "--json", "--save", "m.json"]);
    let verdicts: Vec<&Value> = all.as_array().unwrap().iter().map(|answer| &answer["verdict"]).collect();
    assert_eq!(verdicts, ["exact", "exact"]);
    assert_eq!(all[0]["inputs"], serde_json::json!(["a", "b"]));
    let predicted = succeed(here, &["predict", "m.json", "two.csv"]);
    assert!(predicted.starts_with("a,b,product,quotient,product predicted,quotient predicted\n"));
    let one = json(here, &["fit", "two.csv", "--inputs", "a,b", "--target", "product", "--json"]);
    assert_eq!(one["inputs"], serde_json::json!(["a", "b"]));
    put(here, "more.csv", "b,a,product\n100,200,20000\n300,1000,300000\n7,8,56\n9,10,90\n");
    let held = json(
        here,
        &["fit", "two.csv", "--ignore", "quotient", "--target", "product", "--holdout", "more.csv", "--json"],
    );
    assert_eq!((held["rows_outside"].as_u64(), held["rows_inside"].as_u64()), (Some(4), Some(80)));
    assert_eq!(held["verdict"], "exact");
}

/// A number without pattern from -1 to 1, from the row's own.
fn chance(k: u32) -> f64 {
    let mut z = u64::from(k).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Noise of one size in a file that a program has written with all digits: the formula is found, and its own rows do not break it.
#[test]
fn rows_do_not_break_the_formula_that_was_fitted_to_them() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let mut text = String::from("a,b,y\n");
    for k in 0..200 {
        let [a, b] = [2, 3].map(|n| 5.0 + 5.0 * chance(n * 1000 + k));
        let noise: f64 = (0..6).map(|n| chance((4 + n) * 1000 + k)).sum();
        writeln!(text, "{a},{b},{}", 3.0 * b + 2.0 * a + 1.0 + 0.15 * noise).unwrap();
    }
    put(here, "rows.csv", &text);
    let answer = json(here, &["fit", "rows.csv", "--json", "--save", "y.json"]);
    assert_eq!(answer["formula"]["text"], "3 * b + 2 * a + 1");
    assert_eq!(answer["noise"]["kind"], "additive");
    assert_eq!(answer["coefficients"].as_array().unwrap().len(), 3, "{answer}");
    succeed(here, &["check", "y.json", "rows.csv"]);
}

/// Pipes can be read once, and a fit reads twice.
#[cfg(unix)]
#[test]
fn pipes_are_read_as_files_are() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(60, product));
    let pipe = std::process::Command::new("mkfifo").arg(here.join("pipe")).status();
    assert!(pipe.unwrap().success());
    let (from, to) = (here.join("sales.csv"), here.join("pipe"));
    let writer = std::thread::spawn(move || std::fs::copy(from, to));
    let text = succeed(here, &["fit", "pipe", "--write", "text"]);
    writer.join().unwrap().unwrap();
    assert_eq!(text, succeed(here, &["fit", "sales.csv", "--write", "text"]));
}

/// Wrong rows of a second file are named with that file.
#[test]
fn lines_of_a_file_held_back_are_not_those_of_the_first() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(120, product));
    let more = table(20, product).replacen("north,6.125,3,1,", "north,6.125,3,1,9", 1);
    let line = 1 + more.lines().position(|line| line.starts_with("north,6.125,3,1,9")).unwrap();
    put(here, "more.csv", &more);
    let answer = json(here, &["fit", "sales.csv", "--holdout", "more.csv", "--json"]);
    let note = format!("the formula is exact in all rows but line {line} of more.csv, which may be wrong");
    assert!(answer["flags"].as_array().unwrap().contains(&note.clone().into()), "{note}: {}", answer["flags"]);
}

/// What keeps nothing does not promise to continue.
#[cfg(unix)]
#[test]
fn a_search_that_is_stopped_says_that_it_starts_anew() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    // So many columns without a formula take seconds.
    let names: Vec<String> = (0..41).map(|n| format!("x{n}")).collect();
    let mut text = names.join(",") + "\n";
    for k in 0..900 {
        let numbers: Vec<String> = (0..41).map(|n| chance(n * 1000 + k).to_string()).collect();
        writeln!(text, "{}", numbers.join(",")).unwrap();
    }
    put(here, "noise.csv", &text);
    let runs: [(&[&str], &str); 2] = [
        (&["fit", "noise.csv"], "stopped; nalm fit keeps no search, so the same command starts anew"),
        (&["bench", "fit"], "stopped; nalm bench fit keeps no tables, so the same command starts anew"),
    ];
    for (arguments, want) in runs {
        let mut command = common::command(here, arguments);
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "{arguments:?}: {text}");
        assert!(text.contains(want), "{arguments:?}: {text}");
    }
}

/// Files go where they are asked for, with their folders, as those of all verbs do; what was written is said.
#[test]
fn a_product_of_sums_is_saved_as_a_network() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let mut text = String::from("a,b,c,t\n");
    for k in 0..90 {
        let (a, b, c) = (1.0 + f64::from(k * 7 % 31), 2.0 + f64::from(k * 11 % 29), 1.0 + f64::from(k * 13 % 23));
        writeln!(text, "{a},{b},{c},{}", 2.0 * (a + b) * c).unwrap();
    }
    put(here, "t.csv", &text);
    let output = nalm(here, &["fit", "t.csv", "--save", "deep/er/t.safetensors", "--html", "pages/t.html"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("t.safetensors is written") && said.contains("t.html is written"), "{said}");
    let bytes = std::fs::read(here.join("deep/er/t.safetensors")).unwrap();
    let (network, params) = nalm::save::from_bytes::<f64>(&bytes, &nalm::module::find).unwrap();
    let got = network.predict(&params, &[100.0, 200.0, 1000.0]).unwrap()[0];
    assert!((got / 600_000.0 - 1.0).abs() < 1e-12, "{got}");
    put(here, "q.csv", &table(60, |price, pieces| format!("{}", price / pieces)));
    fails_with(here, &["fit", "q.csv", "--save", "q.safetensors"], 2, "no stack of units; save it as .json");
    let two = ["fit", "t.csv", "--target", "t", "--target", "c", "--save", "two.safetensors"];
    fails_with(here, &two, 2, "save one target at a time");
}

/// The keys that docs/json.md promises.
#[test]
fn every_key_of_the_json_is_documented_and_there() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(120, product));
    let answer = json(here, &["fit", "sales.csv", "--json"]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## A formula from a table").unwrap();
    let table = section.split_once("|---|---|\n").unwrap().1.split_once("\n\n").unwrap().0;
    let first = |line: &str| line.trim_start_matches("| ").split(" |").next().unwrap_or_default().to_string();
    let keys = table.lines().map(first).collect::<Vec<_>>().join(", ").replace('`', "");
    let mut documented: Vec<&str> = keys.split(", ").collect();
    documented.sort_unstable();
    let there: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(documented, there);
    let promised =
        "verdict precision formula columns error_inside error_outside rows_outside engine seconds candidates";
    assert!(promised.split(' ').all(|key| there.contains(&key)), "{there:?}");
    assert!(answer["candidates"].as_array().is_some_and(|all| !all.is_empty()));
    for key in ["text", "python", "latex", "sympy"] {
        assert!(answer["formula"][key].is_string(), "{key}");
    }
    // The same keys where nothing is found.
    let noise =
        self::table(60, |price, pieces| format!("{}", (price * 12.9898 + pieces * 78.233).sin() * 43758.5453 % 1.0));
    put(here, "noise.csv", &noise);
    let nothing = json(here, &["fit", "noise.csv", "--json"]);
    let keys: Vec<&str> = nothing.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, documented);
}

/// Columns of text matter only to those who ask for them, in training, too.
#[test]
fn a_unit_is_trained_on_a_table_with_a_column_of_text() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(120, product));
    let train = ["train", "--task", "table", "--data", "sales.csv", "--steps", "200", "--target"];
    let outcome = json(here, &[&train[..], &["total", "--json"]].concat());
    assert!(outcome.to_string().contains("net price,pieces,day"), "{outcome}");
    fails_with(here, &[&train[..], &["region"]].concat(), 2, "the column 'region' holds text ('north', line 2)");
    let asked = [&train[..], &["total", "--set", "columns=region,pieces"]].concat();
    fails_with(here, &asked, 2, "the column 'region' holds text ('north', line 2)");
}

#[test]
fn what_cannot_be_done_is_said_with_its_reason() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(60, product));
    put(here, "blanks.txt", "a b y\n1.5 2 3\n4 5.5 9\n");
    put(here, "unclear.csv", "a\tb\n1,234\t5\n2,345\t6\n");
    put(here, "units.csv", "a, b\n kg , m\n1,2\n");
    let wrong: [(&[&str], &str); 16] = [
        (&["fit", "blanks.txt"], "say what stands between its cells: --separator ' '"),
        (&["fit", "unclear.csv"], "a point or a comma: --decimal point or --decimal comma"),
        (&["check", "m.json", "units.csv"], "or say that this line holds units: --units row"),
        (&["fit", "sales.csv", "--holdout", "./sales.csv"], "--holdout ./sales.csv is the file that is fitted"),
        (&["fit", "/dev/zero"], "/dev/zero is a device and no file"),
        (&["fit", "nothing.csv"], "cannot read nothing.csv"),
        (&["fit", "."], "cannot read ."),
        (&["fit", "sales.csv", "--target", "totel"], "did you mean 'total'?"),
        (&["fit", "sales.csv", "--target", "region"], "holds text"),
        (&["fit", "sales.csv", "--inputs", "region"], "the column 'region' holds text ('north', line 2)"),
        (&["fit", "sales.csv", "--ignore", "total"], "to be ignored and used"),
        (&["fit", "sales.csv", "--inputs", "total,pieces"], "one of the inputs"),
        (&["fit", "sales.csv", "--holdout", "extremes"], "did you mean 'extreme'?"),
        (&["fit", "sales.csv", "--separator", "ab"], "one character"),
        (&["fit", "sales.csv", "--units", "row", "--ignore", "region"], "and no units; leave out --units row"),
        (&["predict", "sales.csv", "sales.csv"], "this is no file of formulas"),
    ];
    let own = r#"{"format":1,"version":"0.1.0","models":[{"target":"b","formula":"2 * a","columns":["a"],"verdict":"exact","precision":"f64","tolerance":{"relative":1e-9},"rows":20}]}"#;
    put(here, "m.json", own);
    put(here, "plain.csv", "a,b\n1,2\n3,6\n");
    for verb in ["check", "predict"] {
        let units = [verb, "m.json", "plain.csv", "--units", "row"];
        fails_with(here, &units, 2, "holds '2' and no units; leave out --units row");
    }
    for (arguments, hint) in wrong {
        fails_with(here, arguments, 2, hint);
    }
    put(here, "few.csv", "a,b\n1,2\n2,4\n3,6\n");
    fails_with(here, &["fit", "few.csv"], 2, "too few");
    put(here, "constant.csv", &table(60, |_, _| "7".into()));
    fails_with(here, &["fit", "constant.csv"], 2, "in all rows");
    // Nothing to find is an answer, and nothing is saved of it.
    let noise = table(60, |price, pieces| format!("{}", (price * 12.9898 + pieces * 78.233).sin() * 43758.5453 % 1.0));
    put(here, "noise.csv", &noise);
    let answer = json(here, &["fit", "noise.csv", "--json"]);
    assert_ne!(answer["verdict"], "exact");
    if answer["verdict"] == "none" {
        assert_eq!(answer["formula"], Value::Null);
        fails_with(here, &["fit", "noise.csv", "--save", "no.json"], 2, "there is no formula");
        assert!(!here.join("no.json").exists());
    }
    put(here, "other.csv", "pieces\n1\n");
    succeed(here, &["fit", "sales.csv", "--save", "m.json"]);
    fails_with(here, &["predict", "m.json", "other.csv"], 2, "needs it");
    fails_with(here, &["check", "m.json", "other.csv"], 2, "unknown column 'net price'");
}

#[test]
fn the_benchmark_counts_and_judges() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let arguments =
        ["bench", "fit", "--suite", "feynman", "--rows", "100", "--only", "I.12.1", "--only", "I.29.4", "--json"];
    let got = json(here, &arguments);
    let part = &got["parts"][0];
    assert_eq!(
        (part["tables"].as_u64(), part["right"].as_u64(), part["false_exact"].as_u64()),
        (Some(2), Some(2), Some(0))
    );
    assert_eq!(part["outcomes"][0]["id"], "I.12.1");
    assert_eq!(part["published"]["ai_feynman_0"]["percent"], 100.0);
    let text = succeed(here, &["bench", "fit", "--suite", "feynman", "--only", "I.12.1", "--each"]);
    assert!(text.contains("right") && text.contains("| suite |"), "{text}");
    fails_with(here, &["bench", "fit", "--suite", "feinman"], 2, "did you mean 'feynman'?");
    fails_with(here, &["bench", "fit", "--suite", "own", "--only", "margins"], 2, "did you mean 'margin'?");
    put(here, "page.md", "# Title\n<!-- nalm:bench-fit table -->\n<!-- /nalm:bench-fit table -->\n");
    succeed(here, &["bench", "fit", "--suite", "feynman", "--only", "I.12.1", "--readme", "page.md"]);
    assert!(std::fs::read_to_string(here.join("page.md")).unwrap().contains("| feynman, 300 rows | 1 | 1 |"));
}

/// The README shows what a user gets.
#[test]
fn the_example_of_the_readme_is_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let sales = std::fs::read_to_string(root.join("docs/sales.csv")).unwrap();
    let head: String = sales.lines().take(5).map(|line| format!("{line}\n")).collect();
    let here = tempfile::tempdir().unwrap();
    put(here.path(), "sales.csv", &sales);
    let printed = succeed(here.path(), &["fit", "sales.csv"]);
    let lines: String = printed.lines().take(1).map(|line| format!("{line}\n")).collect();
    let want = format!("$ head -5 docs/sales.csv\n{head}$ nalm fit docs/sales.csv\n{lines}```");
    assert!(readme.contains(&want), "the README should have:\n{want}");
}

/// Several targets: what has no formula, or no numbers, is named and keeps nothing from the others.
#[test]
fn one_target_does_not_stop_the_others() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let mut text = String::from("x,y,p,q,who\n");
    for k in 0..80u32 {
        let (x, y) = (1.5 + f64::from(k * 37 % 101) / 8.0, 1.0 + f64::from(k * 53 % 17));
        // A sine of large numbers looks like noise.
        let q = libm::sin(f64::from(k * k % 1013) * 977.0);
        writeln!(text, "{x},{y},{},{q},n{k}", x * y).unwrap();
    }
    put(here, "two.csv", &text);
    let fit = ["fit", "two.csv", "--inputs", "x,y", "--target", "p", "--target", "q"];
    let output = nalm(here, &[&fit[..], &["--save", "mm.json"]].concat());
    let [printed, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(printed.contains("p = x * y\n") && printed.contains("\nq: no formula. "), "{printed}");
    assert!(said.ends_with("nalm: mm.json holds p; q has no formula\n"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    let output = nalm(here, &["fit", "two.csv", "--inputs", "x,y", "--target", "who", "--target", "p"]);
    let [printed, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(printed.starts_with("p = x * y\n"), "{printed}");
    assert!(said.contains("nalm: the column 'who' holds text") && output.status.code() == Some(1), "{said}");
    fails_with(here, &["fit", "two.csv", "--inputs", "x,who", "--target", "p", "--target", "q"], 2, "'who' holds text");
}

/// Numbers are never converted, and what units say about that is said.
#[test]
fn units_of_other_sizes_are_noticed() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let rows = |units: &str, target: &dyn Fn(f64, f64) -> f64| {
        let row = |k: u32| (f64::from(k * 37 % 101), f64::from(k * 53 % 89));
        let rows = (0..60).map(row).map(|(a, b)| format!("{a},{b},{}\n", target(a, b)));
        format!("a,b,s\n{units}\n{}", rows.collect::<String>())
    };
    for (units, factor, note) in [
        ("m,ft,m", 1.0, "note: the formula adds m and ft without converting; 1 ft is 0.3048 m\n"),
        ("m,ft,m", 0.3048, "note: 0.3048 is m per ft\n"),
        ("m/s,km/h,m/s", 1.0, "note: the formula adds m/s and km/h without converting; 1 km/h is 0.277778 m/s\n"),
        ("m,m,", 1.0, "note: no unit is given for 's'; the formula is in m\n"),
    ] {
        put(here, "u.csv", &rows(units, &|a, b| a + factor * b));
        let text = succeed(here, &["fit", "u.csv", "--units", "row"]);
        assert!(text.contains(note), "{units}: {text}");
    }
    put(here, "u.csv", &rows("blorp,blorp,blorp", &|a, b| a + b));
    let output = nalm(here, &["fit", "u.csv", "--units", "row"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "note: 'blorp' is no unit that is known here; it is taken for a unit of its own\n");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("note:"));
}

/// Values have the digits that mean something, and names on the left are written as those on the right.
#[test]
fn predictions_and_names_are_written_for_people() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let rows = (1..60u32).map(|k| format!("{},{}\n", f64::from(k), 1.1 * f64::from(k)));
    put(here, "v.csv", &format!("a,v [km/h]\n{}", rows.collect::<String>()));
    assert!(succeed(here, &["fit", "v.csv", "--save", "v.json"]).starts_with("`v [km/h]` = "));
    put(here, "new.csv", "a\n3\n600.54545454545\n");
    let got = succeed(here, &["predict", "v.json", "new.csv"]);
    assert!(got.contains("\n3,3.3\n"), "{got}");
    put(here, "wrong.csv", "a,v [km/h]\n3,4\n");
    let output = nalm(here, &["check", "v.json", "wrong.csv"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("is 4, the formula gives 3.3 ("));
    fails_with(here, &["predict", "v.json", "two.csv"], 2, "two.csv");
    put(here, "other.csv", "pieces\n1\n");
    fails_with(here, &["predict", "v.json", "other.csv"], 2, "unknown column 'a'");
    fails_with(here, &["predict", "v.json", "other.csv"], 2, "; the formula of 'v [km/h]' needs it");
}

/// Some programs put a column of numbers without a name before their rows.
#[test]
fn a_column_without_a_name_is_called_by_its_number() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let rows = (0..50u32).map(|k| format!("{k},{},{}\n", 3 + k * 37 % 101, 2 * k + 3 * (3 + k * 37 % 101)));
    put(here, "frame.csv", &format!(",a,y\n{}", rows.collect::<String>()));
    let note = "note: a column has no name and is called 'column 1'";
    for arguments in [
        &["fit", "frame.csv", "--save", "m.json"][..],
        &["fit", "frame.csv", "--inputs", "a,column 1"],
        &["predict", "m.json", "frame.csv"],
        &["check", "m.json", "frame.csv"],
    ] {
        let output = nalm(here, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(note), "{arguments:?}: {output:?}");
    }
    assert!(succeed(here, &["fit", "frame.csv"]).contains("`column 1`"));
}

/// A spreadsheet that writes 1,5 reads no other numbers, and separates arguments by semicolons.
#[test]
fn spreadsheets_with_decimal_commas_get_such_formulas() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let text = table(60, product);
    put(here, "points.csv", &text);
    put(here, "commas.csv", &text.replace(',', ";").replace('.', ","));
    let written = |file| succeed(here, &["fit", file, "--write", "spreadsheet"]).trim().to_string();
    let (points, commas) = (written("points.csv"), written("commas.csv"));
    assert!(points.contains("1.25"), "{points}");
    assert_eq!(commas, points.replace(',', ";").replace('.', ","));
    // Programs read the same everywhere.
    let of = |file| json(here, &["fit", file, "--json"])["formula"]["spreadsheet"].clone();
    assert_eq!(of("points.csv"), of("commas.csv"));
}

#[test]
fn intervals_and_sentences_say_what_is_so() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let rows = (1..80u32).map(|k| {
        let x = f64::from(k * 37 % 79) + 0.7;
        format!("{x},{:.3},t{k}\n{x},{:.3},u{k}\n", 1_621.397_7 * x, 1_621.397_7 * x)
    });
    put(here, "close.csv", &format!("x,y,name\n{}", rows.collect::<String>()));
    let output = nalm(here, &["fit", "close.csv", "--target", "y"]);
    let [out, notes] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).to_string());
    assert!(notes.contains("79 rows are repetitions of others in the columns that are used"), "{notes}");
    for line in out.lines().filter(|line| line.starts_with("constant ")) {
        let numbers = line.split(|c: char| " [],".contains(c)).filter_map(|text| text.parse::<f64>().ok());
        let numbers: Vec<f64> = numbers.collect();
        assert!(numbers[1] <= numbers[0] && numbers[0] <= numbers[2] && numbers[1] < numbers[2], "{line}");
    }
    put(here, "one.csv", "a,y\n1,2\n");
    fails_with(here, &["fit", "one.csv"], 2, "1 row is too few");
    succeed(here, &["fit", "close.csv", "--target", "y", "--save", "m.json"]);
    put(here, "blank.csv", "x,z\n1,1\n,1\n");
    let output = nalm(here, &["predict", "m.json", "blank.csv"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("note: 1 value could not"), "{output:?}");
}

/// Where a formula has no finite value, a row with all its cells breaks it.
#[test]
fn a_row_breaks_a_formula_without_a_value_there() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let model = |formula: &str, tolerance: &str| {
        format!(
            r#"{{"format":1,"version":"0.1.0","models":[{{"target":"y","formula":"{formula}","columns":["a","b"],"verdict":"exact","precision":"f64","tolerance":{tolerance},"rows":9}}]}}"#
        )
    };
    for (formula, row) in [("a / b", "1,0,5"), ("1.19 * a * b", "1e308,1e10,1"), ("sqrt(a) * b", "-1,2,7")] {
        for tolerance in [r#"{"relative":1e-9}"#, r#"{"absolute":1e300}"#] {
            put(here, "m.json", &model(formula, tolerance));
            put(here, "rows.csv", &format!("a,b,y\n{row}\n1,,2\n"));
            let output = nalm(here, &["check", "m.json", "rows.csv"]);
            let text = String::from_utf8_lossy(&output.stdout);
            let y = row.rsplit(',').next().unwrap();
            assert!(text.starts_with(&format!("line 2: y is {y}, the formula has no value there\n1 of")), "{text}");
            assert!(text.contains(" breaks y = "), "{text}");
            assert_eq!(output.status.code(), Some(1), "{text}");
            let found: Value =
                serde_json::from_slice(&nalm(here, &["check", "m.json", "rows.csv", "--json"]).stdout).unwrap();
            assert_eq!((&found[0]["broken"], &found[0]["missing"]), (&1.into(), &1.into()), "{found}");
            for key in ["formula", "difference", "allowed"] {
                assert!(found[0]["listed"][0][key].is_null(), "{key}: {found}");
            }
        }
    }
    // At eighty columns, lines are broken as those of fit are.
    put(here, "m.json", &model("a / b + a / b - a / b + a / b - a / b + a / b - a / b", r#"{"absolute":0}"#));
    let output = common::command(here, &["check", "m.json", "rows.csv"]).env("COLUMNS", "60").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
}

/// A search of some length says what it does before anybody takes it for a fault.
#[cfg(unix)]
#[test]
fn a_long_search_gives_a_sign_of_life() {
    use std::io::{BufRead, BufReader};
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let mut text = (0..30).map(|k| format!("c{k},")).collect::<String>() + "y\n";
    for row in 0..2_000u32 {
        let c: Vec<f64> = (0..30).map(|k| 1.0 + 4.0 * chance(row * 37 + k)).collect();
        let noise = chance(row * 37 + 31) + chance(row * 37 + 32) - 1.0;
        let y = (c[0] * c[1] + c[2] * c[2] / c[3] + c[4] * c[5] * c[6]) * (1.0 + 0.1 * noise) + 6.0 * noise;
        c.iter().for_each(|x| write!(text, "{x:.6},").unwrap());
        writeln!(text, "{y}").unwrap();
    }
    put(here, "wide.csv", &text);
    let mut command = common::command(here, &["fit", "wide.csv"]);
    let mut child = command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let start = std::time::Instant::now();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let passed = start.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    // A machine that finds nothing in less time has nothing to say.
    if !line.is_empty() {
        let want = "looking for the formula of 'y' in 2000 rows and 30 columns: ";
        assert!(line.starts_with(want) && line.contains("Ctrl-C stops it"), "{line}");
        assert!(passed.as_secs() < 30, "{passed:?}");
    }
}

/// Small tables keep rows to fit to.
#[test]
fn six_rows_will_do() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let rows = ["1.5,2.25", "3.75,1.5", "2.5,4.5", "7.25,3.5", "4.125,9.75", "6.5,5.25", "9.5,8.125", "5.75,7.5"];
    for n in 4..=rows.len() {
        let line = |row: &&str| {
            let (a, b) = row.split_once(',').unwrap();
            let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
            format!("{a},{b},{}\n", a * b)
        };
        put(here, "few.csv", &format!("a,b,y\n{}", rows[..n].iter().map(line).collect::<String>()));
        if n < 5 {
            fails_with(here, &["fit", "few.csv"], 2, "at least 5");
            continue;
        }
        let answer = json(here, &["fit", "few.csv", "--json"]);
        // Three rows are too few for a product of two columns with a constant.
        let want = if n == 5 { ("none".into(), Value::Null) } else { ("exact".into(), "a * b".into()) };
        let found = (answer["verdict"].clone(), answer["formula"]["text"].clone());
        assert_eq!(found, want, "{n}: {answer}");
        assert!(answer["rows_outside"].as_u64().unwrap() >= 2 && answer["rows_inside"].as_u64().unwrap() >= 3);
    }
}

/// What is wrong with one of several files is said of it, and numbers that are no shares or decimals are called so.
#[test]
fn wrong_words_and_other_files_are_named() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    put(here, "sales.csv", &table(40, product));
    put(here, "other.csv", "pieces,day,price\n1,2,3\n");
    put(here, "units.csv", "column,unit\nnet price,EUR\nprices,EUR\n");
    put(here, "names.csv", "name,unit\nnet price,EUR\n");
    for (arguments, hint) in [
        (&["--holdout", "other.csv"][..], "other.csv: unknown column 'net price'"),
        (&["--units", "units.csv"], "units.csv, line 3: unknown column 'prices'"),
        (&["--units", "names.csv"], "names.csv: unknown column 'column'"),
        (&["--holdout", "-0.1"], "unknown holdout '-0.1' (valid: extreme, random, a CSV file)"),
        (&["--holdout", "0.2"], "unknown holdout '0.2' (valid: extreme, random, a CSV file)"),
        (&["--ignore", "total"], "decide on one"),
    ] {
        fails_with(here, &[&["fit", "sales.csv"], arguments].concat(), 2, hint);
    }
    put(here, "points.csv", "net;gross\n1912.11;2275.41\n12.5;14.88\n");
    let hint =
        "no column holds numbers: the column 'net' holds what is no number with a decimal comma ('1912.11', line 2)";
    fails_with(here, &["fit", "points.csv", "--decimal", "comma"], 2, hint);
    succeed(here, &["fit", "sales.csv", "--save", "m.json"]);
    put(here, "new.csv", "net price;pieces\n1912.11;3\n");
    let hint = "'1912.11' is no number with a decimal comma; decimals stand after a comma here, so write it like 1,5";
    fails_with(here, &["predict", "m.json", "new.csv", "--decimal", "comma"], 2, hint);
    put(here, "other.json", r#"{"format":"geojson","version":2}"#);
    let said = fails_with(here, &["predict", "other.json", "sales.csv"], 2, "nalm fit --save FILE.json writes one");
    assert!(!said.contains("invalid type"), "{said}");
    let output = nalm(here, &["predict", "m.json", "sales.csv", "--out", "p.csv"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("p.csv is written"), "{output:?}");
}

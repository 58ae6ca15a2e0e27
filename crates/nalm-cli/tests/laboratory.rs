//! Experiments through the real binary: the same results however they came about.

mod common;

use common::{fails_with, nalm, rows, segments, succeed};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SMOKE: [&str; 4] = ["run", "single-module", "--preset", "smoke"];

fn run_smoke(folder: &Path, more: &[&str]) {
    succeed(folder, &[&SMOKE[..], more].concat());
}

#[test]
fn results_depend_neither_on_threads_nor_on_splitting() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    run_smoke(here, &["--threads", "1", "--store", "one"]);
    let want = rows(here, "one");
    assert_eq!(want.lines().count(), 48);
    for threads in ["2", "7"] {
        run_smoke(here, &["--threads", threads, "--store", threads]);
        assert_eq!(rows(here, threads), want, "{threads} threads");
    }
    // One seed in one store, all seeds but with other segments in another; merging is copying.
    run_smoke(here, &["--seeds", "1", "--store", "part"]);
    std::fs::create_dir_all(here.join("merged/seg")).unwrap();
    for store in ["part", "2"] {
        for file in segments(&here.join(store)) {
            std::fs::copy(&file, here.join("merged/seg").join(file.file_name().unwrap())).unwrap();
        }
    }
    assert_eq!(rows(here, "merged"), want);
    assert!(succeed(here, &["status", "--store", "merged"]).contains("24 duplicates\n"));
    let checked = succeed(here, &["store", "merge", "part", "2", "--into", "again"]);
    assert!(checked.contains("rows       48") && checked.contains("duplicates 24"), "{checked}");
    let compact = |store: &str| succeed(here, &["store", "compact", store]);
    assert_eq!(compact("again"), compact("one"));
    assert!(!nalm(here, &["store", "check", "nowhere"]).status.success());
}

#[test]
fn nothing_is_done_twice() {
    let folder = tempfile::tempdir().unwrap();
    run_smoke(folder.path(), &[]);
    let again = nalm(folder.path(), &SMOKE);
    assert!(String::from_utf8_lossy(&again.stderr).contains("48 runs, all done"));
    assert_eq!(segments(&folder.path().join("results")).len(), 1, "no segment without a row");
    let dry = nalm(folder.path(), &["run", "single-module-snmu", "--preset", "smoke", "--dry-run"]);
    assert!(String::from_utf8_lossy(&dry.stderr).contains("9 runs, 6 done, 3 to do"), "shared runs are shared");
}

/// Long enough to be interrupted: 12 units on one range, 12 seeds.
fn start_long(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nalm"));
    command.args(["run", "single-module", "--preset", "smoke", "--seeds", "12", "--steps", "6000"]);
    command.current_dir(folder).stderr(Stdio::null()).spawn().unwrap()
}

fn wait_for_rows(folder: &Path, least: usize) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let written = folder.join("results/seg").exists()
            && segments(&folder.join("results")).iter().any(|f| std::fs::read(f).unwrap().len() > 700 * least);
        if written {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no rows after a minute");
}

fn long_rows(folder: &Path) -> String {
    succeed(folder, &["run", "single-module", "--preset", "smoke", "--seeds", "12", "--steps", "6000"]);
    rows(folder, "results")
}

#[test]
fn a_killed_run_continues_to_the_same_results() {
    let (undisturbed, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let want = long_rows(undisturbed.path());
    assert_eq!(want.lines().count(), 288);
    for least in [3, 10] {
        let mut child = start_long(killed.path());
        wait_for_rows(killed.path(), least);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(long_rows(killed.path()), want);
}

#[cfg(unix)]
#[test]
fn a_stopped_run_seals_its_segment_and_says_that_it_can_continue() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_long(folder.path());
    wait_for_rows(folder.path(), 3);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(75));
    let text = std::fs::read_to_string(&segments(&folder.path().join("results"))[0]).unwrap();
    assert!(text.lines().last().unwrap().contains("\"sealed\":true"));
    assert!(!succeed(folder.path(), &["status"]).contains("torn lines"));
}

#[test]
fn a_report_is_complete_and_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let line = succeed(here, &["reproduce", "single-module-snmu", "--preset", "smoke"]);
    assert!(line.contains("; report/single-module-snmu.html"), "{line}");
    let read = |name: &str| std::fs::read_to_string(here.join("report").join(name)).unwrap();
    let names = ["html", "md", "svg", "csv"].map(|extension| format!("single-module-snmu.{extension}"));
    let first = names.clone().map(|name| read(&name));
    succeed(here, &["report", "single-module-snmu", "--preset", "smoke"]);
    assert_eq!(first, names.map(|name| read(&name)));
    let [html, markdown, svg, csv] = first;
    assert!(html.contains("<svg") && !html.contains("http://www.w3.org/1999") && !html.contains("src="));
    assert!(markdown.contains("| sNMU | U[-2,-1) |") && svg.contains("Training range"));
    assert_eq!(csv.lines().count(), 1 + 3);
}

#[test]
fn exported_rows_feed_the_statistics() {
    let folder = tempfile::tempdir().unwrap();
    run_smoke(folder.path(), &[]);
    succeed(folder.path(), &["export", "--csv", "rows.csv"]);
    let text = succeed(folder.path(), &["stats", "rows.csv", "--json"]);
    let groups: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(groups.as_array().unwrap().len(), 24);
    let pair = succeed(folder.path(), &["stats", "rows.csv", "--paired", "nmu,nac-mul", "--json"]);
    assert!(pair.contains("\"pairs\""), "{pair}");
    // What only options tell apart stays apart.
    let here = folder.path();
    run_smoke(here, &["--set", "learning_rate=0.01"]);
    succeed(here, &["export", "--csv", "rows.csv"]);
    let groups: serde_json::Value = serde_json::from_str(&succeed(here, &["stats", "rows.csv", "--json"])).unwrap();
    assert_eq!(groups.as_array().unwrap().len(), 48);
    let lines = succeed(here, &["export", "--jsonl", "-"]);
    let row: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    for key in ["id", "experiments", "spec", "status", "metrics", "artefacts", "version", "result_hash"] {
        assert!(row.get(key).is_some(), "{key}");
    }
    for key in ["task", "module", "options", "range", "test_range", "seed", "stream", "steps", "numerics"] {
        assert!(row["spec"].get(key).is_some(), "{key}");
    }
}

#[test]
fn wrong_experiments_and_unwritable_places_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let fails = |arguments: &[&str], hint: &str| {
        let output = nalm(here, arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(hint), "{arguments:?}: {text}");
    };
    fails(&["run", "single-modul"], "did you mean 'single-module'");
    fails(&["run", "missing.toml"], "missing.toml");
    for bad in ["learning_rate=nan", "learning_rate=-1.0", "gradient_noise=-1.0", "ramp=[5,1]", "weights=[1.0]"] {
        fails(&["run", "single-module-snmu", "--preset", "smoke", "--set", bad], "");
        assert!(!here.join("results").exists(), "{bad} made rows");
    }
    fails(&["run", "single-module", "--seeds", "99999999999"], "at most a million");
    let base = include_str!("../../nalm-lab/experiments/single-module-snmu.toml");
    for (more, hint) in [
        (
            "\n[[model]]\nmodule = \"nmu\"\nlabel = \"two\"\n[[model]]\nmodule = \"nmu\"\nlabel = \"two\"\n",
            "two models are called two",
        ),
        ("\n[[expect]]\nmodel = \"snmu\"\nis = 7.0\nsource = \"x\"\n", "a rate of 7"),
    ] {
        std::fs::write(here.join("bad.toml"), format!("{base}{more}")).unwrap();
        fails(&["run", "bad.toml", "--preset", "smoke"], hint);
    }
    fails(
        &["report", "single-module", "--preset", "smoke", "--store", "nothing"],
        "there is no folder nothing here yet",
    );
    assert!(!here.join("report").exists());
    fails(&["store", "merge", "nothing", "--into", "new"], "there is no folder nothing here yet");
    assert!(!here.join("new").exists());
    fails(&["run", "single-module", "--preset", "smok"], "did you mean 'smoke'");
    fails(&["run", "single-module", "--seeds", "0"], "1 or more");
    std::fs::write(here.join("broken.toml"), "title = \"x\"\ntask = ").unwrap();
    fails(&["run", "broken.toml"], "broken.toml");
    std::fs::write(here.join("file"), "in the way").unwrap();
    fails(&["run", "single-module", "--preset", "smoke", "--store", "file"], "file");
    run_smoke(here, &[]);
    fails(&["report", "single-module", "--preset", "smoke", "--out", "file"], "file");
}

/// A wide MLP has more parameters than a row should hold; they are in a file of their own, which others can read.
#[test]
fn many_parameters_go_to_a_file_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let text = "title = \"Wide\"\nanalysis = \"A wide network.\"\ntask = \"single-module\"\ndefault_preset = \"smoke\"\n\
        preset.smoke = { seeds = 1, steps = 20, ranges = [\"U[1,2)\"] }\n[[model]]\nmodule = \"mlp\"\noptions = { hidden = 500 }\n";
    std::fs::write(here.join("wide.toml"), text).unwrap();
    succeed(here, &["run", "wide.toml"]);
    let row: serde_json::Value = serde_json::from_str(&rows(here, "results")).unwrap();
    assert_eq!(row["artefacts"]["weights"], serde_json::json!([]));
    let bytes = std::fs::read(here.join("results").join(row["artefacts"]["weights_file"].as_str().unwrap())).unwrap();
    let (network, params) = nalm::save::from_bytes::<f32>(&bytes, &nalm::module::find).unwrap();
    assert_eq!((network.architecture()[0].to_string().as_str(), params.len()), ("mlp 2->1 hidden=500", 2001));
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("layer1.mlp").unwrap().shape(), [2001]);
}

/// Packing keeps every row and who made it, and can be repeated; a damaged pack loses rows, not the rest.
#[test]
fn a_record_is_packed_checked_and_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    run_smoke(here, &["--seeds", "1", "--store", "a"]);
    run_smoke(here, &["--store", "b"]);
    succeed(here, &["store", "pack", "a", "--into", "record"]);
    let first = segments(&here.join("record"));
    succeed(here, &["store", "pack", "b", "--into", "record"]);
    succeed(here, &["store", "pack", "a", "b", "--into", "record"]);
    let mut files = segments(&here.join("record"));
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files.contains(&first[0]), "what was packed stays as it was");
    assert!(succeed(here, &["store", "check", "record"]).contains("duplicates 0"));
    files.retain(|file| *file != first[0]);
    assert_eq!(rows(here, "record"), rows(here, "b"));
    let text = succeed(here, &["verify", "--record", "record", "--sample", "10", "--seed", "1"]);
    assert_eq!(text.trim(), "10 of 10 rows are identical");
    // The same page from the record as from the store, machine and revision included.
    succeed(here, &["store", "pack", "b", "--into", "other"]);
    for (store, out) in [("b", "page-b"), ("other", "page-other")] {
        succeed(here, &["report", "single-module", "--preset", "smoke", "--store", store, "--out", out]);
    }
    let page = |out: &str| std::fs::read_to_string(here.join(out).join("single-module.html")).unwrap();
    assert_eq!(page("page-b"), page("page-other"));
    let bytes = std::fs::read(&files[0]).unwrap();
    std::fs::write(&files[0], &bytes[..bytes.len() / 2]).unwrap();
    // Half a record is no record: what is left can be read, and nobody is told that all is well.
    let half = fails_with(here, &["store", "check", "record"], 4, "its end cannot be unpacked");
    assert!(half.contains("its bytes are not those that it is named by"), "{half}");
    let left = nalm(here, &["export", "--jsonl", "-", "--store", "record"]);
    assert_eq!(left.status.code(), Some(4));
    assert!((25..48).contains(&String::from_utf8_lossy(&left.stdout).lines().count()));
    fails_with(here, &["store", "pack", "record", "--into", "again"], 4, "its end cannot be unpacked");
    assert!(!here.join("again/seg").exists());
    // A second member is not lost: here it holds rows that are nowhere else.
    std::fs::write(&files[0], [bytes.clone(), std::fs::read(&first[0]).unwrap()].concat()).unwrap();
    std::fs::remove_file(&first[0]).unwrap();
    assert_eq!(rows(here, "record").lines().count(), 48);
}

#[test]
fn a_record_that_was_tampered_with_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    run_smoke(here, &["--seeds", "1"]);
    let file = &segments(&here.join("results"))[0];
    let text = std::fs::read_to_string(file).unwrap();
    let line = |line: &str| {
        let json = line.rsplit_once('\t').unwrap().0.replace("\"result_hash\":\"", "\"result_hash\":\"0");
        format!("{json}\t{:08x}\n", crc32c::crc32c(json.as_bytes()))
    };
    std::fs::write(file, text.lines().map(line).collect::<String>()).unwrap();
    let output = nalm(here, &["verify", "--record", "results", "--sample", "5"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stdout).contains("0 of 5 rows are identical"));
}

#[test]
fn figure_and_table_are_put_between_markers() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let marked = "# Mine\n\n<!-- nalm:single-module-snmu -->\nold\n<!-- /nalm:single-module-snmu -->\n\nThe end.\n";
    std::fs::write(here.join("README.md"), marked).unwrap();
    let arguments = ["reproduce", "single-module-snmu", "--preset", "smoke", "--out", "docs", "--readme"];
    succeed(here, &arguments);
    let text = std::fs::read_to_string(here.join("README.md")).unwrap();
    assert!(text.contains("](docs/single-module-snmu.svg)") && text.contains("| verdict |") && !text.contains("old"));
    assert!(text.starts_with("# Mine\n") && text.ends_with("The end.\n"));
    succeed(here, &arguments);
    assert_eq!(std::fs::read_to_string(here.join("README.md")).unwrap(), text);
    std::fs::write(here.join("README.md"), "# Mine\n").unwrap();
    let output = nalm(here, &arguments);
    assert!(String::from_utf8_lossy(&output.stderr).contains("<!-- nalm:single-module-snmu -->"));
}

/// Every kind of figure: well-formed, with data, and drawn as PNG where there is a font.
#[test]
fn every_figure_has_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let names = ["motivation", "loss-landscape", "batch-noise-bound", "noise-sweep", "stochastic-methods"];
    let line = succeed(here, &[&["reproduce"], &names[..], &["--preset", "smoke"]].concat());
    assert!(line.contains("consistent") && line.contains("; report/index.html"), "{line}");
    let files: Vec<PathBuf> =
        std::fs::read_dir(here.join("report")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let figures: Vec<&PathBuf> = files.iter().filter(|f| f.extension().is_some_and(|e| e == "svg")).collect();
    assert_eq!(figures.len(), 2 + 4 + 1 + 1 + 2, "{figures:?}");
    let read = |name: &str| std::fs::read_to_string(here.join(format!("report/{name}.html"))).unwrap();
    let (index, pages) = (read("index"), names.map(read).concat());
    assert!(names.iter().all(|name| index.contains(&format!("href=\"{name}.html\""))), "{index}");
    for figure in figures {
        let data = std::fs::read_to_string(figure.with_extension("csv")).unwrap();
        assert!(data.lines().count() > 2, "{}", figure.display());
        let svg = std::fs::read_to_string(figure).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.ends_with("</svg>\n"), "{}", figure.display());
        let name = figure.file_stem().unwrap().to_string_lossy();
        assert!(pages.contains(&format!("href=\"{name}.csv\"")), "{name}");
    }
    let png = nalm(here, &["report", "batch-noise-bound", "--png"]);
    let message = String::from_utf8_lossy(&png.stderr).into_owned();
    match png.status.success() {
        true => assert!(std::fs::read(here.join("report/batch-noise-bound.png")).unwrap().starts_with(b"\x89PNG")),
        false if cfg!(feature = "png") => assert!(message.contains("font"), "{message}"),
        false => assert!(message.contains("build with the feature png"), "{message}"),
    }
}

#[test]
fn options_from_the_command_line_make_other_runs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    run_smoke(here, &["--seeds", "1", "--set", "learning_rate=0.01"]);
    assert!(rows(here, "results").lines().all(|line| line.contains("\"learning_rate\":0.01")));
    let wrong = nalm(here, &["run", "single-module", "--set", "learning_rat=1"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean 'learning_rate'"));
}

/// Makes pages from a record, and holds each against the one in the repository, to the byte.
fn pages_of_the_record(arguments: &[&str], record: &str, pages: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let (store, out) = (root.join("record").join(record), Path::new("docs/results").join(pages));
    let more = ["--store", store.to_str().unwrap(), "--out", out.to_str().unwrap()];
    std::fs::copy(root.join("README.md"), folder.path().join("README.md")).unwrap();
    // Where there is a page of claims, the list of pages leads there.
    if root.join(&out).join("claims.md").is_file() {
        std::fs::create_dir_all(folder.path().join(&out)).unwrap();
        std::fs::copy(root.join(&out).join("claims.md"), folder.path().join(&out).join("claims.md")).unwrap();
    }
    succeed(folder.path(), &[&["report"], arguments, &more[..]].concat());
    let mut compared = 0;
    for entry in std::fs::read_dir(folder.path().join(&out)).unwrap() {
        let made = entry.unwrap().path();
        // Pages for a browser are not kept.
        if made.extension().is_some_and(|e| e == "html") {
            continue;
        }
        assert_same(&made, &root.join(&out).join(made.file_name().unwrap()));
        compared += 1;
    }
    assert!(compared > least, "{compared}");
    assert_same(&folder.path().join("README.md"), &root.join("README.md"));
}

fn assert_same(made: &Path, kept: &Path) {
    let same = std::fs::read(made).unwrap() == std::fs::read(kept).unwrap_or_default();
    assert!(same, "{} is not what scripts/pages.sh makes of the record", kept.display());
}

#[test]
fn pages_are_those_of_the_recorded_runs() {
    pages_of_the_record(&["all", "--preset", "paper", "--readme", "README.md"], "2026-11-16-numerical", "", 100);
}

#[cfg(feature = "images")]
#[test]
fn pages_with_images_are_those_of_the_recorded_runs() {
    let names = ["mnist-isolated", "mnist-isolated-full", "mnist-colour", "mnist-sequential"];
    let arguments = [&names[..], &["--preset", "laptop"]].concat();
    pages_of_the_record(&arguments, "2026-11-16-mnist", "images", 40);
}

/// Every statement of the paper, and every number that a text quotes, is what the records say.
#[cfg(feature = "images")]
#[test]
fn claims_and_quoted_numbers_are_those_of_the_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let stores = ["2026-11-16-numerical", "2026-11-16-mnist"].map(|name| format!("record/{name}"));
    for kept in ["docs/results", "docs/results/reference", "docs/results/images", &stores[0], &stores[1]] {
        std::fs::create_dir_all(here.join(kept)).unwrap();
        for entry in std::fs::read_dir(root.join(kept)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "md") {
                std::fs::copy(&path, here.join(kept).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let records = stores.clone().map(|store| root.join(store).to_str().unwrap().to_string());
    let texts = ["README.md", "METHOD.md", "docs/second-order.md"].map(String::from).into_iter();
    let texts: Vec<String> = texts.chain(stores.map(|s| format!("{s}/README.md"))).collect();
    let mut arguments = vec!["claims", &records[0], &records[1], "--out", "docs/results"];
    for text in &texts {
        std::fs::copy(root.join(text), here.join(text)).unwrap();
        arguments.extend(["--readme", text]);
    }
    let printed = succeed(here, &arguments);
    let headline = printed.lines().last().unwrap();
    assert!(headline.starts_with("Of ") && headline.contains(" identical, "), "{headline}");
    for text in texts.iter().map(String::as_str).chain(["docs/results/claims.md"]) {
        assert_same(&here.join(text), &root.join(text));
    }
}

/// `nalm verify` fails for what differs unless the file says why, says what it runs, and how to run what can be compared.
#[test]
fn verify_fails_for_what_differs_and_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let write = |name: &str, expect: &str| {
        let text = format!(
            "title = \"Own\"\ntask = \"single-module\"\n[preset.short]\nseeds = 25\nsteps = 4000\nranges = [\"U[1,2)\"]\n\
             [preset.paper]\nseeds = 2\nsteps = 5000\nranges = [\"U[1,2)\"]\n[[model]]\nmodule = \"nmu\"\n\
             [[expect]]\nmodel = \"nmu\"\n{expect}\nsource = \"nowhere\"\n"
        );
        std::fs::write(here.join(name), text.replacen("title", "default_preset = \"short\"\ntitle", 1)).unwrap();
    };
    let verify = |arguments: &[&str]| {
        let output = nalm(here, &[&["verify"], arguments].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // All seeds are solved by then, so a published 0 differs.
    write("differs.toml", "is = 0.0\nn = 25");
    let (code, shown, said) = verify(&["differs.toml"]);
    assert_eq!(code, Some(1), "{shown}{said}");
    assert!(shown.starts_with("differs differs, NMU on U[1,2): published 0 (n = 25), ours 25 of 25"), "{shown}");
    assert!(said.contains("differs, preset short: 25 runs of 4000 steps\n"), "{said}");
    assert!(said.contains("1 published value differs, and the experiment does not say why"), "{said}");
    write("known.toml", "is = 0.0\nn = 25\nknown = \"it was made up\"");
    let (code, shown, said) = verify(&["known.toml"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    assert!(shown.contains("(known: it was made up)"), "{shown}");
    // Shorter than what was published: it says which command runs what is not.
    write("short.toml", "is = 1.0\nn = 25\nsteps = 5000");
    let (code, shown, said) = verify(&["short.toml"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    assert!(shown.starts_with("not comparable short, NMU"), "{shown}");
    assert!(said.contains("nalm verify short.toml --preset paper runs the published length"), "{said}");
    let (code, shown, said) = verify(&["short.toml", "--preset", "paper"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    assert!(said.contains("short, preset paper: 2 runs of 5000 steps\n") && !said.contains("--preset"), "{said}");
    assert!(shown.starts_with("inconclusive "), "{shown}");
    let (code, _, said) = verify(&["short.toml", "-p", "papre"]);
    assert!(code == Some(2) && said.contains("papre"), "{said}");
    // Its statements are about the published length only.
    let (code, _, said) = verify(&["own-seeds"]);
    assert!(code == Some(2) && said.contains("nalm verify own-seeds --preset paper runs the published one"), "{said}");
    // Nothing is trained for this.
    let (code, shown, said) = verify(&["batch-noise-bound"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    assert!(!said.contains("0 runs") && said.contains("nothing to train"), "{said}");
}

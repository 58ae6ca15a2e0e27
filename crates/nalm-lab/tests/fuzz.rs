//! Stores and experiment files that nobody meant to write: an error, a problem that is named, or what was there.

#[path = "../../nalm/tests/mutate/mod.rs"]
mod mutate;

use flate2::Compression;
use flate2::write::GzEncoder;
use mutate::fuzz;
use nalm_lab::Registry;
use nalm_lab::experiment::{Experiment, Overrides, check};
use nalm_lab::run::{Row, Status};
use nalm_lab::store::{Segment, Store};
use nalm_lab::task::Finished;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

const FILE: &str = r#"
title = "Small"
task = "single-module"
[preset.a]
seeds = 3
steps = 5000
ranges = ["U[1,2)", "U[-2,-1)"]
[[model]]
module = "nmu"
[[model]]
module = "snmu"
options = { noise = "U[1,3]" }
"#;

#[test]
fn saved_formulas() {
    use nalm_lab::fit::Models;

    let model = |formula: &str| {
        json!({
            "format": 1, "version": "0.1.0",
            "models": [{"target": "t", "formula": formula, "columns": ["a", "b c"], "verdict": "exact", "precision": "f64",
                "tolerance": {"relative": 1e-9}, "rows": 20}],
        })
        .to_string()
        .into_bytes()
    };
    let texts = [model("a * `b c`^2 / (4 * pi)"), model("sqrt(a) + exp(-`b c` / 3)"), model("max(a, 1) - abs(`b c`)")];
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    fuzz("saved formulas", 3_000, &texts, |bytes| {
        let Ok(models) = Models::parse(bytes) else { return false };
        for model in &models.models {
            let _ = model.value(&|_| 1.5);
            assert!(model.tolerance.allowed(2.0, 0.01) >= 0.005);
        }
        assert_eq!(Models::parse(&serde_json::to_vec(&models).unwrap()).unwrap(), models);
        true
    });
}

/// From the bytes of a table to an answer and back: whatever is read can be searched, written in every language, saved and used.
#[test]
fn tables_and_their_formulas() {
    use nalm::table::{Dialect, Wanted};
    use nalm_fit::{Observer, Problem, fit};
    use nalm_lab::fit::{Answer, Model, Models, page};
    use std::ops::ControlFlow;

    /// Stops the search soon: thousands of tables are tried.
    struct Soon(u32);
    impl Observer for Soon {
        fn engine(&mut self, _: &'static str, _: usize, _: usize) -> ControlFlow<()> {
            self.working()
        }
        fn working(&mut self) -> ControlFlow<()> {
            self.0 += 1;
            if self.0 > 12 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let product = "a,the b,t\n1,2,2\n2,3.5,7\n4,1,4\n3,3,9\n5,2,10\n2.5,4,10\n1.5,6,9\n7,1,7\n";
    let signs = "x;y;t\n-1;2;1,5\n2;-3,5;7\n4;1;4\n3;3;0\n-5;2;10\n0;4;1e9\n1,5;6;9\n";
    let rounded = "a\tt\n1.10\t1.31\n2.20\t2.62\n3.30\t3.93\n4.40\t5.24\n5.50\t6.55\n6.60\t7.85\n";
    fuzz("tables and their formulas", 300, &[product.as_bytes(), signs.as_bytes(), rounded.as_bytes()], |bytes| {
        let wanted = Wanted::default().most_rows(20);
        let Ok(sample) = nalm::Table::sample(bytes, "t.csv", &Dialect::default(), &wanted) else { return false };
        let Some(target) = sample.table.names().last().cloned() else { return false };
        let problem = Problem::new(&sample.table, &target).unwrap().printed(sample.printed(&target).unwrap());
        let Ok(report) = fit(&problem, &mut Soon(0)) else { return false };
        let answer = Answer::new(&target, problem.inputs.clone(), sample.headers.clone(), report, 0.0);
        let written = answer.json();
        assert_eq!(written["target"], target.as_str());
        assert!(page(std::slice::from_ref(&answer), &sample.table).unwrap().contains("<html"));
        if answer.best().is_none() {
            assert!(written["formula"].is_null());
            return true;
        }
        let models = Models::new(vec![Model::new(&answer, &sample.table).unwrap()]);
        let again = Models::parse(&serde_json::to_vec(&models).unwrap()).unwrap();
        let usual = sample.table.column(&target).unwrap().iter().fold(0.0f64, |most, y| most.max(y.abs()));
        for row in 0..sample.table.rows() {
            let column = |name: &str| sample.table.column(name).map_or(f64::NAN, |column| column[row]);
            let (own, other) = (models.models[0].value(&column), again.models[0].value(&column));
            // What is read from text may multiply in another order.
            let close = (own - other).abs() <= 1e-9 * (own.abs() + usual);
            assert!(close || own.is_finite() == other.is_finite() && !own.is_finite(), "{own} {other}");
        }
        true
    });
}

fn load(registry: &Registry, text: &str, overrides: &Overrides) -> nalm_lab::Result<Experiment> {
    check(&registry.catalogue, &registry.names(), "mine", Path::new("mine.toml"), text, overrides)
}

/// Hand-made rows, and segments of them: sealed, unsealed, and with a run that failed.
fn rows_and_segments() -> (BTreeMap<String, Row>, Vec<Vec<u8>>) {
    let registry = Registry::default();
    let experiment = load(&registry, FILE, &Overrides::default()).unwrap();
    let made = |k: usize| {
        let spec = &experiment.runs[k];
        let mut row = Row::new(spec, Status::Completed, None, format!("{k:x}"));
        row.metrics = json!({"solved": true, "test_error": 1e-9, "solved_at": 7000}).as_object().unwrap().clone();
        row.artefacts.insert("weights".into(), json!([0.25, 1.0]));
        row
    };
    let failed = Row::failed(&experiment.runs[11], "no memory".into());
    let mut segments = Vec::new();
    for (rows, seals) in [(0..4, true), (4..7, false), (2..3, true)] {
        let folder = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(&Store::at(folder.path()), &["run".into()]).unwrap();
        let path = segment.path().to_path_buf();
        for row in rows.map(made).chain(seals.then(|| failed.clone())) {
            segment.keep(Some(&Finished { row, tensors: None })).unwrap();
        }
        if seals {
            segment.seal().unwrap();
        }
        segments.push(fs::read(path).unwrap());
    }
    let mut rows: BTreeMap<String, Row> = (0..7).map(made).map(|row| (row.id.clone(), row)).collect();
    rows.insert(failed.id.clone(), failed);
    (rows, segments)
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Every line with the checksum that it should have, so that what is behind the checksum is reached.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| {
        let end = line.iter().rposition(|byte| *byte == b'\t').unwrap_or(line.len());
        [&line[..end], format!("\t{:08x}", crc32c::crc32c(&line[..end])).as_bytes()].concat()
    };
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(line).collect();
    lines.pop();
    lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect()
}

/// Writes a segment and reads the store; returns the rows if all is well.
fn read(folder: &Path, name: &str, bytes: &[u8]) -> Option<BTreeMap<String, Row>> {
    let file = folder.join("seg").join(name);
    fs::create_dir_all(folder.join("seg")).unwrap();
    fs::write(&file, bytes).unwrap();
    let index = Store::at(folder).index();
    let rows = index.and_then(|index| {
        let sound = index.problems.is_empty();
        index.problems.iter().for_each(|problem| assert!(!problem.to_string().is_empty()));
        assert_eq!(index.segments(), 1);
        let contents = index.everything()?;
        assert_eq!(contents.rows.len(), index.entries().len());
        assert!(contents.session_of.values().all(|session| *session < contents.sessions.len()));
        let mut rows = contents.rows;
        rows.extend(contents.failed);
        Ok(sound.then_some(rows))
    });
    fs::remove_file(file).unwrap();
    rows.unwrap_or_else(|error| {
        assert!(!error.to_string().is_empty());
        None
    })
}

#[test]
fn segments() {
    let (known, segments) = rows_and_segments();
    let folder = tempfile::tempdir().unwrap();
    let inputs: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
    // Whatever was changed: a row that is found is one that was written.
    fuzz("segments", 1_500, &inputs, |bytes| match read(folder.path(), "x.jsonl", bytes) {
        Some(rows) => {
            assert!(rows.iter().all(|(id, row)| known.get(id) == Some(row)), "{rows:?}");
            true
        }
        None => false,
    });
    fuzz("segments with right checksums", 1_500, &inputs, |bytes| {
        read(folder.path(), "x.jsonl", &with_checksums(bytes)).is_some()
    });
}

#[test]
fn compressed_segments() {
    let (known, segments) = rows_and_segments();
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<Vec<u8>> = segments.iter().map(|segment| packed(segment)).collect();
    files.push([&files[0][..], &files[1]].concat());
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    fuzz("compressed segments", 1_500, &files, |bytes| match read(folder.path(), "x.jsonl.gz", bytes) {
        Some(rows) => {
            assert!(rows.iter().all(|(id, row)| known.get(id) == Some(row)), "{rows:?}");
            true
        }
        None => false,
    });
    let inputs: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
    fuzz("compressed segments with right checksums", 1_000, &inputs, |bytes| {
        read(folder.path(), "x.jsonl.gz", &packed(&with_checksums(bytes))).is_some()
    });
}

/// A file without line ends is not taken into memory as a whole, however little of the disk it takes.
#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let member = packed(&vec![b'a'; 1 << 20]);
    assert!(read(folder.path(), "x.jsonl.gz", &member.repeat(200)).is_none());
    assert!(mutate::largest() <= mutate::MOST_AT_ONCE, "{} bytes at once", mutate::largest());
}

#[test]
fn experiment_files() {
    let registry = Registry::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let names = ["single-module-snmu", "second-order-single-module", "motivation", "noise-sweep"];
    let mut texts = names.map(|name| fs::read(folder.join(format!("{name}.toml"))).unwrap()).to_vec();
    texts.push(FILE.into());
    let inputs: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    // One seed: a million are allowed, and as many runs would be made of them.
    let overrides = Overrides { seeds: Some(nalm_lab::experiment::Seeds::Count(1)), ..Overrides::default() };
    fuzz("experiment files", 1_000, &inputs, |bytes| {
        match load(&registry, &String::from_utf8_lossy(bytes), &overrides) {
            Ok(experiment) => {
                for group in &experiment.groups {
                    assert!(group.section < experiment.sections.len() && group.model < experiment.models.len());
                    assert!(group.runs.end <= experiment.runs.len() && !group.runs.is_empty());
                }
                assert!(experiment.baselines.iter().all(|model| *model < experiment.models.len()));
                assert_eq!(experiment.ids().len(), experiment.runs.len());
                true
            }
            Err(error) => {
                assert!(error.to_string().contains("mine.toml"), "{error}");
                false
            }
        }
    });
}

/// Brackets that are closed where none is open once led the parser past its limit, to the end of the stack.
#[test]
fn brackets_without_end_are_refused() {
    let registry = Registry::default();
    for text in ["{[]b=", "{a=1[]b=", "{", "[", "{a=", "[{"] {
        let text = format!("{FILE}x = {}\n", text.repeat(50_000));
        let error = load(&registry, &text, &Overrides::default()).unwrap_err().to_string();
        let line = FILE.lines().count() + 1;
        assert!(error.starts_with(&format!("mine.toml, line {line}: more than 80 brackets")), "{error}");
    }
}

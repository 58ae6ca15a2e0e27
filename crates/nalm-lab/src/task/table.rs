//! A table of one's own: inputs and target are columns of a CSV file, of which some rows are held out.

use super::choose::one_of;
use super::numbers::{About, Problem, complete};
use crate::error::{Context, Result, bail, ensure};
use crate::files::Disk;
use crate::memory::Budget;
use crate::run::Spec;
use crate::run::spec::hex;
use nalm::setting::Kind;
use nalm::table::{Dialect, LeftOut, Records, Wanted};
use nalm::{Setting, Split, Table, TableTask};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files by their SHA-256. A specification names the hash; whoever made it gave the file.
#[derive(Debug, Default)]
pub struct TableProblem {
    files: Mutex<BTreeMap<String, File>>,
    memory: Arc<Budget>,
}

/// Bytes of memory for each byte of a file: its own, and those of its numbers.
const BYTES_EACH: f64 = 3.0;

/// A file, and the columns of it that were read.
#[derive(Debug, Default)]
struct File {
    path: PathBuf,
    tables: BTreeMap<Vec<String>, Arc<Table>>,
}

const TEXT: Kind = Kind::Text { what: "text", normal: |text| Ok(text.into()) };
const COLUMN: Kind = Kind::Text { what: "the name of a column", normal: |text| Ok(text.into()) };
const SPLIT: Kind = Kind::Text {
    what: "random or extremes",
    normal: |text| one_of("split", text, &["random", "extremes"]).map(|_| text.into()),
};

const SETTINGS: [Setting; 8] = [
    Setting::new("data", TEXT, "", "the CSV file"),
    Setting::new("target", COLUMN, "", "the column to learn"),
    Setting::new(
        "columns",
        TEXT,
        "",
        "the input columns, with commas between them; all others that hold numbers if not given",
    ),
    Setting::new("split", SPLIT, "random", "how test rows are chosen: at random by seed, or the extremes of a column"),
    Setting::new("split_by", COLUMN, "", "the column whose extremes are test rows; the target if not given"),
    Setting::new("validation", Kind::Number, "0.1", "the share of validation rows"),
    Setting::new("test", Kind::Number, "0.2", "the share of test rows"),
    Setting::new(
        "goal",
        Kind::Number,
        "1e-6",
        "the test error below which it is solved, relative to the target's variance",
    ),
];

const ABOUT: About = About {
    name: "table",
    summary: "t = a column of a CSV file, from other columns of it",
    named: &["data", "target", "columns", "inputs", "split", "split_by", "validation", "test", "goal"],
    steps: 50_000,
    ramp: (20_000, 35_000),
};

impl TableProblem {
    /// Files that may take so much memory.
    pub fn within(memory: Arc<Budget>) -> Self {
        Self { memory, ..Self::default() }
    }

    fn read(&self, file: &Path) -> Result<Vec<u8>> {
        self.memory.read(&Disk, file, BYTES_EACH)
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash of a file, by which it is remembered, the names of its columns, and those that hold no numbers.
    fn open(&self, file: &Path) -> Result<(String, Vec<String>, Vec<LeftOut>)> {
        let bytes = self.read(file)?;
        let hash = hex(&Sha256::digest(&bytes));
        let name = file.display().to_string();
        let names = Records::new(bytes.as_slice(), &name)?.headers().to_vec();
        // Other faults are for those who read the numbers.
        let sample = Table::sample(bytes.as_slice(), &name, &Dialect::default(), &Wanted::default().most_rows(1));
        let left_out = sample.map_or_else(|_| Vec::new(), |sample| sample.left_out);
        self.files().entry(hash.clone()).or_default().path = file.to_path_buf();
        Ok((hash, names, left_out))
    }

    /// Some columns of the file with this hash. Columns that nobody asks for may hold anything.
    fn columns(&self, hash: &str, columns: &[&str]) -> Result<Arc<Table>> {
        let (mut files, short) = (self.files(), &hash[..hash.len().min(12)]);
        let Some(File { path, tables }) = files.get_mut(hash) else {
            bail!("the table with the SHA-256 {short}… is not here; give its file with --data")
        };
        let key: Vec<String> = columns.iter().map(ToString::to_string).collect();
        if let Some(known) = tables.get(&key) {
            return Ok(Arc::clone(known));
        }
        let bytes = self.read(path)?;
        let same = hex(&Sha256::digest(&bytes)) == hash;
        ensure!(same, "{} has changed: its SHA-256 was {short}…; put the old file back", path.display());
        let table = Arc::new(Table::from_csv(bytes.as_slice(), &path.display().to_string(), Some(columns))?);
        tables.insert(key, Arc::clone(&table));
        Ok(table)
    }
}

impl Problem for TableProblem {
    fn about(&self) -> About {
        ABOUT
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn load(&self, file: &Path) -> Result<()> {
        self.open(file).map(drop)
    }

    fn complete(&self, given: &mut Map<String, Value>) -> Result<()> {
        let text = |given: &Map<String, Value>, key: &str| given.get(key).and_then(Value::as_str).map(String::from);
        let Some(data) = text(given, "data") else {
            bail!(
                "a table needs its file: --data measurements.csv, or data = \"measurements.csv\" in an experiment file"
            )
        };
        let known = self.files().get(&data).map(|file| file.path.clone());
        let (hash, names, left_out) = self.open(known.as_deref().unwrap_or(Path::new(&data))).about("data")?;
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let there = |name: &str| one_of("column", name, &all).at(|| data.clone());
        let Some(target) = text(given, "target") else {
            bail!("{data} needs a target, one of its columns: {}", all.join(", "))
        };
        there(&target).about("target")?;
        let columns: Vec<String> = match text(given, "columns") {
            Some(list) => list.split(',').map(|name| name.trim().to_string()).collect(),
            None => {
                let has_numbers = |name: &&String| left_out.iter().all(|other| other.column != **name);
                names.iter().filter(|name| **name != target).filter(has_numbers).cloned().collect()
            }
        };
        for column in columns.iter().chain([&target]) {
            if let Some(other) = left_out.iter().find(|other| other.column == *column) {
                bail!("{data}: {other}; inputs and targets must hold numbers");
            }
        }
        ensure!(
            !columns.is_empty(),
            "{data} has no column of numbers besides the target {target}; a formula needs an input"
        );
        for column in &columns {
            ensure!(*column != target, "{data}: the target {target} is one of its own inputs; leave it out of columns");
            ensure!(!column.contains(','), "{data}: the name of the column '{column}' has a comma in it; rename it");
            there(column).about("columns")?;
        }
        if let Some(column) = text(given, "split_by") {
            there(&column).about("split_by")?;
        }
        given.insert("data".into(), hash.into());
        given.insert("inputs".into(), columns.len().into());
        given.insert("columns".into(), columns.join(",").into());
        complete(given, SETTINGS.iter().filter(|setting| !setting.default.is_empty()))?;
        match text(given, "split").as_deref() {
            Some("extremes") => _ = given.entry("split_by").or_insert_with(|| target.into()),
            _ => ensure!(!given.contains_key("split_by"), "split_by is for split = \"extremes\""),
        }
        Ok(())
    }

    fn task(&self, spec: &Spec) -> Result<Arc<dyn nalm::Task<f32>>> {
        let (target, split_by) = (spec.text("target"), spec.text("split_by"));
        let columns: Vec<&str> = spec.text("columns").split(',').collect();
        let mut needed: Vec<&str> = columns.iter().copied().chain([target]).collect();
        if !split_by.is_empty() && !needed.contains(&split_by) {
            needed.push(split_by);
        }
        let table = self.columns(spec.text("data"), &needed)?;
        let share = |key: &str| spec.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let (validation, test) = (share("validation"), share("test"));
        let split = match spec.text("split") {
            "extremes" => Split::Extremes { column: split_by.into(), validation, test },
            _ => Split::Random { validation, test },
        };
        Ok(Arc::new(TableTask::new(table, &columns, target, split, share("goal"))?))
    }
}

//! A table of one's own: inputs and target are columns of a CSV file, of which some rows are held out.

use super::numbers::Problem;
use crate::error::{Context, Error, Result, bail, ensure};
use crate::run::Spec;
use crate::run::spec::{hex, json};
use nalm::setting::Kind;
use nalm::task::FrontLayer;
use nalm::{Setting, Split, Table, TableTask};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Tables by the SHA-256 of their files. A specification names the hash; whoever made the specification gave the file.
#[derive(Debug, Default)]
pub struct TableProblem {
    tables: Mutex<BTreeMap<String, Arc<Table>>>,
}

const TEXT: Kind = Kind::Text { what: "text", normal: |text| Ok(text.into()) };
const COLUMN: Kind = Kind::Text { what: "the name of a column", normal: |text| Ok(text.into()) };
const SPLIT: Kind = Kind::Text {
    what: "random or extremes",
    normal: |text| match text {
        "random" | "extremes" => Ok(text.into()),
        other => Err(nalm::Error::unknown("split", other, &["random", "extremes"])),
    },
};

const fn own(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind, default, meaning, numerics: true }
}

const SETTINGS: [Setting; 8] = [
    own("data", TEXT, "", "the CSV file"),
    own("target", COLUMN, "", "the column to learn"),
    own("columns", TEXT, "", "the input columns, with commas between them; all but the target if not given"),
    own("split", SPLIT, "random", "how test rows are chosen: at random by seed, or the extremes of a column"),
    own("split_by", COLUMN, "", "the column whose extremes are test rows; the target if not given"),
    own("validation", Kind::Number, "0.1", "the share of validation rows"),
    own("test", Kind::Number, "0.2", "the share of test rows"),
    own("goal", Kind::Number, "1e-6", "the test error below which it is solved, relative to the target's variance"),
];

const NAMED: [&str; 9] = ["data", "target", "columns", "inputs", "split", "split_by", "validation", "test", "goal"];

impl TableProblem {
    /// Reads a file and remembers it by its hash.
    pub fn load(&self, file: &Path) -> Result<(String, Arc<Table>)> {
        let bytes = std::fs::read(file).map_err(Error::file("cannot read the table", file))?;
        let hash = hex(&Sha256::digest(&bytes));
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tables.get(&hash) {
            return Ok((hash, Arc::clone(known)));
        }
        let table = Arc::new(Table::from_csv(bytes.as_slice(), &file.display().to_string(), None)?);
        tables.insert(hash.clone(), Arc::clone(&table));
        Ok((hash, table))
    }

    fn find(&self, hash: &str) -> Result<Arc<Table>> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = || {
            let short = &hash[..hash.len().min(12)];
            Error::Request(format!("the table with the SHA-256 {short}… is not here; give its file with --data"))
        };
        tables.get(hash).cloned().ok_or_else(missing)
    }
}

impl Problem for TableProblem {
    fn name(&self) -> &str {
        "table"
    }

    fn summary(&self) -> &str {
        "t = a column of a CSV file, from other columns of it"
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn named(&self) -> &[&'static str] {
        &NAMED
    }

    fn steps(&self) -> u64 {
        50_000
    }

    fn ramp(&self) -> (u64, u64) {
        (20_000, 35_000)
    }

    fn load(&self, file: &Path) -> Result<()> {
        TableProblem::load(self, file).map(drop)
    }

    fn complete(&self, given: &mut Map<String, Value>) -> Result<()> {
        let text = |given: &Map<String, Value>, key: &str| given.get(key).and_then(Value::as_str).map(String::from);
        let Some(data) = text(given, "data") else { bail!("a table needs its file: data = \"measurements.csv\"") };
        let (hash, table) = match self.find(&data) {
            Ok(table) => (data.clone(), table),
            Err(_) => self.load(Path::new(&data))?,
        };
        let names = table.names().join(", ");
        let Some(target) = text(given, "target") else {
            bail!("{data} needs a target, one of its columns: {names}")
        };
        table.column(&target).at(|| data.clone())?;
        let columns: Vec<String> = match text(given, "columns") {
            Some(list) => list.split(',').map(|name| name.trim().to_string()).collect(),
            None => table.names().iter().filter(|name| **name != target).map(ToString::to_string).collect(),
        };
        ensure!(!columns.is_empty(), "{data} has no column besides the target {target}; a formula needs an input");
        for column in &columns {
            ensure!(*column != target, "{data}: the target {target} is one of its own inputs; leave it out of columns");
            table.column(column).at(|| data.clone())?;
        }
        given.insert("data".into(), hash.into());
        given.insert("inputs".into(), columns.len().into());
        given.insert("columns".into(), columns.join(",").into());
        for setting in SETTINGS.iter().filter(|s| ["split", "validation", "test", "goal"].contains(&s.name)) {
            if !given.contains_key(setting.name) {
                given.insert(setting.name.into(), json(&setting.parse(setting.default)?));
            }
        }
        match text(given, "split").as_deref() {
            Some("extremes") => _ = given.entry("split_by").or_insert_with(|| target.into()),
            _ => ensure!(!given.contains_key("split_by"), "split_by is for split = \"extremes\""),
        }
        Ok(())
    }

    fn front(&self, _spec: &Spec) -> Result<Vec<FrontLayer>> {
        Ok(Vec::new())
    }

    fn task(&self, spec: &Spec) -> Result<Arc<dyn nalm::Task<f32>>> {
        let table = self.find(spec.text("data"))?;
        let columns: Vec<&str> = spec.text("columns").split(',').collect();
        let share = |key: &str| spec.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let (validation, test) = (share("validation"), share("test"));
        let split = match spec.text("split") {
            "extremes" => Split::Extremes { column: spec.text("split_by").into(), validation, test },
            _ => Split::Random { validation, test },
        };
        Ok(Arc::new(TableTask::new(table, &columns, spec.text("target"), split, share("goal"))?))
    }
}

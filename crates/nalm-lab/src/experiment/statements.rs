//! The statements of the paper, each once: what it says, and where. Expectations of experiments are their parts.

use serde::Deserialize;
use std::sync::LazyLock;

/// A statement of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The name by which expectations refer to it.
    pub key: String,
    /// What the paper says, in our words.
    pub says: String,
    /// Where.
    pub source: String,
    /// What a reader should know beside the verdict.
    #[serde(default)]
    pub note: String,
    /// Why nothing that is run here can speak for or against it.
    pub not_comparable: Option<String>,
}

/// How long a run takes, as the paper says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// Of which task.
    pub task: String,
    /// Of how many steps.
    pub steps: u64,
    /// How long.
    pub seconds: f64,
}

#[derive(Deserialize)]
struct Written {
    statement: Vec<Statement>,
    time: Vec<Time>,
}

static ALL: LazyLock<Written> = LazyLock::new(|| {
    toml::from_str(include_str!("../../statements.toml")).expect("what comes with the library can be read")
});

/// All of them, in the order of the paper.
pub fn all() -> &'static [Statement] {
    &ALL.statement
}

/// What the paper says that runs take.
pub fn times() -> &'static [Time] {
    &ALL.time
}

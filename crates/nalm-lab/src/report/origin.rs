//! Where the rows of a page come from, as the segments say that held them.

use crate::run::Spec;
use crate::store::{Session, date};
use crate::summary::Results;
use std::collections::BTreeSet;

/// One paragraph about it.
pub(super) fn text(results: &Results<'_>) -> String {
    let contents = results.contents;
    let mut text = match results.experiment.runs.len() {
        0 => "Computed without training.".to_string(),
        all => format!("{} of {all} runs.", results.found()),
    };
    if results.earlier() > 0 {
        let (count, version) =
            (results.earlier(), results.experiment.runs.iter().map(Spec::numerics).max().unwrap_or(1));
        text += &format!(
            " {count} of them are of an earlier version of the numerics (this program computes version {version}); nalm run makes them anew."
        );
    }
    let found = results.rows.iter().flatten();
    let sessions: BTreeSet<usize> = found.filter_map(|row| contents.session_of.get(&row.id).copied()).collect();
    if sessions.is_empty() {
        return text;
    }
    let list = |of: fn(&Session) -> String| {
        let found: BTreeSet<String> = sessions.iter().map(|&k| of(&contents.sessions[k])).collect();
        Vec::from_iter(found).join("; ")
    };
    text += &format!(
        " Made {} by {} on {}.",
        list(|s| date::day(s.started)),
        list(|s| format!("nalm {} (revision {}, numerics {})", s.version, known(&s.revision), s.numerics)),
        list(|s| known(&s.machine).into())
    );
    let total =
        |of: fn(&Session) -> Option<f64>| sessions.iter().map(|&k| of(&contents.sessions[k])).sum::<Option<f64>>();
    if let (Some(seconds), Some(cpu)) = (total(|s| s.seconds), total(|s| s.cpu_seconds)) {
        text += &format!(
            " The processes that did so (and perhaps other runs) took {seconds:.0} s, {cpu:.0} s of processor time."
        );
    }
    text
}

/// What a header says, or that it does not.
fn known(text: &str) -> &str {
    if text.is_empty() { "not noted" } else { text }
}

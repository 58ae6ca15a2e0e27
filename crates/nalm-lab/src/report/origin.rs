//! Where the rows of a page come from, as the segments say that held them.

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
    if results.rows_of_earlier_numerics() > 0 {
        let (count, now) = (results.rows_of_earlier_numerics(), results.experiment.runs[0].numerics());
        text += &format!(
            " Of an earlier version of the numerics: {count} (this program computes version {now}); nalm run makes them anew."
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
    // A process may carry out tasks whose numerics have different versions.
    let program = |k: &usize| {
        let own = results.rows.iter().flatten().filter(|row| contents.session_of.get(&row.id) == Some(k));
        let numerics: BTreeSet<u64> = own.map(|row| row.spec.numerics()).collect();
        let numerics = numerics.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
        let Session { version, revision, .. } = &contents.sessions[*k];
        format!("nalm {version} (revision {}, numerics {numerics})", known(revision))
    };
    text += &format!(
        " Made {} by {} on {}.",
        list(|s| date::day(s.started)),
        Vec::from_iter(sessions.iter().map(program).collect::<BTreeSet<String>>()).join("; "),
        list(|s| known(&s.machine).into())
    );
    let total =
        |of: fn(&Session) -> Option<f64>| sessions.iter().map(|&k| of(&contents.sessions[k])).sum::<Option<f64>>();
    if let (Some(seconds), Some(cpu)) = (total(|s| s.seconds), total(|s| s.cpu_seconds)) {
        let took = |s: f64| if s < 1.0 { "less than 1 s".into() } else { format!("{s:.0} s") };
        let (seconds, cpu) = (took(seconds), took(cpu));
        text +=
            &format!(" The processes that did so (and perhaps other runs) took {seconds}, {cpu} of processor time.");
    }
    text
}

/// What a header says, or that it does not.
fn known(text: &str) -> &str {
    if text.is_empty() { "not noted" } else { text }
}

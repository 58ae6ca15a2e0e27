//! Where the rows of a page come from, as the segments say that held them.

use crate::experiment::{Section, seeds};
use crate::run::Spec;
use crate::store::{Session, date};
use crate::summary::Results;
use crate::task::Measures;
use serde_json::Value;
use std::collections::BTreeSet;

/// What was run: a line for each section.
pub(super) fn runs(results: &Results<'_>) -> Vec<String> {
    let experiment = results.experiment;
    let line = |(k, section): (usize, &Section)| {
        let groups = experiment.standing_groups().filter(|group| group.section == k);
        let runs: Vec<&Spec> = groups.clone().flat_map(|group| &experiment.runs[group.runs.clone()]).collect();
        if runs.is_empty() || section.measures != Measures::Runs {
            return None;
        }
        let all = |of: &dyn Fn(&Spec) -> Option<String>| {
            let mut found: Vec<String> = Vec::new();
            for text in runs.iter().filter_map(|run| of(run)).filter(|text| !text.is_empty()) {
                if !found.contains(&text) {
                    found.push(text);
                }
            }
            found
        };
        let text = |key: &'static str| all(&move |run| Some(run.text(key).to_string()));
        let mut parts = vec![format!("task {}", section.task)];
        let operations = text("operation");
        parts.extend((!operations.is_empty()).then(|| format!("operation {}", operations.join(" or "))));
        let inputs = all(&|run| Some(run.whole("inputs")?.to_string()));
        let table = all(&|run| table(results, run));
        match table.is_empty() {
            true => parts.extend((!inputs.is_empty()).then(|| format!("{} inputs", inputs.join(" or ")))),
            false => parts.extend(table),
        }
        let mut steps: Vec<u64> = runs.iter().filter_map(|run| run.whole("steps")).collect();
        steps.sort_unstable();
        parts.extend(steps.first().zip(steps.last()).map(|(least, most)| match least == most {
            true => format!("{} step{}", thousands(*most), if *most == 1 { "" } else { "s" }),
            false => format!("{} to {} steps", thousands(*least), thousands(*most)),
        }));
        let streams = text("stream");
        parts.extend((streams == ["reference"]).then(|| "published random streams".to_string()));
        let each = groups.clone().map(|group| group.runs.len()).max().unwrap_or(0);
        parts.push(match section.grid {
            Some(side) => format!("{side} x {side} starting weights"),
            None => format!("{each} seed{}{}", if each == 1 { "" } else { "s" }, which(&runs)),
        });
        let ranges =
            all(&|run| Some(format!("{} (tested on {})", run.get("range")?.as_str()?, run.text("test_range"))));
        parts.extend((!ranges.is_empty()).then(|| format!("trained on {}", ranges.join(", "))));
        // Models may share runs, which are there once.
        let distinct: BTreeSet<String> = runs.iter().map(|run| run.id()).collect();
        let rows = groups.clone().flat_map(|group| results.of(group));
        let there = rows.map(|row| row.id.as_str()).collect::<BTreeSet<&str>>().len();
        parts.extend((there < distinct.len()).then(|| format!("{there} of {} runs are there", distinct.len())));
        let name = if section.name.is_empty() { String::new() } else { format!("{}: ", section.name) };
        Some(name + &parts.join("; ") + ".")
    };
    experiment.sections.iter().enumerate().filter_map(line).collect()
}

/// The table that a run learns from: its file, what is learned from which columns, and how rows are held out. Nothing for other tasks.
fn table(results: &Results<'_>, run: &Spec) -> Option<String> {
    let hash = run.get("data")?.as_str()?;
    let experiment = results.experiment;
    let mut hashes: Vec<&str> = Vec::new();
    for other in experiment.runs.iter().filter_map(|run| run.get("data")?.as_str()) {
        if !hashes.contains(&other) {
            hashes.push(other);
        }
    }
    // Files are listed as runs have them. Of their paths, others need the name alone.
    let place = hashes.iter().position(|other| *other == hash).filter(|_| hashes.len() == experiment.inputs.len());
    let file = place.and_then(|k| experiment.inputs[k].file_name());
    let short = || format!("the table with the SHA-256 {}…", hash.get(..12).unwrap_or(hash));
    let file = file.map_or_else(short, |name| name.to_string_lossy().into_owned());
    let split = match run.text("split_by") {
        "" => run.text("split").to_string(),
        column => format!("{} of {column}", run.text("split")),
    };
    let shares =
        ["validation", "test"].map(|part| format!("{part} {}", run.get(part).map_or("–".into(), Value::to_string)));
    let (target, columns) = (run.text("target"), run.text("columns").replace(',', ", "));
    Some(format!("{file}: {target} from {columns}; split {split} ({})", shares.join(", ")))
}

/// Which seeds, unless they are the first ones.
fn which(runs: &[&Spec]) -> String {
    let all: BTreeSet<u64> = runs.iter().map(|run| run.seed()).collect();
    let first = all.iter().zip(0..).all(|(seed, k)| *seed == k);
    if first { String::new() } else { format!(" ({})", seeds::shown(&all)) }
}

/// That runs are missing, and the seeds of those that are there; nothing if none is.
pub(super) fn incomplete(results: &Results<'_>) -> Option<String> {
    let (there, all) = (results.found(), results.experiment.planned());
    let found: BTreeSet<u64> = results.rows.iter().flatten().map(|row| row.spec.seed()).collect();
    let s = if found.len() == 1 { "" } else { "s" };
    let [some, every] = [there, all].map(|n| thousands(n as u64));
    (there < all).then(|| format!("Incomplete: {some} of {every} runs, with the seed{s} {}.", seeds::shown(&found)))
}

/// A number with commas between its thousands.
pub(super) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let comma = |k: usize| k > 0 && (digits.len() - k).is_multiple_of(3);
    digits.char_indices().flat_map(|(k, c)| comma(k).then_some(',').into_iter().chain([c])).collect()
}

/// One paragraph about it.
pub(super) fn text(results: &Results<'_>) -> String {
    let contents = results.contents;
    let mut text = match results.experiment.planned() {
        0 => "Computed without training.".to_string(),
        all => format!("{} of {all} runs.", results.found()),
    };
    if results.rows_of_earlier_numerics() > 0 {
        let (count, now) = (results.rows_of_earlier_numerics(), results.experiment.runs[0].numerics());
        text += &format!(
            " Of an earlier version of the numerics: {count} (this program computes version {now}); nalm run makes them anew."
        );
        let versions = results.rows_by_numerics();
        if versions.len() > 1 {
            let each = versions.iter().map(|(numerics, count)| format!("{count} of version {numerics}"));
            text += &format!(
                " The rows are of several versions ({}): pairs of runs and thresholds are of one version each, means may be over several.",
                each.collect::<Vec<_>>().join(", ")
            );
        }
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

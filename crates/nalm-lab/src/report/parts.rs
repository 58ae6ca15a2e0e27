//! What a record holds: part by part, with the seeds that are done, what they cost, and what the paper says that a run costs.

use super::claims::Evidence;
use super::page::Block;
use super::table;
use crate::experiment::statements::{self, Time};
use crate::run::{Row, Spec};
use crate::stats::shown::two;
use crate::store::Contents;
use std::collections::BTreeMap;

/// What runs cost, in processor time.
pub struct Costs {
    /// Seconds by run.
    seconds: BTreeMap<String, f64>,
}

impl Costs {
    /// A process knows what all of its runs cost together; each has its share by its steps and inputs. Runs of a process that was killed
    /// have none.
    pub fn new(contents: &Contents) -> Self {
        let mut totals: BTreeMap<usize, f64> = BTreeMap::new();
        for (id, session) in &contents.session_of {
            let weight = contents.rows.get(id).map_or(0.0, |row| weight(&row.spec));
            *totals.entry(*session).or_default() += weight;
        }
        let share = |(id, session): (&String, &usize)| {
            let all = contents.sessions.get(*session)?.cpu_seconds?;
            let own = weight(&contents.rows.get(id)?.spec) / totals.get(session)?;
            Some((id.clone(), all * own))
        };
        Self { seconds: contents.session_of.iter().filter_map(share).collect() }
    }
}

/// What a run costs in proportion to others.
fn weight(spec: &Spec) -> f64 {
    let number = |key: &str| spec.whole(key).filter(|n| *n > 0).map_or(1.0, |n| n as f64);
    number("steps") * number("inputs") * number("epochs")
}

/// One line for each experiment and task in it.
pub fn blocks(evidence: &[&Evidence<'_>], costs: &Costs) -> Vec<Block> {
    let lines = evidence.iter().flat_map(|e| tasks(e).into_iter().map(|task| line(e, &task, costs)));
    let mut blocks = table("Parts", lines.collect());
    // The text around it has a heading of its own.
    blocks.retain(|block| !matches!(block, Block::Heading(_)));
    blocks
}

fn tasks(e: &Evidence<'_>) -> Vec<String> {
    let mut tasks: Vec<String> = Vec::new();
    for section in &e.results.experiment.sections {
        if !tasks.contains(&section.task) && !section.task.is_empty() {
            tasks.push(section.task.clone());
        }
    }
    tasks
}

fn line(e: &Evidence<'_>, task: &str, costs: &Costs) -> Vec<(&'static str, String)> {
    let (results, experiment) = (&e.results, e.results.experiment);
    let groups = || experiment.groups.iter().filter(|group| experiment.sections[group.section].task == task);
    let own: Vec<usize> = experiment.distinct().into_iter().filter(|&k| experiment.runs[k].task() == task).collect();
    let rows: Vec<&Row> = own.iter().filter_map(|&k| results.rows[k]).collect();
    let planned = own.len();
    let done = groups().filter(|group| experiment.is_sampled(group));
    let done: Vec<(usize, usize)> =
        done.map(|group| (results.rows[group.runs.clone()].iter().flatten().count(), group.runs.len())).collect();
    let least = done.iter().map(|(found, _)| *found).min().unwrap_or(0);
    let most = done.iter().map(|(found, _)| *found).max().unwrap_or(0);
    let of = done.iter().map(|(_, planned)| *planned).max().unwrap_or(0);
    let seeds = match (least == most, of) {
        (_, 0) => "–".into(),
        (true, of) => format!("{least} of {of}"),
        (false, of) => format!("{least} to {most} of {of}"),
    };
    let known: Vec<(&Row, f64)> = rows.iter().filter_map(|row| Some((*row, *costs.seconds.get(&row.id)?))).collect();
    let a_run = (!known.is_empty()).then(|| known.iter().map(|(_, s)| s).sum::<f64>() / known.len() as f64);
    let text = |number: Option<String>| number.unwrap_or("–".into());
    vec![
        ("part", e.name.clone()),
        ("task", task.into()),
        ("rows", rows.len().to_string()),
        ("of", planned.to_string()),
        ("seeds", seeds),
        ("seconds a run", text(a_run.map(seconds))),
        ("core-hours", text(a_run.map(|s| format!("{:.2}", s * rows.len() as f64 / 3600.0)))),
        ("the paper's time, in ours", text(ratio(task, &known))),
    ]
}

fn seconds(s: f64) -> String {
    match s {
        s if s < 0.1 => format!("{s:.3}"),
        s if s < 10.0 => format!("{s:.1}"),
        s => format!("{s:.0}"),
    }
}

/// How many of ours go into the time that the paper gives for a run of so many updates.
fn ratio(task: &str, known: &[(&Row, f64)]) -> Option<String> {
    let Time { steps, seconds, .. } = statements::times().iter().find(|time| time.task == task)?;
    let counted: Vec<(u64, f64)> = known.iter().filter_map(|(row, s)| Some((updates(row)?, *s))).collect();
    let (all, total) = counted.iter().fold((0, 0.0), |(all, total), (updates, s)| (all + updates, total + s));
    let ours = total / all as f64 * *steps as f64;
    (ours.is_finite() && ours > 0.0).then(|| in_two_digits(seconds / ours))
}

fn in_two_digits(ratio: f64) -> String {
    if ratio < 10.0 {
        return two(ratio);
    }
    let unit = libm::pow(10.0, libm::log10(ratio).floor() - 1.0);
    format!("{}", (ratio / unit).round() * unit)
}

/// Updates of a run; nothing where they are of smaller pictures than the paper's, which are other updates.
fn updates(row: &Row) -> Option<u64> {
    let spec = &row.spec;
    if spec.get("halved").and_then(serde_json::Value::as_bool) == Some(true) {
        return None;
    }
    spec.whole("steps").or_else(|| of_images(row))
}

#[cfg(feature = "images")]
fn of_images(row: &Row) -> Option<u64> {
    match crate::task::image_scale(&row.spec)? {
        (_, Some(updates)) => Some(updates * row.spec.whole("epochs")?),
        // Sequences count their own.
        _ => row.series.get("history")?.get("sequence")?.as_array()?.last()?.get("step")?.as_u64(),
    }
}

#[cfg(not(feature = "images"))]
fn of_images(_: &Row) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Status;
    use crate::store::Session;

    #[test]
    fn a_process_shares_its_time_by_steps() {
        let sessions = vec![Session { cpu_seconds: Some(60.0), ..Session::default() }, Session::default()];
        let mut contents = Contents { sessions, ..Contents::default() };
        for (seed, steps, session) in [(0, 1_000, 0), (1, 2_000, 0), (2, 9_000, 1)] {
            let spec = crate::run::spec::tests::spec("nmu").with("seed", seed).with("steps", steps);
            let row = Row::new(&spec, Status::Completed, None, String::new());
            contents.session_of.insert(row.id.clone(), session);
            contents.insert(row);
        }
        let costs = Costs::new(&contents);
        let mut seconds: Vec<f64> = costs.seconds.values().copied().collect();
        seconds.sort_by(f64::total_cmp);
        assert_eq!(seconds, [20.0, 40.0], "the second process was killed");
    }

    /// The isolated network: 704 updates an epoch as published, 71 with a tenth of the samples.
    #[test]
    #[cfg(feature = "images")]
    fn times_with_images_are_scaled_by_updates() {
        let row = |settings: serde_json::Value| {
            let spec = serde_json::json!({"task": "mnist-isolated", "head": "nmu", "settings": settings, "seed": 2, "numerics": 3});
            Row::new(&serde_json::from_value(spec).unwrap(), Status::Completed, None, String::new())
        };
        let full = row(serde_json::json!({"samples": 100, "epochs": 10}));
        assert_eq!(updates(&full), Some(710));
        // 5 hours for 704,000 updates are 18.2 seconds for 710 of them.
        assert_eq!(ratio("mnist-isolated", &[(&full, 36.3)]).as_deref(), Some("0.50"));
        let halved = row(serde_json::json!({"samples": 100, "epochs": 10, "halved": true}));
        assert_eq!((updates(&halved), ratio("mnist-isolated", &[(&halved, 36.3)])), (None, None));
        assert_eq!([0.034, 4.4, 12.3, 127.0, 6_712.0].map(in_two_digits), ["0.034", "4.4", "12", "130", "6700"]);
    }
}

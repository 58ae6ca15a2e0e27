//! Runs that failed, by where they ended.

use super::page::Block;
use crate::experiment::Section;
use crate::run::Row;
use crate::stats::shown::two;
use crate::summary::Results;
use crate::task::Measures;
use std::collections::BTreeMap;

/// Runs that were carried out and are not solved, by where they ended.
pub(super) fn list(results: &Results<'_>) -> Vec<Block> {
    let numbers = results.experiment.sections.iter().all(|section| section.measures == Measures::Runs);
    block("Seeds that failed", if numbers { unsolved(results) } else { Vec::new() })
}

/// Runs that could not be carried out: they are missing from everything above.
pub(super) fn not_carried_out(results: &Results<'_>) -> Vec<Block> {
    let failed = results.experiment.runs.iter().filter_map(|run| results.contents.failed.get(&run.id()));
    let line = |row: &Row| {
        let reason = row.reason.as_deref().unwrap_or("without a reason");
        format!("{} with seed {}: {reason}", row.spec.module(), row.spec.seed())
    };
    block("Runs that could not be carried out, and are missing", failed.map(line).collect())
}

fn block(title: &str, lines: Vec<String>) -> Vec<Block> {
    if lines.is_empty() { Vec::new() } else { vec![Block::Heading(title.into()), Block::List(lines)] }
}

/// Section, model, place and end of runs.
type End = (usize, usize, String, String);

/// The seed of a run, and its test error.
type Failed = (u64, Option<f64>);

/// Seeds that are not solved, by section, model, place and end.
fn unsolved(results: &Results<'_>) -> Vec<String> {
    let experiment = results.experiment;
    let mut ends: BTreeMap<End, Vec<Failed>> = BTreeMap::new();
    for group in experiment.groups.iter().filter(|group| experiment.is_sampled(group)) {
        let Some(place) = experiment.standing(group) else { continue };
        for row in results.of(group).into_iter().filter(|row| !row.is_solved()) {
            let key = (group.section, group.model, place.clone(), end(row, group.last_layer));
            ends.entry(key).or_default().push((row.spec.seed(), row.number("test_error")));
        }
    }
    let several = experiment.sections.len() > 1;
    let line = |((section, model, place, end), seeds): (&End, &Vec<Failed>)| {
        let shown: Vec<String> = seeds.iter().take(8).map(|(seed, _)| seed.to_string()).collect();
        let more = if seeds.len() > 8 { ", …" } else { "" };
        let Section { name: part, axis, varied, .. } = &experiment.sections[*section];
        let of = match part.strip_prefix("on ") {
            _ if !several => String::new(),
            Some(range) => format!(", on {range}"),
            None => format!(" ({part})"),
        };
        let on = match place.as_str() {
            "" | "–" => String::new(),
            // What is varied is no place.
            _ if axis.is_some() => format!(", {varied} {place}"),
            _ => format!(" on {place}"),
        };
        let end = format!("{end}{}", errors(end, seeds));
        let s = if seeds.len() == 1 { ("seed", "ends") } else { ("seeds", "end") };
        let name = &experiment.models[*model];
        format!("{name}{on}{of}: {} {} {} {end} ({}{more})", seeds.len(), s.0, s.1, shown.join(", "))
    };
    ends.iter().map(line).collect()
}

/// The errors of runs whose weights look solved to one digit.
fn errors(end: &str, seeds: &[Failed]) -> String {
    let looks_solved = end
        .strip_prefix("with weights (")
        .is_some_and(|rest| rest.trim_end_matches(')').split(", ").all(|w| w == "1.0"));
    let all = || seeds.iter().filter_map(|(_, error)| *error).filter(|error| error.is_finite());
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    match looks_solved && least.is_finite() {
        false => String::new(),
        true if least == most => format!(" and the test error {}", two(least)),
        true => format!(" and test errors from {} to {}", two(least), two(most)),
    }
}

/// Where a failed run ended: its last layer's weights to one digit, if they are few.
fn end(row: &Row, last_layer: usize) -> String {
    if let Some(reason) = &row.reason {
        return format!("{} ({reason})", row.status.name());
    }
    let weights = row.weights();
    if !(1..=3).contains(&last_layer) || weights.len() < last_layer {
        return "unsolved".into();
    }
    let own = &weights[weights.len() - last_layer..];
    let shown: Vec<String> = own.iter().map(|w| w.map_or("NaN".into(), |w| format!("{:.1}", w + 0.0))).collect();
    format!("with weights ({})", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights to one digit do not tell why a run failed that looks solved; its error does.
    #[test]
    fn errors_are_named_where_weights_look_solved() {
        let seeds = [(0, Some(7.0)), (1, Some(11.0)), (2, None)];
        assert_eq!(errors("with weights (1.0, 1.0)", &seeds), " and test errors from 7.0 to 11");
        assert_eq!(errors("with weights (1.0)", &seeds[..1]), " and the test error 7.0");
        assert_eq!([errors("with weights (0.0, 1.0)", &seeds), errors("unsolved", &seeds)], ["", ""]);
    }
}

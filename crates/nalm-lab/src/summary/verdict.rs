//! Published statements beside what we found.

use super::{Cell, Metric, Results, noise_bound, show};
use crate::experiment::{Expectation, Relation};
use crate::run::Row;
use crate::stats::Estimate;
use crate::task::Measures;

/// A published statement beside what we found.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The statement.
    pub expectation: &'a Expectation,
    /// What was published, in words.
    pub published: String,
    /// What we found, in words.
    pub ours: String,
    /// Whether the two agree.
    pub agrees: bool,
}

/// What was published and what we found, in words, and whether the two agree.
pub(super) type Verdict = (String, String, bool);

impl<'a> Results<'a> {
    /// The published statements that can be held against these rows.
    pub fn comparisons(&self) -> Vec<Comparison<'a>> {
        self.experiment.expectations.iter().filter_map(|expectation| self.compare(expectation)).collect()
    }

    fn compare(&self, e: &'a Expectation) -> Option<Comparison<'a>> {
        let (published, ours, agrees) = match (e.metric.as_str(), e.relation) {
            // To the digits that were printed.
            ("noise_bound", Relation::Is(published)) => {
                let ours = noise_bound::bound(&e.place)?;
                (format!("{published}"), format!("{ours:.4}"), (ours - published).abs() <= half_unit(published, 3))
            }
            ("noise_bound", _) => return None,
            #[cfg(feature = "images")]
            ("success_at_length", _) => super::sequences::verdict(self, e)?,
            _ => self.by_metric(e)?,
        };
        Some(Comparison { expectation: e, published, ours, agrees })
    }

    fn by_metric(&self, e: &Expectation) -> Option<Verdict> {
        let metric = self.metrics.iter().find(|metric| metric.name == e.metric)?;
        let model = e.model?;
        let cell = self.cell(e.section, model, &e.place)?;
        let against =
            |cell: &Cell, other: &Cell| format!("{} against {}", ours(metric, cell, false), ours(metric, other, false));
        let other = |model: usize| Some((self.cell(e.section, model, &e.place)?, &self.experiment.models[model]));
        let estimate = cell.get(metric.name);
        let images = self.experiment.sections[e.section].measures != Measures::Runs;
        // With images, a number is only held against all the runs that it was published for.
        let planned = self.group(e.section, model, &e.place)?.runs.len();
        if images && !matches!(e.relation, Relation::Above(_)) && cell.n < planned {
            return None;
        }
        let (before, after) = metric.words;
        let value = |p: f64| if images { (metric.show)(p) } else { p.to_string() };
        let around = |text: String| format!("{before}{text}{after}");
        Some(match e.relation {
            Relation::Is(p) => (around(value(p)), ours(metric, cell, images), contains(estimate, p)),
            Relation::Mean(published) => mean(before, published, estimate)?,
            Relation::Below(p) => {
                (format!("below {}", around(value(p))), ours(metric, cell, images), estimate.mean? < p)
            }
            Relation::Above(than) if images => self.above_on_common_folds(metric, e, than)?,
            Relation::Above(than) => {
                let (theirs, name) = other(than)?;
                (format!("above {name}"), against(cell, theirs), estimate.mean? > theirs.get(metric.name).mean?)
            }
            Relation::Equals(to) => {
                let (theirs, name) = other(to)?;
                let (a, b) = (estimate, theirs.get(metric.name));
                let overlap = a.lower? <= b.upper? && b.lower? <= a.upper?;
                (format!("equal to {name}"), against(cell, theirs), overlap)
            }
        })
    }

    /// The order of two models over the seeds that both have.
    fn above_on_common_folds(&self, metric: &Metric, e: &Expectation, than: usize) -> Option<Verdict> {
        let rows = |model: usize| Some(self.of(self.group(e.section, model, &e.place)?));
        let (mine, theirs) = (rows(e.model?)?, rows(than)?);
        let twin = |row: &Row| theirs.iter().copied().find(|other| other.spec.seed() == row.spec.seed());
        let (a, b): (Vec<_>, Vec<_>) = mine.iter().filter_map(|row| Some((*row, twin(row)?))).unzip();
        let (common, name) = (a.len(), &self.experiment.models[than]);
        let (mine, others) = (metric.estimate(a), metric.estimate(b));
        let (shown, shown_other) = (show(mine, metric.show), show(others, metric.show));
        let shown = format!("{shown} against {shown_other} ({}, {common} common folds)", metric.label);
        Some((format!("above {name}"), shown, mine.mean? > others.mean?))
    }
}

/// What we found of a metric, with the number of runs.
fn ours(metric: &Metric, cell: &Cell, images: bool) -> String {
    let (_, after) = metric.words;
    let shown = show(cell.get(metric.name), metric.show);
    match metric.name {
        "at_one" => {
            let holds = (cell.get(metric.name).mean.unwrap_or(0.0) * cell.n as f64).round();
            format!("{holds} of {}", cell.n)
        }
        _ if after.is_empty() || images => format!("{shown} (n = {})", cell.n),
        _ => format!("{shown}{after}"),
    }
}

/// A published mean agrees if the two intervals overlap, up to the rounding of two printed digits.
fn mean(what: &str, [published, half]: [f64; 2], ours: Estimate) -> Option<Verdict> {
    let (mean, lower, upper) = (ours.mean?, ours.lower.or(ours.mean)?, ours.upper.or(ours.mean)?);
    let slack = half + half_unit(published, 2) + half_unit(half, 2);
    let agrees = lower - slack <= published && published <= upper + slack;
    let shown = format!("{what}{mean:.1e} ± {:.1e}", upper - mean);
    Some((format!("{what}{published:.1e} ± {half:.1e}"), shown, agrees))
}

/// Half a unit of the last of so many significant digits.
fn half_unit(x: f64, digits: i32) -> f64 {
    if x == 0.0 { 0.0 } else { 0.5 * 10f64.powf(x.abs().log10().floor() + f64::from(1 - digits)) }
}

/// Whether a published value lies in an interval.
pub(super) fn contains(e: Estimate, p: f64) -> bool {
    e.lower.is_some_and(|lower| lower <= p) && e.upper.is_some_and(|upper| p <= upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.0e4 ± 2.8e2 stands for anything from 9,500 to 10,500 with a half interval of up to 285: 785 on either side.
    #[test]
    fn means_agree_up_to_the_rounding_of_what_was_printed() {
        let agrees = |lower: f64, mean_of: f64, upper: f64| {
            let ours = Estimate { mean: Some(mean_of), lower: Some(lower), upper: Some(upper) };
            mean("step ", [1.0e4, 2.8e2], ours).unwrap()
        };
        assert_eq!(
            agrees(10_784.0, 10_900.0, 11_000.0),
            ("step 1.0e4 ± 2.8e2".into(), "step 1.1e4 ± 1.0e2".into(), true)
        );
        assert!(!agrees(10_786.0, 10_900.0, 11_000.0).2);
        assert!(agrees(9_000.0, 9_100.0, 9_216.0).2);
        assert!(!agrees(9_000.0, 9_100.0, 9_214.0).2);
        // Without an interval of our own, the mean itself is compared.
        let alone = |x: f64| mean("", [0.0, 0.0], Estimate { mean: Some(x), lower: None, upper: None }).unwrap().2;
        assert!(alone(0.0) && !alone(1e-9) && !alone(-1e-9));
    }
}

//! Published statements beside what we found.

use super::verdict::{self, FROM_THE_END, MARGIN, Verdict};
use super::{Metric, Over, Results, landscape, metric, noise_bound, show};
use crate::experiment::{Expectation, Group, Relation};
use crate::run::{Row, Spec};
use crate::stats::shown::{beside, p_value, signed, signed_beside, two};
use crate::stats::{Estimate, difference, holm, paired};
use crate::task::Measures;
use metric::Estimator;
use std::collections::BTreeSet;

/// A published statement beside what we found.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The statement.
    pub expectation: &'a Expectation,
    /// What was published, in words.
    pub published: String,
    /// What we found, in words.
    pub ours: String,
    /// How far the two are apart, with its interval; or the test of an order.
    pub difference: String,
    /// Runs behind it.
    pub n: usize,
    /// Their seeds, each with its random stream: whoever has the same ones is no other sample.
    pub sample: BTreeSet<(String, u64)>,
    /// What it amounts to.
    pub verdict: Verdict,
}

impl Comparison<'_> {
    /// Whether it differs without the experiment saying why.
    pub fn is_unexplained(&self) -> bool {
        self.verdict == Verdict::Differs && self.expectation.known.is_none()
    }
}

/// What we found, before several orders at once are accounted for.
#[derive(Default)]
pub(super) struct Found {
    pub(super) ours: String,
    pub(super) difference: String,
    pub(super) n: usize,
    pub(super) verdict: Option<Verdict>,
    /// For an order: how many seeds are for it and against it, and of how many.
    pub(super) order: Option<(usize, usize, usize)>,
}

/// Fewer folds than this say nothing about a published mean over folds.
const FOLDS: usize = 5;

impl<'a> Results<'a> {
    /// The published statements beside these rows, those without rows included.
    pub fn comparisons(&self) -> Vec<Comparison<'a>> {
        let expectations = &self.experiment.expectations;
        let mut found: Vec<Found> = expectations.iter().map(|e| self.find(e)).collect();
        self.judge_orders(&mut found);
        // A model or range that this preset leaves out is none that was not run.
        let special = |e: &Expectation| metric::OTHERS.contains(&e.metric.as_str());
        let there = |e: &Expectation| special(e) || e.model.is_some_and(|model| !self.spoken_of(e, model).is_empty());
        let beside = |(e, found): (&'a Expectation, Found)| Comparison {
            expectation: e,
            published: self.published(e),
            ours: if found.ours.is_empty() { "–".into() } else { found.ours },
            difference: found.difference,
            n: found.n,
            sample: self.sample(e),
            verdict: found.verdict.unwrap_or(Verdict::NotRun),
        };
        expectations.iter().zip(found).filter(|(e, _)| there(e)).map(beside).collect()
    }

    /// Whether `n` runs are smaller, shorter or fewer than what was published can be held against: those with images say so by their preset,
    /// and take several folds; the others by their steps, unless their file says why these are enough, while their number is in their intervals.
    pub(super) fn is_reduced(&self, e: &Expectation, n: usize) -> bool {
        let groups = e.model.map_or(Vec::new(), |model| self.spoken_of(e, model));
        let mut runs = groups.iter().flat_map(|group| &self.experiment.runs[group.runs.clone()]);
        match self.has_images(e) {
            true => self.experiment.preset != "paper" || n < FOLDS,
            false => e.enough.is_none() && runs.any(|run| run.whole("steps") < e.steps && run.whole("steps").is_some()),
        }
    }

    fn has_images(&self, e: &Expectation) -> bool {
        self.experiment.sections.get(e.section).is_some_and(|section| section.measures != Measures::Runs)
    }

    /// What a statement is judged by: the groups of its models, place by place. Places that differ in what the models do not have are one.
    fn judged(&self, e: &Expectation) -> Vec<Vec<&'a Group>> {
        let models = e.model.into_iter().chain(e.relation.other());
        let groups: Vec<Vec<&'a Group>> = models.map(|model| self.spoken_of(e, model)).collect();
        let mut seen: Vec<Vec<&[Spec]>> = Vec::new();
        let mut judged = Vec::new();
        for place in groups.first().into_iter().flatten().map(|group| &group.place) {
            let own = groups.iter().map(|groups| groups.iter().copied().find(|group| group.place == *place));
            let Some(own) = own.collect::<Option<Vec<_>>>() else { continue };
            let runs: Vec<&[Spec]> = own.iter().map(|group| &self.experiment.runs[group.runs.clone()]).collect();
            if !seen.contains(&runs) {
                seen.push(runs);
                judged.push(own);
            }
        }
        judged
    }

    /// The seeds that all models of a statement have, range by range.
    fn seeds(&self, e: &Expectation) -> Vec<BTreeSet<u64>> {
        let seeds = |group: &Group| self.of(group).iter().map(|row| row.spec.seed()).collect::<BTreeSet<u64>>();
        let common = |groups: Vec<&Group>| groups.into_iter().map(seeds).reduce(|a, b| &a & &b);
        self.judged(e).into_iter().filter_map(common).collect()
    }

    /// The random streams and seeds that a statement is judged by.
    fn sample(&self, e: &Expectation) -> BTreeSet<(String, u64)> {
        let rows = self.judged(e).into_iter().flatten().flat_map(|group| self.of(group));
        rows.map(|row| (row.spec.text("stream").to_string(), row.spec.seed())).collect()
    }

    /// What a statement about all ranges together lacks, in words: ranges without runs, or with fewer than others, would let the rest speak
    /// for them. Pairs are taken over seeds that all ranges have, so that they lack something only where there is no such seed.
    fn lacks(&self, e: &Expectation) -> Option<String> {
        let seeds = self.seeds(e);
        if e.relation.other().is_some() {
            let none = "no seed that all ranges and both models have";
            return (!seeds.is_empty() && intersection(&seeds).is_empty()).then(|| none.into());
        }
        // As many seeds need not be the same ones.
        let all = seeds.iter().cloned().reduce(|a, b| &a | &b)?;
        let full = seeds.iter().filter(|seeds| **seeds == all).count();
        (full < seeds.len()).then(|| format!("{full} of {} ranges have all {} seeds", seeds.len(), all.len()))
    }

    fn metric(&self, e: &Expectation) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == e.metric)
    }

    /// What was published, in words.
    fn published(&self, e: &Expectation) -> String {
        let (before, after) = self.metric(e).map_or(("", ""), |metric| metric.words);
        let value = |p: f64| match self.metric(e) {
            Some(metric) if self.has_images(e) => (metric.show)(p),
            _ => p.to_string(),
        };
        let name = |model: usize| &self.experiment.models[model];
        let label =
            self.metric(e).filter(|m| m.name != "success").map_or(String::new(), |m| format!(" in {}", m.label));
        let of = e.n.map_or(String::new(), |n| format!(" (n = {n})"));
        match (e.relation, e.length) {
            (Relation::Is(p), Some(length)) => format!("solves length {length} in {}{of}", super::metric::percent(p)),
            (Relation::Is(p), None) => format!("{before}{}{after}{of}", value(p)),
            (Relation::Mean([mean, half]), _) => format!("{before}{} ± {}{of}", two(mean), two(half)),
            (Relation::Below(p), _) => format!("below {before}{}{after}{of}", value(p)),
            (Relation::Above(than), _) if e.metric == "success_at_length" => {
                format!("above {} at several lengths", name(than))
            }
            (Relation::Above(than), _) => format!("above {}{label}", name(than)),
            (Relation::Equals(to), _) => format!("equal to {}{label}", name(to)),
        }
    }

    /// The groups of a model that a statement is about.
    fn spoken_of(&self, e: &Expectation, model: usize) -> Vec<&'a Group> {
        let place = (!e.pooled).then_some(e.place.as_str());
        self.groups(e.section, model, place).filter(|g| self.experiment.is_sampled(g)).collect()
    }

    fn find(&self, e: &Expectation) -> Found {
        let special = match e.metric.as_str() {
            "noise_bound" => noise_bound::bound(&e.place).map(|ours| exact(ours, e.relation, 3)),
            "minima" => minima(e),
            #[cfg(feature = "images")]
            "success_at_length" => super::sequences::find(self, e),
            #[cfg(not(feature = "images"))]
            "success_at_length" => None,
            _ => self.by_metric(e),
        };
        special.unwrap_or_default()
    }

    fn by_metric(&self, e: &Expectation) -> Option<Found> {
        let metric = self.metric(e)?;
        let own = self.judged(e).into_iter().filter_map(|groups| groups.first().copied());
        let rows: Vec<&Row> = own.flat_map(|group| self.of(group)).collect();
        if rows.is_empty() {
            return None;
        }
        if let Some(lacks) = self.lacks(e).filter(|_| e.pooled) {
            return Some(Found { ours: lacks, ..Found::default() });
        }
        match e.relation {
            Relation::Above(_) => self.order(metric, e),
            Relation::Equals(_) => self.equality(metric, e),
            relation => Some(self.value(metric, e, &rows, relation)),
        }
    }

    /// A number of one model against a published one.
    fn value(&self, metric: &Metric, e: &Expectation, rows: &[&Row], relation: Relation) -> Found {
        let estimate = metric.estimate(rows.iter().copied());
        let rate = (metric.estimator == Estimator::Rate).then(|| counted(metric, rows));
        // What was published of each range was published of all of them.
        let places = if e.pooled { self.judged(e).len() } else { 1 };
        // Runs that are left out of a mean are none that it is of.
        let counts = |row: &&&Row| metric.over == Over::All || row.is_solved();
        let n = match rate {
            Some((_, n)) => n,
            None => rows.iter().filter(counts).filter(|row| (metric.of)(row).is_some()).count(),
        };
        let published = e.n.map(|n| n * places);
        let (difference, verdict) = match (relation, rate) {
            (Relation::Is(p), Some(ours)) => verdict::rate(ours, p, published),
            // A mean over folds without a published interval is a number.
            (Relation::Is(p), None) => verdict::mean(estimate, [p, 0.0]),
            (Relation::Mean(published), _) => verdict::mean(estimate, published),
            (Relation::Below(p), Some(ours)) => (Estimate::NONE, verdict::rate_below(ours, p, published)),
            (Relation::Below(p), None) => (Estimate::NONE, verdict::below(estimate, p)),
            (Relation::Above(_) | Relation::Equals(_), _) => (Estimate::NONE, Verdict::NotRun),
        };
        let verdict = match self.is_reduced(e, rows.len()) {
            true => Verdict::NotComparable,
            _ if is_published_run(e, rows) && is_published_value(relation, estimate, rate) => Verdict::Identical,
            _ => verdict,
        };
        let shown = match (relation, rate) {
            (_, Some((k, n))) => rate_in_words(k, n) + metric.words.1,
            (Relation::Mean(_), None) if estimate.upper.is_some() => {
                let half = verdict::upper_half(estimate);
                let mean = estimate.mean.unwrap_or(f64::NAN);
                format!("{}{} ± {} (n = {n})", metric.words.0, two(mean), two(half))
            }
            _ => format!("{} (n = {n})", show(estimate, metric.show)),
        };
        let difference = match (verdict, verdict::half_width(difference), rate, relation) {
            (Verdict::Identical | Verdict::NotComparable, ..) | (_, None, ..) => String::new(),
            (_, Some(half), Some(ours), Relation::Is(p)) => {
                let shown = show(difference, |v| format!("{v:+.2}"));
                match verdict::from_the_end(ours, p) {
                    Some(open) => format!("{shown} (leaves {} open)", beside(open, FROM_THE_END)),
                    None => format!("{shown} (± {})", beside(half, MARGIN)),
                }
            }
            (_, Some(half), ..) => format!("{} (± {})", show(difference, signed), two(half)),
        };
        Found { ours: shown, difference, n, verdict: Some(verdict), order: None }
    }

    /// How many pairs of runs there are over the seeds that both models have; and the values of those that count, each with its seed.
    fn pairs(&self, metric: &Metric, e: &Expectation) -> (usize, Vec<(u64, f64, f64)>) {
        // All ranges together are those with the same seeds, or some would count more than others.
        let common = e.pooled.then(|| intersection(&self.seeds(e)));
        let (mut all, mut pairs) = (0, Vec::new());
        for groups in self.judged(e) {
            let [group, twin] = groups[..] else { continue };
            let twins = self.of(twin);
            let own = self.of(group).into_iter();
            for row in own.filter(|row| common.as_ref().is_none_or(|seeds| seeds.contains(&row.spec.seed()))) {
                let Some(twin) = twins.iter().copied().find(|twin| row.is_twin_of(twin)) else {
                    continue;
                };
                all += 1;
                let counts = metric.over == Over::All || (row.is_solved() && twin.is_solved());
                let values = (metric.of)(row).zip((metric.of)(twin)).filter(|_| counts);
                pairs.extend(values.map(|(own, other)| (row.spec.seed(), own, other)));
            }
        }
        (all, pairs)
    }

    /// The order of two models, judged once all orders of a kind are known.
    fn order(&self, metric: &Metric, e: &Expectation) -> Option<Found> {
        let (n, pairs) = self.pairs(metric, e);
        let signs = pairs.iter().map(|(seed, a, b)| (*seed, i64::from(a > b) - i64::from(a < b)));
        let seeds = paired::by_seed(signs);
        let (above, below) = seeds.ways();
        let order = Some((above, below, seeds.seeds()));
        (!pairs.is_empty()).then(|| Found { ours: self.both(metric, &pairs), n, order, ..Found::default() })
    }

    fn equality(&self, metric: &Metric, e: &Expectation) -> Option<Found> {
        let (n, pairs) = self.pairs(metric, e);
        let solved: Vec<difference::Pair<u64>> = pairs.iter().map(|(seed, a, b)| (*seed, *a > 0.0, *b > 0.0)).collect();
        let (difference, verdict) = verdict::equal(&solved);
        // The interval that decided, if there is any: one that excludes 0, or that of the two tests.
        let which = match (verdict, difference.upper) {
            (_, None) => String::new(),
            (Verdict::Differs, _) => " (the 95 % interval)".into(),
            _ => format!(" (the 90 % interval), equal within ± {MARGIN}?"),
        };
        let shown = show(difference, |v| signed_beside(v, MARGIN)) + &which;
        let seeds: BTreeSet<u64> = pairs.iter().map(|(seed, ..)| *seed).collect();
        let verdict = if self.is_reduced(e, seeds.len()) { Verdict::NotComparable } else { verdict };
        (!pairs.is_empty()).then(|| Found {
            ours: self.both(metric, &pairs),
            difference: shown,
            n,
            verdict: Some(verdict),
            order: None,
        })
    }

    /// Two models beside each other.
    fn both(&self, metric: &Metric, pairs: &[(u64, f64, f64)]) -> String {
        let side = |of: fn(&(u64, f64, f64)) -> f64| {
            let values: Vec<f64> = pairs.iter().map(of).collect();
            match metric.estimator {
                Estimator::Rate => format!("{}", values.iter().filter(|v| **v > 0.0).count()),
                _ => show(metric.of_values(&values), metric.show),
            }
        };
        let n = pairs.len();
        match metric.estimator {
            Estimator::Rate => format!("{} against {} of {n}", side(|p| p.1), side(|p| p.2)),
            _ => format!("{} against {} ({n} pair{})", side(|p| p.1), side(|p| p.2), if n == 1 { "" } else { "s" }),
        }
    }

    /// Exact tests of orders, adjusted for how many ranges the same order was looked at on.
    fn judge_orders(&self, found: &mut [Found]) {
        let expectations = &self.experiment.expectations;
        let family = |e: &Expectation| {
            (e.section, e.model, e.relation, e.metric.clone(), e.pooled, e.claim.clone(), e.source.clone())
        };
        let p = |(above, below, _): (usize, usize, usize)| paired::fair_coin(above, above + below);
        let adjusted: Vec<Option<(f64, f64)>> = (0..found.len())
            .map(|k| {
                let own = found[k].order?;
                let same: Vec<usize> = (0..found.len())
                    .filter(|&j| found[j].order.is_some() && family(&expectations[j]) == family(&expectations[k]))
                    .collect();
                let all: Vec<f64> = same.iter().filter_map(|&j| found[j].order.map(p)).collect();
                let place = same.iter().position(|&j| j == k)?;
                Some((p(own), holm::adjust(&all)[place]))
            })
            .collect();
        for ((found, adjusted), e) in found.iter_mut().zip(adjusted).zip(expectations) {
            let (Some((above, below, seeds)), Some((p, adjusted))) = (found.order, adjusted) else { continue };
            // Over several ranges a seed counts once.
            let (counted, test) = match self.metric(e).is_some_and(|m| m.estimator == Estimator::Rate) {
                _ if e.pooled => (if above == 1 { " seed" } else { " seeds" }, "sign test"),
                true => ("", "McNemar"),
                false => ("", "sign test"),
            };
            let holm = if adjusted != p { format!(", {} after Holm", p_value(adjusted)) } else { String::new() };
            found.difference = format!("{above}{counted} for, {below} against; {test} p = {}{holm}", p_value(p));
            found.verdict = Some(match self.is_reduced(e, seeds) {
                true => verdict::reduced(above, below, seeds),
                false => verdict::order(above, below, adjusted),
            });
        }
    }
}

/// What is in all of some sets.
fn intersection(sets: &[BTreeSet<u64>]) -> BTreeSet<u64> {
    sets.iter().cloned().reduce(|a, b| &a & &b).unwrap_or_default()
}

/// A rate as pages and texts say it.
pub fn rate_in_words(k: usize, n: usize) -> String {
    let e = crate::stats::wilson::interval(k, n);
    let interval = e.lower.zip(e.upper).map(|(low, high)| format!(" [{low:.2}, {high:.2}]"));
    format!("{k} of {n}{}", interval.unwrap_or_default())
}

/// How many of these a rate holds of, and how many there are.
fn counted(metric: &Metric, rows: &[&Row]) -> (usize, usize) {
    (rows.iter().filter(|row| (metric.of)(row).is_some_and(|v| v > 0.0)).count(), rows.len())
}

/// Whether rows are of the published streams, length and seeds, which are the first ones, and as many as were published.
fn is_published_run(e: &Expectation, rows: &[&Row]) -> bool {
    // Shorter runs are the published ones if their file says why that changes nothing.
    let is_long = |row: &Row| match e.enough {
        Some(_) => row.spec.whole("steps") <= e.steps,
        None => row.spec.whole("steps") == e.steps,
    };
    let same = |row: &&Row| row.spec.text("stream") == "reference" && is_long(row);
    let mut seeds: Vec<u64> = rows.iter().map(|row| row.spec.seed()).collect();
    seeds.sort_unstable();
    e.steps.is_some() && e.n == Some(rows.len()) && rows.iter().all(same) && seeds.into_iter().eq(0..rows.len() as u64)
}

/// Whether ours is the published value: a rate to the run, of as many runs as were published; a mean to all printed digits.
fn is_published_value(relation: Relation, ours: Estimate, rate: Option<(usize, usize)>) -> bool {
    match (relation, rate) {
        // Digits alone would not do: printed without any, 3 of 25 are a 0, and 17 of 20 with one digit are 0.8 to a computer. The count
        // alone would not, either: 2 of 4 are no 0.51.
        (Relation::Is(p), Some((k, n))) => {
            let digits = p.to_string().split_once('.').map_or(0, |(_, digits)| digits.len());
            k == (p * n as f64).round() as usize
                && format!("{:.digits$}", k as f64 / n as f64) == format!("{p:.digits$}")
        }
        (Relation::Mean([mean, half]), _) => {
            let own = verdict::upper_half(ours);
            ours.mean.is_some_and(|ours| format!("{ours:.1e}") == format!("{mean:.1e}"))
                && format!("{own:.1e}") == format!("{half:.1e}")
        }
        _ => false,
    }
}

/// A number that is computed and not sampled, to so many printed digits.
fn exact(ours: f64, relation: Relation, digits: i32) -> Found {
    let agrees = match relation {
        Relation::Is(published) => (ours - published).abs() <= verdict::half_unit(published, digits),
        Relation::Below(bound) => ours < bound,
        _ => return Found::default(),
    };
    let shown = if ours.fract() == 0.0 { format!("{ours}") } else { format!("{ours:.4}") };
    let verdict = Some(if agrees { Verdict::Consistent } else { Verdict::Differs });
    Found { ours: shown, n: 1, verdict, ..Found::default() }
}

/// The minima of the loss of the NMU and of the sNMU, which experiments have in this order.
fn minima(e: &Expectation) -> Option<Found> {
    let Relation::Above(other) = e.relation else { return None };
    let [own, other] = [e.model?, other].map(|model| landscape::minima(model > 0));
    let verdict = Some(if own > other { Verdict::Consistent } else { Verdict::Differs });
    Some(Found { ours: format!("{own} against {other}"), n: 1, verdict, ..Found::default() })
}

//! Every number that a text may quote, by name.

use crate::experiment::{Experiment, Group};
use crate::run::Row;
use crate::stats::difference::{self, Pair};
use crate::stats::shown::{p_value, two};
use crate::stats::{holm, paired};
use crate::summary::{Cell, Metric, Results, rate_in_words, show};
use crate::task::Measures;
use std::collections::{BTreeMap, BTreeSet};

/// Numbers of cells by metric, model, place and section, and of pairs by model, baseline, place and section; without the section, and
/// without an empty place, where that is enough. `all ranges` takes the place of a range where ranges are taken together.
pub fn of(results: &Results<'_>) -> BTreeMap<String, String> {
    let mut numbers = Numbers { experiment: results.experiment, all: BTreeMap::new() };
    for cell in &results.cells {
        numbers.cell(results, cell);
    }
    for (section, _) in results.experiment.sections.iter().enumerate() {
        for model in 0..results.experiment.models.len() {
            numbers.pooled(results, section, model);
            let others = results.experiment.baselines.iter().filter(|&&baseline| baseline != model);
            others.for_each(|&baseline| numbers.pairs(results, section, model, baseline));
        }
    }
    numbers.borders(results);
    #[cfg(feature = "images")]
    numbers.lengths(results);
    numbers.put("rows", &[], 0, results.found().to_string());
    let versions: Vec<String> = results.rows_by_numerics().keys().map(u64::to_string).collect();
    numbers.put("versions", &[], 0, versions.join(" and "));
    numbers.all.into_iter().filter_map(|(name, number)| Some((name, number?))).collect()
}

struct Numbers<'a> {
    experiment: &'a Experiment,
    /// Nothing where a name is that of several.
    all: BTreeMap<String, Option<String>>,
}

const ALL: &str = "all ranges";

impl Numbers<'_> {
    fn put(&mut self, name: &str, of: &[&str], section: usize, number: String) {
        let of: Vec<&str> = of.iter().copied().filter(|part| !part.is_empty()).collect();
        let own = [&[name], of.as_slice()].concat().join("; ");
        let section = self.experiment.sections.get(section).map_or("", |section| section.name.as_str());
        if !section.is_empty() {
            self.all.insert(format!("{own}; {section}"), Some(number.clone()));
        }
        self.all.entry(own).and_modify(|known| *known = None).or_insert(Some(number));
    }

    fn cell(&mut self, results: &Results<'_>, cell: &Cell) {
        let of = [cell.label.as_str(), cell.place.as_str()];
        for metric in results.metrics {
            let estimate = cell.get(metric.name);
            if let Some(mean) = estimate.mean {
                self.put(metric.name, &of, cell.section, (metric.show)(mean));
            }
        }
        self.put("n", &of, cell.section, cell.n.to_string());
        self.put("solved", &of, cell.section, format!("{} of {}", cell.solved, cell.n));
        self.put("rate", &of, cell.section, rate_in_words(cell.solved, cell.n));
        let Some(group) = results.group(cell.section, cell.model, &cell.place) else { return };
        let rows = results.of(group);
        for name in ["test_error", "noise_end"] {
            let Some(metric) = results.metrics.iter().find(|metric| metric.name == name) else { continue };
            if let Some(median) = median(rows.iter().filter_map(|row| (metric.of)(row)).collect()) {
                self.put(&format!("median_{name}"), &of, cell.section, two(median));
            }
        }
    }

    /// Grids of starting weights: the share that succeeds, the border on the diagonal, and where that must lie if noise n makes a weight w act
    /// as n w / (1 + (n - 1) w).
    fn borders(&mut self, results: &Results<'_>) {
        let gridded = |g: &&Group| !self.experiment.is_sampled(g) && !results.of(g).is_empty();
        let groups: Vec<&Group> = self.experiment.groups.iter().filter(gridded).collect();
        let plain = groups.iter().find(|g| results.of(g).iter().all(|row| row.spec.module() == "nmu"));
        let middle = plain.and_then(|g| border(&results.of(g))).map(|(last, first)| 0.5 * (last + first));
        let mut predictions: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for group in groups {
            let rows = results.of(group);
            let label = self.experiment.models[group.model].clone();
            let solved = rows.iter().filter(|row| row.is_solved()).count();
            let share = 100.0 * solved as f64 / rows.len() as f64;
            self.put("starts", &[&label], group.section, format!("{share:.1} %"));
            let Some((last, first)) = border(&rows) else { continue };
            self.put("border", &[&label], group.section, format!("{last:.3}, {first:.3}"));
            self.put("middle_of_border", &[&label], group.section, format!("{:.3}", 0.5 * (last + first)));
            let predicted = noise_mean(rows[0]).zip(middle).map(|(n, w)| w / (n - (n - 1.0) * w));
            if let Some(w) = predicted {
                let (within, all) = predictions.entry(group.section).or_default();
                (*within, *all) = (*within + usize::from(last <= w && w <= first), *all + 1);
            }
            self.put("predicted_border", &[&label], group.section, predicted.map_or("–".into(), |w| format!("{w:.3}")));
        }
        for (section, (within, all)) in predictions {
            self.put("predictions_within", &[], section, format!("{within} of {all}"));
        }
    }

    /// Lengths of sequences that runs solve, and which they do not.
    #[cfg(feature = "images")]
    fn lengths(&mut self, results: &Results<'_>) {
        use crate::summary::histories::models;
        use crate::summary::sequences::{by_length, thresholds};
        for (section, _) in
            self.experiment.sections.iter().enumerate().filter(|(_, s)| s.measures == Measures::Sequences)
        {
            let models = models(results, section);
            let limits = models.iter().find(|model| model.is_reference()).map(thresholds).unwrap_or_default();
            let (mut all, mut done) = (0, 0);
            for model in models.iter().filter(|model| !model.is_reference()) {
                let judged = by_length(model, &limits);
                let (solved, n) = judged.iter().fold((0, 0), |(solved, n), cell| (solved + cell.solved, n + cell.n));
                let missed = judged.iter().enumerate().filter(|(_, cell)| cell.solved < cell.n);
                let missed = missed.map(|(k, cell)| format!("{} ({} of {})", k + 1, cell.n - cell.solved, cell.n));
                let missed: Vec<String> = missed.collect();
                if n == 0 {
                    self.put("solved_lengths", &[&model.label], section, "not judged".into());
                    self.put("missed_lengths", &[&model.label], section, "not judged".into());
                    continue;
                }
                self.put("solved_lengths", &[&model.label], section, format!("{solved} of {n}"));
                let none = missed.is_empty();
                self.put(
                    "missed_lengths",
                    &[&model.label],
                    section,
                    if none { "none".into() } else { missed.join(", ") },
                );
                (all, done) = (all + n, done + solved);
            }
            self.put("solved_lengths", &["all models"], section, format!("{done} of {all}"));
            let used: Vec<String> = limits.values().map(|limits| limits.used.len().to_string()).collect();
            let or_none = |text: String| if text.is_empty() { "none".to_string() } else { text };
            self.put("reference_runs", &[], section, or_none(used.join(" and ")));
            let versions: Vec<String> = limits.keys().map(u64::to_string).collect();
            self.put("judged_versions", &[], section, or_none(versions.join(" and ")));
        }
    }

    /// All ranges together.
    fn pooled(&mut self, results: &Results<'_>, section: usize, model: usize) {
        let standing = |cell: &&Cell| {
            let group = results.group(section, model, &cell.place);
            group.is_some_and(|group| self.experiment.standing(group).is_some())
        };
        let own = results.cells.iter().filter(|cell| cell.section == section && cell.model == model).filter(standing);
        let (solved, n) = own.fold((0, 0), |(solved, n), cell| (solved + cell.solved, n + cell.n));
        if n > 0 && self.experiment.sections[section].measures == Measures::Runs {
            let label = self.experiment.models[model].clone();
            self.put("solved", &[&label, ALL], section, format!("{solved} of {n}"));
            self.put("rate", &[&label, ALL], section, rate_in_words(solved, n));
        }
    }

    /// A model against a baseline over common seeds: seeds that it gains and loses, and McNemar's test; pairs in which it has the lower test
    /// or sparsity error or is solved sooner. Over all ranges together a seed counts once.
    fn pairs(&mut self, results: &Results<'_>, section: usize, model: usize, baseline: usize) {
        let (label, base) = (self.experiment.models[model].clone(), self.experiment.models[baseline].clone());
        let own = self.experiment.groups.iter().filter(|g| g.section == section && g.model == model);
        let sampled: Vec<_> = own.filter(|group| self.experiment.is_sampled(group)).collect();
        let (mut tables, mut every, mut signs) = (Vec::new(), Vec::new(), Vec::new());
        for group in sampled {
            let Some(other) = results.group(section, baseline, &group.place) else { continue };
            let pairs: Vec<(&Row, &Row)> = results.twins(group, other).collect();
            if pairs.is_empty() {
                continue;
            }
            signs.push(self.orders(results, &pairs, &[&label, &base, &group.place], section));
            tables.push((group.place.clone(), solved(&pairs)));
            every.extend(pairs);
        }
        if every.is_empty() {
            return;
        }
        // All ranges together are the seeds that all of them have.
        let seeds =
            |(_, solved): &(String, Vec<Pair<u64>>)| solved.iter().map(|pair| pair.0).collect::<BTreeSet<u64>>();
        let common = tables.iter().map(seeds).reduce(|a, b| &a & &b).unwrap_or_default();
        every.retain(|(own, _)| common.contains(&own.spec.seed()));
        self.orders(results, &every, &[&label, &base, ALL], section);
        // One test a metric at every place, in the same order.
        for (k, name) in ORDERS.iter().enumerate() {
            let own: Vec<f64> = signs.iter().filter_map(|found| found[k]).collect();
            let places = tables.iter().zip(&signs).filter(|(_, found)| found[k].is_some()).map(|((place, _), _)| place);
            for (place, p) in places.zip(holm::adjust(&own)) {
                self.put(&format!("holm_sign_p_{name}"), &[&label, &base, place], section, p_value(p));
            }
        }
        let p = |solved: &[Pair<u64>]| {
            let (gained, lost) = success(solved);
            paired::fair_coin(gained, gained + lost)
        };
        let adjusted = holm::adjust(&tables.iter().map(|(_, solved)| p(solved)).collect::<Vec<_>>());
        tables.push((ALL.into(), solved(&every)));
        for (k, (place, solved)) in tables.iter().enumerate() {
            let (of, (gained, lost)) = ([label.as_str(), &base, place], success(solved));
            self.put("gained", &of, section, gained.to_string());
            self.put("lost", &of, section, lost.to_string());
            self.put("difference", &of, section, show(difference::interval(solved), |v| format!("{v:+.2}")));
            self.put("mcnemar_p", &of, section, p_value(p(solved)));
            if let Some(adjusted) = adjusted.get(k) {
                self.put("holm_p", &of, section, p_value(*adjusted));
            }
        }
    }

    /// For how many seeds it is lower, of how many that both solve; and the p-values of the sign tests.
    fn orders(
        &mut self,
        results: &Results<'_>,
        pairs: &[(&Row, &Row)],
        of: &[&str],
        section: usize,
    ) -> [Option<f64>; ORDERS.len()] {
        let both: Vec<&(&Row, &Row)> = pairs.iter().filter(|(a, b)| a.is_solved() && b.is_solved()).collect();
        ORDERS.map(|name| {
            let metric = results.metrics.iter().find(|metric: &&Metric| metric.name == name)?;
            let signs = both.iter().filter_map(|(a, b)| {
                let (own, other) = (metric.of)(a).zip((metric.of)(b))?;
                Some((a.spec.seed(), i64::from(own < other) - i64::from(own > other)))
            });
            let seeds = paired::by_seed(signs);
            let (lower, higher) = seeds.ways();
            self.put(&format!("lower_{name}"), of, section, lower.to_string());
            self.put(&format!("higher_{name}"), of, section, higher.to_string());
            self.put(&format!("pairs_{name}"), of, section, seeds.seeds().to_string());
            let p = paired::fair_coin(lower, lower + higher);
            self.put(&format!("sign_p_{name}"), of, section, p_value(p));
            // Without a seed that both solve there is no test.
            (seeds.seeds() > 0).then_some(p)
        })
    }
}

/// The last start on the diagonal that fails, and the first that succeeds.
fn border(rows: &[&Row]) -> Option<(f64, f64)> {
    let start = |row: &Row| match row.spec.numbers("weights")?.as_slice() {
        [a, b] if a == b => Some((*a, row.is_solved())),
        _ => None,
    };
    let starts: Vec<(f64, bool)> = rows.iter().filter_map(|row| start(row)).collect();
    let last = starts.iter().filter(|(_, solved)| !solved).map(|(w, _)| *w).reduce(f64::max)?;
    let first = starts.iter().filter(|(_, solved)| *solved).map(|(w, _)| *w).reduce(f64::min)?;
    Some((last, first))
}

/// The mean of uniform noise, which is U[1,5] where an sNMU says nothing else; nothing without noise.
fn noise_mean(row: &Row) -> Option<f64> {
    let own = row.spec.get("options").and_then(|options| options.get("noise")?.as_str());
    let text = own.or((row.spec.module() == "snmu").then_some("U[1,5]"))?;
    let (low, high) = text.strip_prefix("U[")?.strip_suffix(']')?.split_once(',')?;
    Some(0.5 * (low.parse::<f64>().ok()? + high.parse::<f64>().ok()?))
}

/// By what two models are put in order, besides success.
const ORDERS: [&str; 3] = ["solved_at", "sparsity_error", "test_error"];

fn solved(pairs: &[(&Row, &Row)]) -> Vec<Pair<u64>> {
    pairs.iter().map(|(a, b)| (a.spec.seed(), a.is_solved(), b.is_solved())).collect()
}

/// How many seeds the first gains, and how many it loses.
fn success(solved: &[Pair<u64>]) -> (usize, usize) {
    paired::by_seed(solved.iter().map(|(seed, a, b)| (seed, i64::from(*a) - i64::from(*b)))).ways()
}

/// The one in the middle, or the mean of the two that are.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(if low == high { *low } else { 0.5 * (low + high) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        let found = [&[3.0, 1.0, 2.0][..], &[4.0, 1.0, 3.0, 2.0], &[7.0], &[], &[f64::INFINITY; 2]];
        assert_eq!(found.map(|x| median(x.to_vec())), [Some(2.0), Some(2.5), Some(7.0), None, Some(f64::INFINITY)]);
    }
}

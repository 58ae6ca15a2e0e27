//! Published statements: a metric, how it relates to a value or to another model, and where that was said.

use super::Experiment;
use super::check::Checker;
use super::written::{Expect, Value};
use crate::error::{Context, Result, bail, ensure};
use crate::task::choose::one_of;

/// A published statement about one model at one place.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Its section.
    pub section: usize,
    /// Its model, where the statement is about one.
    pub model: Option<usize>,
    /// The label of the range, or of what is varied instead.
    pub place: String,
    /// The metric's name.
    pub metric: String,
    /// The length of the sequence, where the metric goes by length.
    pub length: Option<usize>,
    /// What was said about it.
    pub relation: Relation,
    /// Where.
    pub source: String,
}

/// How a metric relates to what was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    /// It is this.
    Is(f64),
    /// It is a mean with this half-width.
    Mean([f64; 2]),
    /// It is below this.
    Below(f64),
    /// It is above that model's.
    Above(usize),
    /// It is that model's.
    Equals(usize),
}

pub(super) fn check(checker: &Checker<'_>, experiment: &Experiment) -> Result<Vec<Expectation>> {
    let sections: Vec<&str> = experiment.sections.iter().map(|section| section.name.as_str()).collect();
    let places = super::places::all(checker)?;
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    let mut all = Vec::new();
    for expect in &checker.written.expect {
        if let Some(preset) = &expect.preset {
            checker.known_preset(preset)?;
        }
        let model = expect.model.as_ref().map(|name| checker.model(name)).transpose()?;
        let place = expect.model.as_ref().or(expect.range.as_ref()).map_or(checker.file.clone(), |s| checker.at(s));
        let metric = expect.metric.as_ref().map_or("success", |metric| metric.get_ref());
        let named = || expect.metric.as_ref().map_or(place.clone(), |metric| checker.at(metric));
        one_of("metric", metric, &checker.names.metrics).at(named)?;
        let relations = relations(checker, expect, metric).at(|| place.clone())?;
        ensure!(model.is_some() || metric == "noise_bound", "{place}: this expectation needs a model");
        // A place that this preset does not have may be one of another preset.
        if let Some(range) = &expect.range {
            one_of("range", range.get_ref(), &places).at(|| checker.at(range))?;
        }
        // A statement about a preset is none about runs with other settings.
        let other = expect.preset.as_ref().is_some_and(|preset| *preset != experiment.preset);
        if other || checker.is_changed() {
            continue;
        }
        let named =
            expect.section.as_ref().map(|name| one_of("section", name.get_ref(), &sections).at(|| checker.at(name)));
        let named = named.transpose()?;
        let group = |label: &str| experiment.groups.iter().find(|g| Some(g.model) == model && g.place == label);
        let mut labels: Vec<String> = expect.range.iter().map(|range| range.get_ref().clone()).collect();
        if labels.is_empty() && model.is_none() {
            labels = super::places::paper_ranges();
        } else if labels.is_empty() {
            // Wherever the model is run.
            let mine = experiment.groups.iter().filter(|g| Some(g.model) == model);
            for group in mine.filter(|g| named.is_none_or(|section| g.section == section)) {
                if !labels.contains(&group.place) {
                    labels.push(group.place.clone());
                }
            }
        }
        for label in labels {
            let section = named.or_else(|| Some(group(&label)?.section)).unwrap_or(0);
            for &(length, relation) in &relations {
                let (metric, source, place) = (metric.to_string(), expect.source.clone(), label.clone());
                all.push(Expectation { section, model, place, metric, length, relation, source });
            }
        }
    }
    Ok(all)
}

/// What is said of a metric, by length where it goes by length.
fn relations(checker: &Checker<'_>, expect: &Expect, metric: &str) -> Result<Vec<(Option<usize>, Relation)>> {
    let model = |name| checker.model(name);
    let given = [
        expect.is.map(|value| match value {
            Value::Plain(value) => Relation::Is(value),
            Value::Mean(mean) => Relation::Mean(mean),
        }),
        expect.below.map(Relation::Below),
        expect.above.as_ref().map(model).transpose()?.map(Relation::Above),
        expect.equals.as_ref().map(model).transpose()?.map(Relation::Equals),
    ];
    let mut given = given.into_iter().flatten();
    let by_length = metric == "success_at_length";
    let all: Vec<(Option<usize>, Relation)> = match (given.next(), given.next(), &expect.values) {
        (Some(relation), None, None) => vec![(None, relation)],
        (None, None, Some(values)) if by_length => {
            (1..).map(Some).zip(values.iter().copied().map(Relation::Is)).collect()
        }
        (None, None, Some(_)) => bail!("{metric} has no lengths; give is, below, above or equals instead of values"),
        _ => bail!("an expectation has exactly one of is, below, above, equals and values"),
    };
    let is_rate = by_length || checker.names.rates.contains(&metric);
    for (_, relation) in all.iter().filter(|_| is_rate) {
        if let Relation::Is(rate) | Relation::Below(rate) = relation {
            ensure!((0.0..=1.0).contains(rate), "a rate of {rate} was never published; give one between 0 and 1");
        }
    }
    Ok(all)
}

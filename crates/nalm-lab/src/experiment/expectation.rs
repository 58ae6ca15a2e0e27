//! Published statements: a metric, how it relates to a value or to another model, and where that was said.

use super::check::{Checker, Planned};
use super::written::{Expect, Value};
use super::{Experiment, Group, statements};
use crate::error::{Context, Result, bail, ensure};
use crate::run::Spec;
use crate::task::choose::one_of;
use toml::Spanned;

/// A published statement about one model at one place.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Its section.
    pub section: usize,
    /// Its model, where the statement is about one.
    pub model: Option<usize>,
    /// The label of the range, or of what is varied instead; empty where all are taken together.
    pub place: String,
    /// The same for show: without what no model of the statement has.
    pub at: String,
    /// Whether it is about all ranges together.
    pub pooled: bool,
    /// The metric's name.
    pub metric: String,
    /// The length of the sequence, where the metric goes by length.
    pub length: Option<usize>,
    /// What was said about it.
    pub relation: Relation,
    /// How many runs that was of, if it is known.
    pub n: Option<usize>,
    /// How long they were, if it is known.
    pub steps: Option<u64>,
    /// Why runs that are shorter than these decide it all the same, where they do.
    pub enough: Option<String>,
    /// The statement of the paper that this is a part of.
    pub claim: Option<String>,
    /// Why ours differs, where it is known to.
    pub known: Option<String>,
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

impl Relation {
    /// The other model, where it is about two.
    pub fn other(self) -> Option<usize> {
        match self {
            Self::Above(other) | Self::Equals(other) => Some(other),
            _ => None,
        }
    }
}

pub(super) fn check(checker: &Checker<'_>, experiment: &Experiment) -> Result<Vec<Expectation>> {
    let mut all = Vec::new();
    if checker.written.expect.is_empty() {
        return Ok(all);
    }
    let planned = checker.planned()?;
    for expect in &checker.written.expect {
        let models: Vec<&Spanned<String>> = expect.model.iter().chain(&expect.models).collect();
        if models.is_empty() {
            one(checker, experiment, &planned, expect, None, &mut all)?;
        }
        for model in models {
            one(checker, experiment, &planned, expect, Some(model), &mut all)?;
        }
    }
    Ok(all)
}

/// A statement about one model, or about none.
fn one(
    checker: &Checker<'_>,
    experiment: &Experiment,
    planned: &[Planned],
    expect: &Expect,
    name: Option<&Spanned<String>>,
    all: &mut Vec<Expectation>,
) -> Result<()> {
    let sections: Vec<&str> = experiment.sections.iter().map(|section| section.name.as_str()).collect();
    if let Some(preset) = &expect.preset {
        checker.known_preset(preset)?;
    }
    let model = name.map(|name| checker.model(name)).transpose()?;
    let ranges: Vec<&Spanned<String>> = expect.range.iter().chain(&expect.ranges).collect();
    let place = name.or(ranges.first().copied()).map_or(checker.file.clone(), |s| checker.at(s));
    let metric = expect.metric.as_ref().map_or("success", |metric| metric.get_ref());
    let named = || expect.metric.as_ref().map_or(place.clone(), |metric| checker.at(metric));
    one_of("metric", metric, &checker.names.metrics).at(named)?;
    let relations = relations(checker, expect, metric).at(|| place.clone())?;
    let itself = relations.iter().any(|(_, relation)| relation.other().is_some() && relation.other() == model);
    ensure!(!itself, "{place}: this expectation compares a model with itself; name two");
    ensure!(model.is_some() || metric == "noise_bound", "{place}: this expectation needs a model");
    if let Some(claim) = &expect.claim {
        let keys: Vec<&str> = statements::all().iter().map(|statement| statement.key.as_str()).collect();
        one_of("statement", claim.get_ref(), &keys).at(|| checker.at(claim))?;
    }
    ensure!(!expect.pooled || ranges.is_empty(), "{place}: pooled is over all ranges; leave out range");
    ensure!(expect.n != Some(0), "{place}: n = 0 published runs say nothing");
    // A statement about the runs of the file is none about runs with other settings, nor does it find its ranges among them.
    if checker.is_changed() {
        return Ok(());
    }
    // What this preset does not have may be there at another one; what none has was mistyped.
    let asked = |p: &&Planned| {
        let section = expect.section.as_ref().is_none_or(|section| *section.get_ref() == p.section);
        model.is_none_or(|model| p.models.contains(&model))
            && section
            && expect.preset.as_ref().is_none_or(|preset| *preset == p.preset)
    };
    if let Some(section) = &expect.section {
        let sections: Vec<&str> = planned.iter().map(|p| p.section.as_str()).collect();
        one_of("section", section.get_ref(), &sections).at(|| checker.at(section))?;
    }
    let labels = planned.iter().filter(asked).flat_map(|p| &p.labels);
    let mut every: Vec<&str> = Vec::new();
    for (_, label) in labels.filter(|(own, _)| model.is_none_or(|model| *own == model)) {
        if !every.contains(&label.as_str()) {
            every.push(label);
        }
    }
    ensure!(
        model.is_none() || !every.is_empty(),
        "{place}: the file never runs this model there, so the expectation is about nothing"
    );
    for range in ranges.iter().filter(|_| model.is_some()) {
        // Where something else is varied, each range is a section.
        let of_range = format!("on {}", range.get_ref());
        let section = planned.iter().map(|p| &p.section).find(|section| section.ends_with(&of_range));
        if let Some(section) = section.filter(|_| !every.contains(&range.get_ref().as_str())) {
            let place = checker.at(range);
            bail!(
                "{place}: {} is a section here, because a sweep goes over it; write section = \"{section}\"",
                range.get_ref()
            );
        }
        one_of("range", range.get_ref(), &every).at(|| checker.at(range))?;
    }
    if expect.preset.as_ref().is_some_and(|preset| *preset != experiment.preset) {
        return Ok(());
    }
    let named = expect.section.as_ref().map(|name| sections.iter().position(|known| known == name.get_ref()));
    // Its section may be there at another preset only.
    if named == Some(None) {
        return Ok(());
    }
    let named = named.flatten();
    let mine = || experiment.groups.iter().filter(|g| Some(g.model) == model);
    let within = |g: &&Group| named.is_none_or(|section| g.section == section);
    // By its label as planned, or as tables show it.
    let called = |g: &Group, label: &str| g.place == label || experiment.standing(g).is_some_and(|at| at == label);
    let group = |section: Option<usize>, label: &str| {
        let here = |g: &&Group| section.is_none_or(|section| g.section == section);
        mine().filter(here).find(|g| expect.pooled || called(g, label))
    };
    let mut labels: Vec<(Option<usize>, String)> =
        ranges.iter().map(|range| (named, range.get_ref().clone())).collect();
    if labels.is_empty() && model.is_none() {
        labels = super::places::paper_ranges().into_iter().map(|range| (named, range)).collect();
    } else if labels.is_empty() {
        // Wherever the model is run, section by section: several may call their places alike.
        for group in mine().filter(within) {
            let label = if expect.pooled { String::new() } else { group.place.clone() };
            let there = (Some(group.section), label);
            if !labels.contains(&there) {
                labels.push(there);
            }
        }
    }
    // A reason for one range would excuse whatever may differ on another.
    ensure!(
        expect.known.is_none() || expect.pooled || !ranges.is_empty() || labels.len() < 2,
        "{place}: known says why ours differs, so give the ranges on which it does as ranges"
    );
    let mut seen: Vec<(usize, Vec<&[Spec]>)> = Vec::new();
    for (section, label) in labels {
        let own = group(section, &label);
        let section = section.or_else(|| Some(own?.section)).unwrap_or(0);
        let place = own.filter(|_| !expect.pooled).map_or(&label, |group| &group.place);
        for (k, &(length, relation)) in relations.iter().enumerate() {
            let other = relation.other();
            let twin = experiment.groups.iter().find(|g| {
                Some(g.model) == other && own.is_some_and(|own| g.section == own.section && g.place == own.place)
            });
            // Places that differ in what the models do not have are one, which is judged once.
            let runs: Vec<&[Spec]> = own.into_iter().chain(twin).map(|g| &experiment.runs[g.runs.clone()]).collect();
            let once = (k, runs);
            if !expect.pooled && own.is_some() && seen.contains(&once) {
                continue;
            }
            seen.push(once);
            let at = match (own.filter(|_| !expect.pooled), twin) {
                (Some(own), Some(twin)) => experiment.shared([own, twin]),
                (Some(own), None) => experiment.shared([own]),
                _ => label.clone(),
            };
            all.push(Expectation {
                section,
                model,
                place: place.clone(),
                at,
                pooled: expect.pooled,
                metric: metric.to_string(),
                length,
                relation,
                n: expect.n.or(checker.written.published.n),
                steps: expect.steps.or(checker.written.published.steps),
                enough: checker.written.published.enough.clone(),
                claim: expect.claim.as_ref().map(|claim| claim.get_ref().clone()),
                known: expect.known.clone(),
                source: expect.source.clone(),
            });
        }
    }
    Ok(())
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

//! Published statements, and how each is held against our runs.

use super::Experiment;
use super::checker::{Checker, paper_ranges};
use super::written::{Expect, Written};
use anyhow::{Context, Result, bail};

/// A published statement about one model on one range.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    /// Places in the experiment, where the statement is about a model.
    pub(crate) section: usize,
    pub(crate) model: Option<usize>,
    pub(crate) range: String,
    pub(crate) claim: Claim,
    pub(crate) source: String,
}

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Claim {
    /// This success rate.
    Success(f64),
    /// A success rate below this.
    Below(f64),
    /// A success rate above that model's.
    Beats(usize),
    /// The same success rate as that model's.
    Ties(usize),
    /// This share of runs with a validation error below the flat threshold.
    ValidationSuccess(f64),
    /// Mean and half-width of the validation error at the best step.
    ValidationError([f64; 2]),
    /// Mean and half-width of the test error at the best step.
    TestError([f64; 2]),
    /// Mean and half-width of the best step of solved runs.
    BestStep([f64; 2]),
    /// The upper end of the batch noise.
    NoiseBound(f64),
}

pub(super) fn check(checker: &Checker<'_>, written: &Written, experiment: &Experiment) -> Result<Vec<Expectation>> {
    let mut all = Vec::new();
    for expect in &written.expect {
        if let Some(preset) = &expect.preset
            && !written.preset.contains_key(preset)
        {
            let known: Vec<&str> = written.preset.keys().map(String::as_str).collect();
            return Err(nalm::Error::unknown("preset", preset, &known)).with_context(|| checker.file.clone());
        }
        let model = match &expect.model {
            Some(name) => Some(checker.model(&written.model, name)?),
            None => None,
        };
        let place = expect.model.as_ref().or(expect.range.as_ref()).map_or(checker.file.clone(), |s| checker.at(s));
        let claim = claim(checker, written, expect).with_context(|| place.clone())?;
        if model.is_none() && !matches!(claim, Claim::NoiseBound(_)) {
            bail!("{place}: this expectation needs a model");
        }
        if let Some(range) = &expect.range {
            range.get_ref().parse::<nalm::Distribution>().with_context(|| checker.at(range))?;
        }
        let ranges = expect.range.as_ref().map_or_else(paper_ranges, |range| vec![range.get_ref().clone()]);
        if expect.preset.as_ref().is_some_and(|preset| *preset != experiment.preset) {
            continue;
        }
        for range in ranges {
            let section = match &expect.section {
                None => {
                    let group = experiment.groups.iter().find(|g| Some(g.model) == model && g.range == range);
                    group.map_or(0, |group| group.section)
                }
                Some(name) => {
                    let names: Vec<&str> = experiment.sections.iter().map(|s| s.name.as_str()).collect();
                    let unknown = || nalm::Error::unknown("section", name.get_ref(), &names);
                    let found = names.iter().position(|known| known == name.get_ref());
                    found.ok_or_else(unknown).with_context(|| checker.at(name))?
                }
            };
            all.push(Expectation { section, model, range, claim, source: expect.source.clone() });
        }
    }
    Ok(all)
}

fn claim(checker: &Checker<'_>, written: &Written, expect: &Expect) -> Result<Claim> {
    let model = |name| checker.model(&written.model, name);
    let claims = [
        expect.success.map(Claim::Success),
        expect.below.map(Claim::Below),
        expect.beats.as_ref().map(model).transpose()?.map(Claim::Beats),
        expect.ties.as_ref().map(model).transpose()?.map(Claim::Ties),
        expect.validation_success.map(Claim::ValidationSuccess),
        expect.validation_error.map(Claim::ValidationError),
        expect.test_error.map(Claim::TestError),
        expect.best_step.map(Claim::BestStep),
        expect.noise_bound.map(Claim::NoiseBound),
    ];
    let mut given = claims.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(Claim::Success(rate) | Claim::Below(rate) | Claim::ValidationSuccess(rate)), None)
            if !(0.0..=1.0).contains(&rate) =>
        {
            bail!("a rate of {rate} was never published; give one between 0 and 1")
        }
        (Some(claim), None) => Ok(claim),
        _ => bail!(
            "an expectation has exactly one of success, below, beats, ties, validation_success, validation_error, \
             test_error, best_step and noise_bound"
        ),
    }
}

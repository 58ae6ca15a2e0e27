//! Two models over common seeds: range by range, and over all ranges together, which is another question and has the same seeds several times.

use super::Results;
use crate::run::Spec;
use crate::stats::holm;
use crate::stats::paired::Paired;

/// Two models at one place, or over all.
#[derive(Clone, Debug)]
pub struct Against<'a> {
    /// The range, or what is varied instead; nothing where several are taken together.
    pub place: Option<&'a str>,
    /// How many places that is.
    pub places: usize,
    /// What came of it.
    pub found: Paired,
    /// McNemar's p-value, adjusted by Holm for how many places were looked at; nothing for all of them together.
    pub holm_p: Option<f64>,
}

impl Against<'_> {
    /// Where, in words.
    pub fn at(&self) -> String {
        self.place.map_or_else(|| format!("all {} together", self.places), String::from)
    }
}

impl<'a> Results<'a> {
    /// A model against another one: at every place of a section that both have, and over all of them where these are several ranges.
    pub fn against(&self, section: usize, model: usize, other: usize) -> Vec<Against<'a>> {
        let own: &'a crate::experiment::Section = &self.experiment.sections[section];
        let mut seen: Vec<[&[Spec]; 2]> = Vec::new();
        let mut all: Vec<Against<'a>> = Vec::new();
        for place in own.places.iter().map(String::as_str) {
            let runs =
                |model| self.groups(section, model, Some(place)).next().map(|g| &self.experiment.runs[g.runs.clone()]);
            let Some(runs) = runs(model).zip(runs(other)).map(<[&[Spec]; 2]>::from) else { continue };
            // Over several values of a setting, models without it have the same runs at each of them, which count once.
            if seen.contains(&runs) {
                continue;
            }
            seen.push(runs);
            let found = self.paired(section, model, other, Some(place));
            all.extend(found.map(|found| Against { place: Some(place), places: 1, found, holm_p: None }));
        }
        let adjusted = holm::adjust(&all.iter().map(|at| at.found.mcnemar_p).collect::<Vec<_>>());
        all.iter_mut().zip(adjusted).for_each(|(at, p)| at.holm_p = Some(p));
        // Values of a setting are no ranges: over all of them together there is no question.
        if own.axis.is_none() && all.len() > 1 {
            let together = self.paired(section, model, other, None);
            all.extend(together.map(|found| Against { place: None, places: all.len(), found, holm_p: None }));
        }
        all
    }
}

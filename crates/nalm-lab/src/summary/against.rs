//! Two models over common seeds: range by range, and over all ranges together, which is another question and counts each seed once.

use super::Results;
use crate::run::Spec;
use crate::stats::holm;
use crate::stats::paired::Paired;

/// Two models at one place, or over all.
#[derive(Clone, Debug)]
pub struct Against<'a> {
    /// The range, or what is varied instead; nothing where several are taken together.
    pub place: Option<&'a str>,
    /// Where, in words.
    pub at: String,
    /// What came of it.
    pub found: Paired,
    /// McNemar's p-value, adjusted by Holm for how many places were looked at; nothing for all of them together.
    pub holm_p: Option<f64>,
    /// The sign test's p-value, adjusted likewise; nothing where no seed is solved by both.
    pub sign_holm_p: Option<f64>,
}

impl<'a> Results<'a> {
    /// A model against another one: at every place of a section that both have, and over all of them where these are several ranges.
    pub fn against(&self, section: usize, model: usize, other: usize) -> Vec<Against<'a>> {
        let own: &'a crate::experiment::Section = &self.experiment.sections[section];
        let mut seen: Vec<[&[Spec]; 2]> = Vec::new();
        let mut all: Vec<Against<'a>> = Vec::new();
        for place in own.places.iter().map(String::as_str) {
            let group = |model| self.group(section, model, place);
            let Some((mine, theirs)) = group(model).zip(group(other)) else { continue };
            let runs = [mine, theirs].map(|group| &self.experiment.runs[group.runs.clone()]);
            // Over several values of a setting, models without it have the same runs at each of them, which count once.
            if seen.contains(&runs) {
                continue;
            }
            seen.push(runs);
            let found = self.paired(section, model, other, Some(place));
            // What neither of them has is not what sets them apart.
            let at = self.experiment.shared([mine, theirs]);
            all.extend(found.map(|found| Against { place: Some(place), at, found, holm_p: None, sign_holm_p: None }));
        }
        let adjusted = holm::adjust(&all.iter().map(|at| at.found.mcnemar_p).collect::<Vec<_>>());
        all.iter_mut().zip(adjusted).for_each(|(at, p)| at.holm_p = Some(p));
        let mut timed: Vec<&mut Against<'a>> = all.iter_mut().filter(|at| at.found.both_solved > 0).collect();
        let adjusted = holm::adjust(&timed.iter().map(|at| at.found.sign_test_p).collect::<Vec<_>>());
        timed.iter_mut().zip(adjusted).for_each(|(at, p)| at.sign_holm_p = Some(p));
        // Values of a setting are no ranges: over all of them together there is no question.
        if own.axis.is_none() && all.len() > 1 {
            let together = self.paired(section, model, other, None);
            let at = format!("all {} together", all.len());
            all.extend(together.map(|found| Against { place: None, at, found, holm_p: None, sign_holm_p: None }));
        }
        all
    }
}

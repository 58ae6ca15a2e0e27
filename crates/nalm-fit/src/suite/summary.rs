//! What came of many cases.

use super::{Case, Outcome};

/// Seconds that cases took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The middle one.
    pub median: f64,
    /// Nine of ten take no more.
    pub p90: f64,
    /// The longest.
    pub most: f64,
}

/// What came of many cases.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Cases.
    pub tables: usize,
    /// Right answers.
    pub right: usize,
    /// Right structure.
    pub structure: usize,
    /// Right structure and right constants.
    pub constants: usize,
    /// Answers called exact.
    pub exact: usize,
    /// Answers called exact that are something else.
    pub false_exact: usize,
    /// What they took.
    pub seconds: Times,
    /// What others reach on these cases, in percent: the mean over those for which it was published, and how many these are.
    pub published: Vec<(String, f64, usize)>,
}

/// Counts outcomes; what was published is that of these cases.
pub fn summary<'a>(cases: impl IntoIterator<Item = &'a Case>, outcomes: &[&Outcome]) -> Summary {
    let count = |what: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| what(outcome)).count();
    let mut seconds: Vec<f64> = outcomes.iter().map(|outcome| outcome.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * seconds.len() as f64).ceil() as usize;
        seconds.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    let mut published: Vec<(String, f64, usize)> = Vec::new();
    for (who, value) in cases.into_iter().flat_map(|case| &case.published) {
        // Two sources print shares of 1, the others percent.
        let percent = if who.starts_with("physo") { 100.0 * value } else { *value };
        match published.iter_mut().find(|(known, ..)| known == who) {
            Some((_, sum, n)) => (*sum, *n) = (*sum + percent, *n + 1),
            None => published.push((who.clone(), percent, 1)),
        }
    }
    published.iter_mut().for_each(|(_, sum, n)| *sum /= *n as f64);
    Summary {
        tables: outcomes.len(),
        right: count(|o| o.right),
        structure: count(|o| o.structure),
        constants: count(|o| o.constants),
        exact: count(|o| o.exact),
        false_exact: count(|o| o.false_exact),
        seconds: Times { median: at(0.5), p90: at(0.9), most: at(1.0) },
        published,
    }
}

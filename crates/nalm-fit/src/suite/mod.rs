//! Tables with known truth: laws of physics, everyday formulas, and tables that hold no formula. How they are drawn, and how answers are judged without any help of the search.
//!
//! Suites are data: the files in `suites/`, one line a table. `feynman` has the 120 laws with what others reach on each, `own` everyday formulas, and `false` tables on which it is easy to claim too
//! much: smooth functions that are no formula, noise from 1e-12 of the target's deviation on, columns that depend on each other.

mod case;
mod refit;
mod summary;
mod truth;

pub use case::{Case, Drawn, TARGET};
pub use summary::{Summary, Times, summary};
pub use truth::{Outcome, Settings, fresh, run};

use crate::Error;

/// Tables that belong together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub about: &'static str,
    /// The tables.
    pub cases: Vec<Case>,
}

const FILES: [(&str, &str, &str); 3] = [
    ("feynman", "120 laws of physics", include_str!("../../suites/feynman.csv")),
    (
        "own",
        "everyday formulas, odd signs and ranges, many columns, wrong columns",
        include_str!("../../suites/own.csv"),
    ),
    ("false", "tables on which it is easy to claim too much", include_str!("../../suites/false.csv")),
];

impl Suite {
    /// The names of all suites.
    pub fn names() -> Vec<&'static str> {
        FILES.iter().map(|(name, ..)| *name).collect()
    }

    /// The suite with this name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let unknown = || nalm::Error::unknown("suite", name, &Self::names());
        let (name, about, text) = *FILES.iter().find(|(known, ..)| *known == name).ok_or_else(unknown)?;
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let cases = lines.map(|line| Case::read(&head, line)).collect::<Result<_, _>>()?;
        Ok(Self { name, about, cases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_suite_is_a_table() {
        let sizes: Vec<usize> = Suite::names().iter().map(|name| Suite::named(name).unwrap().cases.len()).collect();
        assert_eq!(sizes, [120, 70, 83]);
        for name in Suite::names() {
            let suite = Suite::named(name).unwrap();
            for case in &suite.cases {
                for widened in [false, true] {
                    let drawn = case.draw(60, 0, widened);
                    let finite = drawn.target.iter().filter(|y| y.is_finite()).count();
                    assert!(finite >= if widened { 20 } else { 60 }, "{name} {}: {finite} of 60 rows", case.id);
                }
                let table = case.table(40, 0.0, 0).unwrap();
                assert!(table.names().len() >= 2, "{}", case.id);
                let again = case.table(40, 0.0, 0).unwrap();
                assert_eq!(table.fingerprint(), again.fingerprint());
                assert_ne!(table.fingerprint(), case.table(40, 0.0, 1).unwrap().fingerprint());
            }
            let mut ids: Vec<&str> = suite.cases.iter().map(|case| case.id.as_str()).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), suite.cases.len(), "{name}");
        }
        assert!(Suite::named("feynmann").unwrap_err().to_string().contains("did you mean 'feynman'"));
    }

    #[test]
    fn known_laws_have_known_values() {
        let suite = Suite::named("feynman").unwrap();
        let law = |id: &str| suite.cases.iter().find(|case| case.id == id).unwrap();
        let at = |id: &str, values: &[(&str, f64)]| {
            let value = |name: &str| values.iter().find(|(known, _)| *known == name).unwrap().1;
            law(id).formula.evaluate(&value)
        };
        assert_eq!(at("I.8.14", &[("x1", 1.0), ("x2", 4.0), ("y1", 1.0), ("y2", 5.0)]), 5.0);
        let coulomb = at("I.12.4", &[("q1", 4.0), ("epsilon", 1.0), ("r", 0.5)]);
        assert!((coulomb - 4.0 / std::f64::consts::PI).abs() < 1e-15, "{coulomb}");
        let kepler = at("test_5", &[("d", 4.0), ("G", 1.0), ("m1", 1.5), ("m2", 2.5)]);
        assert!((kepler - 8.0 * std::f64::consts::PI).abs() < 1e-13);
        assert_eq!(suite.cases.iter().filter(|case| case.class != "transcendental").count(), 81);
        let published = law("I.6.2a").published.iter().find(|(who, _)| who == "physo_0").unwrap().1;
        assert_eq!(published, 1.0);
    }
}

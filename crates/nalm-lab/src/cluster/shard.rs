//! Which part of a plan a worker carries out: a pure function of the plan.

use super::environment::{self, Variables};
use crate::error::{Error, Result, ensure};
use crate::pool;
use crate::run::Spec;
use crate::task::Catalogue;
use sha2::{Digest, Sha256};
use std::str::FromStr;

/// One of several equal parts of a plan, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// The part `index` of `of`.
    pub fn new(index: usize, of: usize) -> Result<Self> {
        ensure!(of > 0, "{index}/{of} is no part of a plan: there must be at least one part, as in 0/1");
        ensure!(
            index < of,
            "there is no part {index} of {of}: parts are counted from 0, so give 0/{of} up to the last one"
        );
        Ok(Self { index, of })
    }

    /// Its number, from 0 on.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many there are.
    pub fn of(&self) -> usize {
        self.of
    }
}

/// The part that somebody asks for: `2/6`, or as the scheduler says (`auto`; `auto/6` where it does not tell how many there are).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// This one.
    Given(Shard),
    /// The one that the environment tells of, of so many if that was said.
    Auto(Option<usize>),
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::Request(format!(
                "'{text}' is no part of a plan: give I/N, such as 0/6 for the first of six, auto or auto/N"
            ))
        };
        let number = |text: &str| text.parse::<usize>().ok();
        match text.split_once('/') {
            None if text == "auto" => Ok(Self::Auto(None)),
            Some(("auto", of)) => number(of).filter(|of| *of > 0).map(|of| Self::Auto(Some(of))).ok_or_else(wrong),
            Some((index, of)) => {
                Shard::new(number(index).ok_or_else(wrong)?, number(of).ok_or_else(wrong)?).map(Self::Given)
            }
            None => Err(wrong()),
        }
    }
}

impl Part {
    /// The part itself, and the variable that told it.
    pub fn find(self, variables: &Variables<'_>) -> Result<(Shard, Option<&'static str>)> {
        match self {
            Self::Given(shard) => Ok((shard, None)),
            Self::Auto(of) => environment::shard(variables, of),
        }
    }
}

/// The runs of a plan in the order of a hash, so that slow ones spread evenly over all parts. Runs that are one, because they differ in length
/// only, stay together.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Each with the hash that it is ordered by.
    units: Vec<([u8; 32], Vec<&'a Spec>)>,
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

impl<'a> Plan<'a> {
    /// The plan of some runs, all different.
    pub fn new(catalogue: &'a Catalogue, runs: &'a [Spec]) -> Result<Self> {
        let units = pool::units(catalogue, runs)?;
        let mut units: Vec<_> = units.into_iter().map(|unit| (hash(&[unit.key.as_bytes()]), unit.specs)).collect();
        units.sort_by_key(|(hash, _)| *hash);
        Ok(Self { units })
    }

    /// How many runs there are, counting those that are one as one.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The runs of a part, in the order in which they are to be carried out.
    pub fn part(&self, shard: Shard) -> Vec<&'a Spec> {
        self.units.iter().skip(shard.index).step_by(shard.of).flat_map(|(_, specs)| specs).copied().collect()
    }

    /// The runs of all other parts, in an order of the worker's own, so that workers who help out seldom meet.
    pub fn others(&self, shard: Shard, worker: u64) -> Vec<&'a Spec> {
        let others = self.units.iter().enumerate().filter(|(k, _)| k % shard.of != shard.index);
        let mut others: Vec<_> = others.map(|(_, (key, specs))| (hash(&[key, &worker.to_le_bytes()]), specs)).collect();
        others.sort_by_key(|(hash, _)| *hash);
        others.into_iter().flat_map(|(_, specs)| specs).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::spec::tests::spec;
    use std::collections::BTreeSet;

    /// Slow and fast modules, and runs that differ in length only.
    fn runs(seeds: u64) -> Vec<Spec> {
        let of = |seed| ["nmu", "snmu", "npu", "mlp"].map(|module| spec(module).with("seed", seed));
        let longer = (0..seeds / 2).map(|seed| spec("nmu").with("seed", seed).with("steps", 2_000));
        (0..seeds).flat_map(of).chain(longer).collect()
    }

    fn ids<'a>(runs: impl IntoIterator<Item = &'a Spec>) -> BTreeSet<String> {
        runs.into_iter().map(Spec::id).collect()
    }

    #[test]
    fn parts_are_a_partition_whatever_their_number_and_the_order_of_the_plan() {
        let (catalogue, all) = (Catalogue::default(), runs(9));
        let plan = Plan::new(&catalogue, &all).unwrap();
        let mut turned = all.clone();
        turned.rotate_left(7);
        turned.reverse();
        let same = Plan::new(&catalogue, &turned).unwrap();
        for of in 1..=all.len() + 3 {
            let (mut seen, mut sizes) = (BTreeSet::new(), Vec::new());
            for index in 0..of {
                let shard = Shard::new(index, of).unwrap();
                let own = plan.part(shard);
                assert_eq!(
                    ids(own.iter().copied()),
                    ids(same.part(shard)),
                    "{index}/{of} depends on the order of the plan"
                );
                let (a, b) = (ids(own.iter().copied()), ids(plan.others(shard, 7)));
                assert!(a.is_disjoint(&b) && a.len() + b.len() == all.len(), "{index}/{of}");
                assert!(a.iter().all(|id| seen.insert(id.clone())), "{index}/{of} has a run of another part");
                sizes.push(plan.units.iter().skip(index).step_by(of).count());
            }
            assert_eq!(seen, ids(&all), "of {of}");
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn runs_that_are_one_stay_together_and_modules_spread() {
        let (catalogue, all) = (Catalogue::default(), runs(100));
        let plan = Plan::new(&catalogue, &all).unwrap();
        assert_eq!((plan.len(), all.len()), (400, 450));
        for index in 0..4 {
            let part = plan.part(Shard::new(index, 4).unwrap());
            let long: Vec<&&Spec> = part.iter().filter(|run| run.whole("steps") == Some(2_000)).collect();
            assert!(long.iter().all(|run| part.contains(&&run.with("steps", 1_000))));
            // 25 of each module on average; 4.3 is a standard deviation.
            for module in ["nmu", "snmu", "npu", "mlp"] {
                let n = part.iter().filter(|run| run.module() == module && run.whole("steps") == Some(1_000)).count();
                assert!((10..=40).contains(&n), "{n} of {module} in part {index}");
            }
        }
    }

    #[test]
    fn workers_help_out_in_orders_of_their_own() {
        let (catalogue, all) = (Catalogue::default(), runs(20));
        let plan = Plan::new(&catalogue, &all).unwrap();
        let shard = Shard::new(0, 2).unwrap();
        let (a, b) = (plan.others(shard, 1), plan.others(shard, 2));
        assert!(a != b && a == plan.others(shard, 1) && ids(a.clone()) == ids(b));
    }

    #[test]
    fn parts_are_read_from_text() {
        let given = |index, of| Part::Given(Shard::new(index, of).unwrap());
        for (text, want) in
            [("0/1", given(0, 1)), ("5/6", given(5, 6)), ("auto", Part::Auto(None)), ("auto/6", Part::Auto(Some(6)))]
        {
            assert_eq!(text.parse::<Part>().unwrap(), want);
        }
        for text in ["", "1", "1/", "/6", "6/6", "-1/6", "1/0", "auto/0", "auto/x", "a/6", "99999999999999999999/6"] {
            let error = text.parse::<Part>().unwrap_err().to_string();
            let hints = ["0/6", "counted from 0", "at least one part"];
            assert!(hints.iter().any(|hint| error.contains(hint)), "{text}: {error}");
        }
    }
}

//! The rule of verdicts: what we found against what was published, both with their uncertainty.

use crate::stats::{Estimate, difference, newcombe, wilson};

/// What a comparison amounts to, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The published random streams, length and seeds give the published digits.
    Identical,
    /// The interval of the difference contains 0 and is narrow; an order or an equality is significant.
    Consistent,
    /// An order is as published, but not significant.
    DirectionOnly,
    /// An order at a reduced scale that goes as published.
    ReducedFor,
    /// An order at a reduced scale that goes neither way.
    ReducedNeither,
    /// An order at a reduced scale that goes the other way.
    ReducedAgainst,
    /// Nothing here can speak for or against it.
    NotComparable,
    /// There are no runs.
    NotRun,
    /// The interval contains 0 and is wide; an order goes neither way.
    Inconclusive,
    /// The interval of the difference excludes 0; an order is significantly the other way.
    Differs,
}

impl Verdict {
    /// All of them, the five of the headline first.
    pub const ALL: [Verdict; 10] = [
        Verdict::Identical,
        Verdict::Consistent,
        Verdict::Inconclusive,
        Verdict::Differs,
        Verdict::NotRun,
        Verdict::DirectionOnly,
        Verdict::ReducedFor,
        Verdict::ReducedNeither,
        Verdict::ReducedAgainst,
        Verdict::NotComparable,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Identical => "identical",
            Verdict::Consistent => "consistent",
            Verdict::DirectionOnly => "direction only",
            Verdict::ReducedFor => "direction at reduced scale: for",
            Verdict::ReducedNeither => "direction at reduced scale: neither",
            Verdict::ReducedAgainst => "direction at reduced scale: against",
            Verdict::NotComparable => "not comparable",
            Verdict::NotRun => "not run",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Differs => "differs",
        }
    }

    /// So many of them, in words.
    pub fn times(self, n: usize) -> String {
        match (self, n) {
            (Verdict::Differs, 0 | 2..) => format!("{n} differ"),
            (Verdict::ReducedFor, _) => format!("{n} at reduced scale for the paper"),
            (Verdict::ReducedNeither, _) => format!("{n} at reduced scale neither way"),
            (Verdict::ReducedAgainst, _) => format!("{n} at reduced scale against the paper"),
            _ => format!("{n} {}", self.name()),
        }
    }
}

/// How many there are of each, in words; none are left out.
pub fn counts(verdicts: impl IntoIterator<Item = Verdict>) -> String {
    let all: Vec<Verdict> = verdicts.into_iter().collect();
    let count = |verdict: Verdict| all.iter().filter(|other| **other == verdict).count();
    let some = Verdict::ALL.into_iter().filter(|verdict| count(*verdict) > 0);
    let shown: Vec<String> = some.map(|verdict| verdict.times(count(verdict))).collect();
    if shown.is_empty() { "nothing published".into() } else { shown.join(", ") }
}

/// The widest half of an interval that still counts as agreement, and the margin of equality.
pub const MARGIN: f64 = 0.25;
/// The greatest distance from a published 0 or 1 that our interval may leave open.
pub const FROM_THE_END: f64 = 0.17;
/// Below this, a test is significant.
pub const SIGNIFICANT: f64 = 0.05;
/// The widest half of an interval around the difference of means that still counts as agreement, as a share of the published mean.
pub const WIDE: f64 = 0.5;
/// Fewer pairs at a reduced scale are no direction.
pub const PAIRS: usize = 2;

/// Half of an interval's width.
pub fn half_width(e: Estimate) -> Option<f64> {
    Some(0.5 * (e.upper? - e.lower?))
}

/// How far an interval goes above its mean, which no bound at 0 cuts off; nothing where there is none.
pub fn upper_half(e: Estimate) -> f64 {
    e.upper.zip(e.mean).map_or(0.0, |(upper, mean)| upper - mean)
}

fn contains_zero(e: Estimate) -> Option<bool> {
    Some(e.lower? <= 0.0 && 0.0 <= e.upper?)
}

/// Our rate, so many of so many, against a published one: the difference and what it amounts to. Without the number of published runs, the
/// published rate is taken as exact.
pub fn rate(ours: (usize, usize), published: f64, n: Option<usize>) -> (Estimate, Verdict) {
    let own = wilson::interval(ours.0, ours.1);
    let difference = match n {
        Some(n) => newcombe::independent(ours, ((published * n as f64).round() as usize, n)),
        None => minus(own, published),
    };
    let Some((contains, half)) = contains_zero(difference).zip(half_width(difference)) else {
        return (difference, Verdict::NotRun);
    };
    let narrow = from_the_end(ours, published).map_or(half <= MARGIN, |distance| distance <= FROM_THE_END);
    let verdict = match (contains, narrow) {
        (false, _) => Verdict::Differs,
        (true, true) => Verdict::Consistent,
        (true, false) => Verdict::Inconclusive,
    };
    (difference, verdict)
}

/// How far from a published 0 or 1 our interval reaches; nothing for other rates.
pub fn from_the_end((k, n): (usize, usize), published: f64) -> Option<f64> {
    let own = wilson::interval(k, n);
    match published {
        0.0 => own.upper,
        1.0 => own.lower.map(|lower| 1.0 - lower),
        _ => None,
    }
}

fn minus(e: Estimate, value: f64) -> Estimate {
    let minus = |v: Option<f64>| v.map(|v| v - value);
    Estimate { mean: minus(e.mean), lower: minus(e.lower), upper: minus(e.upper) }
}

/// A rate that is said to be below something: it takes at least one failure. Below 1 is at most one published failure away from it, so
/// that none of ours differs only where it does from all but one of the published runs.
pub fn rate_below((k, n): (usize, usize), bound: f64, published: Option<usize>) -> Verdict {
    let e = wilson::interval(k, n);
    let Some((lower, upper)) = e.lower.zip(e.upper) else { return Verdict::NotRun };
    let nearest = published.map(|all| newcombe::independent((k, n), (all.saturating_sub(1), all)));
    match (k < n, bound < 1.0) {
        (true, false) => Verdict::Consistent,
        (false, false) if nearest.and_then(contains_zero) == Some(false) => Verdict::Differs,
        _ if upper < bound => Verdict::Consistent,
        _ if bound < 1.0 && lower > bound => Verdict::Differs,
        _ => Verdict::Inconclusive,
    }
}

/// Any other estimate that is said to be below something. Without an interval, as of a single run, it decides nothing.
pub fn below(e: Estimate, bound: f64) -> Verdict {
    match (e.mean, e.lower, e.upper) {
        (None, ..) => Verdict::NotRun,
        (_, _, Some(upper)) if upper < bound => Verdict::Consistent,
        (_, Some(lower), _) if lower > bound => Verdict::Differs,
        _ => Verdict::Inconclusive,
    }
}

/// A mean against a published one with its half-width: the difference with both half-widths in quadrature, and what the rounding of two
/// printed digits leaves open. An interval that is wide beside the published mean agrees with too much to agree with it. A mean without an
/// interval, as a single run has, decides nothing; runs that are all alike have one without width.
pub fn mean(ours: Estimate, [published, half]: [f64; 2]) -> (Estimate, Verdict) {
    let Some(mean) = ours.mean else { return (Estimate::NONE, Verdict::NotRun) };
    if ours.upper.is_none() {
        return (Estimate { mean: Some(mean - published), ..Estimate::NONE }, Verdict::Inconclusive);
    }
    let own = upper_half(ours);
    let slack = half_unit(published, 2) + half_unit(half, 2);
    let (at, wide) = (mean - published, libm::hypot(own, half) + slack);
    let difference = Estimate { mean: Some(at), lower: Some(at - wide), upper: Some(at + wide) };
    let verdict = match (at.abs() <= wide, wide <= WIDE * published.abs()) {
        (false, _) => Verdict::Differs,
        (true, true) => Verdict::Consistent,
        (true, false) => Verdict::Inconclusive,
    };
    (difference, verdict)
}

/// Half a unit of the last of so many significant digits.
pub fn half_unit(x: f64, digits: i32) -> f64 {
    if x == 0.0 { 0.0 } else { 0.5 * libm::pow(10.0, libm::log10(x.abs()).floor() + f64::from(1 - digits)) }
}

/// An order over common seeds: how many are for it, how many against it, and the p-value adjusted for how many orders were looked at.
pub fn order(for_it: usize, against: usize, p: f64) -> Verdict {
    match (for_it.cmp(&against), p < SIGNIFICANT) {
        (std::cmp::Ordering::Greater, true) => Verdict::Consistent,
        (std::cmp::Ordering::Greater, false) => Verdict::DirectionOnly,
        (std::cmp::Ordering::Less, true) => Verdict::Differs,
        _ => Verdict::Inconclusive,
    }
}

/// An order that so many pairs of runs at a reduced scale show: which way they go. One pair goes some way whatever is true.
pub fn reduced(for_it: usize, against: usize, pairs: usize) -> Verdict {
    match for_it.cmp(&against) {
        _ if pairs < PAIRS => Verdict::NotComparable,
        std::cmp::Ordering::Greater => Verdict::ReducedFor,
        std::cmp::Ordering::Equal => Verdict::ReducedNeither,
        std::cmp::Ordering::Less => Verdict::ReducedAgainst,
    }
}

/// What several experiments at a reduced scale say about the same: which way they go where they agree, otherwise neither.
pub fn reduced_together(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    let directions = verdicts.into_iter().filter(|v| (Verdict::ReducedFor..=Verdict::ReducedAgainst).contains(v));
    directions.reduce(|a, b| if a == b { a } else { Verdict::ReducedNeither })
}

/// Rates over common seeds that are said to be equal, by two one-sided tests: they are where the 90 % interval of their difference lies within
/// the margin. Otherwise they differ where the 95 % interval excludes 0. The interval is the one that decides.
pub fn equal<S: Ord>(pairs: &[difference::Pair<S>]) -> (Estimate, Verdict) {
    let (wide, narrow) = (difference::interval(pairs), difference::narrow_interval(pairs));
    match contains_zero(wide) {
        None if wide.mean.is_none() => (wide, Verdict::NotRun),
        None => (wide, Verdict::Inconclusive),
        _ if difference::is_within(pairs, MARGIN) => (narrow, Verdict::Consistent),
        Some(false) => (wide, Verdict::Differs),
        Some(true) => (narrow, Verdict::Inconclusive),
    }
}

/// What parts amount to together: the worst of them, where parts that are not run leave the rest undecided.
pub fn together(parts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let parts: Vec<Verdict> = parts.into_iter().collect();
    let run: Vec<Verdict> = parts.iter().copied().filter(|verdict| *verdict != Verdict::NotRun).collect();
    match run.iter().max() {
        None => Verdict::NotRun,
        Some(worst) if run.len() == parts.len() || *worst == Verdict::Differs => *worst,
        // What counts in no headline does not, either, if a part of it is missing.
        Some(worst) if (Verdict::ReducedFor..=Verdict::NotComparable).contains(worst) => *worst,
        Some(_) => Verdict::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::*;
    use super::*;

    #[test]
    fn rates_by_newcombes_interval() {
        let verdict = |ours, published, n| rate(ours, published, n).1;
        // 14 and 18 of 20: the interval of the difference is -0.43 to 0.06, 0.24 wide on either side.
        let (difference, found) = rate((14, 20), 0.9, Some(20));
        assert_eq!(found, Consistent);
        assert!((half_width(difference).unwrap() - 0.243).abs() < 1e-3, "{difference:?}");
        assert_eq!(verdict((3, 5), 0.8, Some(20)), Inconclusive, "five runs decide nothing");
        assert_eq!(verdict((5, 20), 0.8, Some(20)), Differs);
        assert_eq!(verdict((20, 20), 0.3, Some(20)), Differs);
        assert_eq!(verdict((0, 0), 0.8, Some(20)), NotRun);
        // A published rate of an unknown number of runs is taken as exact.
        assert_eq!([verdict((73, 100), 0.8, None), verdict((70, 100), 0.8, None)], [Consistent, Differs]);
    }

    /// 20 of 20 leave a distance of 0.161 open, 19 of 19 one of 0.168, 18 of 18 one of 0.176.
    #[test]
    fn ends_are_met_by_enough_runs_only() {
        for end in [0.0, 1.0] {
            let all = |n: usize| if end == 0.0 { (0, n) } else { (n, n) };
            assert_eq!(rate(all(20), end, Some(20)).1, Consistent);
            assert_eq!(rate(all(19), end, Some(20)).1, Consistent);
            assert_eq!(rate(all(18), end, Some(20)).1, Inconclusive);
            assert_eq!(rate((10, 20), end, Some(20)).1, Differs);
        }
        // One failure of 25 leaves 0.195 open.
        assert_eq!(rate((24, 25), 1.0, Some(25)).1, Inconclusive);
    }

    #[test]
    fn below_takes_a_failure() {
        let verdicts = [(18, 20), (20, 20), (4, 4), (0, 0)].map(|ours| rate_below(ours, 1.0, Some(20)));
        assert_eq!(verdicts, [Consistent, Inconclusive, Inconclusive, NotRun], "19 of 20 is below 1, too");
        // 1,000 of 1,000 are above 19 of 20; they are not above 999 of 1,000, nor above we know not how many.
        let all = [Some(20), Some(1_000), None].map(|n| rate_below((1_000, 1_000), 1.0, n));
        assert_eq!(all, [Differs, Inconclusive, Inconclusive]);
        let verdicts = [(1, 20), (9, 20), (19, 20)].map(|ours| rate_below(ours, 0.5, Some(20)));
        assert_eq!(verdicts, [Consistent, Inconclusive, Differs]);
        let e = |lower, mean, upper| Estimate { mean, lower, upper };
        assert_eq!(below(e(Some(1.0), Some(2.0), Some(3.0)), 4.0), Consistent);
        assert_eq!(below(e(Some(1.0), Some(2.0), Some(3.0)), 2.5), Inconclusive);
        assert_eq!(below(e(Some(1.0), Some(2.0), Some(3.0)), 0.5), Differs);
        assert_eq!([below(e(None, Some(2.0), None), 1.0), below(Estimate::NONE, 1.0)], [Inconclusive, NotRun]);
    }

    /// 1.0e4 ± 2.8e2 stands for anything from 9,500 to 10,500 with a half-width of up to 285; with 200 of our own the halves are 344.
    #[test]
    fn means_in_quadrature_up_to_rounding() {
        let found = |at: f64| {
            let ours = Estimate { mean: Some(at), lower: Some(at - 200.0), upper: Some(at + 200.0) };
            mean(ours, [1.0e4, 2.8e2]).1
        };
        assert_eq!(
            [found(10_848.0), found(10_851.0), found(9_152.0), found(9_149.0)],
            [Consistent, Differs, Consistent, Differs]
        );
        // Half of the published mean is as wide as it may be: 4.4 and 0.5 of rounding, but not 4.6 and 0.5.
        let of = |half: f64| Estimate { mean: Some(9.0), lower: Some(9.0 - half), upper: Some(9.0 + half) };
        assert_eq!([mean(of(4.4), [10.0, 0.0]).1, mean(of(4.6), [10.0, 0.0]).1], [Consistent, Inconclusive]);
        assert_eq!(mean(of(4.6), [20.0, 0.0]).1, Differs, "wide, and still beside it");
        let alone = |x: f64| mean(Estimate { mean: Some(x), lower: None, upper: None }, [0.0, 0.0]).1;
        assert_eq!([alone(0.0), alone(1e-9), alone(-1e-9)], [Inconclusive; 3], "one run decides nothing");
        let alike = |x: f64| mean(Estimate { mean: Some(x), lower: Some(x), upper: Some(x) }, [0.0, 0.0]).1;
        assert_eq!([alike(0.0), alike(1e-9), alike(-1e-9)], [Consistent, Differs, Differs]);
        assert_eq!(mean(Estimate::NONE, [1.0, 1.0]).1, NotRun);
        assert_eq!((half_unit(1.0e4, 2), half_unit(0.034, 2), half_unit(0.0, 2)), (500.0, 0.000_5, 0.0));
    }

    #[test]
    fn orders_are_significant_or_a_direction() {
        assert_eq!(order(9, 1, 0.043), Consistent);
        assert_eq!(order(5, 2, 0.45), DirectionOnly);
        assert_eq!(order(1, 9, 0.02), Differs);
        assert_eq!([order(2, 5, 0.45), order(3, 3, 1.0), order(0, 0, 1.0)], [Inconclusive; 3]);
    }

    #[test]
    fn equality_takes_two_one_sided_tests() {
        let pairs = |both, first, second, neither| {
            let ways = [(both, true, true), (first, true, false), (second, false, true), (neither, false, false)];
            let all = ways.into_iter().flat_map(|(n, a, b)| std::iter::repeat_n((a, b), n));
            all.enumerate().map(|(seed, (a, b))| (seed as u64, a, b)).collect::<Vec<_>>()
        };
        let verdict = |both, first, second, neither| equal(&pairs(both, first, second, neither)).1;
        assert_eq!(verdict(21, 0, 0, 4), Consistent);
        assert_eq!(verdict(4, 0, 0, 1), Inconclusive);
        assert_eq!(verdict(5, 10, 0, 10), Differs);
        assert_eq!(verdict(0, 0, 0, 0), NotRun);
        // One seed at two places has no interval; neither have seeds that differ by the same amount.
        let twice = [(0_u64, true, false), (0, true, true)];
        assert_eq!(equal(&twice).1, Inconclusive);
        // A small difference may be certain, and still be small.
        assert_eq!(verdict(800, 100, 0, 100), Consistent);
        // At 95 % the interval goes to 0.254, beyond the margin; at 90 %, by which it is judged, to 0.226.
        let (shown, found) = equal(&pairs(17, 3, 1, 4));
        let wider = difference::interval(&pairs(17, 3, 1, 4));
        assert_eq!(found, Consistent);
        assert!(shown.upper.unwrap() < MARGIN && wider.upper.unwrap() > MARGIN, "{shown:?} {wider:?}");
    }

    #[test]
    fn the_worst_part_decides() {
        assert_eq!(together([Identical, Identical]), Identical);
        assert_eq!(together([Identical, Consistent]), Consistent);
        assert_eq!(together([Consistent, DirectionOnly]), DirectionOnly);
        assert_eq!(together([Consistent, Inconclusive, Differs]), Differs);
        assert_eq!(together([Consistent, NotRun]), Inconclusive);
        assert_eq!(together([Differs, NotRun]), Differs);
        assert_eq!(together([ReducedFor, NotRun]), ReducedFor);
        assert_eq!(together([ReducedFor, ReducedAgainst]), ReducedAgainst);
        assert_eq!([together([NotRun, NotRun]), together([])], [NotRun; 2]);
        let mut names: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.name()).collect();
        names.dedup();
        assert_eq!(names.len(), 10);
    }

    #[test]
    fn a_reduced_scale_says_which_way_it_goes() {
        let found = [reduced(3, 1, 4), reduced(2, 2, 4), reduced(0, 1, 2), reduced(1, 0, 1)];
        assert_eq!(found, [ReducedFor, ReducedNeither, ReducedAgainst, NotComparable], "one pair is no direction");
        assert_eq!(reduced_together([ReducedFor, NotComparable, ReducedFor]), Some(ReducedFor));
        assert_eq!(reduced_together([ReducedFor, ReducedAgainst]), Some(ReducedNeither));
        assert_eq!(reduced_together([NotComparable, Consistent]), None);
        let shown = counts([ReducedFor, ReducedFor, ReducedAgainst]);
        assert_eq!(shown, "2 at reduced scale for the paper, 1 at reduced scale against the paper");
    }
}

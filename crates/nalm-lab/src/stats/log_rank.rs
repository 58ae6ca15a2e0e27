//! Whether one group is solved sooner than another: the log-rank test (Mantel 1966), stratified where there are several pairs of groups.

use super::kaplan_meier::Run;

/// Two groups over all strata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRank {
    /// How many of the first group were solved.
    pub solved: [usize; 2],
    /// How many would have been if the two were alike.
    pub expected: [f64; 2],
    /// The test statistic, with one degree of freedom.
    pub chi2: f64,
    /// Its p-value.
    pub p: f64,
}

impl LogRank {
    /// How many times as fast the first group is solved, if both ever are.
    pub fn hazard_ratio(&self) -> Option<f64> {
        let rate = |k: usize| self.solved[k] as f64 / self.expected[k];
        let ratio = rate(0) / rate(1);
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

/// The test over pairs of groups; nothing where no run was ever solved.
pub fn test<'a>(strata: impl IntoIterator<Item = (&'a [Run], &'a [Run])>) -> Option<LogRank> {
    let (mut solved, mut expected, mut variance) = ([0; 2], [0.0; 2], 0.0);
    for (a, b) in strata {
        let mut times: Vec<f64> = a.iter().chain(b).filter(|run| run.solved).map(|run| run.at).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let (a, b) = (Sorted::new(a), Sorted::new(b));
        for at in times {
            let [(risk_a, solved_a), (risk_b, solved_b)] = [&a, &b].map(|group| group.at(at));
            let [n, m, d] = [risk_a + risk_b, risk_a, solved_a + solved_b].map(|k| k as f64);
            solved[0] += solved_a;
            solved[1] += solved_b;
            expected[0] += d * m / n;
            expected[1] += d * (n - m) / n;
            if n > 1.0 {
                variance += d * (m / n) * (1.0 - m / n) * (n - d) / (n - 1.0);
            }
        }
    }
    let chi2 = if variance > 0.0 {
        let apart = solved[0] as f64 - expected[0];
        apart * apart / variance
    } else {
        0.0
    };
    (solved[0] + solved[1] > 0).then(|| LogRank { solved, expected, chi2, p: libm::erfc((0.5 * chi2).sqrt()) })
}

/// Steps of a group, in order: of all runs, and of those that were solved.
struct Sorted {
    all: Vec<f64>,
    solved: Vec<f64>,
}

impl Sorted {
    fn new(runs: &[Run]) -> Self {
        let sorted = |mut at: Vec<f64>| {
            at.sort_by(f64::total_cmp);
            at
        };
        Self {
            all: sorted(runs.iter().map(|run| run.at).collect()),
            solved: sorted(runs.iter().filter(|run| run.solved).map(|run| run.at).collect()),
        }
    }

    /// How many are watched until then at least, and how many are solved just then.
    fn at(&self, at: f64) -> (usize, usize) {
        let risk = self.all.len() - self.all.partition_point(|&x| x < at);
        let solved = self.solved.partition_point(|&x| x <= at) - self.solved.partition_point(|&x| x < at);
        (risk, solved)
    }
}

#[cfg(test)]
mod tests {
    use super::super::kaplan_meier::tests::freireich;
    use super::*;

    /// Textbooks print 16.79 for Freireich's data, with 9 and 21 relapses where 19.3 and 10.7 were expected.
    #[test]
    fn the_test_of_freireichs_patients() {
        let [treated, placebo] = freireich();
        let found = test([(treated.as_slice(), placebo.as_slice())]).unwrap();
        assert_eq!(found.solved, [9, 21]);
        assert!((found.chi2 - 16.793).abs() < 5e-4, "{found:?}");
        assert!((found.expected[0] - 19.25).abs() < 5e-3 && (found.expected[1] - 10.75).abs() < 5e-3, "{found:?}");
        assert!((found.p / 4.17e-5 - 1.0).abs() < 1e-2, "{found:?}");
        assert!((found.hazard_ratio().unwrap() - (9.0 / 19.25) / (21.0 / 10.75)).abs() < 1e-3);
        // Twice the same stratum has twice the statistic; a group against itself has none.
        let twice = test([(treated.as_slice(), placebo.as_slice()); 2]).unwrap();
        assert!((twice.chi2 - 2.0 * found.chi2).abs() < 1e-9);
        assert_eq!(test([(treated.as_slice(), treated.as_slice())]).unwrap().p, 1.0);
    }

    #[test]
    fn without_an_event_there_is_nothing_to_test() {
        let never = [Run { at: 9.0, solved: false }; 4];
        assert_eq!(test([(&never[..], &never[..])]), None);
        let once = [Run { at: 9.0, solved: true }];
        assert_eq!(test([(&once[..], &[][..])]).unwrap().p, 1.0);
    }
}

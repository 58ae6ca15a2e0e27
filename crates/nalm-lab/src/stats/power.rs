//! How many seeds would be needed to decide, at 5 % with a power of 80 %, if what was seen so far is how things are.

use super::Z;
use super::log_rank::LogRank;
use super::newcombe::Pairs;

/// The 80 % point of the standard normal distribution.
const POWER: f64 = 0.841_621_233_572_914_3;

/// Seeds for McNemar's test (Connor 1987); nothing where the two are alike.
pub fn mcnemar(pairs: &Pairs) -> Option<usize> {
    let n = pairs.len() as f64;
    let (apart, difference) = ((pairs.first + pairs.second) as f64 / n, (pairs.first as f64 - pairs.second as f64) / n);
    if difference == 0.0 || !difference.is_finite() {
        return None;
    }
    let root = Z * apart.sqrt() + POWER * (apart - difference * difference).max(0.0).sqrt();
    Some((root * root / (difference * difference)).ceil() as usize)
}

/// Seeds for each of two groups for the log-rank test (Schoenfeld 1981), given how many of all runs are ever solved.
pub fn log_rank(found: &LogRank, runs: usize) -> Option<usize> {
    let ln = libm::log(found.hazard_ratio()?);
    let share = (found.solved[0] + found.solved[1]) as f64 / runs as f64;
    let events = 4.0 * (Z + POWER) * (Z + POWER) / (ln * ln);
    let seeds = 0.5 * events / share;
    seeds.is_finite().then_some(seeds.ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Discordant shares of 0.2 and 0.1 need 234 pairs by the formula, worked out by hand: (1.96 sqrt 0.3 + 0.8416 sqrt 0.29)^2 / 0.01.
    #[test]
    fn seeds_for_mcnemar() {
        let pairs = Pairs { both: 60, first: 20, second: 10, neither: 10 };
        assert_eq!(mcnemar(&pairs), Some(234));
        assert_eq!(mcnemar(&Pairs { first: 10, ..pairs }), None);
        assert_eq!(mcnemar(&Pairs::default()), None);
    }

    /// A hazard ratio of 2 needs 65.3 events (Schoenfeld), so 66 runs if all are solved, 33 a group; twice as many if half are.
    #[test]
    fn seeds_for_log_rank() {
        let found = LogRank { solved: [20, 20], expected: [10.0, 20.0], chi2: 0.0, p: 1.0 };
        assert_eq!(log_rank(&found, 40), Some(33));
        assert_eq!(log_rank(&found, 80), Some(66));
        assert_eq!(log_rank(&LogRank { expected: [20.0, 20.0], ..found }, 40), None);
        assert_eq!(log_rank(&LogRank { solved: [0, 20], ..found }, 40), None);
    }
}

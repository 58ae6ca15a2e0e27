//! How many runs are still unsolved at which step: the Kaplan-Meier curve and its restricted mean (Kaplan and Meier 1958; Greenwood 1926).
//!
//! Runs that end unsolved count as long as they were watched. Looking at solved runs alone would make a model faster by dropping its
//! slowest runs.

use super::{Estimate, Z};

/// When a run was solved, or until when it was watched without being so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The step.
    pub at: f64,
    /// Whether it was solved there.
    pub solved: bool,
}

/// A step of the curve: the share of runs that are unsolved from there on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Where.
    pub at: f64,
    /// Runs that were watched and unsolved just before.
    pub at_risk: usize,
    /// Runs that are solved here.
    pub solved: usize,
    /// The share that is left.
    pub unsolved: f64,
}

/// The curve, one step for each place at which a run is solved.
pub fn curve(runs: &[Run]) -> Vec<Step> {
    let mut sorted = runs.to_vec();
    sorted.sort_by(|a, b| a.at.total_cmp(&b.at));
    let (mut steps, mut unsolved, mut k) = (Vec::new(), 1.0, 0);
    while k < sorted.len() {
        let at = sorted[k].at;
        let here = sorted[k..].iter().take_while(|run| run.at == at).count();
        let (at_risk, solved) = (sorted.len() - k, sorted[k..k + here].iter().filter(|run| run.solved).count());
        if solved > 0 {
            unsolved *= 1.0 - solved as f64 / at_risk as f64;
            steps.push(Step { at, at_risk, solved, unsolved });
        }
        k += here;
    }
    steps
}

/// The first step at which half of the runs are solved, if that is ever so.
pub fn median(runs: &[Run]) -> Option<f64> {
    curve(runs).iter().find(|step| step.unsolved <= 0.5).map(|step| step.at)
}

/// The mean number of unsolved steps up to a horizon: the area under the curve, with its 95 % interval.
pub fn restricted_mean(runs: &[Run], horizon: f64) -> Estimate {
    if runs.is_empty() {
        return Estimate::NONE;
    }
    let steps: Vec<Step> = curve(runs).into_iter().filter(|step| step.at < horizon).collect();
    let end = |k: usize| steps.get(k + 1).map_or(horizon, |next: &Step| next.at);
    // What is left of the area from each step on, from the last one backwards.
    let (mut left, mut variance) = (0.0, 0.0);
    for (k, step) in steps.iter().enumerate().rev() {
        left += step.unsolved * (end(k) - step.at);
        let still = step.at_risk - step.solved;
        if still > 0 {
            variance += left * left * step.solved as f64 / (step.at_risk as f64 * still as f64);
        }
    }
    let mean = left + steps.first().map_or(horizon, |first| first.at);
    let half = Z * variance.sqrt();
    Estimate::new(mean, (mean - half).max(0.0), (mean + half).min(horizon))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Weeks of remission of leukaemia under 6-mercaptopurine and under a placebo (Freireich and others 1963).
    pub(in crate::stats) fn freireich() -> [Vec<Run>; 2] {
        let runs = |at: &[f64], solved: bool| at.iter().map(|&at| Run { at, solved }).collect::<Vec<_>>();
        let treated = runs(&[6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0], true);
        let watched = runs(&[6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0], false);
        let placebo = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23].map(f64::from);
        [[treated, watched].concat(), runs(&placebo, true)]
    }

    /// The curve as every textbook prints it.
    #[test]
    fn the_curve_of_freireichs_patients() {
        let [treated, placebo] = freireich();
        let shown: Vec<(f64, usize, String)> =
            curve(&treated).iter().map(|s| (s.at, s.at_risk, format!("{:.3}", s.unsolved))).collect();
        let want = [
            (6.0, 21, "0.857"),
            (7.0, 17, "0.807"),
            (10.0, 15, "0.753"),
            (13.0, 12, "0.690"),
            (16.0, 11, "0.627"),
            (22.0, 7, "0.538"),
            (23.0, 6, "0.448"),
        ];
        assert_eq!(shown, want.map(|(at, n, left)| (at, n, left.to_string())));
        assert_eq!((median(&treated), median(&placebo)), (Some(23.0), Some(8.0)));
        assert_eq!(median(&treated[9..]), None);
    }

    /// Means and standard errors as R's survfit prints them with rmean = 35: 23.29 (2.83) and 8.67 (1.38).
    #[test]
    fn the_restricted_mean_of_freireichs_patients() {
        let [treated, placebo] = freireich();
        for (runs, mean, error) in [(treated, 23.29, 2.83), (placebo, 8.67, 1.38)] {
            let e = restricted_mean(&runs, 35.0);
            let half = (e.upper.unwrap() - e.mean.unwrap()) / Z;
            assert!((e.mean.unwrap() - mean).abs() < 5e-3 && (half - error).abs() < 5e-3, "{e:?} {half}");
        }
        assert_eq!(restricted_mean(&[], 35.0), Estimate::NONE);
        // Where nobody is ever solved, all of the horizon is left.
        let never = [Run { at: 50.0, solved: false }; 3];
        assert_eq!(restricted_mean(&never, 50.0), Estimate::new(50.0, 50.0, 50.0));
    }
}

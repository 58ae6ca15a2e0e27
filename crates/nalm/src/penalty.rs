//! Penalties that pull weights to arithmetic, and their schedules.

use crate::lane::{self, InstructionSet, Kernel, LANES};
use crate::{Error, Lane, Real};

/// How strong a penalty is at a training step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// Always at full strength.
    Constant,
    /// 0 until `start`, then linear up to full strength at `end`.
    Ramp {
        /// Last step without penalty.
        start: u64,
        /// First step at full strength.
        end: u64,
    },
    /// Starts at full strength and is multiplied by `factor` at every positive multiple of `every`, up to `most`.
    Growth {
        /// Steps between two multiplications.
        every: u64,
        /// The multiplier.
        factor: f64,
        /// The largest strength.
        most: f64,
    },
    /// At full strength after step `after`, as long as the last logged validation error is below `validation_below`.
    Delayed {
        /// Last step without penalty.
        after: u64,
        /// The validation error at which the penalty pauses.
        validation_below: f64,
    },
}

/// The strength and schedule of a module's own penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalty {
    /// The factor at full strength; 0 for no penalty.
    pub strength: f64,
    /// When it acts.
    pub schedule: Schedule,
}

impl Penalty {
    /// No penalty.
    pub const NONE: Penalty = Penalty { strength: 0.0, schedule: Schedule::Constant };

    /// The factor at `step`, given the last logged validation error.
    pub fn at(&self, step: u64, validation: f64) -> f64 {
        let Penalty { strength, schedule } = *self;
        match schedule {
            Schedule::Constant => strength,
            Schedule::Ramp { end, .. } if step >= end => strength,
            Schedule::Ramp { start, .. } if step <= start => 0.0,
            Schedule::Ramp { start, end } => {
                strength * ((step as f64 - start as f64) / (end as f64 - start as f64)).clamp(0.0, 1.0)
            }
            Schedule::Growth { every, factor, most } => {
                let growths = step.checked_div(every).unwrap_or(0);
                (strength * libm::pow(factor, growths as f64)).min(most)
            }
            Schedule::Delayed { after, validation_below } => {
                if step > after && validation < validation_below {
                    strength
                } else {
                    0.0
                }
            }
        }
    }

    /// The step from which on it has its full strength, if it acts at all.
    pub(crate) fn full_from(&self) -> u64 {
        match self.schedule {
            _ if self.strength == 0.0 => 0,
            Schedule::Constant => 0,
            Schedule::Ramp { end, .. } => end,
            Schedule::Growth { every, factor, most } if factor > 1.0 && most > self.strength => {
                let growths = (libm::log(most / self.strength) / libm::log(factor)).ceil();
                every.saturating_mul(growths as u64)
            }
            Schedule::Growth { .. } => 0,
            Schedule::Delayed { after, .. } => after.saturating_add(1),
        }
    }

    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        let strength = self.strength;
        Error::check(strength.is_finite() && strength >= 0.0, "penalty strength", strength, "finite and at least 0")?;
        match self.schedule {
            Schedule::Constant => Ok(()),
            Schedule::Ramp { start, end } => {
                Error::check(end > start, "end of the penalty ramp", end as f64, "later than its start")
            }
            Schedule::Growth { every, factor, most } => {
                Error::check(every > 0, "steps between penalty growths", 0.0, "at least 1")?;
                Error::check(most >= strength && most.is_finite(), "largest penalty", most, "at least the first one")?;
                Error::check(factor > 1.0 && factor.is_finite(), "penalty growth factor", factor, "above 1")
            }
            Schedule::Delayed { validation_below, .. } => {
                Error::check(!validation_below.is_nan(), "validation bound", validation_below, "a number")
            }
        }
    }
}

/// The distance of a weight from {-1, 0, 1}.
#[inline(always)]
pub(crate) fn distance<R: Real>(w: R) -> R {
    let off = (R::ONE - w.abs()).abs();
    w.abs().at_most(off)
}

/// The largest distance of any weight from {-1, 0, 1}: the sparsity error of units whose weights select. NaN if any weight is.
pub fn sparsity_error<R: Real>(weights: impl IntoIterator<Item = R>) -> R {
    weights.into_iter().fold(R::ZERO, |worst, w| {
        let d = distance(w);
        if d > worst || d.is_nan() { d } else { worst }
    })
}

/// The largest of several sparsity errors, which a NaN is; nothing if nothing has one.
pub fn largest<R: Real>(errors: impl IntoIterator<Item = Option<R>>) -> Option<R> {
    errors.into_iter().flatten().reduce(|worst, error| if error > worst || error.is_nan() { error } else { worst })
}

/// The mean over the weights of min(|w|, |1 - w|), or of min(|w|, |1 - |w||) if `signed`, and its gradient:
/// returns `strength` times the value and adds `strength` times the gradient to `dp`.
#[inline(always)]
pub fn sparsity<R: Real>(weights: &[R], signed: bool, strength: R, dp: &mut [R]) -> R {
    let share = strength / R::of(weights.len() as i64 as f64);
    let (lanes, rest) = weights.as_chunks();
    let (dp, dp_rest) = dp[..weights.len()].as_chunks_mut();
    let sum = if lanes.is_empty() {
        R::ZERO
    } else if signed {
        lane::run(InstructionSet::best(), Pull::<R, true> { weights: lanes, share, dp })
    } else {
        lane::run(InstructionSet::best(), Pull::<R, false> { weights: lanes, share, dp })
    };
    share * rest.iter().zip(dp_rest).fold(sum, |sum: R, (&w, dp)| sum + pull(w, signed, share, dp))
}

/// [`pull`] over whole lanes, sixteen sums at a time.
struct Pull<'a, R, const SIGNED: bool> {
    weights: &'a [[R; LANES]],
    share: R,
    dp: &'a mut [[R; LANES]],
}

impl<R: Real, const SIGNED: bool> Kernel for Pull<'_, R, SIGNED> {
    type Output = R;
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) -> R {
        let mut sums = Lane::<R>::ZERO;
        for (dp, w) in self.dp.iter_mut().zip(self.weights) {
            for k in 0..LANES {
                sums[k] += pull(w[k], SIGNED, self.share, &mut dp[k]);
            }
        }
        sums.sum()
    }
}

/// The distance of a weight from the nearer end; `share` times its gradient is added to `dp`. Chosen by values and not by branches, so that several
/// weights are computed at once.
#[inline(always)]
fn pull<R: Real>(w: R, signed: bool, share: R, dp: &mut R) -> R {
    let (size, sign) = if signed { (w.abs(), w.sign()) } else { (w, R::ONE) };
    let (low, high) = (w.abs(), (R::ONE - size).abs());
    let (up, down) = (*dp + share * w.sign(), *dp - share * sign * (R::ONE - size).sign());
    *dp = if low > high { down } else { *dp };
    *dp = if low < high { up } else { *dp };
    if low < high { low } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_strength_begins_where_the_schedule_says() {
        let from = |strength, schedule| Penalty { strength, schedule }.full_from();
        assert_eq!(from(1.0, Schedule::Constant), 0);
        assert_eq!(from(1.0, Schedule::Ramp { start: 5, end: 9 }), 9);
        assert_eq!(from(0.0, Schedule::Ramp { start: 5, end: 9 }), 0);
        assert_eq!(from(1.0, Schedule::Delayed { after: 7, validation_below: 1.0 }), 8);
        let growth = |factor, most| from(1.0, Schedule::Growth { every: 10, factor, most });
        assert_eq!((growth(10.0, 100.0), growth(10.0, 101.0), growth(1.0, 5.0), growth(2.0, 0.5)), (20, 30, 0, 0));
        let full = Penalty { strength: 1.0, schedule: Schedule::Growth { every: 10, factor: 10.0, most: 100.0 } };
        assert_eq!((full.at(19, 0.0), full.at(20, 0.0)), (10.0, 100.0));
    }

    #[test]
    fn the_ramp_is_flat_then_linear_then_flat() {
        let p = Penalty { strength: 10.0, schedule: Schedule::Ramp { start: 20_000, end: 35_000 } };
        assert_eq!([0, 20_000, 27_500, 35_000, 99_999].map(|i| p.at(i, 0.0)), [0.0, 0.0, 5.0, 10.0, 10.0]);
    }

    #[test]
    fn the_npu_penalty_grows_tenfold_twice() {
        let p = Penalty { strength: 1e-7, schedule: Schedule::Growth { every: 10_000, factor: 10.0, most: 1e-5 } };
        for (step, want) in [(0, 1e-7), (9_999, 1e-7), (10_000, 1e-6), (20_000, 1e-5), (49_999, 1e-5)] {
            assert!((p.at(step, 0.0) / want - 1.0).abs() < 1e-12, "{step}");
        }
    }

    /// The bounds themselves are allowed where they make sense, and everything beyond them is refused with its value.
    #[test]
    fn penalties_that_make_no_sense_are_refused_with_the_value() {
        let growth = |every, factor, most| Schedule::Growth { every, factor, most };
        let message = |strength, schedule| Penalty { strength, schedule }.check().map_err(|error| error.to_string());
        for (strength, schedule) in [
            (0.0, Schedule::Constant),
            (1.0, growth(1, 1.0 + f64::EPSILON, 1.0)),
            (1e-7, growth(10_000, 10.0, 1e-5)),
            (1.0, Schedule::Ramp { start: 0, end: 1 }),
            (1.0, Schedule::Delayed { after: 0, validation_below: f64::INFINITY }),
        ] {
            assert_eq!(message(strength, schedule), Ok(()), "{schedule:?}");
        }
        for (strength, schedule, hint) in [
            (-1.0, Schedule::Constant, "penalty strength is -1;"),
            (f64::INFINITY, Schedule::Constant, "penalty strength is inf;"),
            (f64::NAN, Schedule::Constant, "penalty strength is NaN;"),
            (1.0, Schedule::Ramp { start: 5, end: 5 }, "end of the penalty ramp is 5;"),
            (1.0, growth(0, 10.0, 2.0), "steps between penalty growths is 0;"),
            (1.0, growth(1, 10.0, 0.5), "largest penalty is 0.5;"),
            (1.0, growth(1, 10.0, f64::INFINITY), "largest penalty is inf;"),
            (1.0, growth(1, 10.0, f64::NAN), "largest penalty is NaN;"),
            (1.0, growth(1, 1.0, 2.0), "penalty growth factor is 1;"),
            (1.0, growth(1, f64::INFINITY, 2.0), "penalty growth factor is inf;"),
            (1.0, growth(1, f64::NAN, 2.0), "penalty growth factor is NaN;"),
            (1.0, Schedule::Delayed { after: 0, validation_below: f64::NAN }, "validation bound is NaN;"),
        ] {
            let found = message(strength, schedule).expect_err(hint);
            assert!(found.contains(hint), "{found}");
        }
    }

    #[test]
    fn the_delayed_penalty_waits_for_a_small_error() {
        let p = Penalty { strength: 0.05, schedule: Schedule::Delayed { after: 10_000, validation_below: 1.0 } };
        assert_eq!(p.at(10_000, 0.1), 0.0);
        assert_eq!(p.at(10_001, 0.1), 0.05);
        assert_eq!(p.at(10_001, 1.0), 0.0);
        assert_eq!(p.at(10_001, f64::NAN), 0.0);
    }

    #[test]
    fn sparsity_gradients_have_the_published_signs() {
        let cases = [(0.3, 1.0), (0.7, -1.0), (0.5, 0.0), (0.0, 0.0), (1.0, 0.0)];
        for (w, gradient) in cases {
            let mut dp = [0.0];
            sparsity(&[w], false, 1.0, &mut dp);
            assert_eq!(dp, [gradient], "unsigned {w}");
            let mut dp = [0.0];
            sparsity(&[-w], true, 1.0, &mut dp);
            assert_eq!(dp[0], -gradient, "signed {}", -w);
        }
        assert_eq!(sparsity_error([0.25, -0.9, 1.0]), 0.25);
        assert!(sparsity_error([0.1f64, f64::NAN]).is_nan());
    }
}

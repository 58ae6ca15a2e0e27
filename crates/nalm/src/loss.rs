//! What training minimises.

use crate::batch::BatchLayout;
use crate::lane::{self, Kernel, LANES, Lane, each};
use crate::{Error, Real};
use std::fmt::{self, Display};
use std::str::FromStr;

/// A loss over the outputs of one batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// The mean of (y - t)^2.
    #[default]
    Mse,
    /// 1 minus Pearson's correlation of all outputs with all targets (population form). Blind to scale and offset.
    Pearson,
    /// The mean of |y - t| / |t|.
    Mape,
}

/// Keeps correlations and percentages finite where a variance or a target is 0.
const GUARD: f64 = 1e-12;

impl Loss {
    const ALL: [(Loss, &'static str); 3] = [(Loss::Mse, "mse"), (Loss::Pearson, "pearson"), (Loss::Mape, "mape")];

    /// The loss of outputs `y`; its gradient goes to `dy`, zero in the padding.
    pub fn gradient<R: Real>(self, y: &[Lane<R>], t: &[Lane<R>], dy: &mut [Lane<R>], at: BatchLayout) -> R {
        match self {
            Loss::Mse => lane::run(at.instructions, Mse { y, t, dy, at }),
            Loss::Pearson => lane::run(at.instructions, Pearson { y, t, dy, at }),
            Loss::Mape => lane::run(at.instructions, Mape { y, t, dy, at }),
        }
    }
}

impl Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(loss, _)| loss == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Loss {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text).map(|(loss, _)| *loss);
        found.ok_or_else(|| Error::unknown("loss", text, &Self::ALL.map(|(_, name)| name)))
    }
}

/// A loss, and possibly another one from some step on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossPlan {
    /// The loss at the start.
    pub first: Loss,
    /// The step from which another loss takes over, and that loss.
    pub then: Option<(u64, Loss)>,
}

impl LossPlan {
    /// The loss at `step`.
    #[inline]
    pub fn at(&self, step: u64) -> Loss {
        match self.then {
            Some((from, loss)) if step >= from => loss,
            _ => self.first,
        }
    }
}

/// `lane` with 0 in the padding, whatever is there.
#[inline(always)]
fn masked<R: Real>(lane: Lane<R>, k: usize, at: BatchLayout, last: Lane<R>) -> Lane<R> {
    lane.zip(mask(k, at, last), |value, counts| if counts > R::ZERO { value } else { R::ZERO })
}

/// 1 for the rows of lane `k` that count and 0 for padding.
///
/// The kernels below are plain loops over `k` that call this, not closures: a closure of their size would not be inlined
/// into every instruction set.
#[inline(always)]
fn mask<R: Real>(k: usize, at: BatchLayout, last: Lane<R>) -> Lane<R> {
    // A batch of whole lanes, which is most of them, pays for no division.
    let full = at.rows.is_multiple_of(LANES) || !(k + 1).is_multiple_of(at.lanes());
    if full { Lane::splat(R::ONE) } else { last }
}

/// The mask of the last lane.
#[inline(always)]
fn last_mask<R: Real>(at: BatchLayout) -> Lane<R> {
    let mut last = Lane::splat(R::ONE);
    last.0[at.rows_in(at.lanes() - 1)..].fill(R::ZERO);
    last
}

/// How many numbers count.
#[inline(always)]
fn count<R: Real>(y: &[Lane<R>], at: BatchLayout) -> R {
    // One output, the usual case, needs no division; and through i64, for which processors have an instruction.
    let outputs = if y.len() == at.lanes() { 1 } else { y.len() / at.lanes() };
    R::of((outputs * at.rows) as i64 as f64)
}

struct Mse<'a, R> {
    y: &'a [Lane<R>],
    t: &'a [Lane<R>],
    dy: &'a mut [Lane<R>],
    at: BatchLayout,
}

impl<R: Real> Kernel for Mse<'_, R> {
    type Output = R;
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) -> R {
        let Self { y, t, dy, at } = self;
        let n = count(y, at);
        let scale = R::of(2.0) / n;
        let mut sum = Lane::ZERO;
        if at.rows.is_multiple_of(LANES) {
            // The same without a mask. Two loops, one of them over flat numbers, because LLVM would make the one of both a mixture of the two.
            each::map2(dy, y, t, |y, t| (y - t) * scale);
            for (&y, &t) in y.iter().zip(t) {
                sum += (y - t) * (y - t);
            }
            return total(&sum) / n;
        }
        let last = last_mask(at);
        for (k, ((&y, &t), dy)) in y.iter().zip(t).zip(dy).enumerate() {
            let residual = masked(y - t, k, at, last);
            sum += residual * residual;
            *dy = residual * scale;
        }
        total(&sum) / n
    }
}

/// Kept out of line like [`lane::add_sums`], and for the same reason.
#[inline(never)]
fn total<R: Real>(sum: &Lane<R>) -> R {
    sum.sum()
}

struct Pearson<'a, R> {
    y: &'a [Lane<R>],
    t: &'a [Lane<R>],
    dy: &'a mut [Lane<R>],
    at: BatchLayout,
}

impl<R: Real> Kernel for Pearson<'_, R> {
    type Output = R;
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) -> R {
        let Self { y, t, dy, at } = self;
        let (n, last) = (count(y, at), last_mask(at));
        let (mut y_sum, mut t_sum) = (Lane::ZERO, Lane::ZERO);
        for (k, (&y, &t)) in y.iter().zip(t).enumerate() {
            y_sum += masked(y, k, at, last);
            t_sum += masked(t, k, at, last);
        }
        let (y_mean, t_mean) = (total(&y_sum) / n, total(&t_sum) / n);
        let (mut yy, mut tt, mut yt) = (Lane::ZERO, Lane::ZERO, Lane::ZERO);
        for (k, (&y, &t)) in y.iter().zip(t).enumerate() {
            let (a, b) = (masked(y - y_mean, k, at, last), masked(t - t_mean, k, at, last));
            yy += a * a;
            tt += b * b;
            yt += a * b;
        }
        let variance = total(&yy) / n + R::of(GUARD);
        let spread = (variance * (total(&tt) / n + R::of(GUARD))).sqrt();
        let correlation = total(&yt) / n / spread;
        let (by_t, by_y) = (R::ONE / (n * spread), correlation / (n * variance));
        for (k, ((&y, &t), dy)) in y.iter().zip(t).zip(dy).enumerate() {
            *dy = masked((y - y_mean) * by_y - (t - t_mean) * by_t, k, at, last);
        }
        R::ONE - correlation
    }
}

struct Mape<'a, R> {
    y: &'a [Lane<R>],
    t: &'a [Lane<R>],
    dy: &'a mut [Lane<R>],
    at: BatchLayout,
}

impl<R: Real> Kernel for Mape<'_, R> {
    type Output = R;
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) -> R {
        let Self { y, t, dy, at } = self;
        let (n, last) = (count(y, at), last_mask(at));
        let mut sum = Lane::ZERO;
        for (k, ((&y, &t), dy)) in y.iter().zip(t).zip(dy).enumerate() {
            let weight = t.map(|t| R::ONE / (t.abs().at_least(R::of(GUARD)) * n));
            let residual = y - t;
            sum += masked(residual.map(R::abs) * weight, k, at, last);
            *dy = masked(residual.map(R::sign) * weight, k, at, last);
        }
        total(&sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{from_lanes, to_lanes};

    const Y: [f64; 5] = [1.0, 2.5, -0.5, 4.0, 3.0];
    const T: [f64; 5] = [1.5, 2.0, -1.0, 3.0, 5.0];

    fn loss(loss: Loss, y: &[f64]) -> (f64, Vec<f64>) {
        let at = BatchLayout::new(y.len()).unwrap();
        let mut dy = vec![Lane::splat(9.0); at.lanes()];
        let (mut y, mut t) = (to_lanes(y, at).unwrap(), to_lanes(&T, at).unwrap());
        y[0].0[5..].fill(f64::INFINITY);
        t[0].0[5..].fill(f64::NAN);
        let value = loss.gradient(&y, &t, &mut dy, at);
        assert!(dy[0].0[5..].iter().all(|d| *d == 0.0), "padding");
        (value, from_lanes(&dy, at))
    }

    #[test]
    fn values_are_the_textbook_ones() {
        assert!((loss(Loss::Mse, &Y).0 - (0.25 + 0.25 + 0.25 + 1.0 + 4.0) / 5.0).abs() < 1e-12);
        assert!((loss(Loss::Mape, &Y).0 - (1.0 / 3.0 + 0.25 + 0.5 + 1.0 / 3.0 + 0.4) / 5.0).abs() < 1e-12);
        // numpy.corrcoef(Y, T)[0, 1]
        assert!((1.0 - loss(Loss::Pearson, &Y).0 - 0.839_146_391_678).abs() < 1e-9);
    }

    #[test]
    fn gradients_are_derivatives() {
        for kind in [Loss::Mse, Loss::Pearson, Loss::Mape] {
            let (_, gradient) = loss(kind, &Y);
            for k in 0..Y.len() {
                let shifted = |h: f64| {
                    let mut y = Y;
                    y[k] += h;
                    loss(kind, &y).0
                };
                let difference = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                assert!((difference - gradient[k]).abs() < 1e-8, "{kind} {k}: {difference} {}", gradient[k]);
            }
        }
    }

    #[test]
    fn a_plan_switches_at_its_step() {
        let plan = LossPlan { first: Loss::Pearson, then: Some((10, Loss::Mse)) };
        assert_eq!((plan.at(9), plan.at(10)), (Loss::Pearson, Loss::Mse));
    }

    #[test]
    fn constant_outputs_have_no_correlation_and_no_nan() {
        let (value, gradient) = loss(Loss::Pearson, &[2.0; 5]);
        assert_eq!(value, 1.0);
        assert!(gradient.iter().all(|g| g.is_finite()));
    }
}

//! Optimisers over a flat parameter vector.

use crate::lane::{self, InstructionSet, Kernel};
use crate::{Error, Real};

/// An optimiser and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Optimiser {
    /// Adam (Kingma and Ba 2015) in the order of operations of PyTorch 1.5.
    Adam {
        /// Step size.
        learning_rate: f64,
        /// Decay of the mean gradient.
        beta1: f64,
        /// Decay of the mean squared gradient.
        beta2: f64,
        /// Added to the denominator.
        epsilon: f64,
    },
    /// Stochastic gradient descent with PyTorch's momentum: b <- momentum b + g, p <- p - learning_rate b.
    Sgd {
        /// Step size.
        learning_rate: f64,
        /// Share of the last update that is kept.
        momentum: f64,
    },
}

impl Optimiser {
    /// Adam with its usual settings.
    pub fn adam(learning_rate: f64) -> Self {
        Optimiser::Adam { learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// Checks that the numbers make sense.
    pub fn check(&self) -> Result<(), Error> {
        let rate = |x: f64| Error::check(x > 0.0 && x.is_finite(), "learning rate", x, "positive and finite");
        let share = |what, x: f64| Error::check((0.0..1.0).contains(&x), what, x, "in [0, 1)");
        match *self {
            Optimiser::Adam { learning_rate, beta1, beta2, epsilon } => {
                rate(learning_rate)?;
                share("Adam's beta1", beta1)?;
                share("Adam's beta2", beta2)?;
                Error::check(epsilon >= 0.0 && epsilon.is_finite(), "Adam's epsilon", epsilon, "at least 0")
            }
            Optimiser::Sgd { learning_rate, momentum } => {
                rate(learning_rate)?;
                share("momentum", momentum)
            }
        }
    }
}

/// An optimiser at work: its settings and its memory.
#[derive(Clone, Debug)]
pub struct Optimisation<R> {
    optimiser: Optimiser,
    mean: Vec<R>,
    square: Vec<R>,
    /// beta1 and beta2 to the number of steps done.
    powers: (f64, f64),
    instructions: InstructionSet,
}

impl<R: Real> Optimisation<R> {
    /// Starts optimising a vector of `len` parameters, with the fastest instructions of this machine. Results do not depend on these.
    pub fn new(optimiser: Optimiser, len: usize) -> Result<Self, Error> {
        Self::on(InstructionSet::best(), optimiser, len)
    }

    /// The same with given instructions.
    pub fn on(instructions: InstructionSet, optimiser: Optimiser, len: usize) -> Result<Self, Error> {
        optimiser.check()?;
        let square = if matches!(optimiser, Optimiser::Adam { .. }) { len } else { 0 };
        Ok(Self {
            optimiser,
            mean: vec![R::ZERO; len],
            square: vec![R::ZERO; square],
            powers: (1.0, 1.0),
            instructions,
        })
    }

    /// What the next step depends on besides the gradient: the mean gradients, the mean squares, and the powers of both decays.
    pub fn memory(&self) -> (&[R], &[R], (f64, f64)) {
        (&self.mean, &self.square, self.powers)
    }

    /// Goes on with another learning rate; the memory stays. Called between steps it makes a schedule.
    ///
    /// ```
    /// use nalm::{Optimisation, Optimiser};
    ///
    /// let mut descent = Optimisation::new(Optimiser::Sgd { learning_rate: 0.5, momentum: 0.0 }, 1)?;
    /// let mut p = [1.0];
    /// for rate in [0.5, 0.25] {
    ///     descent.set_learning_rate(rate)?;
    ///     descent.step(&mut p, &[1.0])?;
    /// }
    /// assert_eq!(p, [0.25]);
    /// # Ok::<(), nalm::Error>(())
    /// ```
    pub fn set_learning_rate(&mut self, rate: f64) -> Result<(), Error> {
        let mut changed = self.optimiser;
        match &mut changed {
            Optimiser::Adam { learning_rate, .. } | Optimiser::Sgd { learning_rate, .. } => *learning_rate = rate,
        }
        changed.check()?;
        self.optimiser = changed;
        Ok(())
    }

    /// Takes over the memory of another one with the same settings, and goes on as that one would.
    pub fn remember(&mut self, mean: &[R], square: &[R], powers: (f64, f64)) -> Result<(), Error> {
        for power in [powers.0, powers.1] {
            Error::check((0.0..=1.0).contains(&power), "power of a decay to remember", power, "in [0, 1]")?;
        }
        for (what, own, got) in [("mean gradients", &self.mean, mean), ("mean squares", &self.square, square)] {
            if own.len() != got.len() {
                return Err(Error::Shape { what: format!("{what} to remember"), got: got.len(), want: own.len() });
            }
        }
        self.mean.copy_from_slice(mean);
        self.square.copy_from_slice(square);
        self.powers = powers;
        Ok(())
    }

    /// Moves the parameters along the gradient.
    ///
    /// ```
    /// use nalm::{Optimisation, Optimiser};
    ///
    /// let mut descent = Optimisation::new(Optimiser::Sgd { learning_rate: 0.5, momentum: 0.0 }, 2)?;
    /// let mut p = [1.0, 2.0];
    /// descent.step(&mut p, &[1.0, -2.0])?;
    /// assert_eq!(p, [0.5, 3.0]);
    /// # Ok::<(), nalm::Error>(())
    /// ```
    pub fn step(&mut self, p: &mut [R], gradient: &[R]) -> Result<(), Error> {
        Error::sizes("parameters of the optimiser", p.len(), self.mean.len())?;
        Error::sizes("numbers in the gradient", gradient.len(), self.mean.len())?;
        self.advance(p, gradient);
        Ok(())
    }

    /// [`Optimisation::step`] for sizes that are known to fit.
    pub(crate) fn advance(&mut self, p: &mut [R], gradient: &[R]) {
        let mean = &mut self.mean;
        match self.optimiser {
            Optimiser::Adam { learning_rate, beta1, beta2, epsilon } => {
                self.powers = (next_power(self.powers.0, beta1), next_power(self.powers.1, beta2));
                let rest = (1.0 - self.powers.0, 1.0 - self.powers.1);
                let adam = Adam {
                    beta1: R::of(beta1),
                    rest1: R::of(1.0 - beta1),
                    beta2: R::of(beta2),
                    rest2: R::of(1.0 - beta2),
                    epsilon: R::of(epsilon),
                    rate: R::of(-(if rest.0 == 1.0 { learning_rate } else { learning_rate / rest.0 })),
                    correction: R::of(if rest.1 == 1.0 { 1.0 } else { rest.1.sqrt() }),
                    p,
                    gradient,
                    mean,
                    square: &mut self.square,
                };
                lane::run(self.instructions, adam);
            }
            Optimiser::Sgd { learning_rate, momentum } => {
                let (rate, momentum) = (R::of(learning_rate), R::of(momentum));
                for ((p, &g), mean) in p.iter_mut().zip(gradient).zip(mean) {
                    *mean = momentum * *mean + g;
                    *p -= rate * *mean;
                }
            }
        }
    }
}

/// `power` times `beta`. A power that has not counted for long, because 1 minus it is 1, stays as it is in the end. It would become subnormal otherwise, and
/// multiplying such numbers takes a processor many times as long.
fn next_power(power: f64, beta: f64) -> f64 {
    if power < 1e-300 { power } else { power * beta }
}

struct Adam<'a, R> {
    beta1: R,
    rest1: R,
    beta2: R,
    rest2: R,
    epsilon: R,
    rate: R,
    correction: R,
    p: &'a mut [R],
    gradient: &'a [R],
    mean: &'a mut [R],
    square: &'a mut [R],
}

impl<R: Real> Kernel for Adam<'_, R> {
    type Output = ();
    const EVERYWHERE: bool = R::EVERYWHERE;
    #[inline(always)]
    fn run(self) {
        let n = self.p.len();
        let (p, g) = (&mut self.p[..n], &self.gradient[..n]);
        let (mean, square) = (&mut self.mean[..n], &mut self.square[..n]);
        for k in 0..n {
            mean[k] = mean[k] * self.beta1 + self.rest1 * g[k];
            square[k] = square[k] * self.beta2 + self.rest2 * g[k] * g[k];
            let denominator = square[k].sqrt() / self.correction + self.epsilon;
            p[k] += self.rate * mean[k] / denominator;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_steps(optimiser: Optimiser) -> [f64; 2] {
        let mut p = [1.0, -2.0];
        let mut optimisation = Optimisation::new(optimiser, 2).unwrap();
        for _ in 0..3 {
            let gradient = [2.0 * p[0], 6.0 * p[1]];
            optimisation.step(&mut p, &gradient).unwrap();
        }
        p
    }

    /// torch.optim.Adam([1., -2.], lr=0.1) on p0^2 + 3 p1^2, float64.
    #[test]
    fn adam_takes_pytorchs_steps() {
        let p = three_steps(Optimiser::adam(0.1));
        assert!((p[0] - 0.701_586_272_946_030_2).abs() < 1e-12, "{p:?}");
        assert!((p[1] + 1.700_623_391_536_032_5).abs() < 1e-12, "{p:?}");
    }

    /// torch.optim.SGD([1., -2.], lr=0.1, momentum=0.9) on p0^2 + 3 p1^2, float64.
    #[test]
    fn sgd_takes_pytorchs_steps() {
        let p = three_steps(Optimiser::Sgd { learning_rate: 0.1, momentum: 0.9 });
        assert!((p[0] - 0.062).abs() < 1e-12 && (p[1] - 1.708).abs() < 1e-12, "{p:?}");
    }

    #[test]
    fn a_memory_taken_over_goes_on_alike() {
        let mut first = Optimisation::new(Optimiser::adam(0.1), 2).unwrap();
        let mut p = [1.0f32, -2.0];
        first.step(&mut p, &[0.5, 0.25]).unwrap();
        let mut second = Optimisation::new(Optimiser::adam(0.1), 2).unwrap();
        let (mean, square, powers) = first.memory();
        second.remember(mean, square, powers).unwrap();
        let mut q = p;
        first.step(&mut p, &[-0.1, 3.0]).unwrap();
        second.step(&mut q, &[-0.1, 3.0]).unwrap();
        let error = second.step(&mut q, &[0.0]).unwrap_err().to_string();
        assert_eq!(error, "numbers in the gradient: got 1, but 2 is needed");
        assert_eq!(p, q);
        assert!(second.remember(&[0.0], &[0.0, 0.0], powers).unwrap_err().to_string().contains("mean gradients"));
    }

    #[test]
    fn bad_settings_are_named() {
        for (optimiser, hint) in [
            (Optimiser::adam(f64::NAN), "learning rate is NaN"),
            (Optimiser::adam(-1.0), "learning rate is -1"),
            (Optimiser::Sgd { learning_rate: 0.1, momentum: 1.0 }, "momentum is 1"),
            (Optimiser::Adam { learning_rate: 1.0, beta1: 2.0, beta2: 0.9, epsilon: 0.0 }, "beta1 is 2"),
        ] {
            let message = optimiser.check().unwrap_err().to_string();
            assert!(message.contains(hint), "{message}");
        }
    }
}

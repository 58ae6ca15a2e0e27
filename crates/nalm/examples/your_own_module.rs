//! Your own unit in sixty lines: y = scale * prod_i x_i with one learnable scale, checked and trained like the listed ones.
//!
//! `cargo run --release --example your_own_module`

use nalm::gradcheck;
use nalm::{BatchLayout, Config, Error, Lane, Module, Network, Pass, Real, Rng, Shape, SingleModule, train};

#[derive(Debug)]
struct ScaledProduct {
    shape: Shape,
}

impl ScaledProduct {
    fn new(inputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, 1)? })
    }
}

impl<R: Real> Module<R> for ScaledProduct {
    fn name(&self) -> &'static str {
        "scaled-product"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        1
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        p[0] = rng.uniform(R::ZERO, R::ONE);
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], _: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        for (c, y) in y.iter_mut().enumerate() {
            *y = (0..self.shape.inputs).fold(Lane::splat(p[0]), |product, i| product * at.feature(x, i)[c]);
        }
    }

    #[inline(always)]
    fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        mut dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        _: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        for c in 0..at.lanes() {
            let others = |skip: usize| {
                let kept = (0..self.shape.inputs).filter(move |&i| i != skip);
                kept.fold(dy[c], |product, i| product * at.feature(x, i)[c])
            };
            dp[0] += others(usize::MAX).sum();
            for i in 0..self.shape.inputs {
                if let Some(dx) = dx.as_deref_mut() {
                    at.feature_mut(dx, i)[c] = others(i) * p[0];
                }
            }
        }
    }
}

fn main() -> Result<(), Error> {
    let check = gradcheck::check_many(&Network::single(ScaledProduct::new(3)?), true, 20);
    println!("worst relative error of {} gradients: {:.1e}", check.compared, check.worst_relative_error);
    assert!(check.worst_relative_error < 1e-6, "the backward pass does not belong to the forward pass");

    let network = Network::<f32>::single(ScaledProduct::new(2)?);
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0)?;
    let outcome = train(&network, &task, 0, &Config::published(&network).steps(5_000), &mut ())?;
    println!("scale {:?}, error outside the training range {:.1e}", outcome.params, outcome.test_error);
    assert!(outcome.solved());
    Ok(())
}

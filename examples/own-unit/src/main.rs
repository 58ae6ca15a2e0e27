//! The command line `nalm` with a unit of one's own, y = scale * x1 * x2, and without a fork: `cargo run -p own-unit -- list modules`

use nalm::module::{Module, Pass, Shape, Spec};
use nalm::{BatchLayout, Lane, Real, Rng};
use nalm_lab::Registry;

#[derive(Clone, Debug)]
struct Scaled(Shape);

pub(crate) fn spec<R: Real>() -> Spec<R> {
    Spec::new("scaled", "scaled product", "y = scale x1 x2", |shape, _| Ok(Box::new(Scaled(shape.only(2, 1)?))))
}

impl<R: Real> Module<R> for Scaled {
    fn name(&self) -> &'static str {
        "scaled"
    }
    fn shape(&self) -> Shape {
        self.0
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
            *y = at.feature(x, 0)[c] * at.feature(x, 1)[c] * p[0];
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
            let (a, b) = (at.feature(x, 0)[c], at.feature(x, 1)[c]);
            dp[0] += (dy[c] * a * b).sum();
            if let Some(dx) = dx.as_deref_mut() {
                at.feature_mut(dx, 0)[c] = dy[c] * b * p[0];
                at.feature_mut(dx, 1)[c] = dy[c] * a * p[0];
            }
        }
    }
}

fn main() -> std::process::ExitCode {
    let mut registry = Registry::default();
    registry.catalogue.add_module(spec(), spec()).expect("the name is free");
    nalm_cli::run(&registry, std::env::args_os())
}

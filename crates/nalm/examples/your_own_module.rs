//! Your own unit: y = scale * prod_i x_i with one learnable scale, held against the laws and trained like the listed ones.
//!
//! `cargo run --release --example your_own_module`

use nalm::laws;
use nalm::module::Spec;
use nalm::{BatchLayout, Config, Error, Lane, Module, Network, Operation, Pass, Real, Rng, Shape, SingleModule, train};

#[derive(Debug)]
struct ScaledProduct {
    shape: Shape,
}

impl ScaledProduct {
    fn new(inputs: usize) -> Result<Self, Error> {
        Ok(Self { shape: Shape::new(inputs, 1)? })
    }
}

fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "scaled-product",
        label: "scaled product",
        citation: "this example",
        formula: "y = scale prod_i x_i",
        parameters: "scale [1]",
        allowed: "unbounded",
        claims: &[Operation::Mul],
        options: &[],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: false,
        build: |shape, _| {
            if shape.outputs > 1 {
                return Err(Error::Shape { what: "outputs of a product".into(), got: shape.outputs, want: 1 });
            }
            Ok(Box::new(ScaledProduct::new(shape.inputs)?))
        },
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

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        (operation == Operation::Mul && self.shape.inputs == 2).then(|| vec![R::ONE])
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Gradients against differences, the same bits on every instruction set, no influence of padding, and more.
    laws::check(&spec(), &spec())?;

    let network = Network::<f32>::single(ScaledProduct::new(2)?);
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0)?;
    let outcome = train(&network, &task, 0, &Config::published(&network).steps(5_000), &mut ())?;
    println!("scale {:?}, error outside the training range {:.1e}", outcome.params, outcome.test_error);
    assert!(outcome.solved());
    Ok(())
}

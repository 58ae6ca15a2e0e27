//! MLP(h), the ordinary network with one hidden layer of h rectified units.
//!
//! y = W2 max(W1 x + b1, 0) + b2

use super::{Module, Options, Pass, Shape, Spec, xavier};
use crate::batch::Layout;
use crate::lane::linear;
use crate::rng::Rng;
use crate::{Error, Lane, Operation, Real};

/// A multi-layer perceptron with one hidden layer.
#[derive(Clone, Debug)]
pub struct Mlp {
    shape: Shape,
    hidden: usize,
}

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "mlp",
        label: "MLP",
        citation: "Rosenblatt 1958; He et al., Delving Deep into Rectifiers, ICCV 2015",
        formula: "y = W2 max(W1 x + b1, 0) + b2",
        parameters: "W1 [hidden, inputs], b1 [hidden], W2 [outputs, hidden], b2 [outputs]",
        allowed: "unbounded",
        claims: &[Operation::Add],
        options: &["hidden"],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: true,
        build: |shape, options: &Options| Ok(Box::new(Mlp::new(shape.inputs, options.hidden, shape.outputs)?)),
    }
}

impl Mlp {
    /// An MLP with this many inputs, hidden units and outputs.
    pub fn new(inputs: usize, hidden: usize, outputs: usize) -> Result<Self, Error> {
        Error::check(hidden > 0, "number of hidden units", hidden as f64, "at least 1")?;
        Ok(Self { shape: Shape::new(inputs, outputs)?, hidden })
    }

    #[inline(always)]
    fn first(&self) -> usize {
        self.hidden * self.shape.inputs
    }

    #[inline(always)]
    fn split<'a, R>(&self, p: &'a [R]) -> [&'a [R]; 4] {
        let (w1, p) = p.split_at(self.first());
        let (b1, p) = p.split_at(self.hidden);
        let (w2, b2) = p.split_at(self.shape.outputs * self.hidden);
        [w1, b1, w2, b2]
    }

    #[inline(always)]
    fn split_mut<'a, R>(&self, p: &'a mut [R]) -> [&'a mut [R]; 4] {
        let (w1, p) = p.split_at_mut(self.first());
        let (b1, p) = p.split_at_mut(self.hidden);
        let (w2, b2) = p.split_at_mut(self.shape.outputs * self.hidden);
        [w1, b1, w2, b2]
    }
}

impl<R: Real> Module<R> for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn param_len(&self) -> usize {
        self.first() + self.hidden + self.shape.outputs * self.hidden + self.shape.outputs
    }

    fn tape_len(&self, at: Layout) -> usize {
        2 * self.hidden * at.lanes()
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        let [w1, b1, w2, b2] = self.split_mut(p);
        let he = R::of((6.0 / self.shape.inputs as f64).sqrt());
        let r = xavier::<R>(Shape { inputs: self.hidden, outputs: self.shape.outputs });
        w1.fill_with(|| rng.uniform(-he, he));
        w2.fill_with(|| rng.uniform(-r, r));
        b1.fill(R::ZERO);
        b2.fill(R::ZERO);
    }

    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: Layout, _: Pass<'_>) {
        let lanes = at.lanes();
        let [w1, b1, w2, b2] = self.split(p);
        let z = &mut tape[..self.hidden * lanes];
        linear::forward(w1, x, z, lanes);
        for (z, &b) in z.chunks_exact_mut(lanes).zip(b1) {
            for z in z {
                *z = (*z + b).map(|z| z.at_least(R::ZERO));
            }
        }
        linear::forward(w2, z, y, lanes);
        for (y, &b) in y.chunks_exact_mut(lanes).zip(b2) {
            for y in y {
                *y = *y + b;
            }
        }
    }

    #[inline(always)]
    fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: Layout,
    ) {
        let lanes = at.lanes();
        let [w1, _, w2, _] = self.split(p);
        let [dw1, db1, dw2, db2] = self.split_mut(dp);
        let (z, dz) = tape.split_at_mut(self.hidden * lanes);
        linear::weight_gradient(dy, z, dw2, lanes);
        for (db, dy) in db2.iter_mut().zip(dy.chunks_exact(lanes)) {
            *db += linear::row_sum(dy);
        }
        dz.fill(Lane::ZERO);
        linear::input_gradient(w2, dy, dz, lanes);
        for (dz, &z) in dz.iter_mut().zip(&*z) {
            *dz = dz.zip(z, |dz, z| if z > R::ZERO { dz } else { R::ZERO });
        }
        linear::weight_gradient(dz, x, dw1, lanes);
        for (db, dz) in db1.iter_mut().zip(dz.chunks_exact(lanes)) {
            *db += linear::row_sum(dz);
        }
        if let Some(dx) = dx {
            dx.fill(Lane::ZERO);
            linear::input_gradient(w1, dz, dx, lanes);
        }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        (operation == Operation::Add && self.shape.inputs >= 2).then(|| {
            let mut p = vec![R::ZERO; Module::<R>::param_len(self)];
            let [w1, _, w2, _] = self.split_mut(&mut p);
            w1[..2].fill(R::ONE);
            w2.iter_mut().step_by(self.hidden).for_each(|w| *w = R::ONE);
            p
        })
    }
}

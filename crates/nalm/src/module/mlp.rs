//! MLP(h), the ordinary network with one hidden layer of h rectified units.
//!
//! y = W2 max(W1 x + b1, 0) + b2

use super::linear::affine;
use super::start::xavier;
use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{add_sums, each, linear};
use crate::rng::Rng;
use crate::setting::{Kind, Setting};
use crate::style::{MOST_WRITTEN, Style};
use crate::{Error, Lane, Operation, Real};

/// A multi-layer perceptron with one hidden layer.
///
/// ```text
/// y = W2 max(W1 x + b1, 0) + b2
/// ```
#[derive(Clone, Debug)]
pub struct Mlp {
    shape: Shape,
    hidden: usize,
}

const HIDDEN: Setting = Setting::new("hidden", Kind::Whole, "100", "hidden units");

pub(super) fn spec<R: Real>() -> Spec<R> {
    Spec {
        name: "mlp",
        label: "MLP",
        citation: "Rosenblatt 1958; He et al., Delving Deep into Rectifiers, ICCV 2015",
        formula: "y = W2 max(W1 x + b1, 0) + b2",
        parameters: "W1 [hidden, inputs], b1 [hidden], W2 [outputs, hidden], b2 [outputs]",
        allowed: "unbounded",
        claims: &[Operation::Add],
        options: &[HIDDEN],
        smooth_at_zero: true,
        gold_error: 0.0,
        gold_positive: true,
        build: |shape, options: &Options| Ok(Box::new(Mlp::new(shape.inputs, options.whole(&HIDDEN)?, shape.outputs)?)),
    }
}

impl Mlp {
    /// An MLP with this many inputs, hidden units and outputs.
    pub fn new(inputs: usize, hidden: usize, outputs: usize) -> Result<Self, Error> {
        Error::check(hidden > 0, "number of hidden units", hidden as f64, "at least 1")?;
        Shape::new(inputs.max(outputs), hidden)?;
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

    fn tape_len(&self, at: BatchLayout) -> usize {
        self.hidden * at.lanes() + at.lanes() + Module::<R>::param_len(self)
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

    /// One hidden unit after the other, so that what a unit needs stays in the first-level cache.
    #[inline(always)]
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let (lanes, inputs, hidden) = (at.lanes(), self.shape.inputs, self.hidden);
        let [w1, b1, w2, b2] = self.split(p);
        for (y, &b) in y.chunks_exact_mut(lanes).zip(b2) {
            y.fill(Lane::splat(b));
        }
        for (j, z) in tape[..hidden * lanes].chunks_exact_mut(lanes).enumerate() {
            linear::forward(&w1[j * inputs..][..inputs], x, z, lanes);
            each::update(z, |z| (z + b1[j]).at_least(R::ZERO));
            for (o, y) in y.chunks_exact_mut(lanes).enumerate() {
                let w = w2[o * hidden + j];
                each::update1(y, z, |y, z| y + z * w);
            }
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
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let (lanes, inputs, hidden) = (at.lanes(), self.shape.inputs, self.hidden);
        let [w1, _, w2, _] = self.split(p);
        let (z, tape) = tape.split_at_mut(hidden * lanes);
        let (dz, sums) = tape.split_at_mut(lanes);
        let [sum_w1, sum_b1, sum_w2, sum_b2] = self.split_mut(sums);
        if let Some(dx) = dx.as_deref_mut() {
            dx.fill(Lane::ZERO);
        }
        for (j, z) in z.chunks_exact(lanes).enumerate() {
            dz.fill(Lane::ZERO);
            for (o, dy) in dy.chunks_exact(lanes).enumerate() {
                let w = w2[o * hidden + j];
                each::update1(dz, dy, |dz, dy| dz + dy * w);
                sum_w2[o * hidden + j] = linear::dot(dy, z);
            }
            each::update1(dz, z, |dz, z| if z > R::ZERO { dz } else { R::ZERO });
            sum_b1[j] = linear::partial_sums(dz);
            for (i, x) in x.chunks_exact(lanes).enumerate() {
                sum_w1[j * inputs + i] = linear::dot(dz, x);
            }
            if let Some(dx) = dx.as_deref_mut() {
                linear::input_gradient(&w1[j * inputs..][..inputs], dz, dx, lanes);
            }
        }
        for (sum, dy) in sum_b2.iter_mut().zip(dy.chunks_exact(lanes)) {
            *sum = linear::partial_sums(dy);
        }
        add_sums(sums, dp);
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

    fn formula(&self, p: &[f64], inputs: &[Expression], _: Style) -> Option<Vec<Expression>> {
        // Every output repeats the whole hidden layer.
        if self.shape.outputs * self.hidden * (self.shape.inputs + 1) > MOST_WRITTEN {
            return None;
        }
        let [w1, b1, w2, b2] = self.split(p);
        let hidden = w1.chunks_exact(self.shape.inputs).zip(b1);
        let hidden: Vec<Expression> = hidden.map(|(w, &b)| affine(w, inputs, b).at_least(0.0)).collect();
        Some(w2.chunks_exact(self.hidden).zip(b2).map(|(w, &b)| affine(w, &hidden, b)).collect())
    }

    fn options(&self) -> Options {
        Options::new().with(HIDDEN.name, self.hidden)
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(self.clone()))
    }
}

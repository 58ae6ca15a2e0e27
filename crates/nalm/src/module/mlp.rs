//! MLP(h), the ordinary network with one hidden layer of h rectified units.
//!
//! y = W2 max(W1 x + b1, 0) + b2

use super::linear::affine;
use super::start::xavier;
use super::{Dispatch, Module, Options, Pass, Shape, Spec};
use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::lane::{add_sums, linear};
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
        claims: &[Operation::Add, Operation::Sub],
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
        self.hidden * at.lanes() + Module::<R>::param_len(self)
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
    fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], tape: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
        let (lanes, hidden) = (at.lanes(), self.hidden);
        let [w1, b1, w2, b2] = self.split(p);
        for (y, &b) in y.chunks_exact_mut(lanes).zip(b2) {
            y.fill(Lane::splat(b));
        }
        for (j, z) in tape[..hidden * lanes].chunks_exact_mut(lanes).enumerate() {
            match self.shape {
                // The same code without inner loops.
                Shape { inputs: 2, outputs: 1 } => forward_unit(2, 1, &w1[2 * j..], b1[j], &w2[j..], hidden, x, y, z),
                Shape { inputs, outputs } => {
                    forward_unit(inputs, outputs, &w1[j * inputs..], b1[j], &w2[j..], hidden, x, y, z);
                }
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
        let (lanes, hidden, Shape { inputs, outputs }) = (at.lanes(), self.hidden, self.shape);
        let [w1, _, w2, _] = self.split(p);
        let (z, sums) = tape.split_at_mut(hidden * lanes);
        sums.fill(Lane::ZERO);
        if let Some(dx) = dx.as_deref_mut() {
            dx.fill(Lane::ZERO);
        }
        let [sum_w1, sum_b1, sum_w2, sum_b2] = self.split_mut(sums);
        for (j, z) in z.chunks_exact(lanes).enumerate() {
            let (w1, dx, sum_w1) =
                (&w1[j * inputs..][..inputs], dx.as_deref_mut(), &mut sum_w1[j * inputs..][..inputs]);
            sum_b1[j] = match (inputs, outputs) {
                // As above, with sums in registers.
                (2, 1) => {
                    let (mut local_w1, mut local_w2) = ([Lane::ZERO; 2], [Lane::ZERO]);
                    let sums = (&mut local_w1[..], &mut local_w2[..]);
                    let sum = backward_unit(2, 1, w1, &w2[j..], hidden, x, dy, z, dx, sums);
                    sum_w1.copy_from_slice(&local_w1);
                    sum_w2[j] = local_w2[0];
                    sum
                }
                _ => {
                    let sums = (sum_w1, &mut sum_w2[j..]);
                    backward_unit(inputs, outputs, w1, &w2[j..], hidden, x, dy, z, dx, sums)
                }
            };
        }
        for (sum, dy) in sum_b2.iter_mut().zip(dy.chunks_exact(lanes)) {
            *sum = linear::partial_sums(dy);
        }
        add_sums(sums, dp);
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        let sign = match operation {
            Operation::Add => R::ONE,
            Operation::Sub => -R::ONE,
            _ => return None,
        };
        let inputs = self.shape.inputs;
        (inputs >= 2).then(|| {
            let mut p = vec![R::ZERO; Module::<R>::param_len(self)];
            let [w1, b1, w2, b2] = self.split_mut(&mut p);
            w1[..2].copy_from_slice(&[R::ONE, sign]);
            w2.iter_mut().step_by(self.hidden).for_each(|w| *w = R::ONE);
            if self.hidden > 1 {
                // max(s, 0) - max(-s, 0) is s.
                w1[inputs..inputs + 2].copy_from_slice(&[-R::ONE, -sign]);
                w2.iter_mut().skip(1).step_by(self.hidden).for_each(|w| *w = -R::ONE);
            } else {
                // Far enough above 0 a single unit passes on what it is given.
                b1.fill(R::of(1024.0));
                b2.fill(R::of(-1024.0));
            }
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

/// What one hidden unit makes of the inputs, in one pass over the batch: its value, and its share of the outputs. `w2` has one weight every `stride` numbers.
#[inline(always)]
fn forward_unit<R: Real>(
    inputs: usize,
    outputs: usize,
    w1: &[R],
    b1: R,
    w2: &[R],
    stride: usize,
    x: &[Lane<R>],
    y: &mut [Lane<R>],
    z: &mut [Lane<R>],
) {
    let lanes = z.len();
    for c in 0..lanes {
        let mut sum = Lane::ZERO;
        for i in 0..inputs {
            sum += x[i * lanes + c] * w1[i];
        }
        let value = (sum + b1).map(|z| z.at_least(R::ZERO));
        z[c] = value;
        for o in 0..outputs {
            y[o * lanes + c] += value * w2[o * stride];
        }
    }
}

/// The gradient of one hidden unit in one pass over the batch: partial sums for its weights and, returned, its bias, and its share of the
/// inputs' gradient.
#[inline(always)]
fn backward_unit<R: Real>(
    inputs: usize,
    outputs: usize,
    w1: &[R],
    w2: &[R],
    stride: usize,
    x: &[Lane<R>],
    dy: &[Lane<R>],
    z: &[Lane<R>],
    mut dx: Option<&mut [Lane<R>]>,
    (sum_w1, sum_w2): (&mut [Lane<R>], &mut [Lane<R>]),
) -> Lane<R> {
    let (lanes, mut sum_b1) = (z.len(), Lane::ZERO);
    for c in 0..lanes {
        let (z, mut dz) = (z[c], Lane::ZERO);
        for o in 0..outputs {
            let dy = dy[o * lanes + c];
            dz += dy * w2[o * stride];
            sum_w2[o * stride] += dy * z;
        }
        let dz = dz.zip(z, |dz, z| if z > R::ZERO { dz } else { R::ZERO });
        sum_b1 += dz;
        for i in 0..inputs {
            sum_w1[i] += dz * x[i * lanes + c];
            if let Some(dx) = dx.as_deref_mut() {
                dx[i * lanes + c] += dz * w1[i];
            }
        }
    }
    sum_b1
}

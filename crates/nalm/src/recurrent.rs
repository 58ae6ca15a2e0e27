//! A cell that is applied again and again to its own output: how a product of a sequence is learned.

use crate::batch::BatchLayout;
use crate::module::{Dispatch, Module, Pass, Shape};
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::{Error, Lane, Real};

/// Unrolls a cell over a sequence: s_t = cell(x_t, s_(t-1)), and the output is the last state.
///
/// The cell's outputs are the state; its inputs are the features of one step followed by the state. All steps share one
/// set of parameters. The input of the recurrence is the whole sequence, step after step.
///
/// ```
/// use nalm::{Error, Network, Nmu, Recurrent};
///
/// let product = Network::single(Recurrent::new(Box::new(Nmu::new(2, 1)?), 4, 1.0)?);
/// assert_eq!(product.predict(&[1.0, 1.0], &[1.0, 2.0, 3.0, 4.0])?, [24.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Recurrent<R: Real> {
    cell: Box<dyn Dispatch<R>>,
    steps: usize,
    start: R,
}

impl<R: Real> Recurrent<R> {
    /// Applies `cell` for `steps` steps from a state filled with `start` (1 for products, 0 for sums).
    pub fn new(cell: Box<dyn Dispatch<R>>, steps: usize, start: f64) -> Result<Self, Error> {
        let Shape { inputs, outputs } = cell.shape();
        Error::check(steps > 0, "number of recurrent steps", steps as f64, "at least 1")?;
        Error::check(start.is_finite(), "initial state", start, "finite")?;
        if inputs <= outputs {
            let what = format!("inputs of the cell {}, which take its {outputs} outputs and the step", cell.name());
            return Err(Error::Shape { what, got: inputs, want: outputs + 1 });
        }
        Ok(Self { cell, steps, start: R::of(start) })
    }

    /// Features of one step.
    fn features(&self) -> usize {
        self.cell.shape().inputs - self.cell.shape().outputs
    }
}

/// One step's part of the tape: the cell's input, its output and its own tape.
fn split<R>(part: &mut [Lane<R>], input: usize, output: usize) -> [&mut [Lane<R>]; 3] {
    let (x, rest) = part.split_at_mut(input);
    let (y, tape) = rest.split_at_mut(output);
    [x, y, tape]
}

impl<R: Real> Module<R> for Recurrent<R> {
    fn name(&self) -> &'static str {
        "recurrent"
    }

    fn shape(&self) -> Shape {
        Shape { inputs: self.steps * self.features(), outputs: self.cell.shape().outputs }
    }

    fn param_len(&self) -> usize {
        self.cell.param_len()
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        let Shape { inputs, outputs } = self.cell.shape();
        self.steps * ((inputs + outputs) * at.lanes() + self.cell.tape_len(at)) + (inputs + outputs) * at.lanes()
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        self.cell.init(p, rng);
    }

    fn forward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        y: &mut [Lane<R>],
        tape: &mut [Lane<R>],
        at: BatchLayout,
        mut pass: Pass<'_>,
    ) {
        let (step, state) = (self.features() * at.lanes(), y.len());
        let part = step + 2 * state + self.cell.tape_len(at);
        y.fill(Lane::splat(self.start));
        for (x, part) in x.chunks_exact(step).zip(tape.chunks_exact_mut(part)) {
            let [input, output, inner] = split(part, step + state, state);
            input[..step].copy_from_slice(x);
            input[step..].copy_from_slice(y);
            self.cell.run_forward(p, input, output, inner, at, pass.reborrow());
            y.copy_from_slice(output);
        }
    }

    fn backward(
        &self,
        p: &[R],
        _: &[Lane<R>],
        dy: &[Lane<R>],
        mut dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let (step, state) = (self.features() * at.lanes(), dy.len());
        let part = step + 2 * state + self.cell.tape_len(at);
        let (parts, scratch) = tape.split_at_mut(self.steps * part);
        let (dinput, dstate) = scratch.split_at_mut(step + state);
        dstate[..state].copy_from_slice(dy);
        for t in (0..self.steps).rev() {
            let [input, _, inner] = split(&mut parts[t * part..][..part], step + state, state);
            self.cell.run_backward(p, input, &dstate[..state], Some(dinput), dp, inner, at);
            if let Some(dx) = dx.as_deref_mut() {
                dx[t * step..][..step].copy_from_slice(&dinput[..step]);
            }
            dstate[..state].copy_from_slice(&dinput[step..]);
        }
    }

    fn bounds(&self, index: usize) -> (R, R) {
        self.cell.bounds(index)
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        self.cell.penalty(p, strength, dp)
    }

    fn sparsity_error(&self, p: &[R]) -> R {
        self.cell.sparsity_error(p)
    }

    fn recipe(&self) -> Recipe {
        self.cell.recipe()
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        Some(Box::new(Recurrent { cell: self.cell.as_f64()?, steps: self.steps, start: self.start.to_f64() }))
    }
}

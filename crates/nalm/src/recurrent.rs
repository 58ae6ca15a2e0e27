//! A cell that is applied again and again to its own output: how a product of a sequence is learned.

use crate::batch::BatchLayout;
use crate::expression::Expression;
use crate::layer::Layer;
use crate::module::{Backward, Dispatch, Forward, Module, Pass, Shape};
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::style::Style;
use crate::{Error, Lane, Real};
use std::sync::Arc;

/// Unrolls a cell over a sequence: s_t = cell(x_t, s_(t-1)), and the output is the last state, or every state.
///
/// The cell's outputs are the state; its inputs are the features of one step followed by the state. All steps share one
/// set of parameters. The input of the recurrence is the whole sequence, step after step, and so is the output where it is every state.
///
/// ```
/// use nalm::{Error, Network, Nmu, Recurrent};
///
/// let product = Network::single(Recurrent::new(Box::new(Nmu::new(2, 1)?), 4, 1.0)?);
/// assert_eq!(product.predict(&[1.0, 1.0], &[1.0, 2.0, 3.0, 4.0])?, [24.0]);
/// let products = Network::single(Recurrent::every_state(Box::new(Nmu::new(2, 1)?), 4, 1.0)?);
/// assert_eq!(products.predict(&[1.0, 1.0], &[1.0, 2.0, 3.0, 4.0])?, [1.0, 2.0, 6.0, 24.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recurrent<R: Real> {
    cell: Arc<dyn Dispatch<R>>,
    steps: usize,
    start: R,
    output: Output,
}

/// Formulas of more operations, over all steps, are not unrolled.
const MOST: usize = 100_000;

/// Which states are the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Last,
    Every,
}

/// Numbers of lanes in a layout.
#[derive(Clone, Copy)]
struct Sizes {
    /// Features of one step.
    step: usize,
    /// The state.
    state: usize,
    /// What one step leaves on the tape: the cell's input, its output and its own tape.
    part: usize,
}

impl<R: Real> Recurrent<R> {
    /// Applies `cell` for `steps` steps from a state filled with `start` (1 for products, 0 for sums). The output is the last state.
    pub fn new(cell: Box<dyn Dispatch<R>>, steps: usize, start: f64) -> Result<Self, Error> {
        Self::with_output(cell, steps, start, Output::Last)
    }

    /// The same, but the output is the state after every step.
    pub fn every_state(cell: Box<dyn Dispatch<R>>, steps: usize, start: f64) -> Result<Self, Error> {
        Self::with_output(cell, steps, start, Output::Every)
    }

    fn with_output(cell: Box<dyn Dispatch<R>>, steps: usize, start: f64, output: Output) -> Result<Self, Error> {
        let Shape { inputs, outputs } = cell.shape();
        Error::check(R::of(start).is_finite(), "initial state", start, "finite")?;
        if inputs <= outputs {
            let what = format!("inputs of the cell {}, which take its {outputs} outputs and the step", cell.name());
            return Err(Error::Shape { what, got: inputs, want: outputs + 1 });
        }
        Self { cell: Arc::from(cell), steps: 1, start: R::of(start), output }.with_steps(steps)
    }

    /// The same cell over another number of steps.
    pub fn with_steps(&self, steps: usize) -> Result<Self, Error> {
        Error::check(steps > 0, "number of recurrent steps", steps as f64, "at least 1")?;
        let most = self.features().max(self.cell.shape().outputs);
        // The sequence must be a shape, like any other.
        Shape::new(steps.saturating_mul(most), 1)?;
        Ok(Self { steps, ..self.clone() })
    }

    /// How often the cell is applied.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The inputs of the cell at a step (from 0 on), as the last forward pass left them on the tape: the features of the step, then the
    /// state before it.
    pub fn cell_inputs<'a>(&self, tape: &'a [Lane<R>], step: usize, at: BatchLayout) -> &'a [Lane<R>] {
        let Sizes { step: features, state, part } = self.sizes(at);
        &tape[step * part..][..features + state]
    }

    /// The noise on them in the last [`Pass::Train`], where the cell multiplies its inputs by noise: see [`Module::noise_on`].
    pub fn cell_noise<'a>(&self, tape: &'a [Lane<R>], step: usize, at: BatchLayout) -> Option<&'a [Lane<R>]> {
        let Sizes { step: features, state, part } = self.sizes(at);
        self.cell.noise_on(&tape[step * part..][features + 2 * state..part], at)
    }

    /// [`Module::backward`] for a loss that also looks at the inputs of the cell, as [`Recurrent::cell_inputs`] has them: `further` is its
    /// gradient with respect to them, step after step, and 0 in the padding. At every step it is added to what comes back through the cell.
    pub fn backward_with(
        &self,
        p: &[R],
        dy: &[Lane<R>],
        further: Option<&[Lane<R>]>,
        mut dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let Sizes { step, state, part } = self.sizes(at);
        let (parts, scratch) = tape.split_at_mut(self.steps * part);
        let (dinput, dstate) = scratch.split_at_mut(step + state);
        match self.output {
            Output::Last => dstate.copy_from_slice(dy),
            Output::Every => dstate.fill(Lane::ZERO),
        }
        for t in (0..self.steps).rev() {
            if self.output == Output::Every {
                dstate.iter_mut().zip(&dy[t * state..]).for_each(|(to, &dy)| *to += dy);
            }
            let [input, _, inner] = split(&mut parts[t * part..][..part], step + state, state);
            self.cell.run_backward(Backward { p, x: input, dy: dstate, dx: Some(dinput), dp, tape: inner, at });
            if let Some(further) = further {
                dinput.iter_mut().zip(&further[t * (step + state)..]).for_each(|(to, &further)| *to += further);
            }
            if let Some(dx) = dx.as_deref_mut() {
                dx[t * step..][..step].copy_from_slice(&dinput[..step]);
            }
            dstate.copy_from_slice(&dinput[step..]);
        }
    }

    /// Features of one step.
    fn features(&self) -> usize {
        self.cell.shape().inputs - self.cell.shape().outputs
    }

    fn sizes(&self, at: BatchLayout) -> Sizes {
        let (step, state) = (self.features() * at.lanes(), self.cell.shape().outputs * at.lanes());
        Sizes { step, state, part: step + 2 * state + self.cell.tape_len(at) }
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
        let state = self.cell.shape().outputs;
        let outputs = if self.output == Output::Every { self.steps * state } else { state };
        Shape { inputs: self.steps * self.features(), outputs }
    }

    fn param_len(&self) -> usize {
        self.cell.param_len()
    }

    fn tape_len(&self, at: BatchLayout) -> usize {
        let Sizes { step, state, part } = self.sizes(at);
        self.steps * part + step + 2 * state
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
        let Sizes { step, state, part } = self.sizes(at);
        for t in 0..self.steps {
            let (done, rest) = tape.split_at_mut(t * part);
            let [input, output, inner] = split(&mut rest[..part], step + state, state);
            input[..step].copy_from_slice(&x[t * step..][..step]);
            match done.len().checked_sub(part) {
                Some(last) => input[step..].copy_from_slice(&done[last + step + state..][..state]),
                None => input[step..].fill(Lane::splat(self.start)),
            }
            // Noise made the padding's states differ from that of the last row, of which they should be copies.
            at.pad(&mut input[step..]);
            self.cell.run_forward(Forward { p, x: input, y: output, tape: inner, at, pass: pass.reborrow() });
            match self.output {
                Output::Last => y.copy_from_slice(output),
                Output::Every => y[t * state..][..state].copy_from_slice(output),
            }
        }
    }

    fn backward(
        &self,
        p: &[R],
        _: &[Lane<R>],
        dy: &[Lane<R>],
        dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        self.backward_with(p, dy, None, dx, dp, tape, at);
    }

    fn bounds(&self, index: usize) -> (R, R) {
        self.cell.bounds(index)
    }

    fn project(&self, p: &mut [R]) {
        self.cell.project(p);
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        self.cell.penalty(p, strength, dp)
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        self.cell.sparsity_error(p)
    }

    fn recipe(&self) -> Recipe {
        self.cell.recipe()
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        let mut state = vec![Expression::number(self.start.to_f64()); self.cell.shape().outputs];
        let (mut states, mut total) = (Vec::new(), 0);
        for step in inputs.chunks_exact(self.features()) {
            state = self.cell.formula(p, &[step, &state].concat(), style)?;
            states.extend_from_slice(&state);
            // A cell that uses its state twice doubles the formula with every step.
            total += state.iter().map(Expression::size).sum::<usize>();
            if total > MOST {
                return None;
            }
        }
        Some(if self.output == Output::Every { states } else { state })
    }

    fn layer(&self) -> Layer {
        let (steps, state) = (Some(self.steps), Some(self.start.to_f64()));
        Layer { steps, state, every_state: self.output == Output::Every, ..self.cell.layer() }
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        let cell = Arc::from(self.cell.as_f64()?);
        Some(Box::new(Recurrent { cell, steps: self.steps, start: self.start.to_f64(), output: self.output }))
    }
}

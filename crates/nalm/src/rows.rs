//! Passes over row-major numbers: plain slices in and out, any number of rows, and nothing to know about lanes.

use crate::batch::{BatchLayout, transpose};
use crate::module::Pass;
use crate::network::{Network, Workspace};
use crate::{Error, InstructionSet, Lane, Real};

/// Rows that [`Network::predict`] computes at a time: enough to keep the registers busy, and few enough for the nearest cache.
const BLOCK: usize = 256;

/// The memory of passes over rows. It is made once, grows with the first pass, and then passes over as many rows allocate nothing.
///
/// Make it with [`Network::row_workspace`].
#[derive(Clone, Debug)]
pub struct RowWorkspace<R: Real> {
    instructions: InstructionSet,
    work: Option<Workspace<R>>,
    x: Vec<Lane<R>>,
    dx: Vec<Lane<R>>,
    /// Outputs, row by row.
    y: Vec<R>,
    /// The inputs' gradient, row by row.
    dx_rows: Vec<R>,
}

impl<R: Real> Network<R> {
    /// Memory for passes over rows, with the fastest instructions of this machine. Results do not depend on the instructions.
    pub fn row_workspace(&self) -> RowWorkspace<R> {
        self.row_workspace_on(InstructionSet::best())
    }

    /// Memory for passes over rows with given instructions.
    pub fn row_workspace_on(&self, instructions: InstructionSet) -> RowWorkspace<R> {
        let (x, dx, y, dx_rows) = Default::default();
        RowWorkspace { instructions, work: None, x, dx, y, dx_rows }
    }

    /// Computes the outputs of row-major inputs, row by row.
    ///
    /// [`Pass::Eval`] evaluates; [`Pass::Train`] is for training and may be noisy, and [`Network::backward_rows`] may follow it. A batch of
    /// another size than the one before allocates its memory anew, and what a module remembers from pass to pass begins anew with it.
    pub fn forward_rows<'w>(
        &self,
        p: &[R],
        inputs: &[R],
        pass: Pass<'_>,
        work: &'w mut RowWorkspace<R>,
    ) -> Result<&'w [R], Error> {
        self.check_params(p)?;
        let shape = self.shape();
        let rows = self.rows_of(inputs)?;
        if rows == 0 {
            // Nothing is left for a backward pass.
            (work.work, work.y) = (None, Vec::new());
            return Ok(&work.y);
        }
        let at = BatchLayout::on(work.instructions, rows)?;
        if !work.work.as_ref().is_some_and(|kept| kept.layout() == at && kept.fits(self)) {
            work.work = Some(self.workspace(at));
        }
        let inner = work.work.as_mut().expect("it was made where there was none");
        // Every number is overwritten, so only the lengths matter.
        work.x.resize(shape.inputs * at.lanes(), Lane::ZERO);
        work.y.resize(shape.outputs * rows, R::ZERO);
        transpose::into_lanes(inputs, &mut work.x, at);
        transpose::from_lanes(self.forward(p, &work.x, inner, pass), &mut work.y, at);
        Ok(&work.y)
    }

    /// Given the gradient of a loss with respect to the outputs of the last [`Network::forward_rows`], row by row, adds the
    /// parameters' gradient to `dp` and returns the inputs' gradient, row by row.
    ///
    /// The pass before must have been one in training, with the same parameters, and it serves one backward pass.
    pub fn backward_rows<'w>(
        &self,
        p: &[R],
        output_gradient: &[R],
        dp: &mut [R],
        work: &'w mut RowWorkspace<R>,
    ) -> Result<&'w [R], Error> {
        self.check_params(p)?;
        Error::sizes("numbers in the parameters' gradient", dp.len(), self.param_len())?;
        let inputs = self.shape().inputs;
        let own = |kept: &&mut Workspace<R>| kept.fits(self) && work.x.len() == inputs * kept.layout().lanes();
        let recorded = work.work.as_mut().filter(|kept| kept.is_recorded()).filter(own);
        let Some(inner) = recorded else {
            return Err(Error::Unsupported {
                what: "a backward pass".into(),
                when: "without a forward pass in training of the same network before it, one each".into(),
                instead: "call forward_rows with Pass::Train or Pass::Noiseless first".into(),
            });
        };
        let (at, shape) = (inner.layout(), self.shape());
        let what = "numbers in the outputs' gradient, row by row";
        Error::sizes(what, output_gradient.len(), shape.outputs * at.rows)?;
        transpose::into_lanes(output_gradient, inner.output_gradient(), at);
        work.dx.resize(shape.inputs * at.lanes(), Lane::ZERO);
        work.dx_rows.resize(shape.inputs * at.rows, R::ZERO);
        self.backward(p, &work.x, inner, Some(&mut work.dx), dp);
        transpose::from_lanes(&work.dx, &mut work.dx_rows, at);
        Ok(&work.dx_rows)
    }

    /// Evaluates row-major inputs and returns row-major outputs. It works in blocks of rows, so it needs little more memory than the
    /// outputs. Whoever asks for a few rows again and again keeps a [`RowWorkspace`] and calls [`Network::forward_rows`]: for one row that is
    /// several times faster, because nothing is allocated.
    pub fn predict(&self, p: &[R], rows: &[R]) -> Result<Vec<R>, Error> {
        self.check_params(p)?;
        let (shape, count) = (self.shape(), self.rows_of(rows)?);
        let mut outputs = Vec::with_capacity(count * shape.outputs);
        let mut work = self.row_workspace();
        for block in rows.chunks(BLOCK * shape.inputs) {
            outputs.extend_from_slice(self.forward_rows(p, block, Pass::Eval, &mut work)?);
        }
        Ok(outputs)
    }

    fn check_params(&self, p: &[R]) -> Result<(), Error> {
        if p.len() == self.param_len() {
            return Ok(());
        }
        Error::sizes(&format!("parameters of {}", self.name()), p.len(), self.param_len())
    }

    /// How many rows these numbers are.
    fn rows_of(&self, numbers: &[R]) -> Result<usize, Error> {
        let inputs = self.shape().inputs;
        if numbers.len().is_multiple_of(inputs) {
            return Ok(numbers.len() / inputs);
        }
        let what = format!("numbers in the last row of {inputs} inputs");
        Err(Error::Shape { what, got: numbers.len() % inputs, want: inputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};
    use crate::{Nau, Nmu, Snmu};

    fn stack() -> Network<f64> {
        Network::new(vec![Box::new(Nau::new(3, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())]).unwrap()
    }

    #[test]
    fn predictions_in_blocks_are_those_of_single_rows() {
        let network = stack();
        let p: Vec<f64> = (0..network.param_len()).map(|k| 0.1 * k as f64).collect();
        let rows: Vec<f64> = (0..3 * (2 * BLOCK + 5)).map(|k| (k as f64).sin()).collect();
        let all = network.predict(&p, &rows).unwrap();
        let mut work = network.row_workspace();
        for (k, row) in rows.chunks(3).enumerate() {
            assert_eq!(network.forward_rows(&p, row, Pass::Eval, &mut work).unwrap(), [all[k]], "row {k}");
        }
        assert!(network.predict(&p, &[]).unwrap().is_empty());
    }

    #[test]
    fn a_backward_pass_needs_a_forward_pass_of_its_own() {
        let network = stack();
        let (p, x) = (vec![0.5; network.param_len()], [1.0, 2.0, 3.0]);
        let mut work = network.row_workspace();
        let mut dp = vec![0.0; p.len()];
        let refused = "a backward pass is not available without a forward pass in training of the same network before it, one each; \
                       call forward_rows with Pass::Train or Pass::Noiseless first";
        let mut backward =
            |work: &mut RowWorkspace<f64>| network.backward_rows(&p, &[1.0], &mut dp, work).map(<[f64]>::to_vec);
        assert_eq!(backward(&mut work).unwrap_err().to_string(), refused, "nothing before");
        network.forward_rows(&p, &x, Pass::Eval, &mut work).unwrap();
        assert_eq!(backward(&mut work).unwrap_err().to_string(), refused, "evaluation before");
        network.forward_rows(&p, &x, Pass::Noiseless, &mut work).unwrap();
        backward(&mut work).unwrap();
        assert_eq!(backward(&mut work).unwrap_err().to_string(), refused, "twice");
        network.forward_rows(&p, &x, Pass::Noiseless, &mut work).unwrap();
        network.forward_rows(&p, &[], Pass::Noiseless, &mut work).unwrap();
        assert_eq!(backward(&mut work).unwrap_err().to_string(), refused, "no rows before");
        network.forward_rows(&p, &x, Pass::Noiseless, &mut work).unwrap();
        let other = Network::single(Nmu::new(3, 1).unwrap());
        let error = other.backward_rows(&[0.5; 3], &[1.0], &mut [0.0; 3], &mut work).unwrap_err();
        assert_eq!(error.to_string(), refused, "another network before");
        // Of the same sizes but for its inputs.
        let (three, two) = (Network::single(Nau::new(3, 1).unwrap()), Network::single(Nau::new(2, 1).unwrap()));
        three.forward_rows(&[0.5; 3], &x, Pass::Noiseless, &mut work).unwrap();
        let error = two.backward_rows(&[0.5; 2], &[1.0], &mut [0.0; 2], &mut work).unwrap_err();
        assert_eq!(error.to_string(), refused, "a wider network before");
    }

    #[test]
    fn wrong_sizes_are_named() {
        let network = stack();
        let p = vec![0.5; network.param_len()];
        let mut work = network.row_workspace();
        let error = network.forward_rows(&p[1..], &[1.0; 3], Pass::Eval, &mut work).unwrap_err();
        assert_eq!(error.to_string(), "parameters of nau-nmu: got 7, but 8 is needed");
        let error = network.forward_rows(&p, &[1.0; 7], Pass::Eval, &mut work).unwrap_err();
        assert_eq!(error.to_string(), "numbers in the last row of 3 inputs: got 1, but 3 is needed");
        network.forward_rows(&p, &[1.0; 6], Pass::Noiseless, &mut work).unwrap();
        let error = network.backward_rows(&p, &[1.0; 3], &mut [0.0; 8], &mut work).unwrap_err();
        assert_eq!(error.to_string(), "numbers in the outputs' gradient, row by row: got 3, but 2 is needed");
        let error = network.backward_rows(&p, &[1.0; 2], &mut [0.0; 9], &mut work).unwrap_err();
        assert_eq!(error.to_string(), "numbers in the parameters' gradient: got 9, but 8 is needed");
    }

    /// A row without a gradient does not count, and neither does the padding behind it.
    #[test]
    fn a_nan_in_the_padding_reaches_nothing() {
        let network = Network::single(Nmu::new(2, 1).unwrap());
        let p = [0.5, 0.25];
        let mut work = network.row_workspace();
        let mut gradient = |spoil: bool| {
            let mut dp = [0.0; 2];
            network.forward_rows(&p, &[2.0, 3.0, 5.0, 7.0, 1.5, 0.5], Pass::Noiseless, &mut work).unwrap();
            if spoil {
                work.work.as_mut().unwrap().output_gradient().fill(Lane::splat(f64::NAN));
                let x = &mut work.x;
                x.iter_mut().for_each(|x| x.0[3..].fill(1e300));
            }
            network.backward_rows(&p, &[1.0, -2.0, 0.5], &mut dp, &mut work).unwrap();
            dp
        };
        assert_eq!(gradient(true), gradient(false));
    }

    #[test]
    fn passes_over_rows_are_those_over_lanes() {
        let network = Network::<f32>::single(Snmu::new(3, 2).unwrap());
        let noise = || Rng::fast("rows", Purpose::Noise);
        let p: Vec<f32> = (0..6).map(|k| 0.1 + 0.15 * k as f32).collect();
        let x: Vec<f32> = (0..3 * 21).map(|k| 1.0 + 0.03 * k as f32).collect();
        let at = BatchLayout::new(21).unwrap();
        let lanes = crate::batch::to_lanes(&x, at).unwrap();
        let mut inner = network.workspace(at);
        let want = crate::batch::from_lanes(network.forward(&p, &lanes, &mut inner, Pass::Train(&mut noise())), at);
        let mut work = network.row_workspace();
        let got = network.forward_rows(&p, &x, Pass::Train(&mut noise()), &mut work).unwrap();
        assert_eq!(got, want);
    }
}

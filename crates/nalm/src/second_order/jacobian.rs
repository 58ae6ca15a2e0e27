//! Derivatives of every output of every sample, one sample at a time, from the modules' own backward pass.

use crate::batch::{Batch, BatchLayout};
use crate::lane::{LANES, Lane};
use crate::module::Pass;
use crate::network::{Network, Workspace};
use crate::{Error, Real};

/// The Jacobian of a network's outputs in blocks of sixteen samples.
///
/// Without noise, every listed module works on each row by itself. So a gradient of 1 at one output of one row and 0 elsewhere, sent
/// back through the stack, is that output's gradient. The forward pass serves all rows of its block.
#[derive(Debug)]
pub struct Jacobian<R: Real> {
    work: Workspace<R>,
    /// What a forward pass left, before any backward pass used it.
    left: Workspace<R>,
    x: Vec<Lane<R>>,
    row: Vec<R>,
}

impl<R: Real> Jacobian<R> {
    /// Memory for one block of a network's samples.
    pub fn new(network: &Network<R>, at: BatchLayout) -> Result<Self, Error> {
        let block = BatchLayout::on(at.instructions, LANES)?;
        Ok(Self {
            work: network.workspace(block),
            left: network.workspace(block),
            x: vec![Lane::ZERO; network.shape().inputs],
            row: vec![R::ZERO; network.param_len()],
        })
    }

    /// Calls `each` with output minus target and gradient, for every output of every row of a batch.
    pub fn each_row(
        &mut self,
        network: &Network<R>,
        params: &[R],
        batch: &Batch<R>,
        mut each: impl FnMut(f64, &[R]),
    ) -> Result<(), Error> {
        check(network, params, batch)?;
        if (self.x.len(), self.row.len()) != (network.shape().inputs, params.len()) {
            let what = "parameters of the network that the memory is for".into();
            return Err(Error::Shape { what, got: self.row.len(), want: params.len() });
        }
        (0..batch.at.lanes()).for_each(|block| self.block(network, params, batch, block, &mut each));
        Ok(())
    }

    /// The same for one block; sizes must be right.
    pub(super) fn block(
        &mut self,
        network: &Network<R>,
        params: &[R],
        batch: &Batch<R>,
        block: usize,
        each: &mut impl FnMut(f64, &[R]),
    ) {
        let lanes = batch.at.lanes();
        for (x, feature) in self.x.iter_mut().zip(batch.x.chunks_exact(lanes)) {
            *x = feature[block];
        }
        network.forward(params, &self.x, &mut self.work, Pass::Noiseless);
        self.left.copy_tapes(&self.work);
        for row in 0..batch.at.rows_in(block) {
            for (output, t) in batch.t.chunks_exact(lanes).enumerate() {
                let residual = self.work.output()[output][row].to_f64() - t[block][row].to_f64();
                self.work.output_gradient().fill(Lane::ZERO);
                self.work.output_gradient()[output][row] = R::ONE;
                self.row.fill(R::ZERO);
                self.work.copy_tapes(&self.left);
                network.backward(params, &self.x, &mut self.work, None, &mut self.row);
                each(residual, &self.row);
            }
        }
    }
}

/// Checks that parameters and samples are those of a network.
pub(super) fn check<R: Real>(network: &Network<R>, params: &[R], batch: &Batch<R>) -> Result<(), Error> {
    let (shape, lanes) = (network.shape(), batch.at.lanes());
    for (what, got, want) in [
        ("parameters to start from", params.len(), network.param_len()),
        ("numbers in the inputs of the samples", batch.x.len(), shape.inputs * lanes),
        ("numbers in the targets of the samples", batch.t.len(), shape.outputs * lanes),
    ] {
        if got != want {
            return Err(Error::Shape { what: what.into(), got, want });
        }
    }
    Ok(())
}

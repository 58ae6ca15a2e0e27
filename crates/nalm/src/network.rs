//! A stack of modules over one flat parameter vector.

use crate::batch::BatchLayout;
use crate::lane::Lane;
use crate::module::{Backward, Dispatch, Forward, Module, Pass, Shape};
use crate::penalty::{self, Penalty};
use crate::rng::Rng;
use crate::{Error, Real};

/// Modules, each of which feeds the next.
///
/// ```
/// use nalm::{Nau, Network, Nmu, Error};
///
/// // (sum of some inputs) times (sum of others)
/// let network: Network<f32> = Network::new(vec![Box::new(Nau::new(4, 2)?), Box::new(Nmu::new(2, 1)?)])?;
/// assert_eq!(network.param_len(), 4 * 2 + 2);
/// let y = network.predict(&[1., 1., 0., 0., 0., 0., 1., 1., /* NMU: */ 1., 1.], &[1., 2., 3., 4.])?;
/// assert_eq!(y, [21.0]); // (1 + 2) * (3 + 4)
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Network<R: Real> {
    layers: Vec<Box<dyn Dispatch<R>>>,
    /// Inputs of the first layer and outputs of the last.
    shape: Shape,
    /// Where each layer's parameters start, and where the last one's end.
    starts: Vec<usize>,
}

impl<R: Real> Network<R> {
    /// A stack whose neighbouring shapes fit.
    pub fn new(layers: Vec<Box<dyn Dispatch<R>>>) -> Result<Self, Error> {
        Error::check(!layers.is_empty(), "number of layers", 0.0, "at least 1")?;
        for (k, pair) in layers.windows(2).enumerate() {
            let (out, into) = (pair[0].shape().outputs, pair[1].shape().inputs);
            if out != into {
                let what = format!("outputs of layer {} ({}) and inputs of layer {}", k + 1, pair[0].name(), k + 2);
                return Err(Error::Shape { what, got: out, want: into });
            }
        }
        let mut starts = vec![0];
        for layer in &layers {
            starts.push(starts[starts.len() - 1] + layer.param_len());
        }
        let shape = Shape { inputs: layers[0].shape().inputs, outputs: layers[layers.len() - 1].shape().outputs };
        Ok(Self { layers, shape, starts })
    }

    /// A stack of one.
    pub fn single(module: impl Module<R> + 'static) -> Self {
        Self::new(vec![Box::new(module)]).expect("one layer always fits")
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Box<dyn Dispatch<R>>] {
        &self.layers
    }

    /// Inputs of the first layer and outputs of the last.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Length of the flat parameter vector.
    pub fn param_len(&self) -> usize {
        self.starts[self.layers.len()]
    }

    /// The part of a flat vector that is layer `index`'s, counted from 0.
    ///
    /// # Panics
    ///
    /// If there is no such layer, or the vector has another length than [`Network::param_len`].
    pub fn layer_params<'a>(&self, p: &'a [R], index: usize) -> &'a [R] {
        assert_eq!(p.len(), self.param_len(), "number of parameters");
        &p[self.starts[index]..self.starts[index + 1]]
    }

    /// The names of the layers, joined by dashes: `nau-nmu`.
    pub fn name(&self) -> String {
        self.layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join("-")
    }

    /// Draws initial parameters, layer by layer.
    ///
    /// # Panics
    ///
    /// If the vector has another length than [`Network::param_len`].
    pub fn init(&self, p: &mut [R], rng: &mut Rng) {
        assert_eq!(p.len(), self.param_len(), "number of parameters");
        for (k, layer) in self.layers.iter().enumerate() {
            layer.init(&mut p[self.starts[k]..self.starts[k + 1]], rng);
        }
    }

    /// The memory that passes over batches of this layout need. It is allocated once.
    pub fn workspace(&self, at: BatchLayout) -> Workspace<R> {
        let room = |n| vec![Lane::ZERO; n];
        let outputs: Vec<_> = self.layers.iter().map(|l| room(l.shape().outputs * at.lanes())).collect();
        Workspace {
            gradients: outputs.clone(),
            outputs,
            tapes: self.layers.iter().map(|layer| room(layer.tape_len(at))).collect(),
            at,
            recorded: false,
        }
    }

    /// Computes the outputs for `x`; they stay in the workspace. [`Network::forward_rows`] does the same for row-major numbers.
    ///
    /// # Panics
    ///
    /// If the sizes of parameters, inputs and workspace are not those of the network.
    pub fn forward<'w>(&self, p: &[R], x: &[Lane<R>], work: &'w mut Workspace<R>, mut pass: Pass<'_>) -> &'w [Lane<R>] {
        assert_eq!(p.len(), self.param_len(), "number of parameters");
        assert_eq!(x.len(), self.shape().inputs * work.at.lanes(), "lanes of inputs");
        work.recorded = !matches!(pass, Pass::Eval);
        let Workspace { outputs, tapes, at, .. } = work;
        for (k, layer) in self.layers.iter().enumerate() {
            let (done, rest) = outputs.split_at_mut(k);
            let x = done.last().map_or(x, |y| y.as_slice());
            let p = &p[self.starts[k]..self.starts[k + 1]];
            let (y, tape) = (&mut rest[0][..], &mut tapes[k][..]);
            layer.run_forward(Forward { p, x, y, tape, at: *at, pass: pass.reborrow() });
        }
        work.output()
    }

    /// Adds to `dp` the gradient of a loss whose gradient with respect to the outputs is in [`Workspace::output_gradient`],
    /// and writes the inputs' gradient to `dx` where it is wanted. What stands in the padding of the outputs' gradient does not count.
    /// [`Network::backward_rows`] does the same for row-major numbers.
    ///
    /// # Panics
    ///
    /// If the last pass was an evaluation or a backward pass, because neither leaves what is needed here, or if sizes do not fit.
    pub fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        work: &mut Workspace<R>,
        mut dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
    ) {
        assert!(work.recorded, "a backward pass needs a forward pass in training before it, one each");
        assert_eq!(p.len(), self.param_len(), "number of parameters");
        assert_eq!(dp.len(), self.param_len(), "numbers in the parameters' gradient");
        assert_eq!(x.len(), self.shape().inputs * work.at.lanes(), "lanes of inputs");
        assert!(dx.as_ref().is_none_or(|dx| dx.len() == x.len()), "lanes of the inputs' gradient");
        work.recorded = false;
        let Workspace { outputs, gradients, tapes, at, .. } = work;
        at.clear_padding(gradients.last_mut().expect("at least one layer"));
        for (k, layer) in self.layers.iter().enumerate().rev() {
            let x = if k == 0 { x } else { &outputs[k - 1] };
            let (below, own) = gradients.split_at_mut(k);
            let dx = if k == 0 { dx.as_deref_mut() } else { below.last_mut().map(Vec::as_mut_slice) };
            let range = self.starts[k]..self.starts[k + 1];
            let (p, dp) = (&p[range.clone()], &mut dp[range]);
            layer.run_backward(Backward { p, x, dy: &own[0], dx, dp, tape: &mut tapes[k], at: *at });
        }
    }

    /// The factors by which layer `index` multiplied its inputs in the last pass in training, where it does that.
    pub fn noise_on<'w>(&self, work: &'w Workspace<R>, index: usize) -> Option<&'w [Lane<R>]> {
        self.layers[index].noise_on(&work.tapes[index], work.at)
    }

    /// Moves every parameter into its box.
    ///
    /// # Panics
    ///
    /// If the vector has another length than [`Network::param_len`].
    pub fn project(&self, p: &mut [R]) {
        assert_eq!(p.len(), self.param_len(), "number of parameters");
        for (k, layer) in self.layers.iter().enumerate() {
            layer.project(&mut p[self.starts[k]..self.starts[k + 1]]);
        }
    }

    /// Adds every layer's penalty gradient to `dp` and returns the sum of the penalties at this step. There is one entry of `penalties` for each
    /// layer, as in [`Config::penalties`](crate::Config::penalties). `validation` is the last validation error, or the training loss where there is none;
    /// only [`Schedule::Delayed`](crate::Schedule::Delayed) looks at it.
    ///
    /// # Panics
    ///
    /// If there are more or fewer penalties than layers, or a vector has another length than [`Network::param_len`].
    pub fn penalty(&self, p: &[R], penalties: &[Penalty], step: u64, validation: f64, dp: &mut [R]) -> R {
        assert_eq!(penalties.len(), self.layers.len(), "number of penalties");
        assert_eq!(p.len(), self.param_len(), "number of parameters");
        assert_eq!(dp.len(), self.param_len(), "numbers in the parameters' gradient");
        let mut total = R::ZERO;
        for ((k, layer), penalty) in self.layers.iter().enumerate().zip(penalties) {
            let strength = penalty.at(step, validation);
            if strength > 0.0 {
                let range = self.starts[k]..self.starts[k + 1];
                total += layer.penalty(&p[range.clone()], R::of(strength), &mut dp[range]);
            }
        }
        total
    }

    /// The largest sparsity error of any layer that has one.
    pub fn sparsity_error(&self, p: &[R]) -> Option<R> {
        let errors = self.layers.iter().enumerate().map(|(k, layer)| layer.sparsity_error(self.layer_params(p, k)));
        penalty::largest(errors)
    }

    /// The same stack over `f64`.
    pub fn as_f64(&self) -> Result<Network<f64>, Error> {
        let wide = |layer: &dyn Dispatch<R>| {
            layer.as_f64().ok_or_else(|| Error::Unsupported {
                what: format!("the module {} over f64", layer.name()),
                when: "before it says how".into(),
                instead: "define Module::as_f64 for it".into(),
            })
        };
        Network::new(self.layers.iter().map(|layer| wide(&**layer)).collect::<Result<_, _>>()?)
    }
}

/// Outputs, gradients and tapes of every layer for one layout.
#[derive(Clone, Debug)]
pub struct Workspace<R> {
    outputs: Vec<Vec<Lane<R>>>,
    gradients: Vec<Vec<Lane<R>>>,
    tapes: Vec<Vec<Lane<R>>>,
    at: BatchLayout,
    /// Whether the tapes are those of a forward pass in training that no backward pass has used yet.
    recorded: bool,
}

impl<R: Real> Workspace<R> {
    /// Whether this is memory for passes of a network of these sizes.
    pub(crate) fn fits(&self, network: &Network<R>) -> bool {
        let sizes = |layer: &dyn Dispatch<R>| (layer.shape().outputs * self.at.lanes(), layer.tape_len(self.at));
        let own = self.outputs.iter().zip(&self.tapes).map(|(output, tape)| (output.len(), tape.len()));
        self.outputs.len() == network.layers.len() && own.eq(network.layers.iter().map(|layer| sizes(&**layer)))
    }

    /// Whether a backward pass may follow.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// The layout that the workspace was made for.
    pub fn layout(&self) -> BatchLayout {
        self.at
    }

    /// The outputs of the last forward pass.
    pub fn output(&self) -> &[Lane<R>] {
        &self.outputs[self.outputs.len() - 1]
    }

    /// Takes over the tapes of another workspace of the same network and layout. Some modules use theirs up in a backward pass.
    #[cfg(feature = "second-order")]
    pub(crate) fn copy_tapes(&mut self, other: &Self) {
        self.tapes.iter_mut().zip(&other.tapes).for_each(|(own, other)| own.copy_from_slice(other));
        self.recorded = other.recorded;
    }

    /// The gradient with respect to the outputs, to be written before a backward pass.
    pub fn output_gradient(&mut self) -> &mut [Lane<R>] {
        let last = self.gradients.len() - 1;
        &mut self.gradients[last]
    }

    /// The outputs and the place for their gradient.
    pub fn output_and_gradient(&mut self) -> (&[Lane<R>], &mut [Lane<R>]) {
        let last = self.gradients.len() - 1;
        (&self.outputs[last], &mut self.gradients[last])
    }
}

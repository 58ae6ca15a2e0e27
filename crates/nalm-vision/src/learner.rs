//! The parameters of a network and of the head behind it, and all that training has to remember of them.

use crate::adam::Adam;
use crate::error::Error;
use crate::history::History;
use crate::training::{Checkpoint, Progress};
use nalm::noise::Spread;
use nalm::tensor::Tensor;
use nalm::{Noise, Options, Value};

#[derive(Debug)]
pub(crate) struct Learner {
    pub(crate) params: Vec<f32>,
    pub(crate) head: Vec<f32>,
    /// Of the last update, for `params`.
    pub(crate) gradient: Vec<f32>,
    pub(crate) epoch: u64,
    /// Share of the last epoch's updates after which the head's weights were not all exactly 1.
    pub(crate) off_one: f64,
    /// What was measured so far.
    pub(crate) history: History,
    adam: Adam,
    head_adam: Adam,
}

impl Learner {
    pub(crate) fn new(params: Vec<f32>, head: Vec<f32>, history: History) -> Result<Self, nalm::Error> {
        let (adam, head_adam) = (Adam::new(params.len())?, Adam::new(head.len())?);
        let gradient = vec![0.0; params.len()];
        Ok(Self { gradient, params, head, epoch: 0, off_one: 0.0, history, adam, head_adam })
    }

    /// Moves the parameters along the gradients.
    pub(crate) fn update(&mut self, head_gradient: &[f32], threads: usize) {
        self.adam.step(&mut self.params, &self.gradient, threads).expect("a gradient for every parameter");
        self.head_adam.step(&mut self.head, head_gradient, 1).expect("a gradient for every parameter of the head");
    }

    /// The state between two epochs.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let (means, squares, powers) = self.adam.memory();
        let (head_means, head_squares, _) = self.head_adam.memory();
        let tensors = [
            ("params", &self.params),
            ("means", &means),
            ("squares", &squares),
            ("head.params", &self.head),
            ("head.means", &head_means),
            ("head.squares", &head_squares),
        ];
        Checkpoint {
            progress: Progress { epoch: self.epoch, powers, off_one: self.off_one, history: self.history.clone() },
            tensors: tensors.map(|(name, data)| Tensor::flat(name, data)).into(),
        }
    }

    /// Goes on from a state.
    pub(crate) fn restore(&mut self, from: &Checkpoint) -> Result<(), Error> {
        let (len, head_len, powers) = (self.params.len(), self.head.len(), from.progress.powers);
        self.params.copy_from_slice(from.tensor("params", len)?);
        self.adam.remember(from.tensor("means", len)?, from.tensor("squares", len)?, powers)?;
        self.head.copy_from_slice(from.tensor("head.params", head_len)?);
        let moments = (from.tensor("head.means", head_len)?, from.tensor("head.squares", head_len)?);
        self.head_adam.remember(moments.0, moments.1, powers)?;
        (self.epoch, self.off_one) = (from.progress.epoch, from.progress.off_one);
        self.history = from.progress.history.clone();
        Ok(())
    }

    /// The head's parameters by name, if it has any.
    pub(crate) fn head_tensor(&self) -> Option<Tensor> {
        (!self.head.is_empty()).then(|| Tensor::flat("head.weight", &self.head))
    }
}

/// Refuses noise that remembers or learns: every step of an image task starts with a clean tape and two weights.
pub(crate) fn stateless(options: &Options) -> Result<(), Error> {
    let Some(Value::Text(text)) = options.get("noise") else { return Ok(()) };
    let noise: Noise = text.parse()?;
    let remembers = matches!(noise, Noise::Batch(Spread::Running { .. }));
    if remembers || noise.is_learnable() {
        let want = "image tasks take noise that neither learns nor remembers, such as U[1,5] or batch";
        return Err(Error::Value { what: "noise of the head", got: noise.to_string(), want });
    }
    Ok(())
}

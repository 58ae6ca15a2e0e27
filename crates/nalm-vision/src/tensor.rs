//! A named tensor.

/// A named tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<R = f32> {
    /// Part, layer and kind: `classifier.conv1.weight`.
    pub name: String,
    /// Its sizes, outermost first.
    pub shape: Vec<usize>,
    /// The numbers, innermost last.
    pub data: Vec<R>,
}

impl Tensor {
    /// A vector.
    pub(crate) fn flat(name: &str, data: &[f32]) -> Self {
        Self { name: name.into(), shape: vec![data.len()], data: data.to_vec() }
    }

    /// These tensors with a word before their names.
    pub(crate) fn named(kind: &str, tensors: Vec<Tensor>) -> impl Iterator<Item = Tensor> {
        tensors.into_iter().map(move |tensor| Tensor { name: format!("{kind}.{}", tensor.name), ..tensor })
    }
}

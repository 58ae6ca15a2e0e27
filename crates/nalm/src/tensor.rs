//! Named tensors, and the bytes of safetensors files that hold them (cargo feature `save`). Equal tensors have equal bytes.

use crate::{Error, Real};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;

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

impl<R: Real> Tensor<R> {
    /// A vector.
    pub fn flat(name: impl Into<String>, data: &[R]) -> Self {
        Self { name: name.into(), shape: vec![data.len()], data: data.to_vec() }
    }

    /// These tensors with a word before their names.
    pub fn named(kind: &str, tensors: Vec<Self>) -> impl Iterator<Item = Self> {
        tensors.into_iter().map(move |tensor| Self { name: format!("{kind}.{}", tensor.name), ..tensor })
    }
}

/// The key of the one text of a file. Several would stand in the order of a hash, which differs from process to process.
const TEXT: &str = "nalm";

/// Bytes of one number, and the name of its type.
fn format<R: Real>() -> (usize, Dtype) {
    if size_of::<R>() == 4 { (4, Dtype::F32) } else { (8, Dtype::F64) }
}

/// Tensors and a text about them, if there is one, as the bytes of a safetensors file.
pub fn to_bytes<R: Real>(tensors: &[Tensor<R>], text: Option<&str>) -> Result<Vec<u8>, Error> {
    let (width, kind) = format::<R>();
    let number = |x: &R| x.bits().to_le_bytes().into_iter().take(width);
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|tensor| tensor.data.iter().flat_map(number).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
        Ok((tensor.name.as_str(), TensorView::new(kind, tensor.shape.clone(), bytes).map_err(wrong)?))
    });
    let about = text.map(|text| HashMap::from([(TEXT.into(), text.into())]));
    safetensors::serialize(views.collect::<Result<Vec<_>, Error>>()?, about).map_err(wrong)
}

/// A file back: its tensors in the order of their names, and its text.
pub fn from_bytes<R: Real>(bytes: &[u8]) -> Result<(Vec<Tensor<R>>, String), Error> {
    let (width, kind) = format::<R>();
    let text = text(bytes)?;
    let file = SafeTensors::deserialize(bytes).map_err(wrong)?;
    let mut views: Vec<_> = file.iter().collect();
    views.sort_by_key(|(name, _)| name.to_string());
    let tensor = |(name, view): (&str, TensorView<'_>)| {
        if view.dtype() != kind {
            return Err(Error::Tensors(format!("{name} is {:?}; {kind:?} was expected", view.dtype())));
        }
        let number = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..width].copy_from_slice(bytes);
            R::of_bits(u64::from_le_bytes(word))
        };
        let data = view.data().chunks_exact(width).map(number).collect();
        Ok(Tensor { name: name.into(), shape: view.shape().to_vec(), data })
    };
    Ok((views.into_iter().map(tensor).collect::<Result<_, _>>()?, text))
}

/// The text of a file alone.
pub fn text(bytes: &[u8]) -> Result<String, Error> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(wrong)?;
    Ok(header.metadata().as_ref().and_then(|texts| texts.get(TEXT).cloned()).unwrap_or_default())
}

fn wrong(error: safetensors::SafeTensorError) -> Error {
    Error::Tensors(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law<R: Real>(other: fn(&[u8]) -> String) {
        let numbers = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, 1e-40].map(R::of);
        let tensors = [
            Tensor { name: "a".into(), shape: vec![2, 3], data: numbers.to_vec() },
            Tensor::flat("b", &numbers[..1]),
            Tensor::flat("c", &[]),
        ];
        let bytes = to_bytes(&tensors, Some("words\nand lines")).unwrap();
        assert_eq!(bytes, to_bytes(&tensors, Some("words\nand lines")).unwrap());
        let (back, text) = from_bytes::<R>(&bytes).unwrap();
        assert_eq!(text, "words\nand lines");
        let bits = |tensors: &[Tensor<R>]| -> Vec<(String, Vec<usize>, Vec<u64>)> {
            let numbers = |t: &Tensor<R>| t.data.iter().map(|x| x.bits()).collect();
            tensors.iter().map(|t| (t.name.clone(), t.shape.clone(), numbers(t))).collect()
        };
        assert_eq!(bits(&back), bits(&tensors));
        assert!(other(&bytes).contains("was expected"), "{}", other(&bytes));
    }

    #[test]
    fn every_bit_comes_back() {
        law::<f32>(|bytes| from_bytes::<f64>(bytes).unwrap_err().to_string());
        law::<f64>(|bytes| from_bytes::<f32>(bytes).unwrap_err().to_string());
    }

    #[test]
    fn bytes_that_are_no_file_are_refused() {
        assert!(from_bytes::<f32>(b"nothing").is_err());
        let twice = Tensor { name: "a".into(), shape: vec![2], data: vec![1.0f32] };
        assert!(to_bytes(&[twice], None).is_err(), "shape and numbers do not fit");
    }
}

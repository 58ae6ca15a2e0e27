//! What is kept of a run with images.

use super::spec::ImageSpec;
use crate::runspec::hex;
use nalm_vision::{History, Picture, Tensor};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct ImageRow {
    pub(crate) id: String,
    pub(crate) image: ImageSpec,
    /// completed, diverged or failed.
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The instruction set, on which bits depend.
    pub(crate) set: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<History>,
    /// Some samples, and what was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pictures: Vec<Vec<Drawn>>,
    /// Where in the store the trained network is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights_file: Option<String>,
    pub(crate) version: String,
    /// SHA-256 over all that was measured and over the bits of the trained network.
    pub(crate) result_hash: String,
}

/// A picture in sixteen shades.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Drawn {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) title: String,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    /// One hexadecimal digit a number, row by row, channels together.
    pub(crate) pixels: String,
}

impl From<&Picture> for Drawn {
    fn from(picture: &Picture) -> Self {
        // Normalised MNIST goes from -0.42 (paper) to 2.82 (ink).
        let shade = |v: &f32| (((v + 0.4242) / 3.2457).clamp(0.0, 1.0) * 15.0).round() as u32;
        let digit = |v: &f32| char::from_digit(shade(v), 16).unwrap_or('0');
        Self {
            title: picture.title.into(),
            width: picture.width,
            channels: picture.channels,
            pixels: picture.pixels.iter().map(digit).collect(),
        }
    }
}

impl ImageRow {
    pub(crate) fn new(spec: &ImageSpec, history: &History, pictures: &[Vec<Picture>], tensors: &[Tensor]) -> Self {
        let mut hash = Sha256::new();
        hash.update(serde_json::to_string(history).expect("rows are plain data").as_bytes());
        for number in tensors.iter().flat_map(|tensor| &tensor.data) {
            hash.update(if number.is_nan() { u32::MAX } else { number.to_bits() }.to_le_bytes());
        }
        let diverged = tensors.iter().flat_map(|tensor| &tensor.data).any(|number| !number.is_finite());
        Self {
            id: spec.id(),
            image: spec.clone(),
            status: if diverged { "diverged" } else { "completed" }.into(),
            reason: diverged.then(|| "weights that are not numbers".into()),
            set: nalm_vision::Set::best().name().into(),
            history: Some(history.clone()),
            pictures: pictures.iter().map(|sample| sample.iter().map(Drawn::from).collect()).collect(),
            weights_file: Some(format!("weights/{}.safetensors", spec.id())),
            version: env!("CARGO_PKG_VERSION").into(),
            result_hash: hex(&hash.finalize()[..16]),
        }
    }

    /// The row of a run that could not be carried out.
    pub(crate) fn failed(spec: &ImageSpec, message: String) -> Self {
        Self {
            id: spec.id(),
            image: spec.clone(),
            status: "failed".into(),
            set: nalm_vision::Set::best().name().into(),
            history: None,
            pictures: Vec::new(),
            weights_file: None,
            version: env!("CARGO_PKG_VERSION").into(),
            result_hash: hex(&Sha256::digest(message.as_bytes())[..16]),
            reason: Some(message),
        }
    }
}

//! Parameters that are too many for a row, as a safetensors file beside the segments.

use anyhow::{Context, Result, anyhow};
use nalm::Network;
use safetensors::tensor::{Dtype, TensorView};
use std::path::Path;

/// More parameters than this do not stand in a row.
pub(crate) const MOST_IN_ROW: usize = 1_000;

/// The parameters of a network, layer by layer.
#[derive(Debug)]
pub(crate) struct Tensors(Vec<(String, Vec<u8>)>);

impl Tensors {
    pub(crate) fn new(network: &Network<f32>, params: &[f32]) -> Self {
        let layer = |k: usize| {
            let bytes = network.layer_params(params, k).iter().flat_map(|w| w.to_le_bytes()).collect();
            (format!("{k}.{}", network.layers()[k].name()), bytes)
        };
        Self((0..network.layers().len()).map(layer).collect())
    }

    /// Writes `STORE/weights/<id>.safetensors`, aside first: a file with this name is whole.
    pub(crate) fn save(&self, store: &Path, id: &str) -> Result<()> {
        let folder = store.join("weights");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let views = self.0.iter().map(|(name, bytes)| {
            let view = TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes);
            Ok((name.as_str(), view.map_err(|e| anyhow!("layer {name}: {e}"))?))
        });
        let views = views.collect::<Result<Vec<_>>>()?;
        let bytes = safetensors::serialize(views, None).map_err(|e| anyhow!("cannot write weights: {e}"))?;
        let (aside, path) = (folder.join(format!("{id}.new")), folder.join(format!("{id}.safetensors")));
        std::fs::write(&aside, bytes).with_context(|| format!("cannot write {}", aside.display()))?;
        std::fs::rename(&aside, &path).with_context(|| format!("cannot write {}", path.display()))
    }
}

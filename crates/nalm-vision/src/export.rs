//! Parameters by name, laid out as PyTorch has them: convolutions `[output][input][row][column]`, dense layers `[output][input]` with
//! images flattened channel by channel.

use crate::net::{Layer, Net, image};
use nalm::tensor::Tensor;
use nalm::{Error, Real};

/// From `[row][column][channel]` to `[channel][row][column]`.
fn channels_first<R: Real>([rows, columns, channels]: [usize; 3], from: &[R]) -> impl Iterator<Item = R> {
    (0..channels * rows * columns).map(move |k| {
        let (channel, place) = (k / (rows * columns), k % (rows * columns));
        from[place * channels + channel]
    })
}

/// The parameters of a network, or anything laid out like them, such as their gradient.
pub fn tensors<R: Real>(part: &str, net: &Net, p: &[R]) -> Vec<Tensor<R>> {
    let mut all = Vec::new();
    let (mut convolutions, mut dense, mut start) = (0, 0, 0);
    let mut before = None;
    for layer in net.layers() {
        let p = &p[start..start + layer.param_len()];
        start += layer.param_len();
        let (name, outputs, shape, per_output) = match *layer {
            Layer::Conv { geometry: g, .. } => {
                convolutions += 1;
                let shape = vec![g.outputs, g.inputs, g.kernel, g.kernel];
                (format!("conv{convolutions}"), g.outputs, shape, Some([g.kernel, g.kernel, g.inputs]))
            }
            Layer::Dense { inputs, outputs, .. } => {
                dense += 1;
                (format!("dense{dense}"), outputs, vec![outputs, inputs], before)
            }
            Layer::AveragePool { .. } | Layer::SoftArgmax { .. } => {
                before = image(layer);
                continue;
            }
        };
        before = image(layer);
        let (weights, bias) = p.split_at(p.len() - outputs);
        let row = |row: &[R]| match per_output {
            Some(sizes) => channels_first(sizes, row).collect(),
            None => row.to_vec(),
        };
        let data = weights.chunks_exact(weights.len() / outputs).flat_map(row).collect();
        all.push(Tensor { name: format!("{part}.{name}.weight"), shape, data });
        all.push(Tensor { name: format!("{part}.{name}.bias"), shape: vec![outputs], data: bias.to_vec() });
    }
    all
}

/// The flat parameters of a network from its tensors: the way back.
pub fn params(part: &str, net: &Net, tensors: &[Tensor]) -> Result<Vec<f32>, Error> {
    // The places of all numbers, laid out like the tensors, say where each of them belongs. Doubles
    // tell more of them apart than there is memory for.
    let places: Vec<f64> = (0..net.param_len()).map(|k| k as f64).collect();
    let mut p = vec![0.0; net.param_len()];
    for want in self::tensors(part, net, &places) {
        let found = tensors.iter().find(|tensor| tensor.name == want.name);
        let data = found.map_or(&[][..], |tensor| &tensor.data);
        if data.len() != want.data.len() {
            return Err(Error::Shape {
                what: format!("numbers in {}", want.name),
                got: data.len(),
                want: want.data.len(),
            });
        }
        for (place, value) in want.data.iter().zip(data) {
            p[*place as usize] = *value;
        }
    }
    Ok(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks;
    use nalm::InstructionSet;

    /// Averages leave 2 x 3 pixels of two channels, which lie side by side here and one after the other there.
    #[test]
    fn weights_behind_averages_are_laid_out_by_channel() {
        let layers = vec![
            Layer::AveragePool { height: 4, width: 6, channels: 2 },
            Layer::Dense { inputs: 12, outputs: 1, activation: crate::Activation::Linear, drop: 0.0 },
        ];
        let net = Net::new(layers, InstructionSet::best()).unwrap();
        let p: Vec<f32> = (0..13).map(|k| k as f32).collect();
        let all = tensors("part", &net, &p);
        assert_eq!(all[0].data, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
        assert_eq!(all[1].data, [12.0]);
        assert_eq!(params("part", &net, &all).unwrap(), p);
    }

    #[test]
    fn every_parameter_is_in_one_tensor() {
        let net = networks::digit_regressor(InstructionSet::best()).unwrap();
        let p: Vec<f32> = (0..net.param_len()).map(|k| k as f32).collect();
        let all = tensors("regressor", &net, &p);
        let names: Vec<&str> = all.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(
            names[..4],
            ["regressor.conv1.weight", "regressor.conv1.bias", "regressor.conv2.weight", "regressor.conv2.bias"]
        );
        assert_eq!(all[2].shape, [50, 20, 5, 5]);
        assert_eq!(all[4].shape, [500, 800]);
        let mut seen: Vec<f32> = all.iter().flat_map(|t| t.data.clone()).collect();
        assert!(all.iter().all(|t| t.data.len() == t.shape.iter().product::<usize>()));
        seen.sort_by(f32::total_cmp);
        assert_eq!(seen, p);
        // Second input channel, first kernel place, of the first output: the second number of a patch here.
        assert_eq!(all[2].data[25], 521.0);
        // The dense layer's first two inputs are two columns of channel 0, which here lie 50 apart.
        assert_eq!(all[4].data[1] - all[4].data[0], 50.0);
        assert_eq!(params("regressor", &net, &all).unwrap(), p);
        assert!(params("other", &net, &all).unwrap_err().to_string().contains("other.conv1.weight"));
    }
}

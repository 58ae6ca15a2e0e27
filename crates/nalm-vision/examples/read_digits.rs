//! What a trained network of the isolated task reads in the first test images.
//!
//!   cargo run --release -p nalm-vision --example read_digits results/weights/ID.safetensors

use nalm::InstructionSet;
use nalm_vision::mnist::{PIXELS, normalise};
use nalm_vision::{Error, Mnist, Mode, checkpoint, export, networks};
use std::path::Path;

fn main() -> Result<(), Error> {
    let file = std::env::args().nth(1).unwrap_or_default();
    let bytes = std::fs::read(&file).map_err(|source| Error::Read { file: file.into(), source })?;
    let (tensors, _) = checkpoint::from_bytes(&bytes)?;
    let mnist = Mnist::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist"))?;
    // Networks on halved images have a smaller first dense layer.
    let dense = tensors.iter().find(|tensor| tensor.name == "classifier.dense1.weight");
    let halved = dense.is_some_and(|tensor| tensor.data.len() == 128 * 1600);
    let net = networks::digit_classifier(if halved { 14 } else { 28 }, 1, InstructionSet::best())?;
    let p = export::params("classifier", &net, &tensors)?;
    let mut x = Vec::new();
    for k in 0..10 {
        let image: Vec<f32> = mnist.test.image(k)[..PIXELS].iter().map(|&byte| normalise(byte)).collect();
        if halved {
            let at = |cell: usize| (cell / 14) * 2 * 28 + (cell % 14) * 2;
            x.extend((0..196).map(|c| [0, 1, 28, 29].map(|step| image[at(c) + step]).iter().sum::<f32>() * 0.25));
        } else {
            x.extend(image);
        }
    }
    let (mut work, mut z) = (net.workspace(10), Vec::new());
    net.forward(&p, &x, &mut work, Mode::Eval, 1);
    work.outputs(&net, &mut z);
    for (k, z) in z.iter().enumerate() {
        println!("{} read as {z:.4}", mnist.test.labels()[k]);
    }
    Ok(())
}

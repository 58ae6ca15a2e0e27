//! A plain digit classifier from the layers of this crate: cross-entropy, Adam, two epochs.
//!
//!   cargo run --release -p nalm-vision --example digits [EPOCHS]

use nalm::optim::Optimisation;
use nalm::rng::{Fast, Purpose};
use nalm::{InstructionSet, Optimiser, Rng};
use nalm_vision::mnist::{Digits, PIXELS, normalise};
use nalm_vision::{Error, Mnist, Mode, Net, networks};
use std::time::Instant;

const BATCH: usize = 128;

fn main() -> Result<(), Error> {
    let epochs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist");
    let mnist = Mnist::load(&folder)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Everything of the published network but the expected digit at its end.
    let layers = networks::digit_classifier(28, 1, InstructionSet::best())?.layers()[..4].to_vec();
    let net = Net::new(layers, InstructionSet::best())?;
    let mut p = vec![0f32; net.param_len()];
    net.init(&mut p, &mut Rng::fast("digits", Purpose::Init));
    let mut adam = Optimisation::new(Optimiser::adam(1e-3), p.len())?;
    let mut work = net.workspace(BATCH);
    let (mut gradient, mut logits, mut x) = (vec![0.0; p.len()], Vec::new(), Vec::new());
    let start = Instant::now();
    for epoch in 0..epochs {
        let mut rng = Fast::open(&format!("digits|{epoch}"), Purpose::Data);
        let mut order: Vec<usize> = (0..mnist.train.len()).collect();
        for k in (1..order.len()).rev() {
            order.swap(k, rng.below(k as u32 + 1) as usize);
        }
        for (step, places) in order.chunks(BATCH).enumerate() {
            fill(&mnist.train, places, &mut x);
            net.forward(&p, &x, &mut work, Mode::Train { key: &format!("{epoch}|{step}") }, threads);
            work.outputs(&net, &mut logits);
            for (logits, &place) in logits.chunks_exact_mut(10).zip(places) {
                cross_entropy_gradient(logits, mnist.train.labels()[place], places.len());
            }
            net.backward(&p, &x, &mut work, &logits, &mut gradient, None, threads);
            adam.step(&mut p, &gradient)?;
        }
        let places: Vec<usize> = (0..mnist.test.len()).collect();
        let mut right = 0;
        for places in places.chunks(BATCH) {
            fill(&mnist.test, places, &mut x);
            net.forward(&p, &x, &mut work, Mode::Eval, threads);
            work.outputs(&net, &mut logits);
            right += logits
                .chunks_exact(10)
                .zip(places)
                .filter(|(logits, place)| best(logits) == usize::from(mnist.test.labels()[**place]))
                .count();
        }
        let (share, seconds) = (right as f64 / mnist.test.len() as f64, start.elapsed().as_secs_f64());
        println!("epoch {}: {:.2} % of the test digits right, {seconds:.1} s", epoch + 1, 100.0 * share);
    }
    Ok(())
}

fn fill(digits: &Digits, places: &[usize], x: &mut Vec<f32>) {
    x.clear();
    x.reserve(places.len() * PIXELS);
    places.iter().for_each(|&place| x.extend(digits.image(place).iter().map(|&byte| normalise(byte))));
}

/// Logits into the gradient of their cross-entropy.
fn cross_entropy_gradient(logits: &mut [f32], label: u8, samples: usize) {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|x| (x - most).exp()).sum();
    for (k, x) in logits.iter_mut().enumerate() {
        let wanted = if k == usize::from(label) { 1.0 } else { 0.0 };
        *x = ((*x - most).exp() / sum - wanted) / samples as f32;
    }
}

fn best(logits: &[f32]) -> usize {
    (0..10).fold(0, |best, k| if logits[k] > logits[best] { k } else { best })
}

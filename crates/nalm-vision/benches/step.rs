//! Milliseconds per training step of the networks: forward, backward and Adam; dropout included, data excluded.
//!
//!   cargo bench -p nalm-vision --bench step

use nalm::rng::Purpose;
use nalm::{Optimiser, Path, Rng, optim::Optimisation};
use nalm_vision::{Mode, Net, Set, networks};
use std::time::Instant;

fn main() -> Result<(), nalm::Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // One instruction set and one thread for a profiler, everything otherwise.
    let alone = std::env::args().any(|argument| argument == "--alone");
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let (sets, threads) = if alone { (vec![Set::best()], 1) } else { (Set::available(), threads) };
    for set in sets {
        for (name, net, samples) in [
            ("isolated, 256 images", networks::digit_classifier(28, 1, set)?, 256),
            ("sequential, 128 images", networks::digit_regressor(set)?, 128),
        ] {
            if only.as_ref().is_some_and(|only| !name.starts_with(only.as_str())) {
                continue;
            }
            for threads in [1, threads] {
                let (median, least) = step(&net, samples, threads)?;
                println!("{name:24} {:9} {threads} threads  {median:7.2} ms ({least:.2})", set.name());
            }
        }
    }
    Ok(())
}

fn step(net: &Net, samples: usize, threads: usize) -> Result<(f64, f64), nalm::Error> {
    let mut rng = Rng::fast("bench", Purpose::Data);
    let x: Vec<f32> = (0..samples * net.input_len()).map(|_| rng.uniform(-0.42, 2.8)).collect();
    let mut p = vec![0f32; net.param_len()];
    net.init(&mut p, &mut rng);
    let mut adam = Optimisation::new(Optimiser::adam(1e-3), p.len(), Path::best())?;
    let (mut work, mut gradient, mut y) = (net.workspace(samples), vec![0.0; p.len()], Vec::new());
    let mut times: Vec<f64> = (0..12)
        .map(|k| {
            let start = Instant::now();
            net.forward(&p, &x, &mut work, Mode::Train { key: &k.to_string() }, threads);
            work.outputs(net, &mut y);
            y.iter_mut().for_each(|y| *y = 2.0 * (*y - 4.0) / samples as f32);
            net.backward(&p, &x, &mut work, &y, &mut gradient, None, threads);
            adam.step(&mut p, &gradient);
            1e3 * start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], times[0]))
}

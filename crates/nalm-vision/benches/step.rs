//! Milliseconds per training step of the networks: forward, backward and Adam, dropout included. Data are excluded but for the colour
//! task, whose pictures are drawn anew in every step.
//!
//!   cargo bench -p nalm-vision --bench step [-- [--best | --alone] [--json] [NAME]]

use nalm::rng::Purpose;
use nalm::{InstructionSet, Rng};
use nalm_vision::product::{Config, Run, View};
use nalm_vision::{Adam, Error, Mnist, Mode, Net, Start, Training, networks};
use std::sync::Arc;
use std::time::Instant;

/// Steps that are timed.
const STEPS: usize = 12;

fn main() -> Result<(), Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // The best instruction set alone for comparisons, one thread besides for a profiler; everything otherwise.
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    let alone = given("--alone");
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let wanted = |name: &str| only.as_ref().is_none_or(|only| name.starts_with(only.as_str()));
    let (sets, threads) =
        if alone { (vec![InstructionSet::best()], vec![1]) } else { (InstructionSet::available(), vec![1, cores]) };
    let sets = if given("--best") { vec![InstructionSet::best()] } else { sets };
    for set in sets {
        for (name, net, samples) in [
            ("isolated, 256 images", networks::digit_classifier(28, 1, set)?, 256),
            ("halved, 256 images", networks::digit_classifier(14, 1, set)?, 256),
            ("sequential, 128 images", networks::digit_regressor(set)?, 128),
        ] {
            for &threads in threads.iter().filter(|_| wanted(name)) {
                show(name, set, threads, step(&net, samples, threads)?);
            }
        }
    }
    for &threads in threads.iter().filter(|_| wanted("colour, 256 samples")) {
        show("colour, 256 samples", InstructionSet::best(), threads, colour(threads)?);
    }
    Ok(())
}

fn show(name: &str, set: InstructionSet, threads: usize, mut times: Vec<f64>) {
    if std::env::args().any(|argument| argument == "--json") {
        let step = name.split(',').next().unwrap_or(name);
        println!(r#"{{"step":"{step}","instructions":"{}","threads":{threads},"ms":{times:?}}}"#, set.name());
        return;
    }
    times.sort_by(f64::total_cmp);
    let (median, least) = (times[times.len() / 2], times[0]);
    println!("{name:24} {:9} {threads} threads  {median:7.2} ms ({least:.2})", set.name());
}

fn step(net: &Net, samples: usize, threads: usize) -> Result<Vec<f64>, Error> {
    let mut rng = Rng::fast("bench", Purpose::Data);
    let x: Vec<f32> = (0..samples * net.input_len()).map(|_| rng.uniform(-0.42, 2.8)).collect();
    let mut p = vec![0f32; net.param_len()];
    net.init(&mut p, &mut rng);
    let mut adam = Adam::new(p.len())?;
    let (mut work, mut gradient, mut y) = (net.workspace(samples), vec![0.0; p.len()], Vec::new());
    let time = |k: usize| {
        let start = Instant::now();
        net.forward(&p, &x, &mut work, Mode::Train { key: &k.to_string() }, threads);
        work.outputs(net, &mut y);
        y.iter_mut().for_each(|y| *y = 2.0 * (*y - 4.0) / samples as f32);
        net.backward(&p, &x, &mut work, &y, &mut gradient, None, threads);
        adam.step(&mut p, &gradient, threads).expect("sizes fit");
        1e3 * start.elapsed().as_secs_f64()
    };
    Ok((0..STEPS).map(time).collect())
}

/// Epochs of two steps with 256 samples each.
fn colour(threads: usize) -> Result<Vec<f64>, Error> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist");
    let view = View::Colour { start: Start::Reset };
    let published = Config::published(view, "snmu", 2);
    let config = Config { samples: 9, epochs: u64::MAX, row_every: u64::MAX, threads, ..published };
    let mut run = Run::new(config, Arc::new(Mnist::load(&folder)?))?;
    // The first epoch is preceded by a measurement.
    run.advance(&|| false)?;
    let mut times = Vec::new();
    for _ in 0..STEPS / 2 {
        let start = Instant::now();
        run.advance(&|| false)?;
        times.push(1e3 * start.elapsed().as_secs_f64() / 2.0);
    }
    Ok(times)
}

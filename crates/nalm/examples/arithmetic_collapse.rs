//! Where the NMU collapses and the sNMU does not: the Arithmetic Dataset Task on U[-2,2) with the published streams, 20
//! seeds, 60,000 steps (about a minute on two cores).
//!
//! `cargo run --release --example arithmetic_collapse`

use nalm::{Arithmetic, Config, Dispatch, Error, Nau, Network, Nmu, Operation, Outcome, Snmu, Stream, Uniform, train};
use std::thread;

const SEEDS: u64 = 20;

fn main() -> Result<(), Error> {
    let range = |text: &str| text.parse::<Uniform>();
    let task = Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, range("U[-2,2)")?, range("U[-6,-2)∪U[2,6)")?)?;
    let units: [(&str, Box<dyn Dispatch<f32>>); 2] =
        [("NAU-NMU", Box::new(Nmu::new(2, 1)?)), ("NAU-sNMU U[1,5]", Box::new(Snmu::new(2, 1)?))];
    for (name, unit) in units {
        let network = Network::new(vec![Box::new(Nau::new(100, 2)?), unit])?;
        let config = Config::published(&network).steps(60_000).ramp(1_000_000, 2_000_000).stream(Stream::Reference);
        let half = |parity: u64| -> Result<Vec<(u64, Outcome<f32>)>, Error> {
            (parity..SEEDS).step_by(2).map(|seed| Ok((seed, train(&network, &task, seed, &config, &mut ())?))).collect()
        };
        let (even, odd) = thread::scope(|scope| {
            let even = scope.spawn(|| half(0));
            (half(1), even.join().expect("a worker does not panic"))
        });
        let mut runs = [even?, odd?].concat();
        runs.sort_by_key(|(seed, _)| *seed);
        let (solved, failed): (Vec<_>, Vec<_>) = runs.iter().partition(|(_, o)| o.simulated.solved);
        let mean = |f: fn(&Outcome<f32>) -> f64| solved.iter().map(|(_, o)| f(o)).sum::<f64>() / solved.len() as f64;
        println!(
            "{name:16} {} of {SEEDS} solved, mean solved-at {:.0}, mean test error at the best step {:.1e}",
            solved.len(),
            mean(|o| o.simulated.solved_at.unwrap_or(0) as f64),
            mean(|o| o.test_error)
        );
        for (seed, outcome) in failed {
            println!("{:16} seed {seed} ends with multiplication weights {:?}", "", &outcome.params[200..]);
        }
    }
    Ok(())
}

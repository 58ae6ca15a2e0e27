//! The small sibling of the arithmetic task: t = (x1 + x2) (x1 + x2 + x3 + x4), U[1,2) to U[2,6), NAU-NMU, 100 seeds, 200,000
//! steps, no penalty yet (about ten seconds on two cores).
//!
//! Published (Madsen and Johansen 2020): 94 % (+3/-6), solved at 1.4e4 in the median.
//!
//! `cargo run --release --example four_inputs`

use nalm::{Arithmetic, Config, Dispatch, Error, Nau, Network, Nmu, Operation, Uniform, train};
use std::thread;

const SEEDS: u64 = 100;

fn main() -> Result<(), Error> {
    let task =
        Arithmetic::with_subsets(Operation::Mul, 4, 0..2, 0..4, Uniform::new(1.0, 2.0)?, Uniform::new(2.0, 6.0)?)?;
    let layers: Vec<Box<dyn Dispatch<f32>>> = vec![Box::new(Nau::new(4, 2)?), Box::new(Nmu::new(2, 1)?)];
    let network = Network::new(layers)?;
    let config = Config::published(&network).steps(200_000).ramp(1_000_000, 2_000_000);
    let half = |parity: u64| -> Result<Vec<Option<u64>>, Error> {
        let runs = (parity..SEEDS).step_by(2).map(|seed| {
            let verdict = train(&network, &task, seed, &config, &mut ())?.simulated;
            Ok(verdict.solved_at.filter(|_| verdict.solved))
        });
        runs.collect()
    };
    let (even, odd) = thread::scope(|scope| {
        let even = scope.spawn(|| half(0));
        (half(1), even.join().expect("a worker does not panic"))
    });
    let mut solved: Vec<u64> = [even?, odd?].concat().into_iter().flatten().collect();
    solved.sort_unstable();
    let (low, high) = wilson(solved.len() as f64, SEEDS as f64);
    let threshold = task.thresholds().simulated;
    println!("threshold {threshold:.3e}");
    println!("{} of {SEEDS} solved, 95 % interval {low:.3} to {high:.3}", solved.len());
    println!("solved at {} in the median", solved[solved.len() / 2]);
    Ok(())
}

/// Wilson's score interval for k successes in n trials.
fn wilson(k: f64, n: f64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let (p, z2) = (k / n, Z * Z / n);
    let centre = (p + z2 / 2.0) / (1.0 + z2);
    let half = Z / (1.0 + z2) * (p * (1.0 - p) / n + z2 / (4.0 * n)).sqrt();
    (centre - half, centre + half)
}

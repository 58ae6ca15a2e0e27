//! All nine ranges of the Arithmetic Dataset Task, the two that no published module solves included:
//!
//!     cargo run --release --features second-order --example second_order [seeds]

use nalm::second_order::{TrainingSchedule, follow};
use nalm::task::PAPER_RANGES;
use nalm::{Arithmetic, Config, Distribution, Error, Nau, Network, Operation, Snmu};
use std::time::Instant;

fn main() -> Result<(), Error> {
    let seeds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let network: Network<f32> = Network::new(vec![Box::new(Nau::new(100, 2)?), Box::new(Snmu::new(2, 1)?)])?;
    let (config, schedule) = (Config::published(&network), TrainingSchedule::default());
    println!("{:14} solved  median seconds  attempts", "range");
    for (train, test) in PAPER_RANGES {
        let range = |text: &str| text.parse::<Distribution>();
        let task = Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, range(train)?, range(test)?)?;
        let (mut solved, mut attempts, mut seconds) = (0, 0, Vec::new());
        for seed in 0..seeds {
            let clock = Instant::now();
            let outcome = follow(&network, &task, seed, &config, &schedule, &mut ())?;
            seconds.push(clock.elapsed().as_secs_f64());
            solved += u64::from(outcome.solved());
            attempts += outcome.reinitialisations + 1;
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN);
        println!("{train:14} {solved} of {seeds}  {median:.2}  {attempts}");
    }
    Ok(())
}

//! Whether it matters where the growth of the NPUs' penalty ends: at 1e-5, as the paper's table says, or at 1e-4, as follows from a literal
//! reading of the code. Single Module Task, multiplication, nine ranges, 25 seeds (about a minute on one core).
//!
//! `cargo run --release --example npu_growth`

use nalm::module::{self, Shape};
use nalm::task::PAPER_RANGES;
use nalm::{Config, Error, Network, Operation, Options, Penalty, Schedule, SingleModule, Uniform, train};

const SEEDS: u64 = 25;

fn main() -> Result<(), Error> {
    println!("{:9} {:16} {:>6} {:>6} {:>8} {:>8}", "unit", "range", "1e-5", "1e-4", "gained", "lost");
    for unit in ["npu", "real-npu"] {
        let spec = module::find::<f32>(unit)?;
        let mut total = [0; 4];
        for (train_range, test_range) in PAPER_RANGES {
            let (inside, outside): (Uniform, Uniform) = (train_range.parse()?, test_range.parse()?);
            let task = SingleModule::new(Operation::Mul, 2, inside, outside)?;
            let network = Network::new(vec![(spec.build)(Shape::new(2, 1)?, &Options::default())?])?;
            let mut solved = [Vec::new(), Vec::new()];
            for (solved, most) in solved.iter_mut().zip([1e-5, 1e-4]) {
                let mut config = Config::published(&network);
                for penalty in &mut config.penalties {
                    let schedule = Schedule::Growth { every: 10_000, factor: 10.0, most };
                    *penalty = Penalty { schedule, ..*penalty };
                }
                for seed in 0..SEEDS {
                    let verdict = train(&network, &task, seed, &config, &mut ())?.flat;
                    solved.push(verdict.is_some_and(|verdict| verdict.solved));
                }
            }
            // Seed by seed, so that a paired test can be made of it.
            let count =
                |of: fn(bool, bool) -> bool| solved[0].iter().zip(&solved[1]).filter(|(a, b)| of(**a, **b)).count();
            let found = [count(|a, _| a), count(|_, b| b), count(|a, b| b && !a), count(|a, b| a && !b)];
            print(spec.label, train_range, found);
            total.iter_mut().zip(found).for_each(|(total, found)| *total += found);
        }
        print(spec.label, "all", total);
    }
    Ok(())
}

fn print(unit: &str, range: &str, [less, more, gained, lost]: [usize; 4]) {
    println!("{unit:9} {range:16} {less:>6} {more:>6} {gained:>8} {lost:>8}");
}

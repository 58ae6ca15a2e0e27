//! Whether it matters where the growth of the NPUs' penalty ends: at 1e-5, as the paper's table says, or at 1e-4, as follows from a literal
//! reading of the code. Single Module Task, multiplication, nine ranges, 25 seeds (about a minute on one core).
//!
//! `cargo run --release --example npu_growth`

use nalm::module::{self, Shape};
use nalm::task::PAPER_RANGES;
use nalm::{Config, Error, Network, Operation, Options, Penalty, Schedule, SingleModule, Uniform, train};

const SEEDS: u64 = 25;

fn main() -> Result<(), Error> {
    println!("{:9} {:16} {:>6} {:>6}", "unit", "range", "1e-5", "1e-4");
    for unit in ["npu", "real-npu"] {
        let spec = module::find::<f32>(unit)?;
        let mut total = [0; 2];
        for (train_range, test_range) in PAPER_RANGES {
            let (inside, outside): (Uniform, Uniform) = (train_range.parse()?, test_range.parse()?);
            let task = SingleModule::new(Operation::Mul, 2, inside, outside)?;
            let network = Network::new(vec![(spec.build)(Shape::new(2, 1)?, &Options::default())?])?;
            let mut solved = [0; 2];
            for (count, most) in solved.iter_mut().zip([1e-5, 1e-4]) {
                let mut config = Config::published(&network);
                for penalty in &mut config.penalties {
                    let schedule = Schedule::Growth { every: 10_000, factor: 10.0, most };
                    *penalty = Penalty { schedule, ..*penalty };
                }
                for seed in 0..SEEDS {
                    let verdict = train(&network, &task, seed, &config, &mut ())?.flat;
                    *count += usize::from(verdict.is_some_and(|verdict| verdict.solved));
                }
            }
            println!("{:9} {:16} {:>6} {:>6}", spec.label, train_range, solved[0], solved[1]);
            total = [total[0] + solved[0], total[1] + solved[1]];
        }
        println!("{:9} {:16} {:>6} {:>6}", spec.label, "all", total[0], total[1]);
    }
    Ok(())
}

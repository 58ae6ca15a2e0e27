//! Why noise helps: the NMU and the stochastic NMU on U[-2,-1), 25 seeds each.
//!
//! Negative inputs have a second place to settle: with both weights at 0 the output is 1 and no gradient leads away. Noise
//! above 1 moves every weight towards 1 at random but leaves 0 and 1 where they are.
//!
//! `cargo run --release --example nmu_against_snmu`

use nalm::{Config, Error, Network, Nmu, SingleModule, Snmu, train};

fn main() -> Result<(), Error> {
    let task = SingleModule::mul(-2.0, -1.0, -6.0, -2.0)?;
    for (name, network) in
        [("NMU", Network::<f32>::single(Nmu::new(2, 1)?)), ("sNMU U[1,5]", Network::single(Snmu::new(2, 1)?))]
    {
        let config = Config::published(&network);
        let mut solved = 0;
        let mut ends = Vec::new();
        for seed in 0..25 {
            let outcome = train(&network, &task, seed, &config, &mut ())?;
            solved += u32::from(outcome.solved());
            if !outcome.solved() {
                ends.push(format!("seed {seed} ends at {:?}", outcome.params));
            }
        }
        println!("{name:12} {solved} of 25 seeds solved");
        for end in ends {
            println!("{:12} {end}", "");
        }
    }
    Ok(())
}

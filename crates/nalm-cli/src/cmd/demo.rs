//! `nalm demo`: why reversible noise helps, in a second.

use anyhow::Result;
use nalm::{Config, LoggedErrors, Network, Nmu, Observer, SingleModule, Snmu, train};
use std::io::Write;
use std::ops::ControlFlow;

/// The weights at the logged steps.
#[derive(Default)]
struct Weights(Vec<[f32; 2]>);

impl Observer<f32> for Weights {
    fn logged(&mut self, _: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        self.0.push([params[0], params[1]]);
        ControlFlow::Continue(())
    }
}

pub(crate) fn run(seeds: u64) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let task = SingleModule::mul(-2.0, -1.0, -6.0, -2.0)?;
    let nmu = Network::<f32>::single(Nmu::new(2, 1)?);
    let snmu = Network::<f32>::single(Snmu::new(2, 1)?);
    writeln!(out, "Two units learn a * b from U[-2,-1); the test is U[-6,-2).")?;
    writeln!(out, "Their two weights after 0, 1,000, 2,000 and 5,000 steps:\n")?;
    writeln!(out, "{:>4}  {:<36}  sNMU, noise U[1,5]", "seed", "NMU")?;
    let mut solved = [0; 2];
    for seed in 0..seeds {
        let mut cells = Vec::new();
        for (k, network) in [&nmu, &snmu].into_iter().enumerate() {
            let mut weights = Weights::default();
            let config =
                Config { log_every: 1_000, validation: 1_000, test: 1_000, ..Config::published(network).steps(5_000) };
            let outcome = train(network, &task, seed, &config, &mut weights)?;
            solved[k] += u64::from(outcome.solved());
            let shown = [0, 1, 2, 5].iter().filter_map(|&k| weights.0.get(k));
            let path: Vec<String> = shown.map(|[a, b]| format!("{a:.1},{b:.1}")).collect();
            cells.push(format!("{:4} {}", if outcome.solved() { "ok" } else { "FAIL" }, path.join(" ")));
        }
        writeln!(out, "{seed:>4}  {:<36}  {}", cells[0], cells[1])?;
    }
    let (n, [nmu, snmu]) = (seeds, solved);
    writeln!(out, "\nThe NMU solved {nmu} of {n}, the sNMU {snmu} of {n}: with both weights at 0 an NMU's output")?;
    writeln!(out, "is 1 and nothing leads away from there; noise above 1 moves every weight")?;
    writeln!(out, "towards 1, but leaves 0 and 1 where they are.")?;
    Ok(())
}

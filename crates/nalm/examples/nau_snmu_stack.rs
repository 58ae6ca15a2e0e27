//! A stack: an addition unit finds two sums among 100 inputs, a stochastic multiplication unit multiplies them.
//!
//! `cargo run --release --example nau_snmu_stack`

use nalm::{
    Arithmetic, Config, Dispatch, Error, LoggedErrors, Nau, Network, Observer, Operation, Snmu, Uniform, train,
};
use std::ops::ControlFlow;

/// Prints the logged errors, and stops once the task has been solved for a while.
struct Progress {
    threshold: f64,
    solved: u32,
}

impl Observer<f32> for Progress {
    fn logged(&mut self, row: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        println!(
            "step {:>6}   inside {:9.2e}   outside {:9.2e}   multiplication weights {:?}",
            row.step,
            row.validation,
            row.test,
            &params[200..]
        );
        self.solved += u32::from(row.test < self.threshold);
        if self.solved > 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn main() -> Result<(), Error> {
    let range = |text: &str| text.parse::<Uniform>();
    let task = Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, range("U[-2,2)")?, range("U[-6,-2)∪U[2,6)")?)?;
    let layers: Vec<Box<dyn Dispatch<f32>>> = vec![Box::new(Nau::new(100, 2)?), Box::new(Snmu::new(2, 1)?)];
    let network = Network::new(layers)?;
    let config = Config::published(&network).steps(2_000_000).ramp(1_000_000, 2_000_000);
    let threshold = task.thresholds().simulated;
    println!("{} with {} parameters; solved below {threshold:.2e}", network.name(), network.param_len());

    let outcome = train(&network, &task, 0, &config, &mut Progress { threshold, solved: 0 })?;
    let first: Vec<usize> = (0..100).filter(|&i| outcome.params[i].abs() > 0.5).collect();
    println!("{:?}; the first sum takes inputs {first:?}", outcome.status);
    Ok(())
}

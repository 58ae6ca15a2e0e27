//! `nalm bench`: nanoseconds per training step, and the instructions they were made with.

use anyhow::{Result, ensure};
use nalm::architecture::{Layer, stack};
use nalm::metric::{Outcome, Status};
use nalm::task::Task;
use nalm::{Arithmetic, Config, InstructionSet, Operation, SingleModule, Uniform, module, train};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

/// Timed stretches of a few milliseconds; their median is reported.
const REPEATS: usize = 11;

/// What is measured, and its layers.
const STEPS: [(&str, &[&str]); 11] = [
    ("nmu-2-1", &["nmu"]),
    ("snmu-2-1", &["snmu"]),
    ("nau-nmu-100-2-1", &["nau 100->2", "nmu"]),
    ("nau-snmu-100-2-1", &["nau 100->2", "snmu"]),
    ("nac-mul-2-1", &["nac-mul"]),
    ("nalu-2-1", &["nalu"]),
    ("g-nalu-2-1", &["g-nalu"]),
    ("inalu-2-1", &["inalu"]),
    ("npu-2-1", &["npu"]),
    ("real-npu-2-1", &["real-npu"]),
    ("mlp-100", &["mlp"]),
];

#[derive(Serialize)]
struct Timing {
    step: &'static str,
    ns: f64,
    path: &'static str,
}

pub(crate) fn run(json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for (step, layers) in STEPS {
        let ns = measure(layers, Size::default())?;
        let path = InstructionSet::best().name();
        if !json {
            writeln!(std::io::stdout().lock(), "{step:18} {ns:10.1} ns  {path}")?;
        }
        rows.push(Timing { step, ns, path });
    }
    if json { super::print_json(&rows) } else { Ok(()) }
}

/// How large a measurement is.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) batch: usize,
    /// Runs side by side, one a thread.
    pub(crate) threads: usize,
    /// What inputs are drawn from.
    pub(crate) range: (f64, f64),
}

impl Default for Size {
    fn default() -> Self {
        Self { batch: 128, threads: 1, range: (1.0, 2.0) }
    }
}

/// Nanoseconds a step of a stack of these layers takes; with several threads, the time in which they do as many steps as they are, divided by their number.
pub(crate) fn measure(layers: &[&str], size: Size) -> Result<f64> {
    let layers = layers.iter().map(|text| text.parse()).collect::<Result<Vec<Layer>, _>>()?;
    let inputs = layers[0].inputs.unwrap_or(2);
    let network = stack::<f32>(&layers, inputs, &module::find)?;
    let (low, high) = size.range;
    let (train_range, test_range) = (Uniform::new(low, high)?, Uniform::new(high, 2.0 * high)?);
    let task: Box<dyn Task<f32>> = match layers.len() {
        1 => Box::new(SingleModule::new(Operation::Mul, inputs, train_range, test_range)?),
        _ => Box::new(Arithmetic::new(Operation::Mul, inputs, 0.25, 0.5, train_range, test_range)?),
    };
    let time = |steps: u64| -> Result<f64> {
        // The penalty acts from the second step on, so that every step does all of its work.
        let published = Config::published(&network).steps(steps).ramp(0, 1);
        let config = Config { batch: size.batch, validation: 16, test: 16, log_every: u64::MAX, ..published };
        let (network, task, config, start) = (&network, &*task, &config, Instant::now());
        std::thread::scope(|scope| {
            let runs: Vec<_> = (1..size.threads)
                .map(|k| scope.spawn(move || train(network, task, k as u64, config, &mut ())))
                .collect();
            // A run that ends early would pass for a fast one.
            let whole = |outcome: Outcome<f32>| {
                ensure!(outcome.status == Status::Completed, "training ended early: {:?}", outcome.status);
                Ok(())
            };
            whole(train(network, task, 0, config, &mut ())?)?;
            runs.into_iter().try_for_each(|run| whole(run.join().expect("training does not panic")?))
        })?;
        Ok(start.elapsed().as_nanos() as f64 / (steps + 1) as f64 / size.threads as f64)
    };
    // Long enough for what is done once a run not to count: data sets, thresholds, threads.
    let steps = (2e7 / time(2_000)?) as u64 + 1_000;
    let mut times = (0..REPEATS).map(|_| time(steps)).collect::<Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[REPEATS / 2])
}

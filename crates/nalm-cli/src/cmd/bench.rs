//! `nalm bench`: nanoseconds per training step, and the instructions they were made with.

use crate::arguments::Bench;
use anyhow::Result;
use nalm::module::{self, Dispatch, Options, Shape};
use nalm::task::Task;
use nalm::{Arithmetic, Config, InstructionSet, Nau, Network, Operation, SingleModule, Uniform, train};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

/// Timed stretches of a few milliseconds; their median is reported.
const REPEATS: usize = 21;

const STEPS: [(&str, &str, bool); 11] = [
    ("nmu-2-1", "nmu", false),
    ("snmu-2-1", "snmu", false),
    ("nau-nmu-100-2-1", "nmu", true),
    ("nau-snmu-100-2-1", "snmu", true),
    ("nac-mul-2-1", "nac-mul", false),
    ("nalu-2-1", "nalu", false),
    ("g-nalu-2-1", "g-nalu", false),
    ("inalu-2-1", "inalu", false),
    ("npu-2-1", "npu", false),
    ("real-npu-2-1", "real-npu", false),
    ("mlp-100", "mlp", false),
];

#[derive(Serialize)]
struct Row {
    step: &'static str,
    ns: f64,
    path: &'static str,
}

pub(crate) fn run(arguments: &Bench) -> Result<()> {
    let mut rows = Vec::new();
    for (step, unit, stacked) in STEPS {
        let ns = measure(unit, stacked)?;
        let path = InstructionSet::best().name();
        if !arguments.json {
            writeln!(std::io::stdout().lock(), "{step:18} {ns:10.1} ns  {path}")?;
        }
        rows.push(Row { step, ns, path });
    }
    if arguments.json { super::print_json(&rows) } else { Ok(()) }
}

fn measure(unit: &str, stacked: bool) -> Result<f64> {
    let spec = module::find::<f32>(unit)?;
    let top = (spec.build)(Shape::new(2, 1)?, &Options::default())?;
    let (train_range, test_range) = (Uniform::new(1.0, 2.0)?, Uniform::new(2.0, 6.0)?);
    let task: Box<dyn Task<f32>> = if stacked {
        Box::new(Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, train_range, test_range)?)
    } else {
        Box::new(SingleModule::new(Operation::Mul, 2, train_range, test_range)?)
    };
    let mut layers: Vec<Box<dyn Dispatch<f32>>> = vec![top];
    if stacked {
        layers.insert(0, Box::new(Nau::new(100, 2)?));
    }
    let network = Network::new(layers)?;
    let time = |steps: u64| -> Result<f64> {
        // The penalty acts from the second step on, so that every step does all of its work.
        let published = Config::published(&network).steps(steps).ramp(0, 1);
        let config = Config { evaluation: 16, log_every: u64::MAX, ..published };
        let start = Instant::now();
        train(&network, &*task, 0, &config, &mut ())?;
        Ok(start.elapsed().as_nanos() as f64 / (steps + 1) as f64)
    };
    let steps = (3e6 / time(2_000)?) as u64 + 10;
    let mut times = (0..REPEATS).map(|_| time(steps)).collect::<Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[REPEATS / 2])
}

//! Nanoseconds per training step, sampling included, evaluation excluded, on one core.
//!
//! `cargo bench --bench step [-- FILTER...] [--exact] [--json] [--all-paths | --instructions=SET] [--reference]`

use nalm::module::{self, Dispatch, Options, Shape};
use nalm::rng::Stream;
use nalm::task::{Arithmetic, SingleModule, Task};
use nalm::{Config, train};
use nalm::{InstructionSet, Nau, Network, Nmu, Operation, Snmu, Uniform};
use std::time::Instant;

/// Batches of steps that are timed; the median and the minimum of them are reported.
const REPEATS: usize = 31;

struct Step {
    name: &'static str,
    network: Network<f32>,
    task: Box<dyn Task<f32>>,
}

fn steps() -> Vec<Step> {
    let range = |text: &str| text.parse::<Uniform>().expect("a range");
    let product = || SingleModule::mul(1.0, 2.0, 2.0, 6.0).expect("a task");
    let sums = || Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, range("U[1,2)"), range("U[2,6)")).expect("a task");
    let stack = |top: Box<dyn Dispatch<f32>>| {
        Network::new(vec![Box::new(Nau::new(100, 2).expect("a shape")), top]).expect("a stack")
    };
    let mut steps = vec![
        Step {
            name: "nau-nmu-100-2-1",
            network: stack(Box::new(Nmu::new(2, 1).expect("a shape"))),
            task: Box::new(sums()),
        },
        Step {
            name: "nau-snmu-100-2-1",
            network: stack(Box::new(Snmu::new(2, 1).expect("a shape"))),
            task: Box::new(sums()),
        },
    ];
    for (name, unit) in [
        ("nmu-2-1", "nmu"),
        ("snmu-2-1", "snmu"),
        ("snmu-exp-2-1", "snmu-exp"),
        ("stg-nmu-2-1", "stg-nmu"),
        ("nac-mul-2-1", "nac-mul"),
        ("nalu-2-1", "nalu"),
        ("g-nalu-2-1", "g-nalu"),
        ("inalu-2-1", "inalu"),
        ("npu-2-1", "npu"),
        ("real-npu-2-1", "real-npu"),
        ("gated-nmu-2-1", "gated-nmu"),
        ("mlp-100", "mlp"),
    ] {
        let spec = module::find::<f32>(unit).expect("a listed unit");
        let unit = (spec.build)(Shape::new(2, 1).expect("a shape"), &Options::default()).expect("a unit");
        steps.push(Step { name, network: Network::new(vec![unit]).expect("a unit"), task: Box::new(product()) });
    }
    steps
}

/// Median and minimum nanoseconds per step.
fn time(step: &Step, instructions: InstructionSet, stream: Stream) -> (f64, f64) {
    // Penalties are asked for without a layout, and go by what the process prefers.
    instructions.prefer();
    let config = |steps| Config {
        validation: 16,
        test: 16,
        log_every: u64::MAX,
        instructions,
        // The penalty acts from the second step on, so that every step does all of its work.
        ..Config::published(&step.network).steps(steps).ramp(0, 1).stream(stream)
    };
    let run = |steps: u64| {
        let start = Instant::now();
        train(&step.network, &*step.task, 0, &config(steps), &mut ()).expect("a run");
        start.elapsed().as_nanos() as f64 / (steps + 1) as f64
    };
    // About four milliseconds a batch, after a first one that warms up.
    let guess = run(2_000);
    let length = (4e6 / guess) as u64;
    let mut times: Vec<f64> = (0..REPEATS).map(|_| run(length.max(10))).collect();
    times.sort_by(f64::total_cmp);
    (times[REPEATS / 2], times[0])
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let flag = |name: &str| arguments.iter().any(|a| a == name);
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let stream = if flag("--reference") { Stream::Reference } else { Stream::Fast };
    let chosen = arguments.iter().find_map(|a| a.strip_prefix("--instructions="));
    let paths = match chosen {
        Some(name) => vec![InstructionSet::named(name).unwrap_or_else(|error| panic!("{error}"))],
        None if flag("--all-paths") => InstructionSet::available(),
        None => vec![InstructionSet::best()],
    };
    let mut rows = Vec::new();
    for step in steps() {
        let wanted = |f: &&String| if flag("--exact") { step.name == **f } else { step.name.contains(f.as_str()) };
        if !filters.is_empty() && !filters.iter().any(wanted) {
            continue;
        }
        for &instructions in &paths {
            let (median, minimum) = time(&step, instructions, stream);
            if flag("--json") {
                let instructions = instructions.name();
                rows.push(format!(
                    r#"{{"step":"{}","ns":{median:.1},"minimum":{minimum:.1},"instructions":"{instructions}"}}"#,
                    step.name
                ));
            } else {
                println!("{:18} {:8} {median:9.1} ns median {minimum:9.1} ns minimum", step.name, instructions.name());
            }
        }
    }
    if flag("--json") {
        println!("[{}]", rows.join(",\n "));
    }
}

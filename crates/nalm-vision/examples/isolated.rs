//! The isolated task, small: `isolated HEAD FOLD SAMPLES EPOCHS RAMP_START`.

use nalm_vision::isolated::{Config, Run};
use nalm_vision::{Error, Mnist};
use std::ops::ControlFlow;
use std::time::Instant;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, default: u64| arguments.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let head = arguments.first().map_or("snmu", String::as_str);
    let ramp = number(4, 100);
    let config = Config {
        samples: number(2, 20) as usize,
        epochs: number(3, 20),
        ramp: (ramp, ramp + 10),
        halved: true,
        row_every: 5,
        train_evaluated: 1_000,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..Config::published(head, number(1, 2) as usize)
    };
    let mnist = Mnist::load(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist"))?;
    let start = Instant::now();
    Run::new(config, &mnist)?.train(|row| {
        let [product, left, right] = row.test.accuracy;
        println!(
            "epoch {:>4}  error {:8.3}  product {:.3} (strict {:.3})  digits {:.3} {:.3}  weights {:.3?}  {:.1} s",
            row.epoch,
            row.test.errors[0],
            product.rounded,
            product.strict,
            left.rounded,
            right.rounded,
            row.weights,
            start.elapsed().as_secs_f64()
        );
        ControlFlow::Continue(())
    })
}

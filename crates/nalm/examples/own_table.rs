//! A table of your own: which formula made the column `energy`, and which of the other columns are in it?
//!
//! `cargo run --release --features csv --example own_table`

use nalm::rng::Purpose;
use nalm::{Config, Error, Network, Nmu, Rng, Split, Stopping, Table, TableTask, formula, train_until};
use std::fmt::Write;

const INPUTS: [&str; 5] = ["volts", "amperes", "hours", "celsius", "day"];

/// The text of a file with 400 measurements; yours comes from a file. The energy is rounded, as measurements are.
fn text() -> String {
    let mut text = String::from("meter;volts;amperes;hours;celsius;day;energy\n");
    let mut rng = Rng::fast("own table", Purpose::Data);
    for row in 0..400 {
        let [volts, amperes, hours, celsius] =
            [(0.5, 3.0), (0.5, 2.5), (1.0, 2.0), (0.0, 3.0)].map(|(low, high)| rng.uniform::<f64>(low, high));
        let (day, energy) = (row % 7, volts * amperes * hours);
        writeln!(text, "M-{row:03};{volts};{amperes};{hours};{celsius:.2};{day};{energy:.4}")
            .expect("strings can be written to");
    }
    text
}

fn main() -> Result<(), Error> {
    // Only columns that are asked for have to be numbers: the first one is not.
    let columns: Vec<&str> = INPUTS.into_iter().chain(["energy"]).collect();
    let table = Table::from_csv(text().as_bytes(), "measurements.csv", Some(&columns))?;

    // Rows with the smallest and largest energies are kept for the test: a formula holds there, too, but a mere fit does not.
    let split = Split::Extremes { column: "energy".into(), validation: 0.2, test: 0.2 };
    let task = TableTask::new(table, &INPUTS, "energy", split, TableTask::GOAL)?;
    let seed = 0;
    let parts = task.parts(seed);
    println!(
        "{} rows: {} to train on, {} to validate on, {} to test on",
        task.table().rows(),
        parts.training.len(),
        parts.validation.len(),
        parts.test.len()
    );

    let network = Network::<f32>::single(Nmu::new(INPUTS.len(), 1)?);
    let config = Config::published(&network).ramp(5_000, 10_000);
    let outcome = train_until(&network, &task, seed, &config, &Stopping::default(), &mut ())?;
    println!(
        "{:?} at start {}; weights of step {}: {:.4?}",
        outcome.status,
        outcome.reinitialisations + 1,
        outcome.best_step,
        outcome.params
    );
    println!(
        "mean squared error {:.1e} inside, {:.1e} outside; solved below {:.1e}: {}",
        outcome.validation_error,
        outcome.test_error,
        task.thresholds().simulated,
        outcome.solved()
    );
    match formula::read(&network, &outcome.params, &INPUTS)? {
        Some(lines) => println!("{}", lines.join("\n")),
        None => println!("no simple formula"),
    }
    Ok(())
}

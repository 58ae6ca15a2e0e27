//! A network and its training in files: training that is interrupted and goes on ends as if it had never stopped, and the trained network
//! leaves as a function in C.
//!
//! `cargo run --release --features save --example save_and_load`

use nalm::expression::Language;
use nalm::train::resume;
use nalm::{Config, Network, SingleModule, Snmu, formula, module, save, train};
use std::{env, error::Error, fs, process};

fn main() -> Result<(), Box<dyn Error>> {
    let file = |name: &str| env::temp_dir().join(format!("nalm-{}-{name}.safetensors", process::id()));
    let (training_file, network_file) = (file("training"), file("network"));
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0)?;
    let seed = 0;

    // The beginning. The stochastic unit draws noise, so the state of its generator is saved as well.
    let network = Network::<f32>::single(Snmu::new(2, 1)?);
    let config = Config::published(&network).ramp(5_000, 10_000);
    let begun = train(&network, &task, seed, &config.clone().steps(400), &mut ())?;
    let state = begun.state.ok_or("the run left no state")?;
    fs::write(&training_file, save::training_to_bytes(&network, &state)?)?;

    // The rest, perhaps in another program: network and state come from the file, task, seed and settings from you.
    let (loaded, state) = save::training_from_bytes::<f32>(&fs::read(&training_file)?, &module::find)?;
    println!("step {}, parameters {:?}, loaded from {}", state.step, state.params, training_file.display());
    let resumed = resume(&loaded, &task, seed, &config.clone().steps(20_000), &state, &mut ())?;
    let uninterrupted = train(&network, &task, seed, &config.steps(20_000), &mut ())?;
    assert_eq!(resumed.params, uninterrupted.params);
    println!("step 20000, parameters {:?}, the same as without the interruption", resumed.params);

    // The trained network alone.
    fs::write(&network_file, save::to_bytes(&loaded, &resumed.params)?)?;
    let (again, params) = save::from_bytes::<f32>(&fs::read(&network_file)?, &module::find)?;
    let rows = [123.0, -4.5, 0.1, 0.2, 6.0, 7.0]; // three rows of two numbers
    let bits = |y: Vec<f32>| y.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let prediction = again.predict(&params, &rows)?;
    println!("predictions {prediction:?}");
    assert_eq!(bits(prediction), bits(network.predict(&resumed.params, &rows)?));

    println!("\n{}", formula::source(&again, &params, "product", Language::C)?);
    fs::remove_file(training_file)?;
    fs::remove_file(network_file)?;
    Ok(())
}

//! A neural multiplication unit learns a * b from numbers between 1 and 2, beside an ordinary network that does not.
//!
//! `cargo run --release --example learn_a_product [STEPS]`

use nalm::{Config, Error, Mlp, Network, Nmu, Outcome, SingleModule, train};

fn main() -> Result<(), Error> {
    let steps = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0)?;
    let nmu = Network::<f32>::single(Nmu::new(2, 1)?);
    let mlp = Network::<f32>::single(Mlp::new(2, 100, 1)?);

    println!("Two networks learn a * b from U[1,2) and are tested on U[2,6); {steps} steps.\n");
    println!("{:>10} {:>12} {:>12} {:>12}", "", "inside", "outside", "parameters");
    let mut learned = Vec::new();
    for (name, network) in [("NMU", &nmu), ("MLP (100)", &mlp)] {
        let config = Config::published(network).steps(steps);
        let Outcome { validation_error, test_error, params, .. } = train(network, &task, 0, &config, &mut ())?;
        println!("{name:>10} {validation_error:12.1e} {test_error:12.1e} {:>12}", network.param_len());
        learned.push(params);
    }

    println!("\nThe NMU's weights are {:?}: it selects both inputs and multiplies them.\n", learned[0]);
    println!("{:>16} {:>14} {:>14} {:>14}", "a * b", "exact", "NMU", "MLP (100)");
    for [a, b] in [[1.5, 1.2], [3.0, 4.0], [-7.0, 11.0], [123.0, 456.0]] {
        let y = |network: &Network<f32>, p: &[f32]| network.predict(p, &[a, b]).map(|y| y[0]);
        let (one, other) = (y(&nmu, &learned[0])?, y(&mlp, &learned[1])?);
        println!("{:>16} {:14.2} {one:14.2} {other:14.2}", format!("{a} * {b}"), a * b);
    }
    Ok(())
}

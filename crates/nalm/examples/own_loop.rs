//! A training loop of your own, with something of your own before the unit: two meters do not show 0 when they should, and the offsets are
//! learned together with the product behind them.
//!
//! `cargo run --release --example own_loop`

use nalm::{Config, Error, Network, Nmu, Optimisation, Optimiser, Pass, Rng, formula};

const ROWS: usize = 37;
const COLUMNS: usize = 3;

/// A row of what the meters show, and the power that was measured. The last column has nothing to do with it.
fn row(rng: &mut Rng) -> ([f32; COLUMNS], f32) {
    let x = [rng.uniform(1.0, 2.0), rng.uniform(1.0, 2.0), rng.uniform(1.0, 2.0)];
    (x, (x[0] + 0.25) * (x[1] - 0.5))
}

fn main() -> Result<(), Error> {
    let network = Network::<f32>::single(Nmu::new(COLUMNS, 1)?);
    let mut params = vec![0.0; network.param_len()];
    let mut rng = Rng::seeded(1);
    network.init(&mut params, &mut rng);
    let mut offsets = [0.0; COLUMNS];

    let mut adam = Optimisation::new(Optimiser::adam(1e-3), params.len())?;
    let mut offset_adam = Optimisation::new(Optimiser::adam(1e-3), offsets.len())?;
    let mut work = network.row_workspace();
    // The penalty moves every weight to 0 or 1. It starts when the weights have found their side.
    let penalties = Config::published(&network).ramp(2_000, 4_000).penalties;
    let (mut h, mut t, mut dy) = ([0.0; ROWS * COLUMNS], [0.0; ROWS], [0.0; ROWS]);
    let (mut gradient, mut offset_gradient) = (vec![0.0; params.len()], [0.0; COLUMNS]);

    for step in 0..=6_000 {
        // Your layer: it adds an offset to every column.
        for (h, t) in h.chunks_exact_mut(COLUMNS).zip(&mut t) {
            let (x, target) = row(&mut rng);
            *t = target;
            for ((h, x), offset) in h.iter_mut().zip(x).zip(offsets) {
                *h = x + offset;
            }
        }
        let y = network.forward_rows(&params, &h, Pass::Train(&mut rng), &mut work)?;
        // Your loss: the mean squared error.
        let mut loss = 0.0;
        for ((dy, y), t) in dy.iter_mut().zip(y).zip(&t) {
            loss += (y - t) * (y - t) / ROWS as f32;
            *dy = 2.0 * (y - t) / ROWS as f32;
        }

        // Gradients are added to what is there, so it has to be 0.
        gradient.fill(0.0);
        offset_gradient.fill(0.0);
        let dh = network.backward_rows(&params, &dy, &mut gradient, &mut work)?;
        for dh in dh.chunks_exact(COLUMNS) {
            for (sum, dh) in offset_gradient.iter_mut().zip(dh) {
                *sum += dh;
            }
        }
        network.penalty(&params, &penalties, step, f64::from(loss), &mut gradient);

        adam.step(&mut params, &gradient)?;
        network.project(&mut params);
        offset_adam.step(&mut offsets, &offset_gradient)?;
        if step % 1_000 == 0 {
            println!("step {step:>5}   loss {loss:8.1e}   weights {params:.3?}   offsets {offsets:.3?}");
        }
    }

    let names = ["volts", "amperes", "day"].iter().zip(offsets).map(|(name, offset)| format!("({name} {offset:+.3})"));
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lines = formula::read(&network, &params, &names)?.expect("an NMU has a formula");
    println!("{}", lines.join("\n"));
    Ok(())
}

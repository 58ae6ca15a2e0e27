//! What plain rows cost: a forward and a backward pass through rows and through lanes, in turn, and moving numbers between the two.
//!
//!   cargo bench -p nalm --bench rows

use nalm::batch::{BatchLayout, to_lanes};
use nalm::module::Dispatch;
use nalm::{Lane, Nau, Network, Nmu, Pass, Rng, Snmu, rng::Purpose};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 60;

/// Nanoseconds a call: the median and the least of many rounds.
fn show(name: &str, times: &mut [Vec<f64>; 2], numbers: usize) {
    let of = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[0])
    };
    let ((lanes, lanes_least), (rows, rows_least)) = (of(&mut times[0]), of(&mut times[1]));
    println!(
        "| {name} | {lanes:.0} ns ({lanes_least:.0}) | {rows:.0} ns ({rows_least:.0}) | {:.2} ({:.2}) | {:.3} ns |",
        rows / lanes,
        rows_least / lanes_least,
        (rows - lanes).max(0.0) / numbers as f64
    );
}

fn measure(name: &str, layers: Vec<Box<dyn Dispatch<f32>>>, rows: usize) {
    let network = Network::new(layers).expect("layers that fit");
    let shape = network.shape();
    let mut rng = Rng::fast("bench", Purpose::Data);
    let x: Vec<f32> = (0..rows * shape.inputs).map(|_| rng.uniform(0.9, 1.1)).collect();
    let dy: Vec<f32> = (0..rows * shape.outputs).map(|_| rng.uniform(-1.0, 1.0)).collect();
    let mut p = vec![0.0; network.param_len()];
    network.init(&mut p, &mut rng);
    let mut dp = vec![0.0; p.len()];
    let at = BatchLayout::new(rows).expect("some rows");
    let (lanes, upstream) = (to_lanes(&x, at).expect("whole rows"), to_lanes(&dy, at).expect("whole rows"));
    let mut work = network.workspace(at);
    let mut dx = vec![Lane::ZERO; lanes.len()];
    let mut row_work = network.row_workspace();
    let calls = (20_000_000 / (rows * shape.inputs * 200)).max(20);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(network.forward(&p, black_box(&lanes), &mut work, Pass::Noiseless));
            work.output_gradient().copy_from_slice(black_box(&upstream));
            network.backward(&p, &lanes, &mut work, Some(&mut dx), &mut dp);
            black_box(&dx);
        }
        times[0].push(start.elapsed().as_secs_f64() * 1e9 / calls as f64);
        let start = Instant::now();
        for _ in 0..calls {
            black_box(network.forward_rows(&p, black_box(&x), Pass::Noiseless, &mut row_work).expect("it fits"));
            black_box(network.backward_rows(&p, black_box(&dy), &mut dp, &mut row_work).expect("it fits"));
        }
        times[1].push(start.elapsed().as_secs_f64() * 1e9 / calls as f64);
    }
    show(name, &mut times, 2 * rows * (shape.inputs + shape.outputs));
}

fn one_row() {
    let network = Network::<f32>::single(Nmu::new(2, 1).expect("a shape"));
    let (p, x) = ([1.0, 1.0], [3.0, 4.0]);
    let mut work = network.row_workspace();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..2_000 {
            black_box(network.forward_rows(&p, black_box(&x), Pass::Eval, &mut work).expect("it fits"));
        }
        times[0].push(start.elapsed().as_secs_f64() * 1e9 / 2_000.0);
        let start = Instant::now();
        for _ in 0..2_000 {
            black_box(network.predict(&p, black_box(&x)).expect("it fits"));
        }
        times[1].push(start.elapsed().as_secs_f64() * 1e9 / 2_000.0);
    }
    println!("\n| one row | kept workspace | predict | ratio | |\n|---|---|---|---|---|");
    show("NMU 2→1", &mut times, 3);
}

fn main() {
    println!("| forward and backward | lanes | rows | ratio | a number moved |\n|---|---|---|---|---|");
    let nmu = |inputs| Box::new(Nmu::new(inputs, 1).expect("a shape"));
    let nau = |inputs, outputs| Box::new(Nau::new(inputs, outputs).expect("a shape"));
    measure("NMU 2→1, 128 rows", vec![nmu(2)], 128);
    measure("sNMU 2→1, 128 rows", vec![Box::new(Snmu::new(2, 1).expect("a shape"))], 128);
    measure("NMU 100→1, 128 rows", vec![nmu(100)], 128);
    measure("NAU 100→2, NMU 2→1, 128 rows", vec![nau(100, 2), nmu(2)], 128);
    measure("NMU 2→1, 100 rows", vec![nmu(2)], 100);
    one_row();
}

//! The digits that the published experiments printed, and those of an independent emulation of them, from the same random
//! streams.

// The digits are kept as they were printed.
#![allow(clippy::excessive_precision)]

use nalm::batch::{Batch, BatchLayout, from_lanes};
use nalm::rng::{Mt19937, Rng, Stream};
use nalm::task::{Arithmetic, PAPER_RANGES, SingleModule, Task};
use nalm::{Config, Observer, train};
use nalm::{Dispatch, LoggedErrors, Mlp, NacMul, Nau, Network, Nmu, Operation, Outcome, Pass, Snmu, Uniform};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SEEDS: u64 = 25;

fn range(text: &str) -> Uniform {
    text.parse().unwrap()
}

fn single_module(train: &str, test: &str) -> SingleModule {
    SingleModule::new(Operation::Mul, 2, range(train), range(test)).unwrap()
}

/// Runs every job on all cores; results are in the order of the jobs.
fn parallel<T: Send + Sync>(jobs: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let jobs = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|k| *k < jobs));
                    jobs.map(|k| (k, run(k))).collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    results.sort_by_key(|(k, _)| *k);
    results.into_iter().map(|(_, result)| result).collect()
}

fn runs(network: &Network<f32>, task: &SingleModule, stream: Stream) -> Vec<Outcome<f32>> {
    let config = Config::published(network).stream(stream);
    parallel(SEEDS as usize, |seed| train(network, task, seed as u64, &config, &mut ()).unwrap())
}

fn first_row(task: &dyn Task<f64>, fill: impl Fn(&mut dyn nalm::task::Samples<f64>, &mut Batch<f64>)) -> Vec<f64> {
    let at = BatchLayout::new(128).unwrap();
    let mut batch = Batch::zeros(task.shape().inputs, 1, at);
    fill(&mut *task.open(Stream::Reference, 0).unwrap(), &mut batch);
    (0..2).flat_map(|row| (0..2).map(move |i| (row, i))).map(|(row, i)| *at.row(at.feature(&batch.x, i), row)).collect()
}

#[test]
fn data_streams_are_numpys() {
    let task = single_module("U[1,2)", "U[2,6)");
    assert_eq!(
        first_row(&task, |s, b| s.validation(b)),
        [1.918094871979068, 1.8816526295251337, 1.9913438312197442, 1.2103062139247398]
    );
    assert_eq!(
        first_row(&task, |s, b| s.test(b)),
        [4.133045678987395, 3.2642050691588915, 3.878856131217955, 5.606008817446284]
    );
    assert_eq!(
        first_row(&task, |s, b| s.train(b)),
        [1.7941599628500475, 1.1598246241442087, 1.3907872651020725, 1.9364851526484008]
    );
}

/// The exact solution on the published fixed sets: what rounding alone costs, to all known digits.
#[test]
fn the_exact_nmu_has_the_published_errors() {
    let nmu = Network::single(Nmu::new(2, 1).unwrap());
    let task = single_module("U[1,2)", "U[2,6)");
    let mut samples = Task::<f32>::open(&task, Stream::Reference, 0).unwrap();
    let at = BatchLayout::new(10_000).unwrap();
    let mut batch = Batch::zeros(2, 1, at);
    for (test, want) in [(false, "4.576606e-14"), (true, "9.935093e-13")] {
        if test {
            samples.test(&mut batch)
        } else {
            samples.validation(&mut batch)
        }
        let y = nmu.forward(&[1.0, 1.0], &batch.x, &mut nmu.workspace(at), Pass::Eval).to_vec();
        let squares =
            from_lanes(&y, at).into_iter().zip(from_lanes(&batch.t, at)).map(|(y, t)| f64::from((y - t) * (y - t)));
        assert_eq!(format!("{:.6e}", squares.sum::<f64>() / 1e4), want);
    }
}

#[test]
fn training_seeds_are_the_published_ones() {
    assert_eq!(Mt19937::new(0).at_most(u32::MAX - 1), 2_357_136_044);
    for (seed, offset, training) in [(0, 44, 2_546_248_239), (1, 37, 4_282_876_139)] {
        let mut dataset = Mt19937::new(seed);
        assert_eq!((dataset.at_most(62), dataset.at_most(u32::MAX - 1)), (offset, training));
    }
}

/// The offset of the subsets for every seed, read back from the data: the target is the product of the two sums there.
#[test]
fn subset_offsets_are_the_published_ones() {
    let offsets = [44, 37, 40, 42, 58, 35, 10, 47, 3, 62, 9, 25, 11, 18, 43, 8, 41, 47, 42, 29, 35, 9, 53, 19, 34];
    let task = Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, range("U[1,2)"), range("U[2,6)")).unwrap();
    let at = BatchLayout::new(4).unwrap();
    for (seed, offset) in offsets.into_iter().enumerate() {
        let mut batch = Batch::<f64>::zeros(100, 1, at);
        Task::<f64>::open(&task, Stream::Reference, seed as u64).unwrap().train(&mut batch);
        let sum = |from: usize, row| (from..from + 25).map(|i| at.row(at.feature(&batch.x, i), row)).sum::<f64>();
        for row in 0..4 {
            let want = sum(offset, row) * sum(offset + 13, row);
            assert!((at.row(&batch.t, row) / want - 1.0).abs() < 1e-12, "seed {seed}");
        }
    }
}

/// Initial parameters as a published run starts from them: drawn twice, the second draw kept.
fn initial(network: &Network<f32>, seed: u32) -> (Vec<f32>, Rng) {
    let mut rng = Rng::torch(seed);
    let mut p = vec![0.0; network.param_len()];
    network.init(&mut p, &mut rng);
    network.init(&mut p, &mut rng);
    (p, rng)
}

fn assert_digits(got: &[f32], want: &[f32], digits: f32) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= digits, "{got:?} instead of {want:?}");
    }
}

#[test]
fn initial_weights_and_noise_are_pytorchs() {
    let nmu = Network::single(Nmu::new(2, 1).unwrap());
    for (seed, want) in
        [(0, [0.2942387164, 0.3160152435]), (1, [0.4515346289, 0.6173422337]), (2, [0.5685571432, 0.4872305393])]
    {
        assert_eq!(initial(&nmu, seed).0, want);
    }
    let (_, mut rng) = initial(&nmu, 0);
    let at = BatchLayout::new(128).unwrap();
    let mut noise = vec![nalm::Lane::<f32>::ZERO; 2 * at.lanes()];
    rng.fill_uniform(1.0, 5.0, &mut noise, at);
    let drawn = [0, 1].map(|row| [0, 1].map(|i| *at.row(at.feature(&noise, i), row))).concat();
    assert_eq!(drawn, [2.2296913, 3.5363147, 2.9603736, 4.5857792]);

    let stack: Vec<Box<dyn Dispatch<f32>>> =
        vec![Box::new(Nau::new(100, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())];
    let (p, _) = initial(&Network::new(stack).unwrap(), 0);
    assert_eq!(p[..3], [-0.18333754, -0.16650367, -0.14083111]);
    assert_eq!(p[200..], [0.38196617, 0.72976196]);
}

/// Weights and errors at the logged steps.
#[derive(Default)]
struct InstructionSet(Vec<(LoggedErrors, Vec<f32>)>);

impl Observer<f32> for InstructionSet {
    fn logged(&mut self, row: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        self.0.push((*row, params.to_vec()));
        ControlFlow::Continue(())
    }
}

fn weight_path(network: &Network<f32>, task: &SingleModule, seed: u64) -> Vec<(LoggedErrors, Vec<f32>)> {
    let mut instructions = InstructionSet::default();
    let config = Config::published(network).stream(Stream::Reference).steps(3_000);
    train(network, task, seed, &config, &mut instructions).unwrap();
    instructions.0
}

fn near(got: f64, want: f64, relative: f64) -> bool {
    (got / want - 1.0).abs() <= relative
}

#[test]
fn trained_weights_are_those_of_the_emulation() {
    let nmu = Network::single(Nmu::new(2, 1).unwrap());
    let task = single_module("U[1,2)", "U[2,6)");
    let instructions = weight_path(&nmu, &task, 0);
    assert_digits(&instructions[1].1, &[0.94115537, 0.96144652], 2e-7);
    assert_digits(&instructions[2].1, &[0.99841291, 1.0], 2e-7);
    assert_digits(&instructions[3].1, &[0.99999654, 1.0], 2e-7);
    assert!(near(instructions[1].0.validation, 6.9086e-3, 1e-4) && near(instructions[1].0.test, 1.60485, 1e-4));
    assert!(near(instructions[2].0.validation, 1.9528e-6, 3e-4) && near(instructions[2].0.test, 4.4326e-4, 3e-4));
    assert_digits(&weight_path(&nmu, &task, 1)[1].1, &[0.96101898, 1.0], 2e-7);

    let snmu = Network::single(Snmu::new(2, 1).unwrap());
    let instructions = weight_path(&snmu, &single_module("U[-2,-1)", "U[-6,-2)"), 0);
    assert_digits(&instructions[1].1, &[0.93080676, 0.96641582], 2e-7);
    assert!(near(instructions[1].0.validation, 0.143670, 1e-5), "{}", instructions[1].0.validation);
    assert_digits(&instructions[2].1, &[0.99635732, 1.0], 2e-7);
}

/// Mean and half-width of the 95 % Student-t interval over 25 seeds.
fn mean_and_half_width(values: &[f64]) -> (f64, f64) {
    const T_24: f64 = 2.063_898_561_628_021;
    let n = values.len() as f64;
    assert_eq!(values.len(), 25);
    // Relative to the first value, so that equal values have no spread at all.
    let mean = values[0] + values.iter().map(|v| v - values[0]).sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, T_24 * (variance / n).sqrt())
}

fn printed(values: &[f64]) -> String {
    let (mean, half) = mean_and_half_width(values);
    format!("{mean:.1e} +- {half:.1e}")
}

#[test]
fn table_1_of_the_paper() {
    let task = single_module("U[1,2)", "U[2,6)");
    let nmu = runs(&Network::single(Nmu::new(2, 1).unwrap()), &task, Stream::Reference);
    let column = |runs: &[Outcome<f32>], f: fn(&Outcome<f32>) -> f64| runs.iter().map(f).collect::<Vec<_>>();
    assert_eq!(printed(&column(&nmu, |o| o.validation_error)), "4.6e-14 +- 0.0e0");
    assert_eq!(printed(&column(&nmu, |o| o.test_error)), "9.9e-13 +- 0.0e0");
    assert_eq!(printed(&column(&nmu, |o| o.best_step as f64)), "1.0e4 +- 2.8e2");
    assert!(nmu.iter().all(|o| o.flat.unwrap().solved && o.validation_error < 1e-5));

    let mlp = runs(&Network::single(Mlp::new(2, 1, 1).unwrap()), &task, Stream::Reference);
    assert_eq!(printed(&column(&mlp, |o| o.validation_error)), "2.3e-1 +- 7.7e-2");
    assert_eq!(printed(&column(&mlp, |o| o.test_error)), "1.9e2 +- 2.9e1");
    assert!(mlp.iter().all(|o| !o.flat.unwrap().solved && o.validation_error >= 1e-5));
    let dead = mlp.iter().filter(|o| (o.validation_error - 0.379).abs() < 0.01).count();
    assert_eq!(dead, 15, "seeds whose hidden unit is dead; with 14 the mean would be 0.215, not the printed 0.23");
}

/// Solved seeds, mean solved-at and mean best step of the solved seeds, for every range.
fn per_range(network: &Network<f32>, stream: Stream) -> Vec<(usize, u64, u64)> {
    let config = Config::published(network).stream(stream);
    let tasks = PAPER_RANGES.map(|(train, test)| single_module(train, test));
    let outcomes = parallel(9 * SEEDS as usize, |k| {
        train(network, &tasks[k / SEEDS as usize], (k % SEEDS as usize) as u64, &config, &mut ()).unwrap()
    });
    outcomes
        .chunks(SEEDS as usize)
        .map(|runs| {
            let solved: Vec<_> = runs.iter().filter(|o| o.solved()).collect();
            let mean = |f: &dyn Fn(&Outcome<f32>) -> u64| {
                (solved.iter().map(|o| f(o) as f64).sum::<f64>() / solved.len().max(1) as f64).round() as u64
            };
            for o in runs {
                assert_eq!(o.flat.unwrap().solved, o.simulated.solved, "both thresholds give the same success");
            }
            (solved.len(), mean(&|o| o.flat.unwrap().solved_at.unwrap()), mean(&|o| o.best_step))
        })
        .collect()
}

#[test]
fn single_module_task_nmu_with_reference_streams() {
    assert_eq!(
        per_range(&Network::single(Nmu::new(2, 1).unwrap()), Stream::Reference),
        [
            (25, 2680, 9640),
            (20, 1950, 9200),
            (17, 1882, 8529),
            (25, 21000, 21000),
            (25, 2040, 9600),
            (25, 4320, 14920),
            (25, 2560, 10040),
            (25, 2760, 8160),
            (25, 2800, 9480),
        ]
    );
}

#[test]
fn single_module_task_snmu_with_reference_streams() {
    assert_eq!(
        per_range(&Network::single(Snmu::new(2, 1).unwrap()), Stream::Reference),
        [
            (25, 4160, 15040),
            (25, 3040, 15200),
            (25, 2960, 14000),
            (25, 21000, 21000),
            (25, 3120, 13600),
            (25, 4600, 14720),
            (25, 3440, 13000),
            (25, 3560, 12480),
            (25, 4120, 14800),
        ]
    );
}

/// Every success rate within three seeds of the emulation: which weights are frozen depends on the last bit of tanh.
#[test]
fn single_module_task_nac_mul_with_reference_streams() {
    let network = Network::<f32>::single(NacMul::new(2, 1).unwrap());
    let config = Config::published(&network).stream(Stream::Reference);
    let tasks = PAPER_RANGES.map(|(train, test)| single_module(train, test));
    let outcomes = parallel(9 * SEEDS as usize, |k| {
        train(&network, &tasks[k / SEEDS as usize], (k % SEEDS as usize) as u64, &config, &mut ()).unwrap()
    });
    let solved: Vec<i32> =
        outcomes.chunks(SEEDS as usize).map(|runs| runs.iter().filter(|o| o.solved()).count() as i32).collect();
    println!("NAC• solved {solved:?}");
    for (got, want) in solved.iter().zip([7, 21, 18, 19, 0, 19, 21, 18, 7]) {
        assert!((got - want).abs() <= 3, "{solved:?}");
    }
    assert_eq!(solved[4], 0, "the sign is lost");
}

#[test]
fn single_module_task_with_fast_streams() {
    let nmu = per_range(&Network::single(Nmu::new(2, 1).unwrap()), Stream::Fast);
    for (k, (solved, ..)) in nmu.iter().enumerate() {
        let hard = k == 1 || k == 2;
        assert_eq!(*solved < 25, hard, "{}: {solved} of 25", PAPER_RANGES[k].0);
    }
    let snmu = per_range(&Network::single(Snmu::new(2, 1).unwrap()), Stream::Fast);
    assert!(snmu.iter().all(|(solved, ..)| *solved == 25), "{snmu:?}");
}

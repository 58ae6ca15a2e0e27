//! The loop: the same bits on every instruction set, prefixes, outcomes, observers, and what is refused.

use nalm::loss::{Loss, LossPlan};
use nalm::metric::Status;
use nalm::module::{self, Dispatch};
use nalm::optim::Optimiser;
use nalm::rng::Stream;
use nalm::task::{Arithmetic, SingleModule};
use nalm::{Config, GradientNoise, Observer, train};
use nalm::{
    Fc, Inalu, InstructionSet, LoggedErrors, Module, NacMul, Nau, Network, Nmu, Npu, Operation, Options, Outcome, Real,
    Shape, Snmu, Uniform,
};
use nalm::{Penalty, Reinit, Schedule};
use std::ops::ControlFlow;

fn product() -> SingleModule {
    SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap()
}

fn short<R: Real>(network: &Network<R>, steps: u64) -> Config {
    Config { validation: 1_000, test: 1_000, ..Config::published(network).steps(steps) }
}

fn bits<R: Real>(outcome: &Outcome<R>) -> Vec<u64> {
    let rows = outcome.rows.iter().flat_map(|row| [row.validation, row.test, row.sparsity]).map(f64::to_bits);
    outcome.params.iter().map(|p| p.bits()).chain(rows).collect()
}

/// Every unit, the arithmetic stacks, gradient noise and every loss: trained with each instruction set of this machine, to the
/// same bits.
#[test]
fn every_path_trains_to_the_same_bits() {
    let mut cases: Vec<(String, Network<f32>)> = module::list::<f32>()
        .into_iter()
        .map(|spec| {
            let unit = (spec.build)(Shape::new(2, 1).unwrap(), &Options::default()).unwrap();
            (spec.name.to_string(), Network::new(vec![unit]).unwrap())
        })
        .collect();
    for noise in nalm::noise::NOISES {
        let unit = Snmu::with(2, 1, noise.example, nalm::Denoiser::Paper).unwrap();
        cases.push((format!("snmu {}", noise.name), Network::single(unit)));
    }
    for (name, network) in &cases {
        for stream in [Stream::Fast, Stream::Reference] {
            let results = InstructionSet::available().into_iter().map(|instructions| {
                let config = Config { instructions, batch: 100, ..short(network, 1_500) }.stream(stream);
                bits(&train(network, &product(), 1, &config, &mut ()).unwrap())
            });
            let results: Vec<_> = results.collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{name} {stream}");
        }
    }
    let network = &cases[1].1;
    for (loss, noise) in [(Loss::Pearson, None), (Loss::Mape, None), (Loss::Mse, Some(GradientNoise::new(0.1)))] {
        let results = InstructionSet::available().into_iter().map(|instructions| {
            let plan = LossPlan { first: loss, then: None };
            let config = Config { instructions, loss: plan, gradient_noise: noise, ..short(network, 1_500) };
            bits(&train(network, &product(), 1, &config, &mut ()).unwrap())
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{loss}");
    }
}

#[test]
fn every_path_trains_the_arithmetic_stack_to_the_same_bits() {
    let range = |text: &str| text.parse::<Uniform>().unwrap();
    let task = Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, range("U[-2,2)"), range("U[-6,-2)∪U[2,6)")).unwrap();
    let layers: Vec<Box<dyn Dispatch<f32>>> =
        vec![Box::new(Nau::new(100, 2).unwrap()), Box::new(Snmu::new(2, 1).unwrap())];
    let network = Network::new(layers).unwrap();
    let results: Vec<_> = InstructionSet::available()
        .into_iter()
        .map(|instructions| {
            bits(&train(&network, &task, 2, &Config { instructions, ..short(&network, 3_000) }, &mut ()).unwrap())
        })
        .collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_short_run_is_a_prefix_of_a_long_one() {
    for spec in module::list::<f32>() {
        let unit = (spec.build)(Shape::new(2, 1).unwrap(), &Options::default()).unwrap();
        let network = Network::new(vec![unit]).unwrap();
        let long = train(&network, &product(), 3, &short(&network, 4_000), &mut ()).unwrap();
        let brief = train(&network, &product(), 3, &short(&network, 2_000), &mut ()).unwrap();
        assert_eq!(brief.rows[..], long.rows[..3], "{}", spec.name);
    }
}

/// Counts calls, and stops at a step.
struct StopAt {
    step: u64,
    steps: u64,
    rows: u64,
}

impl<R: Real> Observer<R> for StopAt {
    fn logged(&mut self, _: &LoggedErrors, _: &[R]) -> ControlFlow<()> {
        self.rows += 1;
        ControlFlow::Continue(())
    }

    fn stepped(&mut self, step: u64, _: R, _: R, _: &[R]) -> ControlFlow<()> {
        self.steps += 1;
        if step == self.step { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn an_observer_sees_everything_and_may_cancel() {
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    let mut all = StopAt { step: u64::MAX, steps: 0, rows: 0 };
    let outcome = train(&network, &product(), 0, &short(&network, 2_500), &mut all).unwrap();
    assert_eq!((outcome.status, all.steps, all.rows), (Status::Completed, 2_501, 3));
    assert_eq!(outcome.rows.iter().map(|row| row.step).collect::<Vec<_>>(), [0, 1_000, 2_000]);

    let mut some = StopAt { step: 1_700, steps: 0, rows: 0 };
    let outcome = train(&network, &product(), 0, &short(&network, 2_500), &mut some).unwrap();
    assert_eq!((outcome.status, outcome.rows.len()), (Status::Cancelled { step: 1_700 }, 2));
}

#[test]
fn watching_does_not_change_the_result() {
    let network = Network::<f32>::single(Snmu::new(2, 1).unwrap());
    let config = short(&network, 2_000);
    let alone = train(&network, &product(), 0, &config, &mut ()).unwrap();
    let mut watcher = StopAt { step: u64::MAX, steps: 0, rows: 0 };
    assert_eq!(bits(&alone), bits(&train(&network, &product(), 0, &config, &mut watcher).unwrap()));
}

#[test]
fn divergence_is_an_outcome_with_the_rows_before_it() {
    // Unbounded weights and a step size of a million leave the numbers behind.
    let network = Network::<f32>::single(Fc::new(2, 1).unwrap());
    let config = Config { optimiser: Optimiser::Sgd { learning_rate: 1e6, momentum: 0.9 }, ..short(&network, 5_000) };
    let outcome: Outcome<f32> = train(&network, &product(), 0, &config, &mut ()).unwrap();
    let Status::Diverged { step } = outcome.status else { panic!("{:?}", outcome.status) };
    assert!(step < 1_000 && outcome.rows.len() == 1);
    assert!(!outcome.solved() && outcome.test_error.is_finite());
    assert!(outcome.params.iter().any(|p| p.is_nan()));
}

/// Overflow to infinity becomes NaN in the same step, also if that step is the last one.
#[test]
fn divergence_is_dated_by_the_step_that_caused_it() {
    let network = Network::<f32>::single(Fc::new(2, 1).unwrap());
    let task = SingleModule::mul(1e30, 2e30, 2e30, 6e30).unwrap();
    let outcome = train(&network, &task, 0, &short(&network, 0), &mut ()).unwrap();
    assert_eq!(outcome.status, Status::Diverged { step: 0 });
}

#[test]
fn observers_may_be_trait_objects_and_runs_need_no_end() {
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    let mut stop = StopAt { step: 700, steps: 0, rows: 0 };
    let observer: &mut dyn Observer<f32> = &mut stop;
    let config = Config { log_every: 1, validation: 16, test: 16, ..short(&network, u64::MAX) };
    let outcome = train(&network, &product(), 0, &config, observer).unwrap();
    assert_eq!(outcome.status, Status::Cancelled { step: 700 });
}

#[test]
fn every_unit_learns_what_it_claims() {
    for (network, operation) in [
        (Network::<f64>::single(Nau::new(2, 1).unwrap()), Operation::Sub),
        (Network::single(Nmu::new(2, 1).unwrap()), Operation::Mul),
        (Network::single(Snmu::new(2, 1).unwrap()), Operation::Mul),
        (Network::single(Npu::real(2, 1).unwrap()), Operation::Div),
        (Network::single(Npu::new(2, 1).unwrap()), Operation::Square),
        (Network::single(NacMul::new(2, 1).unwrap()), Operation::Mul),
        (Network::single(Inalu::new(2, 1).unwrap()), Operation::Mul),
    ] {
        let range = |text: &str| text.parse::<Uniform>().unwrap();
        let task = SingleModule::new(operation, 2, range("U[1,2)"), range("U[2,6)")).unwrap();
        let solved = (0..3).filter(|&seed| {
            let config = Config { validation: 1_000, test: 1_000, ..Config::published(&network) };
            train(&network, &task, seed, &config, &mut ()).unwrap().solved()
        });
        assert!(solved.count() >= 2, "{} {operation}", network.name());
    }
}

/// A step size too small to get anywhere, so that weights change by starting over and by nothing else.
#[test]
fn a_stuck_run_starts_over_from_new_weights() {
    /// The weights before the first step and after every step that moved them.
    struct Starts(Vec<Vec<f32>>, Vec<u64>);
    impl Observer<f32> for Starts {
        fn logged(&mut self, _: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
            if self.0.is_empty() {
                self.0.push(params.to_vec());
            }
            ControlFlow::Continue(())
        }

        fn stepped(&mut self, step: u64, _: f32, _: f32, params: &[f32]) -> ControlFlow<()> {
            if self.0.last().unwrap().iter().zip(params).any(|(a, b)| (a - b).abs() > 1e-4) {
                self.0.push(params.to_vec());
                self.1.push(step);
            }
            ControlFlow::Continue(())
        }
    }
    let reinit = Some(Reinit { every: 10, patience: 500, error_above: 0.0 });
    let networks = [Network::<f32>::single(Nmu::new(2, 1).unwrap()), Network::single(Inalu::new(2, 1).unwrap())];
    for network in &networks {
        for stream in [Stream::Fast, Stream::Reference] {
            let slow = Config { optimiser: Optimiser::adam(1e-30), log_every: 100, ..short(network, 2_000) };
            let config = Config { reinit, ..slow }.stream(stream);
            let mut starts = Starts(Vec::new(), Vec::new());
            let outcome = train(network, &product(), 0, &config, &mut starts).unwrap();
            let restarts = starts.1.len();
            assert_eq!(outcome.reinitialisations, restarts as u64, "{} {stream}", network.name());
            // Whether it is stuck again depends on the draw: better weights than before are progress, and go on being it.
            assert!(restarts >= 1 && starts.1[0] <= 520, "{} {stream}: {:?}", network.name(), starts.1);
            if network.name() == "nmu" && stream == Stream::Fast {
                assert_eq!(starts.1, [500, 1_010, 1_520]);
            }
            // Every weight of every start is its own.
            let mut weights: Vec<f32> = starts.0.concat();
            weights.sort_by(f32::total_cmp);
            weights.dedup();
            assert_eq!(
                weights.len(),
                (1 + restarts) * network.param_len(),
                "{} {stream}: {:?}",
                network.name(),
                starts.0
            );
            if network.name() == "nmu" {
                assert!(weights.iter().all(|w| (0.25..0.75).contains(w)), "as new weights are drawn: {weights:?}");
            }
        }
    }
}

#[test]
fn clamp_penalty_and_clipping_do_what_they_say() {
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    let task = SingleModule::mul(-2.0, -1.0, -6.0, -2.0).unwrap();
    let free = Config { clamp: false, penalties: vec![Penalty::NONE], ..short(&network, 20_000) };
    let seeds = 0..10;
    let outside =
        seeds.clone().any(|s| train(&network, &task, s, &free, &mut ()).unwrap().params.iter().any(|&w| w < 0.0));
    assert!(outside, "without the clamp some weights leave the box");
    let boxed = short(&network, 20_000);
    for seed in seeds {
        let outcome = train(&network, &task, seed, &boxed, &mut ()).unwrap();
        assert!(outcome.params.iter().all(|w| (0.0..=1.0).contains(w)));
    }

    let strong = Penalty { strength: 1e6, schedule: Schedule::Constant };
    let config = Config { penalties: vec![strong], ..short(&network, 2_000) };
    let outcome = train(&network, &task, 0, &config, &mut ()).unwrap();
    assert!(outcome.rows.last().unwrap().sparsity < 0.01, "a strong penalty makes weights discrete");

    let sgd = Optimiser::Sgd { learning_rate: 1.0, momentum: 0.0 };
    let tiny = Config {
        optimiser: sgd,
        clip: Some(1e-6),
        clamp: false,
        penalties: vec![Penalty::NONE],
        ..short(&network, 99)
    };
    let start =
        train(&network, &task, 0, &Config { optimiser: Optimiser::adam(1e-30), ..tiny.clone() }, &mut ()).unwrap();
    let end = train(&network, &task, 0, &tiny, &mut ()).unwrap();
    for (a, b) in start.params.iter().zip(&end.params) {
        assert!((a - b).abs() <= 1.1e-4, "100 steps of at most 1e-6");
    }
}

#[test]
fn a_loss_plan_switches_the_loss() {
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    let with =
        |loss: LossPlan| train(&network, &product(), 0, &Config { loss, ..short(&network, 3_000) }, &mut ()).unwrap();
    let mse = with(LossPlan::default());
    let switched = with(LossPlan { first: Loss::Mse, then: Some((2_000, Loss::Pearson)) });
    assert_eq!(mse.rows[..3], switched.rows[..3]);
    assert_ne!(mse.params, switched.params);
}

#[test]
fn small_and_odd_sizes_train() {
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    for (batch, rows) in [(1, 1), (3, 17), (16, 16), (129, 100)] {
        let config = Config { batch, validation: rows, test: rows, ..short(&network, 500) };
        let outcome = train(&network, &product(), 0, &config, &mut ()).unwrap();
        assert_eq!(outcome.status, Status::Completed);
        assert!(outcome.params.iter().all(|w| w.is_finite()));
    }
    let none = train(&network, &product(), 0, &short(&network, 0), &mut ()).unwrap();
    assert_eq!(none.rows.len(), 1);
}

#[test]
fn nonsense_is_refused_with_the_offending_value() {
    let network = Network::<f32>::single(Nmu::new(2, 1).unwrap());
    let good = short(&network, 10);
    let ramp = |start, end| vec![Penalty { strength: 1.0, schedule: Schedule::Ramp { start, end } }];
    for (config, hint) in [
        (Config { batch: 0, ..good.clone() }, "batch size is 0"),
        (Config { validation: 0, ..good.clone() }, "validation set is 0"),
        (Config { test: 0, ..good.clone() }, "test set is 0"),
        (Config { held_out: 0, ..good.clone() }, "held-out data is 0"),
        (Config { log_every: 0, ..good.clone() }, "evaluations is 0"),
        (Config { optimiser: Optimiser::adam(f64::NAN), ..good.clone() }, "learning rate is NaN"),
        (Config { penalties: ramp(10, 10), ..good.clone() }, "ramp is 10"),
        (Config { penalties: Vec::new(), ..good.clone() }, "got 0, but 1"),
        (Config { clip: Some(-1.0), ..good.clone() }, "clip is -1"),
        (
            Config { gradient_noise: Some(GradientNoise::new(f64::INFINITY)), ..good.clone() },
            "variance of the gradient noise is inf",
        ),
    ] {
        let error = train(&network, &product(), 0, &config, &mut ()).unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
    let wide = Network::<f32>::single(Nmu::new(3, 1).unwrap());
    let error = train(&wide, &product(), 0, &short(&wide, 10), &mut ()).unwrap_err().to_string();
    assert!(error.contains("got 3, but 2"), "{error}");
    let error = train(&network, &product(), 1 << 40, &good.stream(Stream::Reference), &mut ()).unwrap_err().to_string();
    assert!(error.contains("1099511627776"), "{error}");
}

#[test]
fn a_published_config_takes_the_recipe_of_each_layer() {
    let layers: Vec<Box<dyn Dispatch<f32>>> =
        vec![Box::new(Nau::new(4, 2).unwrap()), Box::new(Npu::new(2, 1).unwrap())];
    let config = Config::published(&Network::new(layers).unwrap()).ramp(5, 6);
    assert_eq!(config.optimiser, Optimiser::adam(1e-3));
    assert_eq!(config.penalties[0].schedule, Schedule::Ramp { start: 5, end: 6 });
    assert_eq!(config.penalties[1], Module::<f32>::recipe(&Npu::new(2, 1).unwrap()).penalty);
}

/// A run that starts from given weights meets the same data; starting from a run's own initial weights changes nothing.
#[test]
fn training_can_start_from_given_weights() {
    let task = SingleModule::mul(-2.0, -1.0, -6.0, -2.0).unwrap();
    let network = Network::<f32>::single(Snmu::new(2, 1).unwrap());
    struct First(Vec<f32>);
    impl Observer<f32> for First {
        fn logged(&mut self, row: &nalm::LoggedErrors, params: &[f32]) -> ControlFlow<()> {
            if row.step == 0 {
                self.0 = params.to_vec();
            }
            ControlFlow::Continue(())
        }
    }
    for stream in [Stream::Fast, Stream::Reference] {
        let config = Config::published(&network).steps(500).stream(stream);
        let mut first = First(Vec::new());
        let plain = train(&network, &task, 3, &config, &mut first).unwrap();
        let start = Some(first.0.iter().map(|&w| f64::from(w)).collect());
        let again = train(&network, &task, 3, &Config { start, ..config.clone() }, &mut ()).unwrap();
        assert_eq!(again, plain);
        let gold = Config { start: Some(vec![1.0, 1.0]), ..config.clone() };
        assert_eq!(train(&network, &task, 3, &gold, &mut ()).unwrap().params, [1.0, 1.0]);
        for bad in [vec![1.0], vec![1.0, f64::NAN]] {
            let config = Config { start: Some(bad), ..config.clone() };
            assert!(train(&network, &task, 3, &config, &mut ()).unwrap_err().to_string().contains("start from"));
        }
    }
}

/// The beginning of a long run is the short run, whatever its outcome.
#[test]
fn a_prefix_is_the_shorter_run() {
    struct At(u64, Vec<f32>);
    impl Observer<f32> for At {
        fn stepped(&mut self, step: u64, _: f32, _: f32, params: &[f32]) -> ControlFlow<()> {
            if step == self.0 {
                self.1 = params.to_vec();
            }
            ControlFlow::Continue(())
        }
    }
    let task = SingleModule::mul(-2.0, -1.0, -6.0, -2.0).unwrap();
    let snmu = Network::<f32>::single(Snmu::new(2, 1).unwrap());
    let fast = Optimiser::adam(1e30);
    for (seed, optimiser) in [(3, Optimiser::adam(1e-3)), (4, fast)] {
        let config = |steps| Config { optimiser, ..Config::published(&snmu).steps(steps) };
        for length in [0, 1_500, 2_000] {
            let mut at = At(length, Vec::new());
            let long = train(&snmu, &task, seed, &Config { clamp: false, ..config(3_000) }, &mut at).unwrap();
            let mut short = train(&snmu, &task, seed, &Config { clamp: false, ..config(length) }, &mut ()).unwrap();
            // These are not known of the beginning of a run.
            (short.best_params, short.state) = (None, None);
            let params = if at.1.is_empty() { long.params.clone() } else { at.1 };
            let prefix = long.prefix(length, params, task.thresholds());
            assert_eq!(format!("{prefix:?}"), format!("{short:?}"), "{length} {optimiser:?}");
        }
    }
}

//! Laws of training along a schedule: what each phase does, when attempts end, and which one counts.

#![cfg(feature = "second-order")]

use nalm::batch::{Batch, BatchLayout};
use nalm::module::Pass;
use nalm::second_order::{Adam, Lm, Phase, TrainingSchedule, follow, schedule};
use nalm::{
    Arithmetic, Config, Dispatch, Error, InstructionSet, LoggedErrors, Loss, Nau, Network, Nmu, Observer, Operation,
    Outcome, SingleModule, Snmu, Status, Task, Uniform,
};
use std::ops::ControlFlow;

/// The smaller sister of the task that no published module solves.
fn narrow() -> Arithmetic {
    let (inside, outside) = ("U[1.1,1.2)".parse::<Uniform>().unwrap(), "U[1.2,6)".parse::<Uniform>().unwrap());
    Arithmetic::with_subsets(Operation::Mul, 24, 0..6, 3..9, inside, outside).unwrap()
}

fn stack(inputs: usize) -> Network<f32> {
    Network::new(vec![Box::new(Nau::new(inputs, 2).unwrap()), Box::new(Snmu::new(2, 1).unwrap())]).unwrap()
}

fn quick() -> TrainingSchedule {
    TrainingSchedule {
        phases: vec![Phase::Adam(Adam { steps: 6_000, ..Adam::default() }), Phase::Lm(Lm::default())],
        ..TrainingSchedule::default()
    }
}

fn run(network: &Network<f32>, schedule: &TrainingSchedule, instructions: InstructionSet, seed: u64) -> Outcome<f32> {
    let config = Config { instructions, validation: 1_000, test: 1_000, ..Config::published(network) };
    follow(network, &narrow(), seed, &config, schedule, &mut ()).unwrap()
}

#[test]
fn the_narrow_range_is_solved_with_the_same_bits_on_every_path() {
    let network = stack(24);
    for seed in 0..3 {
        let outcomes: Vec<Outcome<f32>> = InstructionSet::available()
            .into_iter()
            .map(|instructions| run(&network, &quick(), instructions, seed))
            .collect();
        assert!(outcomes[0].solved() && outcomes[0].sparsity_error == 0.0, "{seed}: {}", outcomes[0].test_error);
        assert!(outcomes.iter().all(|other| other == &outcomes[0]));
        let mut samples = Task::<f32>::open(&narrow(), nalm::Stream::Fast, seed).unwrap();
        samples.train(&mut Batch::zeros(24, 1, BatchLayout::new(1).unwrap()));
        let subsets = samples.subsets().unwrap();
        let read = |row: &[f32]| row.iter().enumerate().filter(|(_, w)| **w != 0.0).map(|(i, _)| i).collect::<Vec<_>>();
        let mut found = [read(&outcomes[0].params[..24]), read(&outcomes[0].params[24..48])];
        found.sort();
        assert_eq!(found, subsets.map(|subset| subset.collect::<Vec<_>>()));
    }
}

/// First-order training on the same data does not: what the second phase adds is not luck of the seed.
#[test]
fn the_warm_up_alone_does_not_solve_it() {
    let phases = vec![Phase::Adam(Adam { steps: 20_000, ..Adam::default() })];
    let outcome = run(&stack(24), &TrainingSchedule { attempts: 1, phases, goal: 1e-7 }, InstructionSet::best(), 0);
    assert!(!outcome.solved());
}

/// Keeps the weights after every fiftieth step.
#[derive(Default)]
struct Ends(Vec<Vec<f32>>);

impl Observer<f32> for Ends {
    fn stepped(&mut self, step: u64, _: f32, _: f32, params: &[f32]) -> ControlFlow<()> {
        if step % 50 == 49 {
            self.0.push(params.to_vec());
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn attempts_go_on_until_the_goal_and_the_best_one_counts() {
    let (network, phases) = (stack(24), vec![Phase::Adam(Adam { steps: 50, ..Adam::default() })]);
    let config = Config { validation: 1_000, test: 1_000, ..Config::published(&network) };
    let mut samples = Task::<f32>::open(&narrow(), nalm::Stream::Fast, 0).unwrap();
    let mut held = Batch::zeros(24, 1, BatchLayout::new(1_024).unwrap());
    samples.validation(&mut held);
    let mut work = network.workspace(held.at);
    let mut error_of = |params: &[f32]| -> f64 {
        let y = network.forward(params, &held.x, &mut work, Pass::Eval);
        y.iter().zip(&held.t).flat_map(|(y, t)| (0..16).map(|k| f64::from(y[k] - t[k]).powi(2))).sum()
    };
    for (goal, attempts) in [(1e-7, 5), (1e9, 1)] {
        let schedule = TrainingSchedule { attempts: 5, goal, phases: phases.clone() };
        let mut ends = Ends::default();
        let outcome = follow(&network, &narrow(), 0, &config, &schedule, &mut ends).unwrap();
        assert_eq!((ends.0.len(), outcome.reinitialisations), (attempts, attempts as u64 - 1));
        let best = ends.0.iter().min_by(|a, b| error_of(a).total_cmp(&error_of(b))).unwrap();
        assert_eq!(&outcome.params, best);
    }
}

/// The first phase is what `train` does with the same settings, bit for bit.
#[test]
fn a_schedule_of_one_phase_is_the_loop() {
    let network = stack(24);
    let mut config = Config { validation: 500, test: 500, ..Config::published(&network) };
    config.penalties.fill(nalm::Penalty::NONE);
    let phases = vec![Phase::Adam(Adam { steps: 2_001, ..Adam::default() })];
    let schedule = TrainingSchedule { attempts: 1, goal: 1e-7, phases };
    let ours = follow(&network, &narrow(), 5, &config, &schedule, &mut ()).unwrap();
    let theirs = nalm::train(&network, &narrow(), 5, &config.clone().steps(2_000), &mut ()).unwrap();
    assert_eq!(ours.params, theirs.params);
    assert_eq!(ours.rows[..theirs.rows.len()], theirs.rows);
}

#[test]
fn a_phase_without_noise_trains_an_snmu_like_an_nmu() {
    let trained = |network: &Network<f32>, noise| {
        let phases = vec![Phase::Adam(Adam { steps: 500, noise, loss: Loss::Mape, ..Adam::default() })];
        run(network, &TrainingSchedule { attempts: 1, goal: 1e-7, phases }, InstructionSet::best(), 1).params
    };
    let nmu = Network::new(vec![
        Box::new(Nau::new(24, 2).unwrap()) as Box<dyn Dispatch<f32>>,
        Box::new(Nmu::new(2, 1).unwrap()),
    ])
    .unwrap();
    assert_eq!(trained(&stack(24), false), trained(&nmu, true));
    assert_ne!(trained(&stack(24), true), trained(&nmu, true));
}

struct StopAfter(u64);

impl Observer<f32> for StopAfter {
    fn logged(&mut self, _: &LoggedErrors, _: &[f32]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn stepped(&mut self, step: u64, _: f32, _: f32, _: &[f32]) -> ControlFlow<()> {
        if step >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn observers_can_stop_either_phase() {
    let (network, mut schedule) = (stack(24), quick());
    schedule.phases[0] = Phase::Adam(Adam { steps: 100, ..Adam::default() });
    let config = Config { validation: 100, test: 100, ..Config::published(&network) };
    for step in [50, 108] {
        let outcome = follow(&network, &narrow(), 0, &config, &schedule, &mut StopAfter(step)).unwrap();
        assert_eq!(outcome.status, Status::Cancelled { step });
    }
}

#[test]
fn schedules_have_names_and_bad_ones_are_refused() {
    for spec in schedule::list() {
        assert_eq!(TrainingSchedule::named(spec.name).unwrap(), spec.schedule);
        spec.schedule.check().unwrap();
    }
    let unknown = TrainingSchedule::named("second-ordr").unwrap_err().to_string();
    assert!(unknown.contains("did you mean 'second-order'"), "{unknown}");
    let (adam, lm) = (Adam::default(), Lm::default());
    for (phase, hint) in [
        (Phase::Adam(Adam { steps: 0, ..adam }), "steps of a phase is 0"),
        (Phase::Adam(Adam { batch: 0, ..adam }), "batch of a phase is 0"),
        (Phase::Adam(Adam { learning_rate: -1.0, ..adam }), "learning rate is -1"),
        (Phase::Adam(Adam { ramp: Some((5, 5)), ..adam }), "end of the penalty's ramp is 5"),
        (Phase::Lm(Lm { iterations: 0, ..lm }), "iterations of a phase is 0"),
        (Phase::Lm(Lm { samples: 0, ..lm }), "samples of a phase is 0"),
        (Phase::Lm(Lm { per_parameter: f64::NAN, ..lm }), "samples per_parameter is NaN"),
    ] {
        let schedule = TrainingSchedule { phases: vec![phase], ..TrainingSchedule::default() };
        let error: Error = schedule.check().unwrap_err();
        assert!(error.to_string().contains(hint), "{error}");
    }
    let of = |schedule: TrainingSchedule| schedule.check().unwrap_err().to_string();
    let usual = TrainingSchedule::default;
    assert_eq!(of(TrainingSchedule { attempts: 0, ..usual() }), "number of attempts is 0; it must be at least 1");
    assert_eq!(of(TrainingSchedule { phases: Vec::new(), ..usual() }), "number of phases is 0; it must be at least 1");
    for (goal, text) in [(0.0, "0"), (-1e-7, "-1e-7"), (f64::INFINITY, "inf"), (f64::NAN, "NaN")] {
        let found = of(TrainingSchedule { goal, ..usual() });
        assert!(found.starts_with(&format!("goal of a schedule is {text};")), "{found}");
    }
    let usual = usual();
    assert_eq!(usual.samples(202), 20_000 * 128 + 1_024);
    assert_eq!(usual.steps(128, 202), 20_000 + 600 * 8);
    assert_eq!(lm.samples_of(1_000), 5_000);
}

/// An attempt that overflows counts as one that failed: the next one starts from new weights.
#[test]
fn an_attempt_that_diverges_is_not_the_last() {
    let network = stack(24);
    let config = Config { validation: 500, test: 500, ..Config::published(&network) };
    let overflowing = Config { start: Some(vec![1e30; network.param_len()]), ..config.clone() };
    let outcome = follow(&network, &narrow(), 0, &overflowing, &quick(), &mut ()).unwrap();
    assert!(outcome.solved() && outcome.reinitialisations >= 1, "{:?}", outcome.status);
    assert_eq!(outcome.status, Status::Completed);
    let alone = TrainingSchedule { attempts: 1, ..quick() };
    let outcome = follow(&network, &narrow(), 0, &overflowing, &alone, &mut ()).unwrap();
    assert_eq!(outcome.status, Status::Diverged { step: 0 });
    // A product of a hundred large factors has no chance in f32.
    let hopeless = Network::<f32>::single(Snmu::new(100, 1).unwrap());
    let (inside, outside) = ("U[10,20)".parse::<Uniform>().unwrap(), "U[20,40)".parse::<Uniform>().unwrap());
    let task = SingleModule::new(Operation::Mul, 100, inside, outside).unwrap();
    let config = Config { validation: 100, test: 100, ..Config::published(&hopeless) };
    let outcome = follow(&hopeless, &task, 0, &config, &quick(), &mut ()).unwrap();
    assert!(matches!(outcome.status, Status::Diverged { .. }));
    assert_eq!(outcome.reinitialisations, 2);
    // Whoever stops it at its second attempt has stopped it, whatever came of the first.
    struct Second(u32);
    impl Observer<f32> for Second {
        fn logged(&mut self, _: &LoggedErrors, _: &[f32]) -> ControlFlow<()> {
            self.0 += 1;
            if self.0 == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let outcome = follow(&hopeless, &task, 0, &config, &quick(), &mut Second(0)).unwrap();
    assert!(matches!(outcome.status, Status::Cancelled { .. }), "{:?}", outcome.status);
    assert_eq!(outcome.reinitialisations, 1);
}

#[test]
fn the_first_attempt_starts_where_it_is_told() {
    let network = stack(24);
    let start: Vec<f64> = (0..network.param_len()).map(|k| k as f64 / 100.0).collect();
    let config = Config { start: Some(start.clone()), validation: 100, test: 100, ..Config::published(&network) };
    let phases = vec![Phase::Adam(Adam { steps: 1, learning_rate: 1e-9, ..Adam::default() })];
    let schedule = TrainingSchedule { attempts: 1, goal: 1e-7, phases };
    let outcome = follow(&network, &narrow(), 0, &config, &schedule, &mut ()).unwrap();
    assert!(outcome.params.iter().zip(&start).all(|(w, s)| (f64::from(*w) - s).abs() < 1e-6));
}

/// Equal subsets, subtracted: the target is 0, and so are the weights that compute it.
#[test]
fn a_target_of_0_meets_the_goal() {
    let range = |text: &str| text.parse::<Uniform>().unwrap();
    let task = Arithmetic::with_subsets(Operation::Sub, 6, 0..3, 0..3, range("U[1,2)"), range("U[2,6)")).unwrap();
    let network = Network::<f32>::single(Nau::new(6, 1).unwrap());
    let config = Config { validation: 100, test: 100, ..Config::published(&network) };
    let schedule = TrainingSchedule { attempts: 2, goal: 1e-7, phases: vec![Phase::Lm(Lm::default())] };
    let outcome = follow(&network, &task, 0, &config, &schedule, &mut ()).unwrap();
    assert_eq!((outcome.params, outcome.reinitialisations), (vec![0.0; 6], 0));
}

#[test]
fn what_cannot_be_fitted_is_said_before_the_warm_up() {
    let network = Network::<f32>::single(nalm::Product::new(24, 1).unwrap());
    let mut steps = Ends::default();
    let config = Config::published(&network);
    let error = follow(&network, &narrow(), 0, &config, &quick(), &mut steps).unwrap_err();
    assert!(error.to_string().contains("number of parameters to fit is 0") && steps.0.is_empty(), "{error}");
}

/// Keeps the weights before the first and after every step.
#[derive(Default)]
struct Every(Vec<Vec<f32>>);

impl Observer<f32> for Every {
    fn logged(&mut self, row: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        if row.step == 0 && self.0.is_empty() {
            self.0.push(params.to_vec());
        }
        ControlFlow::Continue(())
    }

    fn stepped(&mut self, _: u64, _: f32, _: f32, params: &[f32]) -> ControlFlow<()> {
        self.0.push(params.to_vec());
        ControlFlow::Continue(())
    }
}

/// Steps too small to move any weight: what differs between two attempts was drawn.
#[test]
fn every_attempt_starts_from_new_weights() {
    let network = stack(24);
    let fixed = TrainingSchedule {
        attempts: 4,
        goal: 1e-7,
        phases: vec![Phase::Adam(Adam { steps: 2, learning_rate: 1e-9, ..Adam::default() })],
    };
    for stream in [nalm::Stream::Fast, nalm::Stream::Reference] {
        let config = Config { validation: 100, test: 100, ..Config::published(&network) }.stream(stream);
        let mut every = Every::default();
        let outcome = follow(&network, &narrow(), 0, &config, &fixed, &mut every).unwrap();
        assert_eq!((outcome.reinitialisations, every.0.len()), (3, 9), "{stream}");
        let same = |a: &[f32], b: &[f32]| a.iter().zip(b).filter(|(a, b)| (*a - *b).abs() < 1e-5).count();
        for step in 0..8 {
            let kept = same(&every.0[step], &every.0[step + 1]);
            // The first step of an attempt is seen after it was taken.
            let moved = step > 0 && step % 2 == 0;
            assert!(if moved { kept < 5 } else { kept == network.param_len() }, "{stream} {step}: {kept}");
        }
        for (a, b) in [(1, 5), (1, 7), (3, 7)] {
            let kept = same(&every.0[a], &every.0[b]);
            assert!(kept < 5, "{stream}: attempts that start alike in {kept} weights");
        }
    }
}

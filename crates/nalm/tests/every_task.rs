//! Laws that hold for every listed task. A new task is tested by being listed.

use nalm::batch::{Batch, BatchLayout, from_lanes};
use nalm::module::{Dispatch, Pass};
use nalm::rng::Stream;
use nalm::task::{self, Arithmetic, Augmented, Normalised, PAPER_RANGES, SingleModule, Task};
use nalm::{Distribution, Nau, Network, Nmu, Operation, Options, Uniform};
use std::sync::Arc;

const STREAMS: [Stream; 2] = [Stream::Fast, Stream::Reference];

fn published(spec: &task::TaskSpec<f32>, train: &str, test: &str) -> Box<dyn Task<f32>> {
    (spec.build)(&Options::new(), train.parse().unwrap(), test.parse().unwrap()).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Train,
    Validation,
    Test,
}

fn draw(task: &dyn Task<f32>, stream: Stream, seed: u64, part: Part, rows: usize) -> Batch<f32> {
    let mut batch = Batch::zeros(task.shape().inputs, task.shape().outputs, BatchLayout::new(rows).unwrap());
    let mut samples = task.open(stream, seed).unwrap();
    match part {
        Part::Train => samples.train(&mut batch),
        Part::Validation => samples.validation(&mut batch),
        Part::Test => samples.test(&mut batch),
    }
    batch
}

fn flat(batch: &Batch<f32>) -> Vec<u32> {
    from_lanes(&batch.x, batch.at).iter().map(|x| x.to_bits()).collect()
}

#[test]
fn the_same_seed_gives_the_same_data_and_another_seed_other_data() {
    for spec in task::list::<f32>() {
        let task = published(&spec, "U[1,2)", "U[2,6)");
        for stream in STREAMS {
            for part in [Part::Train, Part::Validation, Part::Test] {
                let a = draw(&*task, stream, 3, part, 128);
                let b = draw(&*task, stream, 3, part, 128);
                assert_eq!((&a.x, &a.t), (&b.x, &b.t), "{} {stream} {part:?}", spec.name);
                let other = draw(&*task, stream, 4, part, 128);
                // The fixed sets have the same inputs for every seed.
                assert_eq!(a.x == other.x, part != Part::Train, "{} {stream} {part:?}", spec.name);
            }
        }
    }
}

#[test]
fn samples_lie_in_their_range() {
    for spec in task::list::<f32>() {
        for (train, test) in PAPER_RANGES {
            let task = published(&spec, train, test);
            for stream in STREAMS {
                for (part, range) in [(Part::Train, train), (Part::Validation, train), (Part::Test, test)] {
                    let intervals: Vec<(f32, f32)> = range
                        .parse::<Uniform>()
                        .unwrap()
                        .intervals()
                        .iter()
                        .map(|i| (i.low() as f32, i.high() as f32))
                        .collect();
                    let batch = draw(&*task, stream, 1, part, 500);
                    for x in from_lanes(&batch.x, batch.at) {
                        // Reference streams round doubles to f32 and may so reach the upper bound.
                        let inside = intervals
                            .iter()
                            .any(|&(low, high)| low <= x && (x < high || (stream == Stream::Reference && x == high)));
                        assert!(inside, "{} {stream} {part:?}: {x} not in {range}", spec.name);
                    }
                }
            }
        }
    }
}

#[test]
fn streams_are_disjoint() {
    for spec in task::list::<f32>() {
        // One range for both, so that equal numbers could occur.
        let task = published(&spec, "U[1,2)", "U[1,2)");
        for stream in STREAMS {
            let mut all: Vec<Vec<u32>> = [Part::Train, Part::Validation, Part::Test]
                .map(|part| flat(&draw(&*task, stream, 0, part, 64)))
                .to_vec();
            all.push(flat(&draw(&*task, stream, 1, Part::Train, 64)));
            for (i, a) in all.iter().enumerate() {
                for b in &all[..i] {
                    let same = a.iter().zip(b).filter(|(x, y)| x == y).count();
                    assert!(same <= 2, "{} {stream}: {same} of {} numbers shared", spec.name, a.len());
                }
            }
        }
    }
}

#[test]
fn training_batches_follow_one_another_without_repetition() {
    for spec in task::list::<f32>() {
        let task = published(&spec, "U[1,2)", "U[2,6)");
        for stream in STREAMS {
            let mut samples = task.open(stream, 0).unwrap();
            let mut batch = Batch::zeros(task.shape().inputs, 1, BatchLayout::new(128).unwrap());
            samples.train(&mut batch);
            let first = flat(&batch);
            samples.train(&mut batch);
            assert_ne!(first, flat(&batch), "{} {stream}", spec.name);
        }
    }
}

/// The exact solution, written into a NAU and an NMU at the places that the seed drew.
fn gold(inputs: usize, subsets: &[std::ops::Range<usize>; 2]) -> (Network<f32>, Vec<f32>) {
    let layers: Vec<Box<dyn Dispatch<f32>>> =
        vec![Box::new(Nau::new(inputs, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())];
    let mut p = vec![0.0; 2 * inputs + 2];
    for (k, subset) in subsets.iter().enumerate() {
        p[k * inputs..][subset.clone()].fill(1.0);
    }
    p[2 * inputs..].fill(1.0);
    (Network::new(layers).unwrap(), p)
}

#[test]
fn the_gold_network_reaches_both_thresholds() {
    for spec in task::list::<f32>() {
        for (train, test) in PAPER_RANGES {
            let task = published(&spec, train, test);
            for stream in STREAMS {
                let batch = draw(&*task, stream, 5, Part::Test, 2_000);
                let Some(subsets) = task.open(stream, 5).unwrap().product() else { continue };
                let (network, p) = gold(task.shape().inputs, &subsets);
                let y = network.forward(&p, &batch.x, &mut network.workspace(batch.at), Pass::Eval).to_vec();
                let errors = from_lanes(&y, batch.at).into_iter().zip(from_lanes(&batch.t, batch.at));
                let mse = errors.map(|(y, t)| f64::from(y - t).powi(2)).sum::<f64>() / 2_000.0;
                let thresholds = task.thresholds();
                assert!(mse < thresholds.simulated, "{} {stream} {test}: {mse:e}", spec.name);
                if let Some(flat) = thresholds.flat {
                    assert!(mse < flat, "{} {stream} {test}: {mse:e}", spec.name);
                }
            }
        }
    }
}

#[test]
fn redundant_inputs_surround_the_two_that_matter() {
    let range = |text: &str| text.parse::<Uniform>().unwrap();
    for inputs in [10, 100] {
        let task = SingleModule::new(Operation::Mul, inputs, range("U[1,2)"), range("U[2,6)")).unwrap();
        let mut places = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let [a, b] = Task::<f32>::open(&task, Stream::Fast, seed).unwrap().subsets().unwrap();
            assert_eq!((a.len(), b.start), (1, a.start + 1));
            places.insert(a.start);
            let batch = draw(&task, Stream::Fast, seed, Part::Train, 16);
            for row in 0..16 {
                let x = |i| *batch.at.row(batch.at.feature(&batch.x, i), row);
                assert_eq!(*batch.at.row(&batch.t, row), x(a.start) * x(b.start));
            }
        }
        assert!(places.len() > 5 && places.iter().all(|&k| k + 2 <= inputs), "{places:?}");
        let plain = SingleModule::new(Operation::Mul, 2, range("U[1,2)"), range("U[2,6)")).unwrap();
        let (wide, narrow) = (task.thresholds().simulated, plain.thresholds().simulated);
        assert!(wide > narrow, "irrelevant inputs add to the tolerated error");
    }
}

#[test]
fn every_operation_has_data_and_a_threshold() {
    let range = |text: &str| text.parse::<Uniform>().unwrap();
    for operation in Operation::ALL {
        let task = SingleModule::new(operation, 2, range("U[1,2)"), range("U[2,6)")).unwrap();
        let batch = draw(&task, Stream::Fast, 0, Part::Train, 32);
        for row in 0..32 {
            let x = |i| *batch.at.row(batch.at.feature(&batch.x, i), row);
            assert_eq!(*batch.at.row(&batch.t, row), operation.apply(x(0), x(1)), "{operation}");
        }
        let threshold = task.thresholds().simulated;
        assert!(threshold > 1e-13 && threshold < 1e-6, "{operation}: {threshold:e}");
    }
}

#[test]
fn other_distributions_train_too_but_not_with_reference_streams() {
    for text in ["N(2,1)[1,3)", "Exp(0.5)", "Benford[10,100)", "halves(U[1,2);U[5,6))", "U[0,1)∪U[4,5)∪U[7,9)"] {
        let distribution: Distribution = text.parse().unwrap();
        let task = SingleModule::new(Operation::Mul, 2, distribution.clone(), distribution).unwrap();
        let batch = draw(&task, Stream::Fast, 0, Part::Train, 100);
        assert!(from_lanes(&batch.t, batch.at).iter().all(|t| t.is_finite()), "{text}");
        let refused = Task::<f32>::open(&task, Stream::Reference, 0).err().unwrap().to_string();
        assert!(refused.contains("reference streams"), "{text}: {refused}");
    }
}

#[test]
fn impossible_tasks_are_refused_with_the_value() {
    let range = || Uniform::new(1.0, 2.0).unwrap();
    let one = SingleModule::new(Operation::Mul, 1, range(), range()).unwrap_err().to_string();
    assert_eq!(one, "number of inputs is 1; it must be 2 or more");
    for (inputs, subset, overlap, hint) in [
        (100, 1.5, 0.5, "1.5"),
        (100, 0.25, f64::NAN, "NaN"),
        (100, 0.7, 0.0, "number of inputs is 100; it must be 140 or more"),
        (3, 0.25, 0.5, "number of inputs is 3; it must be 4 or more"),
    ] {
        let error = Arithmetic::new(Operation::Mul, inputs, subset, overlap, range(), range()).unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
    assert!(SingleModule::mul(2.0, 1.0, 2.0, 6.0).unwrap_err().to_string().contains('1'));
    assert!(task::find::<f32>("single").err().unwrap().to_string().contains("single-module"));
}

/// The exact network has no error on a task that was augmented or normalised: products stay products.
#[test]
fn augmented_and_normalised_tasks_keep_their_solution() {
    let train = "U[-2,-1)".parse::<Uniform>().unwrap();
    for spec in task::list::<f32>() {
        let plain = published(&spec, "U[-2,-1)", "U[-6,-2)");
        if plain.open(Stream::Fast, 3).unwrap().product().is_none() {
            continue;
        }
        let augmented =
            Augmented::new(published(&spec, "U[-2,-1)", "U[-6,-2)").into(), "U[1,5)".parse().unwrap()).unwrap();
        let normalised = Normalised::new(published(&spec, "U[-2,-1)", "U[-6,-2)").into(), &train).unwrap();
        for (name, task) in [("augmented", &augmented as &dyn Task<f32>), ("normalised", &normalised)] {
            for (stream, part) in STREAMS.iter().flat_map(|s| [Part::Train, Part::Validation].map(|p| (*s, p))) {
                let (changed, before) = (draw(task, stream, 3, part, 130), draw(&*plain, stream, 3, part, 130));
                let moved = name == "normalised" || part == Part::Train;
                assert_eq!(changed.x != before.x, moved, "{} {name} {stream} {part:?}", spec.name);
                let factors = plain.open(stream, 3).unwrap().product().unwrap();
                let (x, t) = (from_lanes(&changed.x, changed.at), from_lanes(&changed.t, changed.at));
                for (x, t) in x.chunks_exact(task.shape().inputs).zip(t) {
                    let [a, b] = factors.clone().map(|slice| x[slice].iter().map(|&x| f64::from(x)).sum::<f64>());
                    assert!((f64::from(t) / (a * b) - 1.0).abs() < 1e-5, "{} {name}: {t} {}", spec.name, a * b);
                }
            }
        }
        let batch = draw(&normalised, Stream::Fast, 0, Part::Train, 20_000);
        let numbers = from_lanes(&batch.x, batch.at);
        let square = numbers.iter().map(|x| f64::from(x * x)).sum::<f64>() / numbers.len() as f64;
        assert!((square - 1.0).abs() < 0.01, "{square}");
        let ratio = normalised.thresholds().simulated / plain.thresholds().simulated;
        assert!((ratio - (7.0f64 / 3.0).powi(-2)).abs() < 1e-12, "{ratio}");
    }
    let sum = SingleModule::new(Operation::Add, 2, train.clone(), train.clone()).unwrap();
    assert!(Augmented::<f32>::new(Arc::new(sum.clone()), train.clone()).is_err());
    assert!(Normalised::<f32>::new(Arc::new(sum), &train).unwrap_err().to_string().contains("mul"));
}

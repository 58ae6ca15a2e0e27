//! The tasks: the same bits on any number of threads and after an interruption, learning, and the traps of their metrics.

use nalm::module::{Options, Shape, find};
use nalm::{InstructionSet, Network, Noise, Penalty, Schedule};
use nalm_vision::product::{self, View};
use nalm_vision::{
    Activation, Advance, Checkpoint, Error, History, Layer, Mnist, Mode, Net, Start, Training, sequential,
};
use std::sync::Arc;

const HALVED: View = View::Isolated { halved: true };
const COLOUR: View = View::Colour { start: Start::Identity };

fn mnist() -> Arc<Mnist> {
    Arc::new(Mnist::load(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist")).unwrap())
}

fn small(view: View, head: &str, threads: usize) -> product::Config {
    let samples = if view == HALVED { 4 } else { 1 };
    product::Config { samples, epochs: 2, threads, ..product::Config::published(view, head, 2) }
}

fn short(cell: &str, threads: usize) -> sequential::Config {
    sequential::Config { sequences: 96, epochs: 2, row_every: 1, threads, ..sequential::Config::published(cell, 3) }
}

/// One run of every task.
fn every_task(mnist: &Arc<Mnist>, threads: usize) -> Vec<Box<dyn Training>> {
    let new = |view| product::Run::new(small(view, "snmu", threads), Arc::clone(mnist)).unwrap();
    let sequence = sequential::Run::new(short("snmu", threads), Arc::clone(mnist)).unwrap();
    vec![Box::new(new(HALVED)), Box::new(new(COLOUR)), Box::new(sequence)]
}

fn finish(run: &mut dyn Training) -> (History, Vec<Vec<f32>>) {
    while run.advance(&|| false).unwrap() == Advance::Trained {}
    (run.history().clone(), run.tensors().into_iter().map(|tensor| tensor.data).collect())
}

#[test]
fn bits_depend_neither_on_threads_nor_on_interruptions() {
    let mnist = mnist();
    let runs = every_task(&mnist, 1).into_iter().zip(every_task(&mnist, 3)).zip(every_task(&mnist, 2));
    for (k, ((mut one, mut three), mut fresh)) in runs.enumerate() {
        // The second one is left after an epoch, and what it saved is taken up by a third.
        assert_eq!(three.advance(&|| false).unwrap(), Advance::Trained);
        let saved = three.checkpoint().to_bytes("name").unwrap();
        let want = finish(&mut *one);
        fresh.restore(&Checkpoint::from_bytes(&saved, "name").unwrap()).unwrap();
        assert_eq!(fresh.epoch(), 1);
        assert_eq!(finish(&mut *three), want, "task {k}, threads");
        assert_eq!(finish(&mut *fresh), want, "task {k}, interruption");
        let rows = match want.0 {
            History::Product(rows) => rows.len(),
            History::Sequence(rows) => rows.len(),
        };
        assert_eq!(rows, 3);
        assert!(!fresh.pictures(2).is_empty());
        let mut stopped = every_task(&mnist, 1).swap_remove(k);
        assert_eq!(stopped.advance(&|| true).unwrap(), Advance::Stopped);
    }
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused() {
    let mnist = mnist();
    let mut tasks = every_task(&mnist, 1);
    let bytes = tasks[0].checkpoint().to_bytes("one").unwrap();
    let read = |bytes: &[u8], run: &str| Checkpoint::from_bytes(bytes, run);
    let message = read(&bytes, "other").unwrap_err().to_string();
    assert!(message.contains("run other was expected"), "{message}");
    let checkpoint = read(&bytes, "one").unwrap();
    let message = tasks[2].restore(&checkpoint).unwrap_err().to_string();
    assert!(message.contains("params of a checkpoint"), "{message}");
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let message = read(&flipped, "one").unwrap_err().to_string();
    assert!(message.contains("SHA-256"), "{message}");
    for cut in [0, 7, 100, bytes.len() / 2, bytes.len() - 1] {
        let message = read(&bytes[..cut], "one").unwrap_err().to_string();
        assert!(message.contains("cannot be used"), "{message}");
    }
}

#[test]
fn every_head_learns_something_from_the_product_alone() {
    let mnist = mnist();
    for head in ["mul", "fc", "nmu", "snmu"] {
        let config = product::Config { samples: 10, epochs: 3, row_every: 3, ..small(HALVED, head, 2) };
        let mut run = product::Run::new(config, Arc::clone(&mnist)).unwrap();
        finish(&mut run);
        let rows = run.rows();
        let errors = rows.iter().map(|row| row.train.errors[0].unwrap()).collect::<Vec<_>>();
        assert!(errors[1] < 0.7 * errors[0], "{head}: {errors:?}");
        let row = &rows[1];
        assert_eq!(row.weights.len(), if head == "mul" { 0 } else { 2 });
        let confusion = row.confusion.as_ref().expect("the last row has it");
        let counted: u32 = confusion.rounded.iter().flatten().sum();
        assert_eq!(counted, 2 * 10 * 10, "both digits of ten samples of ten pairs");
        for score in [row.train, row.test] {
            for accuracy in score.accuracy {
                assert!(accuracy.strict <= accuracy.tolerance && accuracy.tolerance <= accuracy.rounded, "{head}");
            }
        }
        if head == "nmu" || head == "snmu" {
            assert!(row.weights.iter().all(|w| (0.0..=1.0).contains(w)), "{head}: {:?}", row.weights);
        }
    }
}

#[test]
fn a_sequence_is_learned() {
    let mnist = mnist();
    let config = sequential::Config { sequences: 1_000, epochs: 6, row_every: 6, ..short("nmu", 2) };
    let mut run = sequential::Run::new(config, mnist).unwrap();
    finish(&mut run);
    let [first, last] = run.rows() else { panic!("two rows") };
    let (before, after) = (first.train.error.unwrap(), last.train.error.unwrap());
    assert!(after < 0.3 * before, "{before} {after}");
    assert_eq!((last.step, last.test.len()), (96, 20));
    let [before, after] = [first, last].map(|row| row.test[0].error.unwrap());
    assert!(after < 0.6 * before, "digits alone: {before} {after}");
}

#[test]
fn wrong_settings_are_named() {
    let mnist = mnist();
    let message = |config: product::Config| product::Run::new(config, Arc::clone(&mnist)).unwrap_err().to_string();
    assert!(message(product::Config { fold: 10, ..small(HALVED, "nmu", 1) }).contains("folds 0 to 9"));
    assert!(message(product::Config { fold: 3, ..small(COLOUR, "nmu", 1) }).contains("folds 0 to 2"));
    assert!(message(product::Config { batch: 0, ..small(HALVED, "nmu", 1) }).contains("at least 1"));
    assert!(message(small(HALVED, "nmuu", 1)).contains("did you mean 'nmu'"));
    let message =
        |config: sequential::Config| sequential::Run::new(config, Arc::clone(&mnist)).unwrap_err().to_string();
    assert!(message(sequential::Config { sequences: 0, ..short("nmu", 1) }).contains("at least 1"));
    assert!(message(sequential::Config { rz: f64::NAN, ..short("nmu", 1) }).contains("R_z is NaN"));
    assert!(message(short("fc", 1)).contains("unknown cell 'fc'"));
    let options = Options::new().with("noise", Noise::Learnable { start: 5.0 });
    assert!(message(sequential::Config { options, ..short("snmu", 1) }).contains("neither learns nor remembers"));
    let message = |config: product::Config| config.check().unwrap_err().to_string();
    assert!(message(product::Config { ramp: (5, 5), ..small(HALVED, "nmu", 1) }).contains("ramp"));
    assert!(message(product::Config { lambda: f64::NAN, ..small(HALVED, "nmu", 1) }).contains("NaN"));
    assert!(message(product::Config { samples: 0, ..small(HALVED, "nmu", 1) }).contains("at least 1"));
}

/// A lead of 21 makes the expected digit exact for 1 to 9 and not for 0; the NMU's plus one minus one makes the zero exact, too.
#[test]
fn a_zero_is_exact_only_behind_an_nmu() -> Result<(), Error> {
    let dense = Layer::Dense { inputs: 10, outputs: 10, activation: Activation::Linear, drop: 0.0 };
    let net = Net::new(vec![dense, Layer::SoftArgmax { classes: 10 }], InstructionSet::best())?;
    let mut p = vec![0f32; net.param_len()];
    (0..10).for_each(|k| p[k * 10 + k] = 1.0);
    let x: Vec<f32> = (0..100).map(|k| if k / 10 == k % 10 { 0.0 } else { -21.0 }).collect();
    let (mut work, mut z) = (net.workspace(10), Vec::new());
    net.forward(&p, &x, &mut work, Mode::Eval, 1);
    work.outputs(&net, &mut z);
    for (k, z) in z.iter().enumerate() {
        assert_eq!(*z == k as f32, k > 0, "{k}: {z:e}");
    }
    let head = |name: &str| Network::new(vec![(find::<f32>(name)?.build)(Shape::new(2, 1)?, &Options::default())?]);
    assert_eq!(head("nmu")?.predict(&[1.0, 1.0], &[z[0], z[7]])?, [0.0]);
    assert_ne!(head("mul")?.predict(&[], &[z[0], z[7]])?, [0.0]);
    Ok(())
}

#[test]
fn the_penalty_ramps_by_epoch() {
    let product::Config { lambda, ramp: (start, end), .. } = product::Config::published(HALVED, "nmu", 2);
    let penalty = Penalty { strength: lambda, schedule: Schedule::Ramp { start, end } };
    assert_eq!([30, 35, 40, 1_000].map(|epoch| penalty.at(epoch, 0.0)), [0.0, 50.0, 100.0, 100.0]);
}

/// A strong penalty moves the NMU's weights to 0 or 1 and leaves FC's alone; and FC's may leave the box.
#[test]
fn only_units_of_the_family_are_penalised_and_clipped() {
    let mnist = mnist();
    let end = |head: &str, lambda: f64, start: (f64, f64)| {
        let options = Options::new().with("start", start);
        let config = product::Config { lambda, ramp: (0, 1), epochs: 3, options, ..small(HALVED, head, 1) };
        let mut run = product::Run::new(config, Arc::clone(&mnist)).unwrap();
        finish(&mut run);
        run.rows().last().unwrap().weights.clone()
    };
    assert_eq!(end("fc", 0.0, (0.25, 0.75)), end("fc", 1e6, (0.25, 0.75)));
    assert_ne!(end("nmu", 0.0, (0.25, 0.75)), end("nmu", 1e6, (0.25, 0.75)));
    assert!(end("nmu", 1e6, (0.999, 1.0)).iter().all(|w| *w <= 1.0));
}

#[test]
fn noise_at_evaluation_is_a_switch() {
    let mnist = mnist();
    let first = |eval_noise: bool| {
        let config = sequential::Config { epochs: 0, eval_noise, ..short("snmu", 1) };
        let mut run = sequential::Run::new(config, Arc::clone(&mnist)).unwrap();
        finish(&mut run);
        run.rows()[0].clone()
    };
    assert_ne!(first(true).valid, first(false).valid);
    assert_eq!(first(false), first(false));
}

/// JSON has no NaN, and a run that ended in it must come back from its checkpoint all the same.
#[test]
fn weights_that_are_no_numbers_can_be_kept() {
    let mnist = mnist();
    for mut run in every_task(&mnist, 1) {
        let mut broken = run.checkpoint();
        for tensor in broken.tensors.iter_mut().filter(|tensor| tensor.name == "head.params") {
            tensor.data.fill(f32::NAN);
        }
        run.restore(&broken).unwrap();
        run.measure().unwrap();
        let bytes = run.checkpoint().to_bytes("broken").unwrap();
        let back = Checkpoint::from_bytes(&bytes, "broken").unwrap();
        let weights = match &back.progress.history {
            History::Product(rows) => rows[0].weights.clone(),
            History::Sequence(rows) => rows[0].weights.clone(),
        };
        assert!(weights.len() == 2 && weights.iter().all(|w| w.is_nan()));
    }
}

//! The isolated task: the same bits on any number of threads, learning, and the traps of its metrics.

use nalm::module::{Options, Shape, find};
use nalm::{Network, Noise, Penalty, Schedule};
use nalm_vision::isolated::{Config, Row, Run};
use nalm_vision::{Activation, Error, Layer, Mnist, Mode, Net, Set};
use std::ops::ControlFlow;

fn mnist() -> Mnist {
    Mnist::load(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist")).unwrap()
}

fn small(head: &str, threads: usize) -> Config {
    Config { samples: 4, epochs: 2, halved: true, threads, ..Config::published(head, 2) }
}

fn rows(config: Config, mnist: &Mnist) -> Vec<Row> {
    let mut rows = Vec::new();
    Run::new(config, mnist)
        .unwrap()
        .train(|row| {
            rows.push(row.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

#[test]
fn rows_do_not_depend_on_threads() {
    let mnist = mnist();
    let options = Options { noise: Noise::default(), ..Options::default() };
    let config = |threads| Config { options, ..small("snmu", threads) };
    let one = rows(config(1), &mnist);
    assert_eq!(one.len(), 3);
    // Debug text, because shares of nothing are NaN and so never equal.
    assert_eq!(format!("{one:?}"), format!("{:?}", rows(config(3), &mnist)));
}

#[test]
fn every_head_learns_something_from_the_product_alone() {
    let mnist = mnist();
    for head in ["mul", "fc", "nmu", "snmu"] {
        let rows = rows(Config { samples: 10, epochs: 3, row_every: 3, ..small(head, 2) }, &mnist);
        let errors = rows.iter().map(|row| row.train.errors[0]).collect::<Vec<_>>();
        assert!(errors[1] < 0.7 * errors[0], "{head}: {errors:?}");
        let row = &rows[1];
        assert_eq!(row.weights.len(), if head == "mul" { 0 } else { 2 });
        let counted: u32 = row.confusion[1].iter().flatten().sum();
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
fn wrong_settings_are_named() {
    let mnist = mnist();
    let message = |config: Config| Run::new(config, &mnist).unwrap_err().to_string();
    assert!(message(Config { fold: 10, ..small("nmu", 1) }).contains("folds 0 to 9"));
    assert!(message(Config { batch: 0, ..small("nmu", 1) }).contains("at least 1"));
    assert!(message(small("nmuu", 1)).contains("did you mean 'nmu'"));
}

/// A lead of 21 makes the expected digit exact for 1 to 9 and not for 0; the NMU's plus one minus one makes the zero exact, too.
#[test]
fn a_zero_is_exact_only_behind_an_nmu() -> Result<(), Error> {
    let dense = Layer::Dense { inputs: 10, outputs: 10, activation: Activation::Linear, drop: 0.0 };
    let net = Net::new(vec![dense, Layer::SoftArgmax { classes: 10 }], Set::best())?;
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
    let penalty = Penalty { strength: 100.0, schedule: Schedule::Ramp { start: 30, end: 40 } };
    assert_eq!([30, 35, 40, 1_000].map(|epoch| penalty.at(epoch, 0.0)), [0.0, 50.0, 100.0, 100.0]);
}

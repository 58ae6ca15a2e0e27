//! Hand-written gradients against central differences in double precision, and the same bits on any number of threads.

use nalm::rng::Purpose;
use nalm::{Error, InstructionSet, Rng};
use nalm_vision::vector::Scalar;
use nalm_vision::{Activation, Geometry, Layer, Mode, Net, networks};

const TRAIN: Mode<'static> = Mode::Train { key: "key" };

/// The mean of squared outputs, weighted so that no two samples count alike.
fn loss<R: Scalar>(net: &Net, p: &[R], x: &[R], mode: Mode<'_>) -> (f64, Vec<R>) {
    let samples = x.len() / net.input_len();
    let mut work = net.workspace(samples);
    net.forward(p, x, &mut work, mode, 1);
    let mut y = Vec::new();
    work.outputs(net, &mut y);
    let weight = |k: usize| 1.0 + 0.1 * (k % 7) as f64;
    let value = y.iter().enumerate().map(|(k, y)| weight(k) * y.to_f64() * y.to_f64()).sum::<f64>() / y.len() as f64;
    let scale = 2.0 / y.len() as f64;
    let dy: Vec<R> = y.iter().enumerate().map(|(k, y)| R::of(scale * weight(k) * y.to_f64())).collect();
    let mut gradient = vec![R::ZERO; net.param_len()];
    net.backward(p, x, &mut work, &dy, &mut gradient, None, 1);
    (value, gradient)
}

fn setting<R: Scalar>(net: &Net, samples: usize) -> (Vec<R>, Vec<R>) {
    let mut rng = Rng::fast("gradients", Purpose::Data);
    let x: Vec<R> = (0..samples * net.input_len()).map(|_| rng.uniform(R::of(-0.5), R::of(1.5))).collect();
    let mut p = vec![R::ZERO; net.param_len()];
    net.init(&mut p, &mut Rng::fast("gradients", Purpose::Init));
    (p, x)
}

/// The worst relative error over random directions. A direction that crosses a kink of max or ReLU is retried with a smaller step.
fn worst(net: &Net, samples: usize, directions: usize, mode: Mode<'_>) -> f64 {
    let (p, x) = setting::<f64>(net, samples);
    let (_, gradient) = loss(net, &p, &x, mode);
    let mut rng = Rng::fast("directions", Purpose::Data);
    let mut worst = 0f64;
    for _ in 0..directions {
        let d: Vec<f64> = (0..p.len()).map(|_| rng.uniform(-1.0, 1.0)).collect();
        let gradient: f64 = gradient.iter().zip(&d).map(|(g, d)| g * d).sum();
        let error = [1e-5, 1e-6, 1e-7].into_iter().map(|h| {
            let at = |h: f64| loss(net, &p.iter().zip(&d).map(|(p, d)| p + h * d).collect::<Vec<_>>(), &x, mode).0;
            let difference = (at(h) - at(-h)) / (2.0 * h);
            (difference - gradient).abs() / gradient.abs().max(difference.abs()).max(1e-9)
        });
        worst = worst.max(error.fold(f64::INFINITY, f64::min));
    }
    worst
}

fn layers() -> Vec<(&'static str, Result<Net, Error>)> {
    let conv = |height, width, inputs, outputs, kernel| Geometry { height, width, inputs, outputs, kernel };
    let dense = |inputs, outputs, activation, drop| Layer::Dense { inputs, outputs, activation, drop };
    let linear = |inputs| dense(inputs, 3, Activation::Linear, 0.0);
    let set = InstructionSet::best();
    vec![
        (
            "narrow convolution",
            Net::new(vec![Layer::Conv { geometry: conv(6, 7, 2, 5, 3), pool: false, drop: 0.0 }, linear(100)], set),
        ),
        (
            "wide convolution below another",
            Net::new(
                vec![
                    Layer::Conv { geometry: conv(7, 8, 1, 18, 3), pool: false, drop: 0.0 },
                    Layer::Conv { geometry: conv(5, 6, 18, 35, 3), pool: false, drop: 0.0 },
                    linear(3 * 4 * 35),
                ],
                set,
            ),
        ),
        (
            "pooled convolutions of odd size, with dropout",
            Net::new(
                vec![
                    Layer::Conv { geometry: conv(17, 16, 1, 20, 5), pool: true, drop: 0.0 },
                    Layer::Conv { geometry: conv(6, 6, 20, 17, 2), pool: true, drop: 0.25 },
                    linear(2 * 2 * 17),
                ],
                set,
            ),
        ),
        (
            "narrow pooled convolution that passes its gradient on",
            Net::new(
                vec![
                    Layer::Conv { geometry: conv(9, 9, 3, 4, 2), pool: false, drop: 0.0 },
                    Layer::Conv { geometry: conv(8, 8, 4, 6, 3), pool: true, drop: 0.0 },
                    linear(3 * 3 * 6),
                ],
                set,
            ),
        ),
        (
            "narrow convolution that passes its gradient on",
            Net::new(
                vec![
                    Layer::Conv { geometry: conv(9, 9, 3, 4, 2), pool: false, drop: 0.0 },
                    Layer::Conv { geometry: conv(8, 8, 4, 6, 3), pool: false, drop: 0.0 },
                    linear(6 * 6 * 6),
                ],
                set,
            ),
        ),
        (
            "average-pooling",
            Net::new(
                vec![
                    Layer::Conv { geometry: conv(9, 10, 2, 9, 2), pool: false, drop: 0.0 },
                    Layer::AveragePool { height: 8, width: 9, channels: 9 },
                    linear(4 * 4 * 9),
                ],
                set,
            ),
        ),
        ("dense, ReLU, dropout", Net::new(vec![dense(7, 40, Activation::Relu, 0.5), linear(40)], set)),
        ("dense, tanh", Net::new(vec![dense(7, 9, Activation::Tanh, 0.0), linear(9)], set)),
        (
            "expected class",
            Net::new(vec![dense(7, 10, Activation::Linear, 0.0), Layer::SoftArgmax { classes: 10 }], set),
        ),
    ]
}

#[test]
fn every_layer_has_the_gradient_of_its_differences() {
    for (name, net) in layers() {
        let net = net.unwrap_or_else(|error| panic!("{name}: {error}"));
        // With whatever the last pass dropped, or nothing.
        for (samples, mode) in [(1, TRAIN), (19, TRAIN), (3, Mode::Eval)] {
            let error = worst(&net, samples, 6, mode);
            println!("{name}, {samples} samples: {error:.1e}");
            assert!(error < 1e-5, "{name}, {mode:?}: {error:e}");
        }
    }
}

#[test]
fn whole_networks_have_the_gradient_of_their_differences() {
    for (name, net) in [
        ("classifier", networks::digit_classifier(28, 1, InstructionSet::best())),
        ("classifier of halved images", networks::digit_classifier(14, 1, InstructionSet::best())),
        ("colour classifier", networks::digit_classifier(21, 2, InstructionSet::best())),
        ("regressor", networks::digit_regressor(InstructionSet::best())),
        ("localisation", networks::localisation(InstructionSet::best())),
    ] {
        let error = worst(&net.unwrap(), 3, 20, TRAIN);
        println!("{name}: {error:.1e}");
        assert!(error < 1e-5, "{name}: {error:e}");
    }
}

#[test]
fn parameters_are_as_many_as_published() {
    let classifier =
        |side, channels| networks::digit_classifier(side, channels, InstructionSet::best()).unwrap().param_len();
    assert_eq!(classifier(28, 1), 1_199_882);
    let (locator, regressor) =
        (networks::localisation(InstructionSet::best()).unwrap(), networks::digit_regressor(InstructionSet::best()));
    assert_eq!(locator.param_len(), 22_368);
    assert_eq!(classifier(21, 2) + 2 * locator.param_len(), 589_546);
    assert_eq!(regressor.unwrap().param_len(), 426_571);
}

#[test]
fn threads_do_not_change_a_bit() {
    let net = networks::digit_classifier(14, 1, InstructionSet::best()).unwrap();
    let (p, x) = setting::<f32>(&net, 50);
    let results: Vec<(Vec<f32>, Vec<f32>)> = [1, 2, 3, 7]
        .into_iter()
        .map(|threads| {
            let mut work = net.workspace(50);
            let (mut y, mut gradient) = (Vec::new(), vec![0.0; net.param_len()]);
            net.forward(&p, &x, &mut work, Mode::Train { key: "k" }, threads);
            work.outputs(&net, &mut y);
            net.backward(&p, &x, &mut work, &y.clone(), &mut gradient, None, threads);
            (y, gradient)
        })
        .collect();
    assert!(results[0].1.iter().any(|g| *g != 0.0));
    assert!(results.iter().all(|result| *result == results[0]));
}

/// Every instruction set computes the same to the bit, and single precision the same as double up to rounding, for every network.
#[test]
fn instruction_sets_and_precisions_agree() {
    type Make = fn(InstructionSet) -> Result<Net, Error>;
    let networks: [(&str, Make); 4] = [
        ("classifier", |set| networks::digit_classifier(14, 1, set)),
        ("colour classifier", |set| networks::digit_classifier(21, 2, set)),
        ("regressor", networks::digit_regressor),
        ("localisation", networks::localisation),
    ];
    for (name, make) in networks {
        let net = make(InstructionSet::PORTABLE).unwrap();
        let (p, x) = setting::<f64>(&net, 5);
        let want = loss(&net, &p, &x, TRAIN).1;
        let size = want.iter().map(|g| g * g).sum::<f64>().sqrt();
        let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let first = loss(&net, &narrow(&p), &narrow(&x), TRAIN);
        for set in InstructionSet::available() {
            let net = make(set).unwrap();
            let (error, got) = loss(&net, &narrow(&p), &narrow(&x), TRAIN);
            assert_eq!((error.to_bits(), &got), (first.0.to_bits(), &first.1), "{name}, {}", set.name());
            let difference = got.iter().zip(&want).map(|(g, w)| (f64::from(*g) - w).powi(2)).sum::<f64>().sqrt();
            assert!(difference < 1e-4 * size, "{name}, {}: {:e}", set.name(), difference / size);
        }
    }
}

#[test]
fn evaluation_is_without_dropout_and_repeatable() {
    let net = networks::digit_classifier(14, 1, InstructionSet::best()).unwrap();
    let (p, x) = setting::<f32>(&net, 5);
    let pass = |net: &Net, mode: Mode<'_>| {
        let mut work = net.workspace(5);
        net.forward(&p, &x, &mut work, mode, 1);
        let mut y = Vec::new();
        work.outputs(net, &mut y);
        y
    };
    let plain = net.layers().iter().map(|layer| match *layer {
        Layer::Conv { geometry, pool, .. } => Layer::Conv { geometry, pool, drop: 0.0 },
        Layer::Dense { inputs, outputs, activation, .. } => Layer::Dense { inputs, outputs, activation, drop: 0.0 },
        other => other,
    });
    let plain = Net::new(plain.collect(), InstructionSet::best()).unwrap();
    assert_eq!(pass(&net, Mode::Eval), pass(&plain, Mode::Train { key: "a" }));
    assert_ne!(pass(&net, Mode::Train { key: "a" }), pass(&net, Mode::Train { key: "b" }));
    assert_eq!(pass(&net, Mode::Train { key: "a" }), pass(&net, Mode::Train { key: "a" }));
}

#[test]
fn layers_that_make_no_sense_are_refused() {
    let geometry = |kernel| Geometry { height: 5, width: 6, inputs: 1, outputs: 2, kernel };
    let conv = |kernel, pool, drop| Layer::Conv { geometry: geometry(kernel), pool, drop };
    let dense = |activation, drop| Layer::Dense { inputs: 3, outputs: 2, activation, drop };
    for (layer, hint) in [
        (conv(6, false, 0.0), "kernel size is 6"),
        (conv(5, true, 0.0), "kernel size is 5"),
        (conv(3, false, 0.5), "0 without pooling"),
        (conv(3, true, 1.0), "below 1"),
        (dense(Activation::Tanh, 0.5), "0 without ReLU"),
        (Layer::AveragePool { height: 1, width: 4, channels: 1 }, "at least 2"),
        (Layer::SoftArgmax { classes: 0 }, "at least 1"),
    ] {
        let message = Net::new(vec![layer], InstructionSet::best()).unwrap_err().to_string();
        assert!(message.contains(hint), "{message}");
    }
    assert!(Net::new(Vec::new(), InstructionSet::best()).is_err());
}

#[test]
fn layers_that_do_not_fit_are_named() {
    let error = Net::new(
        vec![
            Layer::Dense { inputs: 3, outputs: 4, activation: Activation::Relu, drop: 0.0 },
            Layer::SoftArgmax { classes: 5 },
        ],
        InstructionSet::best(),
    );
    assert!(error.unwrap_err().to_string().contains('4'));
}

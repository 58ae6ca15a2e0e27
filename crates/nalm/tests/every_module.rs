//! Laws that hold for every listed module. A new module is tested by being listed.

use nalm::batch::{BatchLayout, to_lanes};
use nalm::denoiser::DENOISERS;
use nalm::gradcheck;
use nalm::lane::flat;
use nalm::module::{self, Dispatch, Pass, Shape, Spec};
use nalm::noise::NOISES;
use nalm::rng::{Purpose, Rng};
use nalm::{Denoiser, InstructionSet, Lane, Loss, Nau, Network, Nmu, Noise, Operation, Options, Real, Recurrent, Snmu};

/// The usual shape, the smallest one, and random ones.
fn shapes() -> Vec<(usize, usize)> {
    let mut rng = Rng::fast("shapes", Purpose::Subset);
    let mut below = |n: f64| rng.uniform(1.0, n + 1.0) as usize;
    [(2, 1), (1, 1)].into_iter().chain((0..4).map(|_| (below(6.0), below(3.0)))).collect()
}

const TOLERANCE: f64 = 1e-6;

fn build<R: Real>(spec: &Spec<R>, inputs: usize, outputs: usize) -> Box<dyn Dispatch<R>> {
    (spec.build)(Shape::new(inputs, outputs).unwrap(), &Options::new().with("hidden", 7usize)).unwrap()
}

fn alone<R: Real>(spec: &Spec<R>, inputs: usize, outputs: usize) -> Network<R> {
    Network::new(vec![build(spec, inputs, outputs)]).unwrap()
}

fn inputs<R: Real>(rows: usize, features: usize, low: f64, high: f64) -> Vec<R> {
    let mut rng = Rng::fast("inputs", Purpose::Data);
    (0..rows * features).map(|_| R::of(rng.uniform(low, high))).collect()
}

fn initial<R: Real>(network: &Network<R>) -> Vec<R> {
    let mut p = vec![R::ZERO; network.param_len()];
    network.init(&mut p, &mut Rng::fast("init", Purpose::Init));
    p
}

#[test]
fn names_are_unique_and_found() {
    let list = module::list::<f32>();
    for spec in &list {
        assert_eq!(list.iter().filter(|other| other.name == spec.name).count(), 1, "{}", spec.name);
        let found = module::find::<f32>(spec.name).unwrap();
        assert_eq!(build(&found, 2, 1).name(), spec.name);
    }
    assert!(module::find::<f32>("nmuu").err().unwrap().to_string().contains("did you mean 'nmu'"));
}

#[test]
fn gradients_agree_with_central_differences() {
    let mut worst_of_all = 0.0f64;
    for spec in module::list::<f64>() {
        let mut worst = 0.0f64;
        for (inputs, outputs) in shapes() {
            let check = gradcheck::check_many(&alone(&spec, inputs, outputs), spec.smooth_at_zero, 20);
            assert!(check.kinks * 10 <= check.compared, "{} {check:?}", spec.name);
            worst = worst.max(check.worst_relative_error);
        }
        println!("{:12} worst relative error {worst:.1e}", spec.name);
        assert!(worst <= TOLERANCE, "{}: {worst:e}", spec.name);
        worst_of_all = worst_of_all.max(worst);
    }
    println!("{:12} worst relative error {worst_of_all:.1e}", "all");
}

#[test]
fn gradients_agree_for_every_noise_with_every_denoiser() {
    for noise in NOISES {
        for denoiser in DENOISERS {
            for (inputs, outputs) in shapes() {
                let unit = Snmu::with(inputs, outputs, noise.example, denoiser.denoiser).unwrap();
                let check = gradcheck::check_many(&Network::single(unit), true, 4);
                assert!(check.kinks * 10 <= check.compared, "{} with {}: {check:?}", noise.name, denoiser.name);
                let worst = check.worst_relative_error;
                assert!(worst <= TOLERANCE, "{} with {}: {worst:e}", noise.name, denoiser.name);
            }
        }
    }
}

#[test]
fn gradients_flow_through_stacks_and_recurrences() {
    let deep: Vec<Box<dyn Dispatch<f64>>> = vec![
        Box::new(Nau::new(4, 3).unwrap()),
        Box::new(Snmu::new(3, 3).unwrap()),
        Box::new(Nau::new(3, 2).unwrap()),
        Box::new(Nmu::new(2, 1).unwrap()),
    ];
    let product = Recurrent::new(Box::new(Snmu::new(3, 1).unwrap()), 4, 1.0).unwrap();
    let two_states = Recurrent::new(Box::new(Nau::new(3, 2).unwrap()), 5, 0.0).unwrap();
    let mixed: Vec<Box<dyn Dispatch<f64>>> = vec![
        Box::new(Recurrent::new(Box::new(Nau::new(3, 2).unwrap()), 3, 0.0).unwrap()),
        Box::new(Nmu::new(2, 2).unwrap()),
    ];
    for network in [
        Network::new(deep).unwrap(),
        Network::single(product),
        Network::single(two_states),
        Network::new(mixed).unwrap(),
    ] {
        let check = gradcheck::check_many(&network, true, 10);
        assert!(check.kinks * 10 <= check.compared, "{}: {check:?}", network.name());
        assert!(check.worst_relative_error <= TOLERANCE, "{}: {check:?}", network.name());
    }
}

#[test]
fn evaluation_is_deterministic_and_leaves_its_input_alone() {
    for spec in module::list::<f32>() {
        let network = alone(&spec, 3, 2);
        let p = initial(&network);
        let at = BatchLayout::new(37).unwrap();
        let x = to_lanes(&inputs::<f32>(37, 3, -2.0, 2.0), at).unwrap();
        let before = x.clone();
        let mut clean = network.workspace(at);
        let first = network.forward(&p, &x, &mut clean, Pass::Eval).to_vec();
        // A workspace that has seen training must not matter.
        let mut used = network.workspace(at);
        network.forward(&p, &x, &mut used, Pass::Train(&mut Rng::fast("noise", Purpose::Noise)));
        let second = network.forward(&p, &x, &mut used, Pass::Eval);
        assert!(same_bits(&first, second), "{}", spec.name);
        assert_eq!(x, before, "{}", spec.name);
    }
}

/// Other rows in the padding change no bit of a gradient, with noise and all.
#[test]
fn padding_has_no_influence() {
    for spec in module::list::<f64>() {
        let network = alone(&spec, 2, 1);
        let p = initial(&network);
        let at = BatchLayout::new(19).unwrap();
        let gradient = |spoil: f64| {
            let mut x = to_lanes(&inputs::<f64>(19, 2, 0.5, 2.0), at).unwrap();
            for lane in x.iter_mut().skip(1).step_by(2) {
                lane.0[3..].fill(spoil);
            }
            let mut work = network.workspace(at);
            network.forward(&p, &x, &mut work, Pass::Train(&mut Rng::fast("noise", Purpose::Noise)));
            let (y, gradient) = work.output_and_gradient();
            Loss::Mse.gradient(y, &x[..2], gradient, at);
            let mut dp = vec![0.0; p.len()];
            network.backward(&p, &x, &mut work, None, &mut dp);
            dp
        };
        assert_eq!(gradient(0.7), gradient(1.9), "{}", spec.name);
        assert!(gradient(1e3).iter().all(|g| g.is_finite()), "{}", spec.name);
    }
}

#[test]
fn backward_adds_to_the_gradient() {
    for spec in module::list::<f64>() {
        let network = alone(&spec, 3, 2);
        let p = initial(&network);
        let at = BatchLayout::new(16).unwrap();
        let x = to_lanes(&inputs::<f64>(16, 3, 0.5, 2.0), at).unwrap();
        let mut work = network.workspace(at);
        network.forward(&p, &x, &mut work, Pass::Train(&mut Rng::fast("noise", Purpose::Noise)));
        let mut once = vec![0.0; p.len()];
        let mut twice = vec![0.0; p.len()];
        for (dp, times) in [(&mut once, 1), (&mut twice, 2)] {
            for _ in 0..times {
                let mut work = work.clone();
                work.output_gradient().fill(Lane::splat(1.0));
                network.backward(&p, &x, &mut work, None, dp);
            }
        }
        for (a, b) in once.iter().zip(&twice) {
            assert!((2.0 * a - b).abs() <= 1e-12 * a.abs().max(1.0), "{}", spec.name);
        }
    }
}

#[test]
fn initial_and_projected_parameters_stay_in_the_box() {
    for spec in module::list::<f32>() {
        for (inputs, outputs) in shapes() {
            let unit = build(&spec, inputs, outputs);
            let mut p = vec![0.0; unit.param_len()];
            let inside = |p: &[f32]| {
                p.iter().enumerate().all(|(k, &v)| {
                    let (low, high) = unit.bounds(k);
                    low <= v && v <= high
                })
            };
            for seed in 0..20 {
                unit.init(&mut p, &mut Rng::fast(&format!("init {seed}"), Purpose::Init));
                assert!(inside(&p), "{}", spec.name);
            }
            let kept = p.clone();
            unit.project(&mut p);
            assert_eq!(p, kept, "{} is moved although it is inside", spec.name);
            p.iter_mut().enumerate().for_each(|(k, v)| *v = if k % 2 == 0 { 7.0 } else { -7.0 });
            unit.project(&mut p);
            assert!(inside(&p), "{}", spec.name);
            if !p.is_empty() {
                p[0] = f32::NAN;
                unit.project(&mut p);
                assert!(p[0].is_nan(), "{} hides a NaN", spec.name);
            }
        }
    }
}

fn gold_error<R: Real>(spec: &Spec<R>) -> f64 {
    let mut worst = 0.0f64;
    for features in [2, 4] {
        for &operation in spec.claims {
            let network = alone(spec, features, 2);
            let Some(p) = network.layers()[0].gold(operation) else {
                assert!(features > 2, "{} claims {operation} but has no gold parameters", spec.name);
                continue;
            };
            assert_eq!(p.len(), network.param_len(), "{} {operation}", spec.name);
            let low = if spec.gold_positive { 0.5 } else { -3.0 };
            let x = inputs::<R>(200, features, low, 3.0);
            // Whole numbers, where exactness is claimed: their products have no rounding of their own.
            let x: Vec<R> = if spec.gold_error == 0.0 {
                x.iter()
                    .map(|v| R::of(if v.to_f64() < 0.0 { -1.0 } else { 1.0 } * (1.0 + v.to_f64().abs().floor())))
                    .collect()
            } else {
                x
            };
            let y = network.predict(&p, &x).unwrap();
            for (x, y) in x.chunks(features).zip(y.chunks(2)) {
                let t = operation.apply(x[0], x[1]).to_f64();
                for y in y {
                    worst = worst.max((y.to_f64() - t).abs() / t.abs().max(1e-3));
                }
            }
        }
    }
    worst
}

#[test]
fn gold_parameters_compute_what_is_claimed() {
    for (single, double) in module::list::<f32>().iter().zip(&module::list::<f64>()) {
        let (worst32, worst64) = (gold_error(single), gold_error(double));
        println!("{:12} f32 {worst32:.1e}  f64 {worst64:.1e}  claimed {:.1e}", single.name, single.gold_error);
        assert!(worst32 <= single.gold_error, "{}: {worst32:e}", single.name);
        assert!(worst64 <= double.gold_error, "{}: {worst64:e}", double.name);
        for operation in Operation::ALL {
            let has = build(single, 2, 1).gold(operation).is_some();
            assert_eq!(has, single.claims.contains(&operation), "{} {operation}", single.name);
        }
    }
}

/// Outputs to 1e-5 of the largest one, gradients to 1e-4.
#[test]
fn single_and_double_precision_agree() {
    for (single, double) in module::list::<f32>().iter().zip(&module::list::<f64>()) {
        for (features, outputs) in shapes() {
            let (a, b) = (alone(single, features, outputs), alone(double, features, outputs));
            let p64: Vec<f64> = initial(&b).iter().map(|v| f64::from((*v as f32).clamp(-2.0, 2.0))).collect();
            let p32: Vec<f32> = p64.iter().map(|v| *v as f32).collect();
            let x32 = inputs::<f32>(33, features, 0.5, 2.0);
            let x64: Vec<f64> = x32.iter().map(|v| f64::from(*v)).collect();
            let (y32, dp32) = pass(&a, &p32, &x32);
            let (y64, dp64) = pass(&b, &p64, &x64);
            for (what, got, want, tolerance) in [("output", y32, y64, 1e-5), ("gradient", dp32, dp64, 1e-4)] {
                let scale = want.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
                for (g, w) in got.iter().zip(&want) {
                    assert!((g - w).abs() <= tolerance * scale, "{} {what}: {g} instead of {w}", single.name);
                }
            }
        }
    }
}

/// Outputs in evaluation, and the parameters' gradient of the sum of the outputs in training.
fn pass<R: Real>(network: &Network<R>, p: &[R], x: &[R]) -> (Vec<f64>, Vec<f64>) {
    let at = BatchLayout::new(x.len() / network.shape().inputs).unwrap();
    let x = to_lanes(x, at).unwrap();
    let mut work = network.workspace(at);
    let y: Vec<f64> = flat(network.forward(p, &x, &mut work, Pass::Eval)).iter().map(|v| v.to_f64()).collect();
    let mut dp = vec![R::ZERO; p.len()];
    // The reference stream draws the same 24-bit noise for both number types.
    network.forward(p, &x, &mut work, Pass::Train(&mut Rng::torch(3)));
    work.output_gradient().fill(Lane::splat(R::ONE));
    network.backward(p, &x, &mut work, None, &mut dp);
    (y, dp.iter().map(|v| v.to_f64()).collect())
}

#[test]
fn the_snmu_family_with_discrete_weights_is_the_nmu() {
    let at = BatchLayout::new(64).unwrap();
    let x = to_lanes(&inputs::<f64>(64, 4, -3.0, 3.0), at).unwrap();
    let p = [1.0, 0.0, 1.0, 1.0];
    let nmu = Network::single(Nmu::new(4, 1).unwrap());
    let want = nmu.forward(&p, &x, &mut nmu.workspace(at), Pass::Eval).to_vec();
    for noise in NOISES {
        for denoiser in [Denoiser::Paper, Denoiser::Exponent] {
            let snmu = Network::single(Snmu::with(4, 1, noise.example, denoiser).unwrap());
            let mut params = p.to_vec();
            params.resize(snmu.param_len(), 1.0);
            let mut work = snmu.workspace(at);
            let y = snmu.forward(&params, &x, &mut work, Pass::Train(&mut Rng::fast("noise", Purpose::Noise)));
            for (y, want) in flat(y).iter().zip(flat(&want)) {
                assert!((y - want).abs() <= 1e-12 * want.abs().max(1.0), "{} {denoiser}: {y} {want}", noise.name);
            }
        }
    }
}

#[test]
fn every_unit_that_is_noisy_in_training_differs_there() {
    for spec in module::list::<f64>() {
        let network = alone(&spec, 2, 1);
        let p: Vec<f64> = vec![0.4; network.param_len()];
        let at = BatchLayout::new(16).unwrap();
        let x = to_lanes(&inputs::<f64>(16, 2, 1.0, 2.0), at).unwrap();
        let mut work = network.workspace(at);
        let calm = network.forward(&p, &x, &mut work, Pass::Eval).to_vec();
        let mut rng = Rng::fast("noise", Purpose::Noise);
        let loud = network.forward(&p, &x, &mut work, Pass::Train(&mut rng)).to_vec();
        let replayed = network.forward(&p, &x, &mut work, Pass::Replay).to_vec();
        let noisy = spec.name.contains("snmu") || spec.name == "stg-nmu";
        assert_eq!(noisy, calm != loud, "{}", spec.name);
        assert_eq!(replayed, loud, "{}: replay repeats the noise", spec.name);
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits_in_one_pass() {
    for spec in module::list::<f32>() {
        let network = alone(&spec, 5, 3);
        let p = initial(&network);
        let results: Vec<_> = InstructionSet::available()
            .into_iter()
            .map(|set| {
                let at = BatchLayout::on(set, 77).unwrap();
                let x = to_lanes(&inputs::<f32>(77, 5, -2.0, 2.0), at).unwrap();
                let mut work = network.workspace(at);
                let mut rng = Rng::fast("noise", Purpose::Noise);
                let y = network.forward(&p, &x, &mut work, Pass::Train(&mut rng)).to_vec();
                work.output_gradient().fill(Lane::splat(0.25));
                let mut dp = vec![0.0; p.len()];
                let mut dx = x.clone();
                network.backward(&p, &x, &mut work, Some(&mut dx), &mut dp);
                let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                (bits(flat(&y)), bits(flat(&dx)), bits(&dp))
            })
            .collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{}", spec.name);
    }
}

#[test]
fn bad_shapes_and_options_are_refused_with_the_value() {
    for spec in module::list::<f32>() {
        let shape = Shape::new(2, 1).expect("a shape");
        let bad = [
            ("noise", Options::new().with("noise", Noise::Uniform { low: 5.0, high: 1.0 }), "1"),
            ("start", Options::new().with("start", (0.9, 0.1)), "0.1"),
            ("start", Options::new().with("start", (-1.0, f64::NAN)), "-1"),
            ("hidden", Options::new().with("hidden", 0usize), "0"),
            ("sigma", Options::new().with("sigma", f64::NAN), "NaN"),
            ("lambda", Options::new().with("lambda", -2.0), "-2"),
        ];
        for (option, options, value) in bad {
            let built = (spec.build)(shape, &options);
            if spec.options.iter().any(|declared| declared.name == option) {
                assert!(built.unwrap_err().to_string().contains(value), "{} {option}", spec.name);
            } else {
                assert!(built.is_ok(), "{} reads {option} without saying so", spec.name);
            }
        }
    }
    assert!(Shape::new(1 << 40, 1 << 40).is_err());
    assert!(Shape::new(0, 1).unwrap_err().to_string().contains("inputs is 0"));
    assert!(Nmu::new(2, 0).unwrap_err().to_string().contains("outputs is 0"));
    let misfit: Vec<Box<dyn Dispatch<f32>>> =
        vec![Box::new(Nau::new(4, 3).unwrap()), Box::new(Nmu::new(2, 1).unwrap())];
    assert!(Network::new(misfit).unwrap_err().to_string().contains("got 3, but 2"));
    assert!(Network::<f32>::new(Vec::new()).is_err());
    assert!(Recurrent::<f32>::new(Box::new(Nmu::new(1, 1).unwrap()), 3, 1.0).is_err());
    let nmu = Network::single(Nmu::new(2, 1).unwrap());
    assert!(nmu.predict(&[1.0], &[1.0, 2.0]).is_err());
    assert!(nmu.predict(&[1.0, 1.0], &[1.0, 2.0, 3.0]).is_err());
    assert_eq!(nmu.predict(&[1.0, 1.0], &[]).unwrap(), []);
}

fn same_bits<R: Real>(a: &[Lane<R>], b: &[Lane<R>]) -> bool {
    flat(a).iter().zip(flat(b)).all(|(a, b)| a.bits() == b.bits())
}

#[test]
fn sparsity_errors_are_zero_at_gold_and_positive_elsewhere() {
    for spec in module::list::<f64>() {
        let unit = build(&spec, 2, 1);
        if ["linear", "mlp", "fc", "mul"].contains(&spec.name) {
            continue;
        }
        let gold = unit.gold(spec.claims[0]).unwrap();
        assert!(unit.sparsity_error(&gold) < 1e-9, "{}", spec.name);
        let off: Vec<f64> = vec![0.3; unit.param_len()];
        assert!(unit.sparsity_error(&off) > 0.05, "{}", spec.name);
        let nan: Vec<f64> = vec![f64::NAN; unit.param_len()];
        assert!(unit.sparsity_error(&nan).is_nan(), "{}", spec.name);
    }
}

#[test]
fn penalties_have_the_gradient_of_their_value() {
    for spec in module::list::<f64>() {
        let unit = build(&spec, 3, 2);
        let p: Vec<f64> = (0..unit.param_len()).map(|k| 0.13 + 0.071 * k as f64).map(|v| v % 0.97).collect();
        let mut dp = vec![0.0; p.len()];
        unit.penalty(&p, 1.7, &mut dp);
        for k in 0..p.len() {
            let at = |h: f64| {
                let mut p = p.clone();
                p[k] += h;
                unit.penalty(&p, 1.7, &mut vec![0.0; p.len()])
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((difference - dp[k]).abs() < 1e-6, "{} {k}: {difference} {}", spec.name, dp[k]);
        }
    }
}

/// Files beside those of the units: the list, what units are made of, and `nac`, the weights that four units share.
const NO_UNITS: [&str; 8] = ["mod", "dispatch", "nac", "pass", "shape", "spec", "start", "unit"];

/// A unit's file that is not in the list would never be built or tested.
#[test]
fn every_file_of_a_unit_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/module");
    let names: Vec<&str> = module::list::<f32>().iter().map(|spec| spec.name).collect();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let unit = file.file_stem().unwrap().to_str().unwrap().replace('_', "-");
        let listed = names.iter().any(|name| *name == unit || name.starts_with(&format!("{unit}-")));
        assert!(listed || NO_UNITS.contains(&unit.as_str()), "{unit} is not listed");
    }
}

//! Every listed module keeps the laws of `nalm::laws`; and what holds for particular ones. A new module is tested by being listed.

use nalm::batch::{BatchLayout, to_lanes};
use nalm::denoiser::DENOISERS;
use nalm::lane::flat;
use nalm::laws;
use nalm::module::{self, Build, Dispatch, Pass, Shape, Spec};
use nalm::noise::NOISES;
use nalm::rng::{Purpose, Rng};
use nalm::{Compiled, Denoiser, Error, Nau, Network, Nmu, Noise, Options, Real, Recurrent, Snmu, gradcheck};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The usual shape, the smallest one, and larger ones.
const SHAPES: [(usize, usize); 4] = [(2, 1), (1, 1), (3, 2), (5, 3)];

const TOLERANCE: f64 = 1e-6;

fn build<R: Real>(spec: &Spec<R>, inputs: usize, outputs: usize) -> Box<dyn Dispatch<R>> {
    (spec.build)(Shape::new(inputs, outputs).unwrap(), &Options::new()).unwrap()
}

fn alone<R: Real>(spec: &Spec<R>, inputs: usize, outputs: usize) -> Network<R> {
    Network::new(vec![build(spec, inputs, outputs)]).unwrap()
}

fn inputs<R: Real>(rows: usize, features: usize, low: f64, high: f64) -> Vec<R> {
    let mut rng = Rng::fast("inputs", Purpose::Data);
    (0..rows * features).map(|_| R::of(rng.uniform(low, high))).collect()
}

#[test]
fn every_listed_module_keeps_the_laws() {
    let pairs: Vec<_> = module::list::<f32>().into_iter().zip(module::list::<f64>()).collect();
    let next = AtomicUsize::new(0);
    let broken = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((single, double)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = laws::check(single, double) {
                        broken.lock().unwrap().push(error.to_string());
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Modules may refuse shapes, and the laws then leave these out; the listed ones refuse none.
#[test]
fn every_listed_module_can_have_every_shape() {
    for spec in module::list::<f32>() {
        for (inputs, outputs) in SHAPES {
            assert_eq!(build(&spec, inputs, outputs).shape(), Shape::new(inputs, outputs).unwrap(), "{}", spec.name);
        }
    }
}

#[test]
fn a_recurrence_keeps_the_laws() {
    fn spec<R: Compiled>() -> Spec<R> {
        let build: Build<R> = |shape, _| {
            if shape.outputs > 1 {
                return Err(Error::Shape { what: "states of a product".into(), got: shape.outputs, want: 1 });
            }
            Ok(Box::new(Recurrent::new(Box::new(Snmu::new(2, 1)?), shape.inputs, 1.0)?))
        };
        Spec { name: "recurrent", claims: &[], options: &[], build, ..module::find("snmu").unwrap() }
    }
    laws::check(&spec(), &spec()).unwrap();
}

#[test]
fn names_are_unique_and_found() {
    let list = module::list::<f32>();
    for spec in &list {
        assert_eq!(list.iter().filter(|other| other.name == spec.name).count(), 1, "{}", spec.name);
        assert_eq!(module::find::<f32>(spec.name).unwrap().name, spec.name);
    }
    assert!(module::find::<f32>("nmuu").err().unwrap().to_string().contains("did you mean 'nmu'"));
}

#[test]
fn gradients_agree_for_every_noise_with_every_denoiser() {
    for noise in NOISES {
        for denoiser in DENOISERS {
            for (inputs, outputs) in SHAPES {
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
    let every_state = Recurrent::every_state(Box::new(Snmu::new(3, 2).unwrap()), 4, 1.0).unwrap();
    let mixed: Vec<Box<dyn Dispatch<f64>>> = vec![
        Box::new(Recurrent::new(Box::new(Nau::new(3, 2).unwrap()), 3, 0.0).unwrap()),
        Box::new(Nmu::new(2, 2).unwrap()),
    ];
    for network in [
        Network::new(deep).unwrap(),
        Network::single(product),
        Network::single(two_states),
        Network::single(every_state),
        Network::new(mixed).unwrap(),
    ] {
        let check = gradcheck::check_many(&network, true, 10);
        assert!(check.kinks * 10 <= check.compared, "{}: {check:?}", network.name());
        assert!(check.worst_relative_error <= TOLERANCE, "{}: {check:?}", network.name());
    }
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
        let noiseless = network.forward(&p, &x, &mut work, Pass::Eval).to_vec();
        let mut rng = Rng::fast("noise", Purpose::Noise);
        let noisy = network.forward(&p, &x, &mut work, Pass::Train(&mut rng)).to_vec();
        let has_noise = spec.name.contains("snmu") || spec.name == "stg-nmu";
        assert_eq!(has_noise, noiseless != noisy, "{}", spec.name);
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
    let narrow = |inputs, outputs, steps| {
        let cell = Box::new(Nmu::new(inputs, outputs).unwrap());
        Recurrent::<f32>::new(cell, steps, 1.0).map(|_| ()).unwrap_err().to_string()
    };
    assert!(narrow(1, 1, 3).contains("got 1, but 2 is needed"), "{}", narrow(1, 1, 3));
    assert!(narrow(3, 3, 3).contains("got 3, but 4 is needed"), "{}", narrow(3, 3, 3));
    assert_eq!(narrow(2, 1, 0), "number of recurrent steps is 0; it must be at least 1");
    let nmu = Network::single(Nmu::new(2, 1).unwrap());
    assert!(nmu.predict(&[1.0], &[1.0, 2.0]).is_err());
    assert!(nmu.predict(&[1.0, 1.0], &[1.0, 2.0, 3.0]).is_err());
    assert!(nmu.predict(&[1.0, 1.0], &[]).unwrap().is_empty());
}

#[test]
fn sparsity_errors_are_positive_away_from_gold() {
    for spec in module::list::<f64>() {
        let unit = build(&spec, 2, 1);
        let off: Vec<f64> = vec![0.3; unit.param_len()];
        let baseline = ["linear", "mlp", "fc", "mul"].contains(&spec.name);
        assert_eq!(unit.sparsity_error(&off).is_none(), baseline, "{}", spec.name);
        assert!(unit.sparsity_error(&off).is_none_or(|error| error > 0.05), "{}", spec.name);
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

/// The page of a type shows what it computes.
#[test]
fn every_type_of_a_unit_has_its_formula_in_its_documentation() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/module");
    let mut found = 0;
    for spec in module::list::<f32>() {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{}.rs", spec.name.replace('-', "_")))) else {
            continue;
        };
        if let Some((before, _)) = text.split_once("pub struct") {
            assert!(before.contains(&format!("/// {}\n", spec.formula)), "{}", spec.name);
            found += 1;
        }
    }
    assert!(found >= 13, "{found}");
}

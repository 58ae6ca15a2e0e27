//! Laws of second-order fits: the Jacobian of every listed module, closed forms, rounding.

#![cfg(feature = "second-order")]

use nalm::batch::{Batch, BatchLayout, to_lanes};
use nalm::denoiser::DENOISERS;
use nalm::module::{self, Pass};
use nalm::noise::NOISES;
use nalm::rng::{Purpose, Rng};
use nalm::second_order::{Jacobian, LevenbergMarquardt, Settings, Step, TrainingSchedule, discretise, follow};
use nalm::{Config, Dispatch, Linear, Nau, Network, Nmu, Options, Real, Recurrent, Shape, SingleModule, Snmu};
use proptest::prelude::*;

/// Every listed module by itself, sNMUs with every noise and denoiser, and stacks.
fn networks() -> Vec<Network<f64>> {
    let mut all: Vec<Network<f64>> = Vec::new();
    for spec in module::list::<f64>() {
        for (inputs, outputs) in [(2, 1), (3, 2)] {
            let shape = Shape::new(inputs, outputs).unwrap();
            let unit = (spec.build)(shape, &Options::new().with("hidden", 5usize)).unwrap();
            all.push(Network::new(vec![unit]).unwrap());
        }
    }
    for noise in NOISES {
        for denoiser in DENOISERS {
            all.push(Network::single(Snmu::with(2, 1, noise.example, denoiser.denoiser).unwrap()));
        }
    }
    let deep: Vec<Box<dyn Dispatch<f64>>> = vec![
        Box::new(Nau::new(3, 2).unwrap()),
        Box::new(Snmu::new(2, 2).unwrap()),
        Box::new(Linear::new(2, 1).unwrap()),
    ];
    all.push(Network::new(deep).unwrap());
    all.push(Network::single(Recurrent::new(Box::new(Snmu::new(2, 1).unwrap()), 3, 1.0).unwrap()));
    all
}

fn batch<R: Real>(inputs: usize, outputs: usize, rows: usize, low: f64, high: f64) -> Batch<R> {
    let mut rng = Rng::fast("second order", Purpose::Data);
    let at = BatchLayout::new(rows).unwrap();
    let mut draw = |n: usize| (0..rows * n).map(|_| R::of(rng.uniform(low, high))).collect::<Vec<R>>();
    Batch { x: to_lanes(&draw(inputs), at).unwrap(), t: to_lanes(&draw(outputs), at).unwrap(), at }
}

fn initial<R: Real>(network: &Network<R>) -> Vec<R> {
    let mut p = vec![R::ZERO; network.param_len()];
    network.init(&mut p, &mut Rng::fast("init", Purpose::Init));
    p
}

#[test]
fn noiseless_passes_are_evaluations_even_after_noisy_ones() {
    for network in networks() {
        let Shape { inputs, outputs, .. } = network.shape();
        let (p, data) = (initial(&network), batch::<f64>(inputs, outputs, 21, 0.5, 2.0));
        let mut work = network.workspace(data.at);
        let want = network.forward(&p, &data.x, &mut work, Pass::Eval).to_vec();
        network.forward(&p, &data.x, &mut work, Pass::Train(&mut Rng::fast("noise", Purpose::Noise)));
        assert_eq!(network.forward(&p, &data.x, &mut work, Pass::Noiseless), want, "{}", network.name());
    }
}

#[test]
fn jacobians_agree_with_central_differences() {
    for network in networks() {
        let Shape { inputs, outputs, .. } = network.shape();
        let (p, data) = (initial(&network), batch::<f64>(inputs, outputs, 19, 0.5, 2.0));
        let mut jacobian = Jacobian::new(&network, data.at).unwrap();
        let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
        jacobian.each_row(&network, &p, &data, |r, g| found.push((r, g.to_vec()))).unwrap();
        assert_eq!(found.len(), 19 * outputs);
        let mut work = network.workspace(data.at);
        let mut outputs_at = |p: &[f64]| -> Vec<f64> {
            let y = network.forward(p, &data.x, &mut work, Pass::Eval).to_vec();
            nalm::batch::from_lanes(&y, data.at)
        };
        let (y, t) = (outputs_at(&p), nalm::batch::from_lanes(&data.t, data.at));
        for (k, (residual, _)) in found.iter().enumerate() {
            assert!((residual - (y[k] - t[k])).abs() < 1e-12, "{}", network.name());
        }
        let largest = found.iter().flat_map(|(_, g)| g).fold(1e-3, |m: f64, g| m.max(g.abs()));
        for i in 0..p.len() {
            let mut shifted = p.clone();
            let h = 1e-5;
            shifted[i] = p[i] + h;
            let up = outputs_at(&shifted);
            shifted[i] = p[i] - h;
            let down = outputs_at(&shifted);
            for (k, (_, g)) in found.iter().enumerate() {
                let difference = (up[k] - down[k]) / (2.0 * h);
                assert!(
                    (difference - g[i]).abs() < 1e-6 * largest,
                    "{} {i} {k}: {difference} {}",
                    network.name(),
                    g[i]
                );
            }
        }
    }
}

#[test]
fn every_listed_module_has_a_twin_over_f64() {
    for spec in module::list::<f32>() {
        let unit = (spec.build)(Shape::new(3, 2).unwrap(), &Options::new().with("hidden", 5usize)).unwrap();
        let narrow = Network::new(vec![unit]).unwrap();
        let wide = narrow.as_f64().unwrap();
        assert_eq!((wide.name(), wide.param_len()), (narrow.name(), narrow.param_len()));
        let p = initial(&narrow);
        let x: Vec<f32> = (0..9).map(|k| 0.7 + 0.1 * k as f32).collect();
        let as_f64 = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let (a, b) = (narrow.predict(&p, &x).unwrap(), wide.predict(&as_f64(&p), &as_f64(&x)).unwrap());
        for (a, b) in a.iter().zip(b) {
            assert!((f64::from(*a) - b).abs() < 1e-5 * b.abs().max(1.0), "{}: {a} {b}", spec.name);
        }
    }
}

#[derive(Clone, Debug)]
struct NoTwin(Nmu);

impl module::Module<f32> for NoTwin {
    fn name(&self) -> &'static str {
        "no-twin"
    }
    fn shape(&self) -> Shape {
        module::Module::<f32>::shape(&self.0)
    }
    fn param_len(&self) -> usize {
        module::Module::<f32>::param_len(&self.0)
    }
    fn tape_len(&self, at: BatchLayout) -> usize {
        module::Module::<f32>::tape_len(&self.0, at)
    }
    fn init(&self, p: &mut [f32], rng: &mut Rng) {
        self.0.init(p, rng);
    }
    fn forward(
        &self,
        p: &[f32],
        x: &[nalm::Lane<f32>],
        y: &mut [nalm::Lane<f32>],
        tape: &mut [nalm::Lane<f32>],
        at: BatchLayout,
        pass: Pass<'_>,
    ) {
        self.0.forward(p, x, y, tape, at, pass);
    }
    fn backward(
        &self,
        p: &[f32],
        x: &[nalm::Lane<f32>],
        dy: &[nalm::Lane<f32>],
        dx: Option<&mut [nalm::Lane<f32>]>,
        dp: &mut [f32],
        tape: &mut [nalm::Lane<f32>],
        at: BatchLayout,
    ) {
        self.0.backward(p, x, dy, dx, dp, tape, at);
    }
}

#[test]
fn a_module_without_a_twin_is_an_error_that_says_what_to_do() {
    let network = Network::single(NoTwin(Nmu::new(2, 1).unwrap()));
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap();
    let config = Config::published(&network);
    let error = follow(&network, &task, 0, &config, &TrainingSchedule::default(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("no-twin") && error.to_string().contains("Module::as_f64"), "{error}");
}

/// Without damping to speak of, the first step of a linear problem is its solution.
#[test]
fn a_linear_fit_takes_one_step_to_the_normal_equations_solution() {
    let network = Network::<f64>::single(Linear::new(3, 2).unwrap());
    let mut data = batch::<f64>(3, 2, 50, -1.0, 1.0);
    let truth = [0.5, -1.5, 2.0, 3.0, 0.25, -0.75, 0.1, -0.2];
    let mut work = network.workspace(data.at);
    data.t.copy_from_slice(network.forward(&truth, &data.x, &mut work, Pass::Eval));
    let settings = Settings { damping: 1e-12, ..Settings::default() };
    let mut fit = LevenbergMarquardt::new(&network, data, initial(&network), settings).unwrap();
    assert_eq!(fit.iterate(), Step::Accepted);
    for (got, want) in fit.params().iter().zip(truth) {
        assert!((got - want).abs() < 1e-9, "{got} {want}");
    }
    assert!(fit.relative_loss() < 1e-18);
}

/// Beyond 512 parameters, samples are gathered in larger blocks.
#[test]
fn a_fit_of_many_parameters_takes_one_step_too() {
    let network = Network::<f64>::single(Linear::new(599, 1).unwrap());
    let mut data = batch::<f64>(599, 1, 1_333, -1.0, 1.0);
    let truth: Vec<f64> = (0..600).map(|k| f64::from(k % 7) - 3.0).collect();
    let mut work = network.workspace(data.at);
    data.t.copy_from_slice(network.forward(&truth, &data.x, &mut work, Pass::Eval));
    let settings = Settings { damping: 1e-12, ..Settings::default() };
    let mut fit = LevenbergMarquardt::new(&network, data, initial(&network), settings).unwrap();
    assert_eq!(fit.iterate(), Step::Accepted);
    let worst = fit.params().iter().zip(&truth).map(|(got, want)| (got - want).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-8, "{worst}");
}

#[test]
fn fewer_samples_than_parameters_are_fitted_exactly() {
    let network = Network::<f64>::single(Linear::new(40, 1).unwrap());
    let data = batch::<f64>(40, 1, 21, -1.0, 1.0);
    let mut fit = LevenbergMarquardt::new(&network, data, initial(&network), Settings::default()).unwrap();
    (0..30).for_each(|_| _ = fit.iterate());
    assert!(fit.relative_loss() < 1e-12, "{}", fit.relative_loss());
    assert!(fit.params().iter().all(|w| w.is_finite()));
}

/// The order in which samples are added up is part of the numerics: from 512 parameters on, 64 samples at a time.
#[test]
fn fits_have_known_bits() {
    let bits = |inputs: usize| {
        let network = Network::<f64>::single(Linear::new(inputs, 1).unwrap());
        let data = batch::<f64>(inputs, 1, 300, -1.0, 1.0);
        let mut fit = LevenbergMarquardt::new(&network, data, initial(&network), Settings::default()).unwrap();
        fit.iterate();
        fit.params().iter().fold(0u64, |hash, w| hash.rotate_left(5) ^ w.to_bits())
    };
    assert_eq!([20, 600].map(bits), [0x9ae5_f3c6_941a_688f, 0x6975_7abe_a6b5_1bae]);
}

#[test]
fn targets_that_are_all_0_are_fitted_like_others() {
    let network = Network::<f64>::single(Nau::new(3, 1).unwrap());
    let mut data = batch::<f64>(3, 1, 40, -1.0, 1.0);
    data.t.fill(nalm::Lane::ZERO);
    let mut fit = LevenbergMarquardt::new(&network, data, initial(&network), Settings::default()).unwrap();
    assert!(fit.relative_loss() > 0.0 && fit.relative_loss() == fit.loss());
    (0..20).for_each(|_| _ = fit.iterate());
    assert!(fit.relative_loss() < 1e-20, "{}", fit.relative_loss());
}

/// The sum of squares never grows, and a fit that cannot improve says so.
#[test]
fn fits_descend_until_they_are_stuck() {
    let network: Network<f64> =
        Network::new(vec![Box::new(Nau::new(4, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())]).unwrap();
    let mut data = batch::<f64>(4, 1, 64, -1.0, 1.0);
    let mut fit = LevenbergMarquardt::new(&network, data.clone(), initial(&network), Settings::default()).unwrap();
    let mut cost = fit.cost();
    for _ in 0..100 {
        let step = fit.iterate();
        assert_eq!(step == Step::Accepted, fit.cost() < cost);
        cost = fit.cost();
    }
    let truth = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 1.0, 1.0];
    let mut work = network.workspace(data.at);
    data.t.copy_from_slice(network.forward(&truth, &data.x, &mut work, Pass::Eval));
    let mut fit = LevenbergMarquardt::new(&network, data, truth.to_vec(), Settings::default()).unwrap();
    let steps: Vec<Step> = (0..60).map(|_| fit.iterate()).collect();
    assert!(!steps.contains(&Step::Accepted) && steps.contains(&Step::Stuck), "{steps:?}");
    assert_eq!(fit.params(), truth);
}

#[test]
fn nothing_to_fit_and_misfits_are_named() {
    let network = Network::<f64>::single(Nmu::new(2, 1).unwrap());
    let fit =
        |data, params, settings| LevenbergMarquardt::new(&network, data, params, settings).unwrap_err().to_string();
    let data = || batch::<f64>(2, 1, 20, 0.0, 1.0);
    assert!(fit(data(), vec![0.5], Settings::default()).contains("got 1, but 2 is needed"));
    assert!(fit(batch(3, 1, 20, 0.0, 1.0), vec![0.5; 2], Settings::default()).contains("inputs of the samples"));
    let bad = Settings { pull: f64::NAN, ..Settings::default() };
    assert!(fit(data(), vec![0.5; 2], bad).contains("pull to discrete weights is NaN"));
    let bad = Settings { damping: 0.0, ..Settings::default() };
    assert!(fit(data(), vec![0.5; 2], bad).contains("damping of the first step is 0"));
    let mul = Network::<f64>::single(nalm::Product::new(2, 1).unwrap());
    let error = LevenbergMarquardt::new(&mul, data(), Vec::new(), Settings::default()).unwrap_err();
    assert!(error.to_string().contains("number of parameters to fit is 0"));
    let error = discretise(&network, &mut [0.5], &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("parameters to round"), "{error}");
    let other = batch::<f64>(3, 1, 20, 0.0, 1.0);
    let mut jacobian = Jacobian::new(&network, other.at).unwrap();
    let error = jacobian.each_row(&network, &[0.5; 2], &other, |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("inputs of the samples"), "{error}");
    let wide = Network::<f64>::single(Linear::new(16_384, 1).unwrap());
    let error = LevenbergMarquardt::new(&wide, batch(16_384, 1, 1, 0.0, 1.0), vec![0.0; 16_385], Settings::default());
    assert!(error.unwrap_err().to_string().contains("at most 16,384"));
}

proptest! {
    /// The scale between two sums is free, small errors do not matter, and other weights are left alone.
    #[test]
    fn rounding_sees_through_the_free_scale(
        weights in prop::collection::vec(-1i8..=1, 12),
        scale in prop::sample::select(vec![0.01, 0.4, 1.0, 3.0, 500.0]),
        off in prop::collection::vec(-0.05..0.05f64, 12),
        free in -3.0..3.0f64,
    ) {
        prop_assume!(weights[..6].iter().any(|w| *w != 0) && weights[6..].iter().any(|w| *w != 0));
        let layers: Vec<Box<dyn Dispatch<f64>>> = vec![
            Box::new(Nau::new(6, 2).unwrap()),
            Box::new(Nmu::new(2, 1).unwrap()),
            Box::new(Linear::new(1, 1).unwrap()),
        ];
        let network = Network::new(layers).unwrap();
        let mut p: Vec<f64> = weights.iter().zip(&off).map(|(&w, off)| f64::from(w) + off).collect();
        p[..6].iter_mut().for_each(|w| *w *= scale);
        p[6..].iter_mut().for_each(|w| *w /= scale);
        p.extend([0.9, 1.2, free, free]);
        discretise(&network, &mut p, &mut Vec::new()).unwrap();
        prop_assert!(p[..12].iter().zip(&weights).all(|(&p, &w)| p == f64::from(w)), "{p:?}");
        prop_assert_eq!(&p[12..], &[1.0, 1.0, free, free][..]);
    }
}

#[test]
fn a_sum_that_feeds_no_product_keeps_its_scale() {
    let network = Network::<f64>::single(Nau::new(3, 1).unwrap());
    let mut p = [0.4, 0.3, -0.6];
    discretise(&network, &mut p, &mut Vec::new()).unwrap();
    assert_eq!(p, [0.0, 0.0, -1.0]);
}

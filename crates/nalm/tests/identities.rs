//! Equations about the units: the reweighting identity of the sNMU, the corrected gradients of a NAU in front of it, and
//! the appendix table on uninformative losses.

use nalm::batch::{BatchLayout, to_lanes};
use nalm::lane::flat;
use nalm::module::{Dispatch, Pass};
use nalm::rng::{Purpose, Rng};
use nalm::{Denoiser, Lane, Nau, Network, Nmu, Noise, Snmu};
use proptest::prelude::*;

fn constant(inputs: usize, n: f64) -> Network<f64> {
    Network::single(Snmu::with(inputs, 1, Noise::Constant(n), Denoiser::Paper).unwrap())
}

/// The output in training and the gradients of its sum with respect to parameters and inputs.
fn pass(network: &Network<f64>, p: &[f64], row: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let at = BatchLayout::new(1).unwrap();
    let x = to_lanes(row, at).unwrap();
    let mut work = network.workspace(at);
    let mut rng = Rng::fast("identities", Purpose::Noise);
    let y = network.forward(p, &x, &mut work, Pass::Train(&mut rng))[0][0];
    work.output_gradient()[0] = Lane::ZERO;
    work.output_gradient()[0][0] = 1.0;
    let (mut dp, mut dx) = (vec![0.0; p.len()], vec![Lane::ZERO; row.len()]);
    network.backward(p, &x, &mut work, Some(&mut dx), &mut dp);
    (y, dp, dx.iter().map(|lane| lane[0]).collect())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn case() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, f64)> {
    (1usize..6).prop_flat_map(|inputs| {
        let x = prop::collection::vec(-5.0..5.0f64, inputs);
        let w = prop::collection::vec(0.0..=1.0f64, inputs);
        (x, w, 0.05..20.0f64)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// sNMU(x; w, n) = NMU(x; n w / (1 + (n - 1) w)), with the chain factor n / (1 + (n - 1) w)^2.
    #[test]
    fn the_snmu_is_an_nmu_with_other_weights((x, w, n) in case()) {
        let moved: Vec<f64> = w.iter().map(|w| n * w / (1.0 + (n - 1.0) * w)).collect();
        let nmu = Network::single(Nmu::new(x.len(), 1).unwrap());
        let (y, dw, dx) = pass(&constant(x.len(), n), &w, &x);
        let (y_moved, dw_moved, dx_moved) = pass(&nmu, &moved, &x);
        prop_assert!(close(y, y_moved), "{y} {y_moved}");
        for k in 0..x.len() {
            let factor = n / (1.0 + (n - 1.0) * w[k]).powi(2);
            prop_assert!(close(dw[k], factor * dw_moved[k]), "{} {}", dw[k], factor * dw_moved[k]);
            prop_assert!(close(dx[k], dx_moved[k]), "{} {}", dx[k], dx_moved[k]);
        }
    }

    /// The factor on the weight's gradient lies in [1/n, n] and is 1/n at w = 1: noise does not always amplify.
    #[test]
    fn noise_scales_gradients_between_one_over_n_and_n(w in 0.0..=1.0f64, n in 1.0..20.0f64) {
        let noiseless = Network::single(Nmu::new(1, 1).unwrap());
        let factor = pass(&constant(1, n), &[w], &[3.0]).1[0] / pass(&noiseless, &[w], &[3.0]).1[0];
        prop_assert!(factor >= 1.0 / n - 1e-12 && factor <= n + 1e-12);
        let (_, at_one, _) = pass(&constant(1, n), &[1.0], &[3.0]);
        prop_assert!(close(at_one[0], (3.0 - 1.0) / n));
        let (_, at_zero, _) = pass(&constant(1, n), &[0.0], &[3.0]);
        prop_assert!(close(at_zero[0], (3.0 - 1.0) * n));
    }

    /// For n > 1 weights move towards selection, for n < 1 away from it; 0 and 1 stay. Read from the unit itself: with
    /// x = 0 one factor is 1 minus the weight that acts.
    #[test]
    fn noise_is_a_monotone_reweighting(w in 0.01..0.99f64, n in 0.05..20.0f64) {
        let acting = |w: f64| 1.0 - pass(&constant(1, n), &[w], &[0.0]).0;
        prop_assert!((acting(w) - w) * (n - 1.0) >= -1e-12);
        prop_assert!(acting(w) < acting(w + 0.005));
        prop_assert!(close(acting(0.0), 0.0) && close(acting(1.0), 1.0));
    }

    /// The corrected gradients of a NAU in front of an NMU or sNMU, written with the indices that the printed appendix
    /// has wrong: A[i, l] meets input i and everything else at l.
    #[test]
    fn gradients_of_a_stack_are_the_corrected_ones(
        x in prop::collection::vec(-3.0..3.0f64, 3),
        a in prop::collection::vec(-1.0..1.0f64, 6),
        w in prop::collection::vec(0.0..=1.0f64, 2),
        n in 1.0..6.0f64,
        noisy in any::<bool>(),
    ) {
        let n = if noisy { n } else { 1.0 };
        let top: Box<dyn Dispatch<f64>> = if noisy {
            Box::new(Snmu::with(2, 1, Noise::Constant(n), Denoiser::Paper).unwrap())
        } else {
            Box::new(Nmu::new(2, 1).unwrap())
        };
        let network = Network::new(vec![Box::new(Nau::new(3, 2).unwrap()), top]).unwrap();
        let (y, gradient, _) = pass(&network, &[&a[..], &w[..]].concat(), &x);
        let z: Vec<f64> = (0..2).map(|l| (0..3).map(|i| x[i] * a[3 * l + i]).sum()).collect();
        let d: Vec<f64> = (0..2).map(|l| n * w[l] + 1.0 - w[l]).collect();
        let f: Vec<f64> = (0..2).map(|l| (n * w[l] * z[l] + 1.0 - w[l]) / d[l]).collect();
        prop_assert!(close(y, f[0] * f[1]));
        for l in 0..2 {
            let others = f[1 - l];
            for i in 0..3 {
                prop_assert!(close(gradient[3 * l + i], n * w[l] / d[l] * x[i] * others));
            }
            prop_assert!(close(gradient[6 + l], n * (z[l] - 1.0) / (d[l] * d[l]) * others));
        }
    }
}

/// Once the weights are 1, noise has no effect on what reaches the layer below.
#[test]
fn noise_is_invisible_upstream_at_weight_one() {
    let (_, _, noiseless) = pass(&Network::single(Nmu::new(2, 1).unwrap()), &[1.0, 1.0], &[2.0, 3.0]);
    let (_, _, noisy) = pass(&constant(2, 4.0), &[1.0, 1.0], &[2.0, 3.0]);
    assert_eq!(noiseless, [3.0, 2.0]);
    assert!(noiseless.iter().zip(&noisy).all(|(a, b)| close(*a, *b)), "{noisy:?}");
}

/// Two wrong solutions: on wide inputs the second one has the larger error, on narrow inputs the smaller one, although its
/// weights are further from the right ones.
#[test]
fn the_mse_is_uninformative_on_narrow_inputs() {
    let stack: Vec<Box<dyn Dispatch<f64>>> = vec![Box::new(Nau::new(4, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())];
    let network = Network::new(stack).unwrap();
    let predict = |first: [f64; 4], x: [f64; 4]| {
        let p = [&first[..], &[0.0, 0.0, 1.0, 1.0], &[1.0, 1.0]].concat();
        network.predict(&p, &x).unwrap()[0]
    };
    let (gold, case_1, case_2) = ([0.0, 1.0, 1.0, 0.0], [0.0, 0.9, 1.0, 0.0], [0.0, 0.0, 1.0, 0.9]);
    let table = [
        ([1.0, 2.0, 3.0, 4.0], [35.0, 33.6, 46.2], [1.4, 11.2]),
        ([1.11, 1.12, 1.13, 1.14], [5.1075, 4.85326, 4.89412], [0.25424, 0.21338]),
    ];
    for (x, outputs, errors) in table {
        let y = [gold, case_1, case_2].map(|first| predict(first, x));
        for (y, want) in y.iter().zip(outputs) {
            assert!((y - want).abs() < 1e-9, "{y} {want}");
        }
        for (y, error) in y[1..].iter().zip(errors) {
            assert!(((y - outputs[0]).abs() - error).abs() < 1e-9);
        }
    }
}

/// Evaluation ignores the noise altogether.
#[test]
fn an_snmu_in_evaluation_is_an_nmu_to_the_bit() {
    let at = BatchLayout::new(33).unwrap();
    let rows: Vec<f32> = (0..99).map(|k| (k as f32).sin() * 3.0).collect();
    let x = to_lanes(&rows, at).unwrap();
    let p = [0.3, 0.7, 0.99];
    let (nmu, snmu) = (Network::single(Nmu::new(3, 1).unwrap()), Network::single(Snmu::new(3, 1).unwrap()));
    let a = nmu.forward(&p, &x, &mut nmu.workspace(at), Pass::Eval).to_vec();
    let b = snmu.forward(&p, &x, &mut snmu.workspace(at), Pass::Eval).to_vec();
    assert!(flat(&a).iter().zip(flat(&b)).all(|(a, b)| a.to_bits() == b.to_bits()));
}

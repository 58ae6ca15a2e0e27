//! Outputs of every unit at ordinary weights and inputs of both signs, against numbers computed with NumPy in double
//! precision straight from the papers' equations: powers of the golden ratio for the G-NALU, complex powers for the NPU.
//!
//! The gradient checks compare a unit with itself; these compare it with its formula.

use nalm::module::{self, Options, Shape};
use nalm::{Denoiser, Network, Noise, Pass, Rng, Snmu};

const INPUTS: [f64; 6] = [1.5, -0.7, -2.0, -3.0, 0.3, 4.0];

/// what, mhat and, for the NALUs, the gate.
const NAC: [f64; 6] = [0.8, -0.6, 0.4, 1.1, 0.2, -0.5];

#[test]
fn outputs_are_those_of_the_equations() {
    let inalu = [0.8, -0.6, 0.4, 1.1, 0.9, 0.3, -0.2, 0.7, 0.35];
    let npu = [1.3, -0.4, 0.25, 0.6, 0.9, 0.5];
    let cases: [(&str, &[f64], [f64; 3]); 12] = [
        ("nau", &[0.5, -0.25], [0.925, -0.25, -0.85]),
        ("nmu", &[0.4, 0.7], [-0.228, 0.36, 2.232]),
        ("nac-add", &NAC[..4], [0.8783747357224632, 0.41367935409669776, -1.492442273316946]),
        ("nac-mul", &NAC[..4], [1.356498559346089, 0.8461155818193774, 0.35444033547024234]),
        ("nalu", &NAC, [1.0423662047719082, 0.5216759319450054, 0.12238349444066238]),
        ("g-nalu", &NAC, [0.7338830805273744, 0.43158264976097416, 0.25837927630378565]),
        ("inalu", &inalu, [0.7836851940974934, 0.38149463812884454, -0.5082612205841073]),
        ("npu", &npu, [0.5434888127241171, -0.2972448348376415, 0.18175219446058913]),
        ("real-npu", &[1.3, -0.4, 0.9, 0.5], [1.3994858340919003, -1.7379449092852233, 0.19032086259177494]),
        ("fc", &[0.4, 0.7], [-0.294, 1.68, 0.336]),
        ("gated-nmu", &[0.5, -0.25, 0.4, 0.7, 0.3, 0.2], [0.4371487060852494, 0.2188001179344008, 0.04720048815121869]),
        ("mlp", &[1.0, -2.0, 0.5, 0.25, 0.1, -0.2, 0.5, -1.5, 0.3], [1.2375, 2.35, -1.125]),
    ];
    for (name, params, want) in cases {
        let spec = module::find::<f64>(name).unwrap();
        let unit = (spec.build)(Shape::new(2, 1).unwrap(), &Options::new().with("hidden", 2usize)).unwrap();
        let y = Network::new(vec![unit]).unwrap().predict(params, &INPUTS).unwrap();
        for (y, want) in y.iter().zip(want) {
            assert!((y - want).abs() < 1e-12, "{name}: {y} instead of {want}");
        }
    }
}

/// The clipped exponent: e^20, not e^(2 ln 1e6), times the sign.
#[test]
fn the_inalu_clips_its_exponent() {
    let inalu = Network::<f64>::single(nalm::Inalu::new(2, 1).unwrap());
    let product = [0.0, 0.0, 0.0, 0.0, 20.0, 20.0, 40.0, 40.0, -100.0];
    let y = inalu.predict(&product, &[1e6, -1e6]).unwrap();
    let e_20 = 485_165_195.409_790_3;
    assert!((y[0] / -e_20 - 1.0).abs() < 1e-9, "{}", y[0]);
}

/// x = (1.5, -0.7), w = (0.4, 0.7), n = 2.5 for both inputs: every denominator by hand.
#[test]
fn noisy_outputs_are_those_of_the_equations() {
    let numerator: f64 = (2.5 * 1.5 * 0.4 + 0.6) * (2.5 * -0.7 * 0.7 + 0.3);
    for (denoiser, denominator) in [
        (Denoiser::Paper, (2.5 * 0.4 + 0.6) * (2.5 * 0.7 + 0.3)),
        (Denoiser::Exponent, 2.5f64.powf(1.1)),
        (Denoiser::Noise, 6.25),
        (Denoiser::Weighted, 6.25 * 0.28),
        (Denoiser::None, 1.0),
    ] {
        let unit = Network::single(Snmu::with(2, 1, Noise::Constant(2.5), denoiser).unwrap());
        let at = nalm::BatchLayout::new(1).unwrap();
        let x = nalm::batch::to_lanes(&[1.5, -0.7], at).unwrap();
        let mut work = unit.workspace(at);
        let y = unit.forward(&[0.4, 0.7], &x, &mut work, Pass::Train(&mut Rng::torch(0)))[0][0];
        assert!((y - numerator / denominator).abs() < 1e-12, "{denoiser}: {y}");
    }
}

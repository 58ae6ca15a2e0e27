//! The same arguments give the same bits on every platform: short trainings of every listed module, in both number types and with both
//! streams, against values that were recorded once. `scripts/platforms.sh` runs this test on other processors, too.
//!
//! Whoever changes one of these values changes the bits of results, which raises `nalm::NUMERICS`.

use nalm::architecture::{self, Layer};
use nalm::noise::NOISES;
use nalm::{
    Arithmetic, Compiled, Config, Denoiser, Network, Operation, Options, Outcome, Shape, SingleModule, Snmu, Stream,
    Task, Uniform, module, train,
};

/// What was trained, and the hash over all its outcomes.
const RECORDED: &[(&str, u64)] = &[
    ("nau", 0x0c21_2de3_bdb1_1019),
    ("nmu", 0x8323_f576_1793_9222),
    ("snmu", 0xa6e3_3b54_3a03_1e76),
    ("snmu-exp", 0x4a8a_dc3d_63da_edb3),
    ("stg-nmu", 0x69f4_9be0_568e_e29b),
    ("nac-add", 0x691a_f169_1a44_0968),
    ("nac-mul", 0xa665_304b_c4bb_732c),
    ("nalu", 0x2a5e_2f97_69c9_8738),
    ("g-nalu", 0x3e2a_c674_1dee_6fef),
    ("inalu", 0xa59a_9127_ecf4_bb99),
    ("npu", 0x0c47_f302_c732_af83),
    ("real-npu", 0x3040_779a_e497_bc04),
    ("gated-nmu", 0x5102_df0a_0d31_b0d9),
    ("gated-snmu", 0xf529_8f2b_111f_9dea),
    ("linear", 0x5bfb_71f6_c3e1_430c),
    ("mlp", 0x57a6_be66_fd6f_03be),
    ("fc", 0x9adc_922d_0625_1a1a),
    ("mul", 0x6393_e36a_9487_4411),
    ("noise uniform", 0xa6e3_3b54_3a03_1e76),
    ("noise batch", 0x8fe0_1a58_a329_1f7f),
    ("noise batch-feature", 0xdee6_4cf0_3dd3_1cf3),
    ("noise batch-running", 0xfb24_d667_4b5e_f46a),
    ("noise constant", 0xdffb_e3b2_9ef5_dfed),
    ("noise two-point", 0x4806_e9ee_d0d0_14b1),
    ("noise log-uniform", 0x9e0b_17ca_d164_8155),
    ("noise shifted-gamma", 0x1782_06fa_fc00_8274),
    ("noise learnable", 0x7ee1_417d_3357_a9e2),
    ("stack", 0x997b_cfa0_5547_d3d2),
    ("recurrence", 0xb326_f074_fbfe_5742),
    ("second order", 0xdf61_ecf9_95c0_3d9d),
];

/// FNV-1a.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn whole(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn number(&mut self, number: f64) {
        // Sign and payload of a NaN differ between processors, and mean nothing.
        self.whole(if number.is_nan() { 0x7ff8 << 48 } else { number.to_bits() });
    }

    fn outcome<R: Compiled>(&mut self, outcome: &Outcome<R>) {
        outcome.params.iter().for_each(|parameter| self.number(parameter.to_f64()));
        for row in &outcome.rows {
            self.whole(row.step);
            [row.validation, row.test, row.sparsity].into_iter().for_each(|error| self.number(error));
        }
    }
}

/// Trains with both streams. The batch is no multiple of what is computed at a time, and the penalty grows on the way.
fn trainings<R: Compiled>(hash: &mut Hash, network: &Network<R>, task: &dyn Task<R>) {
    for stream in [Stream::Fast, Stream::Reference] {
        let mut config = Config::published(network).steps(300).ramp(100, 200).stream(stream);
        (config.batch, config.log_every) = (100, 100);
        hash.outcome(&train(network, task, 1, &config, &mut ()).unwrap());
    }
    hash.number(task.thresholds().simulated);
}

fn product() -> SingleModule {
    SingleModule::mul(-2.0, 2.0, 2.0, 6.0).unwrap()
}

fn sums() -> Arithmetic {
    let range = |low, high| Uniform::new(low, high).unwrap();
    Arithmetic::with_subsets(Operation::Mul, 24, 0..6, 3..9, range(1.1, 1.2), range(1.2, 6.0)).unwrap()
}

fn stack<R: Compiled>() -> Network<R> {
    let layers: Vec<Layer> = ["nau 24->2", "snmu"].iter().map(|text| text.parse().unwrap()).collect();
    architecture::stack(&layers, 24, &module::find).unwrap()
}

/// Modules and kinds of noise on the Single Module Task, a stack and a recurrence on the Arithmetic Dataset Task, in one number type.
fn lines<R: Compiled>(mut line: impl FnMut(String, &dyn Fn(&mut Hash))) {
    let (product, sums) = (product(), sums());
    for spec in module::list::<R>() {
        let unit = (spec.build)(Shape::new(2, 1).unwrap(), &Options::new()).unwrap();
        let network = Network::new(vec![unit]).unwrap();
        line(spec.name.into(), &|hash| trainings(hash, &network, &product));
    }
    for noise in NOISES {
        let network = Network::<R>::single(Snmu::with(2, 1, noise.example, Denoiser::Paper).unwrap());
        line(format!("noise {}", noise.name), &|hash| trainings(hash, &network, &product));
    }
    line("stack".into(), &|hash| trainings(hash, &stack::<R>(), &sums));
    let cell = Layer { module: "nau".into(), steps: Some(24), ..Layer::default() };
    let recurrence = architecture::stack::<R>(&[cell], 24, &module::find).unwrap();
    line("recurrence".into(), &|hash| trainings(hash, &recurrence, &sums));
}

fn recorded(name: &str) -> Option<u64> {
    RECORDED.iter().find(|(known, _)| *known == name).map(|(_, hash)| *hash)
}

#[test]
fn every_module_trains_to_the_recorded_bits() {
    let mut hashes: Vec<(String, Hash)> = Vec::new();
    lines::<f32>(|name, add| {
        let mut hash = Hash::default();
        add(&mut hash);
        hashes.push((name, hash));
    });
    let mut rest = hashes.iter_mut();
    lines::<f64>(|_, add| add(&mut rest.next().unwrap().1));
    let wrong = |(name, hash): &&(String, Hash)| recorded(name) != Some(hash.0);
    let text: String =
        hashes.iter().filter(wrong).map(|(name, hash)| format!("    (\"{name}\", {:#018x}),\n", hash.0)).collect();
    assert!(text.is_empty(), "these lines of RECORDED would have to be:\n{text}");
    let mut all = Hash::default();
    hashes.iter().for_each(|(_, hash)| all.whole(hash.0));
    println!("bits {:016x}: {} lines of both number types and streams", all.0, hashes.len());
}

/// Adam, then Levenberg-Marquardt.
#[cfg(feature = "second-order")]
#[test]
fn second_order_training_ends_in_the_recorded_bits() {
    use nalm::second_order::{Adam, Lm, Phase, TrainingSchedule, follow};
    fn add<R: Compiled>(hash: &mut Hash, schedule: &TrainingSchedule) {
        let network = stack::<R>();
        let config = Config::published(&network);
        hash.outcome(&follow(&network, &sums(), 0, &config, schedule, &mut ()).unwrap());
    }
    let phases = vec![
        Phase::Adam(Adam { steps: 1_000, ..Adam::default() }),
        Phase::Lm(Lm { iterations: 40, samples: 300, ..Lm::default() }),
    ];
    let schedule = TrainingSchedule { attempts: 1, phases, ..TrainingSchedule::default() };
    let mut hash = Hash::default();
    add::<f32>(&mut hash, &schedule);
    add::<f64>(&mut hash, &schedule);
    assert_eq!(Some(hash.0), recorded("second order"), "{:#018x}", hash.0);
    println!("bits {:016x}: second order", hash.0);
}

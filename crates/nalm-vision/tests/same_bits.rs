//! One training step of every task gives the same bits with every instruction set and on every platform: loss, activations, gradients and Adam's update
//! against values that were recorded once. `scripts/platforms.sh` runs this test on other processors, too.
//!
//! Whoever changes one of these values changes the bits of results, which raises `nalm_vision::NUMERICS`, or `SEQUENTIAL_NUMERICS`.

use nalm::InstructionSet;
use nalm_vision::product::{self, View};
use nalm_vision::{Mnist, Start, Tensor, sequential};
use std::path::Path;
use std::sync::Arc;

const SAMPLES: usize = 3;

/// FNV-1a over names and numbers.
fn hash(tensors: &[Tensor]) -> u64 {
    let bytes = |tensor: &Tensor| -> Vec<u8> {
        let numbers = tensor.data.iter().flat_map(|x| x.to_bits().to_le_bytes());
        tensor.name.bytes().chain(numbers).collect()
    };
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    tensors.iter().flat_map(bytes).fold(0xcbf2_9ce4_8422_2325, step)
}

#[test]
fn one_step_of_every_task() {
    let mnist =
        Arc::new(Mnist::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist")).expect("the digits"));
    let product = |view| {
        let config = product::Config { samples: 1, ..product::Config::published(view, "snmu", 2) };
        product::Run::new(config, Arc::clone(&mnist)).unwrap().trace(SAMPLES).unwrap()
    };
    let sequence = || {
        let config = sequential::Config::published("snmu", 0);
        sequential::Run::new(config, Arc::clone(&mnist)).unwrap().trace(SAMPLES).unwrap()
    };
    let halved = View::Isolated { halved: true };
    type Trace<'a> = &'a dyn Fn() -> Vec<Tensor>;
    let tasks: [(&str, u64, Trace<'_>); 4] = [
        ("isolated", 0xe8f6_a1d7_62be_c103, &|| product(View::Isolated { halved: false })),
        ("halved", 0x809d_c71c_a23b_11e8, &|| product(halved)),
        ("colour", 0xe308_4bcd_f6cb_26bb, &|| product(View::Colour { start: Start::Reset })),
        ("sequential", 0xdca9_ba88_ac73_0f92, &sequence),
    ];
    let mut wrong = Vec::new();
    for set in InstructionSet::available() {
        set.prefer();
        for (name, want, trace) in &tasks {
            let got = hash(&trace());
            println!("{} bits {got:016x}: {name}", set.name());
            if got != *want {
                wrong.push(format!("{name} with {}: {got:#018x}, not {want:#018x}", set.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! An order that follows from a key.

use nalm::rng::{Fast, Purpose};

/// All numbers below `n` in an order that follows from the key.
pub(crate) fn shuffled(n: usize, key: &str) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut rng = Fast::open(key, Purpose::Data);
    for k in (1..order.len()).rev() {
        order.swap(k, rng.below(k as u32 + 1) as usize);
    }
    order
}

//! Softmax and the expected value of the class number: z = sum p_k k.

use crate::vector::Scalar;

/// Writes the probabilities of one sample's logits and returns the expected class.
pub(crate) fn forward<R: Scalar>(logits: &[R], p: &mut [R]) -> R {
    let most = logits.iter().copied().fold(logits[0], |a, b| if b > a { b } else { a });
    let mut sum = R::ZERO;
    for (p, &x) in p.iter_mut().zip(logits) {
        *p = (x - most).exp();
        sum += *p;
    }
    let mut z = R::ZERO;
    for (k, p) in p.iter_mut().enumerate() {
        *p = *p / sum;
        z += *p * R::of(k as f64);
    }
    z
}

/// The gradient of the logits, from that of the expected class.
pub(crate) fn backward<R: Scalar>(p: &[R], z: R, dz: R, dlogits: &mut [R]) {
    for (k, (d, &p)) in dlogits.iter_mut().zip(p).enumerate() {
        *d = dz * p * (R::of(k as f64) - z);
    }
}

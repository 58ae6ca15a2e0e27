//! Sixteen numbers at a time with fused multiply-add, compiled for every instruction set of the core. The only place with `unsafe`.
//!
//! A fused multiply-add rounds once, so it is the same number on every machine that has one. Where the instructions lack it, it is computed
//! otherwise, slowly ([`Scalar::fused_slowly`]). With fixed orders of summing, results of `f32` depend neither on the instruction set nor on threads.

use nalm::lane::InstructionKind;
use nalm::{InstructionSet, Lane, Real};

/// Numbers in a [`Lane`].
pub const LANES: usize = nalm::lane::LANES;

/// A number type with what images need besides arithmetic.
pub trait Scalar: Real {
    /// self * b + c, rounded once, where that is one instruction.
    fn fused(self, b: Self, c: Self) -> Self;
    /// The same without such an instruction. In `f64`, which checks gradients and trains nothing, it is rounded twice.
    #[doc(hidden)]
    fn fused_slowly(self, b: Self, c: Self) -> Self;
    /// The next whole number below.
    fn floor(self) -> Self;
    /// A whole number below 2^22 in size as an integer; any integer for everything else. A cast looks at every number for itself, this at sixteen.
    fn small_whole(self) -> i32;
}

impl Scalar for f32 {
    #[inline(always)]
    fn fused(self, b: f32, c: f32) -> f32 {
        self.mul_add(b, c)
    }

    /// The product is exact in `f64`. The sum there is not; if it was rounded to an even number, it becomes the odd neighbour on the side of what was
    /// cut off, which is all that the second rounding needs to know to round as if it were the only one ("round to odd").
    #[inline(always)]
    fn fused_slowly(self, b: f32, c: f32) -> f32 {
        let (product, c) = (f64::from(self) * f64::from(b), f64::from(c));
        let sum = product + c;
        let share = sum - product;
        let lost = (product - (sum - share)) + (c - share);
        let bits = sum.to_bits();
        // Away from 0 if what was lost has the sign of the sum. What is not a number stays one: then `lost` is none, either.
        let step = if (lost > 0.0) == (sum > 0.0) { 1 } else { u64::MAX };
        let inexact = lost != 0.0 && lost.abs() < f64::INFINITY;
        let odd = if inexact & (bits & 1 == 0) { bits.wrapping_add(step) } else { bits };
        f64::from_bits(odd) as f32
    }
    #[inline(always)]
    fn floor(self) -> f32 {
        f32::floor(self)
    }
    #[inline(always)]
    fn small_whole(self) -> i32 {
        // From 1.5 * 2^23 on, the last bits count ones.
        (self + 12_582_912.0).to_bits().wrapping_sub(0x4b40_0000) as i32
    }
}

impl Scalar for f64 {
    #[inline(always)]
    fn fused(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }
    #[inline(always)]
    fn fused_slowly(self, b: f64, c: f64) -> f64 {
        self * b + c
    }
    #[inline(always)]
    fn floor(self) -> f64 {
        f64::floor(self)
    }
    #[inline(always)]
    fn small_whole(self) -> i32 {
        (self + 6_755_399_441_055_744.0).to_bits() as i32
    }
}

/// Lanes of output channels that a register tile holds.
pub(crate) fn tile_lanes<R: Scalar>(set: InstructionSet) -> usize {
    match set.kind() {
        InstructionKind::Avx512 if R::EVERYWHERE => 2,
        _ => 1,
    }
}

/// Work that is worth compiling for every [`InstructionSet`]. `run` must be `#[inline(always)]`, or it keeps the portable code.
///
/// `FMA` says whether a fused multiply-add is one instruction, `PIXELS` and `VECTORS` how many pixels and lanes of channels fit into the
/// registers.
pub(crate) trait Kernel {
    type Output;
    /// What it computes with.
    type Number: Scalar;
    fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) -> Self::Output;
}

/// Executes a kernel with the instructions of a set.
#[inline(always)]
pub(crate) fn run<K: Kernel>(set: InstructionSet, kernel: K) -> K::Output {
    if !K::Number::EVERYWHERE {
        return portable(kernel);
    }
    match set.kind() {
        // SAFETY: a set of this kind exists only where the processor has all features that `InstructionKind` lists for it, `fma` among them.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        InstructionKind::Avx2 => unsafe { avx2(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        InstructionKind::Avx512 => unsafe { avx512(kernel) },
        _ => portable(kernel),
    }
}

/// Executes a kernel with registers of 32 bytes at most, for memory that does not start where a cache line does: half as many loads and stores lie
/// across two lines then.
#[inline(always)]
pub(crate) fn run_narrow<K: Kernel>(set: InstructionSet, kernel: K) -> K::Output {
    match set.kind() {
        // SAFETY: as above; a processor with AVX-512 has these features, too.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        InstructionKind::Avx2 | InstructionKind::Avx512 if K::Number::EVERYWHERE => unsafe { avx2(kernel) },
        _ => portable(kernel),
    }
}

// `inline(never)` on these three also makes the compiler share them with the crates above this one, which would
// otherwise compile all of them again.
#[inline(never)]
fn portable<K: Kernel>(kernel: K) -> K::Output {
    // Every aarch64 processor fuses, and has registers enough for six pixels.
    if cfg!(target_arch = "aarch64") { kernel.run::<true, 6, 1>() } else { kernel.run::<false, 4, 1>() }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true, 6, 1>()
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,bmi1,bmi2")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true, 12, 2>()
}

/// a * b + c
#[inline(always)]
pub(crate) fn madd<R: Scalar, const FMA: bool>(a: R, b: R, c: R) -> R {
    if FMA { a.fused(b, c) } else { a.fused_slowly(b, c) }
}

/// to += a * b
#[inline(always)]
pub(crate) fn accumulate<R: Scalar, const FMA: bool>(to: &mut Lane<R>, a: R, b: &Lane<R>) {
    for k in 0..LANES {
        to[k] = madd::<R, FMA>(a, b[k], to[k]);
    }
}

/// The sum over `terms` (offset, factor) of factor * x[offset + ..] is added to `to`. The sums stay in registers.
#[inline(always)]
pub(crate) fn add_runs<R: Scalar, const FMA: bool>(x: &[R], shift: usize, terms: &[(u32, R)], to: &mut [R]) {
    let mut done = 0;
    while to.len() - done >= 6 * LANES {
        // A little more than six lanes goes with them.
        done += if has_rest(to.len() - done) {
            add_chunk::<R, FMA, 6, REST>(x, shift + done, terms, &mut to[done..])
        } else {
            add_chunk::<R, FMA, 6, 0>(x, shift + done, terms, &mut to[done..])
        };
    }
    while to.len() - done >= LANES {
        done += add_chunk::<R, FMA, 1, 0>(x, shift + done, terms, &mut to[done..]);
    }
    let rest = to.len() - done;
    if rest > 0 && to.len() >= LANES {
        // A whole lane that ends where the run ends, of which only the last numbers are new.
        let start = to.len() - LANES;
        let mut last = [R::ZERO; LANES];
        add_chunk::<R, FMA, 1, 0>(x, shift + start, terms, &mut last);
        for k in LANES - rest..LANES {
            to[start + k] += last[k];
        }
    } else if rest > 0 {
        for &(at, factor) in terms {
            let from = at as usize + shift;
            axpy::<R, FMA>(factor, &x[from..from + rest], to);
        }
    }
}

/// Numbers behind six lanes that are worth taking along.
const REST: usize = 4;

/// Whether a run is six lanes and a little more, but not a lane.
#[inline(always)]
fn has_rest(len: usize) -> bool {
    (6 * LANES + REST..7 * LANES).contains(&len)
}

/// Some lanes and the rest behind them; returns how many numbers that is.
#[inline(always)]
fn add_chunk<R: Scalar, const FMA: bool, const VECTORS: usize, const REST: usize>(
    x: &[R],
    shift: usize,
    terms: &[(u32, R)],
    to: &mut [R],
) -> usize {
    let len = VECTORS * LANES + REST;
    let mut sums = [Lane::<R>::ZERO; VECTORS];
    let mut rest = [R::ZERO; REST];
    for &(at, factor) in terms {
        let from = at as usize + shift;
        let x = &x[from..from + len];
        for k in 0..REST {
            rest[k] = madd::<R, FMA>(factor, x[VECTORS * LANES + k], rest[k]);
        }
        for v in 0..VECTORS {
            for k in 0..LANES {
                sums[v][k] = madd::<R, FMA>(factor, x[v * LANES + k], sums[v][k]);
            }
        }
    }
    for v in 0..VECTORS {
        for k in 0..LANES {
            to[v * LANES + k] += sums[v][k];
        }
    }
    for k in 0..REST {
        to[VECTORS * LANES + k] += rest[k];
    }
    len
}

/// factor * w is added to `to[offset + ..]` for every (offset, factor) of `terms`. The weights stay in registers.
#[inline(always)]
pub(crate) fn spread_run<R: Scalar, const FMA: bool>(w: &[R], shift: usize, terms: &[(u32, R)], to: &mut [R]) {
    let mut done = 0;
    while w.len() - done >= 6 * LANES {
        spread_chunk::<R, FMA, 6>(&w[done..], shift + done, terms, to);
        done += 6 * LANES;
    }
    while w.len() - done >= LANES {
        spread_chunk::<R, FMA, 1>(&w[done..], shift + done, terms, to);
        done += LANES;
    }
    let rest = w.len() - done;
    if rest > 0 && w.len() >= LANES {
        // A whole lane that ends where the run ends, with zeros where weights were spread already.
        let start = w.len() - LANES;
        let mut last = [R::ZERO; LANES];
        last[LANES - rest..].copy_from_slice(&w[done..]);
        spread_chunk::<R, FMA, 1>(&last, shift + start, terms, to);
    } else if rest > 0 {
        for &(at, factor) in terms {
            let from = at as usize + shift;
            axpy::<R, FMA>(factor, w, &mut to[from..from + rest]);
        }
    }
}

#[inline(always)]
fn spread_chunk<R: Scalar, const FMA: bool, const VECTORS: usize>(
    w: &[R],
    shift: usize,
    terms: &[(u32, R)],
    to: &mut [R],
) {
    let mut held = [Lane::<R>::ZERO; VECTORS];
    for v in 0..VECTORS {
        held[v].0.copy_from_slice(&w[v * LANES..(v + 1) * LANES]);
    }
    for &(at, factor) in terms {
        let from = at as usize + shift;
        let to = &mut to[from..from + VECTORS * LANES];
        for v in 0..VECTORS {
            for k in 0..LANES {
                to[v * LANES + k] = madd::<R, FMA>(factor, held[v][k], to[v * LANES + k]);
            }
        }
    }
}

/// y += a * x
#[inline(always)]
fn axpy<R: Scalar, const FMA: bool>(a: R, x: &[R], y: &mut [R]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = madd::<R, FMA>(a, x, *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Runs<'a, R> {
        x: &'a [R],
        terms: &'a [(u32, R)],
        added: &'a mut [R],
        spread: &'a mut [R],
    }

    const SHIFT: usize = 2;

    impl<R: Scalar> Kernel for Runs<'_, R> {
        type Output = ();
        type Number = R;
        #[inline(always)]
        fn run<const FMA: bool, const PIXELS: usize, const VECTORS: usize>(self) {
            let len = self.added.len();
            add_runs::<R, FMA>(self.x, SHIFT, self.terms, self.added);
            spread_run::<R, FMA>(&self.x[..len], SHIFT, self.terms, self.spread);
        }
    }

    /// Small whole numbers, of which products and sums are exact however they are rounded.
    fn number<R: Scalar>(k: usize) -> R {
        R::of(((k * 7) % 13) as f64 - 6.0)
    }

    fn compare<R: Scalar>(len: usize) {
        let terms: Vec<(u32, R)> = [(0, 3), (5, 4), (1, 9), (9, 2)].map(|(at, k)| (at, number(k))).to_vec();
        // Not a number more than the last run reaches.
        let whole = len + SHIFT + 9;
        let x: Vec<R> = (0..whole).map(number).collect();
        let start: Vec<R> = (0..whole).map(|k| number(k + 5)).collect();
        let (mut want_added, mut want_spread) = (start[..len].to_vec(), start.clone());
        for &(at, factor) in &terms {
            for k in 0..len {
                want_added[k] += factor * x[at as usize + SHIFT + k];
                want_spread[at as usize + SHIFT + k] += factor * x[k];
            }
        }
        for set in InstructionSet::available() {
            let (mut added, mut spread) = (start[..len].to_vec(), start.clone());
            run(set, Runs { x: &x, terms: &terms, added: &mut added, spread: &mut spread });
            assert_eq!(added, want_added, "{len} numbers, {}", set.name());
            assert_eq!(spread, want_spread, "{len} numbers, {}", set.name());
        }
    }

    fn agree(a: f32, b: f32, c: f32) {
        let (got, want) = (a.fused_slowly(b, c), a.mul_add(b, c));
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{a:e} * {b:e} + {c:e}: {got:e}, not {want:e}");
    }

    /// The fused multiply-add of the processor, or of the C library where it has none, rounds once.
    #[test]
    fn the_slow_way_rounds_once() {
        let mut rng = nalm::Rng::fast("fused", nalm::rng::Purpose::Data);
        let mut draw = |bits: u32| f32::from_bits(bits ^ (rng.uniform(0.0f64, 4294967296.0) as u32 & 0x807f_ffff));
        for k in 0..if cfg!(miri) { 100 } else { 200_000u32 } {
            // Exponents near each other, so that every kind of rounding happens; all exponents now and then.
            let (a, b) = (draw((120 + k % 13) << 23), draw((120 + k / 13 % 13) << 23));
            agree(a, b, draw(if k % 7 == 0 { (k / 7 % 256) << 23 } else { (90 + k / 169 % 60) << 23 }));
        }
        let tiny = f32::from_bits(1);
        let odd = [
            0.0,
            -0.0,
            1.0,
            0.5,
            f32::MIN_POSITIVE,
            tiny,
            f32::MAX,
            f32::MIN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        for k in 0..odd.len().pow(3) {
            let [a, b, c] = [1, odd.len(), odd.len().pow(2)].map(|step| odd[k / step % odd.len()]);
            agree(a, b, c);
        }
    }

    /// Products in the middle between two neighbours, and a little more or less: here rounding twice goes wrong.
    #[test]
    fn the_slow_way_rounds_once_between_two_neighbours() {
        let mut twice = 0;
        for k in 1..2_000u32 {
            // (1 + k 2^-12) (1 + 2^-12) has a last bit of 2^-24, half of a step.
            let (a, b) = (1.0 + k as f32 / 4096.0, 1.0 + 1.0 / 4096.0);
            for c in [-60, -80, -100, -140].map(|power| f64::powi(2.0, power) as f32).into_iter().flat_map(|c| [c, -c])
            {
                for sign in [1.0, -1.0] {
                    agree(sign * a, b, c);
                    let naive = (f64::from(sign * a) * f64::from(b) + f64::from(c)) as f32;
                    twice += usize::from(naive != (sign * a).mul_add(b, c));
                }
            }
            // Sums among the smallest numbers.
            let smallest = f32::from_bits(k);
            agree(smallest, 0.5, f32::from_bits(2 * k));
            agree(smallest, -0.5, f32::MIN_POSITIVE);
        }
        assert!(twice > 1_000, "only {twice} of these would notice");
    }

    #[test]
    fn small_whole_numbers_are_integers() {
        for k in [-4_194_303, -70_000, -3, -2, -1, 0, 1, 2, 42, 70_000, 4_194_303] {
            assert_eq!((f64::from(k).small_whole(), (k as f32).small_whole()), (k, k));
        }
    }

    #[test]
    fn runs_of_every_length_are_added_and_spread() {
        for len in [0, 1, 2, 15, 16, 17, 31, 32, 40, 95, 96, 97, 99, 100, 103, 111, 112, 127, 128, 200] {
            compare::<f32>(len);
            compare::<f64>(len);
        }
    }
}

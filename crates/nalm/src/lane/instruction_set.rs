//! Instruction sets: which there are, and how one and the same source is compiled for each.

use crate::Error;
use std::sync::atomic::{AtomicU8, Ordering};

/// The instruction set that hot loops run with. Results of this crate do not depend on it. Passes in `f64` take the portable one, whatever is chosen.
///
/// A value can only be had from [`InstructionSet::PORTABLE`], [`InstructionSet::available`], [`InstructionSet::named`] or [`InstructionSet::best`], so that none can name
/// instructions which the processor lacks. Code that is compiled for the features of [`InstructionSet::kind`] may therefore be
/// called wherever such a value is at hand, in other crates, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InstructionSet(InstructionKind);

/// The number of the set that [`InstructionSet::best`] gives, 0 before anybody asked. It is written by `best` and `prefer` alone, from a set
/// that `available` made, so the processor can execute what it names.
static PREFERRED: AtomicU8 = AtomicU8::new(0);
const PORTABLE: u8 = 1;
const AVX2: u8 = 2;
const AVX512: u8 = 3;

/// What an [`InstructionSet`] is, to choose code by. Unlike the set itself it proves nothing about the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstructionKind {
    /// What every machine of the target architecture has: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// The x86-64 features `avx2`, `fma`, `bmi1`, `bmi2`, `lzcnt` and `popcnt`.
    Avx2,
    /// Those of [`InstructionKind::Avx2`], and `avx512f`, `avx512vl`, `avx512bw` and `avx512dq`.
    Avx512,
}

impl InstructionSet {
    /// What every machine of the target architecture has: SSE2 on x86-64, NEON on aarch64.
    pub const PORTABLE: InstructionSet = InstructionSet(InstructionKind::Portable);

    /// The sets that this machine can execute, slowest first.
    ///
    /// `fma` is asked for although this crate never fuses: code elsewhere that is chosen by [`InstructionSet::kind`] may. A processor with
    /// AVX2 and without it gets the portable code.
    pub fn available() -> Vec<InstructionSet> {
        #[allow(unused_mut)]
        let mut sets = vec![InstructionSet::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            use std::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt") {
                sets.push(InstructionSet(InstructionKind::Avx2));
                if has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq") {
                    sets.push(InstructionSet(InstructionKind::Avx512));
                }
            }
        }
        sets
    }

    /// The fastest instructions of this machine, or those that this process prefers ([`InstructionSet::prefer`]).
    pub fn best() -> InstructionSet {
        let known = |number: u8| match number {
            AVX2 => InstructionSet(InstructionKind::Avx2),
            AVX512 => InstructionSet(InstructionKind::Avx512),
            _ => InstructionSet::PORTABLE,
        };
        match PREFERRED.load(Ordering::Relaxed) {
            0 => {
                let best = *InstructionSet::available().last().expect("the portable instructions are always there");
                // Unless somebody has preferred another one meanwhile.
                let asked = PREFERRED.compare_exchange(0, best.number(), Ordering::Relaxed, Ordering::Relaxed);
                asked.map_or_else(known, |_| best)
            }
            number => known(number),
        }
    }

    /// From now on, [`InstructionSet::best`] is this one in the whole process. Results do not depend on it, so this is for whoever wants to
    /// check that, or to measure.
    pub fn prefer(self) {
        PREFERRED.store(self.number(), Ordering::Relaxed);
    }

    fn number(self) -> u8 {
        match self.0 {
            InstructionKind::Portable => PORTABLE,
            InstructionKind::Avx2 => AVX2,
            InstructionKind::Avx512 => AVX512,
        }
    }

    /// The set of this name: `portable`, or what [`InstructionSet::name`] says. One that this machine lacks is refused.
    pub fn named(name: &str) -> Result<InstructionSet, Error> {
        let all = InstructionSet::available();
        let found =
            all.iter().find(|set| set.name() == name || name == "portable" && **set == InstructionSet::PORTABLE);
        found.copied().ok_or_else(|| {
            let mut names: Vec<&str> = all.iter().map(|set| set.name()).collect();
            names.push("portable");
            names.dedup();
            Error::unknown("instruction set of this machine", name, &names)
        })
    }

    /// What to choose code by.
    #[inline(always)]
    pub fn kind(self) -> InstructionKind {
        self.0
    }

    /// The name, as benchmarks print it.
    pub fn name(self) -> &'static str {
        match self.0 {
            InstructionKind::Portable if cfg!(target_arch = "x86_64") => "sse2",
            InstructionKind::Portable if cfg!(target_arch = "aarch64") => "neon",
            InstructionKind::Portable => "portable",
            InstructionKind::Avx2 => "avx2",
            InstructionKind::Avx512 => "avx512",
        }
    }
}

/// Work that is worth compiling for every [`InstructionSet`]. [`Kernel::run`] must be `#[inline(always)]`, as must be what it calls in its loops, or it keeps the portable
/// code. Nothing is fused, so the bits are the same with every set.
pub trait Kernel {
    /// What comes of it.
    type Output;
    /// Whether it is compiled for every set, and not for the portable one alone ([`crate::Real::EVERYWHERE`]).
    const EVERYWHERE: bool = true;
    /// The work itself.
    fn run(self) -> Self::Output;
}

/// Executes a kernel with these instructions.
///
/// ```
/// use nalm::lane::{InstructionSet, Kernel, run};
///
/// struct Product<'a>(&'a [f64], &'a [f64]);
///
/// impl Kernel for Product<'_> {
///     type Output = f64;
///     #[inline(always)]
///     fn run(self) -> f64 {
///         self.0.iter().zip(self.1).map(|(a, b)| a * b).sum()
///     }
/// }
///
/// assert_eq!(run(InstructionSet::best(), Product(&[1.0, 2.0], &[3.0, 4.0])), 11.0);
/// ```
#[inline(always)]
pub fn run<K: Kernel>(instructions: InstructionSet, kernel: K) -> K::Output {
    if !K::EVERYWHERE {
        return portable(kernel);
    }
    match instructions.0 {
        // SAFETY: only `InstructionSet::available` makes these values, after asking the processor for these features, and `best` gives back
        // what was made there.
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

// `inline(never)` on these three also makes the compiler share them: a crate that uses a module of ours links to the
// code in this crate instead of compiling all of them again.
#[inline(never)]
fn portable<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_set_is_available() {
        assert!(InstructionSet::available().contains(&InstructionSet::best()));
        assert_eq!(InstructionSet::available()[0], InstructionSet::PORTABLE);
    }

    #[test]
    fn sets_are_chosen_by_name() {
        for set in InstructionSet::available() {
            assert_eq!(InstructionSet::named(set.name()).unwrap(), set);
        }
        assert_eq!(InstructionSet::named("portable").unwrap(), InstructionSet::PORTABLE);
        let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
        for name in ["mmx", foreign] {
            let error = InstructionSet::named(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("portable"), "{error}");
        }
    }

    struct Sum<'a>(&'a [f32], &'a mut [f32]);

    impl Kernel for Sum<'_> {
        type Output = usize;
        #[inline(always)]
        fn run(self) -> usize {
            for (to, x) in self.1.iter_mut().zip(self.0) {
                *to += x;
            }
            self.1.len()
        }
    }

    #[test]
    fn every_set_runs_a_kernel_to_its_end() {
        let x: Vec<f32> = (0..37).map(|k| k as f32).collect();
        for set in InstructionSet::available() {
            let mut to = vec![1.0; 37];
            assert_eq!(run(set, Sum(&x, &mut to)), 37);
            assert!(to.iter().zip(&x).all(|(to, x)| *to == x + 1.0), "{}: {to:?}", set.name());
        }
    }
}

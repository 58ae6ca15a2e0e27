//! The default generator: sixteen xoshiro128+ streams side by side, one per row of a lane.
//!
//! Sampling is a third to a half of a small training step, so the generator is a kernel. The state of every lane comes
//! from a hash of the stream's key; two keys that differ anywhere give unrelated streams.

use super::Purpose;
use crate::lane::LANES;
use crate::{Lane, NUMERICS, Real};
use std::array::from_fn;

/// Sixteen interleaved xoshiro128+ generators (Blackman and Vigna 2018).
#[derive(Clone, Debug, PartialEq)]
pub struct Fast {
    state: State,
    /// Words of the last block that a scalar draw has not used yet.
    spare: [u32; LANES],
    used: usize,
}

type State = [Words; 4];
type Words = [u32; LANES];

impl Fast {
    /// Opens the stream with this key.
    pub fn new(key: &str) -> Self {
        let mut hash = Hash::new(key);
        // The all-zero state is a fixed point of xoshiro; a lane that drew it (probability 2^-128) draws again.
        let mut lanes = [[0; 4]; LANES];
        for lane in &mut lanes {
            while *lane == [0; 4] {
                *lane = from_fn(|_| (hash.next() >> 32) as u32);
            }
        }
        Self { state: from_fn(|w| from_fn(|k| lanes[k][w])), spare: [0; LANES], used: LANES }
    }

    /// Opens the stream of `purpose` under a key that names task, range and seed.
    pub fn open(key: &str, purpose: Purpose) -> Self {
        Self::new(&format!("nalm {NUMERICS}|{key}|{}", purpose.name()))
    }

    /// All that the next draws depend on.
    pub(super) fn words_of_state(&self) -> Vec<u32> {
        self.state.iter().flatten().chain(&self.spare).copied().chain([self.used as u32]).collect()
    }

    /// The generator that was in this state, if there can be one.
    pub(super) fn of_state(words: &[u32]) -> Option<Self> {
        let (&used, rest) = words.split_last()?;
        let lanes: &[Words; 5] = rest.as_chunks().0.first_chunk().filter(|_| rest.len() == 5 * LANES)?;
        let &[a, b, c, d, spare] = lanes;
        // No lane can have got there: it would never leave.
        let stuck = (0..LANES).any(|k| [a, b, c, d].iter().all(|word| word[k] == 0));
        (used as usize <= LANES && !stuck).then_some(Self { state: [a, b, c, d], spare, used: used as usize })
    }

    /// The next word of one stream, for draws that come one at a time.
    pub fn word(&mut self) -> u32 {
        if self.used == LANES {
            self.spare = step(&mut self.state);
            self.used = 0;
        }
        self.used += 1;
        self.spare[self.used - 1]
    }

    /// A whole number in 0..bound (0 for an empty range), with a bias of at most bound / 2^32.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(bound)) >> 32) as u32
    }

    /// Maps sixteen numbers of [`Real::count`] to every lane of `out`.
    #[inline(always)]
    pub(crate) fn fill<R: Real>(&mut self, out: &mut [Lane<R>], put: impl Fn(Lane<R>) -> Lane<R>) {
        let mut state = self.state;
        for lane in out {
            *lane = put(draw(&mut state, R::count));
        }
        self.state = state;
    }

    /// Fills a slice with words, sixteen at a time; a rest that is not a whole lane costs a whole one.
    pub fn words(&mut self, out: &mut [u32]) {
        let mut state = self.state;
        for part in out.chunks_mut(LANES) {
            let words = step(&mut state);
            part.copy_from_slice(&words[..part.len()]);
        }
        self.state = state;
    }

    /// Fills every lane with numbers of [`Real::centred`] times `scale` plus `middle`. One vector instruction less per
    /// sixteen numbers than by [`Fast::fill`]; sampling is half of a step on many inputs.
    #[inline(always)]
    pub(crate) fn fill_centred<R: Real>(&mut self, out: &mut [Lane<R>], middle: R, scale: R) {
        let mut state = self.state;
        for lane in out {
            *lane = draw(&mut state, R::centred) * scale + middle;
        }
        self.state = state;
    }
}

#[inline(always)]
fn draw<R: Real>(state: &mut State, number: impl Fn(u32, u32) -> R) -> Lane<R> {
    let first = step(state);
    let second = if R::WORDS == 2 { step(state) } else { first };
    let mut lane = Lane::ZERO;
    for k in 0..LANES {
        lane[k] = number(first[k], second[k]);
    }
    lane
}

#[inline(always)]
fn step(s: &mut State) -> Words {
    let [a, b, c, d] = *s;
    let mut out = [0; LANES];
    for k in 0..LANES {
        out[k] = a[k].wrapping_add(d[k]);
        let (bd, ca) = (b[k] ^ d[k], c[k] ^ a[k]);
        s[0][k] = a[k] ^ bd;
        s[1][k] = b[k] ^ ca;
        s[2][k] = ca ^ (b[k] << 9);
        s[3][k] = bd.rotate_left(11);
    }
    out
}

/// SplitMix64 (Steele, Lea and Flood 2014) over the bytes of a key.
struct Hash(u64);

impl Hash {
    fn new(key: &str) -> Self {
        let mut hash = Hash(0x6e61_6c6d);
        for byte in key.bytes() {
            hash.0 ^= u64::from(byte);
            hash.0 = hash.next();
        }
        hash
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published C code of xoshiro128+, one stream.
    fn published(s: &mut [u32; 4]) -> u32 {
        let result = s[0].wrapping_add(s[3]);
        let t = s[1] << 9;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(11);
        result
    }

    #[test]
    fn every_lane_is_xoshiro128_plus() {
        let mut rng = Fast::new("a key");
        let mut alone: [[u32; 4]; LANES] = from_fn(|k| from_fn(|w| rng.state[w][k]));
        for _ in 0..1000 {
            let together: [u32; LANES] = from_fn(|_| rng.word());
            assert_eq!(together, from_fn(|k| published(&mut alone[k])));
        }
    }

    #[test]
    fn splitmix_gives_its_known_answers() {
        let mut hash = Hash(1_234_567);
        let known = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(known.map(|_| hash.next()), known);
    }

    #[test]
    fn one_character_changes_every_lane() {
        let (a, b) = (Fast::new("seed 1"), Fast::new("seed 2"));
        assert!((0..4).all(|w| (0..LANES).all(|k| a.state[w][k] != b.state[w][k])));
    }

    /// Mean, variance and lag correlations of a million draws, each within five standard errors.
    #[test]
    fn draws_are_uniform_and_independent() {
        let mut rng = Fast::new("moments");
        let mut lanes = vec![Lane::<f32>::ZERO; 65_536];
        rng.fill(&mut lanes, |u| u * f32::STEP);
        let flat: Vec<f64> = lanes.iter().flat_map(|l| l.0).map(f64::from).collect();
        let n = flat.len() as f64;
        assert!(flat.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = flat.iter().sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0 / n).sqrt(), "{mean}");
        let variance = flat.iter().map(|u| (u - 0.5).powi(2)).sum::<f64>() / n;
        assert!((variance - 1.0 / 12.0).abs() < 5.0 * (1.0 / 180.0 / n).sqrt(), "{variance}");
        for lag in [1, 2, 16, 32, 48] {
            let c = flat.iter().zip(&flat[lag..]).map(|(a, b)| (a - 0.5) * (b - 0.5)).sum::<f64>() / n;
            assert!(c.abs() < 5.0 / 12.0 / n.sqrt(), "lag {lag}: {c}");
        }
    }
}

//! MT19937 (Matsumoto and Nishimura 1998), the generator behind the published experiments.

use crate::lane::{self, InstructionSet, Kernel};

const N: usize = 624;
const M: usize = 397;
const TAIL: usize = N - M;

/// The Mersenne twister, seeded by Knuth's recurrence. Whole blocks are made by vector instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct Mt19937 {
    state: [u32; N],
    /// The tempered words of the current block.
    words: [u32; N],
    next: usize,
    instructions: InstructionSet,
}

impl Mt19937 {
    /// The generator with this integer seed.
    pub fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        for k in 1..N {
            let previous = state[k - 1];
            state[k] = (previous ^ (previous >> 30)).wrapping_mul(1_812_433_253).wrapping_add(k as u32);
        }
        Self { state, words: [0; N], next: N, instructions: InstructionSet::best() }
    }

    /// All that the next draws depend on.
    pub(super) fn words_of_state(&self) -> Vec<u32> {
        self.state.iter().chain(&self.words).copied().chain([self.next as u32]).collect()
    }

    /// The generator that was in this state, if there can be one.
    pub(super) fn of_state(words: &[u32]) -> Option<Self> {
        let (&next, rest) = words.split_last()?;
        let &[state, words] = rest.as_chunks().0.first_chunk().filter(|_| rest.len() == 2 * N)?;
        let next = next as usize;
        (next <= N).then_some(Self { state, words, next, instructions: InstructionSet::best() })
    }

    /// The next 32 bits.
    #[inline]
    pub fn word(&mut self) -> u32 {
        if self.next == N {
            self.refill();
        }
        self.next += 1;
        self.words[self.next - 1]
    }

    /// A double in [0, 1) with 53 random bits, as NumPy makes it.
    #[inline]
    pub fn double(&mut self) -> f64 {
        let (a, b) = (self.word(), self.word());
        double(a, b)
    }

    /// Fills a slice with numbers in [low, low + width), as if by low + width * [`Mt19937::double`].
    pub fn doubles(&mut self, low: f64, width: f64, mut out: &mut [f64]) {
        while !out.is_empty() {
            // At the end of a block, and where a pair straddles it, one by one.
            let pairs = ((N - self.next) / 2).min(out.len());
            if pairs == 0 {
                out[0] = low + width * self.double();
                out = &mut out[1..];
                continue;
            }
            let (done, rest) = out.split_at_mut(pairs);
            lane::run(self.instructions, Convert { words: &self.words[self.next..], low, width, out: done });
            self.next += 2 * pairs;
            out = rest;
        }
    }

    /// Hands every word of the next `count` to `put`, with its number.
    #[inline(always)]
    pub(crate) fn words(&mut self, count: usize, mut put: impl FnMut(usize, u32)) {
        let mut done = 0;
        while done < count {
            if self.next == N {
                self.refill();
            }
            let stretch = (N - self.next).min(count - done);
            for (k, &word) in self.words[self.next..][..stretch].iter().enumerate() {
                put(done + k, word);
            }
            self.next += stretch;
            done += stretch;
        }
    }

    /// A whole number in 0..=most, by masked rejection; no word is drawn for `most` = 0.
    pub fn at_most(&mut self, most: u32) -> u32 {
        if most == 0 {
            return 0;
        }
        let mask = u32::MAX >> most.leading_zeros();
        loop {
            let candidate = self.word() & mask;
            if candidate <= most {
                return candidate;
            }
        }
    }

    #[inline(never)]
    fn refill(&mut self) {
        lane::run(self.instructions, Twist { state: &mut self.state, words: &mut self.words });
        self.next = 0;
    }
}

#[inline(always)]
fn double(a: u32, b: u32) -> f64 {
    (f64::from(a >> 5) * 67_108_864.0 + f64::from(b >> 6)) * (1.0 / 9_007_199_254_740_992.0)
}

struct Convert<'a> {
    words: &'a [u32],
    low: f64,
    width: f64,
    out: &'a mut [f64],
}

impl Kernel for Convert<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (u, pair) in self.out.iter_mut().zip(self.words.as_chunks::<2>().0) {
            *u = self.low + self.width * double(pair[0], pair[1]);
        }
    }
}

struct Twist<'a> {
    state: &'a mut [u32; N],
    words: &'a mut [u32; N],
}

impl Kernel for Twist<'_> {
    type Output = ();

    /// Written as three loops over disjoint slices, because word k needs the new word k - 227 and so a stretch of 227
    /// words can be made at once.
    #[inline(always)]
    fn run(self) {
        let old = *self.state;
        let new = self.state;
        for k in 0..TAIL {
            new[k] = old[k + M] ^ mix(old[k], old[k + 1]);
        }
        let (done, rest) = new.split_at_mut(TAIL);
        for k in 0..TAIL {
            rest[k] = done[k] ^ mix(old[k + TAIL], old[k + TAIL + 1]);
        }
        let (done, rest) = rest.split_at_mut(TAIL);
        for k in 0..N - 2 * TAIL - 1 {
            rest[k] = done[k] ^ mix(old[k + 2 * TAIL], old[k + 2 * TAIL + 1]);
        }
        new[N - 1] = new[M - 1] ^ mix(old[N - 1], new[0]);
        for (word, &y) in self.words.iter_mut().zip(new.iter()) {
            let y = y ^ (y >> 11);
            let y = y ^ ((y << 7) & 0x9d2c_5680);
            let y = y ^ ((y << 15) & 0xefc6_0000);
            *word = y ^ (y >> 18);
        }
    }
}

#[inline(always)]
fn mix(upper: u32, lower: u32) -> u32 {
    let y = (upper & 0x8000_0000) | (lower & 0x7fff_ffff);
    (y >> 1) ^ ((y & 1).wrapping_neg() & 0x9908_b0df)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_of_seed_0() {
        let mut mt = Mt19937::new(0);
        assert_eq!([0; 4].map(|_| mt.word()), [2_357_136_044, 2_546_248_239, 3_071_714_933, 3_626_093_760]);
    }

    /// The 10,000th word for the default seed is part of the C++ standard.
    #[test]
    fn ten_thousandth_word_of_seed_5489() {
        let mut mt = Mt19937::new(5489);
        assert_eq!((0..10_000).map(|_| mt.word()).last(), Some(4_123_659_995));
    }

    #[test]
    fn filling_is_drawing_one_by_one_from_any_position() {
        for skip in [0, 1, 2, 623, 624, 625] {
            let mut one = Mt19937::new(7);
            for _ in 0..skip {
                one.word();
            }
            let mut block = one.clone();
            let mut filled = vec![0.0; 2000];
            block.doubles(0.0, 1.0, &mut filled);
            assert_eq!(filled, (0..2000).map(|_| one.double()).collect::<Vec<_>>(), "skip {skip}");
            let mut words = Vec::new();
            block.words(1300, |k, word| words.push((k, word)));
            assert_eq!(words, (0..1300).map(|k| (k, one.word())).collect::<Vec<_>>(), "skip {skip}");
            assert_eq!(block.word(), one.word());
        }
    }

    #[test]
    fn bounded_numbers_stay_in_bounds_and_zero_draws_nothing() {
        let mut mt = Mt19937::new(3);
        let before = mt.clone().word();
        assert_eq!(mt.at_most(0), 0);
        assert_eq!(mt.word(), before);
        assert!((0..1000).map(|_| mt.at_most(62)).all(|k| k <= 62));
    }
}

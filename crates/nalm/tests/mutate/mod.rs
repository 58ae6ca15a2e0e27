//! Valid inputs made invalid, over and over: what the fuzz tests of all crates share.
//!
//! Everything is seeded, so that a failure comes back; the input that fails is printed. `NALM_FUZZ` says how many executions each target
//! gets instead of its default, `NALM_FUZZ_INPUT` in which file to keep the input of the execution under way, for those that end the process.
//! What is required of every execution: no panic, an end, and no more memory than [`MOST_AT_ONCE`] at once.

#![allow(unsafe_code)]

use nalm::rng::Fast;
use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Bytes that no input may make anybody ask for at once.
pub(crate) const MOST_AT_ONCE: usize = 128 << 20;
/// How long an execution may take before it counts as one that never ends; thousands of times what any takes.
const ENDLESS: Duration = Duration::from_secs(120);

struct Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Pieces that readers are known to stumble over.
const PIECES: &[&[u8]] = &[
    b"",
    b"\0",
    b"\n",
    b"\r\n",
    b"\t",
    b"\"",
    b"\\",
    b"'",
    b",",
    b";",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b"-",
    b"->",
    b"NaN",
    b"inf",
    b"-inf",
    b"-0",
    b"1e308",
    b"1e-320",
    b"1e999",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775807",
    b"4294967296",
    b"-1",
    b"0",
    b"null",
    b"true",
    b"\xef\xbb\xbf",
    b"\xe2\x88\xaa",
    b"\xe2\x86\x92",
    b"\xff",
    b"\xf0\x9f\xa6\x80",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
];

/// Longer ones are cut, so that duplicated chunks do not add up to ever more work.
const LONGEST: usize = 1 << 16;

/// Changes inputs.
struct Mutator {
    rng: Fast,
    inputs: Vec<Vec<u8>>,
}

impl Mutator {
    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u32) as usize
    }

    /// A place, and one behind it not too far away.
    fn chunk(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let most = [8, 64, len][self.below(3)];
        start..start + self.below((len - start).min(most) + 1)
    }

    /// One of the inputs with one to four changes.
    fn next(&mut self) -> Vec<u8> {
        let which = self.below(self.inputs.len());
        let mut bytes = self.inputs[which].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes);
            bytes.truncate(LONGEST);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let chunk = self.chunk(bytes.len());
        match self.below(9) {
            // A flipped bit.
            0 if !bytes.is_empty() => {
                let (at, bit) = (self.below(bytes.len()), self.below(8));
                bytes[at] ^= 1 << bit;
            }
            // A cut at the end, and one in the middle.
            1 => bytes.truncate(chunk.start),
            2 => drop(bytes.drain(chunk)),
            // The beginning of one input and the end of another.
            3 => {
                let which = self.below(self.inputs.len());
                let from = self.below(self.inputs[which].len() + 1);
                bytes.truncate(chunk.start);
                bytes.extend_from_slice(&self.inputs[which][from..]);
            }
            // A chunk somewhere else, a few or many times.
            4 => {
                let copy = bytes[chunk].to_vec().repeat([1, 2, 100][self.below(3)]);
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, copy);
            }
            // Random bytes.
            5 => {
                let noise: Vec<u8> = (0..self.below(17)).map(|_| self.rng.word() as u8).collect();
                bytes.splice(chunk, noise);
            }
            // Something known to hurt, in place of a chunk or between two.
            6 => drop(bytes.splice(chunk, PIECES[self.below(PIECES.len())].iter().copied())),
            7 => {
                let at = chunk.start;
                bytes.splice(at..at, PIECES[self.below(PIECES.len())].iter().copied());
            }
            // Another number in place of one.
            _ => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|&k| bytes[k].is_ascii_digit()).collect();
                if digits.is_empty() {
                    return;
                }
                let start = digits[self.below(digits.len())];
                let end = (start..bytes.len()).find(|&k| !bytes[k].is_ascii_digit()).unwrap_or(bytes.len());
                let number = match self.below(4) {
                    0 => "9".repeat(1 + self.below(400)),
                    1 => format!("{}e{}", self.below(100), self.below(400)),
                    2 => (1u64 << self.below(64)).to_string(),
                    _ => self.below(100).to_string(),
                };
                bytes.splice(start..end, number.into_bytes());
            }
        }
    }
}

/// Calls `target` with the inputs and then with changed ones; it says whether it took what it got.
pub(crate) fn fuzz(name: &str, executions: u64, inputs: &[&[u8]], mut target: impl FnMut(&[u8]) -> bool) {
    let asked = std::env::var("NALM_FUZZ").ok().and_then(|text| text.parse().ok());
    let executions = asked.unwrap_or(executions).max(inputs.len() as u64);
    let inputs: Vec<Vec<u8>> = inputs.iter().map(|input| input.to_vec()).collect();
    for input in &inputs {
        assert!(target(input), "{name}: a valid input is refused: {}", shown(input));
    }
    let mut mutator = Mutator { rng: Fast::new(name), inputs };
    let (mut taken, done) = (mutator.inputs.len() as u64, mutator.inputs.len() as u64);
    let kept = std::env::var_os("NALM_FUZZ_INPUT");
    let (tell, hear) = channel::<Vec<u8>>();
    let watch = std::thread::spawn(move || {
        let mut last = Vec::new();
        loop {
            match hear.recv_timeout(ENDLESS) {
                Ok(input) => last = input,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("an execution does not end: {}", shown(&last));
                    std::process::abort();
                }
            }
        }
    });
    for execution in done..executions {
        let input = mutator.next();
        tell.send(input.clone()).unwrap();
        if let Some(file) = &kept {
            std::fs::write(file, &input).unwrap();
        }
        match catch_unwind(AssertUnwindSafe(|| target(&input))) {
            Ok(took) => taken += u64::from(took),
            Err(panic) => {
                eprintln!("{name}, execution {execution}: {}", shown(&input));
                resume_unwind(panic);
            }
        }
        let largest = largest();
        assert!(largest <= MOST_AT_ONCE, "{name}, execution {execution}: {largest} bytes at once: {}", shown(&input));
    }
    drop(tell);
    watch.join().unwrap();
    println!("{name}: {executions} executions, of which {taken} inputs were taken");
}

/// An input so that it can be pasted into a test.
fn shown(input: &[u8]) -> String {
    let text = input.escape_ascii().to_string();
    if text.len() <= 4_000 { format!("b\"{text}\"") } else { format!("b\"{}\" and more", &text[..4_000]) }
}

/// The most bytes that anybody has asked for at once so far.
#[allow(dead_code)]
pub(crate) fn largest() -> usize {
    LARGEST.load(Ordering::Relaxed)
}

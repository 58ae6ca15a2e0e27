//! Work over threads. What is computed does not depend on how many there are: pieces are fixed by the data, and each is done by one.

use std::sync::{Mutex, PoisonError};

/// Does every item on `threads` threads, each of which takes the next one when it is done with its last.
pub(crate) fn each<T: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) + Sync) {
    if threads <= 1 || items.len() <= 1 {
        items.into_iter().for_each(work);
        return;
    }
    let count = threads.min(items.len());
    let left = Mutex::new(items.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let all = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    std::thread::scope(|scope| {
        // Where no thread can be had, those that are there do its work.
        (1..count).for_each(|_| drop(std::thread::Builder::new().spawn_scoped(scope, all)));
        all();
    });
}

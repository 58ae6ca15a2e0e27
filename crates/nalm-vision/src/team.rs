//! Work over threads. What is computed does not depend on how many there are: pieces are fixed by the data, and each is done by one.

/// Does every item, dealt out to `threads` threads in turn.
pub(crate) fn each<T: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) + Sync) {
    if threads <= 1 || items.len() <= 1 {
        items.into_iter().for_each(work);
        return;
    }
    let mut hands: Vec<Vec<T>> = (0..threads.min(items.len())).map(|_| Vec::new()).collect();
    let count = hands.len();
    for (k, item) in items.into_iter().enumerate() {
        hands[k % count].push(item);
    }
    std::thread::scope(|scope| {
        let work = &work;
        let own = hands.pop().unwrap_or_default();
        for hand in hands {
            scope.spawn(move || hand.into_iter().for_each(work));
        }
        own.into_iter().for_each(work);
    });
}
